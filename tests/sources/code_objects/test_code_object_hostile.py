"""K3: truncated, corrupt and hostile code objects end in `UnreadableCodeObject` that says why, at bounded cost."""

from __future__ import annotations

import struct
import tracemalloc
from pathlib import Path
from typing import Any

import msgpack
import pytest

from relmgr.errors import SourceError
from relmgr.model.code_object import UnreadableCodeObject
from relmgr.sources.code_objects.code_object import read_code_object
from tests.support.code_objects import amdgpu_elf, kernel_map, metadata_map, object_with

SAMPLE = Path(__file__).parents[2] / "data" / "code_objects" / "fwd_xdlops0.descriptor32.gfx90a.cov5.hsaco"
POINTER = (0, 8, "global_buffer")


def reason(data: bytes) -> str:
    with pytest.raises(UnreadableCodeObject) as caught:
        read_code_object(data)
    assert isinstance(caught.value, SourceError)
    return caught.value.what


def peak_mib(data: bytes) -> float:
    """Return the memory that the reader takes at most, in MiB, for an object it must refuse."""
    tracemalloc.start()
    try:
        reason(data)
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def test_every_truncation_is_noticed() -> None:
    """K3: also where the note itself is whole, as the section table stands at the end of the file."""
    data = SAMPLE.read_bytes()
    for length in range(len(data)):
        reason(data[:length])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "too short"),
        (b"\x7fELF", "an ELF file of 4 bytes: too short"),
        (bytes(64), "not an ELF file"),
        (amdgpu_elf(machine=62), "for machine 62"),
        (amdgpu_elf(os_abi=0), "OS ABI 0"),
        (amdgpu_elf(abi_version=9), "version 9"),
        (amdgpu_elf(), "no AMDGPU metadata note"),
        (amdgpu_elf((b"GNU\0", 32, b"\x80")), "no AMDGPU metadata note"),
        (amdgpu_elf((b"AMDGPU\0", 31, b"\x80")), "no AMDGPU metadata note"),
        (amdgpu_elf(*[(b"AMDGPU\0", 32, msgpack.packb(metadata_map()))] * 2), "more than one"),
        (object_with(b"\x80" + b"\0"), "not valid"),
        (object_with(b"\x81"), "not valid"),
        (object_with([1]), "no map"),
        (object_with({1: 2}), "not valid"),
        (object_with({"amdhsa.kernels": {}}), "no list"),
        (object_with({"amdhsa.kernels": [], "amdhsa.target": 5}), "no text"),
        (object_with({"amdhsa.kernels": []}, flags=0xFF), "processor 0xff is unknown"),
        (object_with(metadata_map(target="nvptx64-nvidia-cuda")), "not understood"),
        (object_with(metadata_map(target="amdgcn-amd-amdhsa--gfx90a;rm")), "not understood"),
        (object_with(metadata_map(7)), "not valid"),
        (object_with(metadata_map({})), "not valid"),
        (object_with(metadata_map(kernel_map(), kernel_map())), "two kernels of one symbol"),
        (object_with(metadata_map(kernel_map(name="a\x1b[2J"))), "name"),
        (object_with(metadata_map(kernel_map(name=""))), "name"),
        (object_with(metadata_map(kernel_map(name=5))), "not valid"),
        (object_with(metadata_map(kernel_map(name="k" * 70_000))), "name"),
        (object_with(metadata_map(kernel_map(segment=-1))), "segment"),
        (object_with(metadata_map(kernel_map(segment=2**40))), "segment"),
        (object_with(metadata_map(kernel_map(segment="8"))), "segment"),
        (object_with(metadata_map(kernel_map((0, 9, "by_value"), segment=8))), "end at byte 9"),
        (object_with(metadata_map(kernel_map((-8, 8, "by_value")))), "argument"),
        (object_with(metadata_map(kernel_map((0, -8, "by_value")))), "argument"),
        (object_with(metadata_map(kernel_map((2**63, 8, "by_value")))), "end at byte"),
        (object_with(metadata_map(kernel_map((0, 8, "x" * 65)))), "kind"),
        (object_with(metadata_map(kernel_map((0, 8, "\n")))), "kind"),
        (object_with(metadata_map(kernel_map((0, 8, "hidden_" + "x" * 65)))), "kind"),
        (object_with(metadata_map(kernel_map((b"x", 8, "hidden_none")))), "not valid"),
        (object_with(metadata_map(kernel_map((0, 8, [])))), "not valid"),
        (object_with(metadata_map(kernel_map((0, 8, 5)))), "not valid"),
        (object_with(metadata_map(kernel_map(([], 8, "by_value")))), "not valid"),
        (object_with(metadata_map(kernel_map((float("nan"), 8, "by_value")))), "not valid"),
        (object_with(metadata_map(kernel_map((float("inf"), 8, "by_value")))), "not valid"),
        (object_with(metadata_map(kernel_map((0.5, 8, "by_value")))), "argument"),
        (object_with(metadata_map(kernel_map(*[POINTER] * 2049))), "2049 arguments"),
        (object_with(metadata_map({**kernel_map(), ".args": 5})), "not valid"),
        (object_with(metadata_map({**kernel_map(), ".args": "abc"})), "not valid"),
        (object_with(metadata_map({**kernel_map(), ".args": {"a": 1}})), "not valid"),
    ],
)
def test_what_is_refused_and_why(data: bytes, said: str) -> None:
    assert said in reason(data)


def with_header(**fields: int) -> bytes:
    """Return a good object with fields of its ELF header overwritten."""
    data = bytearray(object_with(metadata_map(kernel_map(POINTER))))
    places = {
        "segments": (32, "<Q"), "sections": (40, "<Q"), "segment_size": (54, "<H"), "segment_count": (56, "<H"),
        "section_size": (58, "<H"), "section_count": (60, "<H"), "note_offset": (72, "<Q"), "note_size": (96, "<Q"),
        "note_name_size": (120, "<I"), "note_content_size": (124, "<I"),
    }  # fmt: skip
    for name, value in fields.items():
        at, form = places[name]
        struct.pack_into(form, data, at, value)
    return bytes(data)


def test_the_object_that_the_next_tests_spoil_is_good() -> None:
    assert len(read_code_object(with_header()).kernels) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"segments": 2**64 - 1},
        {"segments": 2**63},
        {"segment_count": 0xFFFF},
        {"segment_size": 0},
        {"segment_size": 1},
        {"sections": 2**64 - 64, "section_count": 1},
        {"sections": 1, "section_count": 0xFFFF},
        {"sections": 1, "section_size": 0},
        {"sections": 1 << 40, "section_count": 0},
        {"note_offset": 2**64 - 1},
        {"note_offset": 1 << 40},
        {"note_size": 2**64 - 1},
        {"note_size": 1 << 31},
        {"note_size": 0},
        {"note_name_size": 2**32 - 1},
        {"note_content_size": 2**32 - 1},
        {"note_name_size": 2**32 - 1, "note_content_size": 2**32 - 1},
    ],
    ids=str,
)
def test_offsets_and_sizes_that_lie(fields: dict[str, int]) -> None:
    reason(with_header(**fields))


def test_parts_that_overlap_are_refused() -> None:
    """K3: a thousand note segments over one area would read it a thousand times."""
    good = object_with(metadata_map())
    header = bytearray(good[:64])
    struct.pack_into("<H", header, 56, 1000)
    segments = struct.pack("<IIQQQQQQ", 4, 4, 64 + 56_000, 0, 0, 1 << 20, 1 << 20, 4) * 1000
    notes = (struct.pack("<III", 0, 0, 1) * (1 << 18))[: 1 << 20]
    assert "overlap" in reason(bytes(header) + segments + notes)


def test_a_million_sections_are_refused() -> None:
    data = bytearray(with_header(sections=64 * 1024, section_count=0) + bytes(1 << 17))
    struct.pack_into("<Q", data, 64 * 1024 + 32, 1 << 20)
    assert "1048576 sections" in reason(bytes(data))


def bomb(unit: bytes, size: int) -> bytes:
    """Return a code object whose note is `size` bytes of `unit`, as a list under the kernels' key."""
    count = size // len(unit)
    return object_with(b"\x81\xae" + b"amdhsa.kernels" + b"\xdd" + struct.pack(">I", count) + unit * count)


NESTED: Any = b"\x81\xae" + b"amdhsa.kernels" + b"\x91" * 500_000


@pytest.mark.parametrize(
    "data",
    [
        bomb(b"\x80", 1 << 20),
        bomb(b"\x90", 1 << 20),
        bomb(b"\x80", 32 << 20),
        bomb(b"\xa2ab", 32 << 20),
        bomb(b"\xdc\xff\xff" + b"\x80" * 0xFFFF, 8 << 20),
        object_with(NESTED),
        object_with(NESTED + b"\x91" * 2_000_000),
        object_with(b"\x81\xae" + b"amdhsa.kernels" + b"\xdd\xff\xff\xff\xff"),
        object_with(b"\xdf\xff\xff\xff\xff"),
        object_with(b"\xdb\xff\xff\xff\xffabc"),
        object_with(b"\x81\xae" + b"amdhsa.kernels" + b"\xdd\x7f\xff\xff\xff" + bytes(2 << 20)),
        object_with(b"\xdf\xff\xff\xff\xff" + bytes(2 << 20)),
    ],
    ids=[
        "maps",
        "lists",
        "32 MiB of maps",
        "32 MiB of text",
        "many lists",
        "nested",
        "deep",
        "count",
        "map",
        "text",
        "big",
        "keys",
    ],
)
def test_msgpack_bombs_take_bounded_memory(data: bytes) -> None:
    assert peak_mib(data) < 200


def test_a_large_note_is_read_kernel_by_kernel() -> None:
    """A library of thousands of kernels has a note of many megabytes: it is read, and equal to the small way."""
    kernels = [kernel_map(*[(8 * i, 8, "global_buffer") for i in range(40)], name=f"k{n}") for n in range(2000)]
    document = {"amdhsa.version": [1, 2], **metadata_map(*kernels)}
    data = object_with(document)
    assert len(data) > 1 << 20
    found = read_code_object(data)
    assert (found.target, len(found.kernels)) == ("gfx90a", 2000)
    assert found.kernels[1999] == read_code_object(object_with(metadata_map(kernels[1999]))).kernels[0]
    assert "more than 32768 kernels" in reason(
        object_with(metadata_map(*[kernel_map(name=f"k{n}") for n in range(32_769)]))
    )


def yaml_object(text: str | bytes) -> bytes:
    return amdgpu_elf((b"AMD\0", 10, text.encode() if isinstance(text, str) else text), abi_version=0, flags=0x2C)


KERNEL = """
Kernels:
  - Name: k
    SymbolName: k@kd
    Args: [{Size: 8, Align: 8, ValueKind: GlobalBuffer}, {Size: 8, Align: 8, ValueKind: HiddenNone}]
    CodeProps: {KernargSegmentSize: 16}
"""


def test_the_yaml_that_the_next_tests_spoil_is_good() -> None:
    (kernel,) = read_code_object(yaml_object(KERNEL + "\0\0")).kernels
    assert (kernel.symbol, kernel.signature) == ("k", ((0, 8, "global_buffer"),))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("- 1", "not valid"),
        ("Kernels: 5", "no list"),
        ("Kernels: [5]", "not valid"),
        ("Kernels: [{}]", "not valid"),
        ("a: &a [1]\nKernels: *a", "aliases"),
        ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]", "aliases"),
        ("[" * 100_000, "nest"),
        ("- " * 1_000, "nested"),
        ("{" * 5_000 + "}" * 5_000, "nest"),
        ("? [a, b]\n: c", "not valid"),
        ("Kernels: [\t\t'", "not valid"),
        (b"\xff\xfe\xff", "not valid"),
        ("a: !!python/object/apply:os.system [ls]", ""),
        ("- a\n" * 500_001, "too many parts"),
        ("a" * (2 << 20) + "a", "more than"),
        (KERNEL.replace("Align: 8", "Align: 0"), "aligned to 0"),
        (KERNEL.replace("Align: 8", "Align: 99999999"), "aligned to 99999999"),
        (KERNEL.replace("Size: 8", "Size: -8"), "not a number"),
        (KERNEL.replace("Size: 8", "Size: 0x8"), "not a number"),
        (KERNEL.replace("Size: 8", "Size: 1" + "0" * 5_000), "not a number"),
        (KERNEL.replace("Size: 8", "Size: [8]"), "not valid"),
        (KERNEL.replace("KernargSegmentSize: 16", "KernargSegmentSize: 4"), "segment"),
        (KERNEL.replace("{KernargSegmentSize: 16}", "16"), "not valid"),
        (KERNEL.replace("- Name: k", '- Name: "\\e[2J"'), "name"),
    ],
)
def test_yaml_that_is_refused_and_why(text: str | bytes, said: str) -> None:
    """Code object v2: no tags, aliases or types are resolved, depth and number are bounded."""
    if "python/object" in str(text):
        assert read_code_object(yaml_object(text)).kernels == ()
    else:
        assert said in reason(yaml_object(text))
