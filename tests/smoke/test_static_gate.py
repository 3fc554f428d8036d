"""The static gate: what matches, what is refused, and in which words."""

from __future__ import annotations

from relmgr.model.code_object import Kernel, KernelArgument
from relmgr.model.kernargs import ArgumentLayout, TensorShape
from relmgr.smoke.kernargs import argument_fields, pack_arguments
from relmgr.smoke.static_gate import compare_layouts

SHAPE = TensorShape(sizes=(1, 1, 1, 1, 1), strides=(1, 1, 1, 1, 1))
BARE = ArgumentLayout(form="bare")
WIDE = ArgumentLayout(form="expanded", index_bits=64)
WIDE_BY_VALUE = ArgumentLayout(form="by-value", index_bits=64)


def kernel_of(layout: ArgumentLayout, *, segment: int = 448, kind: str | None = None) -> Kernel:
    """Return a kernel that takes `layout`; its segment has room for hidden arguments, as AMD's have."""
    fields = tuple(argument_fields(layout))
    if kind:
        fields = tuple(KernelArgument(offset=f.offset, size=f.size, kind=kind) for f in fields)
    end = fields[-1].offset + fields[-1].size
    return Kernel(name="k", symbol="k", explicit_args=fields, explicit_bytes=end, segment_bytes=segment)


def pack(layout: ArgumentLayout, packing: str = "exact"):
    return pack_arguments(layout, [SHAPE] * layout.tensors, packing)  # type: ignore[arg-type]


def test_equal_arguments_pass_whatever_hidden_ones_follow() -> None:
    assert compare_layouts(kernel_of(BARE, segment=280), pack(BARE)).static == "same"


def test_pointers_for_a_descriptor_are_refused_with_the_first_differences() -> None:
    answer = compare_layouts(kernel_of(ArgumentLayout(form="expanded", index_bits=32)), pack(BARE))
    assert answer.static == "differs"
    assert answer.reasons == (
        "the kernel takes 39 arguments, the buffer holds 3",
        "argument 2: the kernel reads 4 bytes at 16 (by_value), the buffer has 8 bytes at 16 (global_buffer)",
        "the kernel's arguments end at byte 192, the buffer's at 24",
    )


def test_equal_totals_do_not_hide_another_form() -> None:
    """312 bytes either way: no check of sizes tells a struct from its fields, so the arguments are compared."""
    assert len(pack(WIDE).template) == len(pack(WIDE_BY_VALUE).template) == 312
    assert compare_layouts(kernel_of(WIDE_BY_VALUE), pack(WIDE)).static == "differs"
    assert compare_layouts(kernel_of(WIDE), pack(WIDE_BY_VALUE)).static == "differs"


def test_equal_places_of_another_kind_are_refused() -> None:
    """A number where a pointer belongs has its offset and size, and no address."""
    answer = compare_layouts(kernel_of(BARE, kind="by_value"), pack(BARE))
    assert answer.reasons[0] == (
        "argument 0: the kernel reads 8 bytes at 0 (by_value), the buffer has 8 bytes at 0 (global_buffer)"
    )


def test_trailing_bytes_are_named_in_the_consumers_packing() -> None:
    answer = compare_layouts(kernel_of(BARE), pack(BARE, "miopen"))
    assert answer.static == "same"
    assert answer.allowed == "56 bytes more: 1 unused tensor slot and 48 zero bytes for hidden arguments"


def test_a_tensor_more_is_no_trailing_byte() -> None:
    four = ArgumentLayout(form="bare", tensors=4)
    assert compare_layouts(kernel_of(BARE), pack(four)).static == "differs"
    assert compare_layouts(kernel_of(BARE), pack(four, "miopen")).static == "differs"
    assert compare_layouts(kernel_of(four), pack(BARE, "miopen")).static == "differs"


def test_where_no_kinds_are_told_the_length_must_agree_too() -> None:
    """A cubin tells offset and size alone; its parameters have no hidden part, so the whole length is compared."""
    kernel = kernel_of(BARE, segment=24, kind="parameter")
    assert compare_layouts(kernel, pack(BARE)).static == "same"
    assert compare_layouts(kernel, pack(BARE, "miopen")).reasons == ("80 bytes for parameters of 24",)
    assert compare_layouts(kernel_of(BARE, segment=32, kind="parameter"), pack(BARE)).static == "differs"


def test_many_differences_are_counted() -> None:
    """37 of 39 arguments lie elsewhere (not the first two pointers), and so does the end: three are told."""
    narrow = ArgumentLayout(form="expanded", index_bits=32)
    answer = compare_layouts(kernel_of(narrow), pack(WIDE))
    assert answer.reasons == (
        "argument 2: the kernel reads 4 bytes at 16 (by_value), the buffer has 8 bytes at 16 (by_value)",
        "argument 3: the kernel reads 4 bytes at 20 (by_value), the buffer has 8 bytes at 24 (by_value)",
        "argument 4: the kernel reads 4 bytes at 24 (by_value), the buffer has 8 bytes at 32 (by_value)",
        "and 35 more differences",
    )


def test_a_pointer_is_not_taken_from_a_number() -> None:
    packed = pack(BARE)
    numbers = packed.model_copy(update={"fields": kernel_of(BARE, kind="by_value").explicit_args})
    assert compare_layouts(kernel_of(BARE), numbers).reasons == tuple(
        f"argument {n}: the kernel reads 8 bytes at {at} (global_buffer), the buffer has 8 bytes at {at} (by_value)"
        for n, at in enumerate((0, 8, 16))
    )


def test_a_kind_that_no_buffer_offers_is_refused_by_its_name() -> None:
    """AMD's metadata knows more kinds than these two; none is taken for a cubin's nameless one."""
    assert compare_layouts(kernel_of(BARE, kind="sampler"), pack(BARE)).reasons == tuple(
        f"argument {n}: the kernel reads 8 bytes at {at} (sampler), the buffer has 8 bytes at {at} (global_buffer)"
        for n, at in enumerate((0, 8, 16))
    )


def test_bytes_that_nothing_excuses_are_refused() -> None:
    packed = pack(BARE)
    longer = packed.model_copy(update={"template": packed.template + bytes(8)})
    assert compare_layouts(kernel_of(BARE), longer).reasons == (
        "the kernel's arguments end at byte 24, the buffer's at 32",
    )


def test_a_field_that_the_kernel_does_not_take_is_counted() -> None:
    four = ArgumentLayout(form="bare", tensors=4)
    assert compare_layouts(kernel_of(BARE), pack(four)).reasons == (
        "the kernel takes 3 arguments, the buffer holds 4",
        "the kernel's arguments end at byte 24, the buffer's at 32",
    )


def test_a_kernel_without_arguments_takes_an_empty_buffer() -> None:
    kernel = Kernel(name="k", symbol="k", explicit_args=(), explicit_bytes=0, segment_bytes=0)
    empty = pack(BARE).model_copy(update={"template": b"", "fields": ()})
    assert compare_layouts(kernel, empty).static == "same"
    assert compare_layouts(kernel, pack(BARE)).reasons == (
        "the kernel takes 0 arguments, the buffer holds 3",
        "the kernel's arguments end at byte 0, the buffer's at 24",
    )
