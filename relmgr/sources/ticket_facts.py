"""What a consumer's clone says about a rebuild: the pin, its crossings, and which came after each content."""

from __future__ import annotations

from typing import NamedTuple

from relmgr.errors import SourceError
from relmgr.model.abi import AbiVersion
from relmgr.model.databases import DatabaseFact
from relmgr.model.pins import PinChange
from relmgr.model.project import PinConfig, Project
from relmgr.model.ticket import DatabaseFacts, DatedDatabase
from relmgr.sources.databases.history import DatabaseFiles, DatabaseHistory
from relmgr.sources.git.ancestry import read_ancestry
from relmgr.sources.git.clone import Clone
from relmgr.sources.pins.history import Scope, pin_history, pin_state
from relmgr.sources.provider.abi import AbiReader


class RebuildFacts(NamedTuple):
    """The facts of one commit; see `TicketFacts` for the fields."""

    pin: str | None
    abi: AbiVersion | None
    moves: tuple[PinChange, ...]
    databases: tuple[DatedDatabase, ...]
    gaps: tuple[str, ...]


def read_rebuild_facts(clone: Clone, project: Project, pin: PinConfig, abi: AbiReader, commit: str) -> RebuildFacts:
    """Return the facts of `commit` (a full sha). Raises `SourceError` for a shallow clone, which has no ages."""
    if clone.shallow:
        raise SourceError(
            "a shallow clone does not tell how old a database is",
            where=str(clone.path),
            next_step="git fetch --unshallow",
        )
    state = pin_state(clone, project, pin, commit)
    history = pin_history(clone, project, pin, Scope(commit, (commit,), first_parent=False), abi)
    moves = tuple(change for change in history.changes if _may_cross(change))
    live = state.pin
    number = abi.at(live.repository, live.ref, live.ref if live.ref_kind == "sha" else None) if live else None
    gaps = (*state.gaps, *(f"{gap.commit[:12]} {gap.path}: {gap.reason}" for gap in history.gaps))
    return RebuildFacts(live.ref if live else None, number, moves, _databases(clone, project, pin, commit, moves), gaps)


def read_listed_databases(clone: Clone, project: Project, pin: PinConfig, abi: AbiReader, commit: str) -> DatabaseFacts:
    """Return the databases of `commit` and the number at its pin, without ages: those take the whole history."""
    live = pin_state(clone, project, pin, commit).pin
    files = DatabaseFiles(clone, project.repositories[pin.consumer])
    return DatabaseFacts(
        abi=abi.at(live.repository, live.ref, live.ref if live.ref_kind == "sha" else None) if live else None,
        databases=tuple(DatedDatabase(fact=fact, later_moves=None) for fact in files.at(commit)),
    )


def _may_cross(change: PinChange) -> bool:
    """Tell whether a change crossed, or may have. A first pin of a known convention has nothing to cross."""
    if change.abi is None or change.abi.crossing is False:
        return False
    if change.abi.crossing:
        return True
    return bool({"ref", "restored"} & set(change.kinds)) or (
        "first" in change.kinds and change.abi.new_convention == "unknown"
    )


def _databases(
    clone: Clone, project: Project, pin: PinConfig, commit: str, moves: tuple[PinChange, ...]
) -> tuple[DatedDatabase, ...]:
    files = DatabaseFiles(clone, project.repositories[pin.consumer])
    if not files.patterns:
        return ()
    found = files.at(commit)
    if not found:
        return ()
    ancestry = read_ancestry(clone, [commit])
    history, within = DatabaseHistory(files, clone, [commit], ancestry), ancestry.ancestors(commit)
    after = {move.commit: ancestry.descendants(move.commit) for move in moves}
    return tuple(_dated(history.introduced(fact, within), after) for fact in found)


def _dated(fact: DatabaseFact, after: dict[str, set[bytes]]) -> DatedDatabase:
    since = fact.introduced
    if since is None:
        return DatedDatabase(fact=fact, later_moves=None)
    later = tuple(move for move, descendants in after.items() if since.commit.encode() not in descendants)
    packed = tuple(_dated(old, after) for old in since.repacked_from)
    return DatedDatabase(fact=fact, later_moves=later, packed_from=packed)
