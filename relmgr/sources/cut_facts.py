"""The facts of a branch cut, read from the clones at hand. What cannot be read is named, and ends nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone

from relmgr.errors import SourceError
from relmgr.model.checklist import CutFacts, PinAtCut, RepositoryAtCut
from relmgr.model.databases import DatabaseFact
from relmgr.model.pins import PinChange, SitePin
from relmgr.model.project import PinConfig, Project, Repository
from relmgr.model.trains import Calendar, Train, TrainState
from relmgr.sources.databases.history import DatabaseFiles, DatabaseHistory
from relmgr.sources.git.ancestry import read_ancestry
from relmgr.sources.git.clone import Clone
from relmgr.sources.pins.history import Scope, pin_history, pin_state
from relmgr.sources.provider.abi import AbiReader
from relmgr.sources.provider.refs import ProviderRefs
from relmgr.sources.trains import missing_state, read_train_state

_HEADING = re.compile(r"^##(?!#)\s*(?P<words>\S.*)$")
_VERSION = re.compile(r"(?<![\w.])v?(\d+(?:\.\d+)+)(?![\w.]*\d)")
MAX_CHANGELOG = 4 * 1024 * 1024


@dataclass(frozen=True)
class _Spot:
    """A repository's clone and the commit whose facts are read; `gap` says why there is none."""

    clone: Clone | None
    read_at: str | None
    commit: str | None
    gap: str = ""


def read_cut_facts(
    project: Project,
    calendar: Calendar,
    train: Train,
    clones: Mapping[str, Clone],
    at: datetime | None = None,
) -> CutFacts:
    """Return what is known about the cut of `train` as of `at` (default: now).

    `clones` holds the repositories that are at hand, by name. Facts are read at the release branch once there is one,
    before at the train's base branch, where its first parents had got to at `at`.
    """
    names = _providers_first(project)
    states = {name: _state(project, train, clones, name, at) for name in names}
    spots = {name: _spot(train, clones, states[name], at) for name in names}
    pins = tuple(_read_pin(project, pin, spots, states) for pin in project.pins)
    earlier = [t for t in calendar.trains if t.order < train.order and t.base_branch == train.base_branch]
    return CutFacts(
        train=train,
        previous=max(earlier, key=lambda t: t.order, default=None),
        at=at or datetime.now(timezone.utc),
        owners=project.owners,
        repositories=tuple(_repository(project, train, name, states[name], spots[name]) for name in names),
        pins=pins,
        windows=tuple(w for t in calendar.trains for w in t.windows if w.train == train.name),
    )


def branch_name(name: str, repository: Repository, train: Train) -> str | None:
    """Return the release branch's name that the configured pattern allows for a train, None when it allows many."""
    pattern = train.branches.get(name, repository.release_branches)
    text = re.sub(r"\(\?P<train>(?:[^()\\]|\\.)*\)", train.version, pattern.removeprefix("^").removesuffix("$"))
    text = re.sub(r"\\([^\w\s])", r"\1", text)
    return text if train.names_branch(name, repository, text) else None


def _providers_first(project: Project) -> list[str]:
    """Return the names of the repositories in pins, each provider before what consumes it (cycles: as configured)."""
    placed: list[str] = []
    waiting = list(dict.fromkeys(name for pin in project.pins for name in (pin.provider, pin.consumer)))
    while waiting:
        free = next(
            (n for n in waiting if all(p.provider not in waiting for p in project.pins if p.consumer == n)), waiting[0]
        )
        waiting.remove(free)
        placed.append(free)
    return placed


def _state(project: Project, train: Train, clones: Mapping[str, Clone], name: str, at: datetime | None) -> TrainState:
    clone = clones.get(name)
    if clone is None:
        return missing_state(name, train, f"no clone of {project.repositories[name].slug} at hand (--repo {name}=PATH)")
    try:
        return read_train_state(clone, name, project.repositories[name], train, at)
    except SourceError as error:
        return missing_state(name, train, str(error))


def _spot(train: Train, clones: Mapping[str, Clone], state: TrainState, at: datetime | None) -> _Spot:
    clone = clones.get(state.repository)
    if clone is None:
        return _Spot(None, None, None, "; ".join(state.unread))
    ref = state.branch or train.base_branch
    tip = clone.resolve(ref)
    if tip is None:
        return _Spot(clone, ref, None, f"no branch {ref} in the clone")
    if at is not None:
        # The newest first parent that was there at `at`.
        tip = clone.run("rev-list", "-1", "--first-parent", f"--before={int(at.timestamp())}", tip) or None
    return _Spot(clone, ref, tip, "" if tip else f"{ref} had no commit yet")


def _repository(project: Project, train: Train, name: str, state: TrainState, spot: _Spot) -> RepositoryAtCut:
    repository = project.repositories[name]
    heading, gap = _changelog(repository, train, spot)
    return RepositoryAtCut(
        name=name,
        slug=repository.slug,
        consumes=tuple(dict.fromkeys(pin.provider for pin in project.pins if pin.consumer == name)),
        branch=state.branch or branch_name(name, repository, train),
        state=state,
        read_at=spot.read_at,
        commit=spot.commit,
        changelog=repository.changelog,
        heading=heading,
        changelog_gap=gap,
    )


def _changelog(repository: Repository, train: Train, spot: _Spot) -> tuple[str | None, str | None]:
    """Return the heading of the train's section, and why there is none to be found."""
    if spot.clone is None or spot.commit is None:
        return None, f"not read: {spot.gap}"
    path = f"{repository.root}/{repository.changelog}".lstrip("/")
    try:
        data = spot.clone.read(spot.commit, path, MAX_CHANGELOG)
    except SourceError as error:
        return None, f"not read: {error.what}"
    if data is None:
        return None, f"no {path} at {spot.read_at}"
    heading = changelog_heading(data.decode("utf-8", "replace"), train.version)
    return heading, None if heading else f"no section for {train.version} in {path} at {spot.read_at}"


def changelog_heading(text: str, version: str) -> str | None:
    """Return the second-level heading whose last version is `version` or a patch of it: `5.1` is not `5.14` (T7)."""
    for line in text.splitlines():
        found = _HEADING.match(line)
        numbers = _VERSION.findall(found["words"]) if found else []
        if found and numbers and (numbers[-1] == version or numbers[-1].startswith(f"{version}.")):
            return "".join(c for c in found["words"].strip()[:200] if c.isprintable())
    return None


def _read_pin(
    project: Project, pin: PinConfig, spots: Mapping[str, _Spot], states: Mapping[str, TrainState]
) -> PinAtCut:
    spot = spots[pin.consumer]
    facts = PinAtCut(pin=pin.name, consumer=pin.consumer, provider=pin.provider, contract=pin.contract)
    if spot.clone is None or spot.commit is None:
        return facts.model_copy(update={"gaps": (f"{pin.consumer}: {spot.gap}",)})
    try:
        return _pin_at(project, pin, facts, spot.clone, spot.commit, states[pin.provider])
    except SourceError as error:
        return facts.model_copy(update={"gaps": (*facts.gaps, f"{pin.consumer}: {error.what}")})


def _pin_at(
    project: Project, pin: PinConfig, facts: PinAtCut, clone: Clone, commit: str, provider: TrainState
) -> PinAtCut:
    state, abi = pin_state(clone, project, pin, commit), AbiReader(project, pin)
    update: dict[str, object] = {"state": state, "gaps": state.gaps}
    if state.pin is not None:
        try:
            update |= _at_provider(project, pin, state.pin, provider)
        except SourceError as error:
            update |= {"kind": state.pin.ref_kind, "resolved": None, "gaps": (*state.gaps, error.what)}
        update["abi"] = abi.at(state.pin.repository, state.pin.ref, _text(update["resolved"]))
    if clone.shallow:
        return facts.model_copy(
            update=update | {"gaps": (*state.gaps, "a shallow clone has no history (git fetch --unshallow)")}
        )
    changes = pin_history(clone, project, pin, Scope(commit, (commit,), first_parent=False), abi).changes
    crossings = [change for change in changes if change.abi and change.abi.crossing]
    last = crossings[-1] if crossings else None
    update |= {
        "crossing": last,
        "crossing_known": state.pin is not None and _number_known(changes),
        "databases": _databases(clone, project.repositories[pin.consumer], commit, last),
    }
    return facts.model_copy(update=update)


def _number_known(changes: tuple[PinChange, ...]) -> bool:
    """Tell whether the convention on both sides of the last move is known: else a crossing may have gone unseen."""
    moves = [change for change in changes if change.abi is not None and change.new is not None]
    return bool(moves) and moves[-1].abi is not None and moves[-1].abi.new_convention != "unknown"


def _at_provider(project: Project, pin: PinConfig, live: SitePin, provider: TrainState) -> dict[str, object]:
    """Return what the pinned ref is at the provider; without the provider, what its text alone says."""
    refs = ProviderRefs(project.repositories[pin.provider])
    named = refs.name_ref(live.ref)
    kind = named.kind if named and named.kind else live.ref_kind
    resolved = named.commit if named and named.commit else live.ref if live.ref_kind == "sha" else None
    on_branch = None
    if refs.clone is not None and provider.branch and provider.tip and resolved and refs.clone.resolve(resolved):
        on_branch = refs.clone.is_ancestor(resolved, provider.tip)
    return {"kind": kind, "resolved": resolved, "on_provider_branch": on_branch}


def _databases(
    clone: Clone, repository: Repository, commit: str, crossing: PinChange | None
) -> tuple[DatabaseFact, ...]:
    """Return the database files at `commit` with their ages against the crossing."""
    files = DatabaseFiles(clone, repository)
    found = files.at(commit) if repository.databases else []
    if not found or crossing is None:
        return tuple(found)
    ancestry = read_ancestry(clone, [commit])
    history = DatabaseHistory(files, clone, [commit], ancestry)
    within, after = ancestry.ancestors(commit), ancestry.descendants(crossing.commit)
    return tuple(_aged(history.introduced(fact, within), after) for fact in found)


def _aged(fact: DatabaseFact, after: set[bytes]) -> DatabaseFact:
    """Return the fact with `after_crossing`, for itself and for what it was packed from."""
    if fact.introduced is None:
        return fact
    packed = tuple(_aged(old, after) for old in fact.introduced.repacked_from)
    introduced = fact.introduced.model_copy(update={"repacked_from": packed})
    return fact.model_copy(update={"introduced": introduced, "after_crossing": introduced.commit.encode() in after})


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
