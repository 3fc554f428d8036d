"""`notes --database`: what became of kernel databases, told by the contents of both ends, from git to the text."""

from __future__ import annotations

import bz2
import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from relmgr.cli import root
from relmgr.errors import run_to_exit_code
from tests.support.databases import fwd_row, other_row, wrw_row
from tests.support.shipped_databases import ABI5, ABI6, FOLDER, Files, Shipped, requirements, ship

OLD, NEW = "descriptor32", "bare"


class Releases:
    """MIOpen with two releases, rocm-5.3.0 at ABI 5 and rocm-5.4.0 at ABI 6, and the contents of their databases."""

    def __init__(self, folder: Path) -> None:
        self.shipped: Shipped = ship(folder)
        self.before, self.after = folder / "before", folder / "after"

    def release(self, before: Files, after: Files) -> None:
        """Commit and tag both ends; the pin crosses before the databases change."""
        repository = self.shipped.repository
        repository.commit("Databases (#10)", before, at="2022-07-01T12:00:00-07:00")
        repository.git("tag", "rocm-5.3.0")
        crossing: Files = {"requirements.txt": requirements(ABI6)}
        repository.commit("Use find_package() (#11)", crossing, at="2022-09-29T12:00:00-07:00")
        repository.commit("Tuning data (#12)", after, at="2022-10-20T12:00:00-07:00")
        repository.git("tag", "rocm-5.4.0")

    def old(self, name: str, *rows: Any) -> Files:
        """Return the pointer of a database before."""
        self.shipped.contents = self.before
        return self.shipped.database(name, *rows)

    def new(self, name: str, *rows: Any) -> Files:
        """Return the pointer of a database after."""
        self.shipped.contents = self.after
        return self.shipped.database(name, *rows)

    def notes(
        self, capsys: pytest.CaptureFixture[str], *args: str | Path, range_: str = "rocm-5.3.0..rocm-5.4.0"
    ) -> str:
        """Return what `notes show` prints."""
        command = ["notes", "show", range_, "--repo", f"miopen={self.shipped.repository.path}", *map(str, args)]
        capsys.readouterr()
        assert run_to_exit_code(lambda **kw: root.main(command, **kw)) == 0
        return capsys.readouterr().out

    def told(self, capsys: pytest.CaptureFixture[str], *args: str | Path) -> dict[str, tuple[str, str]]:
        """Return change and state of every database, by file name."""
        found = json.loads(self.notes(capsys, *args, "--format", "json"))
        return {f["path"].rpartition("/")[2]: (f["change"], f["state"]) for f in found["databases"]["files"]}


@pytest.fixture
def made(tmp_path: Path) -> Releases:
    return Releases(tmp_path)


def test_contents_of_both_ends_say_what_git_cannot(made: Releases, capsys: pytest.CaptureFixture[str]) -> None:
    """K5: changed is not rebuilt; only rows tell."""
    made.release(
        {
            **made.old("gfx90a68.kdb", fwd_row(OLD), other_row()),
            **made.old("gfx90a6e.kdb", fwd_row(OLD, units=110), other_row()),
            **made.old("gfx906_60.kdb", fwd_row(OLD, units=60)),
            **made.old("gfx1030_36.kdb", fwd_row(OLD, units=36)),
            **made.old("gfx900_56.kdb", fwd_row(OLD, units=56)),
            **made.old("gfx90878.kdb", fwd_row(OLD, units=120), wrw_row(NEW, units=120)),
        },
        {
            **made.new("gfx90a68.kdb", fwd_row(NEW), other_row()),
            **made.new("gfx90a6e.kdb", other_row()),
            **made.new("gfx1030_36.kdb", fwd_row(OLD, units=36), other_row()),
            f"{FOLDER}/gfx900_56.kdb": None,
            **made.new("gfx90878.kdb", wrw_row(NEW, units=120)),
            **made.new("gfx942130.kdb", fwd_row(NEW, arch="gfx942", units=304)),
        },
    )
    assert made.told(capsys) == {
        "gfx1030_36.kdb": ("changed", "changed-since"),
        "gfx900_56.kdb": ("removed", "removed"),
        "gfx906_60.kdb": ("unchanged", "suspected"),
        "gfx90878.kdb": ("changed", "changed-since"),
        "gfx90a68.kdb": ("changed", "changed-since"),
        "gfx90a6e.kdb": ("changed", "changed-since"),
        "gfx942130.kdb": ("added", "changed-since"),
    }
    assert made.told(capsys, "--database", made.before, "--database", made.after) == {
        "gfx1030_36.kdb": ("changed", "stale"),
        "gfx900_56.kdb": ("removed", "removed"),
        "gfx906_60.kdb": ("unchanged", "stale"),
        "gfx90878.kdb": ("pruned", "fresh"),
        "gfx90a68.kdb": ("regenerated", "fresh"),
        "gfx90a6e.kdb": ("pruned", "fresh"),
        "gfx942130.kdb": ("added", "fresh"),
    }


def test_a_rollback_is_judged_by_the_end_of_its_range(made: Releases, capsys: pytest.CaptureFixture[str]) -> None:
    """Downgrade: what was right at the newer number is poison at the older one, whatever the default branch says."""
    made.release(made.old("gfx90a68.kdb", fwd_row(OLD)), made.new("gfx90a68.kdb", fwd_row(NEW)))
    repository = made.shipped.repository
    repository.commit('Revert "Use find_package() (#11)" (#13)', {"requirements.txt": requirements(ABI5)})
    repository.git("tag", "rocm-5.4.1")
    both = ("--database", made.before, "--database", made.after)
    found = json.loads(made.notes(capsys, *both, "--format", "json", range_="rocm-5.4.0..rocm-5.4.1"))
    assert (found["abi"]["old"]["number"], found["abi"]["new"]["number"], found["abi"]["crossing"]) == (6, 5, True)
    assert [(f["change"], f["state"]) for f in found["databases"]["files"]] == [("unchanged", "stale")]
    assert [issue["kind"] for issue in found["known_issues"]] == ["database-stale"]


def test_packed_and_merged_by_arch(made: Releases, capsys: pytest.CaptureFixture[str]) -> None:
    """K6: two files of an arch become one packed file; all of what it took the place of has to be known."""
    pointer = made.new("gfx90a.kdb", fwd_row(NEW), fwd_row(NEW, units=110))
    data = bz2.compress(made.shipped.named["gfx90a.kdb"].read_bytes())
    (made.after / "gfx90a.kdb").unlink()
    (made.after / "gfx90a.kdb.bz2").write_bytes(data)
    oid = hashlib.sha256(data).hexdigest()
    text = str(pointer[f"{FOLDER}/gfx90a.kdb"]).splitlines()[0]
    made.release(
        {**made.old("gfx90a68.kdb", fwd_row(OLD)), **made.old("gfx90a6e.kdb", fwd_row(OLD, units=110))},
        {
            f"{FOLDER}/gfx90a68.kdb": None,
            f"{FOLDER}/gfx90a6e.kdb": None,
            f"{FOLDER}/gfx90a.kdb.bz2": f"{text}\noid sha256:{oid}\nsize {len(data)}\n",
        },
    )
    assert made.told(capsys) == {"gfx90a.kdb.bz2": ("re-packed", "repacked")}
    assert made.told(capsys, "--database", made.after) == {"gfx90a.kdb.bz2": ("re-packed", "fresh")}
    one = ("--database", made.after, "--database", made.before / "gfx90a68.kdb")
    assert made.told(capsys, *one) == {"gfx90a.kdb.bz2": ("re-packed", "fresh")}
    both = ("--database", made.after, "--database", made.before)
    assert made.told(capsys, *both) == {"gfx90a.kdb.bz2": ("regenerated", "fresh")}


def test_databases_that_are_in_git_themselves(made: Releases, capsys: pytest.CaptureFixture[str]) -> None:
    made.old("gfx90a68.kdb", fwd_row(OLD))
    made.new("gfx90a68.kdb", fwd_row(NEW))
    path = f"{FOLDER}/gfx90a68.kdb"
    before, after = ((folder / "gfx90a68.kdb").read_bytes() for folder in (made.before, made.after))
    made.release({path: before}, {path: after})
    both = ("--database", made.before, "--database", made.after)
    assert made.told(capsys, *both) == {"gfx90a68.kdb": ("regenerated", "fresh")}


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ((fwd_row(NEW), wrw_row(OLD)), ("changed", "stale")),
        ((fwd_row(NEW), other_row(args=" -mcpu=gfx90a")), ("regenerated", "fresh")),
        ((), ("pruned", "fresh")),
        ((fwd_row(OLD), fwd_row(OLD, batchsize=64)), ("changed", "stale")),
    ],
)
def test_no_more_is_said_than_the_rows_tell(
    made: Releases, capsys: pytest.CaptureFixture[str], rows: tuple[Any, ...], told: tuple[str, str]
) -> None:
    made.release(made.old("gfx90a68.kdb", fwd_row(OLD), other_row()), made.new("gfx90a68.kdb", *rows))
    both = ("--database", made.before, "--database", made.after)
    assert made.told(capsys, *both) == {"gfx90a68.kdb": told}


def test_a_corrupt_row_proves_nothing(made: Releases, capsys: pytest.CaptureFixture[str]) -> None:
    broken = dataclasses.replace(fwd_row(NEW, batchsize=64), kernel_hash="0" * 32)
    made.release(made.old("gfx90a68.kdb", fwd_row(OLD)), made.new("gfx90a68.kdb", fwd_row(NEW), broken))
    both = ("--database", made.before, "--database", made.after)
    assert made.told(capsys, *both) == {"gfx90a68.kdb": ("changed", "changed-since")}


def test_files_that_say_nothing_are_named(made: Releases, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A folder of pointers, or of another release, would else look like a scan that found nothing."""
    made.release(made.old("gfx90a68.kdb", fwd_row(OLD)), made.new("gfx90a68.kdb", fwd_row(NEW)))
    made.shipped.contents = tmp_path / "other"
    made.shipped.database("gfx90a6e.kdb", fwd_row(NEW, batchsize=32))
    (tmp_path / "other" / "gfx908.kdb").write_text("no database at all\n" * 99)
    clone = made.shipped.repository.path / FOLDER
    given = ("--database", clone, "--database", tmp_path / "other")
    found = json.loads(made.notes(capsys, *given, "--format", "json"))
    assert found["gaps"][:2] == [
        "gfx90a68.kdb: a pointer, not the database itself",
        found["gaps"][1],
    ]
    assert found["gaps"][1].startswith("gfx908.kdb: ")
    assert found["gaps"][2:] == ["gfx90a6e.kdb: its content is no database's at either end"]
    assert "a pointer, not the database itself" in made.notes(capsys, *given)


def test_every_form_and_the_change_log_say_it(
    made: Releases, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    made.release(
        {**made.old("gfx90a68.kdb", fwd_row(OLD)), **made.old("gfx90a6e.kdb", fwd_row(OLD), other_row())},
        {**made.new("gfx90a68.kdb", fwd_row(NEW)), **made.new("gfx90a6e.kdb", other_row())},
    )
    both = ("--database", made.before, "--database", made.after)
    for form in ("text", "markdown", "rocm", "html"):
        text = made.notes(capsys, *both, "--format", form)
        assert "gfx90a68.kdb" in text
        assert "not known" not in text
        assert "pruned" in text
        assert "may hold" not in text
    assert "kernels of the old ABI" not in made.notes(capsys, *both, "--format", "github")
    log = tmp_path / "CHANGELOG.md"
    command = ["notes", "write", "rocm-5.3.0..rocm-5.4.0", "--repo", f"miopen={made.shipped.repository.path}"]
    command += [str(part) for part in both] + ["--file", str(log), "--title", "MIOpen 2.19", "--apply"]
    for _ in range(2):
        assert run_to_exit_code(lambda **kw: root.main(command, **kw)) == 0
        assert "pruned" in log.read_text(encoding="utf-8")
