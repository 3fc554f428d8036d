"""What the gate says about a bump that is planned, and what a person may have opened in spite of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from relmgr.model.base import Outcome
from relmgr.model.verdict import Verdict

# Which policies a reason given with `pin bump` answers: the pull request is opened, and still needs their waiver.
ANSWERED = {
    "rollback": ("pin-moves-forward", "backport-does-not-downgrade-pin"),
    "reverted": ("reverted-pin-not-reproposed",),
}


def answer_with_reasons(verdicts: Iterable[Verdict], reasons: Mapping[str, str]) -> tuple[Verdict, ...]:
    """Return the verdicts of a plan; one that failed and could be answered has its answer, or how to give one."""
    answers = {policy: name for name, policies in ANSWERED.items() for policy in policies}
    return tuple(
        _answered(one, answers[one.policy], reasons.get(answers[one.policy]))
        if one.policy in answers and one.outcome is Outcome.FAILED
        else one
        for one in verdicts
    )


def _answered(verdict: Verdict, name: str, reason: str | None) -> Verdict:
    if reason is None:
        return verdict.model_copy(update={"remedy": f"{verdict.remedy} --allow-{name} REASON opens it all the same."})
    return verdict.model_copy(update={"evidence": verdict.evidence | {"answered_by": reason}})
