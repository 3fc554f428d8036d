"""Parameter layouts of CUDA kernels, of both ELF ABIs that NVRTC has written (source: data/cubins/layouts.cu)."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from relmgr.model.code_object import UnreadableCodeObject, classify
from relmgr.sources.code_objects.cubin import read_cuda
from relmgr.sources.code_objects.elf import read_elf

CUBINS = sorted((Path(__file__).parents[2] / "data" / "cubins").glob("*.cubin"))
EXPANDED = [
    extent
    for base in (0, 64, 128)
    for extent in [(base, 8), (base + 8, 8), *[(base + 16 + 4 * i, 4) for i in range(11)]]
]
LAYOUTS = {
    "empty": [],
    "mixed": [(0, 1), (8, 8), (16, 2), (24, 8), (32, 8)],
    "smoke_bare": [(0, 8), (8, 8), (16, 8)],
    "smoke_expanded": EXPANDED,
    "smoke_narrow": [(0, 64), (64, 64), (128, 64)],
    "smoke_wide": [(0, 104), (104, 104), (208, 104), (312, 104)],
}


def test_the_cubins_are_here() -> None:
    assert [c.name.split(".")[1:3] for c in CUBINS] == [["sm_70", "cuda12"], ["sm_90", "cuda12"], ["sm_90", "cuda13"]]


@pytest.mark.parametrize("cubin", CUBINS, ids=lambda p: p.stem)
def test_each_kernels_parameters(cubin: Path) -> None:
    found = read_cuda(read_elf(cubin.read_bytes()))
    arch = cubin.name.split(".")[1]
    assert (found.target, found.arch, found.code_object_version) == (arch, arch, None)
    assert {k.symbol: [(a.offset, a.size) for a in k.explicit_args] for k in found.kernels} == LAYOUTS
    assert {a.kind for k in found.kernels for a in k.explicit_args} == {"parameter"}
    assert {k.symbol: (k.explicit_bytes, k.segment_bytes) for k in found.kernels} == {
        "empty": (0, 0),
        "mixed": (40, 40),
        "smoke_bare": (24, 24),
        "smoke_expanded": (188, 188),
        "smoke_narrow": (192, 192),
        "smoke_wide": (416, 416),
    }


@pytest.mark.parametrize("cubin", CUBINS, ids=lambda p: p.stem)
def test_conventions_by_offset_and_size(cubin: Path) -> None:
    layouts = {k.symbol: classify(k, "^(smoke_|mixed)") for k in read_cuda(read_elf(cubin.read_bytes())).kernels}
    assert {name: (x.convention, x.form, x.tensors, x.index_bits) for name, x in layouts.items()} == {
        "empty": ("other", None, None, None),
        "mixed": ("other", None, None, None),
        "smoke_bare": ("bare-pointer", None, 3, None),
        "smoke_expanded": ("memref-descriptor", "expanded", 3, 32),
        "smoke_narrow": ("memref-descriptor", "by-value", 3, 32),
        "smoke_wide": ("memref-descriptor", "by-value", 4, 64),
    }


def parameter(ordinal: int, offset: int, size: int) -> bytes:
    return struct.pack("<BBHIHHI", 4, 0x17, 12, 0, ordinal, offset, size << 18 | 0x1F000)


GOOD = parameter(1, 8, 8) + parameter(0, 0, 8) + struct.pack("<BBH", 3, 0x19, 16)


def cubin_with(attributes: bytes, name: bytes = b"k") -> bytes:
    """Return a minimal cubin with one kernel's attributes."""
    names = b"\0.nv.info." + name + b"\0.shstrtab\0"
    body = names + attributes
    identity = b"\x7fELF\x02\x01\x01\x33\x07" + bytes(7)
    header = identity + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 64, 0x50, 64, 56, 0, 64, 3, 2)
    table_end = 64 + 3 * 64
    sections = [
        (0, 0, 0, 0),
        (1, 0x70000000, table_end + len(names), len(attributes)),
        (len(names) - 10, 3, table_end, len(names)),
    ]
    table = b"".join(struct.pack("<IIQQQQIIQQ", n, k, 0, 0, o, s, 0, 0, 1, 0) for n, k, o, s in sections)
    return header + table + body


def test_the_cubin_that_the_next_tests_spoil_is_good() -> None:
    found = read_cuda(read_elf(cubin_with(GOOD)))
    assert (found.target, found.kernels[0].symbol, found.kernels[0].explicit_bytes) == ("sm_80", "k", 16)


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        (GOOD[:-1], "middle"),
        (GOOD + struct.pack("<BBH", 4, 0x17, 500), "past its section"),
        (GOOD + parameter(0, 0, 8), "twice"),
        (GOOD + parameter(3, 0, 8), "missing"),
        (GOOD + parameter(60_000, 0, 8), "too high"),
        (GOOD + parameter(2, 16, 8), "end at byte 24 of 16"),
        (parameter(0, 0, 8), "end at byte 8 of 0"),
    ],
)
def test_attributes_that_lie(attributes: bytes, said: str) -> None:
    """K3."""
    with pytest.raises(UnreadableCodeObject) as caught:
        read_cuda(read_elf(cubin_with(attributes)))
    assert said in caught.value.what


def test_a_name_that_is_no_name() -> None:
    for name in (b"", b"a\x1b[2J", b"k" * 20_000):
        with pytest.raises(UnreadableCodeObject):
            read_cuda(read_elf(cubin_with(GOOD, name)))


def test_every_truncation_is_noticed() -> None:
    data = CUBINS[2].read_bytes()
    for length in range(0, len(data), 11):
        with pytest.raises(UnreadableCodeObject):
            read_cuda(read_elf(data[:length]))
