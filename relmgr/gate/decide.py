"""From verdicts to one decision, and to what may be done today. The only place that decides."""

from __future__ import annotations

from collections.abc import Sequence

from relmgr.gate.applies import WHEN
from relmgr.gate.engine import evaluate
from relmgr.gate.policies import Rule, shipped_advice
from relmgr.model.base import Outcome
from relmgr.model.policy import Advice
from relmgr.model.snapshot import Snapshot
from relmgr.model.verdict import Decision, GateReport, Judged, Verdict


def report(snapshot: Snapshot, rules: Sequence[Rule], *, recorded: bool = False) -> GateReport:
    """Judge a snapshot; `recorded` when it was read from a file instead of the world."""
    judged: Judged = "recorded" if recorded else "live" if snapshot.basis == "live" else "final-text-at"
    verdicts = evaluate(snapshot, rules)
    decision = decide(verdicts)
    return GateReport(
        subject=snapshot.subject,
        judged=judged,
        at=snapshot.at,
        decision=decision,
        verdicts=verdicts,
        may_today=may_today(snapshot, verdicts, decision),
        taken_at=snapshot.taken_at,
    )


def decide(verdicts: Sequence[Verdict]) -> Decision:
    """Return `block` when a blocking policy failed or could not tell, `wait` when one waits, else `merge`."""
    if any(verdict.blocks for verdict in verdicts):
        return "block"
    return "wait" if any(verdict.holds for verdict in verdicts) else "merge"


def may_today(snapshot: Snapshot, verdicts: Sequence[Verdict], decision: Decision) -> tuple[str, ...]:
    """Return what may be done today, from the shipped advice; only pull requests are advised."""
    if snapshot.kind != "pull-request":
        return ()
    stops = [verdict.policy for verdict in verdicts if verdict.blocks or verdict.holds]
    passed = {verdict.policy for verdict in verdicts if verdict.outcome is Outcome.PASSED}
    return tuple(
        template.render(stops=stops)
        for advice, template in shipped_advice()
        if _fits(advice, snapshot, passed, decision)
    )


def _fits(advice: Advice, snapshot: Snapshot, passed: set[str], decision: Decision) -> bool:
    certain = WHEN[advice.when](snapshot).answer is True
    named = set(advice.passed) <= passed and not set(advice.not_passed) & passed
    return decision in advice.decision and named and certain
