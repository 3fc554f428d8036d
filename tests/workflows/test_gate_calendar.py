"""The calendar that a change is judged by: its base branch's, never its own; and it is said which that is."""

from __future__ import annotations

from pathlib import Path

import pytest

from relmgr.model.base import Outcome
from relmgr.model.verdict import Verdict
from relmgr.sources.trains import calendar_or_gap
from relmgr.workflows.gate import Calendars, judge, snapshot_of
from tests.support.invented import Invented, invent

FROZEN = """\
trains:
  - name: gadget-1.0
    base_branch: trunk
    zone: Europe/Berlin
    cut: 2199-02-01
    owners: [lead]
    freezes:
      - {phase: feature-freeze, starts: 2000-01-01, ends: 2199-01-01, why: only fixes before the cut, exception: ask}
"""
OPEN = FROZEN[: FROZEN.index("    freezes:")]


@pytest.fixture
def pair(tmp_path: Path) -> Invented:
    made = invent(tmp_path)
    made.gadget.commit("pin it", {"forge.pin": f"{made.forge_at[42]}\n", "release/trains.yaml": FROZEN})
    made.gadget.git("checkout", "-q", "-b", "work")
    head = made.gadget.commit("Thaw", {"release/trains.yaml": OPEN, "a.txt": "a"})
    # As in a workflow on `pull_request`: the checkout holds the change.
    made.gadget.git("update-ref", "refs/pull/7/head", head)
    return made


def freeze(pair: Invented, file: Path) -> tuple[Verdict, tuple[str, ...]]:
    project, calendars = pair.project(), Calendars(*calendar_or_gap(file))
    snapshot = snapshot_of(project, "acme/gadget#7", None, calendars, "trunk")
    verdicts = {verdict.policy: verdict for verdict in judge(project, snapshot, recorded=False).verdicts}
    return verdicts["freeze"], snapshot.sources


def test_a_change_does_not_end_a_freeze_by_its_own_calendar(pair: Invented) -> None:
    found, sources = freeze(pair, pair.gadget.path / "release" / "trains.yaml")
    assert found.outcome is Outcome.PENDING
    tip = pair.gadget.git("rev-parse", "trunk")[:12]
    assert sources[-1] == f"calendar release/trains.yaml of trunk at {tip}"


def test_a_calendar_of_nobodys_repository_is_read_as_it_is_and_that_is_said(pair: Invented, tmp_path: Path) -> None:
    (tmp_path / "trains.yaml").write_text(OPEN, encoding="utf-8")
    found, sources = freeze(pair, tmp_path / "trains.yaml")
    assert found.outcome is Outcome.PASSED
    assert sources[-1] == "calendar trains.yaml: no file of this repository, read as it is"


def test_t2_a_calendar_that_only_the_change_brings_is_unreadable(pair: Invented) -> None:
    (pair.gadget.path / "own.yaml").write_text(OPEN, encoding="utf-8")
    found, _ = freeze(pair, pair.gadget.path / "own.yaml")
    assert found.outcome is Outcome.UNKNOWN
    assert "freeze data unreadable: trunk has no own.yaml" in str(found.evidence)


def test_t2_a_calendar_that_the_base_branch_broke_is_unreadable(pair: Invented) -> None:
    pair.gadget.git("checkout", "-q", "trunk")
    pair.gadget.commit("break it", {"release/trains.yaml": "trains: 7\n"})
    pair.gadget.git("checkout", "-q", "work")
    found, _ = freeze(pair, pair.gadget.path / "release" / "trains.yaml")
    assert found.outcome is Outcome.UNKNOWN
