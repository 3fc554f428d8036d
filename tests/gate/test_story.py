"""The 2022 story, from the shipped snapshots: what the gate would have said, day by day."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest

from relmgr.gate.decide import report
from relmgr.gate.policies import shipped_rules
from relmgr.gate.what_if import what_if
from relmgr.model.base import Outcome
from relmgr.model.verdict import GateReport, Verdict
from relmgr.render.engine import render
from relmgr.sources.recorded import read_recorded, shipped_snapshots

STORY = (
    "miopen-1630-2022-07-11",
    "miopen-1630-2022-07-11-declared",
    "miopen-1673-2022-08-05",
    "miopen-1673-2022-09-29",
)


def judged(name: str) -> GateReport:
    return report(read_recorded(name), shipped_rules(), recorded=True)


def verdict(name: str, policy: str) -> Verdict:
    return next(v for v in judged(name).verdicts if v.policy == policy)


def test_the_story_is_shipped() -> None:
    assert sorted(shipped_snapshots()) == sorted(STORY)


def test_1630_may_land_on_its_first_day() -> None:
    said = judged("miopen-1630-2022-07-11")
    assert said.decision == "merge"
    assert said.may_today == ("It moves no pin and keeps both paths: it may merge today.",)
    assert verdict("miopen-1630-2022-07-11", "abi-bump-keeps-old-path").outcome is Outcome.PASSED


def test_1630_both_waits_are_suggested_with_the_threads_address() -> None:
    spoken = verdict("miopen-1630-2022-07-11", "order-spoken-of")
    assert not spoken.blocks
    assert "`Depends-On: ROCm/rocMLIR#690`" in spoken.remedy
    assert "`Merge-After: cut rocm-5.3`" in spoken.remedy
    assert "https://github.com/ROCm/MIOpen/pull/1630" in spoken.evidence["statement"]


def test_1630_written_as_trailers_the_waits_hold_it_until_the_cut_and_690() -> None:
    name = "miopen-1630-2022-07-11-declared"
    assert judged(name).decision == "wait"
    assert "ROCm/rocMLIR#690 is still open" in verdict(name, "companion-merges-first").evidence["statement"]
    assert "2022-08-08" in verdict(name, "merge-after-event").evidence["statement"]


def test_1630_declared_may_merge_once_the_cut_is_over_and_690_is_in() -> None:
    snapshot = read_recorded("miopen-1630-2022-07-11-declared")
    after_cut = snapshot.model_copy(update={"at": datetime.fromisoformat("2022-08-08T00:00:00-07:00")})
    assert report(after_cut, shipped_rules()).decision == "wait"
    answer = what_if(after_cut, shipped_rules(), ["merged:ROCm/rocMLIR#690"], recorded=True)
    assert answer.decision == {"before": "wait", "after": "merge"}


def test_1673_is_the_crossing_under_a_title_that_says_nothing_of_it() -> None:
    snapshot = read_recorded("miopen-1673-2022-08-05")
    assert "ABI" not in snapshot.title
    (move,) = snapshot.pin_moves or ()
    assert move.abi is not None
    assert (move.abi.old, move.abi.new, move.abi.crossing) == (5, 6, True)
    text = render("gate/check.txt.j2", d=judged("miopen-1673-2022-08-05"), snapshot=snapshot)
    assert "crosses the kernel ABI: kernel ABI 5 (memref descriptors) -> 6 (bare pointers)" in text


def test_1673_waits_for_the_cut_of_53_on_2022_08_05() -> None:
    found = verdict("miopen-1673-2022-08-05", "abi-bump-waits-for-cut")
    assert found.outcome is Outcome.PENDING
    assert found.evidence["statement"] == "it brings kernel ABI 6, and rocm-5.3 (cut 2022-08-08) ships 5"


def test_1673_no_longer_waits_for_a_cut_on_2022_09_29() -> None:
    assert verdict("miopen-1673-2022-09-29", "abi-bump-waits-for-cut").outcome is Outcome.PASSED


def test_1673_comes_28_days_after_the_last_safe_day() -> None:
    found = verdict("miopen-1673-2022-09-29", "abi-bump-leaves-time-to-regenerate")
    assert found.outcome is Outcome.FAILED
    (late,) = found.evidence["late"]
    assert (late["cut"], late["days"], late["last_safe_day"]) == ("2022-10-06", 35, "2022-09-01")
    assert (date(2022, 9, 29) - date.fromisoformat(late["last_safe_day"])).days == 28


@pytest.mark.parametrize("name", ["miopen-1673-2022-08-05", "miopen-1673-2022-09-29"])
def test_1673_has_no_ticket_for_any_arch(name: str) -> None:
    found = verdict(name, "abi-bump-has-regeneration-ticket")
    assert found.outcome is Outcome.FAILED
    assert found.evidence["missing"] == ["gfx1030", "gfx900", "gfx906", "gfx908", "gfx90a"]


def test_1673_what_if_53_is_cut_later() -> None:
    snapshot = read_recorded("miopen-1673-2022-09-29")
    answer = what_if(snapshot, shipped_rules(), ["cut rocm-5.4 at 2022-11-15"], recorded=True)
    assert [(c.policy, c.before, c.after) for c in answer.changes] == [
        ("abi-bump-leaves-time-to-regenerate", Outcome.FAILED, Outcome.PASSED)
    ]


@pytest.mark.parametrize("name", STORY)
@pytest.mark.parametrize("ending", ["txt", "md"])
def test_wording(name: str, ending: str, golden: Any) -> None:
    text = render(f"gate/check.{ending}.j2", d=judged(name), snapshot=read_recorded(name))
    golden(f"gate/story/{name}.{ending}", text)


@pytest.mark.parametrize("name", STORY)
def test_the_lists_of_policies_fit_a_terminal(name: str) -> None:
    text = render("gate/check.txt.j2", d=judged(name), snapshot=read_recorded(name))
    lines = text[text.index("Does not apply: ") : text.index("\nJudged ")].splitlines()
    assert max(len(line) for line in lines) <= 100
    listed = " ".join(line.strip() for line in lines)
    skipped = [v.policy for v in judged(name).verdicts if v.outcome is Outcome.SKIPPED]
    assert listed == f"Does not apply: {', '.join(skipped)}"
