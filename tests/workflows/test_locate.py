"""Where a command's clones come from: the options, and the folder it runs in."""

from __future__ import annotations

from pathlib import Path

import pytest

from relmgr.errors import UserError
from relmgr.workflows.locate import find_project
from tests.support.repositories import TestRepository, new_repository

PIN = {"requirements.txt": "ROCm/rocMLIR@rocm-5.5.0\n"}


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
