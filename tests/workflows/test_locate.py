"""Where a command's clones come from: the options, and the folder it runs in."""

from __future__ import annotations

from pathlib import Path

import pytest

from relmgr.cli import root
from relmgr.errors import UserError, run_to_exit_code
from relmgr.workflows.locate import consumer_clone, find_project
from tests.support.repositories import TestRepository, new_repository

PIN: dict[str, str | bytes | None] = {"requirements.txt": "ROCm/rocMLIR@rocm-5.5.0\n"}


def clone_of(slug: str, folder: Path) -> TestRepository:
    clone = new_repository(folder)
    clone.commit("pin", PIN)
    clone.git("remote", "add", "origin", f"https://github.com/{slug}.git")
    return clone


@pytest.mark.parametrize(
    ("slug", "project", "consumer"),
    [("ROCm/MIOpen", "miopen-rocmlir", "miopen"), ("ROCm/AMDMIGraphX", "migraphx-rocmlir", "migraphx")],
)
def test_a_clone_of_the_provider_beside_the_one_here(
    slug: str, project: str, consumer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, provider = clone_of(slug, tmp_path / "here"), new_repository(tmp_path / "provider")
    monkeypatch.chdir(here.path)
    found = find_project(None, {"rocmlir": str(provider.path)})
    assert found.name == project
    assert found.repositories[consumer].path == here.path
    assert found.repositories["rocmlir"].path == provider.path


def test_a_clone_that_is_named_wins_over_the_one_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, other = clone_of("ROCm/MIOpen", tmp_path / "here"), clone_of("ROCm/MIOpen", tmp_path / "other")
    monkeypatch.chdir(here.path)
    assert find_project(None, {"miopen": str(other.path)}).repositories["miopen"].path == other.path


def test_a_name_of_no_project_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(clone_of("ROCm/MIOpen", tmp_path / "here").path)
    with pytest.raises(UserError, match="no repository of that name"):
        find_project(None, {"mlir": str(tmp_path)})


@pytest.mark.parametrize(
    "command",
    [["pin", "show"], ["status"], ["audit"], ["backport", "#1", "--to", "develop"], ["gate", "check", "ROCm/MIOpen#1"]],
)
def test_in_a_clone_that_no_project_knows_the_project_is_what_is_missing(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = new_repository(tmp_path / "here")
    here.commit("no pin", {"a": "b"})
    here.git("remote", "add", "origin", "https://someone:secret@example.org/acme/library.git")
    monkeypatch.chdir(here.path)
    assert run_to_exit_code(lambda **kw: root.main(command, **kw)) == 2
    said = capsys.readouterr().err
    assert "this is a clone of acme/library, and no shipped project has this remote" in said
    assert "next: name a project with --project NAME|FILE; `relmgr config new` begins a file for your own" in said
    assert "secret" not in said


@pytest.mark.parametrize("slug", [None, "ROCm/rocMLIR"])
def test_elsewhere_a_clone_is_asked_for(slug: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In no clone, and in a clone of the provider, the default project stands and its consumer's clone is missing."""
    here = new_repository(tmp_path / "here")
    here.commit("no pin", {"a": "b"})
    if slug:
        here.git("remote", "add", "origin", f"https://github.com/{slug}")
    monkeypatch.chdir(here.path if slug else tmp_path)
    project = find_project(None, {})
    with pytest.raises(UserError, match=r"^no clone of ROCm/MIOpen at hand"):
        consumer_clone(project, project.pin())
