"""Release tags as facts: the pin at each, its kernel ABI, the last crossing before it, and its databases' ages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from relmgr.model.abi import AbiVersion
from relmgr.model.audit import ReleaseFacts
from relmgr.model.databases import DatabaseFact
from relmgr.model.pins import PinChange, PinHistory, PinState
from relmgr.model.project import PinConfig, Project
from relmgr.sources.databases.history import DatabaseFiles, DatabaseHistory
from relmgr.sources.git.ancestry import read_ancestry
from relmgr.sources.git.clone import Clone
from relmgr.sources.pins.history import Scope, pin_history, pin_states, release_tags
from relmgr.sources.provider.abi import AbiReader

if TYPE_CHECKING:
    from relmgr.sources.databases.find_dbs import FindDbs


def read_releases(
    clone: Clone, project: Project, pin: PinConfig, abi: AbiReader, *, find_dbs: bool = False
) -> tuple[ReleaseFacts, ...]:
    """Return the facts of every release tag, in version order.

    With `find_dbs`, databases of releases after a crossing also carry what their find-dbs say of the solvers.
    """
    tags = release_tags(clone, project.repositories[pin.consumer])
    contract = project.contract(pin) if find_dbs else None
    reader = _ReleaseReader(clone, project, pin, abi, [commit for _, commit in tags])
    if contract is not None:
        from relmgr.sources.databases.find_dbs import FindDbs

        reader.find_dbs = FindDbs(clone, project.repositories[pin.consumer], contract.solvers)
    return tuple(reader.at(tag, commit, clone.tags[tag].date) for tag, commit in tags)


def read_releases_at(
    clone: Clone, project: Project, pin: PinConfig, abi: AbiReader, refs: Sequence[str]
) -> tuple[tuple[ReleaseFacts, ...], PinHistory]:
    """Return the same facts of some refs, as if they were released, and the whole history of the pin behind them."""
    commits = [clone.commit(ref) for ref in refs]
    reader = _ReleaseReader(clone, project, pin, abi, [commit.sha for commit in commits])
    facts = (reader.at(ref, commit.sha, commit.committed_at) for ref, commit in zip(refs, commits, strict=True))
    return tuple(facts), reader.pin_history


class _ReleaseReader:
    """Reads the histories behind some commits once, and answers for each commit."""

    def __init__(self, clone: Clone, project: Project, pin: PinConfig, abi: AbiReader, commits: Sequence[str]) -> None:
        starts = tuple(dict.fromkeys(commits))
        self._abi = abi
        tags = release_tags(clone, project.repositories[pin.consumer])
        self._ancestry = read_ancestry(clone, [*starts, *(commit for _, commit in tags)])
        scope = Scope("releases", starts, first_parent=False)
        self.pin_history = pin_history(clone, project, pin, scope, abi, self._ancestry)
        self._crossings = [change for change in self.pin_history.changes if change.abi and change.abi.crossing]
        self._files = DatabaseFiles(clone, project.repositories[pin.consumer])
        self._databases = DatabaseHistory(self._files, clone, starts, self._ancestry)
        self._states = dict(zip(starts, pin_states(clone, project, pin, starts), strict=True))
        self.find_dbs: FindDbs | None = None
        self._known: dict[str, ReleaseFacts] = {}
        self._descendants: dict[str, set[bytes]] = {}

    def at(self, tag: str, commit: str, date: datetime) -> ReleaseFacts:
        """Return the facts of `commit` under the name `tag`."""
        if commit not in self._known:
            self._known[commit] = self._read(tag, commit, date)
        return self._known[commit].model_copy(update={"tag": tag, "tagged_at": date})

    def _read(self, tag: str, commit: str, date: datetime) -> ReleaseFacts:
        within = self._ancestry.ancestors(commit)
        crossings = [(c, self._after(c)) for c in self._crossings if c.commit.encode() in within]
        databases = tuple(
            _dated(self._databases.introduced(fact, within), crossings) for fact in self._files.at(commit)
        )
        if crossings and self.find_dbs is not None:
            databases = self.find_dbs.beside(commit, databases)
        return ReleaseFacts(
            tag=tag,
            commit=commit,
            tagged_at=date,
            state=self._states[commit],
            abi=_number(self._abi, self._states[commit]),
            crossing=crossings[-1][0] if crossings else None,
            databases=databases,
        )

    def _after(self, crossing: PinChange) -> set[bytes]:
        if crossing.commit not in self._descendants:
            self._descendants[crossing.commit] = self._ancestry.descendants(crossing.commit)
        return self._descendants[crossing.commit]


def _number(abi: AbiReader, state: PinState) -> AbiVersion | None:
    pin = state.pin
    return abi.at(pin.repository, pin.ref, pin.ref if pin.ref_kind == "sha" else None) if pin else None


def _dated(fact: DatabaseFact, crossings: Sequence[tuple[PinChange, set[bytes]]]) -> DatabaseFact:
    """Return the fact, and what it was packed from, with its age against the crossings (each with its descendants)."""
    if fact.introduced is None or not crossings:
        return fact
    commit = fact.introduced.commit.encode()
    first = crossings[0][0].abi
    built = first.old_convention if first else "unknown"
    for crossing, after in crossings:
        if commit in after and crossing.abi:
            built = crossing.abi.new_convention
    before = tuple(_dated(old, crossings) for old in fact.introduced.repacked_from)
    introduced = fact.introduced.model_copy(update={"repacked_from": before})
    aged = {"introduced": introduced, "after_crossing": commit in crossings[-1][1], "built_under": built}
    return fact.model_copy(update=aged)
