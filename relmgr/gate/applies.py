"""Does a policy apply to a subject: yes, no, or "could not tell", each with its reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from relmgr.model.policy import AppliesTo
from relmgr.model.snapshot import Snapshot


class Applies(NamedTuple):
    """`answer` is None when a fact that decides it could not be read; `reason` says which, or why not."""

    answer: bool | None
    reason: str = ""


YES = Applies(True)


def applies_to(snapshot: Snapshot, conditions: AppliesTo) -> Applies:
    """Return whether all conditions hold. A certain "no" wins over "could not tell".

    Roles, base and `when` describe pull requests; a cut or a release is judged whatever they say.
    """
    answers = [
        _subjects(snapshot, conditions),
        _roles(snapshot, conditions),
        _past(snapshot, conditions),
        _base(snapshot, conditions),
    ]
    if snapshot.kind == "pull-request" and all(answer.answer is not False for answer in answers):
        answers.append(WHEN[conditions.when](snapshot))
    for wanted in (False, None):
        for answer in answers:
            if answer.answer is wanted:
                return answer
    return YES


def _subjects(snapshot: Snapshot, conditions: AppliesTo) -> Applies:
    return Applies(snapshot.kind in conditions.subjects, f"the subject is a {snapshot.kind}")


def _roles(snapshot: Snapshot, conditions: AppliesTo) -> Applies:
    met = not conditions.roles or snapshot.kind != "pull-request" or snapshot.role in conditions.roles
    return Applies(met, f"{snapshot.repository} is not a {' or '.join(conditions.roles)}")


def _past(snapshot: Snapshot, conditions: AppliesTo) -> Applies:
    met = conditions.past or snapshot.basis == "live"
    return Applies(met, "a merged pull request is judged by its final text and diff; this was settled on the forge")


def _base(snapshot: Snapshot, conditions: AppliesTo) -> Applies:
    if conditions.base == "any" or snapshot.kind != "pull-request":
        return YES
    if (gap := snapshot.gap("base")) is not None:
        return Applies(None, f"base: {gap}")
    is_default = snapshot.base == snapshot.default_branch
    if conditions.base == "default":
        return Applies(is_default, f"it goes to {snapshot.base}, not to {snapshot.default_branch}")
    return Applies(not is_default and snapshot.train is not None, f"{snapshot.base} is no release branch")


# -- when ------------------------------------------------------------------------------------------------------------


def _always(snapshot: Snapshot) -> Applies:
    return YES


def _of_fact(fact: str, reason: str) -> Callable[[Snapshot], Applies]:
    """Return the predicate "the fact `fact` is there and not empty"."""

    def predicate(snapshot: Snapshot) -> Applies:
        if (gap := snapshot.gap(fact)) is not None:
            return Applies(None, f"{fact}: {gap}")
        return Applies(bool(getattr(snapshot, fact)), reason)

    return predicate


def _pin_moves(snapshot: Snapshot) -> Applies:
    if (gap := snapshot.gap("pin_moves")) is not None:
        return Applies(None, f"pin_moves: {gap}")
    return Applies(any(move.moves for move in snapshot.pin_moves or ()), "it moves no pin")


def _no_pin_moves(snapshot: Snapshot) -> Applies:
    moves = _pin_moves(snapshot)
    return Applies(None if moves.answer is None else not moves.answer, moves.reason or "it moves a pin")


def _abi_crosses(snapshot: Snapshot) -> Applies:
    """A crossing is decided by the convention on both sides; one that could not be told is no "no"."""
    moves = _pin_moves(snapshot)
    if not moves.answer:
        return moves
    crossings = [move.abi.crossing if move.abi else False for move in snapshot.pin_moves or () if move.moves]
    if any(crossings):
        return YES
    if None in crossings:
        return Applies(None, "pin_moves: the convention on one side of the move is not known")
    return Applies(False, "the pin moves, and the convention stays")


def _guards_concerned(snapshot: Snapshot) -> Applies:
    """Guards matter when the ABI is crossed, and when the subject changes a guard."""
    crosses = _abi_crosses(snapshot)
    if crosses.answer:
        return YES
    if (gap := snapshot.gap("guards")) is not None:
        return Applies(None, f"guards: {gap}")
    if any(fact.before != fact.after for fact in snapshot.guards or ()):
        return YES
    return Applies(crosses.answer, "it neither crosses the ABI nor changes a guard")


def _surface_changes(snapshot: Snapshot) -> Applies:
    if (gap := snapshot.gap("surfaces")) is not None:
        return Applies(None, f"surfaces: {gap}")
    return Applies(bool(snapshot.surfaces), "it changes no provider header")


def _companions(snapshot: Snapshot) -> Applies:
    if (gap := snapshot.gap("dependencies")) is not None:
        return Applies(None, f"dependencies: {gap}")
    return Applies(any(d.companion for d in snapshot.dependencies or ()), "no companion is declared or pinned")


def _dependencies(snapshot: Snapshot) -> Applies:
    if (gap := snapshot.gap("dependencies")) is not None:
        return Applies(None, f"dependencies: {gap}")
    return Applies(any(not d.companion for d in snapshot.dependencies or ()), "no dependency is declared")


WHEN: dict[str, Callable[[Snapshot], Applies]] = {
    "always": _always,
    "pin-touched": _of_fact("pin_moves", "it touches no pin"),
    "pin-moves": _pin_moves,
    "no-pin-moves": _no_pin_moves,
    "abi-crosses": _abi_crosses,
    "guards-concerned": _guards_concerned,
    "surface-changes": _surface_changes,
    "companions-declared": _companions,
    "dependencies-declared": _dependencies,
    "event-declared": _of_fact("merge_after", "no event is declared"),
    "policies-touched": _of_fact("policy_edits", "it changes no policy, train or waiver"),
}
