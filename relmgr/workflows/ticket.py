"""`relmgr kdb ticket`: facts, judgement, words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, timezone
from pathlib import Path
from typing import NamedTuple

from relmgr.errors import UserError
from relmgr.gate.tickets import evaluate_tickets
from relmgr.model.base import Convention
from relmgr.model.project import PinConfig, Project
from relmgr.model.ticket import ScannedFile, TicketFacts, Tickets
from relmgr.model.trains import Calendar, Train, next_train_to_cut
from relmgr.render.engine import words_of
from relmgr.render.ticket import write_tickets
from relmgr.sources.databases.files import find_databases
from relmgr.sources.databases.scan import ScanRules
from relmgr.sources.git.clone import Clone
from relmgr.sources.provider.abi import AbiReader
from relmgr.sources.ticket_facts import read_rebuild_facts
from relmgr.sources.ticket_files import check_values, read_existing, read_scan, scan_databases
from relmgr.sources.trains import read_train_state
from relmgr.workflows.locate import consumer_clone, default_ref
from relmgr.workflows.pins import commit_at
from relmgr.workflows.trains import named_train


class TicketInputs(NamedTuple):
    """What a person hands in: scans, databases to scan, a list of tickets, words for the recipe, a ref."""

    scans: Sequence[Path] = ()
    databases: Sequence[str] = ()
    existing: Path | None = None
    fill: Sequence[str] = ()
    ref: str | None = None


def regeneration_tickets(
    project: Project, pin: PinConfig, calendar: Calendar, train: str | None, at: datetime | None, given: TicketInputs
) -> Tickets:
    """Return the tickets of a train (default: the next to be cut) as of `at`, with their words."""
    facts = read_ticket_facts(project, pin, calendar, train, at, given)
    return write_tickets(evaluate_tickets(facts), facts.existing or (), words_of(project))


def read_ticket_facts(
    project: Project, pin: PinConfig, calendar: Calendar, name: str | None, at: datetime | None, given: TicketInputs
) -> TicketFacts:
    """Read everything tickets are made of, from the consumer's clone and from what was handed in."""
    now, consumer = at or datetime.now(timezone.utc), project.repositories[pin.consumer]
    train = _train(calendar, consumer.default_branch, name, now)
    clone = consumer_clone(project, pin)
    ref = given.ref or _ref_of(clone, project, pin, train, at)
    commit = commit_at(clone, ref, at)
    found = read_rebuild_facts(clone, project, pin, AbiReader(project, pin), commit)
    existing, gaps = read_existing(given.existing) if given.existing else (None, ())
    convention = found.abi.convention if found.abi else "unknown"
    return TicketFacts(
        consumer=consumer.slug,
        provider=project.repositories[pin.provider].slug,
        contract=pin.contract,
        train=train,
        previous_cut=_previous_cut(calendar, train),
        at=now,
        ref=ref,
        commit=commit,
        pin=found.pin,
        abi=found.abi,
        moves=found.moves,
        databases=found.databases,
        scans=read_scans(project, pin, convention, given.scans, given.databases),
        existing=existing,
        rebuild=consumer.rebuild,
        values=check_values(given.fill, consumer.rebuild.fill if consumer.rebuild else ()),
        owners=train.owners or project.owners,
        gaps=(*found.gaps, *gaps),
    )


def read_scans(
    project: Project, pin: PinConfig, convention: Convention, scans: Sequence[Path], databases: Sequence[str]
) -> tuple[ScannedFile, ...]:
    """Return what scans tell, given as documents, and as databases to scan now, under `convention`."""
    found = [one for file in scans for one in read_scan(file, convention)]
    if databases:
        contract = project.contract(pin)
        rules = ScanRules(contract.kernel_symbol, contract.solvers, convention) if contract else ScanRules(None)
        found += scan_databases(find_databases(databases, frozenset({"kdb"})), rules)
    return tuple(found)


def ticket_files(document: Tickets) -> dict[str, str]:
    """Return the tickets' bodies by file name, `TRAIN-ARCH.md`; no two share a name."""
    files: dict[str, str] = {}
    for ticket in document.tickets:
        base = re.sub(r"[^A-Za-z0-9._-]", "-", f"{ticket.train}-{ticket.arch}")
        names = [f"{base}.md", *(f"{base}-{n}.md" for n in range(2, len(document.tickets) + 2))]
        files[next(name for name in names if name not in files)] = ticket.body
    return files


def _train(calendar: Calendar, branch: str, name: str | None, now: datetime) -> Train:
    train = named_train(calendar, name) if name else next_train_to_cut(calendar.trains, branch, now)
    if train is None:
        what = f"no train is planned to be cut from {branch} after {now.date()}"
        raise UserError(what, next_step="name one with --train, or plan it in the calendar (--trains FILE)")
    if train.withdrawn:
        raise UserError(f"{train.name} is withdrawn: {train.withdrawn}", next_step="name another --train")
    return train


def _ref_of(clone: Clone, project: Project, pin: PinConfig, train: Train, at: datetime | None) -> str:
    """Return the train's branch once it is cut: what ships is what stands there. Before, the default branch."""
    state = read_train_state(clone, pin.consumer, project.repositories[pin.consumer], train, at)
    return state.branch or default_ref(clone, project, pin)


def _previous_cut(calendar: Calendar, train: Train) -> date | None:
    earlier = [t for t in calendar.trains if t.base_branch == train.base_branch and t.order < train.order]
    return max(earlier, key=lambda t: t.order).cut if earlier else None
