"""Judge a snapshot by rules. Pure: no clock, no file, no network; the same snapshot gives the same verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jinja2 import TemplateError

from relmgr.errors import UserError
from relmgr.gate.applies import Applies, applies_to
from relmgr.gate.hand_in import how_to_hand_in
from relmgr.gate.policies import Rule
from relmgr.gate.registry import Result
from relmgr.gate.waivers import waiver_evidence
from relmgr.model.base import Outcome
from relmgr.model.snapshot import Snapshot
from relmgr.model.verdict import READ_IT, Verdict

MAX_TEXT = 4000


def evaluate(snapshot: Snapshot, rules: Sequence[Rule]) -> tuple[Verdict, ...]:
    """Return one verdict per rule, in the order of the rules."""
    return tuple(judge(snapshot, rule) for rule in rules)


def judge(snapshot: Snapshot, rule: Rule) -> Verdict:
    """Return the verdict of one rule: does it apply, are its facts there, what does its check say."""
    if rule.disabled:
        return _verdict(snapshot, rule, Outcome.SKIPPED, {"statement": f"put aside by the project: {rule.disabled}"})
    applies = applies_to(snapshot, rule.policy.applies_to)
    if applies.answer is False:
        return _verdict(snapshot, rule, Outcome.SKIPPED, {"statement": f"does not apply: {applies.reason}"})
    unread = _unread(snapshot, rule, applies)
    if unread:
        return _unknown(snapshot, rule, {}, unread)
    if later := [fact for fact in rule.policy.requires if snapshot.comes_later(fact)]:
        return _later(snapshot, rule, later)
    result: Result[Any] = rule.check.function(snapshot, rule.params)
    evidence = result.evidence.model_dump(mode="json", by_alias=True)
    if result.outcome is Outcome.UNKNOWN or result.unread:
        return _unknown(snapshot, rule, evidence, result.unread or ("the check does not say what it lacks",))
    if result.outcome in (Outcome.FAILED, Outcome.PENDING):
        names = _names(snapshot, rule, result)
        statement, remedy = _text(rule, rule.fails, names), _text(rule, rule.remedy, names)
        return _verdict(snapshot, rule, result.outcome, evidence | {"statement": statement}, remedy)
    return _verdict(snapshot, rule, result.outcome, evidence)


def _unread(snapshot: Snapshot, rule: Rule, applies: Applies) -> tuple[str, ...]:
    """Name every fact that the policy needs and the snapshot lacks, with the reason."""
    wanted = [fact for fact in rule.policy.requires if not snapshot.comes_later(fact)]
    missing = [f"{fact}: {reason}" for fact in wanted if (reason := snapshot.gap(fact)) is not None]
    if applies.answer is None:
        missing.insert(0, applies.reason)
    return tuple(dict.fromkeys(missing))


def _unknown(snapshot: Snapshot, rule: Rule, evidence: dict[str, Any], unread: tuple[str, ...]) -> Verdict:
    said = {"statement": f"could not tell: {'; '.join(unread)}", "unread": list(unread)}
    return _verdict(snapshot, rule, Outcome.UNKNOWN, evidence | said, how_to_hand_in(unread) or READ_IT)


def _later(snapshot: Snapshot, rule: Rule, facts: Sequence[str]) -> Verdict:
    """A planned change waits for what only an open one can have."""
    said = {"statement": f"it is not open yet: {', '.join(facts)}", "later": list(facts)}
    remedy = "; ".join(dict.fromkeys(snapshot.later[fact] for fact in facts))
    return _verdict(snapshot, rule, Outcome.PENDING, said, remedy)


def _verdict(snapshot: Snapshot, rule: Rule, outcome: Outcome, evidence: dict[str, Any], remedy: str = "") -> Verdict:
    waiver = {}
    if outcome not in (Outcome.PASSED, Outcome.SKIPPED):
        waiver = waiver_evidence(snapshot, rule.policy.id)
    return Verdict(
        policy=rule.policy.id,
        level=rule.policy.level,
        outcome=outcome,
        title=rule.policy.title,
        evidence=evidence | waiver,
        remedy=remedy,
    )


def _names(snapshot: Snapshot, rule: Rule, result: Result[Any]) -> dict[str, Any]:
    evidence = {name: getattr(result.evidence, name) for name in type(result.evidence).model_fields}
    common = {
        "subject": snapshot.subject,
        "at": snapshot.at,
        "base": snapshot.base,
        "outcome": result.outcome.value,
        "params": rule.params,
    }
    return common | evidence


def _text(rule: Rule, template: Any, names: dict[str, Any]) -> str:
    try:
        text: str = template.render(**names)
    except (TemplateError, TypeError, AttributeError, ValueError) as error:
        raise UserError(
            f"a text of the policy {rule.policy.id!r} cannot be written: {error}",
            where=rule.file,
            next_step="correct it; a case of that policy should show it",
        ) from None
    printable = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(printable.split()).rstrip("; ")[:MAX_TEXT]
