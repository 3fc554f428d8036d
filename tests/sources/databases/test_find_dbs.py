"""Find-dbs in git: which databases they rule out, and everything that rules nothing out."""

from __future__ import annotations

import bz2
from pathlib import Path

import pytest

from relmgr.model.databases import DatabaseFact, SolverEvidence
from relmgr.sources.databases.find_dbs import FindDbs
from relmgr.sources.databases.history import DatabaseFiles
from relmgr.sources.git.clone import Clone
from tests.support.databases import fwd_row
from tests.support.shipped_databases import FOLDER, OTHER_LINE, PROVIDER_LINE, Shipped, find_db, ship


@pytest.fixture
def shipped(tmp_path: Path) -> Shipped:
    return ship(tmp_path)


def evidence(shipped: Shipped, ref: str = "HEAD") -> dict[str, SolverEvidence | None]:
    project, clone = shipped.project(), Clone.open(shipped.repository.path)
    repository = project.repositories["miopen"]
    reader = FindDbs(clone, repository, project.contracts["miir"].solvers)
    found: tuple[DatabaseFact, ...] = reader.beside(ref, DatabaseFiles(clone, repository).at(ref))
    return {fact.path.removeprefix(f"{FOLDER}/"): fact.solvers for fact in found}


def only(shipped: Shipped) -> SolverEvidence:
    (found,) = evidence(shipped).values()
    assert found is not None
    return found


def test_one_that_names_no_solver_of_the_providers_rules_rows_out(shipped: Shipped) -> None:
    shipped.repository.commit(
        "x", shipped.database("gfx1030_36.kdb", fwd_row("bare")) | find_db("gfx1030_36", OTHER_LINE * 3)
    )
    assert only(shipped) == SolverEvidence(may_hold=False, files=(f"{FOLDER}/gfx1030_36.HIP.fdb.txt",))


@pytest.mark.parametrize("packed", [False, True])
def test_one_that_names_such_a_solver_does_not(shipped: Shipped, packed: bool) -> None:
    lines = (OTHER_LINE * 50, PROVIDER_LINE)
    shipped.repository.commit(
        "x", shipped.database("gfx90a68.kdb", fwd_row("bare")) | find_db("gfx90a68", *lines, packed=packed)
    )
    assert only(shipped).may_hold is True


@pytest.mark.parametrize("place", range(1 << 20, (1 << 20) + 24, 3))
def test_a_name_that_two_pieces_share_is_seen(shipped: Shipped, place: int) -> None:
    """The text is read in pieces of 1 MiB; the solver's name lies across the border."""
    before = OTHER_LINE * 20_000
    filler = before[: place - 60].rpartition("\n")[0] + "\n"
    filler += "x" * (place - 60 - len(filler) - 1) + "\n"
    shipped.repository.commit(
        "x", shipped.database("gfx90a68.kdb", fwd_row("bare")) | find_db("gfx90a68", filler, PROVIDER_LINE)
    )
    assert only(shipped).may_hold is True


def test_k2_none_beside_it_or_another_back_ends_tells_nothing(shipped: Shipped) -> None:
    """OpenCL never ran the provider's kernels, so its find-db names none whatever the database holds."""
    shipped.repository.commit(
        "x", shipped.database("gfx900_56.kdb", fwd_row("bare")) | find_db("gfx900_56", OTHER_LINE, backend="OpenCL")
    )
    assert only(shipped) == SolverEvidence(may_hold=None, why="no find-db of it stands beside it")


def test_k5_the_find_db_of_another_arch_or_chip_is_not_its_own(shipped: Shipped) -> None:
    files = shipped.database("gfx90a68.kdb", fwd_row("bare"))
    files |= find_db("gfx90_68", OTHER_LINE) | find_db("gfx90a6e", OTHER_LINE) | find_db("gfx90a", OTHER_LINE)
    shipped.repository.commit("x", files)
    assert only(shipped).may_hold is None


@pytest.mark.parametrize(
    ("database", "beside"), [("gfx90a", "gfx900_56"), ("gfx900", "gfx90a68"), ("gfx99999", "gfx99999")]
)
def test_k5_a_whole_archs_database_is_ruled_out_by_that_very_known_arch_only(
    shipped: Shipped, database: str, beside: str
) -> None:
    files = shipped.database(f"{database}.kdb", fwd_row("bare")) | find_db(beside, OTHER_LINE)
    shipped.repository.commit("x", files)
    assert only(shipped).may_hold is None


def test_a_database_of_a_whole_arch_needs_all_its_chips(shipped: Shipped) -> None:
    database = shipped.database("gfx906.kdb", fwd_row("bare"))
    shipped.repository.commit("x", database | find_db("gfx906_60", OTHER_LINE) | find_db("gfx906_64", OTHER_LINE))
    assert only(shipped).may_hold is False
    shipped.repository.commit("y", find_db("gfx906_64", PROVIDER_LINE))
    assert only(shipped).may_hold is True
    shipped.repository.commit("z", find_db("gfx906_64", "no entry here\n"))
    assert only(shipped).may_hold is None


def test_the_same_content_under_another_name_may_hold_what_that_name_may(shipped: Shipped) -> None:
    """gfx906_64's database was gfx906_60's, byte for byte; only the find-db of the latter names such solvers."""
    files = shipped.database("gfx906_60.kdb", fwd_row("bare"))
    files |= {f"{FOLDER}/gfx906_64.kdb": files[f"{FOLDER}/gfx906_60.kdb"]}
    files |= find_db("gfx906_60", PROVIDER_LINE) | find_db("gfx906_64", OTHER_LINE)
    shipped.repository.commit("x", files)
    found = evidence(shipped)["gfx906_64.kdb"]
    assert found == SolverEvidence(
        may_hold=True,
        files=(f"{FOLDER}/gfx906_60.HIP.fdb.txt",),
        why=f"the same content as {FOLDER}/gfx906_60.kdb",
    )
    shipped.repository.commit("y", find_db("gfx906_60", "garbage\n"))
    unread = evidence(shipped)["gfx906_64.kdb"]
    assert unread is not None
    assert unread.may_hold is None
    why = f"{FOLDER}/gfx906_60.HIP.fdb.txt: none of its lines is an entry: not a text database"
    assert unread.why == f"as {FOLDER}/gfx906_60.kdb: {why}"


POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 9\n".encode()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it has no entry"),
        (b"\n# words\n", "it has no entry"),
        (b"words and no entry\n", "none of its lines is an entry: not a text database"),
        (b"\xff\x00" * 5000, "none of its lines is an entry: not a text database"),
        (POINTER, "a pointer, not its content"),
        (bz2.compress(OTHER_LINE.encode() * 9)[:-9], "truncated: the bz2 data end in the middle"),
        (bz2.compress(OTHER_LINE.encode() * 9) + b"more", "corrupt bz2 data"),
        (bz2.compress(b""), "it has no entry"),
    ],
)
def test_k3_what_cannot_be_read_rules_nothing_out_and_says_why(shipped: Shipped, data: bytes, why: str) -> None:
    name = f"{FOLDER}/gfx1030_36.HIP.fdb.txt"
    shipped.repository.commit("x", shipped.database("gfx1030_36.kdb", fwd_row("bare")) | {name: data})
    assert only(shipped) == SolverEvidence(may_hold=None, files=(name,), why=f"{name}: {why}")


def test_a_find_db_that_the_clone_lacks_rules_nothing_out(shipped: Shipped) -> None:
    """A mirror without large files: the entry is in the tree, the blob is not there."""
    name = f"{FOLDER}/gfx1030_36.HIP.fdb.txt"
    shipped.repository.commit("x", shipped.database("gfx1030_36.kdb", fwd_row("bare")) | {name: OTHER_LINE})
    blob = shipped.repository.git("rev-parse", f"HEAD:{name}")
    (shipped.repository.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    assert only(shipped) == SolverEvidence(may_hold=None, files=(name,), why=f"{name}: not in this clone")


def test_a_project_that_names_no_find_dbs_learns_nothing(shipped: Shipped) -> None:
    shipped.repository.commit(
        "x", shipped.database("gfx1030_36.kdb", fwd_row("bare")) | find_db("gfx1030_36", OTHER_LINE)
    )
    project, clone = shipped.project(), Clone.open(shipped.repository.path)
    repository = project.repositories["miopen"].model_copy(update={"find_dbs": ()})
    databases = DatabaseFiles(clone, repository).at("HEAD")
    assert FindDbs(clone, repository, ["A"]).beside("HEAD", databases) == tuple(databases)
    assert FindDbs(clone, project.repositories["miopen"], []).beside("HEAD", databases) == tuple(databases)
