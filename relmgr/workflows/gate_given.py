"""What a person hands to the gate beside the clones: scans, a list of tickets, smoke reports."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from relmgr.errors import SourceError, UserError
from relmgr.gate.checks.trains import crossings
from relmgr.gate.tickets import gate_tickets
from relmgr.model.project import Project
from relmgr.model.smoke_signing import MIN_SECRET_BYTES
from relmgr.model.snapshot import Snapshot
from relmgr.model.ticket import ExistingTicket
from relmgr.model.trains import Train, next_train_to_cut
from relmgr.settings import MAX_CONFIG_BYTES
from relmgr.sources.changes.change import commit_before
from relmgr.sources.git.clone import Clone
from relmgr.sources.smoke_reports import read_report
from relmgr.sources.snapshot import FORGE
from relmgr.sources.ticket_files import read_existing
from relmgr.workflows.gate_databases import kernel_pin, with_databases


class GateInputs(NamedTuple):
    """Documents of `kdb scan`, databases to scan now, a list of tickets, reports of `smoke run`."""

    scans: Sequence[Path] = ()
    databases: Sequence[str] = ()
    tickets: Path | None = None
    smoke_reports: Sequence[Path] = ()


def with_given(project: Project, snapshot: Snapshot, given: GateInputs) -> Snapshot:
    """Return a live snapshot with what was handed in laid over it. Raises `UserError` and `SourceError` for bad files.

    Only what bears its proof counts: a scan by its content, a ticket by its number, a report by its signature.
    """
    if not any(given):
        return snapshot
    clone = _clone(project, snapshot)
    if given.scans or given.databases:
        snapshot = with_databases(project, snapshot, clone, given.scans, given.databases)
    if given.tickets is not None:
        snapshot = _with_tickets(project, snapshot, given.tickets)
    if given.smoke_reports:
        snapshot = _with_reports(project, snapshot, clone, given.smoke_reports)
    files = [
        *map(str, given.scans),
        *given.databases,
        *map(str, filter(None, [given.tickets])),
        *map(str, given.smoke_reports),
    ]
    return snapshot.model_copy(update={"sources": (*snapshot.sources, *(f"given: {file}" for file in files))})


def _with_tickets(project: Project, snapshot: Snapshot, file: Path) -> Snapshot:
    """Return the snapshot with a list's tickets; an entry that could not be read might be the one that is missing.

    A ticket without relmgr's block is a person's plan for one train: it counts towards the number that this change
    brings to that train, and to no other. Tickets that the forge told stay, and win over an entry of the same page; a
    forge that was asked and did not answer leaves them unknown.
    """
    existing, unread = read_existing(file)
    consumer, pin = project.repositories[snapshot.repository], kernel_pin(project, snapshot.repository)
    mine = [ticket for ticket in existing if consumer.is_named(ticket.consumer)]
    plans, train = [ticket for ticket in mine if ticket.data is None], _train(snapshot)
    if plans and train is None:
        unread = (*unread, f"{file.name}: no train of the calendar says which of its plans concern this change")
    if snapshot.tickets is None and (why := snapshot.gaps.get("tickets", FORGE)) != FORGE:
        unread = (*unread, why)
    if unread:
        gaps = snapshot.gaps | {"tickets": "; ".join(unread[:5])}
        return snapshot.model_copy(update={"tickets": None, "gaps": gaps})
    contract = pin.contract if pin and pin.contract else ""
    found = list(gate_tickets([ticket for ticket in mine if ticket.data is not None], contract, None))
    for move in crossings(snapshot):
        ours = [ticket for ticket in plans if train is not None and _is_of(ticket, train)]
        found += gate_tickets(ours, move.contract or contract, move.abi.new if move.abi else None)
    told = snapshot.tickets or ()
    pages = {ticket.url for ticket in told if ticket.url}
    both = (*told, *(ticket for ticket in found if ticket.url not in pages))
    gaps = {fact: said for fact, said in snapshot.gaps.items() if fact != "tickets"}
    return snapshot.model_copy(update={"tickets": both, "gaps": gaps})


def _train(snapshot: Snapshot) -> Train | None:
    """Return the train that the change goes to: its base branch's, else the next to be cut from there."""
    own = next((train for train in snapshot.trains or () if train.name == snapshot.train), None)
    return own or next_train_to_cut(snapshot.trains or (), snapshot.base or snapshot.default_branch, snapshot.at)


def _is_of(ticket: ExistingTicket, train: Train) -> bool:
    return ticket.train in (train.name, train.version)


def _with_reports(project: Project, snapshot: Snapshot, clone: Clone, files: Sequence[Path]) -> Snapshot:
    """Return the snapshot with reports and what their signatures say, by the secret and the base branch's signers."""
    secrets = _secrets(project)
    try:
        signers = _allowed_signers(project, snapshot, clone)
    except SourceError as error:
        gaps = snapshot.gaps | {"smoke": f"the allowed signers could not be read: {' '.join(str(error).split())}"}
        return snapshot.model_copy(update={"smoke": None, "gaps": gaps})
    reports = tuple(read_report(file, secrets=secrets, allowed_signers=signers) for file in files)
    gaps = {fact: said for fact, said in snapshot.gaps.items() if fact != "smoke"}
    return snapshot.model_copy(update={"smoke": reports, "gaps": gaps})


def _secrets(project: Project) -> tuple[bytes, ...]:
    """Return the secret of the environment; one that anybody could guess checks nothing, and is refused."""
    secret = os.environ.get(project.smoke.secret_variable, "").encode()
    if 0 < len(secret) < MIN_SECRET_BYTES:
        raise UserError(
            f"the secret for smoke reports has fewer than {MIN_SECRET_BYTES} bytes",
            where=project.smoke.secret_variable,
            next_step="use the one that the reports were signed with",
        )
    return (secret,) if secret else ()


def _allowed_signers(project: Project, snapshot: Snapshot, clone: Clone) -> bytes | None:
    """Return the signers that the base branch names at the snapshot's time: a change never allows its own."""
    tip = commit_before(clone, snapshot.base or snapshot.default_branch, snapshot.at)
    return clone.read(tip, project.smoke.allowed_signers, MAX_CONFIG_BYTES) if tip else None


def _clone(project: Project, snapshot: Snapshot) -> Clone:
    repository = project.repositories[snapshot.repository]
    if repository.path is None:
        raise SourceError(
            f"no clone of {repository.slug} at hand", next_step=f"give one with --repo {snapshot.repository}=PATH"
        )
    return Clone.open(repository.path)
