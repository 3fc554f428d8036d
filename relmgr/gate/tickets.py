"""Facts to regeneration tickets: one for each arch, joined with what is planned already, closed when a scan says so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date

from relmgr.gate.ticket_databases import NEEDS_WORK, built_under, judge, moves_after, open_reasons, sum_rows
from relmgr.gate.ticket_recipe import deadline_of, effort_of, fill_recipe
from relmgr.model import facts as gate_facts
from relmgr.model.base import Convention
from relmgr.model.facts import ShippedDatabase
from relmgr.model.pins import PinChange
from relmgr.model.ticket import (
    MAX_LISTED,
    NO_CROSSING,
    Crossing,
    DatabaseFacts,
    DatedDatabase,
    ExistingTicket,
    NotNeeded,
    PinAtNumber,
    RebuildState,
    RegenerationTicket,
    TicketAction,
    TicketData,
    TicketDatabase,
    TicketDatabaseRecord,
    TicketFacts,
    TicketKey,
    TicketReason,
    Tickets,
    TicketState,
)

NONE_BY_FIND_DB = "its find-db names no solver of the provider's"
_UNSCANNED: dict[RebuildState, str] = {
    "suspected": "not scanned, and older than the crossing",
    "repacked": "not scanned, and packed from older files",
    "changed-since": "not scanned, and changed since the crossing, which does not say rebuilt",
    "fits": "not scanned, and of the pin's convention by its age alone",
    "unknown": "not scanned",
}


def evaluate_tickets(facts: TicketFacts) -> Tickets:
    """Return the whole document: tickets by arch, the archs that need none, and what could not be told."""
    tickets, not_needed = [], []
    for arch, databases in _by_arch(facts).items():
        judged = [judge(database, facts) for database in databases]
        existing = _existing(facts, arch)
        if existing is None and not _is_needed(judged, databases, facts):
            not_needed.append(NotNeeded(arch=arch, why=_why_not(judged, facts)))
        else:
            tickets.append(_ticket(facts, arch, databases, judged, existing))
    return Tickets(
        consumer=facts.consumer,
        provider=facts.provider,
        train=facts.train.name,
        at=facts.at,
        ref=facts.ref,
        commit=facts.commit,
        number=facts.abi.number if facts.abi else None,
        convention=facts.convention,
        existing_read=facts.existing is not None,
        tickets=tuple(tickets),
        not_needed=tuple(not_needed),
        gaps=_gaps(facts),
    )


def shipped_databases(facts: DatabaseFacts) -> tuple[ShippedDatabase, ...]:
    """Return the databases as the gate's facts: rows where a scan told them, and since when each content is there."""
    return tuple(_shipped(database, judge(database, facts)) for database in facts.databases)


def _shipped(database: DatedDatabase, shown: TicketDatabase) -> ShippedDatabase:
    # A row of unknown convention is not a stale one, and not a fresh one: the count is then not known.
    scanned = shown.provider_rows is not None
    told = scanned and shown.stale is not None and (shown.stale or not (shown.unknown or shown.corrupt))
    solvers = None if scanned else database.fact.solvers
    notes = [shown.note]
    if not scanned:
        notes = [shown.note or _UNSCANNED[shown.state]]
        if solvers is not None and not solvers.may_hold:
            notes.append(solvers.why or NONE_BY_FIND_DB)
    elif shown.provider_rows and shown.stale is None:
        notes.append("scanned, and the convention at the pin is not known")
    elif not told and shown.provider_rows:
        notes.append(f"scanned: {shown.unknown} rows of unknown convention, {shown.corrupt} corrupt")
    return ShippedDatabase(
        path=shown.path,
        arch=database.fact.arch,
        provider_rows=shown.provider_rows,
        stale_rows=shown.stale if told else None,
        content_since=shown.since,
        ruled_out=solvers is not None and solvers.may_hold is False,
        note="; ".join(filter(None, notes)),
    )


def gate_tickets(
    existing: Iterable[ExistingTicket], contract: str, number: int | None
) -> tuple[gate_facts.Ticket, ...]:
    """Return existing tickets as the gate's facts; a person's plan without relmgr's block counts towards `number`."""
    return tuple(
        gate_facts.Ticket(
            contract=(ticket.data.contract if ticket.data else None) or contract,
            number=ticket.data.new.number if ticket.data else number,
            arch=ticket.arch,
            state=ticket.state,
            url=ticket.url,
        )
        for ticket in existing
    )


def close_ticket(
    databases: Sequence[TicketDatabase], convention: Convention, data: TicketData | None
) -> tuple[TicketState, tuple[str, ...]]:
    """Return a ticket's state and what still keeps it open.

    Withdrawn: the pin is back on the convention it came from, and no database was left on the other. Done: a scan of
    every database of the arch, as it is now, shows no stale row and none it could not judge. Else open.
    """
    if convention == "unknown":
        return "open", ("the convention at the present pin could not be told",)
    if data and data.old and _is_back(data.old.convention, data.new.convention, convention):
        left = [database for database in databases if database.state in NEEDS_WORK]
        if not left:
            return "withdrawn", ()
        return "open", open_reasons(left)
    if not databases:
        return "open", ("no database of this arch is in the tree: say where it went",)
    missing = open_reasons(databases)
    return ("open", missing) if missing else ("done", ())


def _is_back(old: Convention, new: Convention, now: Convention) -> bool:
    return old == now and old != new


# -- which archs ----------------------------------------------------------------------------------------------------


def _by_arch(facts: TicketFacts) -> dict[str, list[DatedDatabase]]:
    """Return the databases of each arch, exactly as named (K5), also of archs that only an existing ticket names."""
    found: dict[str, list[DatedDatabase]] = {}
    for database in facts.databases:
        if database.fact.arch is not None:
            found.setdefault(database.fact.arch, []).append(database)
    for ticket in facts.existing or ():
        if ticket.state == "open" and _is_of(ticket, facts):
            found.setdefault(ticket.arch, [])
    return dict(sorted(found.items()))


def _is_needed(judged: Sequence[TicketDatabase], databases: Sequence[DatedDatabase], facts: TicketFacts) -> bool:
    """Tell whether an arch needs a ticket: a change since the crossing asks for a scan in that crossing's train only.

    An unknown convention alone makes no ticket: it is a gap of the whole document.
    """
    if facts.convention == "unknown":
        return any(database.state == "stale" for database in judged)
    if any(database.state in NEEDS_WORK for database in judged):
        return True
    return any(database.state == "changed-since" for database in judged) and _in_this_train(facts)


def _in_this_train(facts: TicketFacts) -> bool:
    """Tell whether the last move came after the cut of the train before, so that this train is its first."""
    last = facts.moves[-1] if facts.moves else None
    return last is not None and (facts.previous_cut is None or last.committed_at.date() > facts.previous_cut)


def _why_not(judged: Sequence[TicketDatabase], facts: TicketFacts) -> str:
    if facts.convention == "unknown":
        return "could not be told: the convention at the pin is not known"
    states = {database.state for database in judged}
    if states == {"fresh"}:
        rows = sum(database.provider_rows or 0 for database in judged)
        return f"scanned: {rows} of the provider's rows, none stale" if rows else "scanned: no row of the provider's"
    if "changed-since" in states:
        return "changed after the last crossing, which an earlier train shipped; scan it to be sure"
    return "no crossing since this content appeared"


def _gaps(facts: TicketFacts) -> tuple[str, ...]:
    gaps = list(facts.gaps)
    if facts.databases and facts.convention == "unknown":
        source = facts.abi.source if facts.abi else "no pin was found"
        gaps.append(f"the kernel convention at {facts.ref}: {source}")
    gaps += [f"{d.fact.path}: its name tells no arch" for d in facts.databases if d.fact.arch is None]
    return tuple(gaps)


# -- one ticket -----------------------------------------------------------------------------------------------------


def _ticket(
    facts: TicketFacts,
    arch: str,
    databases: Sequence[DatedDatabase],
    judged: Sequence[TicketDatabase],
    existing: ExistingTicket | None,
) -> RegenerationTicket:
    reason = _reason(facts, databases, existing)
    key = _key(facts, arch, reason, existing)
    state, missing = close_ticket(judged, facts.convention, existing.data if existing else None)
    rows = sum_rows(judged)
    deadline = deadline_of(facts.train, facts.at, rows.stale if not rows.not_scanned else None)
    rebuild = facts.rebuild
    return RegenerationTicket(
        key=key.text,
        arch=arch,
        train=facts.train.name,
        state=state,
        action=_action(state, existing),
        url=existing.url if existing else None,
        reason=reason,
        databases=tuple(judged),
        rows=rows,
        recipe=fill_recipe(rebuild, facts, arch, reason) if rebuild else None,
        kept=rebuild.kept if rebuild else (),
        effort=effort_of(facts.train, rows),
        deadline=deadline,
        owners=facts.owners,
        missing=missing,
        data=_data(facts.contract, key, state, _sides(reason, existing), reason, judged, deadline.day),
    )


def _reason(facts: TicketFacts, databases: Sequence[DatedDatabase], existing: ExistingTicket | None) -> TicketReason:
    """Return every move from the first after the oldest content of the wrong convention; without one the last move.

    A ticket that is there already keeps the moves that it was filed for.
    """
    wanted: set[str] = set()
    for database in (one for outer in databases for one in (outer, *outer.packed_from)):
        if built_under(database, facts) != facts.convention:
            wanted |= {move.commit for move in moves_after(database, facts)}
    wanted |= set(existing.data.crossings) if existing and existing.data else set()
    first = next((index for index, move in enumerate(facts.moves) if move.commit in wanted), len(facts.moves) - 1)
    crossings = tuple(_crossing(move) for move in facts.moves[max(first, 0) :])
    now = PinAtNumber(ref=facts.pin, number=facts.abi.number if facts.abi else None, convention=facts.convention)
    return TicketReason(old=crossings[0].old if crossings else None, new=now, crossings=crossings)


def _crossing(move: PinChange) -> Crossing:
    abi = move.abi
    assert abi is not None  # a move without an ABI is no move of `TicketFacts`
    return Crossing(
        commit=move.commit,
        committed_at=move.committed_at,
        pr=move.pr,
        subject=move.subject,
        old=PinAtNumber(ref=move.old.ref if move.old else None, number=abi.old, convention=abi.old_convention),
        new=PinAtNumber(ref=move.new.ref if move.new else None, number=abi.new, convention=abi.new_convention),
        certain=bool(abi.crossing),
    )


def _key(facts: TicketFacts, arch: str, reason: TicketReason, existing: ExistingTicket | None) -> TicketKey:
    """Return the key: that of relmgr's existing ticket, which a second crossing joins, else a new one."""
    if existing and existing.data:
        return existing.data.key
    first = reason.crossings[0].commit if reason.crossings else NO_CROSSING
    return TicketKey(consumer=facts.consumer, train=facts.train.name, arch=arch, crossing=first)


def _sides(reason: TicketReason, existing: ExistingTicket | None) -> tuple[PinAtNumber | None, PinAtNumber]:
    """Return the sides a ticket stands between. A pin that is back leaves the new side as it was filed.

    Else nobody could tell any more that the pin had been elsewhere, and a withdrawn ticket would be opened again.
    """
    filed = existing.data if existing else None
    if filed is None or filed.old is None:
        return reason.old, reason.new
    return filed.old, filed.new if reason.new.convention == filed.old.convention else reason.new


def _data(
    contract: str | None,
    key: TicketKey,
    state: TicketState,
    sides: tuple[PinAtNumber | None, PinAtNumber],
    reason: TicketReason,
    judged: Sequence[TicketDatabase],
    day: date | None,
) -> TicketData:
    # Worst first, so that what must be rebuilt is never among those beyond the limit.
    ranked = sorted(judged, key=lambda d: (d.state not in NEEDS_WORK, d.path))
    return TicketData(
        key=key,
        contract=contract,
        state=state,
        old=sides[0],
        new=sides[1],
        crossings=tuple(crossing.commit for crossing in reason.crossings),
        databases=tuple(
            TicketDatabaseRecord(**d.model_dump(include=set(TicketDatabaseRecord.model_fields)))
            for d in ranked[:MAX_LISTED]
        ),
        more=max(0, len(ranked) - MAX_LISTED),
        deadline=day,
    )


# -- what is there already ------------------------------------------------------------------------------------------


def _is_of(ticket: ExistingTicket, facts: TicketFacts) -> bool:
    return ticket.consumer.lower() == facts.consumer.lower() and ticket.train == facts.train.name


def _existing(facts: TicketFacts, arch: str) -> ExistingTicket | None:
    """Return what is planned for this train and arch: relmgr's open one, any open one, else relmgr's closed one."""
    mine = [ticket for ticket in facts.existing or () if _is_of(ticket, facts) and ticket.arch == arch]
    ranks: Mapping[tuple[bool, bool], int] = {(True, True): 0, (True, False): 1, (False, True): 2}
    ranked = [(ranks[key], i) for i, t in enumerate(mine) if (key := (t.state == "open", t.data is not None)) in ranks]
    return mine[min(ranked)[1]] if ranked else None


def _action(state: TicketState, existing: ExistingTicket | None) -> TicketAction:
    """Return what to do on the forge; whether an update changes any word is told once the words are there."""
    if existing is None:
        return "file"
    if existing.data is None:
        return "join"
    if existing.state == "open":
        return "update" if state == "open" else "close"
    return "reopen" if state == "open" else "keep"
