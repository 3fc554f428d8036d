"""Kernel databases: is the rebuild asked for, and are the ones that ship fresh."""

from __future__ import annotations

from relmgr.gate.checks.trains import crossings
from relmgr.gate.registry import NoParams, Result, check
from relmgr.model.base import Noun, Outcome
from relmgr.model.facts import Ticket
from relmgr.model.snapshot import Snapshot


class TicketEvidence(Noun):
    """Archs whose databases hold the provider's kernels (or may), with the ticket of each, and those without one.

    `archs_known` is False when no database was read: then only an empty ticket list can be judged.
    """

    number: int | None
    archs: tuple[str, ...]
    archs_known: bool
    tickets: dict[str, str]
    missing: tuple[str, ...]


@check("abi-bump-has-regeneration-ticket")
def abi_bump_has_regeneration_ticket(snapshot: Snapshot, params: NoParams) -> Result[TicketEvidence]:
    """Every affected arch has a regeneration ticket towards the new number, open or done."""
    moves = crossings(snapshot)
    archs = affected_archs(snapshot)
    tickets: dict[str, str] = {}
    for move in moves:
        number = move.abi.new if move.abi else None
        for ticket in snapshot.tickets or ():
            if _answers(ticket, move.contract, number):
                tickets.setdefault(ticket.arch, ticket.url or ticket.state)
    missing = tuple(arch for arch in archs or () if arch not in tickets)
    evidence = TicketEvidence(
        number=next((move.abi.new for move in moves if move.abi), None),
        archs=archs or (),
        archs_known=archs is not None,
        tickets=tickets,
        missing=missing,
    )
    if missing or (archs is None and not tickets):
        return Result(Outcome.FAILED, evidence)
    if archs is None:
        return Result(Outcome.UNKNOWN, evidence, (f"databases: {snapshot.gap('databases') or 'the arch of one'}",))
    return Result(Outcome.PASSED, evidence)


def _answers(ticket: Ticket, contract: str | None, number: int | None) -> bool:
    return ticket.contract == contract and ticket.number == number and ticket.state != "withdrawn"


def affected_archs(snapshot: Snapshot) -> tuple[str, ...] | None:
    """Return the archs whose databases hold rows of the provider's kernels, or may; None when that is not known."""
    if snapshot.gap("databases") is not None:
        return None
    holding = [database for database in snapshot.databases or () if database.may_hold]
    if any(database.arch is None for database in holding):
        return None
    return tuple(sorted({database.arch for database in holding if database.arch}))


class DatabaseSeen(Noun):
    """One database: rows of another convention than the pin's (None: not scanned)."""

    path: str
    arch: str | None
    stale_rows: int | None
    note: str


class FreshEvidence(Noun):
    """Databases with stale rows, those not scanned, and those not scanned that their find-dbs rule out."""

    checked: int
    stale: tuple[DatabaseSeen, ...]
    unscanned: tuple[DatabaseSeen, ...]
    ruled_out: tuple[str, ...] = ()
    note: str = ""


@check("databases-fresh-at-release")
def databases_fresh_at_release(snapshot: Snapshot, params: NoParams) -> Result[FreshEvidence]:
    """No shipped database holds a row of another convention; one that was not scanned is not fresh, it is unknown.

    Unless its find-dbs name no solver of the provider's: then it holds none of those kernels, and the verdict says so.
    """
    ruled_out = tuple(one.path for one in snapshot.databases or () if one.ruled_out and not one.may_hold)
    holding = [database for database in snapshot.databases or () if database.may_hold]
    seen = [DatabaseSeen(path=d.path, arch=d.arch, stale_rows=d.stale_rows, note=d.note) for d in holding]
    stale = tuple(one for one in seen if one.stale_rows)
    unscanned = tuple(one for one in seen if one.stale_rows is None)
    evidence = FreshEvidence(
        checked=len(snapshot.databases or ()),
        stale=stale,
        unscanned=unscanned,
        ruled_out=ruled_out,
        note=_note(snapshot, ruled_out),
    )
    if stale:
        return Result(Outcome.FAILED, evidence)
    if unscanned:
        return Result(
            Outcome.UNKNOWN, evidence, tuple(f"{one.path}: its rows ({one.note or 'not scanned'})" for one in unscanned)
        )
    return Result(Outcome.PASSED, evidence)


def _note(snapshot: Snapshot, ruled_out: tuple[str, ...]) -> str:
    if not snapshot.databases:
        return "no kernel database is in the tree"
    return f"by their find-dbs alone, not scanned: {', '.join(ruled_out)}" if ruled_out else ""
