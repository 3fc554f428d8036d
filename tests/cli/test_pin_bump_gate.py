"""`relmgr pin bump` judged by the gate before anything is written: refused, held, waived, told; by the base's rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from relmgr.workflows.demo import rebuild
from tests.cli.test_pin import run
from tests.cli.test_pin_bump import LAUNCH, TRAINS, bump, failed, options, pair, verdicts
from tests.support.invented import Invented

__all__ = ["pair"]

EARLY = """
defaults: {base_branch: trunk, zone: Europe/Berlin, owners: [ada]}
trains:
  - {name: gadget-1.0, cut: 2198-06-01, abi: {forge-abi: 42}}
  - {name: gadget-2.0, cut: 2199-06-01, abi: {forge-abi: 50}, regeneration: {days: 30, source: a guess}}
"""
FREEZE = """
    freezes:
      - {phase: feature-freeze, starts: 2020-01-01, ends: 2198-12-31, why: only fixes, exception: ask, ask: [ada]}
"""


def calendar(pair: Invented, text: str) -> None:
    pair.file.with_name("trains.yaml").write_text(text)


def verdict(plan: dict[str, Any], policy: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in plan["verdicts"] if one["policy"] == policy)
    return found


def objects_of(pair: Invented) -> list[Path]:
    return sorted(file for file in (pair.gadget.path / ".git").rglob("*") if file.is_file())


def test_viewing_a_plan_writes_nothing_into_the_clone_and_needs_no_identity(
    pair: Invented, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AUTHOR", "COMMITTER"):
        for what in ("NAME", "EMAIL"):
            monkeypatch.delenv(f"GIT_{name}_{what}")
    before = objects_of(pair)
    code, plan, err = bump(pair, "--to", "trunk")
    assert (code, err) == (0, "")
    assert verdict(plan, "abi-bump-keeps-old-path")["outcome"] == "passed"
    assert objects_of(pair) == before


def test_what_only_an_open_pull_request_has_is_waited_for(pair: Invented) -> None:
    code, plan, _ = bump(pair, "--to", "trunk")
    assert code == 0
    assert verdicts(plan, "pending") == ["abi-bump-has-regeneration-ticket", "approvals-and-checks", "smoke-green"]
    assert verdicts(plan, "failed", "unknown") == []
    assert plan["subject"] == f"acme/gadget:{plan['branch']}"


def test_before_the_cut_it_is_told_to_wait_and_may_be_opened(pair: Invented) -> None:
    calendar(pair, EARLY)
    code, plan, _ = bump(pair, "--to", "trunk", "--apply")
    held = verdict(plan, "abi-bump-waits-for-cut")
    assert (code, held["outcome"]) == (0, "pending")
    assert held["evidence"]["statement"] == "it brings kernel ABI 50, and gadget-1.0 (cut 2198-06-01) ships 42"
    assert pair.gadget.git("rev-parse", plan["branch"])
    _, out, _ = run("pin", "bump", *options(pair), "--to", "trunk", "--format", "markdown")
    assert "### What it waits for" in out
    assert "gadget-1.0 (cut 2198-06-01) ships 42" in out


def test_on_a_release_branch_that_ships_the_old_number_it_is_refused(pair: Invented) -> None:
    calendar(pair, EARLY)
    pair.gadget.git("branch", "stable/1.0", "trunk")
    code, plan, _ = bump(pair, "--to", "trunk", "--base", "stable/1.0", "--apply")
    assert code == 1
    assert "abi-bump-waits-for-cut" in failed(plan)
    assert "relmgr/" not in pair.gadget.git("for-each-ref")


def test_t3_in_a_freeze_of_its_base_it_waits_until_the_end(pair: Invented) -> None:
    frozen = (
        TRAINS.split("  - {")[0]
        + "  - name: gadget-2.0\n    cut: 2199-06-01\n    abi: {forge-abi: 50}\n"
        + "    regeneration: {days: 30, source: a guess}"
        + FREEZE
    )
    calendar(pair, frozen)
    code, plan, _ = bump(pair, "--to", "trunk")
    held = verdict(plan, "freeze")
    assert (code, held["outcome"]) == (0, "pending")
    assert "trunk is in the feature-freeze of gadget-2.0 until 2199-01-01" in held["evidence"]["statement"]


@pytest.mark.parametrize("broken", ["trains: [", "trains: [{name: gadget-2.0, cut: soon}]"])
def test_t2_a_calendar_that_cannot_be_read_refuses(pair: Invented, broken: str) -> None:
    calendar(pair, broken)
    code, plan, _ = bump(pair, "--to", "trunk", "--apply")
    assert code == 1
    assert "freeze" in failed(plan)
    assert "freeze data unreadable" in verdict(plan, "freeze")["evidence"]["statement"]
    assert "relmgr/" not in pair.gadget.git("for-each-ref")


def test_a_crossing_without_a_second_path_is_refused(pair: Invented) -> None:
    pair.gadget.commit("the old path only", {"src/launch.cpp": "void descriptor();\n"}, at="2030-02-01T02:00:00+01:00")
    code, plan, _ = bump(pair, "--to", "trunk", "--apply")
    assert (code, failed(plan)) == (1, ["abi-bump-keeps-old-path"])
    code, out, _ = run("pin", "bump", *options(pair), "--to", "trunk")
    assert code == 1
    assert "Refused" in out
    assert "abi-bump-keeps-old-path (failed)" in out


def test_a_list_of_tickets_that_lacks_one_refuses_a_crossing(pair: Invented, tmp_path: Path) -> None:
    tickets = tmp_path / "tickets.json"
    tickets.write_text("[]")
    code, plan, _ = bump(pair, "--to", "trunk", "--tickets", str(tickets), "--apply")
    assert (code, failed(plan)) == (1, ["abi-bump-has-regeneration-ticket"])
    assert "for gfx90a" in verdict(plan, "abi-bump-has-regeneration-ticket")["evidence"]["statement"]
    # No crossing, no ticket.
    pair.forge.git("checkout", "-q", "--detach", str(pair.forge_at[42]))
    pair.forge.commit("a cure", {"x.txt": "x"}, at="2030-01-05T10:00:00+01:00")
    pair.forge.git("branch", "cure")
    code, plan, _ = bump(pair, "--to", "cure", "--tickets", str(tickets))
    assert (code, failed(plan)) == (0, [])


def test_a_waiver_of_the_base_branch_lifts_what_refuses_and_one_that_is_not_there_yet_does_not(pair: Invented) -> None:
    pair.gadget.commit("the old path only", {"src/launch.cpp": "void descriptor();\n"}, at="2030-02-01T02:00:00+01:00")
    pair.file.write_text('owners = ["ada"]\n' + pair.file.read_text())
    _, plan, _ = bump(pair, "--to", "trunk")
    waiver = (
        f"waivers:\n  - policy: abi-bump-keeps-old-path\n    subject: {plan['subject']}\n    until: 2198-12-31\n"
        "    by: ada\n    reason: the old path is gone on purpose\n"
    )
    pair.gadget.git("checkout", "-q", "-b", "elsewhere")
    pair.gadget.commit("waive", {".relmgr/waivers.yaml": waiver}, at="2030-02-01T03:00:00+01:00")
    assert bump(pair, "--to", "trunk")[0] == 1
    pair.gadget.git("checkout", "-q", "trunk")
    # The base as of now: the waiver's own commit must not lie in the future of whoever runs this.
    pair.gadget.commit("waive", {".relmgr/waivers.yaml": waiver}, at="2020-02-01T03:00:00+01:00")
    code, plan, _ = bump(pair, "--to", "trunk", "--apply")
    assert (code, failed(plan)) == (0, ["abi-bump-keeps-old-path"])
    assert verdict(plan, "abi-bump-keeps-old-path")["evidence"]["waiver"]["state"] == "in force"
    assert pair.gadget.git("rev-parse", plan["branch"])


def test_p9_the_gate_still_asks_for_a_waiver_of_a_rollback_with_a_reason(pair: Invented) -> None:
    _, out, _ = run("pin", "bump", *options(pair), "--to", str(pair.forge_at[41]))
    assert "--allow-rollback REASON" in out
    code, plan, _ = bump(pair, "--to", str(pair.forge_at[41]), "--allow-rollback", "wrong numbers")
    told = verdict(plan, "pin-moves-forward")
    assert (code, told["outcome"], told["evidence"]["answered_by"]) == (0, "failed", "wrong numbers")
    _, out, _ = run("pin", "bump", *options(pair), "--to", str(pair.forge_at[41]), "--allow-rollback", "wrong numbers")
    assert "next: a waiver by an owner, before it merges" in out


def test_rules_are_the_base_branchs_and_a_policy_put_aside_says_why(pair: Invented) -> None:
    why = "the old path went on purpose"
    pair.file.write_text(pair.file.read_text() + f'\n[policies.override.abi-bump-keeps-old-path]\ndisabled = "{why}"\n')
    pair.gadget.commit("the old path only", {"src/launch.cpp": "void descriptor();\n"}, at="2030-02-01T02:00:00+01:00")
    code, plan, _ = bump(pair, "--to", "trunk")
    assert (code, failed(plan)) == (0, [])
    assert why in verdict(plan, "abi-bump-keeps-old-path")["evidence"]["statement"]


def test_at_shows_what_would_have_been_said_on_the_base_of_that_day_and_writes_nothing(pair: Invented) -> None:
    first = pair.gadget.git("rev-parse", "trunk")
    pair.gadget.commit("later", {"src/launch.cpp": LAUNCH + "\n"}, at="2030-03-01T01:00:00+01:00")
    code, plan, _ = bump(pair, "--to", "trunk", "--at", "2030-02-10")
    assert (code, plan["base_commit"], plan["judged_at"]) == (0, first, "2030-02-10T23:59:59.999999+01:00")
    for more in (["--apply"], ["--pull-request"]):
        code, _, err = bump(pair, "--to", "trunk", "--at", "2030-02-10", *more)
        assert code == 2
        assert "--at shows what would have been said then" in err


def test_one_attempt_a_ref_and_base_each_with_a_branch_of_its_own(pair: Invented) -> None:
    pair.gadget.git("branch", "stable/1.0", "trunk")
    calendar(pair, TRAINS.replace("gadget-2.0", "gadget-1.0"))
    plans = [bump(pair, "--to", "trunk", *more)[1] for more in ([], ["--base", "stable/1.0"])]
    name = f"relmgr/bump-forge-{str(pair.forge_at[50])[:12]}"
    assert [plan["branch"] for plan in plans] == [name, f"{name}-on-stable-1-0"]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return rebuild(tmp_path_factory.mktemp("story") / "demo")


@pytest.mark.parametrize(
    ("day", "outcomes"),
    [
        ("2022-08-05", {"abi-bump-waits-for-cut": "pending", "abi-bump-leaves-time-to-regenerate": "passed"}),
        ("2022-08-09", {"abi-bump-waits-for-cut": "passed", "abi-bump-leaves-time-to-regenerate": "passed"}),
        # The last safe day of 5.4 was 35 days before its cut: 2022-09-01.
        ("2022-09-28", {"abi-bump-waits-for-cut": "passed", "abi-bump-leaves-time-to-regenerate": "failed"}),
    ],
)
def test_the_crossing_of_2022_as_the_gate_would_have_judged_its_bump(
    story: dict[str, Path], day: str, outcomes: dict[str, str]
) -> None:
    clones = [f"--repo={name}={path}" for name, path in story.items()]
    bumped = ["--to", "rocm-5.4.0", "--drop-digest", "--at", day, "--format", "json"]
    code, out, err = run("pin", "bump", "--project", "miopen-rocmlir", *clones, *bumped)
    plan = json.loads(out)
    assert (code, err) == (1, "")
    assert plan["title"] == "Bump rocMLIR to rocm-5.4.0 (kernel ABI 5 -> 6)"
    assert {name: verdict(plan, name)["outcome"] for name in outcomes} == outcomes
    # What refuses it: no line of the recorded tree tells the two numbers apart.
    assert "abi-bump-keeps-old-path" in failed(plan)
    assert len(plan["invalidates"]) == 8
    assert plan["tickets"] == ["gfx1030", "gfx900", "gfx906", "gfx908", "gfx90a"]


def test_the_document_keeps_its_keys(pair: Invented) -> None:
    code, out, _ = run("pin", "bump", *options(pair), "--to", "trunk", "--format", "json")
    assert code == 0
    assert {"consumer", "base", "branch", "steps", "edits", "subject", "judged_at", "verdicts"} <= set(json.loads(out))
