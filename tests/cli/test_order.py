"""`relmgr order plan | parse` as a person runs them."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from relmgr.cli import root
from relmgr.errors import run_to_exit_code

PROJECT = ("--project", "miopen-rocmlir")


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = run_to_exit_code(lambda **options: root.main(args=["order", *args], prog_name="relmgr", **options))
    out, err = capsys.readouterr()
    return code, out, err


def snapshot(folder: Path, *pulls: dict[str, Any]) -> str:
    file = folder / "pulls.json"
    file.write_text(json.dumps({"pull_requests": pulls}), encoding="utf-8")
    return str(file)


STORY = (
    {
        "repository": "ROCmSoftwarePlatform/MIOpen",
        "number": 1630,
        "state": "open",
        "base": "develop",
        "body": "Depends-On: rocMLIR#690\nMerge-After: cut rocm-5.3",
    },
    {
        "repository": "ROCm/MIOpen",
        "number": 1673,
        "state": "open",
        "base": "develop",
        "body": "Depends-On: rocMLIR#725",
    },
    {
        "repository": "ROCm/rocMLIR",
        "number": 690,
        "state": "open",
        "base": "develop",
        "body": "Depends-On: MIOpen#1673",
    },
    {
        "repository": "ROCm/rocMLIR",
        "number": 725,
        "state": "open",
        "base": "develop",
        "body": "This blocks MIOpen#1673.",
    },
    {"repository": "ROCm/rocMLIR", "number": 800, "state": "open", "base": "develop", "body": None},
)

TEXT = """\
Merge now: ROCm/rocMLIR#725

  1. ROCm/rocMLIR#725
  2. ROCm/MIOpen#1673
  3. ROCm/rocMLIR#690
  4. ROCm/MIOpen#1630

ROCm/MIOpen#1630 waits:
  ROCm/rocMLIR#690 is still open   (Depends-On: rocMLIR#690)
  the cut of rocm-5.3 has not come yet   (Merge-After: cut rocm-5.3)
ROCm/MIOpen#1673 waits:
  ROCm/rocMLIR#725 is still open   (Depends-On: rocMLIR#725)
ROCm/rocMLIR#690 waits:
  ROCm/MIOpen#1673 is still open   (Depends-On: MIOpen#1673)

Nothing orders: ROCm/rocMLIR#800
"""


def test_the_plan_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = snapshot(tmp_path, *STORY)
    assert run(capsys, "plan", "--snapshot", file, *PROJECT) == (0, TEXT, "")
    assert [path.name for path in tmp_path.iterdir()] == ["pulls.json"]


def test_the_plan_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = snapshot(tmp_path, *reversed(STORY))
    code, out, _ = run(capsys, "plan", "ROCm/rocMLIR#690", "--snapshot", file, *PROJECT, "--format", "json")
    document = json.loads(out)
    assert code == 0
    assert document["order"] == [["ROCm/rocMLIR#725"], ["ROCm/MIOpen#1673"], ["ROCm/rocMLIR#690"]]
    assert [wait["pull"] for wait in document["waits"]] == ["ROCm/MIOpen#1673", "ROCm/rocMLIR#690"]
    assert document["cycles"] == []


def test_m5_a_cycle_is_printed_with_the_ways_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = {"repository": "ROCm/MIOpen", "number": 1, "state": "open", "base": "develop", "body": "Depends-On: #2"}
    other = {"repository": "ROCm/MIOpen", "number": 2, "state": "open", "base": "develop", "body": "Depends-On: #1"}
    code, out, _ = run(capsys, "plan", "--snapshot", snapshot(tmp_path, one, other), *PROJECT)
    assert code == 1
    assert "In a cycle: ROCm/MIOpen#1 waits for ROCm/MIOpen#2 waits for ROCm/MIOpen#1\n" in out
    assert 'take "Depends-On: #2" out of the description of ROCm/MIOpen#1: ROCm/MIOpen#1 no longer waits' in out


def test_the_plan_as_markdown_has_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "plan", "--snapshot", snapshot(tmp_path, *STORY), *PROJECT, "--format", "markdown")
    picture = out.partition("```mermaid\n")[2].partition("```\n")[0]
    assert picture.splitlines() == [
        "graph LR",
        '  n0["ROCm/MIOpen#1630"]',
        '  n1["ROCm/rocMLIR#690"]',
        '  n2["the cut of rocm-5.3"]',
        "  n1 --> n0",
        "  n2 -. event .-> n0",
        '  n3["ROCm/MIOpen#1673"]',
        '  n4["ROCm/rocMLIR#725"]',
        "  n4 --> n3",
        "  n3 --> n1",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "bad.json:1: not JSON: Expecting property name"),
        ("[]", "holds no `pull_requests`"),
        ('{"pull_requests": [{"repository": "x"}]}', "pull_requests.0.repository"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_bad_snapshot_is_named(text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text, encoding="utf-8")
    code, out, err = run(capsys, "plan", "--snapshot", str(file), *PROJECT)
    assert (code, out) == (2, "")
    assert said in err
    assert "next:" in err


def test_an_unknown_pull_request_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = snapshot(tmp_path, *STORY)
    assert run(capsys, "plan", "ROCm/MIOpen#9", "--snapshot", file, *PROJECT)[0] == 2
    assert "owner/repo#number" in run(capsys, "plan", "1630", "--snapshot", file, *PROJECT)[2]


def test_parse_from_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    body = b"Depends-On: rocMLIR#690\n\nBlocks #5, which blocks #6.\n\nDepends-On: \xff\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(body)))
    args = ("--repository", "miopen", "--number", "1630", "--body-file", "-")
    code, out, err = run(capsys, "parse", *args, *PROJECT, "--format", "json")
    document = json.loads(out)
    assert (code, err) == (0, "")
    assert document["depends_on"] == [
        {"repository": "ROCm/rocMLIR", "number": 690, "source": "Depends-On: rocMLIR#690"}
    ]
    assert document["merge_after"] == []
    assert [(s["repository"], s["number"], s["direction"], s["sentence"]) for s in document["suggestions"]] == [
        ("ROCm/MIOpen", 5, "this-before-other", "Blocks #5, which blocks #6."),
        ("ROCm/MIOpen", 6, "this-before-other", "Blocks #5, which blocks #6."),
    ]
    assert document["not_understood"] == [{"text": "Depends-On: \ufffd", "line": 5, "why": "it names no pull request"}]


def test_parse_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "body.md"
    file.write_text("Requires #5 to land first.\nMerge-After: cut rocm-5.3\nDepends-On: `#7`\n", encoding="utf-8")
    args = ("--repository", "ROCm/MIOpen", "--number", "1630", "--body-file", str(file))
    assert run(capsys, "parse", *args, *PROJECT)[1] == (
        "ROCm/MIOpen#1630 declares\n"
        "  merge after  cut rocm-5.3   (Merge-After: cut rocm-5.3)\n"
        "\n"
        "Spoken of, not declared; it decides nothing:\n"
        '  "Requires #5 to land first."\n'
        "    reads as: this is to merge after ROCm/MIOpen#5\n"
        '    to declare it, add "Depends-On: ROCm/MIOpen#5" to the description of ROCm/MIOpen#1630\n'
        "\n"
        "Looks like a declaration, not understood:\n"
        '  line 3: "Depends-On: ...": what it names is code\n'
    )


def test_parse_refuses_a_missing_file(capsys: pytest.CaptureFixture[str]) -> None:
    args = ("--repository", "ROCm/MIOpen", "--number", "1", "--body-file", "/nowhere/body.md")
    code, _, err = run(capsys, "parse", *args, *PROJECT)
    assert code == 2
    assert "/nowhere/body.md" in err
