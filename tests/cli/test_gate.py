"""`relmgr gate` and `relmgr policy` as people call them: exit codes, forms, errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from relmgr.cli import root
from relmgr.errors import run_to_exit_code
from tests.support.repositories import new_repository

OLD = "miopen-1673-2022-08-05"


def relmgr(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = run_to_exit_code(lambda **options: root.main(args=list(args), **options))
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_recorded_snapshot_that_may_merge_exits_0(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = relmgr(capsys, "gate", "check", "--snapshot", "miopen-1630-2022-07-11")
    assert code == 0
    assert out.startswith("ROCm/MIOpen#1630: may merge: nothing blocks, nothing waits\n")
    assert "Judged by its final text and diff" in out


@pytest.mark.parametrize("name", [OLD, "miopen-1630-2022-07-11-declared"])
def test_one_that_blocks_or_waits_exits_1(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert relmgr(capsys, "gate", "check", "--snapshot", name, "--quiet")[:2] == (1, "")


def test_json_has_the_promised_keys(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = relmgr(capsys, "gate", "check", "--snapshot", OLD, "--format", "json")
    document = json.loads(out)
    assert list(document) == ["subject", "judged", "at", "decision", "verdicts", "may_today", "taken_at"]
    assert (document["judged"], document["decision"]) == ("recorded", "block")


def test_at_judges_the_recorded_facts_at_another_time(capsys: pytest.CaptureFixture[str]) -> None:
    args = ("gate", "check", "--snapshot", OLD, "--at", "2022-08-08", "--format", "json")
    verdicts = {v["policy"]: v["outcome"] for v in json.loads(relmgr(capsys, *args)[1])["verdicts"]}
    assert verdicts["abi-bump-waits-for-cut"] == "passed"


def test_what_if_shows_the_changes(capsys: pytest.CaptureFixture[str], golden: Any) -> None:
    name = "miopen-1630-2022-07-11-declared"
    assume = ("--assume", "cut rocm-5.3 at 2022-07-10", "--assume", "merged:ROCm/rocMLIR#690")
    code, out, _ = relmgr(capsys, "gate", "check", "--snapshot", name, *assume)
    assert code == 0
    golden("gate/what_if.txt", out)


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = relmgr(capsys, "gate", "explain", "abi-bump-waits-for-cut")
    assert code == 0
    assert "This may merge if the next train to be cut ships the ABI number that it brings." in out


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_explain_lists_every_policy(capsys: pytest.CaptureFixture[str], form: str) -> None:
    code, out, _ = relmgr(capsys, "gate", "explain", "--format", form)
    assert code == 0
    assert out.count("pin-moves-forward") >= 1
    assert out.count("dead-guard-removable") >= 1


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (("gate", "check"), 2, "give either OWNER/REPO#N or --snapshot"),
        (("gate", "check", "ROCm/MIOpen#1", "--snapshot", OLD), 2, "give either"),
        (("gate", "check", "ROCm/MIOpen"), 2, "is no pull request of this project"),
        (("gate", "check", "someone/else#1"), 2, "ROCm/MIOpen, ROCm/rocMLIR"),
        (("gate", "check", "ROCm/rocMLIR#690"), 2, "--repo rocmlir=PATH"),
        (("gate", "check", "--snapshot", "no-such"), 2, "miopen-1673-2022-08-05"),
        (("gate", "check", "--snapshot", OLD, "--at", "2022-08-05T10:00"), 2, "has no offset"),
        (("gate", "check", "--snapshot", OLD, "--assume", "rain"), 2, "is not understood"),
        (("gate", "explain", "no-such"), 2, "known: abi-bump-has-regeneration-ticket"),
        (("policy", "new", "Bad Id"), 2, "no policy id"),
        (("policy", "new", "fine", "--check", "no-such"), 2, "no check 'no-such'"),
    ],
)
def test_mistakes_are_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, args: Any, code: int, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    found, _, err = relmgr(capsys, *args)
    assert found == code
    assert says in err
    assert "Traceback" not in err


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"subject": 1}', "[" * 100_000, '{"at": "2022-01-01"}'])
def test_a_strange_snapshot_is_the_callers_mistake(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    file = tmp_path / "s.json"
    file.write_text(text)
    code, _, err = relmgr(capsys, "gate", "check", "--snapshot", str(file))
    assert code == 2
    assert "Traceback" not in err


def test_what_was_taken_can_be_recorded_and_replayed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    clone = new_repository(tmp_path / "miopen")
    clone.commit("Start", {"requirements.txt": "ROCm/rocMLIR@rocm-5.3.0\n"})
    clone.commit("Words (#7)", {"notes": "x"})
    record = tmp_path / "facts.json"
    args = (
        "gate",
        "check",
        "ROCm/MIOpen#7",
        "--repo",
        f"miopen={clone.path}",
        "--at",
        "2022-08-05",
        "--format",
        "json",
    )
    live = relmgr(capsys, *args, "--record", str(record))
    again = relmgr(capsys, "gate", "check", "--snapshot", str(record), "--format", "json")
    one, other = json.loads(live[1]), json.loads(again[1])
    assert (one.pop("judged"), other.pop("judged")) == ("final-text-at", "recorded")
    assert one == other


def test_policy_new_is_a_plan_until_apply(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    args = ("policy", "new", "my-rule", "--folder", str(tmp_path / "rules"))
    code, out, _ = relmgr(capsys, *args)
    assert (code, (tmp_path / "rules").exists()) == (0, False)
    assert out.startswith("A plan, nothing is written: --apply does it.")
    assert relmgr(capsys, *args, "--apply")[0] == 0
    assert len(list((tmp_path / "rules").rglob("*.yaml"))) == 4


def test_policy_test_runs_the_shipped_cases(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    code, out, _ = relmgr(capsys, "policy", "test")
    assert code == 0
    assert out.endswith(" cases, all as expected\n")


def miopen() -> str:
    """Return the clone of MIOpen to test on, or skip."""
    path = os.environ.get("RELMGR_MIOPEN_CLONE")
    if not path:
        pytest.skip("RELMGR_MIOPEN_CLONE names no clone")
    return path


@pytest.mark.realhistory
def test_1673_from_a_real_clone(capsys: pytest.CaptureFixture[str]) -> None:
    args = ("gate", "check", "ROCm/MIOpen#1673", "--at", "2022-08-05", "--repo", f"miopen={miopen()}")
    code, out, _ = relmgr(capsys, *args, "--format", "json")
    verdicts = {v["policy"]: v for v in json.loads(out)["verdicts"]}
    assert code == 1
    assert verdicts["abi-bump-waits-for-cut"]["outcome"] == "pending"
    assert verdicts["abi-bump-has-regeneration-ticket"]["outcome"] == "unknown"
    assert "tickets: the forge was not asked" in verdicts["abi-bump-has-regeneration-ticket"]["evidence"]["statement"]
    assert "Judged by its final text and diff" in relmgr(capsys, *args)[1]


@pytest.mark.realhistory
def test_1630_from_a_real_clone(capsys: pytest.CaptureFixture[str]) -> None:
    args = ("gate", "check", "ROCm/MIOpen#1630", "--at", "2022-07-11", "--repo", f"miopen={miopen()}")
    code, out, _ = relmgr(capsys, *args, "--format", "json")
    document = json.loads(out)
    verdicts = {v["policy"]: v for v in document["verdicts"]}
    assert (code, document["decision"]) == (0, "merge")
    assert document["may_today"] == ["It moves no pin and keeps both paths: it may merge today."]
    assert verdicts["abi-bump-keeps-old-path"]["outcome"] == "passed"
    assert "`Depends-On: ROCm/rocMLIR#690`" in verdicts["order-spoken-of"]["remedy"]


def test_help_imports_no_heavy_module() -> None:
    code = "import sys; from relmgr.cli import root; import relmgr.cli.gate; print('pydantic' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
