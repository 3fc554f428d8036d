"""Kept scans: same bytes, same question, same answer; anything else is read anew (K4)."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from relmgr.model.kernel_db import FileScan
from relmgr.settings import load_project
from relmgr.sources.databases import scan_cache
from relmgr.sources.databases.scan import ScanRules, scan_file
from relmgr.sources.databases.scan_cache import cache_folder, join_key, scan_cached, scan_key
from tests.support.databases import fwd_row, write_database

MIIR = load_project("miopen-rocmlir").contracts["miir"]
RULES = ScanRules(symbol=MIIR.kernel_symbol, solvers=MIIR.solvers, convention="bare-pointer")


def entries() -> list[Path]:
    return sorted(cache_folder().glob("*.json"))


def test_a_second_scan_reads_no_row(tmp_path: Path) -> None:
    path = write_database(tmp_path / "gfx90a68.kdb", [fwd_row("descriptor32"), fwd_row("bare", in_h=2)])
    calls: list[int] = []
    first = scan_cached(path, RULES, lambda done, total: calls.append(done))
    assert (first, calls) == (scan_file(path, RULES), [2])
    assert scan_cached(path, RULES, lambda done, total: calls.append(done)) == first
    assert (calls, len(entries())) == ([2], 1)


def test_another_place_is_told_as_that_place(tmp_path: Path) -> None:
    one = write_database(tmp_path / "2.17" / "gfx90a68.ukdb", [fwd_row("bare")])
    two = tmp_path / "2.18" / "gfx90a68.ukdb"
    two.parent.mkdir()
    two.write_bytes(one.read_bytes())
    assert scan_cached(one, RULES).cache_version == "2.17"
    again = scan_cached(two, RULES)
    assert (again.path, again.cache_version, len(entries())) == (str(two), "2.18", 1)


def test_changed_content_is_read_anew(tmp_path: Path) -> None:
    path = write_database(tmp_path / "gfx90a68.kdb", [fwd_row("descriptor32")])
    assert scan_cached(path, RULES).stale == 1
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM kern_db")
    assert scan_cached(path, RULES).stale == 0


def test_k4_every_part_of_the_question_is_in_the_key(tmp_path: Path) -> None:
    path = Path("gfx90a68.kdb")
    asked = [
        ("aa", path, RULES),
        ("ab", path, RULES),
        ("aa", Path("gfx908.kdb"), RULES),
        ("aa", path, replace(RULES, convention="memref-descriptor")),
        ("aa", path, replace(RULES, convention=None)),
        ("aa", path, replace(RULES, symbol="^x")),
        ("aa", path, replace(RULES, solvers={})),
        ("aa", path, replace(RULES, verify=False)),
        ("aa", path, replace(RULES, deep=True)),
    ]
    assert len({scan_key(*question) for question in asked}) == len(asked)
    assert scan_key("aa", path, RULES) == scan_key("aa", path, replace(RULES, jobs=7))


def test_k4_another_version_of_the_tool_asks_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    before = scan_key("aa", Path("x.kdb"), RULES)
    monkeypatch.setattr(scan_cache, "__version__", "99")
    assert scan_key("aa", Path("x.kdb"), RULES) != before


def test_k4_parts_that_join_to_one_text_are_two_keys() -> None:
    assert join_key(["gfx90", "a1"]) != join_key(["gfx90a", "1"])
    assert join_key(["ab", ""]) != join_key(["a", "b"])
    assert join_key(["a"]) != join_key(["a", ""])


@pytest.mark.parametrize("content", [b"", b"{", b'{"path": 1}', b"\xff\xfe"])
def test_an_entry_that_cannot_be_read_is_no_entry(tmp_path: Path, content: bytes) -> None:
    path = write_database(tmp_path / "gfx90a68.kdb", [fwd_row("descriptor32")])
    scan_cached(path, RULES)
    entries()[0].write_bytes(content)
    assert scan_cached(path, RULES).stale == 1
    assert FileScan.model_validate_json(entries()[0].read_bytes()).stale == 1


def test_what_could_not_be_read_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "gfx90a68.kdb"
    path.write_bytes(b"no database")
    assert scan_cached(path, RULES).state == "unreadable"
    assert entries() == []


def test_a_database_with_rows_in_its_log_is_not_kept(tmp_path: Path) -> None:
    path = write_database(tmp_path / "gfx90a68.kdb", [fwd_row("descriptor32"), fwd_row("bare", in_h=3)], mode="wal")
    with closing(sqlite3.connect(path)) as other:
        other.execute("DELETE FROM kern_db WHERE id = 2")
        other.commit()
        assert scan_cached(path, RULES).rows == 1
    assert entries() == []


def test_a_cache_that_cannot_be_written_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    path = write_database(tmp_path / "gfx90a68.kdb", [fwd_row("descriptor32")])
    assert scan_cached(path, RULES).stale == 1


def test_old_entries_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan_cache, "MAX_ENTRIES", 3)
    for i in range(5):
        scan_cached(write_database(tmp_path / f"gfx90a68.{i}.kdb", [fwd_row("bare")]), RULES)
    assert len(entries()) == 3
