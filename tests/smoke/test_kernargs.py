"""Launch buffers: byte for byte, against a C compiler's layout, and against the arguments in real code objects."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from relmgr.model.kernargs import ArgumentLayout, TensorShape
from relmgr.smoke.kernargs import argument_fields, pack_arguments
from relmgr.smoke.static_gate import compare_layouts
from relmgr.sources.code_objects.code_object import read_code_object
from relmgr.sources.code_objects.cubin import read_cuda
from relmgr.sources.code_objects.elf import read_elf
from tests.support.services import need

SHAPE = TensorShape(sizes=(2, 3, 4, 5, 6), strides=(360, 120, 30, 6, 1))
NARROW, WIDE = ArgumentLayout(form="expanded", index_bits=32), ArgumentLayout(form="expanded", index_bits=64)
BARE = ArgumentLayout(form="bare")
BY_VALUE = ArgumentLayout(form="by-value", index_bits=32)


def four(layout: ArgumentLayout) -> ArgumentLayout:
    return layout.model_copy(update={"tensors": 4})


@pytest.mark.parametrize(
    ("layout", "packing", "length", "trailing"),
    [
        # What MIOpen hands over, whatever the kernel takes: 4 x 64 + 48, and 4 x 8 + 48.
        (NARROW, "miopen", 304, 112),
        (four(NARROW), "miopen", 304, 48),
        (BY_VALUE, "miopen", 304, 112),
        (BARE, "miopen", 80, 56),
        (four(BARE), "miopen", 80, 48),
        (NARROW, "exact", 192, 0),
        (four(NARROW), "exact", 256, 0),
        (BY_VALUE, "exact", 192, 0),
        (WIDE, "exact", 312, 0),
        (four(WIDE), "exact", 416, 0),
        (BARE, "exact", 24, 0),
        (four(BARE), "exact", 32, 0),
    ],
)
def test_lengths(layout: ArgumentLayout, packing: str, length: int, trailing: int) -> None:
    packed = pack_arguments(layout, [SHAPE] * layout.tensors, packing)  # type: ignore[arg-type]
    assert len(packed.template) == length
    assert packed.trailing == trailing


def test_the_true_narrow_descriptor_byte_for_byte() -> None:
    """Pointer, pointer, and eleven 32-bit numbers: 60 bytes and 4 of padding, as the consumer's struct has it."""
    packed = pack_arguments(NARROW, [SHAPE] * 3, "exact")
    one = bytes(16) + struct.pack("<11i", 0, 2, 3, 4, 5, 6, 360, 120, 30, 6, 1) + bytes(4)
    assert packed.template == one * 3
    assert [(slot.offset, slot.tensor) for slot in packed.pointers] == [
        (0, 0), (8, 0), (64, 1), (72, 1), (128, 2), (136, 2)
    ]  # fmt: skip


def test_the_wide_descriptor_byte_for_byte() -> None:
    packed = pack_arguments(WIDE, [SHAPE] * 3, "exact")
    assert packed.template == (bytes(16) + struct.pack("<11q", 0, 2, 3, 4, 5, 6, 360, 120, 30, 6, 1)) * 3
    assert [slot.offset for slot in packed.pointers] == [0, 8, 104, 112, 208, 216]


def test_what_miopen_leaves_empty_is_zero() -> None:
    packed = pack_arguments(NARROW, [SHAPE] * 3, "miopen")
    assert packed.template[192:] == bytes(112)
    assert packed.trailing_reason == "1 unused tensor slot and 48 zero bytes for hidden arguments"
    assert pack_arguments(four(BARE), [SHAPE] * 4, "miopen").trailing_reason == "48 zero bytes for hidden arguments"


def test_cuda_is_handed_a_buffer_without_the_rounding() -> None:
    """A narrow expanded kernel's parameters end at byte 188; 192 were refused on an H200."""
    packed = pack_arguments(NARROW, [SHAPE] * 3, "exact")
    assert (len(packed.handed_over(rounded=True)), len(packed.handed_over(rounded=False))) == (192, 188)
    whole = pack_arguments(WIDE, [SHAPE] * 3, "exact")
    assert len(whole.handed_over(rounded=False)) == 312


def test_padding_is_made_of_the_tensors_own_addresses_in_turn() -> None:
    packed = pack_arguments(BARE, [SHAPE] * 3, "padded", length=188)
    assert len(packed.template) == 192
    assert [(slot.offset, slot.tensor) for slot in packed.pointers] == [(8 * i, i % 3) for i in range(24)]
    assert len(packed.handed_over(rounded=False)) == 188


def test_a_buffer_cut_to_the_kernels_parameters() -> None:
    packed = pack_arguments(WIDE, [SHAPE] * 3, "exact", length=192)
    assert packed.template == pack_arguments(WIDE, [SHAPE] * 3, "exact").template[:192]
    assert max(slot.offset for slot in packed.pointers) == 112


def test_what_cannot_be_packed_is_refused() -> None:
    with pytest.raises(ValueError, match="32-bit index only"):
        pack_arguments(WIDE, [SHAPE] * 3, "miopen")
    with pytest.raises(ValueError, match="2 shapes for a layout of 3 tensors"):
        pack_arguments(BARE, [SHAPE] * 2, "exact")
    with pytest.raises(ValueError, match="padding 24 bytes to 16"):
        pack_arguments(BARE, [SHAPE] * 3, "padded", length=16)


C_LAYOUT = """
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
struct narrow { void *base; void *data; int32_t offset; int32_t sizes[5]; int32_t strides[5]; };
struct wide { void *base; void *data; int64_t offset; int64_t sizes[5]; int64_t strides[5]; };
struct narrows { struct narrow filter, input, output, workspace; };
struct wides { struct wide filter, input, output, workspace; };
struct pointers { void *filter, *input, *output, *workspace; };
#define TELL(type) printf("%zu %zu %zu %zu %zu\\n", sizeof(struct type), offsetof(struct type, filter), \\
    offsetof(struct type, input), offsetof(struct type, output), offsetof(struct type, workspace))
int main(void) {
  TELL(narrows); TELL(wides); TELL(pointers);
  printf("%zu %zu %zu %zu\\n", offsetof(struct narrow, data), offsetof(struct narrow, offset),
         offsetof(struct narrow, sizes), offsetof(struct narrow, strides));
  printf("%zu %zu %zu %zu\\n", offsetof(struct wide, data), offsetof(struct wide, offset),
         offsetof(struct wide, sizes), offsetof(struct wide, strides));
}
"""


def test_layouts_are_those_of_a_c_compiler(tmp_path: Path) -> None:
    (tmp_path / "layout.c").write_text(C_LAYOUT)
    subprocess.run([need("cc", "gcc"), "layout.c", "-o", "layout"], cwd=tmp_path, check=True)
    run = subprocess.run([tmp_path / "layout"], check=True, capture_output=True, text=True)
    told = [[int(word) for word in line.split()] for line in run.stdout.splitlines()]
    by_value = [BY_VALUE, ArgumentLayout(form="by-value", index_bits=64), BARE]
    for layout, (size, *offsets) in zip(by_value, told[:3], strict=True):
        fields = list(argument_fields(four(layout)))
        assert [field.offset for field in fields] == offsets
        assert fields[-1].offset + fields[-1].size == size
    for layout, (data, offset, sizes, strides) in ((NARROW, told[3]), (WIDE, told[4])):
        fields = list(argument_fields(layout))
        assert [fields[i].offset for i in (1, 2, 3, 8)] == [data, offset, sizes, strides]


REAL = {"descriptor32": NARROW, "descriptor64": WIDE, "bare": BARE}


def test_real_code_objects_take_what_is_packed_and_nothing_else(data: Path) -> None:
    """Each of MLIR's code objects passes with the arguments of its own convention, and is refused the two others."""
    files = sorted((data / "code_objects").glob("*.hsaco"))
    assert len(files) >= 18
    for file in files:
        name, convention, *_ = file.name.split(".")
        (kernel,) = read_code_object(file.read_bytes()).kernels
        for other, layout in REAL.items():
            arguments = four(layout) if "workspace" in name else layout
            packed = pack_arguments(arguments, [SHAPE] * arguments.tensors, "exact")
            assert (compare_layouts(kernel, packed).static == "same") == (other == convention), (file.name, other)


def test_real_code_objects_take_what_miopen_hands_over(data: Path) -> None:
    for file in sorted((data / "code_objects").glob("*.hsaco")):
        name, convention, *_ = file.name.split(".")
        if convention == "descriptor64":
            continue
        layout = four(REAL[convention]) if "workspace" in name else REAL[convention]
        (kernel,) = read_code_object(file.read_bytes()).kernels
        answer = compare_layouts(kernel, pack_arguments(layout, [SHAPE] * layout.tensors, "miopen"))
        assert answer.static == "same"
        assert answer.allowed is not None
        assert "48 zero bytes for hidden arguments" in answer.allowed


@pytest.mark.parametrize(
    "cubin", ["layouts.sm_90.cuda12.cubin", "layouts.sm_90.cuda13.cubin", "layouts.sm_70.cuda12.cubin"]
)
def test_real_cubins(data: Path, cubin: str) -> None:
    kernels = {kernel.name: kernel for kernel in read_cuda(read_elf((data / "cubins" / cubin).read_bytes())).kernels}
    matching = {
        "smoke_bare": BARE,
        "smoke_expanded": NARROW,
        "smoke_narrow": BY_VALUE,
        "smoke_wide": four(ArgumentLayout(form="by-value", index_bits=64)),
    }
    for kernel in matching:
        for other, layout in matching.items():
            answer = compare_layouts(kernels[kernel], pack_arguments(layout, [SHAPE] * layout.tensors, "exact"))
            assert (answer.static == "same") == (kernel == other), (kernel, other)
