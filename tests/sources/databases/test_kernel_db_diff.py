"""What changed between two databases; the kind of MIOpen#3023, a kernel that gained parameters."""

from __future__ import annotations

import bz2
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from relmgr.errors import SourceError
from relmgr.sources.databases.diff import diff_databases
from tests.support.databases import code_object, fwd_row, kernel_row, other_row, renamed, write_database, wrw_row

PATTERN = "^mlir_gen_igemm_conv2d_"


def test_rows_added_removed_changed_and_the_same(tmp_path: Path) -> None:
    old = write_database(tmp_path / "old.kdb", [fwd_row("bare"), wrw_row("bare"), fwd_row("bare", in_h=2)])
    new = write_database(
        tmp_path / "new.kdb", [fwd_row("bare", in_h=3), fwd_row("bare"), fwd_row("bare", in_h=2, version=6)]
    )
    diff = diff_databases(old, new, PATTERN)
    assert [row.kernel_args for row in diff.added] == [fwd_row("bare", in_h=3).kernel_args]
    assert [row.kernel_name for row in diff.removed] == ["mlir_gen_igemm_conv2d_v4r4_wrw0.mlir.o"]
    assert [(row.old_hash, row.new_hash) for row in diff.changed] == [
        (fwd_row("bare").kernel_hash, fwd_row("bare", version=6).kernel_hash)
    ]
    assert (diff.same, diff.signature_changed, diff.findings) == (1, (), ())


def test_any_kernels_changed_arguments_stand_side_by_side(tmp_path: Path) -> None:
    name, args = "gemm_kernel.cpp.o", " -O3 -mcpu=gfx90a"
    three = renamed(code_object("fwd_xdlops0.bare.gfx90a.cov5"), b"mlir_gen_igemm_conv2d_v4r4_fwd_xdlops0", b"k" * 38)
    four = renamed(code_object("wrw0_workspace.bare.gfx90a.cov5"), b"mlir_gen_igemm_conv2d_v4r4_wrw0", b"k" * 31)
    old = write_database(tmp_path / "old.kdb", [kernel_row(name, args, three)])
    new = write_database(tmp_path / "new.kdb", [kernel_row(name, args, four)])
    (change,) = diff_databases(old, new, PATTERN).signature_changed
    assert (change.kernel_name, change.kernel_args) == (name, args)
    assert [(a.offset, a.size, a.kind) for a in change.old[0].explicit_args] == [
        (0, 8, "global_buffer"),
        (8, 8, "global_buffer"),
        (16, 8, "global_buffer"),
    ]
    assert len(change.new[0].explicit_args) == 4
    assert (change.old[0].convention, change.new[0].provider_kernel) == ("other", False)


def test_the_abi_crossing_shows_as_a_changed_signature(tmp_path: Path) -> None:
    old = write_database(tmp_path / "old.kdb", [fwd_row("descriptor32"), other_row("bare")])
    new = write_database(tmp_path / "new.kdb", [fwd_row("bare"), other_row("bare")])
    (change,) = diff_databases(old, new, PATTERN).signature_changed
    assert [(k.convention, k.explicit_bytes) for k in (*change.old, *change.new)] == [
        ("memref-descriptor", 188),
        ("bare-pointer", 24),
    ]


def test_packed_and_plain_compare_and_bytes_of_the_same_object_may_differ(tmp_path: Path) -> None:
    row = fwd_row("bare")
    old = write_database(tmp_path / "old.kdb", [row])
    plain = write_database(
        tmp_path / "x.kdb", [replace(row, kernel_blob=bz2.decompress(row.kernel_blob), uncompressed_size=0)]
    )
    new = tmp_path / "new.kdb.bz2"
    new.write_bytes(bz2.compress(plain.read_bytes()))
    diff = diff_databases(old, new, PATTERN)
    assert (diff.same, diff.changed) == (1, ())


def test_k3_a_row_that_cannot_be_read_is_a_finding_of_its_side(tmp_path: Path) -> None:
    old = write_database(tmp_path / "old.kdb", [fwd_row("bare"), fwd_row("bare", in_h=2)])
    new = write_database(
        tmp_path / "new.kdb",
        [replace(fwd_row("descriptor32"), kernel_blob=b"x"), fwd_row("descriptor32", in_h=2)],
    )
    diff = diff_databases(old, new, PATTERN)
    assert (len(diff.changed), len(diff.signature_changed)) == (2, 1)
    assert [(f.side, f.row, f.why) for f in diff.findings] == [("new", 1, "corrupt bz2 data")]


def test_names_that_are_no_valid_text_are_still_compared(tmp_path: Path) -> None:
    paths = []
    for name in ("old.kdb", "new.kdb"):
        path = write_database(tmp_path / name, [fwd_row("bare", in_h=i) for i in range(3)])
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE kern_db SET kernel_args = CAST(x'ff' AS TEXT) WHERE id = 2")
        paths.append(path)
    assert diff_databases(*paths, PATTERN).same == 3


def test_k2_a_pointer_is_refused_with_what_it_stands_for(tmp_path: Path) -> None:
    old = tmp_path / "gfx90a.kdb"
    old.write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{'5b' * 32}\nsize 12\n")
    with pytest.raises(SourceError, match=f"pointer, not content: git-lfs sha256:{'5b' * 32}"):
        diff_databases(old, write_database(tmp_path / "new.kdb", []), PATTERN)


def test_lists_are_bounded_and_say_how_many_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from relmgr.sources.databases import diff as kernel_db_diff

    monkeypatch.setattr(kernel_db_diff, "MAX_LISTED", 2)
    old = write_database(tmp_path / "old.kdb", [])
    new = write_database(tmp_path / "new.kdb", [fwd_row("bare", in_h=i) for i in range(5)])
    diff = diff_databases(old, new, PATTERN)
    assert (len(diff.added), diff.more) == (2, {"added": 3})
