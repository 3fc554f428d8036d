"""`relmgr notes show | write | check`: an invented pair from end to end, and MIOpen's recorded history."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from relmgr.cli import root
from relmgr.errors import run_to_exit_code
from relmgr.render.engine import to_json
from relmgr.workflows.notes import Asked, notes_text, take_notes
from tests.support.github_standin import StandIn
from tests.support.graph import build_graph_repository
from tests.support.invented import Invented, invent, pointer

SETTINGS = """
[notes]
title = "Gadget {version}"
version_file = "VERSION"
version_pattern = '(\\d+\\.\\d+)'
labels = { speed = "Optimized" }
user_caches = "user kernel caches (`*.ukdb`)"
"""


def notes(*args: str | Path) -> int:
    return run_to_exit_code(lambda **kw: root.main(["notes", *[str(a) for a in args]], **kw))


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Invented:
    """v1.0.0 at 42, v1.1.0 at 50: a crossing under a harmless title, a revert, a pick, a stranger's title."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("GIT_AUTHOR", "GIT_COMMITTER"):
            patch.setenv(f"{name}_NAME", "Ada @ada")
            patch.setenv(f"{name}_EMAIL", "ada@example.org")
        made = invent(tmp_path_factory.mktemp("pair"))
        made.file.write_text(made.file.read_text() + SETTINGS, encoding="utf-8")
        gadget, at = made.gadget, "2030-02-0{}T10:00:00+01:00"
        gadget.commit(
            "Begin (#1)",
            {
                "forge.pin": made.forge_at[42] + "\n",
                "VERSION": "1.0\n",
                "kernels/gfx90a68.kdb": pointer("a", 700_000_000),
                "kernels/gfx906_60.kdb": pointer("b", 597_000_000),
            },
            at=at.format(1),
        )
        gadget.git("tag", "v1.0.0")
        gauge = gadget.commit("Add a gauge (#2)", {"gauge.c": "gauge\n"}, at=at.format(2))
        gadget.commit("Tidy the build (#3)", {"forge.pin": made.forge_at[50] + "\n"}, at=at.format(3))
        lever = gadget.commit("Add a lever (#4)", {"lever.c": "lever\n"}, at=at.format(3))
        gadget.git("revert", "--no-edit", lever, at=at.format(4))
        gadget.commit("[Tuning] data (#5)", {"kernels/gfx90a68.kdb": pointer("c", 890_000_000)}, at=at.format(5))
        gadget.commit("Fix <b>@ada</b>'s leak, see #1 | `x` (#6)", {"VERSION": "1.1\n"}, at=at.format(6))
        gadget.git("tag", "v1.1.0")
        gadget.git("checkout", "-q", "-b", "stable/1.0", "v1.0.0")
        gadget.git("cherry-pick", gauge, at=at.format(7))
        gadget.git("tag", "v1.0.1")
        gadget.git("checkout", "-q", "trunk")
    return made


def given(pair: Invented, *, forge: bool = True) -> list[str]:
    repos = [f"--repo=gadget={pair.gadget.path}", *([f"--repo=forge={pair.forge.path}"] if forge else [])]
    return [f"--project={pair.file}", *repos]


def steady(pair: Invented, text: str) -> str:
    """Return a text with the commits' ids, which follow the author's settings, by the order of their subjects."""
    for name, repository in (("g", pair.gadget), ("f", pair.forge)):
        listed = repository.git("log", "--all", "--format=%H", "--date-order").splitlines()
        for number, sha in enumerate(reversed(listed)):
            label = f"{name}{number:02d}"
            text = text.replace(sha, label).replace(sha[:12], label).replace(sha[:9], label)
    return re.sub(r"lines=\S+ -->", "lines=... -->", text)


def read(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("form", ["text", "markdown", "rocm", "github", "html"])
def test_forms(pair: Invented, form: str, capsys: pytest.CaptureFixture[str], golden: Any) -> None:
    assert notes("show", "v1.0.1..v1.1.0", *given(pair), "--format", form) == 0
    ending = {"text": "txt", "html": "html"}.get(form, "md")
    golden(f"notes/{form}.{ending}", steady(pair, capsys.readouterr().out))


def test_json_has_the_promised_keys(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    assert notes("show", "v1.0.1..v1.1.0", *given(pair), "--format", "json") == 0
    found = read(capsys)
    assert {"from", "to", "sections", "abi", "databases", "known_issues", "netted"} <= set(found)
    assert [s["heading"] for s in found["sections"]] == ["Changed", "Optimized", "Resolved issues"]
    assert [n["pr"] for n in found["netted"]] == [4]
    assert [(item["pr"], item["why"]) for item in found["left_out"]] == [(2, "already-in-from")]
    assert (found["abi"]["old"]["number"], found["abi"]["new"]["number"], found["abi"]["crossing"]) == (42, 50, True)
    assert [m["pr"] for m in found["abi"]["crossed_by"]] == [3]
    assert [(f["path"], f["change"], f["state"]) for f in found["databases"]["files"]] == [
        ("kernels/gfx906_60.kdb", "unchanged", "suspected"),
        ("kernels/gfx90a68.kdb", "changed", "changed-since"),
    ]
    assert [(k["kind"], k["paths"]) for k in found["known_issues"]] == [
        ("database-stale-suspected", ["kernels/gfx906_60.kdb"])
    ]
    assert (found["provider"]["direction"], found["provider"]["commits"]) == ("forward", 1)
    assert found["contributors"] == [{"name": "Ada @ada", "commits": 6}]


def test_json_reads_like_every_other_document(pair: Invented) -> None:
    project = pair.project()
    made = take_notes(project, project.pin(), "v1.0.1..v1.1.0", Asked())
    assert notes_text(project, made, "json") == to_json(made)


def test_a_provider_that_is_not_at_hand_is_said(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    assert notes("show", "v1.0.0..v1.1.0", *given(pair, forge=False)) == 0
    out = capsys.readouterr().out
    assert "were not read: give its clone: --repo forge=PATH" in out
    assert "It is not known whether the kernel ABI changed" in out


def test_going_back_lists_what_goes_out_again(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    assert notes("show", "v1.1.0..v1.0.1", *given(pair), "--format", "json") == 0
    found = read(capsys)
    assert (found["abi"]["old"]["number"], found["abi"]["new"]["number"], found["abi"]["crossing"]) == (50, 42, True)
    assert found["provider"]["direction"] == "backward"


def test_a_tag_alone_and_a_train(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("v1.1.0", "1.1"):
        assert notes("show", text, *given(pair), "--format", "json") == 0
        found = read(capsys)
        assert (found["from"], found["to"]) == ("v1.0.1", "v1.1.0")
    assert notes("show", "v1.1.0..", *given(pair)) == 2
    assert "is not FROM..TO" in capsys.readouterr().err
    assert notes("show", "9.9", *given(pair)) == 2


def test_descriptions_from_a_file_decide_the_headings(
    pair: Invented, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "pulls.json"
    body = "## Changelog Category\n- [x] Removed: gone\n"
    file.write_text(
        json.dumps(
            [
                {"number": 3, "title": "Use another forge", "body": body, "labels": [], "user": {"login": "x"}},
                {"number": 5, "title": "Data", "body": None, "labels": [{"name": "speed"}]},
                {"number": 6, "title": "Leak", "body": body.replace("Removed", "Not applicable"), "labels": []},
            ]
        ),
        encoding="utf-8",
    )
    assert notes("show", "v1.0.1..v1.1.0", *given(pair), "--pulls", file, "--format", "json") == 0
    found = read(capsys)
    assert {s["heading"]: [(e["text"], e["grouped_by"]) for e in s["entries"]] for s in found["sections"]} == {
        "Removed": [("Use another forge", "category-block")],
        "Optimized": [("Data", "label")],
    }
    assert [(item["pr"], item["why"]) for item in found["left_out"]] == [(2, "already-in-from"), (6, "not-applicable")]
    file.write_text('{"number": 1}', encoding="utf-8")
    assert notes("show", "v1.0.1..v1.1.0", *given(pair), "--pulls", file) == 2
    assert "not a list of pull requests" in capsys.readouterr().err


def test_the_forge_is_asked_for_descriptions(
    pair: Invented, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with StandIn().running() as standin:
        standin.add_repo("acme/gadget")
        body = "## Changelog Category\n- [x] Removed: gone\n"
        standin.add_pull("acme/gadget", 3, title="Use another forge", body=body, state="closed", merged=True)
        monkeypatch.setenv("GITHUB_API_URL", standin.url)
        monkeypatch.setenv("GITHUB_TOKEN", "planted-token-0123")
        assert notes("show", "v1.0.1..v1.1.0", *given(pair), "--github", "--format", "json") == 0
        assert standin.writes() == []
    found = read(capsys)
    assert {s["heading"]: [(e["text"], e["grouped_by"]) for e in s["entries"]] for s in found["sections"]}[
        "Removed"
    ] == [("Use another forge", "category-block")]
    # The others are not there: each is said, and its heading is guessed.
    assert [gap.partition(":")[0] for gap in found["gaps"]] == [f"acme/gadget#{n}" for n in (2, 4, 5, 6)]


# -- writing --------------------------------------------------------------------------------------------------------


def write(pair: Invented, file: Path, *args: str) -> int:
    return notes("write", "v1.0.1..v1.1.0", *given(pair), "--file", file, *args)


def test_n5_a_plan_writes_nothing_and_applying_twice_gives_the_same_bytes(
    pair: Invented, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Any
) -> None:
    file = tmp_path / "CHANGELOG.md"
    before = "# Log\n\n## Gadget 1.0\n\n- the first\n"
    file.write_text(before, encoding="utf-8")
    assert write(pair, file) == 0
    golden("notes/write-plan.txt", steady(pair, capsys.readouterr().out).replace(str(tmp_path), "FOLDER"))
    assert file.read_text(encoding="utf-8") == before
    file.chmod(0o664)
    assert write(pair, file, "--apply") == 0
    once = file.read_bytes()
    assert file.stat().st_mode & 0o777 == 0o664
    assert once.endswith(b"## Gadget 1.0\n\n- the first\n")
    assert write(pair, file, "--apply") == 0
    assert file.read_bytes() == once
    assert "Nothing to do" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["CHANGELOG.md"]


def test_n5_what_a_person_edited_survives(pair: Invented, tmp_path: Path) -> None:
    file = tmp_path / "CHANGELOG.md"
    assert write(pair, file, "--apply") == 0
    edited = file.read_text(encoding="utf-8").replace("### Changed\n", "A paragraph by hand.\n\n### Changed\n")
    edited = edited.replace("* Tidy the build", "* Use forge 50")
    file.write_text(edited, encoding="utf-8")
    assert write(pair, file, "--apply") == 0
    assert file.read_text(encoding="utf-8") == edited


def test_a_section_by_hand_is_kept_and_may_be_adopted(
    pair: Invented, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "CHANGELOG.md"
    text = "# Log\n\n## Gadget 1.1\n- by hand\n"
    file.write_text(text, encoding="utf-8")
    assert write(pair, file, "--apply") == 0
    assert file.read_text(encoding="utf-8") == text
    assert "Kept as it is" in capsys.readouterr().out
    assert write(pair, file, "--apply", "--adopt") == 0
    assert "- by hand\n" in file.read_text(encoding="utf-8")
    assert "* Tidy the build" in file.read_text(encoding="utf-8")


def test_the_work_tree_s_change_log_is_the_default(
    pair: Invented, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clone, bare = tmp_path / "clone", tmp_path / "bare"
    pair.gadget.git("clone", "-q", str(pair.gadget.path), str(clone))
    pair.gadget.git("clone", "-q", "--bare", str(pair.gadget.path), str(bare))
    args = [f"--project={pair.file}", f"--repo=forge={pair.forge.path}"]
    assert notes("write", "v1.0.1..v1.1.0", *args, f"--repo=gadget={clone}", "--apply") == 0
    assert (clone / "CHANGELOG.md").read_text(encoding="utf-8").startswith("## Gadget 1.1\n")
    assert notes("write", "v1.0.1..v1.1.0", *args, f"--repo=gadget={bare}") == 2
    assert "no work tree to write the change log into" in capsys.readouterr().err


# -- checking -------------------------------------------------------------------------------------------------------


def test_check_names_what_is_missing(
    pair: Invented, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Any
) -> None:
    assert notes("check", "v1.0.1..v1.1.0", *given(pair)) == 1
    assert 'the change log has no section "Gadget 1.1"' in capsys.readouterr().out
    file = tmp_path / "CHANGELOG.md"
    file.write_text("## Gadget 1.1\n\n- Tidy the build\n", encoding="utf-8")
    assert notes("check", "v1.0.1..v1.1.0", *given(pair), "--file", file) == 1
    golden("notes/check.txt", steady(pair, capsys.readouterr().out))
    assert write(pair, file, "--apply", "--adopt") == 0
    assert notes("check", "v1.0.1..v1.1.0", *given(pair), "--file", file) == 0


def test_check_of_a_pull_request_shows_its_entry(
    pair: Invented, capsys: pytest.CaptureFixture[str], golden: Any
) -> None:
    crossing = pair.gadget.git("log", "--format=%H", "--grep=Tidy", "trunk")
    ends = f"{crossing}~1..{crossing}"
    assert notes("check", ends, *given(pair), "--pull-request", "3") == 1
    golden("notes/check-pull-request.txt", steady(pair, capsys.readouterr().out))
    assert notes("check", ends, *given(pair), "--pull-request", "3", "--format", "json") == 1
    found = read(capsys)
    assert [m["component"] for m in found["missing"]] == ["kernel-abi", "provider", "pull-request"]


def test_check_of_a_merged_pull_request_finds_its_commit_in_a_longer_range(
    pair: Invented, capsys: pytest.CaptureFixture[str]
) -> None:
    """A range with other pull requests was taken for one: every number got the whole range's findings."""
    assert notes("check", "v1.0.1..v1.1.0", *given(pair), "--pull-request", "3", "--format", "json") == 1
    long = read(capsys)
    crossing = pair.gadget.git("log", "--format=%H", "--grep=Tidy", "trunk")
    assert notes("check", f"{crossing}^..{crossing}", *given(pair), "--pull-request", "3", "--format", "json") == 1
    alone = read(capsys)
    assert long["missing"] == alone["missing"]
    assert "* On downgrade to `v1.0.1`: delete" in long["preview"]
    assert "what `v1.1.0` wrote is wrong there" in long["preview"]
    assert [line for line in long["preview"].splitlines() if "Tidy" in line] == [
        line for line in alone["preview"].splitlines() if "Tidy" in line
    ]
    assert "gauge" not in long["preview"]
    assert notes("check", "v1.0.1..v1.1.0", *given(pair), "--pull-request", "5") == 1
    assert "kernel ABI" not in capsys.readouterr().out


# -- MIOpen's recorded history --------------------------------------------------------------------------------------


def test_miopens_recorded_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = build_graph_repository(tmp_path / "miopen")
    assert notes("show", "rocm-5.3.0..rocm-5.4.0", f"--repo=miopen={graph.path}", "--format", "json") == 0
    found = read(capsys)
    assert [m["pr"] for m in found["abi"]["crossed_by"]] == [1673]
    assert {f["state"] for f in found["databases"]["files"]} == {"suspected"}
    assert len(found["databases"]["files"]) == 8
    assert notes("show", "rocm-5.4.0..rocm-5.4.1", f"--repo=miopen={graph.path}", "--format", "json") == 0
    changed = [f["path"] for f in read(capsys)["databases"]["files"] if f["change"] == "changed"]
    assert changed == [f"src/kernels/{name}.kdb" for name in ("gfx90878", "gfx90a68", "gfx90a6e")]
