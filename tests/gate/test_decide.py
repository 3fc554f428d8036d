"""What a report says beside its verdicts: how it was judged, and what may be done today."""

from __future__ import annotations

import pytest

from relmgr.gate.decide import may_today, report
from relmgr.model.base import Level, Outcome
from relmgr.model.verdict import Decision, Verdict
from tests.gate.snapshots import consumer_snapshot

KEEPS = "abi-bump-keeps-old-path"


def verdict(policy: str, outcome: Outcome) -> Verdict:
    return Verdict(policy=policy, level=Level.BLOCK, outcome=outcome, title="t", evidence={}, remedy="")


BOTH = "It moves no pin and keeps both paths"
HELD = f"{BOTH}: merging it makes nothing stale. Only "


@pytest.mark.parametrize(
    ("decision", "outcomes", "says"),
    [
        ("merge", {KEEPS: Outcome.PASSED, "freeze": Outcome.SKIPPED}, [f"{BOTH}: it may merge today."]),
        ("merge", {KEEPS: Outcome.SKIPPED, "freeze": Outcome.PASSED}, ["It moves no pin: it may merge today."]),
        ("merge", {KEEPS: Outcome.UNKNOWN}, ["It moves no pin: it may merge today."]),
        ("merge", {}, ["It moves no pin: it may merge today."]),
        ("block", {KEEPS: Outcome.PASSED, "freeze": Outcome.FAILED}, [f"{HELD}freeze holds it."]),
        ("wait", {KEEPS: Outcome.PASSED, "freeze": Outcome.PENDING}, [f"{HELD}freeze holds it."]),
        (
            "block",
            {
                KEEPS: Outcome.PASSED,
                "freeze": Outcome.PENDING,
                "on-hold": Outcome.FAILED,
                "smoke-green": Outcome.PASSED,
            },
            [f"{HELD}freeze and on-hold hold it."],
        ),
        ("block", {KEEPS: Outcome.FAILED, "freeze": Outcome.PASSED}, []),
    ],
)
def test_what_may_be_done_today_without_a_pin_move(
    decision: Decision, outcomes: dict[str, Outcome], says: list[str]
) -> None:
    verdicts = [verdict(policy, outcome) for policy, outcome in outcomes.items()]
    assert list(may_today(consumer_snapshot(pin_moves=()), verdicts, decision)) == says


def test_nothing_is_advised_where_the_pins_were_not_read() -> None:
    """Whether it moves a pin is not known: no advice is certain to fit."""
    unread = consumer_snapshot(pin_moves=None, gaps={"pin_moves": "not in this clone"})
    assert may_today(unread, [verdict(KEEPS, Outcome.PASSED)], "merge") == ()


@pytest.mark.parametrize("kind", ["cut", "release"])
def test_only_pull_requests_are_advised(kind: str) -> None:
    assert may_today(consumer_snapshot(pin_moves=(), kind=kind), [verdict(KEEPS, Outcome.PASSED)], "merge") == ()


@pytest.mark.parametrize(
    ("basis", "recorded", "judged"),
    [
        ("live", False, "live"),
        ("final-text", False, "final-text-at"),
        ("live", True, "recorded"),
        ("final-text", True, "recorded"),
    ],
)
def test_how_it_was_judged(basis: str, recorded: bool, judged: str) -> None:
    assert report(consumer_snapshot(basis=basis), [], recorded=recorded).judged == judged
