"""Taking stale rows out: K6, the old database is never at risk, and the new one is the old one without them."""

from __future__ import annotations

import bz2
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from relmgr.errors import SourceError, UserError
from relmgr.model.kernel_db import PrunePlan
from relmgr.settings import load_project
from relmgr.sinks import kernel_db as sink
from relmgr.sinks.kernel_objects import extract_objects
from relmgr.sources.databases.files import sha256_of
from relmgr.sources.databases.scan import ScanRules, scan_file
from relmgr.workflows.kdb import Target
from relmgr.workflows.kdb_prune import prune_database
from tests.support.databases import SCHEMA, KernelRow, code_object, fwd_row, other_row, write_database, wrw_row

MIIR = load_project("miopen-rocmlir").contracts["miir"]
RULES = ScanRules(symbol=MIIR.kernel_symbol, solvers=MIIR.solvers, convention="bare-pointer")
ABI6 = Target(6, "bare-pointer", "--abi")
ROWS = [
    fwd_row("bare"),
    fwd_row("descriptor32", in_h=57),
    other_row("bare"),
    wrw_row("descriptor32"),
    wrw_row("bare", in_h=57),
]


def prune(path: Path, out: Path | None, *, apply: bool = True) -> PrunePlan:
    return prune_database(path, out, ABI6, RULES, apply=apply)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def stored(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        connection.text_factory = bytes
        return connection.execute("SELECT * FROM kern_db ORDER BY id").fetchall()


def test_a_plan_changes_nothing(tmp_path: Path) -> None:
    path = write_database(tmp_path / "gfx90a68.kdb", ROWS)
    before = path.read_bytes()
    plan = prune(path, tmp_path / "new.kdb", apply=False)
    assert (plan.rows, plan.removed, plan.remaining, plan.applied) == (5, 2, 3, False)
    assert plan.removed_by_solver == {"ConvMlirIgemmFwdXdlops": 1, "ConvMlirIgemmWrW": 1}
    assert (names_in(tmp_path), path.read_bytes()) == (["gfx90a68.kdb"], before)


def test_the_new_database_is_the_old_one_without_the_stale_rows(tmp_path: Path) -> None:
    path = write_database(tmp_path / "gfx90a68.kdb", ROWS)
    before = path.read_bytes()
    plan = prune(path, tmp_path / "new.kdb")
    assert (plan.applied, plan.verified, plan.size_before) == (True, True, len(before))
    assert plan.size_after == (tmp_path / "new.kdb").stat().st_size < len(before)
    assert stored(tmp_path / "new.kdb") == [row for row in stored(path) if row[0] in (1, 3, 5)]
    assert scan_file(tmp_path / "new.kdb", RULES).stale == 0
    assert path.read_bytes() == before
    assert names_in(tmp_path) == ["gfx90a68.kdb", "new.kdb"]


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_schema_index_and_header_are_as_before(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "gfx90a68.kdb"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA page_size = 8192")
        connection.execute("PRAGMA auto_vacuum = FULL")
        connection.execute("PRAGMA user_version = 7")
        connection.execute("PRAGMA application_id = 99")
        connection.execute("CREATE TABLE note(text TEXT)")
        connection.execute("INSERT INTO note VALUES ('kept')")
        connection.commit()
    write_database(path, ROWS, mode=mode)
    prune(path, tmp_path / "new.kdb")
    facts = []
    for file in (path, tmp_path / "new.kdb"):
        with closing(sqlite3.connect(file)) as connection:
            pragmas = ("page_size", "auto_vacuum", "user_version", "application_id", "journal_mode", "integrity_check")
            facts.append(
                [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas]
                + connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
                + connection.execute("SELECT * FROM note").fetchall()
            )
    assert facts[0] == facts[1]
    assert facts[1][:6] == [8192, 1, 7, 99, mode, "ok"]


def test_swap_puts_the_new_one_in_place_and_keeps_the_old_one(tmp_path: Path) -> None:
    path = write_database(tmp_path / "gfx90a68.kdb", ROWS)
    path.chmod(0o640)
    before = path.read_bytes()
    plan = prune(path, None)
    assert plan.kept_old == str(tmp_path / "gfx90a68.kdb.before-abi-6")
    assert Path(plan.kept_old).read_bytes() == before
    assert (scan_file(path, RULES).stale, path.stat().st_mode & 0o777) == (0, 0o640)
    assert names_in(tmp_path) == ["gfx90a68.kdb", "gfx90a68.kdb.before-abi-6"]


def test_a_second_swap_does_not_touch_what_the_first_kept(tmp_path: Path) -> None:
    path = write_database(tmp_path / "gfx90a68.kdb", ROWS)
    (tmp_path / "gfx90a68.kdb.before-abi-6").write_text("of old")
    assert prune(path, None).kept_old == str(tmp_path / "gfx90a68.kdb.before-abi-6.1")
    assert (tmp_path / "gfx90a68.kdb.before-abi-6").read_text() == "of old"


def test_without_hard_links_the_old_one_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(1, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    path = write_database(tmp_path / "gfx90a68.kdb", ROWS)
    before = path.read_bytes()
    kept = prune(path, None).kept_old
    assert kept is not None
    assert Path(kept).read_bytes() == before
    assert names_in(tmp_path) == ["gfx90a68.kdb", "gfx90a68.kdb.before-abi-6"]


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    real = write_database(tmp_path / "real" / "gfx90a68.kdb", ROWS)
    link = tmp_path / "gfx90a68.kdb"
    link.symlink_to(real)
    prune(link, None)
    assert link.is_symlink()
    assert scan_file(real, RULES).stale == 0


def test_packed_in_packed_out(tmp_path: Path) -> None:
    plain = write_database(tmp_path / "x" / "gfx90a.kdb", ROWS)
    path = tmp_path / "gfx90a.kdb.bz2"
    path.write_bytes(bz2.compress(plain.read_bytes()))
    prune(path, tmp_path / "new.kdb.bz2")
    (tmp_path / "unpacked").write_bytes(bz2.decompress((tmp_path / "new.kdb.bz2").read_bytes()))
    assert [row[0] for row in stored(tmp_path / "unpacked")] == [1, 3, 5]
    prune(path, None)
    assert path.read_bytes()[:3] == b"BZh"
    assert scan_file(path, RULES).stale == 0


def test_rows_that_cannot_be_judged_stay(tmp_path: Path) -> None:
    broken = replace(fwd_row("descriptor32", in_h=99), kernel_hash="0" * 32)
    path = write_database(tmp_path / "gfx90a68.kdb", [*ROWS, broken])
    plan = prune(path, tmp_path / "new.kdb")
    assert (plan.removed, [finding.row for finding in plan.kept_for_trouble]) == (2, [6])
    assert [row[0] for row in stored(tmp_path / "new.kdb")] == [1, 3, 5, 6]


def test_nothing_stale_nothing_written(tmp_path: Path) -> None:
    path = write_database(tmp_path / "gfx90a68.kdb", [fwd_row("bare")])
    assert prune(path, None).applied is False
    assert names_in(tmp_path) == ["gfx90a68.kdb"]


def test_an_existing_file_is_not_written_over(tmp_path: Path) -> None:
    path = write_database(tmp_path / "gfx90a68.kdb", ROWS)
    (tmp_path / "new.kdb").write_text("mine")
    with pytest.raises(UserError, match="exists already"):
        prune(path, tmp_path / "new.kdb")
    assert (tmp_path / "new.kdb").read_text() == "mine"


def test_a_database_that_changed_since_it_was_scanned_is_refused(tmp_path: Path) -> None:
    path = write_database(tmp_path / "gfx90a68.kdb", ROWS)
    seen = sha256_of(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM kern_db WHERE id = 5")
    with pytest.raises(SourceError, match="not the database that was scanned"):
        sink.write_pruned(path, tmp_path / "new.kdb", [2, 4], seen)
    assert names_in(tmp_path) == ["gfx90a68.kdb"]


def test_a_database_in_use_is_refused(tmp_path: Path) -> None:
    path = write_database(tmp_path / "gfx90a68.kdb", ROWS, mode="wal")
    with closing(sqlite3.connect(path)) as other:
        other.execute("DELETE FROM kern_db WHERE id = 5")
        other.commit()
        with pytest.raises(SourceError, match="a wal lies beside it"):
            prune(path, None)


def test_a_locked_database_is_refused(tmp_path: Path) -> None:
    path = write_database(tmp_path / "gfx90a68.kdb", ROWS)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(SourceError, match="another process is writing"):
            prune(path, tmp_path / "new.kdb")
    assert names_in(tmp_path) == ["gfx90a68.kdb"]


LOCKED = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0.1, isolation_level=None)
try:
    connection.execute("DELETE FROM kern_db WHERE id = 1")
except sqlite3.OperationalError as error:
    print(error)
"""


def test_no_other_process_can_commit_between_the_check_and_the_swap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_database(tmp_path / "gfx90a68.kdb", ROWS)
    said: list[str] = []

    def then_write(name: str) -> None:
        function = getattr(sink, name)

        def wrapped(*args: object) -> object:
            result = function(*args)
            run = subprocess.run([sys.executable, "-c", LOCKED, str(path)], capture_output=True, text=True, check=True)
            said.append(run.stdout)
            return result

        monkeypatch.setattr(sink, name, wrapped)

    for step in ("_lock_as_scanned", "_copy_without", "_verify", "_sync", "_second_name"):
        then_write(step)
    prune(path, None)
    assert said == ["database is locked\n"] * 5
    assert [row[0] for row in stored(path)] == [1, 3, 5]


def test_a_schema_with_a_trigger_is_refused(tmp_path: Path) -> None:
    trigger = "CREATE TRIGGER t AFTER DELETE ON kern_db BEGIN DELETE FROM kern_db; END;"
    path = write_database(tmp_path / "gfx90a68.kdb", ROWS, schema=SCHEMA + trigger)
    with pytest.raises(SourceError, match="more than tables and indexes: trigger t"):
        prune(path, tmp_path / "new.kdb")


def test_two_runs_on_one_output_do_not_meet(tmp_path: Path) -> None:
    path = write_database(tmp_path / "gfx90a68.kdb", ROWS)
    with sink._partial(tmp_path / "new.kdb", again=False) as partial:
        partial.write_text("half")
        with pytest.raises(UserError, match="another prune is writing"):
            prune(path, tmp_path / "new.kdb")
        assert partial.read_text() == "half"
        with pytest.raises(UserError, match="another prune is writing"):
            prune(path, tmp_path / "new.kdb")
    assert prune(path, tmp_path / "new.kdb").applied


def test_a_fault_in_the_copy_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verification itself: one changed byte, one missing row, one row too many, another schema."""
    path = write_database(tmp_path / "gfx90a68.kdb", ROWS)
    copy = sink._copy_without
    for number, fault in enumerate(
        (
            "UPDATE kern_db SET kernel_args = kernel_args || ' ' WHERE id = 5",
            "DELETE FROM kern_db WHERE id = 5",
            "INSERT INTO kern_db SELECT 9, 'n', 'a', x'00', 'h', 0",
            "UPDATE kern_db SET uncompressed_size = 1.0 * uncompressed_size + 0.5 WHERE id = 5",
            "CREATE INDEX more ON kern_db(kernel_hash)",
            "PRAGMA user_version = 3",
        )
    ):

        def faulty(old: sqlite3.Connection, partial: Path, stale: list[int], fault: str = fault) -> None:
            copy(old, partial, stale)
            with closing(sqlite3.connect(partial)) as connection, connection:
                connection.execute(fault)

        monkeypatch.setattr(sink, "_copy_without", faulty)
        with pytest.raises(SourceError, match="failed a check"):
            prune(path, tmp_path / f"new{number}.kdb")
    assert names_in(tmp_path) == ["gfx90a68.kdb"]


def test_a_full_disk_is_said_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sink, "_sync", full)
    path = write_database(tmp_path / "gfx90a68.kdb", ROWS)
    with pytest.raises(SourceError, match="No space left on device; the old one is untouched"):
        prune(path, None)
    assert names_in(tmp_path) == ["gfx90a68.kdb"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_k6_killed_at_any_moment_nothing_is_lost(tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    source = random.Random(seed)
    rows: list[KernelRow] = []
    for i in range(1500):
        rows.append(fwd_row("descriptor32" if i % 3 else "bare", in_h=i))
    template = write_database(tmp_path / "template.kdb", rows)
    original = template.read_bytes()
    remaining = [row for row in stored(template) if row[0] % 3 == 1]
    script = (
        "import sys; from pathlib import Path; from tests.sinks.test_kernel_db_prune import *;"
        "print('ready', flush=True); prune(Path(sys.argv[1]), None)"
    )

    def start(path: Path) -> subprocess.Popen[bytes]:
        run = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE)
        assert run.stdout is not None
        assert run.stdout.readline() == b"ready\n"
        return run

    whole = tmp_path / "whole" / "gfx90a68.kdb"
    whole.parent.mkdir()
    whole.write_bytes(original)
    run, began = start(whole), time.monotonic()
    run.communicate()
    assert run.returncode == 0
    length = time.monotonic() - began

    ends = {"old": 0, "new": 0}
    for number in range(50):
        path = tmp_path / str(number) / "gfx90a68.kdb"
        path.parent.mkdir()
        path.write_bytes(original)
        run = start(path)
        time.sleep(source.uniform(0, length * 1.1))
        run.send_signal(signal.SIGKILL)
        run.communicate()
        kept = path.with_name("gfx90a68.kdb.before-abi-6")
        if path.read_bytes() == original:
            ends["old"] += 1
        else:
            ends["new"] += 1
            assert kept.read_bytes() == original
            assert stored(path) == remaining
        # And the next run comes to its end, whatever lies there.
        if path.read_bytes() == original:
            prune(path, None)
        assert stored(path) == remaining
        assert original in [file.read_bytes() for file in path.parent.iterdir()]
        for file in path.parent.iterdir():
            file.unlink()
    print(ends)


def test_extract_writes_the_objects_as_they_were_compiled(tmp_path: Path) -> None:
    path = write_database(tmp_path / "gfx90a68.kdb", ROWS)
    folder = tmp_path / "objects"
    plan = extract_objects(path, folder, ids=[1, 4])
    assert ([o.id for o in plan.objects], plan.applied, folder.exists()) == ([1, 4], False, False)
    done = extract_objects(path, folder, ids=[1, 4], apply=True)
    names = names_in(folder)
    assert names == [
        "1.mlir_gen_igemm_conv2d_v4r4_fwd_xdlops0.mlir.gfx90a.hsaco",
        "4.mlir_gen_igemm_conv2d_v4r4_wrw0.mlir.gfx90a.hsaco",
    ]
    assert (folder / names[0]).read_bytes() == code_object("fwd_xdlops0.bare.gfx90a.cov5")
    assert [o.bytes for o in done.objects] == [(folder / name).stat().st_size for name in names]
    with pytest.raises(UserError, match="cannot write"):
        extract_objects(path, folder, ids=[1], apply=True)


def test_extract_cannot_be_led_out_of_its_folder(tmp_path: Path) -> None:
    path = write_database(tmp_path / "gfx90a68.kdb", [replace(fwd_row("bare"), kernel_name="../../../evil")])
    folder = tmp_path / "objects"
    extract_objects(path, folder, apply=True)
    assert names_in(folder) == ["1._.._.._evil.gfx90a.hsaco"]


def test_extract_names_what_it_could_not_take_out(tmp_path: Path) -> None:
    rows = [replace(fwd_row("bare"), kernel_blob=b"x"), replace(fwd_row("bare", in_h=2), kernel_hash="0")]
    folder = tmp_path / "objects"
    done = extract_objects(write_database(tmp_path / "gfx90a68.kdb", rows), folder, apply=True)
    assert [o.error for o in done.objects] == ["corrupt bz2 data", "its md5 is not its kernel_hash"]
    assert len(names_in(folder)) == 1
    assert extract_objects(tmp_path / "gfx90a68.kdb", folder, ids=[77]).objects[0].error is not None
