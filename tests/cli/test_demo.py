"""The demo tells what the rebuilt repositories say: other facts, another story."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from relmgr.model.audit import Audit
from relmgr.resources import shipped
from relmgr.settings import load_project, shipped_projects
from relmgr.workflows.audit import run_audit
from relmgr.workflows.demo import rebuild


def relmgr(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "relmgr", *args], cwd=cwd, capture_output=True, text=True, check=False)


def test_the_demo_runs_from_an_empty_folder(tmp_path: Path) -> None:
    run = relmgr("demo", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    report = tmp_path / run.stdout.rstrip().rpartition(": ")[2]
    page = report.read_text()
    assert "Scan or rebuild the kernel databases of 5 releases" in page
    assert not re.search(r'(?:src|href)="?https?:', page)
    again = relmgr("demo", cwd=tmp_path)
    assert again.returncode == 0


def test_every_command_of_the_story_succeeds(tmp_path: Path) -> None:
    run = relmgr("demo", cwd=tmp_path)
    commands = re.findall(r"^   \$ relmgr (.*)$", run.stdout, re.MULTILINE)
    assert len(commands) >= 6
    assert "bug in relmgr" not in run.stdout + run.stderr


def test_a_folder_that_is_not_the_demos_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "keep").write_text("me")
    run = relmgr("demo", "--out", "mine", cwd=tmp_path)
    assert run.returncode == 2
    assert "not made by `relmgr demo`" in run.stderr
    assert (tmp_path / "mine" / "keep").read_text() == "me"


def audit_of(folder: Path, tables: Path | None = None, project_file: Path | None = None) -> Audit:
    repositories = {name: str(path) for name, path in rebuild(folder, tables).items()}
    project = load_project(str(project_file) if project_file else "miopen-rocmlir", repositories)
    return run_audit(project, project.pin())[0]


def story(document: Audit) -> list[tuple[str, str, str | None, str | None]]:
    return [(f.kind, f.outcome.value, f.release, f.path) for f in document.findings]


def test_one_number_in_the_rebuilt_header_changes_the_story(tmp_path: Path) -> None:
    tables = tmp_path / "tables"
    shutil.copytree(shipped("policies") / "recorded", tables)
    provider = tables / "rocmlir_graph.json"
    provider.chmod(0o644)
    provider.write_text(provider.read_text().replace("MIIR_VERSION_FLAT 6", "MIIR_VERSION_FLAT 5"))
    told = story(audit_of(tmp_path / "changed", tables))
    as_shipped = story(audit_of(tmp_path / "shipped"))
    assert ("abi-crossing", "failed", None, None) in as_shipped
    assert ("abi-crossing", "failed", None, None) not in told
    assert not [kind for kind, *_ in told if kind == "database-stale-suspected"]


@pytest.fixture
def without_ledger(tmp_path: Path) -> Path:
    file = tmp_path / "no-ledger.toml"
    source = shipped_projects()["miopen-rocmlir"]
    text = source.read_text().replace('trains = "../', f'trains = "{source.parents[1]}/')
    assert "ledger = " in text
    file.write_text("\n".join(line for line in text.splitlines() if not line.startswith("ledger = ")))
    return file


def test_without_the_ledger_the_rebuilt_provider_gives_the_same_findings(tmp_path: Path, without_ledger: Path) -> None:
    with_ledger = audit_of(tmp_path / "one")
    assert story(audit_of(tmp_path / "two", project_file=without_ledger)) == story(with_ledger)


def test_the_recorded_tables_say_where_they_come_from() -> None:
    for name in ("miopen_graph.json", "rocmlir_graph.json"):
        assert json.loads((shipped("policies") / "recorded" / name).read_text())["about"]
