"""What file names say (K5: the arch is matched exactly)."""

from __future__ import annotations

import pytest

from relmgr.sources.databases.names import KNOWN_ARCHS, parse_database_name


@pytest.mark.parametrize(
    ("path", "kind", "arch", "units", "packing", "dvc"),
    [
        ("src/kernels/gfx906_60.kdb", "kdb", "gfx906", 60, None, False),
        ("src/kernels/gfx906_64.kdb.bz2", "kdb", "gfx906", 64, "bz2", False),
        ("gfx90878.kdb", "kdb", "gfx908", 120, None, False),
        ("gfx90a68.kdb.bz2", "kdb", "gfx90a", 104, "bz2", False),
        ("gfx90a6e.ukdb", "ukdb", "gfx90a", 110, None, False),
        ("gfx90a.kdb.bz2", "kdb", "gfx90a", None, "bz2", False),
        ("gfx942.kdb.bz2.dvc", "kdb", "gfx942", None, "bz2", True),
        ("gfx942130.db", "perf-db", "gfx942", 304, None, False),
        ("gfx1030_36.HIP.fdb.txt.bz2", "find-db", "gfx1030", 36, "bz2", False),
        ("gfx803_64.OpenCL.fdb.txt", "find-db", "gfx803", 64, None, False),
        ("C:\\cache\\gfx900_56.ukdb", "ukdb", "gfx900", 56, None, False),
        ("gfx906_nosramecc_60.kdb", "kdb", "gfx906", 60, None, False),
        ("gfx90a_sramecc_xnack68.ukdb", "ukdb", "gfx90a", 104, None, False),
        ("gfx908_xnack.kdb", "kdb", "gfx908", None, None, False),
    ],
)
def test_reads_names_of_every_era(
    path: str, kind: str, arch: str, units: int | None, packing: str | None, dvc: bool
) -> None:
    name = parse_database_name(path)
    assert (name.kind, name.arch, name.cu_count, name.packing, name.dvc) == (kind, arch, units, packing, dvc)
    assert name.known_arch


def test_base_keeps_back_end_and_version() -> None:
    assert parse_database_name("gfx906_60.HIP.fdb.txt").base == "gfx906_60.HIP"
    user = parse_database_name("gfx906_60.HIP.2_18_0_1234.ufdb.txt")
    assert (user.base, user.cu_count, user.user) == ("gfx906_60.HIP.2_18_0_1234", 60, True)


@pytest.mark.parametrize(
    ("path", "arch", "units"),
    [
        ("gfx9999_40.kdb", "gfx9999", 40),
        ("gfx90b68.kdb", "gfx90b68", None),
        # 64 compute units are written `_64`; 40 in hexadecimal is no spelling of anything.
        ("gfx90a40.kdb", "gfx90a40", None),
        ("gfx906_65.kdb", "gfx906_65", None),
        ("miopen.db", None, None),
    ],
)
def test_an_unknown_arch_is_never_guessed(path: str, arch: str | None, units: int | None) -> None:
    name = parse_database_name(path)
    assert (name.arch, name.cu_count, name.known_arch) == (arch, units, False)


def test_k5_a_shorter_arch_does_not_swallow_a_longer_one() -> None:
    archs = ("gfx90", "gfx90a")
    assert parse_database_name("gfx90a.kdb", archs).arch == "gfx90a"
    assert parse_database_name("gfx90a68.kdb", archs).arch == "gfx90a"
    assert parse_database_name("gfx9068.kdb", archs).arch == "gfx90"
    assert not parse_database_name("gfx90b.kdb", archs).known_arch


def test_every_known_arch_reads_back_with_either_spelling() -> None:
    for arch in KNOWN_ARCHS:
        for units, text in ((None, ""), (36, "_36"), (64, "_64"), (65, "41"), (120, "78"), (304, "130")):
            name = parse_database_name(f"{arch}{text}.kdb")
            assert (name.arch, name.cu_count) == (arch, units), name


@pytest.mark.parametrize("path", ["README.md", "gfx90a.kdb.zip", ".kdb", "gfx90a.kdbx", "gfx906.dvc", ""])
def test_other_files_are_not_databases(path: str) -> None:
    assert parse_database_name(path).kind == "other"
