"""What the pin is at a commit, and every change of it over a history.

The walk is two of git's own pipelines at once: `git log --raw` limited to the sites, whose blobs one `git cat-file`
reads, and one `git rev-list --parents` for ancestry. Contents are compared as parsed pins, not as text, and only the
commits that differ have their whole state looked up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

from relmgr.errors import SourceError
from relmgr.model.pins import PinChange, PinGap, PinHistory, PinSide, PinState, SitePin
from relmgr.model.project import PinConfig, Project, Repository
from relmgr.sources.git.ancestry import Ancestry, read_ancestry
from relmgr.sources.git.clone import Clone
from relmgr.sources.git.objects import Blob
from relmgr.sources.git.raw_log import Step, walk
from relmgr.sources.pins.classify import abi_change, classify, link_reverts, pr_number
from relmgr.sources.pins.sites import MAX_PIN_FILE, parse_gitlink, parse_site
from relmgr.sources.provider.abi import AbiReader


@dataclass(frozen=True)
class Scope:
    """Which commits a history walks: `starts` are refs; with `first_parent` only each one's own line."""

    name: str
    starts: tuple[str, ...]
    first_parent: bool
    head: str | None = None


class _Unreadable(Exception):
    """A site's content is not in the clone."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path, self.reason = path, reason


class SiteReader:
    """Parses site contents of one pin, each blob once."""

    def __init__(self, clone: Clone, project: Project, pin: PinConfig) -> None:
        self.consumer: Repository = project.repositories[pin.consumer]
        self.provider: Repository = project.repositories[pin.provider]
        self.sites = [(site, f"{self.consumer.root}/{site.path}".lstrip("/")) for site in pin.sites]
        self.objects = clone.objects(MAX_PIN_FILE)
        self._parsed: dict[tuple[int, str], tuple[SitePin, ...]] = {}

    @property
    def paths(self) -> list[str]:
        """The sites' paths from the repository's top."""
        return list(dict.fromkeys(path for _, path in self.sites))

    def differs(self, path: str, old: str, new: str) -> bool:
        """Tell whether the pins that `path` writes differ between two blobs (zeros: no file)."""
        if all(site.kind == "gitlink" for site, its in self.sites if its == path):
            return old != new
        blobs = {oid: self._blob(path, oid) for oid in (old, new)}
        return any(
            [_without_line(pin) for pin in self._parse(index, path, blobs[old])]
            != [_without_line(pin) for pin in self._parse(index, path, blobs[new])]
            for index, (_, its) in enumerate(self.sites)
            if its == path
        )

    def state(self, commit: str) -> PinState:
        """Return the pin at a commit: a site that could not be read is a gap, and hides what ranks below it."""
        live: list[SitePin] = []
        gaps: list[str] = []
        in_force: SitePin | None = None
        for index, (site, path) in enumerate(self.sites):
            try:
                blob = self.objects.at(commit, path)
                if blob.mode == "160000" and site.kind == "gitlink" and blob.oid:
                    modules = self.objects.at(commit, f"{self.consumer.root}/.gitmodules".lstrip("/")).data
                    pins: tuple[SitePin, ...] = (parse_gitlink(blob.oid, modules, site, self.provider),)
                else:
                    pins = self._parse(index, path, blob)
            except _Unreadable as gap:
                gaps.append(f"{gap.path}: {gap.reason}")
                continue
            live += pins
            if pins and in_force is None and not site.copy_ and not gaps:
                in_force = pins[0]
        return PinState(commit=commit, pin=in_force, sites=tuple(live), gaps=tuple(gaps))

    def _blob(self, path: str, oid: str) -> Blob:
        return Blob("absent") if not oid.strip("0") else self.objects.blob(oid)

    def _parse(self, index: int, path: str, blob: Blob) -> tuple[SitePin, ...]:
        if blob.state == "absent":
            return ()
        if blob.state != "ok":
            reason = "not in this clone" if blob.state == "missing" else f"larger than {MAX_PIN_FILE} bytes"
            raise _Unreadable(path, reason)
        if blob.data is None or blob.oid is None:
            return ()
        key = (index, blob.oid)
        if key not in self._parsed:
            site = self.sites[index][0]
            self._parsed[key] = tuple(found.pin for found in parse_site(blob.data, site, self.provider))
        return self._parsed[key]


def pin_state(clone: Clone, project: Project, pin: PinConfig, ref: str) -> PinState:
    """Return the pin of `pin.consumer` at `ref` of its clone; `SourceError` when the ref is unknown."""
    commit = clone.require(ref)
    reader = SiteReader(clone, project, pin)
    with reader.objects:
        return reader.state(commit)


def pin_states(clone: Clone, project: Project, pin: PinConfig, commits: Sequence[str]) -> list[PinState]:
    """Return the pin at each of `commits` (full shas), through one object reader."""
    reader = SiteReader(clone, project, pin)
    with reader.objects:
        return [reader.state(commit) for commit in commits]


def one_branch(clone: Clone, ref: str) -> Scope:
    """Return the scope of one ref's first parents."""
    return Scope(ref, (clone.require(ref),), first_parent=True, head=clone.require(ref))


def release_branches(clone: Clone, repository: Repository) -> Scope:
    """Return the scope of the union of the first parents of the default and the release branches."""
    starts = [ref.commit for name, ref in clone.branches.items() if re.match(repository.all_branches, name)]
    return Scope("release branches", tuple(dict.fromkeys(starts)), first_parent=True)


def all_refs(clone: Clone, *, include_pulls: bool = False) -> Scope:
    """Return the scope of every branch, remote branch and tag; pull refs only when asked for."""
    prefixes = ["refs/heads", "refs/remotes", "refs/tags", *(["refs/pull"] if include_pulls else [])]
    return Scope("all refs", tuple(dict.fromkeys(ref.commit for ref in clone.refs(*prefixes))), first_parent=False)


def release_tags(clone: Clone, repository: Repository) -> list[tuple[str, str]]:
    """Return (tag, commit) of the release tags, in version order."""
    named = [(name, ref.commit) for name, ref in clone.tags.items() if re.match(repository.release_tags, name)]
    return sorted(named, key=lambda tag: (_version(tag[0]), -len(tag[0])))


def last_release(tags: Sequence[str]) -> str | None:
    """Return the last of release tags in version order: of aliases, `rocm-5.3` and `rocm-5.3.0`, the full name."""
    return next((tag for tag in tags if _version(tag) == _version(tags[-1])), None)


def _version(tag: str) -> tuple[int, ...]:
    """Return a tag's numbers, padded: `rocm-5.3` and `rocm-5.3.0` are one version."""
    numbers = [int(n) for n in re.findall(r"\d+", tag)]
    return (*numbers, *[0] * (4 - len(numbers)))


def pin_history(
    clone: Clone,
    project: Project,
    pin: PinConfig,
    scope: Scope,
    abi: AbiReader | None = None,
    ancestry: Ancestry | None = None,
) -> PinHistory:
    """Return every change of the pin over `scope`, oldest first.

    A merge counts when it differs from every parent; on a first-parent walk the only parent is the first. With `abi`
    each change carries the kernel ABI on both sides. `ancestry` is that of the scope's starts and of the release tags,
    where it was read before. Raises `SourceError` on a shallow clone, whose oldest commit would
    look like the first pin (N4).
    """
    if clone.shallow:
        raise SourceError(
            "a shallow clone has no history to tell", where=str(clone.path), next_step="git fetch --unshallow"
        )
    reader = SiteReader(clone, project, pin)
    if not scope.starts:
        return PinHistory(pin=pin.name, consumer=pin.consumer, scope=scope.name, head=scope.head, changes=())
    tags = release_tags(clone, reader.consumer)
    with ThreadPoolExecutor(1) as pool, reader.objects:
        tips = [*scope.starts, *(commit for _, commit in tags)]
        ancestry_read = pool.submit(read_ancestry, clone, tips) if ancestry is None else None
        gaps: list[PinGap] = []
        steps = list(
            _candidates(walk(clone, scope.starts, reader.paths, first_parent=scope.first_parent), reader, scope, gaps)
        )
        states = {
            commit: reader.state(commit) for step in steps for commit in (step.commit, *_compared(step.parents, scope))
        }
        if ancestry_read is not None:
            ancestry = ancestry_read.result()
    assert ancestry is not None
    changes = _changes(steps, states, scope, gaps, ancestry, abi)
    first_release = ancestry.first_containing(tags)
    bodies = {step.commit: step.body for step in steps}
    dated = [
        change.model_copy(update={"first_release": first_release.get(change.commit.encode())}) for change in changes
    ]
    return PinHistory(
        pin=pin.name,
        consumer=pin.consumer,
        scope=scope.name,
        head=scope.head,
        changes=tuple(link_reverts(dated, ancestry, bodies.__getitem__)),
        gaps=tuple(gaps),
    )


def _compared(parents: tuple[str, ...], scope: Scope) -> tuple[str, ...]:
    return parents[:1] if scope.first_parent else parents


def _candidates(steps: Iterator[Step], reader: SiteReader, scope: Scope, gaps: list[PinGap]) -> Iterator[Step]:
    """Yield the steps whose pins may differ from every compared parent, one per commit."""
    seen: dict[str, int] = {}
    for step in steps:
        seen[step.commit] = seen.get(step.commit, 0) + 1
        # `-m` repeats a merge once for each parent that it differs from.
        if seen[step.commit] < len(_compared(step.parents, scope)):
            continue
        try:
            merge = len(step.parents) > 1 and not scope.first_parent
            if merge or any(reader.differs(*touched) for touched in step.touched):
                yield step
        except _Unreadable as gap:
            gaps.append(PinGap(commit=step.commit, path=gap.path, reason=gap.reason))


def _changes(
    steps: list[Step],
    states: dict[str, PinState],
    scope: Scope,
    gaps: list[PinGap],
    ancestry: Ancestry,
    abi: AbiReader | None,
) -> list[PinChange]:
    if abi is not None:
        pins = [state.pin for state in states.values() if state.pin]
        # All numbers through one reader; each change then takes its two from memory.
        abi.read_all((pin.repository, pin.ref, pin.ref if pin.ref_kind == "sha" else None) for pin in pins)
    changes: list[PinChange] = []
    removals: list[tuple[set[bytes], SitePin | None]] = []
    for step in sorted(steps, key=lambda s: ancestry.place(s.commit)):
        now = states[step.commit]
        before = [states[parent] for parent in _compared(step.parents, scope)]
        unread = [gap for state in (now, *before) for gap in state.gaps]
        if unread:
            path, _, reason = unread[0].partition(": ")
            gaps.append(PinGap(commit=step.commit, path=path, reason=reason))
            continue
        news = _without_line(now.pin)
        if any(_without_line(state.pin) == news for state in before) or (not before and news is None):
            continue
        old = before[0].pin if before else None
        # A pin that comes back is judged against the one that went.
        gone = [pin for after, pin in removals if step.commit.encode() in after] if old is None else []
        if now.pin is None:
            removals.append((ancestry.descendants(step.commit), old))
        changes.append(
            PinChange(
                commit=step.commit,
                committed_at=datetime.fromisoformat(step.committed_at.replace("Z", "+00:00")),
                pr=pr_number(step.subject),
                subject=step.subject,
                kinds=classify(old, now.pin, had_before=bool(gone)),
                old=_side(old),
                new=_side(now.pin),
                abi=abi_change(abi, gone[-1] if gone else old, now.pin) if abi else None,
                first_release=None,
            )
        )
    return changes


def _side(pin: SitePin | None) -> PinSide | None:
    if pin is None:
        return None
    resolved = pin.ref if pin.ref_kind == "sha" else None
    fields = pin.model_dump(exclude={"line"})
    return PinSide(**fields, resolved=resolved)


def _without_line(pin: SitePin | None) -> SitePin | None:
    return pin.model_copy(update={"line": None}) if pin else None
