"""`relmgr cut plan | checklist`: on MIOpen's recorded history, and on a pair that is ready."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relmgr.cli import root
from relmgr.errors import run_to_exit_code
from relmgr.sources.cut_facts import changelog_heading
from tests.support.graph import GraphRepository, build_graph_repository
from tests.support.repositories import new_repository


def cut(*args: str | Path) -> int:
    return run_to_exit_code(lambda **kw: root.main(["cut", *[str(a) for a in args]], **kw))


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> GraphRepository:
    return build_graph_repository(tmp_path_factory.mktemp("graph") / "MIOpen")


# -- 2022 -----------------------------------------------------------------------------------------------------------


def items(out: str) -> dict[str, dict[str, str]]:
    return {item["id"]: item for item in json.loads(out)["items"]}


def test_the_day_before_the_5_4_cut(graph: GraphRepository, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["5.4", "--repo", f"miopen={graph.path}", "--at", "2022-10-05", "--format", "json"]
    assert cut("checklist", *args) == 0
    found = items(capsys.readouterr().out)
    commit = next(new for old, new in graph.commits.items() if old.startswith("5c6664021"))
    assert found["miopen/rocmlir/pin-fixed"]["state"] == "done"
    assert found["miopen/rocmlir/abi-number"]["evidence"] == "6 at the pin, the train ships 6"
    late = found["miopen/rocmlir/time-to-regenerate"]
    assert (late["state"], late["evidence"]) == (
        "open",
        f"crossed on 2022-09-29 by {commit[:12]}; the last safe day was 2022-09-01",
    )
    stale = found["miopen/rocmlir/databases-fresh"]
    assert stale["state"] == "open"
    assert stale["evidence"].startswith(f"8 of 8 are older than the crossing {commit[:12]} of 2022-09-29")
    assert found["miopen/rocmlir/regeneration-tickets"]["evidence"] == (
        "the forge was not asked; archs: gfx1030, gfx900, gfx906, gfx908, gfx90a"
    )


def test_the_day_before_the_5_3_cut_the_pin_is_a_tag(
    graph: GraphRepository, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["rocm-5.3", "--repo", f"miopen={graph.path}", "--at", "2022-08-07", "--format", "json"]
    assert cut("checklist", *args) == 0
    found = items(capsys.readouterr().out)
    assert found["miopen/rocmlir/abi-number"]["evidence"] == "5 at the pin, the train ships 5"
    assert found["miopen/rocmlir/time-to-regenerate"]["state"] == "done"
    assert found["miopen/release-branch"]["state"] == "open"


def test_p4_before_the_5_2_release_the_pin_was_a_branch(
    graph: GraphRepository, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["5.2", "--repo", f"miopen={graph.path}", "--at", "2022-06-28", "--format", "json"]
    assert cut("checklist", *args) == 0
    fixed = items(capsys.readouterr().out)["miopen/rocmlir/pin-fixed"]
    assert (fixed["state"], fixed["evidence"]) == (
        "open",
        "ROCmSoftwarePlatform/llvm-project-mlir@release/rocm-5.2 is a branch",
    )


def test_without_any_clone_nothing_is_done_by_evidence_of_a_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cut("checklist", "5.4", "--format", "json") == 0
    found = items(capsys.readouterr().out)
    done = {key for key, item in found.items() if item["state"] == "done"}
    assert done == {"calendar/cut-date", "calendar/abi-declared-miir"}
    assert cut("plan", "5.4") == 1


# -- a pair that is ready ---------------------------------------------------------------------------------------------

PROJECT = """\
name = "pair"
zone = "America/Los_Angeles"
owners = ["lead"]

[repositories.lib]
slug = "acme/lib"
default_branch = "develop"
release_branches = '^rel-(?P<train>\\d+\\.\\d+)$'
databases = ["db/*.kdb"]

[repositories.compiler]
slug = "acme/compiler"
default_branch = "develop"
release_branches = '^release/(?P<train>\\d+\\.\\d+)$'

[[pins]]
name = "compiler"
consumer = "lib"
provider = "compiler"
contract = "kernel"

[[pins.sites]]
kind = "cget"
path = "requirements.txt"

[contracts.kernel]
macro = "KERNEL_VERSION"
headers = ["Kernel.h"]
conventions = { 6 = "bare-pointer" }
"""
CALENDAR = """\
defaults: {base_branch: develop, zone: America/Los_Angeles}
trains:
  - name: acme-1.9
    cut: 2022-03-01
    abi: {kernel: 6}
  - name: acme-2.0
    cut: 2022-10-06
    abi: {kernel: 6}
    regeneration: {days: 35, source: observed}
    freezes:
      - {phase: feature-freeze, starts: 2022-09-19, ends: 2022-10-05, why: only fixes, exception: ask, ask: [vesna]}
"""


@pytest.fixture
def pair(tmp_path: Path) -> list[str | Path]:
    compiler = new_repository(tmp_path / "compiler")
    pinned = compiler.commit("header", {"Kernel.h": "#define KERNEL_VERSION 6\n"}, at="2022-09-01T12:00:00-07:00")
    compiler.git("branch", "release/2.0")
    lib = new_repository(tmp_path / "lib")
    lib.commit(
        "pin",
        {
            "requirements.txt": f"acme/compiler@{pinned}\n",
            "CHANGELOG.md": "# Change log\n\n## lib-2.0.1 for acme 2.0.0\n\n### Added\n",
            "db/gfx90a.kdb": b"rows",
        },
        at="2022-09-05T12:00:00-07:00",
    )
    (tmp_path / "pair.toml").write_text(PROJECT)
    (tmp_path / "trains.yaml").write_text(CALENDAR)
    early = "cut: 2022-10-06\n    cuts: {compiler: 2022-09-28}"
    (tmp_path / "planned.yaml").write_text(CALENDAR.replace("cut: 2022-10-06", early))
    repos = [f"compiler={tmp_path / 'compiler'}", f"lib={tmp_path / 'lib'}"]
    return [*(part for repo in repos for part in ("--repo", repo)), "--project", tmp_path / "pair.toml"]


def test_json_of_the_checklist_has_exactly_the_keys_of_the_contract(
    pair: list[str | Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["2.0", *pair, "--trains", tmp_path / "planned.yaml", "--at", "2022-09-20", "--format", "json"]
    assert cut("checklist", *args) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document) == {"release", "items"}
    assert document["release"] == "acme-2.0"
    assert document["items"][0] == {
        "id": "calendar/cut-date",
        "text": "The cut of acme-2.0 has a day",
        "state": "done",
        "evidence": "2022-10-06 (America/Los_Angeles)",
        "owner": None,
    }
    states = {item["id"]: item["state"] for item in document["items"]}
    assert states == {
        "calendar/cut-date": "done",
        "calendar/agrees": "open",  # the provider branched before its own planned day
        "calendar/abi-declared-kernel": "done",
        "calendar/freeze": "done",
        "compiler/checks-green": "by-hand",
        "compiler/release-branch": "done",
        "lib/compiler/pin-fixed": "done",
        "lib/compiler/sites-agree": "done",
        "lib/compiler/pin-on-release-branch": "done",
        "lib/compiler/abi-number": "done",
        "lib/compiler/time-to-regenerate": "done",
        "lib/compiler/regeneration-tickets": "done",
        "lib/compiler/databases-fresh": "done",
        "lib/changelog": "done",
        "lib/exceptions": "by-hand",
        "lib/checks-green": "by-hand",
        "lib/release-branch": "open",
    }


def test_the_plan_is_ready_when_only_hand_made_items_are_left(
    pair: list[str | Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["2.0", *pair, "--trains", tmp_path / "trains.yaml", "--at", "2022-09-20"]
    assert cut("plan", *args) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "acme-2.0 may be cut: nothing that can be read blocks it."
    assert lines[6].endswith(" (ready); owner: lead")
    assert not [line for line in lines if line.startswith("   open:")]


def test_the_plan_blocks_with_its_reasons_in_order(
    pair: list[str | Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["2.0", *pair, "--trains", tmp_path / "planned.yaml", "--at", "2022-09-20"]
    assert cut("plan", *args) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Do not cut acme-2.0 yet: 1 of 2 branches cannot be cut."
    assert lines[1] == "Planned cut: 2022-10-06 (America/Los_Angeles); last safe day for an ABI change: 2022-09-01."
    assert lines[2] == "Frozen now: develop by feature freeze until 2022-10-06 00:00-07:00."
    assert lines[4].startswith("1. acme/compiler: release/2.0 is cut at ")
    assert lines[4].endswith(" (done); owner: lead")
    assert lines[6].startswith("2. acme/lib: cut rel-2.0 from develop at ")
    assert lines[7].startswith("   open: Calendar and repositories agree: compiler: branch before cut")


def test_a_checklist_is_merged_into_the_file_that_people_wrote_in(
    pair: list[str | Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cut.md"
    args = ["checklist", "2.0", *pair, "--trains", tmp_path / "planned.yaml", "--at", "2022-09-20"]
    assert cut(*args, "--format", "markdown", "--out", file) == 0
    text = file.read_text()
    line = next(row for row in text.split("\n") if "item=lib/checks-green" in row)
    edited = text.replace(line, line.replace("- [ ]", "- [x]") + "\n  vesna: run 71 is green")
    file.write_text(edited)
    assert cut(*args, "--merge", file, "--out", file) == 0
    assert file.read_text() == edited
    capsys.readouterr()
    assert cut(*args, "--merge", file) == 0
    assert capsys.readouterr().out == edited


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"# mine\n", "its marker is missing"),
        (b"\xff\xfe", "not UTF-8"),
        (b"x" * 1_000_001, "too large for a checklist"),
        (b"# Cut <!-- relmgr:checklist=acme-1.9 -->\n", "the checklist of acme-1.9, not of acme-2.0"),
        (None, "no such file"),
    ],
)
def test_a_file_that_cannot_be_merged_is_refused(
    pair: list[str | Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, says: str
) -> None:
    file = tmp_path / "cut.md"
    if content is not None:
        file.write_bytes(content)
    assert cut("checklist", "2.0", *pair, "--trains", tmp_path / "planned.yaml", "--merge", file) == 2
    assert says in capsys.readouterr().err
    assert (file.read_bytes() if file.exists() else None) == content


def test_a_repository_that_is_none_ends_in_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cut("checklist", "5.4", "--repo", f"miopen={tmp_path}") == 3
    assert "not a git repository" in capsys.readouterr().err


def test_merge_is_markdown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cut.md"
    file.write_text("")
    assert cut("checklist", "5.4", "--merge", file, "--format", "json") == 2
    assert "--merge renders Markdown" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("## MIOpen 3.5.1 for ROCm 7.2.0\n", "MIOpen 3.5.1 for ROCm 7.2.0"),
        ("## \x1b[31mMIOpen\x07 for ROCm 7.2\n", "[31mMIOpen for ROCm 7.2"),
        ("## MIOpen-3.2.0 for ROCm 7.2\r\n", "MIOpen-3.2.0 for ROCm 7.2"),
        ("## MIOpen 7.2.0 for ROCm 7.14.0\n", None),
        ("## MIOpen 3.5.1 for ROCm 7.20.0\n", None),
        ("## MIOpen 3.5.1 for ROCm 17.2.0\n", None),
        ("### MIOpen for ROCm 7.2.0\n", None),
        ("text ## for ROCm 7.2.0\n", None),
        ("", None),
    ],
)
def test_t7_a_changelog_section_is_of_exactly_its_version(text: str, heading: str | None) -> None:
    assert changelog_heading(text, "7.2") == heading
