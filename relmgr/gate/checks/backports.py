"""Changes taken to a release branch."""

from __future__ import annotations

from relmgr.gate.checks.pins import Step, steps_of
from relmgr.gate.registry import NoParams, Result, check
from relmgr.model.base import Noun, Outcome
from relmgr.model.snapshot import Snapshot


class BackportEvidence(Noun):
    """The train of the base branch, and why it takes nothing any more (`withdrawn`, `no-branch`, `past-it`)."""

    train: str | None
    branch: str | None
    closed: str | None
    says: str


@check("backport-targets-open-branch")
def backport_targets_open_branch(snapshot: Snapshot, params: NoParams) -> Result[BackportEvidence]:
    """The release branch is there and its train is not withdrawn (T7: whole versions)."""
    train = next((train for train in snapshot.trains or () if train.name == snapshot.train), None)
    state = snapshot.train_state
    closed = None
    if train is not None and train.withdrawn:
        closed = "withdrawn"
    elif state is not None and state.branch is None and not state.unread:
        closed = "no-branch"
    evidence = BackportEvidence(
        train=snapshot.train, branch=snapshot.base, closed=closed, says=train.withdrawn if train else ""
    )
    if closed:
        return Result(Outcome.FAILED, evidence)
    if train is None:
        return Result(Outcome.UNKNOWN, evidence, (f"trains: the train of {snapshot.base}",))
    if state is None or state.branch is None:
        why = "; ".join(state.unread) if state else "not read"
        return Result(Outcome.UNKNOWN, evidence, (f"train_state: whether {snapshot.base} is there ({why})",))
    return Result(Outcome.PASSED, evidence)


class Downgrade(Noun):
    """A pin that would go back on the release branch, by commit or by ABI number."""

    pin: str
    old: str | None
    new: str | None
    old_number: int | None
    new_number: int | None


class DowngradeEvidence(Noun):
    """Every pin that moves, and those that would go back."""

    moves: tuple[Step, ...]
    down: tuple[Downgrade, ...]


@check("backport-does-not-downgrade-pin")
def backport_does_not_downgrade_pin(snapshot: Snapshot, params: NoParams) -> Result[DowngradeEvidence]:
    """The pin of the release branch does not go back, neither by commit nor by number (P10)."""
    steps = {step.pin: step for step in steps_of(snapshot)}
    down, unread = [], []
    for move in (m for m in snapshot.pin_moves or () if m.moves and m.old and m.new):
        step, abi = steps[move.pin], move.abi
        lower = abi is not None and abi.old is not None and abi.new is not None and abi.new < abi.old
        if lower or (step.forward is False and not step.is_revert):
            numbers = (abi.old, abi.new) if abi else (None, None)
            down.append(
                Downgrade(pin=move.pin, old=step.old, new=step.new, old_number=numbers[0], new_number=numbers[1])
            )
        elif step.forward is None and not step.is_revert:
            unread.append(f"{move.pin}: whether {step.old} comes before {step.new}")
    evidence = DowngradeEvidence(moves=tuple(steps.values()), down=tuple(down))
    outcome = Outcome.FAILED if down else Outcome.UNKNOWN if unread else Outcome.PASSED
    return Result(outcome, evidence, tuple(unread) if outcome is Outcome.UNKNOWN else ())
