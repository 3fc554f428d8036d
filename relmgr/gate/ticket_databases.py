"""Judge each database under the present pin: a scan of the same content decides, else its age says what it can."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from relmgr.model.base import Convention
from relmgr.model.databases import DatabaseFact
from relmgr.model.pins import PinChange
from relmgr.model.ticket import (
    DatabaseFacts,
    DatedDatabase,
    RebuildState,
    ScannedFile,
    SolverRows,
    TicketDatabase,
    TicketRows,
)

_CONVENTIONS: tuple[Convention, ...] = ("memref-descriptor", "bare-pointer")
NEEDS_WORK: tuple[RebuildState, ...] = ("stale", "suspected", "repacked", "unknown")


def judge(database: DatedDatabase, facts: DatabaseFacts) -> TicketDatabase:
    """Return a database as a ticket shows it."""
    fact = database.fact
    scan, other = _scan_of(fact, facts.scans)
    shown = TicketDatabase(
        path=fact.path,
        oid=fact.oid,
        storage=fact.storage,
        size=fact.size,
        state=_by_age(database, facts),
        since=fact.introduced.committed_at.date() if fact.introduced else None,
        note=other,
    )
    if scan is None or scan.provider_rows is None:
        note = f"scanned, and could not be read: {scan.note or 'no reason given'}" if scan else other
        return shown.model_copy(update={"note": note, "state": "unknown" if scan else shown.state})
    return shown.model_copy(update=_by_scan(scan, facts.convention, shown.state))


def sum_rows(databases: Iterable[TicketDatabase]) -> TicketRows:
    """Return the rows of all scanned databases together."""
    databases = list(databases)
    scanned = [database for database in databases if database.provider_rows is not None]
    rows: Counter[str] = Counter()
    stale: dict[str, int | None] = {}
    for solver in (solver for database in scanned for solver in database.solvers):
        rows[solver.solver] += solver.rows
        before = stale.get(solver.solver, 0)
        stale[solver.solver] = None if before is None or solver.stale is None else before + solver.stale
    judged = [database.stale for database in scanned]
    return TicketRows(
        provider=sum(database.provider_rows or 0 for database in scanned) if scanned else None,
        stale=sum(one or 0 for one in judged) if scanned and None not in judged else None,
        solvers=tuple(SolverRows(solver=name, rows=rows[name], stale=stale[name]) for name in sorted(rows)),
        not_scanned=tuple(database.path for database in databases if database.provider_rows is None),
    )


def open_reasons(databases: Sequence[TicketDatabase]) -> tuple[str, ...]:
    """Return what still keeps databases from being known as fresh; an empty answer means that a scan cleared all."""
    return tuple(f"{database.path}: {_reason(database)}" for database in databases if database.state != "fresh")


def _reason(database: TicketDatabase) -> str:
    if database.state == "stale":
        return f"{database.stale} stale rows"
    if database.provider_rows is not None:
        return f"{database.unknown} rows of unknown convention, {database.corrupt} corrupt"
    return {
        "suspected": "older than the crossing, not scanned",
        "repacked": "packed from older files, not scanned",
        "changed-since": "changed since the crossing; scan it to close",
        "fits": "of the present convention by its age; scan it to close",
    }.get(database.state, database.note or "could not be told")


def _by_scan(scan: ScannedFile, convention: Convention, age: RebuildState) -> dict[str, object]:
    """Return what a scan adds. Under an unknown convention rows are counted and not judged."""
    known = convention in _CONVENTIONS
    stale = sum(n for name, n in scan.conventions.items() if name in _CONVENTIONS and name != convention)
    state: RebuildState = "unknown"
    if known and stale:
        state = "stale"
    elif (known or scan.provider_rows == 0) and not scan.unknown and not scan.corrupt:
        state = "fresh"
    listed = scan.stale_solvers if known else None
    if known and not stale:
        listed = {}
    return {
        "state": state,
        "provider_rows": scan.provider_rows,
        "stale": stale if known else None,
        "unknown": scan.unknown,
        "corrupt": scan.corrupt,
        "solvers": tuple(
            SolverRows(solver=name, rows=rows, stale=None if listed is None else listed.get(name, 0))
            for name, rows in sorted(scan.solvers.items())
        ),
        "note": scan.note,
    }


def _by_age(database: DatedDatabase, facts: DatabaseFacts) -> RebuildState:
    now, built = facts.convention, built_under(database, facts)
    if "unknown" in (now, built):
        return "unknown"
    if built != now:
        return "suspected"
    if database.later_moves:
        return "fits"
    if any(_by_age(packed, facts) not in ("fits", "changed-since") for packed in database.packed_from):
        return "repacked"
    return "changed-since" if facts.moves else "fits"


def built_under(database: DatedDatabase, facts: DatabaseFacts) -> Convention:
    """Return the convention in force when a content appeared: that before the first move after it, else the present."""
    if database.later_moves is None:
        return "unknown"
    after = moves_after(database, facts)
    return after[0].abi.old_convention if after and after[0].abi else facts.convention


def moves_after(database: DatedDatabase, facts: DatabaseFacts) -> list[PinChange]:
    """Return the moves that were made after a database's content appeared, oldest first."""
    return [move for move in facts.moves if move.commit in (database.later_moves or ())]


def _scan_of(fact: DatabaseFact, scans: Sequence[ScannedFile]) -> tuple[ScannedFile | None, str]:
    """Return the scan of this content and, without one, what is known of a scan of the same name.

    A content id decides. A scan that took none counts when name and size agree; another size is another content.
    """
    by_id = next((scan for scan in scans if fact.oid in scan.content_ids and scan.state != "pointer"), None)
    if by_id is not None:
        return by_id, ""
    named = [scan for scan in scans if _name(scan.path) == _name(fact.path) and scan.state != "pointer"]
    sized = [scan for scan in named if not scan.content_ids and scan.size is not None and scan.size == fact.size]
    if sized:
        return sized[0].model_copy(update={"note": sized[0].note or "scan matched by name and size"}), ""
    return None, "a scan of that name was given, of another content" if named else ""


def _name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2].removesuffix(".dvc")
