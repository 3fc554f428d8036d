"""Trains from two sides: the calendar that people write, and what the branches and tags of a clone say."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

from relmgr.errors import RelmgrError, UserError
from relmgr.model.project import Repository
from relmgr.model.times import local_date
from relmgr.model.trains import UNREADABLE, Calendar, Train, TrainState
from relmgr.resources import shipped
from relmgr.settings import MAX_CONFIG_BYTES, parse_yaml, read_yaml, validate
from relmgr.sources.changes.change import commit_before
from relmgr.sources.git.clone import Clone, Ref


def shipped_calendar() -> Path:
    """Return the path of the shipped calendar."""
    return shipped("policies") / "trains.yaml"


def read_calendar(file: Path | None = None) -> Calendar:
    """Read and validate a calendar file (default: the shipped one); `UserError` names file, line and allowed keys."""
    file = file or shipped_calendar()
    data, lines = read_yaml(file)
    return validate(Calendar, data, lines, file)


def read_calendar_at(clone: Clone, ref: str, path: str) -> Calendar | None:
    """Return the calendar as committed at `ref`, None when there is no such file.

    A change is judged by its base branch's calendar, never by its own. Raises `UserError` for one that is not valid,
    `SourceError` for an unknown ref or a content that the clone lacks.
    """
    raw = clone.read(ref, path, MAX_CONFIG_BYTES)
    if raw is None:
        return None
    where = f"{ref}:{path}"
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"not UTF-8: {error.reason}", where=where, next_step="save it as UTF-8") from None
    data, lines = parse_yaml(text, where)
    return validate(Calendar, data, lines, where)


def calendar_or_gap(file: Path | None = None) -> tuple[Calendar | None, str | None, Path | None]:
    """Return the calendar, or None and why there is none, and its file; one that cannot be read is never open (T2)."""
    if file is None:
        return None, f"{UNREADABLE}: the project names no calendar (`trains`), and --trains gave none", None
    try:
        return read_calendar(file), None, file
    except RelmgrError as error:
        return None, f"{UNREADABLE}: {error}", file


def calendar_on_base(
    clone: Clone, base: str, at: datetime, file: Path
) -> tuple[Calendar | None, str | None, str | None] | None:
    """Return a calendar that lies in the clone as its branch `base` had it at `at`, or why there is none; and where.

    None for a file that the clone's own commits do not hold: its words are nobody's change to make.
    """
    if not file.resolve().is_relative_to(clone.path) or clone.run("rev-parse", "--is-bare-repository") == "true":
        return None
    path = file.resolve().relative_to(clone.path).as_posix()
    try:
        tip = commit_before(clone, base, at)
        found = read_calendar_at(clone, tip, path) if tip else None
    except RelmgrError as error:
        return None, f"{UNREADABLE}: {error}", None
    if found is None:
        return None, f"{UNREADABLE}: {base} has no {path}, and a change is not judged by its own", None
    return found, None, f"calendar {path} of {base} at {str(tip)[:12]}"


def read_train_state(
    clone: Clone, name: str, repository: Repository, train: Train, at: datetime | None = None
) -> TrainState:
    """Return what the clone of `repository` (configured as `name`) says about a train, as of `at`.

    The branch counts from its cut on, a tag from its date on; a lightweight tag from the calendar's date, else from
    its commit's. The cut is the merge-base of the release branch with the default branch.
    """
    state = TrainState(train=train.name, repository=name)
    if clone.shallow:
        return state.model_copy(update={"unread": ("a shallow clone does not hold the cut (git fetch --unshallow)",)})
    found = [ref for ref in clone.branches if train.names_branch(name, repository, ref)]
    tags = _train_tags(clone, repository, train)
    if not found:
        return _with_tags(state, clone, tags, None, train, at)
    branch = found[0]
    tip = clone.branches[branch].commit
    default = clone.branches.get(repository.default_branch)
    if default is None:
        gap = f"no branch {repository.default_branch} in the clone, so the cut cannot be worked out"
        state = state.model_copy(update={"branch": branch, "also": tuple(found[1:]), "tip": tip, "unread": (gap,)})
        return _with_tags(state, clone, tags, tip, train, at)
    base = clone.merge_base(tip, default.commit)
    cut_at = clone.commit(base).committed_at if base else None
    if at is not None and cut_at is not None and cut_at > at:
        return _with_tags(state, clone, tags, None, train, at)
    state = state.model_copy(
        update={
            "branch": branch,
            "also": tuple(found[1:]),
            "tip": tip,
            "cut_commit": base,
            "cut_at": cut_at,
            "unread": () if base else (f"{branch} shares no commit with {repository.default_branch}",),
        }
    )
    return _with_tags(state, clone, tags, tip, train, at)


def missing_state(name: str, train: Train, why: str) -> TrainState:
    """Return the state of a repository of which no clone can be read."""
    return TrainState(train=train.name, repository=name, unread=(why,))


def _train_tags(clone: Clone, repository: Repository, train: Train) -> list[tuple[str, Ref]]:
    """Return one release tag of the train a version, lowest first: of `rocm-5.3` and `rocm-5.3.0` the dated one."""
    tags = [(tag, ref) for tag, ref in clone.tags.items() if train.names_tag(repository, tag)]
    by_version: dict[tuple[int, ...], tuple[str, Ref]] = {}
    for tag, ref in sorted(tags, key=lambda item: (_version(item[0]), not item[1].is_annotated, item[0])):
        by_version.setdefault(_version(tag), (tag, ref))
    return list(by_version.values())


def _with_tags(
    state: TrainState, clone: Clone, tags: list[tuple[str, Ref]], tip: str | None, train: Train, at: datetime | None
) -> TrainState:
    """Return `state` with the first tag by version that is on the branch; tags elsewhere are `stray_tags`."""
    made = [(tag, ref) for tag, ref in tags if at is None or _was_made(ref, train, at)]
    on_branch = [(tag, ref) for tag, ref in made if tip is None or clone.is_ancestor(ref.commit, tip)]
    first = next(iter(on_branch), None)
    strays = tuple(tag for tag, _ in made if tag not in {name for name, _ in on_branch})
    return state.model_copy(
        update={
            "first_tag": first[0] if first else None,
            "tag_dated": first[1].is_annotated if first else None,
            "tagged": first[1].date if first and first[1].is_annotated else None,
            "stray_tags": strays,
        }
    )


def _was_made(ref: Ref, train: Train, at: datetime) -> bool:
    """Tell whether a tag existed at `at`; a lightweight one is dated by the calendar where that knows it."""
    known = train.first_tag
    if not ref.is_annotated and known and known.tagged and ref.name == f"refs/tags/{known.name}":
        return local_date(at, train.timezone) >= known.tagged
    return ref.date <= at


def _version(tag: str) -> tuple[int, ...]:
    """Return a tag's numbers, padded: `rocm-5.3` and `rocm-5.3.0` are one version."""
    numbers = [int(number) for number in re.findall(r"\d+", tag)]
    return (*numbers, *[0] * (4 - len(numbers)))
