"""`relmgr pin bisect`: the first bad commit; what could not be tested is skipped, never bad (P17)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relmgr.gate.bisect import narrow, next_trial
from relmgr.model.bisect import TrialOutcome
from tests.cli.test_pin import run
from tests.support.invented import Invented, invent

# Reads `result` in the work tree: a number to exit with, or what to do.
SCRIPT = """
import os, pathlib, sys, time
told = pathlib.Path("result").read_text().strip()
assert os.environ["RELMGR_COMMIT"]
if told == "hang":
    time.sleep(60)
if told == "abort":
    os.abort()
sys.exit(int(told))
"""


@pytest.fixture
def pair(tmp_path: Path) -> Invented:
    return invent(tmp_path)


def history(pair: Invented, results: list[str]) -> list[str]:
    """Commit one result after another at the provider, and move the consumer's pin over all of them."""
    commits = [
        pair.forge.commit(f"work {n}", {"result": result}, at=f"2030-02-01T{n:02}:00:00+01:00")
        for n, result in enumerate(results)
    ]
    for n, ref in enumerate((commits[0], commits[-1])):
        pair.gadget.commit(f"pin {n}", {"forge.pin": f"{ref}\n"}, at=f"2030-03-0{n + 1}T01:00:00+01:00")
    return commits


def bisect(
    pair: Invented, *more: str, command: tuple[str, ...] = (sys.executable, "-c", SCRIPT)
) -> tuple[int, Any, str]:
    given = ["--project", str(pair.file), "--repo", f"gadget={pair.gadget.path}", "--repo", f"forge={pair.forge.path}"]
    code, out, err = run("pin", "bisect", *given, "--format", "json", *more, "--", *command)
    return code, json.loads(out) if out else None, err


def test_the_first_bad_commit_of_the_last_bump_is_found(pair: Invented) -> None:
    commits = history(pair, ["0", "0", "0", "0", "0", "1", "1", "1"])
    before = pair.forge.git("status", "--porcelain=v2", "--branch") + pair.forge.git("for-each-ref")
    code, found, _ = bisect(pair)
    assert (code, found["first_bad"], found["subject"]) == (0, commits[5], "work 5")
    assert (found["good"], found["bad"], found["commits"]) == (commits[0], commits[7], 7)
    assert len(found["trials"]) == 3
    assert pair.forge.git("status", "--porcelain=v2", "--branch") + pair.forge.git("for-each-ref") == before
    assert len(pair.forge.git("worktree", "list").splitlines()) == 1


@pytest.mark.parametrize("broken", ["125", "126", "127", "139", "abort", "hang"])
def test_p17_what_could_not_run_is_skipped_and_not_bad(pair: Invented, broken: str) -> None:
    commits = history(pair, ["0", "0", "0", broken, "0", "1", "1"])
    code, found, err = bisect(pair, "--seconds", "3")
    assert (code, found["first_bad"]) == (0, commits[5])
    skipped = [trial for trial in found["trials"] if trial["outcome"] == "skip"]
    assert [trial["commit"] for trial in skipped] == [commits[3]]
    assert skipped[0]["why"]
    assert f"skip: {commits[3][:12]} it " in err


def test_p17_when_skips_hide_it_the_candidates_are_named(pair: Invented) -> None:
    commits = history(pair, ["0", "0", "125", "125", "1", "1"])
    code, found, _ = bisect(pair)
    assert (code, found["first_bad"], found["candidates"]) == (1, None, commits[2:5])


@pytest.mark.parametrize("command", ["/nowhere/at/all", "no-such-program-here"])
def test_a_command_that_no_commit_can_bring_is_refused_at_once(pair: Invented, command: str) -> None:
    history(pair, ["0", "0", "1", "1"])
    code, found, err = bisect(pair, command=(command,))
    assert (code, found) == (2, None)
    assert "cannot be run here" in err


def test_p17_a_command_of_the_tree_that_is_not_there_skips_all_and_blames_none(pair: Invented) -> None:
    history(pair, ["0", "0", "1", "1"])
    code, found, _ = bisect(pair, command=("./check.sh",))
    assert (code, found["first_bad"], len(found["candidates"])) == (1, None, 3)
    assert {trial["outcome"] for trial in found["trials"]} == {"skip"}


@pytest.mark.parametrize(
    ("results", "doubt"),
    [
        ("1111", "it does not pass at the good end {good} either"),
        ("0000", "it does not fail at the bad end {bad}"),
        ("/11", "it does not pass at the good end {good} either (it said so (125))"),
    ],
)
def test_a_command_that_contradicts_an_end_blames_nobody(pair: Invented, results: str, doubt: str) -> None:
    commits = history(pair, ["125" if one == "/" else one for one in results])
    code, found, _ = bisect(pair)
    assert (code, found["first_bad"], found["candidates"]) == (1, None, [])
    assert found["doubt"] == doubt.format(good=commits[0][:12], bad=commits[-1][:12])
    given = ["--project", str(pair.file), "--repo", f"gadget={pair.gadget.path}", "--repo", f"forge={pair.forge.path}"]
    for form in ("text", "markdown"):
        _, out, _ = run("pin", "bisect", *given, "--format", form, "--", sys.executable, "-c", SCRIPT)
        assert "Nobody is to blame yet" in out


def test_an_end_that_no_trial_bears_out_is_tried(pair: Invented) -> None:
    commits = history(pair, ["0", "1", "1"])
    code, found, _ = bisect(pair)
    assert (code, found["first_bad"]) == (0, commits[1])
    assert [trial["commit"] for trial in found["trials"]] == [commits[1], commits[0]]


def test_a_clone_that_lacks_contents_is_named_after_a_few_trials(pair: Invented) -> None:
    history(pair, [str(n) for n in range(30)])
    for n in range(30):
        oid = pair.forge.git("rev-parse", f"trunk~{n}:result")
        file = pair.forge.path / ".git" / "objects" / oid[:2] / oid[2:]
        file.unlink(missing_ok=True)
    code, _, err = bisect(pair)
    assert code == 3
    assert "none of 5 commits could be checked out: unable to read sha1 file of result" in err
    assert "fetch what the clone lacks" in err


def test_refs_of_two_lines_are_told_where_they_part(pair: Invented) -> None:
    commits = history(pair, ["0", "0", "1"])
    pair.forge.git("checkout", "-q", "--detach", commits[1])
    side = pair.forge.commit("side", {"x.txt": "x"}, at="2030-02-03T01:00:00+01:00")
    code, _, err = bisect(pair, "--good", commits[2], "--bad", side)
    assert code == 2
    assert f"they part at {commits[1][:12]}, so if COMMAND passes there, --good {commits[1][:12]}" in err


def test_refs_in_the_wrong_order_are_refused(pair: Invented) -> None:
    commits = history(pair, ["0", "1"])
    code, _, err = bisect(pair, "--good", commits[1], "--bad", commits[0])
    assert code == 2
    assert "is not an ancestor of" in err


def test_the_text_names_it(pair: Invented) -> None:
    commits = history(pair, ["0", "1", "1"])
    given = ["--project", str(pair.file), "--repo", f"gadget={pair.gadget.path}", "--repo", f"forge={pair.forge.path}"]
    for form in ("text", "markdown"):
        code, out, _ = run("pin", "bisect", *given, "--format", form, "--", sys.executable, "-c", SCRIPT)
        assert code == 0
        assert commits[1] in out
        assert "work 1" in out


@given(st.integers(1, 40), st.data())
def test_the_bounds_always_hold_the_first_bad_commit(count: int, data: st.DataObject) -> None:
    commits = [str(n) for n in range(count)]
    first_bad = data.draw(st.integers(0, count - 1))
    skipped = data.draw(st.sets(st.integers(0, count - 1)))
    told: dict[str, TrialOutcome] = {}
    while (commit := next_trial(commits, told)) is not None:
        assert commit not in told
        n = int(commit)
        told[commit] = "skip" if n in skipped else "bad" if n >= first_bad else "good"
    left = narrow(commits, told)
    assert str(first_bad) in left
    assert len(left) == 1 or all(int(commit) in skipped for commit in left[:-1])
    if not skipped:
        assert len(told) <= count.bit_length()
