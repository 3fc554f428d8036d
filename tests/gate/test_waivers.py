"""Which of several waivers is shown, from when one counts, and what is said when not all could be read."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from relmgr.gate.waivers import waiver_evidence, waiver_state
from relmgr.model.waiver import Waiver
from tests.gate.snapshots import consumer_snapshot

POLICY = "abi-bump-has-regeneration-ticket"
SNAPSHOT = consumer_snapshot()


def waiver(**changes: Any) -> Waiver:
    fields = {
        "policy": POLICY,
        "subject": SNAPSHOT.subject,
        "until": date(2099, 1, 1),
        "by": "Ada",
        "reason": "the rebuild is planned",
    }
    return Waiver.model_validate(fields | changes)


def test_of_several_in_force_the_one_that_lasts_longest_is_shown() -> None:
    given = tuple(waiver(until=date(2099, 1, day)) for day in (2, 9, 5))
    shown = waiver_evidence(SNAPSHOT.model_copy(update={"waivers": given}), POLICY)["waiver"]
    assert (shown["state"], shown["until"]) == ("in force", "2099-01-09")


@pytest.mark.parametrize("given", [(), (waiver(until=date(2000, 1, 1)),)])
def test_where_none_is_in_force_it_is_said_that_some_were_not_read(given: tuple[Waiver, ...]) -> None:
    snapshot = SNAPSHOT.model_copy(update={"waivers": given, "gaps": {"waivers": "comments: 502"}})
    assert waiver_evidence(snapshot, POLICY)["waivers_unread"] == "comments: 502"


def test_where_one_is_in_force_the_others_do_not_matter() -> None:
    snapshot = SNAPSHOT.model_copy(update={"waivers": (waiver(),), "gaps": {"waivers": "comments: 502"}})
    assert set(waiver_evidence(snapshot, POLICY)) == {"waiver"}


@pytest.mark.parametrize(
    ("seconds", "state"), [(-1, "in force"), (0, "in force"), (1, "not yet given"), (86_400, "not yet given")]
)
def test_a_waiver_counts_from_the_moment_it_was_given(seconds: int, state: str) -> None:
    given = waiver(given_at=SNAPSHOT.at + timedelta(seconds=seconds))
    assert waiver_state(SNAPSHOT, given) == state


def test_who_gave_one_by_a_command_was_judged_when_it_was_read() -> None:
    assert waiver_state(SNAPSHOT, waiver(by="mallory", source="command")) == "in force"
    assert waiver_state(SNAPSHOT, waiver(by="mallory", source="base")) == "not by an owner"
    assert waiver_state(SNAPSHOT, waiver(source="own-change")) == "in the change itself"


def test_a_waiver_for_ever_is_refused_where_it_is_written() -> None:
    fields = {"policy": POLICY, "subject": "acme/gadget#7", "by": "lead", "reason": "for ever"}
    assert Waiver.model_validate(fields | {"until": "2199-12-31"}).until == date(2199, 12, 31)
    # Its last instant would be no date any more: the gate would end in a traceback.
    with pytest.raises(ValidationError, match="until"):
        Waiver.model_validate(fields | {"until": "9999-12-31"})
