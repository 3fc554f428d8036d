"""May a change be taken to a release branch? Pure: facts to findings. What could not be told blocks."""

from __future__ import annotations

from collections.abc import Iterator

from relmgr.model.backport import BackportFacts, BackportFinding, PinStep
from relmgr.model.base import Level, Outcome


def judge_backport(facts: BackportFacts) -> tuple[BackportFinding, ...]:
    """Return everything that speaks against a backport, and what is worth knowing."""
    rules = (_landed, _namesakes, _withdrawn, _parent, _place, _look_alike, _pins)
    return tuple(finding for rule in rules for finding in rule(facts))


def _landed(facts: BackportFacts) -> Iterator[BackportFinding]:
    original = facts.original
    if original.on:
        return
    says = f"{original.commit[:12]} is on none of the branches of {original.repository}"
    remedy = "land it first; a backport takes what has landed"
    if original.squash:
        remedy = f"take {original.squash}: its tree is the same, it is what was squashed"
    yield _block("original-has-landed", says, remedy)


def _namesakes(facts: BackportFacts) -> Iterator[BackportFinding]:
    """A number given twice, by a former forge too: what was taken for it is said, as the gate says it."""
    original = facts.original
    if original.namesakes:
        others = ", ".join(commit[:12] for commit in original.namesakes)
        says = f"{original.commit[:12]} was taken for #{original.pr}; so named too: {others}"
        yield _finding("number-given-once", Outcome.PASSED, Level.NOTE, says, "if another was meant, give its commit")


def _withdrawn(facts: BackportFacts) -> Iterator[BackportFinding]:
    """T9 from the change: what was reverted is not taken; a revert is taken only where there is what it reverts."""
    branch = facts.target.branch
    if facts.withdrawn_by:
        says = f"{facts.original.commit[:12]} was reverted by {facts.withdrawn_by[:12]}"
        yield _block("original-not-reverted", says, "take what replaced it, or cherry-pick it by hand and say why")
    if facts.reverts and facts.reverted_is_there is False:
        says = f"it reverts {facts.reverts[:12]}, which is not on {branch}"
        yield _block("revert-has-its-original", says, f"nothing is to be done on {branch}")


def _parent(facts: BackportFacts) -> Iterator[BackportFinding]:
    parents = facts.original.parents
    if facts.mainline is None or any(p.mainline for p in parents if p.number == facts.mainline):
        return
    if not any(p.mainline for p in parents):
        return
    says = f"-m {facts.mainline} takes what the merge found on the default branch, not what it brought there"
    chosen = next(p.number for p in parents if p.mainline)
    yield _finding("parent-is-mainline", Outcome.FAILED, Level.WARN, says, f"-m {chosen} takes what it brought")


def _place(facts: BackportFacts) -> Iterator[BackportFinding]:
    if facts.target.checked_out:
        name = facts.target.ref.removeprefix("refs/heads/")
        says = f"{name} is checked out in {facts.target.checked_out}"
        yield _block("branch-not-checked-out", says, "switch that work tree to another branch, or give --as NEW-BRANCH")


def _look_alike(facts: BackportFacts) -> Iterator[BackportFinding]:
    if facts.look_alike:
        says = f"{facts.look_alike[:12]} on {facts.target.branch} has the same title, and no link to this one"
        yield _finding("taken-by-hand", Outcome.FAILED, Level.WARN, says, "look at it: the change may be there already")


def _pins(facts: BackportFacts) -> Iterator[BackportFinding]:
    """P10: the pin of the release branch does not go back, neither by commit nor by number."""
    for step in facts.pins:
        branch, to = facts.target.branch, f"from {_short(step.old)} to {_short(step.new)}"
        keep = f"leave the pin of {branch} as it is, and take the rest of the change by hand"
        if step.gap is None and step.old and step.new is None:
            yield _block("pin-not-downgraded", f"the pin {step.pin} of {branch} would be gone", keep)
        elif _is_lower(step):
            says = f"the pin {step.pin} would go {to}, by number from {step.old_number} to {step.new_number}"
            yield _block("pin-not-downgraded", says, keep)
        elif step.forward is False:
            says = f"the pin {step.pin} would go {to}, which does not come after it"
            yield _block("pin-not-downgraded", says, keep)
        elif step.gap or (step.forward is None and step.old):
            says = f"whether the pin {step.pin} would go back, {to}: {step.gap or 'not known'}"
            remedy = "give a clone of the provider that has both (--repo NAME=PATH)"
            yield _finding("pin-not-downgraded", Outcome.UNKNOWN, Level.BLOCK, says, remedy)
        elif step.crossing:
            says = f"the pin {step.pin} would cross the kernel ABI, {step.old_number} to {step.new_number}, on {branch}"
            remedy = f"the kernel databases of {branch} have to be rebuilt: relmgr kdb ticket"
            yield _finding("abi-crossing", Outcome.FAILED, Level.WARN, says, remedy)


def _is_lower(step: PinStep) -> bool:
    return step.old_number is not None and step.new_number is not None and step.new_number < step.old_number


def _short(ref: str | None) -> str:
    return "nothing" if ref is None else ref[:12] if len(ref) == 40 else ref


def _block(check: str, says: str, remedy: str) -> BackportFinding:
    return _finding(check, Outcome.FAILED, Level.BLOCK, says, remedy)


def _finding(check: str, outcome: Outcome, level: Level, says: str, remedy: str) -> BackportFinding:
    return BackportFinding(check=check, outcome=outcome, level=level, says=says, remedy=remedy)
