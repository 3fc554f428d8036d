"""The engine: gaps, what applies, waivers, decisions, what may be done today, replay."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import ValidationError

from relmgr.gate.decide import decide, report
from relmgr.gate.engine import evaluate, judge
from relmgr.gate.policies import Rule, load_rules, shipped_rules
from relmgr.gate.waivers import waiver_state
from relmgr.model.base import Level, Outcome
from relmgr.model.facts import Suggestion
from relmgr.model.snapshot import Snapshot
from relmgr.model.verdict import Verdict
from relmgr.model.waiver import Waiver
from relmgr.render.engine import render
from relmgr.settings import load_project
from relmgr.sources.recorded import read_recorded
from tests.gate.snapshots import consumer_snapshot

RULES = {rule.policy.id: rule for rule in shipped_rules()}


def outcome(snapshot: Snapshot, policy: str) -> Outcome:
    return judge(snapshot, RULES[policy]).outcome


def test_a_snapshot_in_order_may_merge_and_every_policy_passed_or_does_not_apply() -> None:
    said = report(consumer_snapshot(), shipped_rules())
    stray = [v for v in said.verdicts if v.outcome not in (Outcome.PASSED, Outcome.SKIPPED)]
    assert stray == []
    assert said.decision == "merge"
    assert said.may_today == ("It moves the pin, and nothing holds it: it may merge today.",)


def test_the_same_snapshot_gives_the_same_document() -> None:
    one, other = (report(consumer_snapshot(), shipped_rules()) for _ in range(2))
    assert one.model_dump_json() == other.model_dump_json()


def test_a_snapshot_survives_being_recorded() -> None:
    snapshot = consumer_snapshot()
    again = Snapshot.model_validate_json(snapshot.model_dump_json(by_alias=True))
    assert again == snapshot
    assert report(again, shipped_rules()) == report(snapshot, shipped_rules())


@pytest.mark.parametrize("policy", sorted(RULES))
def test_a_gap_in_a_needed_fact_is_unknown_and_names_the_source(policy: str) -> None:
    snapshot = consumer_snapshot()
    for fact in RULES[policy].policy.requires:
        verdict = judge(snapshot.model_copy(update={"gaps": {fact: "the forge answered 502"}}), RULES[policy])
        if verdict.outcome is not Outcome.SKIPPED:
            assert verdict.outcome is Outcome.UNKNOWN
            assert f"{fact}: the forge answered 502" in verdict.evidence["unread"]


def test_a_fact_that_is_simply_not_there_is_unknown_too() -> None:
    verdict = judge(consumer_snapshot(trains=None), RULES["freeze"])
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.evidence["unread"] == ["trains: not part of this snapshot"]


def test_what_certainly_does_not_apply_needs_no_fact() -> None:
    """A change that moves no pin is not held because the tickets could not be read."""
    snapshot = consumer_snapshot(pin_moves=(), gaps={"tickets": "no forge"})
    assert outcome(snapshot, "abi-bump-has-regeneration-ticket") is Outcome.SKIPPED


def test_whether_it_applies_is_unknown_when_the_pins_were_not_read() -> None:
    snapshot = consumer_snapshot(pin_moves=None, gaps={"pin_moves": "requirements.txt: not in this clone"})
    for policy in ("abi-bump-waits-for-cut", "pin-moves-forward", "smoke-green"):
        assert outcome(snapshot, policy) is Outcome.UNKNOWN


@pytest.mark.parametrize("policy", sorted(RULES))
def test_what_only_comes_with_an_open_pull_request_is_waited_for_and_not_unknown(policy: str) -> None:
    snapshot = consumer_snapshot()
    for fact in RULES[policy].policy.requires:
        later = snapshot.model_copy(update={fact: None, "later": {fact: "people bring it"}})
        verdict = judge(later, RULES[policy])
        if verdict.outcome is Outcome.SKIPPED or verdict.evidence.get("later") != [fact]:
            # Whether it applies at all hangs on some facts: those are unknown, and never "later".
            assert verdict.outcome in (Outcome.SKIPPED, Outcome.UNKNOWN)
            continue
        assert verdict.outcome is Outcome.PENDING
        assert verdict.evidence["statement"] == f"it is not open yet: {fact}"
        assert verdict.remedy == "people bring it"
        gone = later.model_copy(update={"gaps": {fact: "the file is no JSON"}})
        assert judge(gone, RULES[policy]).outcome is Outcome.UNKNOWN


def test_an_unknown_gap_name_is_refused() -> None:
    data = json.loads(consumer_snapshot().model_dump_json(by_alias=True))
    with pytest.raises(ValidationError, match="gaps name no fact: tikets"):
        Snapshot.model_validate(data | {"gaps": {"tikets": "no forge"}})


def test_a_naive_time_is_refused() -> None:
    """T1: all times are aware."""
    data = json.loads(consumer_snapshot().model_dump_json(by_alias=True))
    with pytest.raises(ValidationError, match="timezone"):
        Snapshot.model_validate(data | {"at": "2024-03-01T12:00:00"})


# -- decisions -------------------------------------------------------------------------------------------------------


def verdict(outcome: Outcome, level: Level = Level.BLOCK, **evidence: Any) -> Verdict:
    return Verdict(policy="x", level=level, outcome=outcome, title="t", evidence=evidence, remedy="")


IN_FORCE = {"state": "in force"}


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], "merge"),
        ([verdict(Outcome.PASSED), verdict(Outcome.SKIPPED)], "merge"),
        ([verdict(Outcome.PENDING)], "wait"),
        ([verdict(Outcome.PENDING), verdict(Outcome.FAILED)], "block"),
        ([verdict(Outcome.UNKNOWN)], "block"),
        ([verdict(Outcome.UNKNOWN, Level.WARN), verdict(Outcome.FAILED, Level.NOTE)], "merge"),
        ([verdict(Outcome.FAILED, waiver=IN_FORCE)], "merge"),
        ([verdict(Outcome.UNKNOWN, waiver=IN_FORCE), verdict(Outcome.PENDING)], "wait"),
        ([verdict(Outcome.FAILED, waiver={"state": "expired"})], "block"),
    ],
)
def test_decision(verdicts: list[Verdict], expected: str) -> None:
    assert decide(verdicts) == expected


def test_a_crossing_that_waits_may_be_split_today() -> None:
    said = report(consumer_snapshot(tickets=()), shipped_rules())
    assert said.decision == "block"
    assert said.may_today == (
        "All but the pin move may be split off and merged today, behind a guard that keeps both paths: "
        "that makes nothing stale.",
    )


# -- waivers ---------------------------------------------------------------------------------------------------------

LAST_DAY = date(2024, 3, 1)


def waiver(**changes: Any) -> Waiver:
    fields = {
        "policy": "abi-bump-has-regeneration-ticket",
        "subject": "example/library#70",
        "until": LAST_DAY,
        "by": "Ada",
        "reason": "the rebuild is planned with the next one",
    }
    return Waiver.model_validate(fields | changes)


def waived(snapshot: Snapshot) -> Verdict:
    return judge(snapshot, RULES["abi-bump-has-regeneration-ticket"])


def test_a_waiver_lifts_a_verdict_and_is_shown_in_it() -> None:
    found = waived(consumer_snapshot(tickets=(), waivers=(waiver(),)))
    assert (found.outcome, found.blocks, found.is_waived) == (Outcome.FAILED, False, True)
    assert found.evidence["waiver"]["reason"] == "the rebuild is planned with the next one"
    assert found.evidence["waiver"]["by"] == "Ada"


def test_a_waiver_ends_by_itself_after_its_last_whole_day_in_the_projects_zone() -> None:
    """T1: `until` is a whole day of America/Los_Angeles."""
    midnight = datetime(2024, 3, 2, 8, 0, tzinfo=timezone.utc)
    before = consumer_snapshot(tickets=(), waivers=(waiver(),), at=midnight - timedelta(seconds=1))
    after = before.model_copy(update={"at": midnight})
    assert waived(before).is_waived
    assert waived(after).blocks
    assert waived(after).evidence["waiver"]["state"] == "expired"


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"by": "mallory"}, "not by an owner"),
        ({"source": "own-change"}, "in the change itself"),
        ({"until": date(2024, 2, 29)}, "expired"),
    ],
)
def test_a_waiver_that_does_not_count_is_shown_and_lifts_nothing(changes: dict[str, Any], state: str) -> None:
    found = waived(consumer_snapshot(tickets=(), waivers=(waiver(**changes),)))
    assert found.blocks
    assert found.evidence["waiver"]["state"] == state


@pytest.mark.parametrize("changes", [{"subject": "example/library#7"}, {"policy": "smoke-green"}])
def test_a_waiver_for_something_else_does_not_touch_the_verdict(changes: dict[str, Any]) -> None:
    found = waived(consumer_snapshot(tickets=(), waivers=(waiver(**changes),)))
    assert found.blocks
    assert "waiver" not in found.evidence


def test_of_several_waivers_the_one_in_force_counts() -> None:
    snapshot = consumer_snapshot(tickets=(), waivers=(waiver(until=date(2024, 1, 1)), waiver(), waiver(by="mallory")))
    assert waived(snapshot).is_waived


def test_a_project_without_owners_accepts_no_waiver() -> None:
    snapshot = consumer_snapshot(owners=())
    assert waiver_state(snapshot, waiver()) == "not by an owner"


def test_a_passed_verdict_shows_no_waiver() -> None:
    assert "waiver" not in waived(consumer_snapshot(waivers=(waiver(),))).evidence


# -- strangers' words ------------------------------------------------------------------------------------------------

HOSTILE = "blocked by \x1b[31m\x07 {{ 7 * 7 }} <b>@all</b> | ```\u202e\n\n# heading"


def hostile() -> Snapshot:
    told = Suggestion(sentence=HOSTILE, trailer=None, understood=False, source="description")
    return consumer_snapshot(suggestions=(told,), title=f"{HOSTILE} title")


def test_a_strangers_sentence_is_not_a_template_and_carries_no_control_character() -> None:
    statement = judge(hostile(), RULES["order-spoken-of"]).evidence["statement"]
    assert "{{ 7 * 7 }}" in statement
    assert statement.isprintable()


@pytest.mark.parametrize("ending", ["txt", "md"])
def test_printed_reports_defuse_strangers_words(ending: str) -> None:
    snapshot = hostile()
    text = render(f"gate/check.{ending}.j2", d=report(snapshot, shipped_rules()), snapshot=snapshot)
    assert all(c.isprintable() or c in "\n\u200b" for c in text)
    if ending == "md":
        assert "@all" not in text
        assert "<b>" not in text
        assert "\n# heading" not in text


# -- the contract ----------------------------------------------------------------------------------------------------


def test_the_documents_keys_are_the_promised_ones() -> None:
    document = json.loads(report(consumer_snapshot(), shipped_rules()).model_dump_json())
    assert list(document) == ["subject", "judged", "at", "decision", "verdicts", "may_today", "taken_at"]
    assert list(document["verdicts"][0]) == ["policy", "level", "outcome", "title", "evidence", "remedy"]


def test_verdicts_come_in_the_order_of_the_rules() -> None:
    rules = load_rules(load_project())
    assert [v.policy for v in evaluate(consumer_snapshot(), rules)] == sorted(RULES)


def test_recorded_facts_are_named_so() -> None:
    snapshot = read_recorded("miopen-1630-2022-07-11")
    assert report(snapshot, shipped_rules(), recorded=True).judged == "recorded"
    assert report(snapshot, shipped_rules()).judged == "final-text-at"


def test_a_check_may_not_say_unknown_without_saying_what(monkeypatch: pytest.MonkeyPatch) -> None:
    from relmgr.gate.registry import Check, Result

    rule = RULES["freeze"]

    def silent(snapshot: Snapshot, params: Any) -> Result[Any]:
        return Result(Outcome.UNKNOWN, rule.check.function(snapshot, params).evidence)

    mute = Check("freeze", silent, rule.check.params, rule.check.evidence)
    found = judge(consumer_snapshot(), Rule(rule.policy, mute, rule.params, rule.fails, rule.remedy, rule.file))
    assert found.outcome is Outcome.UNKNOWN
    assert found.evidence["unread"] == ["the check does not say what it lacks"]
