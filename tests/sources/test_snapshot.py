"""Snapshots taken from real clones: an invented consumer and provider, with every fact written by hand."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from relmgr.errors import SourceError
from relmgr.model.base import Outcome
from relmgr.model.project import Project
from relmgr.model.snapshot import Snapshot
from relmgr.model.trains import Calendar
from relmgr.model.verdict import GateReport
from relmgr.sources.trains import read_calendar
from relmgr.workflows.gate import Calendars, judge, snapshot_of
from tests.support.repositories import TestRepository, new_repository

AT = datetime.fromisoformat("2024-03-01T12:00:00-08:00")

HEADER = """\
#define KABI_VERSION {number}
struct Desc {{ void *base; {fields} }};
int makeKernel(void *handle);
"""
LAUNCH = """\
#if KABI_VERSION >= 6
void launch_bare();
#else
void launch_descriptor();
#endif
"""
WAIVER = """\
waivers:
  - policy: smoke-green
    subject: acme/library#7
    until: 2024-12-31
    by: {by}
    reason: no device of that arch until autumn
"""

CALENDAR = Calendar.model_validate(
    {
        "defaults": {"base_branch": "main", "zone": "America/Los_Angeles", "owners": ["ada"]},
        "trains": [
            {"name": "lib-2.4", "cut": "2024-04-01", "abi": {"kabi": 5}},
            {"name": "lib-2.5", "cut": "2024-07-01", "abi": {"kabi": 6}, "regeneration": {"days": 30, "source": "x"}},
        ],
    }
)


class World(NamedTuple):
    """A consumer with its provider, both on `main`."""

    library: TestRepository
    compiler: TestRepository
    old: str
    new: str

    def project(self, **changes: Any) -> Project:
        repository = {"default_branch": "main", "release_branches": r"^release/(?P<train>\d+\.\d+)$"}
        return Project.model_validate(
            {
                "name": "acme",
                "zone": "America/Los_Angeles",
                "owners": ["ada"],
                "repositories": {
                    "library": {"slug": "acme/library", "path": self.library.path, **repository},
                    "compiler": {"slug": "acme/compiler", "path": self.compiler.path, **repository},
                },
                "pins": [
                    {
                        "name": "compiler",
                        "consumer": "library",
                        "provider": "compiler",
                        "contract": "kabi",
                        "sites": [{"kind": "cget", "path": "requirements.txt"}],
                    }
                ],
                "contracts": {
                    "kabi": {
                        "macro": "KABI_VERSION",
                        "headers": ["include/kabi.h"],
                        "kernel_structs": ["Desc"],
                        "guard_files": ["src/*.cpp"],
                        "conventions": {5: "memref-descriptor", 6: "bare-pointer"},
                    }
                },
            }
            | changes
        )

    def snapshot(self, subject: str, at: datetime = AT, **options: Any) -> Snapshot:
        return snapshot_of(self.project(), subject, at, Calendars(CALENDAR, None), **options)

    def judged(self, subject: str, at: datetime = AT) -> GateReport:
        return judge(self.project(), self.snapshot(subject, at), recorded=False)


@pytest.fixture
def world(tmp_path: Path) -> World:
    compiler = new_repository(tmp_path / "compiler", "main")
    old = compiler.commit("Start (#1)", {"include/kabi.h": HEADER.format(number=5, fields="int sizes[5];")})
    new = compiler.commit("Bare pointers (#2)", {"include/kabi.h": HEADER.format(number=6, fields="")})
    library = new_repository(tmp_path / "library", "main")
    library.commit("Start (#1)", {"requirements.txt": f"acme/compiler@{old}\n", "src/launch.cpp": "void launch();\n"})
    return World(library, compiler, old, new)


def outcomes(report: GateReport) -> dict[str, Outcome]:
    return {verdict.policy: verdict.outcome for verdict in report.verdicts}


def test_guarded_code_moves_no_pin_and_keeps_both_paths(world: World) -> None:
    world.library.commit("Take bare pointers (#6)", {"src/launch.cpp": LAUNCH}, at="2024-03-05T12:00:00-08:00")
    snapshot = world.snapshot("acme/library#6")
    assert snapshot.basis == "final-text"
    assert snapshot.pin_moves == ()
    assert snapshot.changed_files == ("src/launch.cpp",)
    found = outcomes(world.judged("acme/library#6"))
    assert found["abi-bump-keeps-old-path"] is Outcome.PASSED
    assert found["abi-bump-has-regeneration-ticket"] is Outcome.SKIPPED


def test_the_crossing_is_recognised_under_any_title(world: World) -> None:
    world.library.commit("Take bare pointers (#6)", {"src/launch.cpp": LAUNCH})
    world.library.commit(
        "Tidy up (#7)", {"requirements.txt": f"acme/compiler@{world.new}\n"}, at="2024-03-05T12:00:00-08:00"
    )
    snapshot = world.snapshot("acme/library#7")
    (move,) = snapshot.pin_moves or ()
    assert move.abi is not None
    assert (move.abi.old, move.abi.new, move.abi.crossing, move.abi.evidence.confidence) == (5, 6, True, "read")
    (ancestry,) = snapshot.pin_ancestry or ()
    assert (ancestry.forward, ancestry.branches) == (True, ("main",))
    found = outcomes(world.judged("acme/library#7"))
    assert found["abi-bump-waits-for-cut"] is Outcome.PENDING
    assert found["abi-bump-keeps-old-path"] is Outcome.PASSED
    assert found["pin-moves-forward"] is Outcome.PASSED
    assert found["pin-reachable-from-branch"] is Outcome.PASSED


def test_what_only_the_forge_knows_is_a_named_gap(world: World) -> None:
    world.library.commit("Tidy up (#7)", {"requirements.txt": f"acme/compiler@{world.new}\n"})
    report = world.judged("acme/library#7")
    ticket = next(v for v in report.verdicts if v.policy == "abi-bump-has-regeneration-ticket")
    assert ticket.outcome is Outcome.UNKNOWN
    assert ticket.evidence["unread"] == ["tickets: the forge was not asked; a clone does not hold this"]
    assert report.judged == "final-text-at"
    assert report.decision == "block"


def test_the_crossing_without_a_guard_is_blocked(world: World) -> None:
    world.library.commit("Tidy up (#7)", {"requirements.txt": f"acme/compiler@{world.new}\n"})
    assert outcomes(world.judged("acme/library#7"))["abi-bump-keeps-old-path"] is Outcome.FAILED


def test_a_pin_that_goes_back_is_blocked(world: World) -> None:
    """P9."""
    world.library.commit("Forward (#7)", {"requirements.txt": f"acme/compiler@{world.new}\n"})
    world.library.commit("Other words (#8)", {"requirements.txt": f"acme/compiler@{world.old}\n"})
    assert outcomes(world.judged("acme/library#8"))["pin-moves-forward"] is Outcome.FAILED


def test_a_revert_may_go_back_and_its_ref_may_not_come_again(world: World) -> None:
    """P11: bump, revert, re-bump."""
    world.library.commit("Forward (#7)", {"requirements.txt": f"acme/compiler@{world.new}\n"})
    world.library.commit('Revert "Forward (#7)" (#8)', {"requirements.txt": f"acme/compiler@{world.old}\n"})
    world.library.commit("Forward again (#9)", {"requirements.txt": f"acme/compiler@{world.new}\n"})
    assert outcomes(world.judged("acme/library#8"))["pin-moves-forward"] is Outcome.PASSED
    assert outcomes(world.judged("acme/library#8"))["reverted-pin-not-reproposed"] is Outcome.PASSED
    assert outcomes(world.judged("acme/library#9"))["reverted-pin-not-reproposed"] is Outcome.FAILED


def test_a_commit_of_no_branch_is_blocked(world: World) -> None:
    """P14: only a tag holds it."""
    world.compiler.git("checkout", "-q", "-b", "try")
    stray = world.compiler.commit("Try", {"x": "y"})
    world.compiler.git("tag", "try-1")
    world.compiler.git("checkout", "-q", "main")
    world.compiler.git("branch", "-q", "-D", "try")
    world.library.commit("Try it (#7)", {"requirements.txt": f"acme/compiler@{stray}\n"})
    assert outcomes(world.judged("acme/library#7"))["pin-reachable-from-branch"] is Outcome.FAILED


def test_without_the_provider_the_pin_is_unknown_and_says_how_to_give_it(world: World) -> None:
    world.library.commit("Tidy up (#7)", {"requirements.txt": f"acme/compiler@{world.new}\n"})
    project = world.project()
    bare = project.repositories["compiler"].model_copy(update={"path": None})
    project = project.model_copy(update={"repositories": project.repositories | {"compiler": bare}})
    snapshot = snapshot_of(project, "acme/library#7", AT, Calendars(CALENDAR, None))
    assert snapshot.gaps["pin_ancestry"] == "no clone of acme/compiler was given (--repo compiler=PATH)"
    found = outcomes(judge(project, snapshot, recorded=False))
    assert found["abi-bump-waits-for-cut"] is Outcome.UNKNOWN
    assert found["pin-moves-forward"] is Outcome.UNKNOWN


def test_a_providers_header_change_is_compared(world: World) -> None:
    found = outcomes(world.judged("acme/compiler#2"))
    assert found["abi-number-declared"] is Outcome.PASSED
    world.compiler.commit("Another field (#3)", {"include/kabi.h": HEADER.format(number=6, fields="int offset;")})
    assert outcomes(world.judged("acme/compiler#3"))["abi-number-declared"] is Outcome.FAILED


def test_an_unreadable_calendar_is_no_open_one(world: World) -> None:
    """T2."""
    world.library.commit("Words (#7)", {"notes": "x"})
    snapshot = snapshot_of(world.project(), "acme/library#7", AT, Calendars(None, "freeze data unreadable: line 3"))
    report = judge(world.project(), snapshot, recorded=False)
    freeze = next(v for v in report.verdicts if v.policy == "freeze")
    assert freeze.outcome is Outcome.UNKNOWN
    assert "freeze data unreadable: line 3" in freeze.evidence["statement"]


# -- rules in repositories -------------------------------------------------------------------------------------------

WAIVERS = ".relmgr/waivers.yaml"


def test_a_waiver_counts_on_the_base_branch(world: World) -> None:
    world.library.commit("Waive (#5)", {WAIVERS: WAIVER.format(by="ada")})
    world.library.commit("Tidy up (#7)", {"requirements.txt": f"acme/compiler@{world.new}\n"})
    smoke = next(v for v in world.judged("acme/library#7").verdicts if v.policy == "smoke-green")
    assert smoke.is_waived


def test_a_waiver_in_the_changes_own_diff_does_not_count_and_is_shown(world: World) -> None:
    pin, waiver = f"acme/compiler@{world.new}\n", WAIVER.format(by="ada")
    world.library.commit("Tidy up (#7)", {"requirements.txt": pin, WAIVERS: waiver}, at="2024-03-05T12:00:00-08:00")
    report = world.judged("acme/library#7")
    smoke = next(v for v in report.verdicts if v.policy == "smoke-green")
    assert smoke.blocks
    assert smoke.evidence["waiver"]["state"] == "in the change itself"


def test_a_change_that_takes_a_waiver_away_is_still_judged_by_the_base(world: World) -> None:
    world.library.commit("Waive (#5)", {WAIVERS: WAIVER.format(by="ada")})
    pin = f"acme/compiler@{world.new}\n"
    world.library.commit("Tidy up (#7)", {"requirements.txt": pin, WAIVERS: None}, at="2024-03-05T12:00:00-08:00")
    smoke = next(v for v in world.judged("acme/library#7").verdicts if v.policy == "smoke-green")
    assert smoke.is_waived


def test_an_invalid_waiver_file_on_the_base_lifts_nothing(world: World) -> None:
    world.library.commit("Waive (#5)", {WAIVERS: "waivers: [{policy: smoke-green}]\n"})
    world.library.commit("Tidy up (#7)", {"requirements.txt": f"acme/compiler@{world.new}\n"})
    assert "subject" in world.snapshot("acme/library#7").gaps["waivers"]


@pytest.mark.parametrize(
    ("path", "text", "says"),
    [
        ("policies/rules/new-rule.yaml", "id: new-rule\ntitel: x\n", "unknown key 'titel'"),
        ("policies/rules/new-rule.yaml", "id: [", "not valid YAML"),
        ("policies/trains.yaml", "trains: [{name: Lib}]\n", "trains.0.name"),
        (".relmgr/waivers.yaml", "waivers: [{policy: x, source: base}]\n", "subject"),
        ("relmgr.toml", "name = 3\n", "name"),
    ],
)
def test_broken_rules_in_a_change_are_shown_and_never_applied(world: World, path: str, text: str, says: str) -> None:
    """B8: on the change that brings them, with file and allowed names."""
    world.library.commit("Rules (#7)", {path: text})
    found = next(v for v in world.judged("acme/library#7").verdicts if v.policy == "policy-changes-valid")
    assert found.outcome is Outcome.FAILED
    assert path in found.evidence["statement"]
    assert says in found.evidence["statement"]


# -- finding the subject ---------------------------------------------------------------------------------------------


def test_an_open_pull_request_is_read_from_its_pull_ref(world: World) -> None:
    world.library.git("checkout", "-q", "-b", "topic")
    head = world.library.commit("Work", {"requirements.txt": f"acme/compiler@{world.new}\n"})
    world.library.git("update-ref", "refs/pull/7/head", head)
    world.library.git("checkout", "-q", "main")
    snapshot = world.snapshot("acme/library#7")
    assert snapshot.basis == "live"
    assert "--base" in snapshot.gaps["base"]
    assert world.snapshot("acme/library#7", base="main").base == "main"
    assert [move.pin for move in snapshot.pin_moves or ()] == ["compiler"]


def test_a_merge_commit_is_found_and_a_mere_mention_is_not(world: World) -> None:
    world.library.commit("Speak of #7 (#6)", {"a": "b"})
    world.library.git("checkout", "-q", "-b", "topic")
    world.library.commit("Work", {"c": "d"})
    world.library.git("checkout", "-q", "main")
    world.library.git("merge", "-q", "--no-ff", "-m", "Merge pull request #7 from x/topic", "topic")
    assert world.snapshot("acme/library#7").changed_files == ("c",)


def test_a_number_that_a_former_forge_gave_too(world: World) -> None:
    """MIOpen's develop has two commits that carry #1673: of 2019 and of 2022."""
    old = world.library.commit("Old words (#7)", {"a": "b"}, at="2019-04-11T12:00:00-08:00")
    world.library.commit("New words (#7)", {"c": "d"}, at="2022-09-29T12:00:00-08:00")
    snapshot = world.snapshot("acme/library#7")
    assert snapshot.changed_files == ("c",)
    assert any(old[:12] in source for source in snapshot.sources)


def test_a_pull_request_that_nobody_has_is_said_so(world: World) -> None:
    with pytest.raises(SourceError, match="#99 is neither merged in this clone nor fetched"):
        world.snapshot("acme/library#99")


def test_a_release_branch_is_a_base(world: World) -> None:
    world.library.git("checkout", "-q", "-b", "release/2.4")
    world.library.commit("Fix (#8)", {"fix": "x"})
    snapshot = world.snapshot("acme/library#8", base="release/2.4")
    assert (snapshot.base, snapshot.train) == ("release/2.4", "lib-2.4")
    assert snapshot.train_state is not None
    assert snapshot.train_state.branch == "release/2.4"


def trains(*supported: bool | None, withdrawn: str = "") -> Calendar:
    """Return 2.4 (number 5), 2.5 (6) and, where a third answer is given, 2.6 without a number."""
    rows: list[dict[str, Any]] = [
        {"name": "lib-2.4", "cut": "2024-04-01", "abi": {"kabi": 5}, "withdrawn": withdrawn},
        {"name": "lib-2.5", "cut": "2024-07-01", "abi": {"kabi": 6}},
        {"name": "lib-2.6"},
    ]
    named = [row | {"supported": says} for row, says in zip(rows, supported, strict=False)]
    return Calendar.model_validate({"defaults": {"base_branch": "main", "owners": ["ada"]}, "trains": named})


@pytest.mark.parametrize(
    ("calendar", "numbers", "outcome"),
    [
        (trains(False, True), (6,), Outcome.FAILED),
        (trains(True, True), (5, 6), Outcome.PASSED),
        (trains(None, True), None, Outcome.UNKNOWN),
        (trains(False, None), None, Outcome.UNKNOWN),
        (trains(False, False), None, Outcome.UNKNOWN),
        (trains(False, True, True), None, Outcome.UNKNOWN),
        (trains(None, True, withdrawn="cut, and never tagged"), (6,), Outcome.FAILED),
    ],
)
def test_a_guard_is_dead_when_every_supported_train_decides_it_the_same_way(
    world: World, calendar: Calendar, numbers: tuple[int, ...] | None, outcome: Outcome
) -> None:
    world.library.commit("Take bare pointers (#6)", {"src/launch.cpp": LAUNCH}, at="2024-02-05T12:00:00-08:00")
    snapshot = snapshot_of(world.project(), "acme/library#6", AT, Calendars(calendar, None))
    (guards,) = snapshot.guards or ()
    assert guards.supported == numbers
    assert outcomes(judge(world.project(), snapshot, recorded=False))["dead-guard-removable"] is outcome


def test_of_the_shipped_trains_none_says_whether_it_is_supported() -> None:
    assert {train.supported for train in read_calendar().trains} == {None}
    everywhere = Calendar.model_validate(
        {
            "defaults": {"base_branch": "main", "supported": False},
            "trains": [{"name": "lib-2.4"}, {"name": "lib-2.5", "supported": True}],
        }
    )
    assert [train.supported for train in everywhere.trains] == [False, True]


def test_a_longer_version_is_another_train(world: World) -> None:
    """T7: 2.4 is not in 2.40."""
    world.library.git("checkout", "-q", "-b", "release/2.40")
    world.library.commit("Fix (#8)", {"fix": "x"})
    assert world.snapshot("acme/library#8", base="release/2.40").train is None


# -- what the text declares ------------------------------------------------------------------------------------------


def test_a_trailer_in_the_final_text_holds_and_prose_only_suggests(world: World) -> None:
    at = "2024-03-05T12:00:00-08:00"
    world.library.commit("Words (#7)\n\nDepends-On: acme/compiler#9\nMerge-After: cut lib-2.4", {"a": "b"}, at=at)
    declared = outcomes(world.judged("acme/library#7"))
    # Nobody has seen #9 merge, and the forge was not asked: not told is not merged.
    assert declared["companion-merges-first"] is Outcome.UNKNOWN
    assert declared["merge-after-event"] is Outcome.PENDING
    world.library.commit("More (#8)\n\nThis should not be merged until acme/compiler#9 lands.", {"c": "d"}, at=at)
    spoken = world.judged("acme/library#8")
    found = next(verdict for verdict in spoken.verdicts if verdict.policy == "order-spoken-of")
    assert found.outcome is Outcome.FAILED
    assert "`Depends-On: acme/compiler#9`" in found.remedy
    assert outcomes(spoken)["companion-merges-first"] is Outcome.SKIPPED
