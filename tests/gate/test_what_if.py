"""What-if: assumptions laid over a snapshot."""

from __future__ import annotations

import pytest

from relmgr.errors import UserError
from relmgr.gate.policies import shipped_rules
from relmgr.gate.what_if import assume, what_if
from relmgr.model.base import Outcome
from relmgr.model.facts import Dependency, MergeAfter
from tests.gate.snapshots import consumer_snapshot

WAITING = Dependency(pull="example/compiler#12", companion=True, declared_by="d", state="open", needs="main")


def test_a_merge_lifts_the_wait_for_it() -> None:
    snapshot = consumer_snapshot(dependencies=(WAITING,))
    answer = what_if(snapshot, shipped_rules(), ["merged:example/compiler#12"], recorded=False)
    assert [(c.policy, c.before, c.after) for c in answer.changes] == [
        ("companion-merges-first", Outcome.PENDING, Outcome.PASSED)
    ]
    assert answer.decision == {"before": "wait", "after": "merge"}


def test_a_cut_in_the_past_lifts_the_wait_for_the_event() -> None:
    event = MergeAfter(kind="cut", train="lib-2.5", declared_by="Merge-After: cut lib-2.5")
    snapshot = consumer_snapshot(merge_after=(event,))
    answer = what_if(snapshot, shipped_rules(), ["cut lib-2.5 at 2024-02-28"], recorded=False)
    changed = {c.policy: c.after for c in answer.changes}
    assert changed["merge-after-event"] is Outcome.PASSED
    # With 2.5 cut, no train is left that would ship the new number: that is not told, so it is not passed either.
    assert changed["abi-bump-waits-for-cut"] is Outcome.UNKNOWN


def test_a_filed_ticket_counts_and_closes_the_gap() -> None:
    snapshot = consumer_snapshot(tickets=None, gaps={"tickets": "no forge"})
    assumed = ["ticket:gfx908", "ticket:gfx90a"]
    (change,) = what_if(snapshot, shipped_rules(), assumed, recorded=False).changes
    assert (change.before, change.after) == (Outcome.UNKNOWN, Outcome.PASSED)


def test_the_snapshot_itself_is_not_changed() -> None:
    snapshot = consumer_snapshot(dependencies=(WAITING,))
    before = snapshot.model_dump_json()
    assume(snapshot, "merged:example/compiler#12")
    assert snapshot.model_dump_json() == before


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("merge it", "is not understood"),
        ("cut lib-2.5", "is not understood"),
        ("cut lib-9.9 at 2024-03-01", "no train 'lib-9.9'"),
        ("cut 2.50 at 2024-03-01", "no train '2.50'"),
        ("cut lib-2.5 at 2024-02-31", "not a calendar date"),
        ("merged:example/library#1", "does not depend on example/library#1"),
    ],
)
def test_what_is_not_understood_is_refused(text: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        assume(consumer_snapshot(), text)
