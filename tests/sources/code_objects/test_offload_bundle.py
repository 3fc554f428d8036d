"""Offload bundles and fat binaries, made by Clang's own tools and by hand (K3)."""

from __future__ import annotations

import os
import struct
import sys
import tracemalloc
import zlib
from pathlib import Path

import pytest

from relmgr.model.code_object import InspectedObject, UnreadableCodeObject
from relmgr.sources.code_objects.device_file import read_device_code, read_file
from relmgr.sources.code_objects.offload_bundle import read_bundle, unpack_bundles
from tests.support.code_objects import bundle, compile_hip, compressed, run
from tests.support.services import need, need_module

SAMPLES = Path(__file__).parents[2] / "data" / "code_objects"
OLD = (SAMPLES / "fwd_xdlops0.descriptor32.gfx90a.cov5.hsaco").read_bytes()
NEW = (SAMPLES / "fwd_xdlops0.bare.gfx942.cov4.hsaco").read_bytes()
HOST = ("host-x86_64-unknown-linux-gnu", b"")
HIP_OLD, HIP_NEW = ("hip-amdgcn-amd-amdhsa--gfx90a", OLD), ("hipv4-amdgcn-amd-amdhsa--gfx942", NEW)
TWO = bundle(HOST, HIP_OLD, HIP_NEW)
PATTERN = "^mlir_gen_igemm_conv2d_"
KERNELS = "KERNEL one(float *a, float *b, float *c) { c[0] = a[0] + b[0]; }"
BOTH = ("--offload-arch=gfx90a", "--offload-arch=gfx942")


def found_in(path: Path, data: bytes) -> list[InspectedObject]:
    path.write_bytes(data)
    return read_file(path, PATTERN)


def facts(objects: list[InspectedObject]) -> list[tuple[str | None, str]]:
    return [(o.target, o.error or "+".join(k.convention for k in o.kernels)) for o in objects]


def targets(objects: list[InspectedObject]) -> list[tuple[str | None, list[str]]]:
    assert [o.error for o in objects] == [None] * len(objects)
    return [(o.target, [k.name for k in o.kernels]) for o in objects]


BOTH_READ = [("gfx90a", "memref-descriptor"), ("gfx942", "bare-pointer")]


@pytest.mark.parametrize("extra", [[], ["-bundle-align=4096"]])
def test_a_bundle_from_the_bundler(tmp_path: Path, extra: list[str]) -> None:
    (tmp_path / "old").write_bytes(OLD)
    (tmp_path / "new").write_bytes(NEW)
    bundler = need("clang-offload-bundler-19", "clang-tools-19")
    run(
        bundler, "-type=o", f"-targets={HOST[0]},{HIP_OLD[0]},{HIP_NEW[0]}", "-input=/dev/null", "-input=old",
        "-input=new", "-output=bundle", *extra, cwd=tmp_path,
    )  # fmt: skip
    assert facts(read_file(tmp_path / "bundle", PATTERN)) == BOTH_READ


def test_a_compressed_bundle_from_the_bundler(tmp_path: Path) -> None:
    """Clang 19 writes version 2 with zstd."""
    need_module("zstandard")
    (tmp_path / "old").write_bytes(OLD)
    bundler = need("clang-offload-bundler-19", "clang-tools-19")
    run(
        bundler, "-type=o", f"-targets={HOST[0]},{HIP_OLD[0]}", "-input=/dev/null", "-input=old", "-output=bundle",
        "-compress", cwd=tmp_path,
    )  # fmt: skip
    data = (tmp_path / "bundle").read_bytes()
    assert data[:8] == b"CCOB\x02\0\x01\0"
    assert facts(read_file(tmp_path / "bundle", PATTERN)) == BOTH_READ[:1]
    assert facts(found_in(tmp_path / "twice", data + bytes(40) + data)) == BOTH_READ[:1] * 2


def test_fat_binaries_from_the_compiler(tmp_path: Path) -> None:
    """A program of two translation units, one of them compressed: both bundles stand in one section."""
    need_module("zstandard")
    one = compile_hip(tmp_path, KERNELS, *BOTH, "-c", "-fPIC", name="one")
    two = compile_hip(tmp_path, KERNELS.replace("one", "two"), *BOTH, "-c", "-fPIC", "--offload-compress", name="two")
    run(need("ld.lld-19", "lld-19"), "-shared", one, two, "-o", "program", cwd=tmp_path)
    assert targets(read_file(one, None)) == [("gfx90a", ["one"]), ("gfx942", ["one"])]
    assert targets(read_file(tmp_path / "program", None)) == [
        ("gfx90a", ["one"]),
        ("gfx942", ["one"]),
        ("gfx90a", ["two"]),
        ("gfx942", ["two"]),
    ]


def test_plain_bundles_one_after_the_other(tmp_path: Path) -> None:
    assert facts(found_in(tmp_path / "f", TWO)) == BOTH_READ
    assert facts(found_in(tmp_path / "f", TWO + bytes(4096) + TWO)) == BOTH_READ * 2
    assert facts(found_in(tmp_path / "f", TWO + b"\0\0rest")) == [*BOTH_READ, (None, "not an offload bundle")]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_zlib_in_each_version(tmp_path: Path, version: int) -> None:
    one = compressed(TWO, version)
    assert facts(found_in(tmp_path / "f", one)) == BOTH_READ
    assert facts(found_in(tmp_path / "f", one + bytes(7) + one + TWO)) == BOTH_READ * 3


@pytest.mark.parametrize("version", [1, 2, 3])
def test_zstd_in_each_version(tmp_path: Path, version: int) -> None:
    payload = need_module("zstandard").ZstdCompressor().compress(TWO)
    one = compressed(TWO, version, payload=payload, method=1)
    assert facts(found_in(tmp_path / "f", one)) == BOTH_READ
    assert facts(found_in(tmp_path / "f", one + bytes(7) + one)) == BOTH_READ * 2


def test_without_a_zstd_decompressor_it_is_said_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("compression.zstd", "backports.zstd", "zstandard"):
        monkeypatch.setitem(sys.modules, name, None)
    (found,) = found_in(tmp_path / "f", compressed(TWO, 2, method=1))
    assert found.error == (
        "compressed with zstd, for which no decompressor is installed; "
        "pip install zstandard (or use Python 3.14, which has one)"
    )


def test_a_bad_image_does_not_hide_its_neighbours(tmp_path: Path) -> None:
    """K3: the other images are still read."""
    data = bundle(
        HIP_OLD,
        ("hip-amdgcn-amd-amdhsa--gfx906", OLD[:900]),
        ("hip-spirv64-amd-amdhsa--amdgcnspirv", b"\x03\x02\x23\x07" + bytes(20)),
        ("hip-amdgcn-amd-amdhsa--gfx908", b"BC\xc0\xde" + bytes(20)),
        HIP_NEW,
    )
    found = facts(found_in(tmp_path / "f", data))
    assert [found[0], found[4]] == BOTH_READ
    assert found[1][1].startswith("hip-amdgcn-amd-amdhsa--gfx906: ")
    assert "truncated" in found[1][1]
    assert found[2][1] == "hip-spirv64-amd-amdhsa--amdgcnspirv: SPIR-V: not compiled to a code object yet"
    assert found[3][1] == "hip-amdgcn-amd-amdhsa--gfx908: LLVM bitcode: not compiled to a code object yet"


def test_device_code_from_bytes() -> None:
    assert [o.target for o in read_device_code(TWO)] == ["gfx90a", "gfx942"]
    assert [o.target for o in read_device_code(NEW)] == ["gfx942"]
    assert read_device_code(bundle(HOST)) == []
    with pytest.raises(UnreadableCodeObject):
        read_device_code(bundle(HIP_OLD, ("hip-amdgcn-amd-amdhsa--gfx906", OLD[:900])))


def test_files_without_device_code_say_so(tmp_path: Path) -> None:
    """K2: a pointer file is named as one."""
    program = Path(sys.executable).resolve()
    (host,) = read_file(program, None)
    assert host.error == "a program for the host without device code (.hip_fatbin)"
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12\n"
    for data, said in [
        (b"", "neither an ELF file nor an offload bundle"),
        (b"hello", "neither an ELF file nor an offload bundle"),
        (pointer, "a pointer (Git LFS or DVC), not its content; fetch the content first"),
        (bundle(HOST), "it holds no device code"),
        (bundle(), "it holds no device code"),
    ]:
        assert facts(found_in(tmp_path / "f", data)) == [(None, said)]
    assert facts(read_file(tmp_path, None)) == [(None, "not a regular file")]
    assert facts(read_file(tmp_path / "none", None)) == [(None, "cannot be read: No such file or directory")]
    os.mkfifo(tmp_path / "pipe")
    assert facts(read_file(tmp_path / "pipe", None)) == [(None, "not a regular file")]


def header(count: int, *entries: tuple[int, int, int, bytes]) -> bytes:
    table = b"".join(struct.pack("<QQQ", offset, size, length) + name for offset, size, length, name in entries)
    return b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", count) + table


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"__CLANG_OFFLOAD_BUNDLE__", "header"),
        (header(1), "table"),
        (header(2**64 - 1), "18446744073709551615 entries"),
        (header(4097), "4097 entries"),
        (header(1, (0, 0, 2**64 - 1, b"x")), "name of"),
        (header(1, (0, 0, 5_000, b"x" * 5_000)), "name of 5000"),
        (header(1, (2**64 - 1, 2**64 - 1, 1, b"x")), "ends at byte"),
        (header(1, (0, 100_000, 1, b"x")), "ends at byte"),
        (header(1, (0, 8, 1, b"x")), "overlaps"),
        (header(1, (57, 0, 1, b"\x1b")), "ends at byte"),
        (header(2, (82, 8, 1, b"x"), (82, 8, 1, b"y")) + bytes(8), "overlaps"),
        (compressed(TWO, 4), "version 4"),
        (compressed(TWO, 2, method=7), "method 7"),
        (b"CCOB", "header"),
        (b"CCOB\x02\0\0\0", "header"),
        (compressed(TWO, 2)[:-5], "truncated"),
        (compressed(TWO, 1)[:-5], "gave"),
        (compressed(TWO, 3, payload=b""), "gave 0"),
        (compressed(TWO, 3, payload=b"not zlib"), "zlib"),
        (compressed(TWO, 2, declared=len(TWO) - 1), "more than"),
        (compressed(TWO, 2, declared=len(TWO) + 1), "gave"),
        (compressed(TWO, 2, declared=2**32 - 1), "4294967295 bytes, more than"),
        (compressed(TWO, 3, declared=2**64 - 1), "18446744073709551615 bytes, more than"),
        (compressed(TWO, 2, digest=bytes(8)), "digest"),
        (compressed(compressed(TWO, 2), 2), "not an offload bundle"),
        (compressed(b"", 1), "not an offload bundle"),
        (compressed(TWO, 2)[:8] + bytes(4) + compressed(TWO, 2)[12:], "truncated or corrupt"),
    ],
)
def test_hostile_bundles_are_refused_and_why(data: bytes, said: str) -> None:
    with pytest.raises(UnreadableCodeObject) as caught:
        list(unpack_bundles(data))
    assert said in caught.value.what


def test_every_truncation_of_a_bundle_is_noticed() -> None:
    for data in (bundle(HOST, HIP_NEW), compressed(TWO, 1), compressed(TWO, 3)):
        for length in range(0, len(data), 7):
            with pytest.raises(UnreadableCodeObject):
                list(unpack_bundles(data[:length]))


def test_a_zip_bomb_stops_at_the_declared_size() -> None:
    """K3: 64 MiB of zeros in 64 KiB, declared as a thousand bytes."""
    bomb = compressed(b"", 2, payload=zlib.compress(bytes(64 << 20), 9), declared=1_000)
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableCodeObject, match="more than its 1000 bytes"):
            list(unpack_bundles(bomb))
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_a_zstd_bomb_stops_at_the_declared_size() -> None:
    payload = need_module("zstandard").ZstdCompressor().compress(bytes(256 << 20))
    bomb = compressed(b"", 3, payload=payload, method=1, declared=1_000)
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableCodeObject, match="more than its 1000 bytes"):
            list(unpack_bundles(bomb))
        assert tracemalloc.get_traced_memory()[1] < 200 << 20
    finally:
        tracemalloc.stop()


def test_the_length_of_a_bundle_ends_with_its_last_image() -> None:
    entries, length = read_bundle(TWO + b"more")
    assert [(e.identity, bytes(e.image)) for e in entries] == [HOST, HIP_OLD, HIP_NEW]
    assert length == len(TWO)
