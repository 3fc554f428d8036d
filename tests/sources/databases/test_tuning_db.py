"""Find-dbs and perf-dbs: the kind of MIOpen#1984, entries that lead to solvers which are gone."""

from __future__ import annotations

import bz2
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from relmgr.sources.databases import tuning as tuning_db
from relmgr.sources.databases.tuning import read_tuning_file, read_tuning_text

MLIR = ("ConvMlirIgemmFwd", "ConvMlirIgemmBwd")
REMOVED = ("ConvGone", "ConvMlirIgemmBwd")
# The first record as files have it since 2023, the second and third as before.
TEXT = b"""\
64-56-56-1x1-64-56-56-128-0x0-1x1-1x1-0-NCHW-FP32-F=ConvMlirIgemmFwd:0.1,0,algo;ConvAsm1x1U:0.2,1024,algo
64-56-56-1x1-64-56-56-128-0x0-1x1-1x1-0-NCHW-FP32-B=algoB:ConvMlirIgemmBwd,0.3,0,algoB,<unused>
64-56-56-1x1-64-56-56-128-0x0-1x1-1x1-0-NCHW-FP32-W=algoW:ConvGone,1.5e-2,0,algoW,<unused>;algoG:Gemm,2,72,g,not used
"""


def test_a_find_db_of_both_forms(tmp_path: Path) -> None:
    path = tmp_path / "gfx906_60.HIP.fdb.txt"
    path.write_bytes(TEXT)
    found = read_tuning_file(path, MLIR, REMOVED)
    assert (found.state, found.kind, found.arch, found.cu_count) == ("ok", "find-db", "gfx906", 60)
    assert (found.entries, found.mlir_entries, found.not_understood) == (3, 2, 0)
    assert found.solvers == {"ConvAsm1x1U": 1, "ConvGone": 1, "ConvMlirIgemmBwd": 1, "ConvMlirIgemmFwd": 1, "Gemm": 1}
    assert found.mlir_solvers == {"ConvMlirIgemmBwd": 1, "ConvMlirIgemmFwd": 1}
    assert found.removed == {"ConvGone": 1, "ConvMlirIgemmBwd": 1}
    assert [(entry.at, entry.solver, entry.key[-6:]) for entry in found.removed_entries] == [
        (2, "ConvMlirIgemmBwd", "FP32-B"),
        (3, "ConvGone", "FP32-W"),
    ]


def test_packed_and_from_pieces_the_same(tmp_path: Path) -> None:
    path = tmp_path / "gfx906_60.HIP.fdb.txt.bz2"
    path.write_bytes(bz2.compress(TEXT))
    pieces = [TEXT[i : i + 7] for i in range(0, len(TEXT), 7)]
    from_git = read_tuning_text(path.name, pieces, MLIR, REMOVED)
    assert read_tuning_file(path, MLIR, REMOVED).model_copy(update={"path": path.name}) == from_git


def test_what_is_not_understood_is_counted_and_the_rest_read(tmp_path: Path) -> None:
    path = tmp_path / "gfx906_60.HIP.fdb.txt"
    path.write_bytes(b"no equals sign\nkey=\nkey=:1,2\r\n\n# note\nkey=ConvMlirIgemmFwd:0.1,0,a;broken")
    found = read_tuning_file(path, MLIR, REMOVED)
    assert (found.entries, found.mlir_entries, found.not_understood) == (1, 1, 4)
    assert found.findings == ("4 entries were not understood",)


def perf_db(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            "CREATE TABLE config(id INTEGER PRIMARY KEY ASC, layout TEXT, in_h INT);"
            "CREATE TABLE perf_db(id INTEGER PRIMARY KEY ASC, solver TEXT NOT NULL, config INTEGER, params TEXT);"
            "INSERT INTO config VALUES (7, 'NCHW', 56);"
            "INSERT INTO perf_db VALUES (1, 'ConvMlirIgemmFwd', 7, '256,32'), (2, 'ConvGone', 7, 'x'),"
            " (3, 'ConvAsm1x1U', 9, '');"
        )
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_a_perf_db(tmp_path: Path, packed: bool) -> None:
    path = perf_db(tmp_path / "gfx942130.db")
    if packed:
        path = tmp_path / "gfx942130.db.bz2"
        path.write_bytes(bz2.compress((tmp_path / "gfx942130.db").read_bytes()))
    found = read_tuning_file(path, MLIR, REMOVED)
    assert (found.kind, found.arch, found.cu_count) == ("perf-db", "gfx942", 304)
    assert (found.entries, found.mlir_entries, found.removed) == (3, 1, {"ConvGone": 1})
    assert [(entry.at, entry.key) for entry in found.removed_entries] == [(2, "layout=NCHW in_h=56")]


def test_a_users_perf_db_in_text_names_its_solvers_first(tmp_path: Path) -> None:
    path = tmp_path / "gfx906_60.2_18_0.udb.txt"
    path.write_bytes(b"key=ConvMlirIgemmFwd:v2,256;ConvAsm1x1U:1,8\n")
    assert read_tuning_file(path, MLIR, REMOVED).solvers == {"ConvAsm1x1U": 1, "ConvMlirIgemmFwd": 1}


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("gfx906_60.HIP.fdb.txt.bz2", bz2.compress(TEXT)[:-9], "truncated"),
        ("gfx906_60.HIP.fdb.txt.bz2", b"BZh9garbage-garbage", "corrupt bz2"),
        ("gfx906_60.HIP.fdb.txt", b"x" * 3_000_000, "not a text database"),
        ("gfx906_60.db", b"SQLite format 3\0" + b"\xff" * 200, "SQLite cannot"),
    ],
)
def test_k3_what_cannot_be_read_has_no_counts(tmp_path: Path, name: str, content: bytes, why: str) -> None:
    (tmp_path / name).write_bytes(content)
    found = read_tuning_file(tmp_path / name, MLIR, REMOVED)
    assert (found.state, found.entries, found.mlir_entries) == ("unreadable", None, None)
    assert why in found.findings[0]


def test_k2_a_pointer(tmp_path: Path) -> None:
    path = tmp_path / "gfx90a.db"
    path.write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{'5b' * 32}\nsize 12\n")
    found = read_tuning_file(path, MLIR, REMOVED)
    assert (found.state, found.entries, found.pointer and found.pointer.size) == ("pointer", None, 12)


def test_lists_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning_db, "MAX_LISTED", 2)
    monkeypatch.setattr(tuning_db, "MAX_SOLVERS", 3)
    text = b"".join(b"key=Conv%d:1,2;ConvGone:1,2\n" % i for i in range(9))
    found = read_tuning_text("gfx906_60.HIP.fdb.txt", [text], MLIR, REMOVED)
    assert (found.removed, len(found.removed_entries)) == ({"ConvGone": 9}, 2)
    assert found.solvers == {"(more)": 7, "Conv0": 1, "Conv1": 1, "ConvGone": 9}
