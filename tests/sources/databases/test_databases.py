"""Kernel databases in git: content, LFS and DVC pointers, and the first commit of each content (K2, K5)."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import pytest

from relmgr.settings import load_project
from relmgr.sources.databases.history import DatabaseFiles, DatabaseHistory
from relmgr.sources.git.ancestry import read_ancestry
from relmgr.sources.git.clone import Clone
from tests.support.graph import build_graph_repository
from tests.support.invented import pointer
from tests.support.repositories import TestRepository, new_repository

MIOPEN = load_project("miopen-rocmlir").repositories["miopen"]
DVC = "outs:\n- md5: {md5}\n  size: 1234\n  hash: md5\n  path: gfx942.kdb.bz2\n"


def test_every_release_holds_the_recorded_databases(tmp_path: Path, data: Path) -> None:
    clone = Clone.open(build_graph_repository(tmp_path / "miopen").path)
    files = DatabaseFiles(clone, MIOPEN)
    with (data / "miopen_kdb_by_tag.tsv").open() as file:
        recorded: dict[str, dict[str, tuple[str, int]]] = defaultdict(dict)
        for row in csv.DictReader(file, delimiter="\t"):
            recorded[row["tag"]][row["file"]] = (row["oid"], int(row["size"]))
    assert len(recorded) == 11
    for tag, expected in recorded.items():
        found = {f.path.removeprefix("src/kernels/"): (f.oid[:12], f.size) for f in files.at(tag)}
        assert found == expected, tag
        assert {f.storage for f in files.at(tag)} == {"git-lfs"}


@pytest.fixture
def repository(tmp_path: Path) -> TestRepository:
    return new_repository(tmp_path / "made")


def facts(repository: TestRepository) -> dict[str, tuple[str, str, int | None]]:
    found = DatabaseFiles(Clone.open(repository.path), MIOPEN).at("develop")
    return {f.path.removeprefix("src/kernels/"): (f.storage, f.oid, f.size) for f in found}


def test_k2_content_lfs_and_dvc_are_told_apart(repository: TestRepository) -> None:
    repository.commit(
        "all kinds",
        {
            "src/kernels/gfx900_56.kdb": b"SQLite format 3\0" + b"x" * 9000,
            "src/kernels/gfx906.kdb.bz2": pointer("a", 77),
            "src/kernels/gfx942.kdb.bz2.dvc": DVC.format(md5="b" * 32),
            "src/kernels/gfx908.kdb": b"short, and no pointer",
            "src/kernels/deeper/gfx908.kdb": pointer("c"),
            "src/kernels/gfx900_56.HIP.fdb.txt": "not a kernel database",
            "elsewhere/gfx900.kdb": pointer("d"),
        },
    )
    blob = repository.git("rev-parse", "develop:src/kernels/gfx900_56.kdb")
    short = repository.git("rev-parse", "develop:src/kernels/gfx908.kdb")
    assert facts(repository) == {
        "gfx900_56.kdb": ("content", blob, 9016),
        "gfx906.kdb.bz2": ("git-lfs", "a" * 64, 77),
        "gfx908.kdb": ("content", short, 21),
        "gfx942.kdb.bz2.dvc": ("dvc", "b" * 32, 1234),
    }


def test_content_that_the_clone_lacks_is_missing_by_name(repository: TestRepository) -> None:
    repository.commit("large", {"src/kernels/gfx900_56.kdb": b"SQLite format 3\0" + b"x" * 9000})
    oid = repository.git("rev-parse", "develop:src/kernels/gfx900_56.kdb")
    (repository.path / ".git/objects" / oid[:2] / oid[2:]).unlink()
    assert facts(repository) == {"gfx900_56.kdb": ("missing", oid, None)}


def test_k5_arch_and_units_come_from_the_whole_name(repository: TestRepository) -> None:
    names = ["gfx90a68", "gfx90a", "gfx90878", "gfx1030_36", "gfx942130", "gfx77777"]
    repository.commit("names", {f"src/kernels/{name}.kdb": pointer("a") for name in names})
    found = {
        f.path.removeprefix("src/kernels/").removesuffix(".kdb"): (f.arch, f.cu_count, f.known_arch)
        for f in DatabaseFiles(Clone.open(repository.path), MIOPEN).at("develop")
    }
    assert found["gfx90a68"] == ("gfx90a", 104, True)
    assert found["gfx90a"] == ("gfx90a", None, True)
    assert found["gfx90878"] == ("gfx908", 120, True)
    assert found["gfx1030_36"] == ("gfx1030", 36, True)
    assert found["gfx942130"] == ("gfx942", 304, True)
    assert found["gfx77777"][2] is False


def introduced(repository: TestRepository, path: str) -> tuple[str | None, list[str]]:
    clone = Clone.open(repository.path)
    head = clone.require("develop")
    ancestry = read_ancestry(clone, [head])
    files = DatabaseFiles(clone, MIOPEN)
    history = DatabaseHistory(files, clone, [head], ancestry)
    (fact,) = [f for f in files.at(head) if f.path == f"src/kernels/{path}"]
    found = history.introduced(fact, ancestry.ancestors(head)).introduced
    return (found.subject, [old.path for old in found.repacked_from]) if found else (None, [])


def test_content_is_as_old_as_its_first_commit_through_reverts_merges_and_renames(repository: TestRepository) -> None:
    kdb = "src/kernels/gfx908.kdb"
    repository.commit("first", {kdb: pointer("a")}, at="2022-01-01T00:00:00+00:00")
    repository.commit("second", {kdb: pointer("b")}, at="2022-01-02T00:00:00+00:00")
    repository.commit("back", {kdb: pointer("a")}, at="2022-01-03T00:00:00+00:00")
    assert introduced(repository, "gfx908.kdb") == ("first", [])
    repository.commit("moved", {kdb: None, "src/kernels/gfx908_60.kdb": pointer("a")}, at="2022-01-04T00:00:00+00:00")
    assert introduced(repository, "gfx908_60.kdb") == ("first", [])
    repository.git("switch", "-q", "-c", "topic")
    repository.commit("on a topic", {"src/kernels/gfx90a.kdb": pointer("c")}, at="2022-01-05T00:00:00+00:00")
    repository.git("switch", "-q", "develop")
    repository.git("merge", "-q", "--no-ff", "--no-edit", "topic", at="2022-01-06T00:00:00+00:00")
    assert introduced(repository, "gfx90a.kdb") == ("on a topic", [])


def test_repacking_names_what_was_there_and_a_new_file_beside_others_does_not(repository: TestRepository) -> None:
    repository.commit("start", {f"src/kernels/gfx906_{n}.kdb": pointer(str(n)[0]) for n in (60, 42)})
    repository.commit("add", {"src/kernels/gfx908.kdb": pointer("d")})
    assert introduced(repository, "gfx908.kdb") == ("add", [])
    packed = {f"src/kernels/gfx906_{n}.kdb": None for n in (60, 42)}
    packed |= {f"src/kernels/gfx906_{n}.kdb.bz2": pointer(c) for n, c in ((60, "e"), (42, "f"))}
    repository.commit("pack", packed)
    assert introduced(repository, "gfx906_60.kdb.bz2") == ("pack", ["src/kernels/gfx906_60.kdb"])
    merged = {f"src/kernels/gfx906_{n}.kdb.bz2": None for n in (60, 42)}
    repository.commit("one per arch", merged | {"src/kernels/gfx906.kdb.bz2": pointer("9")})
    assert introduced(repository, "gfx906.kdb.bz2") == (
        "one per arch",
        ["src/kernels/gfx906_42.kdb.bz2", "src/kernels/gfx906_60.kdb.bz2"],
    )
