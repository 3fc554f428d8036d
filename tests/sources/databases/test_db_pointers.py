"""K2: a pointer is recognised as one, with its oid and size; nothing else is."""

from __future__ import annotations

import pytest

from relmgr.sources.databases.pointers import parse_pointer

OID = "55b9613a940d606f898ca1bde4dd5010a30242137c23c45d7c8c0700ac4e2b00"
LFS = f"version https://git-lfs.github.com/spec/v1\noid sha256:{OID}\nsize 536465408\n"
DVC = "outs:\n- md5: 0a1b2c3d4e5f60718293a4b5c6d7e8f9\n  size: 337000000\n  hash: md5\n  path: gfx90a.kdb.bz2\n"


def test_k2_git_lfs() -> None:
    pointer = parse_pointer(LFS.encode())
    assert pointer is not None
    assert (pointer.form, pointer.algorithm, pointer.oid, pointer.size) == ("git-lfs", "sha256", OID, 536465408)


@pytest.mark.parametrize(
    "text", [LFS.replace("\n", "\r\n"), LFS.rstrip("\n"), LFS.replace("size", "ext-0-x sha\nsize")]
)
def test_k2_git_lfs_as_it_occurs(text: str) -> None:
    pointer = parse_pointer(text.encode())
    assert pointer is not None
    assert (pointer.oid, pointer.size) == (OID, 536465408)


def test_k2_dvc() -> None:
    pointer = parse_pointer(DVC.encode())
    assert pointer is not None
    assert (pointer.form, pointer.algorithm, pointer.oid) == ("dvc", "md5", "0a1b2c3d4e5f60718293a4b5c6d7e8f9")
    assert (pointer.size, pointer.path) == (337000000, "gfx90a.kdb.bz2")


def test_k2_dvc_without_size_or_with_a_frozen_stage_head() -> None:
    head = "md5: ffffffffffffffffffffffffffffffff\nfrozen: true\n"
    pointer = parse_pointer((head + DVC.replace("  size: 337000000\n", "")).encode())
    assert pointer is not None
    assert (pointer.oid, pointer.size) == ("0a1b2c3d4e5f60718293a4b5c6d7e8f9", None)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"SQLite format 3\0outs:\n",
        b"BZh91AY&SY",
        LFS.replace("sha256", "md5").encode(),
        LFS.replace(OID, OID[:-1]).encode(),
        LFS.encode() + b"x" * 2000,
        b"outs:\n- md5: nothex\n",
        b"outs: &a [*a]\n",
        b"outs:\n" + b"[" * 5000,
        b"outs: []\n",
        b"outs:\n- md5: 12345678901234567890123456789012\n",
        b"\xff\xfeouts:\n",
    ],
)
def test_anything_else_is_no_pointer(data: bytes) -> None:
    assert parse_pointer(data) is None
