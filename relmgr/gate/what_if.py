"""What if: lay assumptions over a snapshot and show which verdicts change. Nothing is written anywhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date

from relmgr.errors import UserError
from relmgr.gate.checks.order import named_train
from relmgr.gate.decide import report
from relmgr.gate.policies import Rule
from relmgr.model.facts import Dependency, Ticket
from relmgr.model.snapshot import Snapshot
from relmgr.model.times import parse_date
from relmgr.model.trains import Train
from relmgr.model.verdict import GateReport, VerdictChange, WhatIf

FORMS = ("cut TRAIN at DATE", "merged:OWNER/REPO#N", "closed:OWNER/REPO#N", "ticket:ARCH")


def what_if(snapshot: Snapshot, rules: Sequence[Rule], assumptions: Sequence[str], *, recorded: bool) -> WhatIf:
    """Judge a snapshot as it is and under the assumptions, and return the difference."""
    assumed = snapshot
    for text in assumptions:
        assumed = assume(assumed, text)
    before, after = (report(one, rules, recorded=recorded) for one in (snapshot, assumed))
    return WhatIf(
        subject=snapshot.subject,
        at=snapshot.at,
        assumed=tuple(assumptions),
        decision={"before": before.decision, "after": after.decision},
        changes=_changes(before, after),
        report=after,
    )


def _changes(before: GateReport, after: GateReport) -> tuple[VerdictChange, ...]:
    """Return the verdicts whose outcome or statement differs, in the order of the policies."""
    changes = []
    for was, now in zip(before.verdicts, after.verdicts, strict=True):
        if (was.outcome, was.evidence.get("statement")) != (now.outcome, now.evidence.get("statement")):
            says = now.evidence.get("statement") or ""
            changes.append(VerdictChange(policy=was.policy, before=was.outcome, after=now.outcome, statement=says))
    return tuple(changes)


def assume(snapshot: Snapshot, text: str) -> Snapshot:
    """Return the snapshot in which one assumption holds; `UserError` for one that is not understood."""
    for pattern, apply in _FORMS:
        if match := re.fullmatch(pattern, text.strip()):
            return apply(snapshot, *match.groups())
    raise UserError(f"--assume {text!r} is not understood", next_step=f"write one of: {'; '.join(FORMS)}")


def _cut(snapshot: Snapshot, name: str, day: str) -> Snapshot:
    moved, train = parse_date(day), named_train(snapshot, name)
    if train is None:
        known = ", ".join(train.name for train in snapshot.trains or ()) or "no train was read"
        raise UserError(f"--assume: no train {name!r}", next_step=f"known: {known}")
    trains = tuple(_with_cut(one, moved) if one is train else one for one in snapshot.trains or ())
    return snapshot.model_copy(update={"trains": trains})


def _with_cut(train: Train, day: date) -> Train:
    # Validated again: a cut after the first tag is no assumption but a contradiction.
    try:
        return Train.model_validate(train.model_dump(exclude_unset=True) | {"cut": day})
    except ValueError as error:
        raise UserError(
            f"--assume: {train.name} cannot be cut on {day}: {error}", next_step="give another day"
        ) from None


def _merged(snapshot: Snapshot, pull: str) -> Snapshot:
    return _dependency(
        snapshot, pull, lambda one: {"state": "merged", "landed": True, "base": one.needs, "merged_at": snapshot.at}
    )


def _closed(snapshot: Snapshot, pull: str) -> Snapshot:
    return _dependency(snapshot, pull, lambda one: {"state": "closed", "landed": None})


def _dependency(snapshot: Snapshot, pull: str, change: Callable[[Dependency], dict[str, object]]) -> Snapshot:
    known = [one.pull for one in snapshot.dependencies or ()]
    if pull.lower() not in {one.lower() for one in known}:
        raise UserError(
            f"--assume: {snapshot.subject} does not depend on {pull}",
            next_step=f"it depends on: {', '.join(known) or 'nothing'}",
        )
    changed = tuple(
        one.model_copy(update=change(one)) if one.pull.lower() == pull.lower() else one
        for one in snapshot.dependencies or ()
    )
    return snapshot.model_copy(update={"dependencies": changed})


def _ticket(snapshot: Snapshot, arch: str) -> Snapshot:
    moves = [move for move in snapshot.pin_moves or () if move.moves and move.contract and move.abi]
    filed = tuple(
        Ticket(contract=move.contract or "", number=move.abi.new if move.abi else None, arch=arch, state="open")
        for move in moves
    )
    gaps = {fact: why for fact, why in snapshot.gaps.items() if fact != "tickets"}
    return snapshot.model_copy(update={"tickets": (*(snapshot.tickets or ()), *filed), "gaps": gaps})


_FORMS: tuple[tuple[str, Callable[..., Snapshot]], ...] = (
    (r"cut (\S+) at (\d{4}-\d{2}-\d{2})", _cut),
    (r"merged:([\w.-]+/[\w.-]+#\d+)", _merged),
    (r"closed:([\w.-]+/[\w.-]+#\d+)", _closed),
    (r"ticket:([\w:+-]+)", _ticket),
)
