"""What a scan finds in real databases of real code objects; K1, K2, K3, K5."""

from __future__ import annotations

import bz2
import hashlib
import os
import shutil
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from relmgr.model.kernel_db import FileScan
from relmgr.settings import load_project
from relmgr.sources.databases import rows as kernel_rows
from relmgr.sources.databases.scan import ScanRules, scan_file
from tests.support.code_objects import bundle
from tests.support.databases import (
    KernelRow,
    code_object,
    fwd_row,
    kernel_row,
    options,
    other_row,
    renamed,
    write_database,
    wrw_row,
)

MIIR = load_project("miopen-rocmlir").contracts["miir"]
ABI6 = ScanRules(symbol=MIIR.kernel_symbol, solvers=MIIR.solvers, convention="bare-pointer")
ABI5 = replace(ABI6, convention="memref-descriptor")
NO_ABI = replace(ABI6, convention=None)
MIXED = [
    fwd_row("bare"),
    fwd_row("descriptor32", in_h=57),
    fwd_row("descriptor64", in_h=58),
    wrw_row("bare"),
    wrw_row("descriptor32", in_h=57),
    other_row("bare"),
    other_row("descriptor32", name="conv_3x3.s.o"),
]


def whys(scan: FileScan, kind: str) -> list[tuple[int | None, str]]:
    return [(finding.row, finding.why) for finding in scan.findings if finding.kind == kind]


def test_rows_by_what_they_are(tmp_path: Path) -> None:
    scan = scan_file(write_database(tmp_path / "gfx90a68.kdb", MIXED), ABI6)
    assert (scan.state, scan.arch, scan.cu_count, scan.rows, scan.mlir_rows) == ("ok", "gfx90a", 104, 7, 5)
    assert scan.conventions == {"bare-pointer": 2, "memref-descriptor": 3}
    assert scan.counts.solvers == {"ConvMlirIgemmFwdXdlops": 3, "ConvMlirIgemmWrW": 2}
    assert scan.counts.directions == {"fwd": 3, "wrw": 2}
    assert scan.counts.dtypes == {"fp16": 2, "fp32": 3}
    assert (scan.counts.archs, scan.counts.layouts) == ({"gfx90a": 5}, {"NCHW": 5})
    assert (scan.stale, scan.corrupt, scan.unknown, scan.findings) == (3, 0, 0, ())


def test_stale_is_what_the_target_abi_does_not_pass(tmp_path: Path) -> None:
    path = write_database(tmp_path / "gfx90a68.kdb", MIXED)
    assert [row.id for row in scan_file(path, ABI6).stale_rows] == [2, 3, 5]
    assert [row.id for row in scan_file(path, ABI5).stale_rows] == [1, 4]
    assert scan_file(path, NO_ABI).stale is None


def test_stale_rows_tell_their_problem(tmp_path: Path) -> None:
    row = scan_file(write_database(tmp_path / "gfx90a68.kdb", MIXED), ABI6).stale_rows[2]
    assert (row.kernel_name, row.solver) == ("mlir_gen_igemm_conv2d_v4r4_wrw0.mlir.o", "ConvMlirIgemmWrW")
    assert row.convention == "memref-descriptor"
    assert row.problem is not None
    assert (row.problem.direction, row.problem.dtype, row.problem.in_h, row.problem.num_cu) == ("wrw", "fp16", 57, 104)


def test_an_abi_without_a_declared_convention_leaves_every_row_unknown(tmp_path: Path) -> None:
    scan = scan_file(write_database(tmp_path / "gfx90a68.kdb", MIXED), replace(ABI6, convention="unknown"))
    assert (scan.stale, scan.unknown) == (0, 5)
    assert whys(scan, "unknown-row") == [(None, "the project declares no convention for this ABI number")]


def test_deep_reads_other_kernels_too_and_finds_the_providers_under_other_names(tmp_path: Path) -> None:
    hidden = replace(fwd_row("descriptor32"), kernel_name="renamed.o")
    path = write_database(tmp_path / "gfx90a68.kdb", [*MIXED, hidden])
    assert scan_file(path, ABI6).stale == 3
    deep = scan_file(path, replace(ABI6, deep=True))
    assert (deep.mlir_rows, deep.stale, deep.conventions["other"]) == (6, 4, 2)


def test_deep_looks_inside_offload_bundles(tmp_path: Path) -> None:
    host = ("host-x86_64-unknown-linux-gnu--", b"")
    device = "hipv4-amdgcn-amd-amdhsa--gfx90a"
    old, new = code_object("fwd_xdlops0.descriptor32.gfx90a.cov5"), code_object("fwd_xdlops0.bare.gfx90a.cov5")
    rows = [
        kernel_row("one.o", " -mcpu=gfx90a", bundle(host, (device, old))),
        kernel_row("two.o", " -mcpu=gfx90a", bundle(host, (device, old), ("hipv4-amdgcn-amd-amdhsa--gfx942", new))),
        kernel_row("none.o", " -mcpu=gfx90a", bundle(host)),
    ]
    scan = scan_file(write_database(tmp_path / "gfx90a68.kdb", rows), replace(ABI6, deep=True))
    assert (scan.rows, scan.stale, [row.id for row in scan.stale_rows]) == (3, 1, [1])
    said = {finding.row: finding.why for finding in scan.findings if finding.row in (2, 3)}
    assert said == {
        2: "two.o: an offload bundle of 2 code objects, not one",
        3: "none.o: an offload bundle of 0 code objects, not one",
    }


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_any_number_of_jobs_gives_the_same(tmp_path: Path, jobs: int) -> None:
    rows = [fwd_row("bare" if i % 3 else "descriptor32", in_h=i) for i in range(300)]
    path = write_database(tmp_path / "gfx90a68.kdb", rows)
    scan = scan_file(path, replace(ABI6, jobs=jobs, deep=True))
    assert (scan.rows, scan.stale) == (300, 100)
    assert [row.id for row in scan.stale_rows] == list(range(1, 301, 3))


def test_what_is_named_like_the_providers_and_is_not_is_unknown_never_fresh(tmp_path: Path) -> None:
    named = replace(other_row("bare"), kernel_name="mlir_gen_igemm_conv2d_v4r4_fwd9.mlir.o")
    scan = scan_file(write_database(tmp_path / "gfx90a68.kdb", [named]), ABI6)
    assert (scan.mlir_rows, scan.stale, scan.unknown) == (1, 0, 1)
    assert whys(scan, "unknown-row")[0][0] == 1


def test_k1_every_version_and_arch_is_judged_by_layout(tmp_path: Path) -> None:
    for arch in ("gfx90a", "gfx942"):
        rows = [
            fwd_row(convention, arch=arch, version=version, in_h=version)
            for convention in ("bare", "descriptor32")
            for version in (4, 5, 6)
        ]
        rows = [replace(row, kernel_args=f"{row.kernel_args} --n {i}") for i, row in enumerate(rows)]
        scan = scan_file(write_database(tmp_path / f"{arch}.kdb", rows), ABI6)
        assert (scan.conventions, scan.stale) == ({"bare-pointer": 3, "memref-descriptor": 3}, 3)


def test_k2_pointers_are_named_with_oid_and_size_and_have_no_counts(tmp_path: Path) -> None:
    path = tmp_path / "gfx90a68.kdb"
    path.write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{'5b' * 32}\nsize 536465408\n")
    scan = scan_file(path, ABI6)
    assert (scan.state, scan.rows, scan.stale) == ("pointer", None, None)
    assert scan.pointer is not None
    assert (scan.pointer.oid, scan.pointer.size) == ("5b" * 32, 536465408)


def test_k2_dvc_pointer(tmp_path: Path) -> None:
    path = tmp_path / "gfx942.kdb.bz2.dvc"
    path.write_text("outs:\n- md5: 0a1b2c3d4e5f60718293a4b5c6d7e8f9\n  size: 77\n  path: gfx942.kdb.bz2\n")
    scan = scan_file(path, ABI6)
    assert (scan.state, scan.arch, scan.pointer and scan.pointer.size) == ("pointer", "gfx942", 77)


def test_k3_corrupt_rows_are_named_and_the_others_read(tmp_path: Path) -> None:
    good = fwd_row("descriptor32")
    data = bz2.decompress(good.kernel_blob)
    name = good.kernel_name

    def broken(number: int, **changes: object) -> KernelRow:
        return replace(good, kernel_args=options(in_h=number), **changes)  # type: ignore[arg-type]

    rows = [
        broken(1, kernel_blob=good.kernel_blob[:-20]),
        broken(2, kernel_blob=b"not bz2"),
        broken(3, kernel_hash="0" * 32),
        broken(4, uncompressed_size=good.uncompressed_size - 1),
        broken(5, uncompressed_size=good.uncompressed_size + 1),
        broken(6, uncompressed_size=1 << 40),
        broken(7, uncompressed_size=-1),
        kernel_row(name, options(in_h=8), data[:1000]),
        kernel_row(name, options(in_h=9), b"\x7fELF" + bytes(60)),
        broken(10, kernel_blob=bz2.compress(bytes(50_000_000)), uncompressed_size=7088),
        good,
    ]
    scan = scan_file(write_database(tmp_path / "gfx90a68.kdb", rows), ABI6)
    assert scan.state == "ok"
    assert (scan.corrupt, scan.unknown, scan.stale) == (9, 1, 1)
    assert [row for row, _ in whys(scan, "corrupt-row")] == [1, 2, 3, 4, 5, 7, 8, 9, 10]
    assert [row for row, _ in whys(scan, "unknown-row")] == [6]
    said = dict(whys(scan, "corrupt-row"))
    assert "truncated bz2" in said[1]
    assert "corrupt bz2" in said[2]
    assert "md5" in said[3]
    assert "more than the 6591 bytes" in said[4]
    assert "unpacks to 6592 bytes and says 6593" in said[5]
    assert "code object" in said[8]


def test_fast_leaves_out_the_md5_only(tmp_path: Path) -> None:
    rows = [replace(fwd_row("bare"), kernel_hash="0" * 32), replace(fwd_row("bare", in_h=2), kernel_blob=b"x")]
    scan = scan_file(write_database(tmp_path / "gfx90a68.kdb", rows), replace(ABI6, verify=False))
    assert (scan.conventions, scan.corrupt) == ({"bare-pointer": 1}, 1)


def test_a_row_stored_as_it_is_and_a_hash_in_capitals(tmp_path: Path) -> None:
    row = fwd_row("bare", packed=False)
    assert row.uncompressed_size == 0
    row = replace(row, kernel_hash=row.kernel_hash.upper())
    scan = scan_file(write_database(tmp_path / "gfx90a68.kdb", [row]), ABI6)
    assert (scan.conventions, scan.corrupt) == ({"bare-pointer": 1}, 0)


def test_k3_wrong_types_are_corrupt_rows(tmp_path: Path) -> None:
    path = write_database(tmp_path / "gfx90a68.kdb", [fwd_row("bare", in_h=i) for i in range(5)])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE kern_db SET kernel_blob = 'text' WHERE id = 1")
        connection.execute("UPDATE kern_db SET uncompressed_size = 'many' WHERE id = 2")
        connection.execute("UPDATE kern_db SET kernel_hash = x'00' WHERE id = 3")
        connection.execute("UPDATE kern_db SET kernel_args = CAST(x'ff20' AS TEXT) WHERE id = 4")
    scan = scan_file(path, ABI6)
    assert ([row for row, _ in whys(scan, "corrupt-row")], scan.conventions) == ([1, 2, 3], {"bare-pointer": 2})


def test_k3_a_damaged_page_costs_its_rows_only(tmp_path: Path) -> None:
    rows = [fwd_row("bare", in_h=i) for i in range(40)]
    rows[20] = replace(rows[20], kernel_hash="f" * 32)
    path = write_database(tmp_path / "gfx90a68.kdb", rows)
    data = bytearray(path.read_bytes())
    # Break the type byte of the leaf page that holds row 21 (pages are of 4096 bytes): SQLite calls it malformed.
    data[data.index(b"f" * 32) // 4096 * 4096] = 0x55
    path.write_bytes(data)
    scan = scan_file(path, ABI6)
    assert (scan.corrupt or 0) >= 2
    assert scan.conventions.get("bare-pointer", 0) + (scan.corrupt or 0) == 40
    assert scan.conventions["bare-pointer"] >= 25


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "not a SQLite database"),
        (b"SQLite format 3\0" + b"\xff" * 200, "SQLite cannot read it"),
        (b"BZh91AY&SY\x00\x00", "truncated"),
        (b"BZh9" + b"x" * 100, "corrupt bz2 data"),
        (b"\x00" * 5000, "not a SQLite database"),
    ],
)
def test_k3_files_that_are_no_database(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "gfx90a.kdb"
    path.write_bytes(content)
    scan = scan_file(path, ABI6)
    assert (scan.state, scan.rows, scan.stale) == ("unreadable", None, None)
    assert why in scan.findings[0].why


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("CREATE TABLE other(id)", "no table kern_db"),
        ("CREATE VIEW kern_db AS SELECT 1 AS id", "not a plain table"),
        ("CREATE TABLE kern_db(id INTEGER PRIMARY KEY, kernel_name TEXT)", "no plain column kernel_args"),
        (
            "CREATE TABLE kern_db(id INTEGER PRIMARY KEY, kernel_name, kernel_args, kernel_hash, uncompressed_size,"
            " kernel_blob AS (zeroblob(1000000000)))",
            "no plain column kernel_blob",
        ),
    ],
)
def test_k3_schemas_that_are_not_ours(tmp_path: Path, sql: str, why: str) -> None:
    path = tmp_path / "gfx90a.kdb"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(sql)
    scan = scan_file(path, ABI6)
    assert scan.state == "unreadable"
    assert why in scan.findings[0].why


def test_k3_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "gfx90a.kdb"
    os.mkfifo(path)
    assert scan_file(path, ABI6).findings[-1].why == "not a regular file"


def test_an_index_that_lost_rows_hides_nothing(tmp_path: Path) -> None:
    path = write_database(tmp_path / "gfx90a68.kdb", [fwd_row("descriptor32", in_h=i) for i in range(10)])
    with closing(sqlite3.connect(path)) as connection, connection:
        # An index over half of the rows, put in the place of the whole one.
        connection.execute("DROP INDEX idx_kern_db")
        connection.execute("CREATE UNIQUE INDEX idx_kern_db ON kern_db(kernel_name, kernel_args) WHERE id > 5")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = substr(sql, 1, instr(sql, ' WHERE')) WHERE type = 'index'")
    scan = scan_file(path, ABI6)
    assert scan.stale == 10
    assert whys(scan, "index") == [(None, "the index holds 5 rows, the table 10")]


def test_a_missing_index_is_said_and_the_table_walked(tmp_path: Path) -> None:
    path = write_database(tmp_path / "gfx90a68.kdb", MIXED)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP INDEX idx_kern_db")
    scan = scan_file(path, ABI6)
    assert (scan.stale, len(whys(scan, "index"))) == (3, 1)


def test_packed_file_of_one_stream_or_two(tmp_path: Path) -> None:
    plain = write_database(tmp_path / "plain" / "gfx90a68.kdb", MIXED).read_bytes()
    half = len(plain) // 2
    (tmp_path / "gfx90a68.kdb.bz2").write_bytes(bz2.compress(plain))
    (tmp_path / "gfx90a.kdb.bz2").write_bytes(bz2.compress(plain[:half]) + bz2.compress(plain[half:]))
    for name in ("gfx90a68.kdb.bz2", "gfx90a.kdb.bz2"):
        scan = scan_file(tmp_path / name, ABI6)
        assert (scan.state, scan.stale, scan.rows) == ("ok", 3, 7)


def test_k3_a_packed_file_that_would_fill_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from relmgr.errors import SourceError
    from relmgr.sources.databases.files import unpacked

    path = tmp_path / "gfx90a.kdb.bz2"
    path.write_bytes(bz2.compress(bytes(30_000_000)))
    with pytest.raises(SourceError, match="more than 1000000 bytes"), unpacked(path, limit=1_000_000):
        pass
    assert scan_file(path, ABI6).state == "unreadable"


def test_k5_a_kernel_for_another_arch_is_reported(tmp_path: Path) -> None:
    rows = [fwd_row("bare", arch="gfx942"), fwd_row("bare", arch="gfx942", in_h=2)]
    scan = scan_file(write_database(tmp_path / "gfx90a68.kdb", rows), ABI6)
    assert whys(scan, "arch-mismatch") == [
        (1, "compiled for gfx942, in a file for gfx90a"),
        (None, "2 rows of another arch in all"),
    ]


def test_options_for_another_arch_than_the_object_are_reported(tmp_path: Path) -> None:
    row = replace(fwd_row("bare"), kernel_args=options(arch="gfx908"))
    scan = scan_file(write_database(tmp_path / "gfx90a68.kdb", [row]), ABI6)
    assert whys(scan, "arch-mismatch") == [(1, "compiled for gfx90a, and its options say gfx908")]


def test_an_unknown_arch_in_the_name_is_a_finding_and_the_file_is_read(tmp_path: Path) -> None:
    scan = scan_file(write_database(tmp_path / "gfx9999_40.kdb", MIXED), ABI6)
    assert (scan.arch, scan.state, scan.stale) == (None, "ok", 3)
    assert len(whys(scan, "unknown-arch")) == 1


def test_a_user_cache_tells_its_version(tmp_path: Path) -> None:
    scan = scan_file(write_database(tmp_path / "2.18.0" / "gfx90a68.ukdb", MIXED), ABI6)
    assert (scan.kind, scan.cache_version) == ("ukdb", "2.18.0")


def snapshot(folder: Path) -> dict[str, tuple[int, str]]:
    return {
        path.name: (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in sorted(folder.iterdir())
    }


@pytest.mark.parametrize("mode", ["delete", "wal", "truncate", "persist"])
def test_reading_changes_nothing_in_the_folder(tmp_path: Path, mode: str) -> None:
    path = write_database(tmp_path / "gfx90a68.kdb", MIXED, mode=mode)
    before = snapshot(tmp_path)
    assert scan_file(path, ABI6).stale == 3
    assert snapshot(tmp_path) == before


def test_in_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    path = write_database(tmp_path / "ro" / "gfx90a68.kdb", MIXED, mode="wal")
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        assert scan_file(path, ABI6).stale == 3
    finally:
        path.parent.chmod(0o755)


def test_open_in_another_connection_with_rows_in_its_log(tmp_path: Path) -> None:
    path = write_database(tmp_path / "gfx90a68.kdb", MIXED, mode="wal")
    row = fwd_row("descriptor32", in_h=99)
    with closing(sqlite3.connect(path)) as other:
        other.execute(
            "INSERT INTO kern_db(kernel_name, kernel_args, kernel_blob, kernel_hash, uncompressed_size)"
            " VALUES (?, ?, ?, ?, ?)",
            (row.kernel_name, row.kernel_args, row.kernel_blob, row.kernel_hash, row.uncompressed_size),
        )
        other.commit()
        assert path.with_name("gfx90a68.kdb-wal").stat().st_size > 0
        log = path.with_name("gfx90a68.kdb-wal").read_bytes()
        assert scan_file(path, ABI6).stale == 4
        assert path.with_name("gfx90a68.kdb-wal").read_bytes() == log


def test_a_log_that_a_crash_left_is_read_from_a_copy(tmp_path: Path) -> None:
    path = write_database(tmp_path / "live" / "gfx90a68.kdb", MIXED, mode="wal")
    crashed = tmp_path / "crashed"
    with closing(sqlite3.connect(path)) as other:
        other.execute("DELETE FROM kern_db WHERE id = 2")
        other.commit()
        crashed.mkdir()
        for name in ("gfx90a68.kdb", "gfx90a68.kdb-wal"):
            shutil.copy(path.with_name(name), crashed / name)
    before = snapshot(crashed)
    assert scan_file(crashed / "gfx90a68.kdb", ABI6).stale == 2
    assert snapshot(crashed) == before


def test_a_journal_that_a_crash_left_is_rolled_back_in_a_copy(tmp_path: Path) -> None:
    path = write_database(tmp_path / "live" / "gfx90a68.kdb", [fwd_row("descriptor32", in_h=i) for i in range(60)])
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA cache_size = 1")
        other.execute("BEGIN")
        other.execute("DELETE FROM kern_db WHERE id < 50")
        for name in ("gfx90a68.kdb", "gfx90a68.kdb-journal"):
            shutil.copy(path.with_name(name), crashed / name)
        other.execute("ROLLBACK")
    before = snapshot(crashed)
    scan = scan_file(crashed / "gfx90a68.kdb", ABI6)
    assert (scan.state, scan.stale) == ("ok", 60)
    assert snapshot(crashed) == before


def test_k3_locked_by_another_process_it_is_read_and_said(tmp_path: Path) -> None:
    path = write_database(tmp_path / "gfx90a68.kdb", MIXED)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        scan = scan_file(path, ABI6)
        assert (scan.state, scan.stale, len(whys(scan, "locked"))) == ("ok", 3, 1)


def test_written_while_it_is_read_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_rows, "_CHUNK_ROWS", 10)
    path = write_database(tmp_path / "gfx90a68.kdb", [fwd_row("bare", in_h=i) for i in range(200)])

    def write(done: int, total: int) -> None:
        if done < total:
            with closing(sqlite3.connect(path)) as other, other:
                other.execute("DELETE FROM kern_db WHERE id = 1")

    scan = scan_file(path, ABI6, write)
    assert (scan.state, len(whys(scan, "changed-while-read"))) == ("unreadable", 1)


def test_a_writer_is_not_kept_waiting(tmp_path: Path) -> None:
    path = write_database(tmp_path / "gfx90a68.kdb", [fwd_row("bare", in_h=i) for i in range(600)])
    written = threading.Event()

    def write(done: int, total: int) -> None:
        if not written.is_set():
            with closing(sqlite3.connect(path, timeout=20)) as other, other:
                other.execute("DELETE FROM kern_db WHERE id = 600")
            written.set()

    scan_file(path, replace(ABI6, jobs=2), write)
    assert written.is_set()


def test_rows_without_number_are_bounded_in_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from relmgr.sources.databases import scan as kernel_db

    monkeypatch.setattr(kernel_db, "MAX_FINDINGS", 2)
    rows = [fwd_row("descriptor32", in_h=i) for i in range(4)]
    rows += [replace(fwd_row("bare", in_h=9 + i), kernel_hash="") for i in range(4)]
    scan = scan_file(write_database(tmp_path / "gfx90a68.kdb", rows), replace(ABI6, most_stale_rows=2))
    assert (scan.stale, len(scan.stale_rows), scan.corrupt) == (4, 2, 4)
    assert [why for _, why in whys(scan, "more-rows")] == [
        "2 more rows with findings are not listed",
        "of 4 stale rows the first 2 are listed",
    ]


def test_an_object_with_two_conventions_is_unknown() -> None:
    from relmgr.model.code_object import CodeObject
    from relmgr.sources.code_objects.code_object import read_code_object
    from relmgr.sources.databases.scan import _classified

    bare, descriptor = (
        read_code_object(renamed(code_object(f"fwd_xdlops0.{name}.gfx90a.cov5"), b"fwd_xdlops0", tag))
        for name, tag in (("bare", b"fwd_xdlops1"), ("descriptor32", b"fwd_xdlops2"))
    )
    both = CodeObject(
        target="gfx90a", arch="gfx90a", code_object_version=5, kernels=(*bare.kernels, *descriptor.kernels)
    )
    row = kernel_rows.Row(1, "n", "", b"", "", 0)
    reading = _classified(row, both, True, MIIR.kernel_symbol)
    assert (reading.provider, reading.convention) == (True, None)


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [
        ("^mlir_gen_igemm_conv2d_", "mlir_gen_igemm_conv2d_"),
        ("^mlir_gen.*x", "mlir_gen"),
        (r"^a\.b\d+", "a.b"),
        ("^abc?d", "ab"),
        ("^abc*", "ab"),
        ("^ab{0,2}", "a"),
        (r"^a\.*b", "a"),
        ("^a|^b", None),
        ("^(abc)", None),
        ("abc", None),
        ("^", None),
        ("(?i)^abc", None),
        ("^[ab]c", None),
    ],
)
def test_the_range_of_names_that_a_pattern_can_match(pattern: str, prefix: str | None) -> None:
    assert kernel_rows.literal_prefix(pattern) == prefix
