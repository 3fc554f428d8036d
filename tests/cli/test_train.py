"""`relmgr train list | show | ical` as a person and a program see them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relmgr.cli import root
from relmgr.errors import run_to_exit_code
from tests.support.graph import build_graph_repository

SMALL = """\
defaults: {base_branch: develop, zone: America/Los_Angeles, owners: [jo]}
trains:
  - name: rocm-5.3
    cut: 2022-08-08
    first_tag: {name: rocm-5.3.0, tagged: 2022-09-30}
    abi: {miir: 5}
    regeneration: {days: 35, source: observed in 2022}
    freezes:
      - phase: feature-freeze
        starts: 2022-07-25
        ends: 2022-08-07
        why: only fixes until the branch is cut
        exception: comment /exception
"""


@pytest.fixture(scope="module")
def miopen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_graph_repository(tmp_path_factory.mktemp("graph") / "MIOpen").path


def train(*args: str | Path) -> int:
    return run_to_exit_code(lambda **kw: root.main(["train", *[str(a) for a in args]], **kw))


def small(tmp_path: Path, text: str = SMALL) -> Path:
    (tmp_path / "trains.yaml").write_text(text)
    return tmp_path / "trains.yaml"


def test_the_list_of_the_shipped_calendar_beside_the_repository(
    miopen: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train("list", "--repo", f"miopen={miopen}", "--at", "2025-01-01") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Nothing to do: the calendar and what could be read of the repositories agree."
    assert [line.split() for line in lines[10:12]] == [
        ["rocm-5.3", "2022-08-08", "2022-08-08", "2022-07-04", "rocm-5.3.0", "2022-09-30", "5", "-"],
        ["rocm-5.4", "2022-10-06", "2022-10-06", "2022-09-01", "rocm-5.4.0", "2022-11-30", "6", "-"],
    ]
    assert len(lines) == 19


def test_json_has_exactly_these_keys(miopen: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train("list", "--trains", small(tmp_path), "--repo", f"miopen={miopen}", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out) == [
        {
            "train": "rocm-5.3",
            "base_branch": "develop",
            "planned_cut": "2022-08-08",
            "last_safe_day": "2022-07-04",
            "cut": "2022-08-08",
            "branch": "release/rocm-rel-5.3",
            "first_tag": "rocm-5.3.0",
            "tagged": "2022-09-30",
            "announced": False,
            "abi": {"miir": 5},
            "withdrawn": "",
            "disagreements": [],
        }
    ]


def test_t4_a_disagreement_is_printed_and_ends_in_1(
    miopen: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = small(tmp_path, SMALL.replace("cut: 2022-08-08", "cut: 2022-08-10"))
    for command in (["list"], ["show", "5.3"]):
        assert train(*command, "--trains", wrong, "--repo", f"miopen={miopen}") == 1
        assert (
            "calendar: 2022-08-10; repository: 2022-08-08; next: "
            "write cut: 2022-08-08 into the calendar, or name the right branch"
        ) in capsys.readouterr().out


def test_a_freeze_in_force_is_shown_with_its_end(
    miopen: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["show", "rocm-5.3", "--trains", small(tmp_path), "--repo", f"miopen={miopen}", "--at", "2022-08-01"]
    assert train(*args) == 0
    assert (
        capsys.readouterr().out
        == """\
rocm-5.3 from develop: Frozen: develop until 2022-08-08 00:00-07:00
Planned cut: 2022-08-08 (America/Los_Angeles)
Last safe day for an ABI change: 2022-07-04 (35 days: observed in 2022)
First tag: rocm-5.3.0 on 2022-09-30 (expected)
Kernel ABI it ships: 5
Exceptions by: jo
miopen: no branch yet

Feature freeze of develop, from 2022-07-25 00:00-07:00 until 2022-08-08 00:00-07:00 (in force)
  why: only fixes until the branch is cut
  exception: comment /exception; ask jo
Open again from 2022-08-08 00:00-07:00.
"""
    )


def test_markdown_of_one_train(miopen: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["show", "5.3", "--trains", small(tmp_path), "--repo", f"miopen={miopen}", "--at", "2022-12-01"]
    assert train(*args, "--format", "markdown") == 0
    out = capsys.readouterr().out
    assert "| miopen | `release/rocm-rel-5.3` | 2022-08-08 |" in out
    assert "**Feature freeze** of develop, from 2022-07-25 00:00-07:00" in out


def test_a_shallow_clone_ends_in_3(miopen: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.support.repositories import TestRepository

    TestRepository(miopen).git("clone", "-q", "--depth=1", f"file://{miopen}", str(tmp_path / "shallow"))
    assert train("show", "5.3", "--repo", f"miopen={tmp_path / 'shallow'}") == 3
    assert "miopen: not read: could not be read; next: a shallow clone" in capsys.readouterr().out


def test_t1_a_naive_at_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert train("list", "--at", "2022-08-01T10:00:00") == 2
    assert "has no offset" in capsys.readouterr().err


def test_an_unknown_train_and_an_unknown_key_are_the_callers_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train("show", "5.9", "--trains", small(tmp_path)) == 2
    assert "no train '5.9' in the calendar\n  next: use one of: rocm-5.3" in capsys.readouterr().err
    bad = small(tmp_path, SMALL.replace("    abi:", "    api:"))
    assert train("list", "--trains", bad) == 2
    assert f"{bad}:6: unknown key 'trains.0.api' (did you mean 'abi'?)" in capsys.readouterr().err


def test_ical_to_a_file_and_to_the_terminal_is_the_same_and_has_crlf(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    args = ["ical", "5.3", "--trains", small(tmp_path), "--at", "2022-07-01T00:00:00Z"]
    assert train(*args, "--out", tmp_path / "out.ics") == 0
    assert train(*args) == 0
    written = (tmp_path / "out.ics").read_bytes()
    assert capfdbinary.readouterr().out == written
    assert written.count(b"\n") == written.count(b"\r\n") > 10
    assert b"DTSTAMP:20220701T000000Z" in written
    assert b"UID:cut@rocm-5.3.miopen-rocmlir.relmgr" in written


def test_ical_is_stamped_with_the_calendars_last_change(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    import os

    file = small(tmp_path)
    os.utime(file, (1_656_633_600, 1_656_633_600))
    assert train("ical", "--trains", file) == 0
    assert b"DTSTAMP:20220701T000000Z" in capfdbinary.readouterr().out
