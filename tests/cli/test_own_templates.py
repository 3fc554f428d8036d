"""Templates of a project's own, from its settings to what a command prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relmgr.cli import root
from relmgr.errors import run_to_exit_code
from relmgr.settings import load_project
from relmgr.workflows.gate import Calendars, snapshot_of
from tests.support.invented import Invented, invent


def relmgr(*args: str | Path) -> int:
    return run_to_exit_code(lambda **kw: root.main([str(a) for a in args], **kw))


@pytest.fixture
def pair(tmp_path: Path) -> Invented:
    made = invent(tmp_path)
    made.file.write_text('templates = "own"\n' + made.file.read_text(encoding="utf-8"), encoding="utf-8")
    made.gadget.commit("Begin (#1)", {"forge.pin": made.forge_at[42] + "\n"}, at="2030-02-01T10:00:00+01:00")
    made.gadget.git("tag", "v1.0.0")
    made.gadget.commit("Tidy (#3)", {"forge.pin": made.forge_at[50] + "\n"}, at="2030-02-03T10:00:00+01:00")
    made.gadget.git("tag", "v1.1.0")
    (made.file.parent / "own").mkdir()
    return made


def at(pair: Invented) -> tuple[str | Path, ...]:
    return "--project", pair.file, "--repo", f"gadget={pair.gadget.path}"


def own(pair: Invented, name: str, text: str) -> Path:
    file = pair.file.parent / "own" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def test_config_check_shows_them(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    own(pair, "gate/check.md.j2", "{{ d.subject }}")
    own(pair, "notes/show.txt.j2", '{% include "shipped/notes/show.txt.j2" %}')
    assert relmgr("config", "check", *at(pair)) == 0
    folder = pair.file.parent / "own"
    assert f"templates of its own, in {folder}:\n  gate/check.md.j2\n  notes/show.txt.j2\n" in capsys.readouterr().out
    assert relmgr("config", "check", *at(pair), "--format", "markdown") == 0
    assert "Templates of its own: `gate/check.md.j2`, `notes/show.txt.j2`." in capsys.readouterr().out
    assert relmgr("config", "check", *at(pair), "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["templates"] == str(folder)


@pytest.mark.parametrize("command", [("config", "check"), ("pin", "show"), ("notes", "show", "v1.0.0..v1.1.0")])
def test_a_mistake_ends_every_command_before_it_reads_anything(
    pair: Invented, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    file = own(pair, "gate/check.md.j2", "\n{{ subject }}")
    assert relmgr(*command, *at(pair)) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"relmgr: {file}:2: it is given no 'subject'")


def test_a_command_prints_them(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    own(pair, "pin/show.txt.j2", "pinned: {{ d.ref }}\n")
    assert relmgr("pin", "show", *at(pair), "--ref", "v1.0.0") == 0
    assert capsys.readouterr().out == "pinned: v1.0.0\n"


def test_notes_are_worded_by_them(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    own(pair, "notes/section.md.j2", "## {{ title }}\n\n{{ d.counts.pull_requests }} by us\n")
    assert relmgr("notes", "show", "v1.0.0..v1.1.0", *at(pair), "--format", "rocm") == 0
    assert capsys.readouterr().out == "## v1.1.0\n\n1 by us\n"


def test_a_failure_while_rendering_is_configuration(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    file = own(pair, "pin/show.txt.j2", "pinned:\n{{ d.reff }}\n")
    assert relmgr("pin", "show", *at(pair)) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"relmgr: {file}:2: pin/show.txt.j2 cannot be written: ")
    assert "this is a bug" not in told.err


def test_a_page_is_worded_by_them(pair: Invented, tmp_path: Path) -> None:
    own(
        pair,
        "page/audit.html.j2",
        '{% extends "shipped/page/audit.html.j2" %}{% block title %}Our audit{% endblock %}',
    )
    assert relmgr("audit", *at(pair), "--html", tmp_path / "page.html", "--quiet") == 0
    assert "<title>Our audit</title>" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("path", "text", "problem"),
    [
        ("own/gate/check.md.j2", "{{ d.subject }}", None),
        ("own/gate/check.md.j2", "\n{{ subject }}", "own/gate/check.md.j2:2: it is given no 'subject'"),
        ("deep/own/gate/check.md.j2", "{% if %}", "deep/own/gate/check.md.j2:1: not a Jinja template: "),
        ("own/gate/chek.md.j2", "x", "own/gate/chek.md.j2: no shipped template is called 'gate/chek.md.j2' (did you"),
        ("own/gate/check.md.j2", "x" * 65_537, "own/gate/check.md.j2: more than 65536 bytes"),
    ],
)
def test_those_in_a_change_are_checked_shown_and_not_used(
    pair: Invented, path: str, text: str, problem: str | None
) -> None:
    """B8: as with policies."""
    pair.gadget.commit("Words (#7)", {path: text})
    project = load_project(str(pair.file), {"gadget": str(pair.gadget.path)})
    snapshot = snapshot_of(project, "acme/gadget#7", None, Calendars(None, "none"))
    (edit,) = snapshot.policy_edits or ()
    assert (edit.path, edit.kind) == (path, "template")
    assert (edit.problem or "").startswith(problem or "")
    assert (edit.problem is None) == (problem is None)
