"""Pack the bytes that a kernel launch hands over, for every argument layout. Pure.

Two packings exist because two kinds of runtime do. `miopen` is what MIOpen hands to AMD's: always a struct of four
tensors, also for kernels of three, and 48 zero bytes for hidden arguments after it. `exact` ends with the last explicit
argument, rounded up to 8 bytes: CUDA refuses a buffer that is longer than the kernel's parameters, and is handed this
one without the rounding.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from relmgr.model.code_object import KernelArgument
from relmgr.model.kernargs import ArgumentLayout, PackedArguments, Packing, PointerSlot, TensorShape

POINTER_BYTES = 8
RANK = 5
SLOTS = 4
HIDDEN_BYTES = 48
# Two pointers, an offset, five sizes, five strides; the narrow form has 4 bytes of padding at its end.
DESCRIPTOR_BYTES = {32: 64, 64: 104}
_INDEXES = {32: struct.Struct("<11i"), 64: struct.Struct("<11q")}


def pack_arguments(
    layout: ArgumentLayout, shapes: Sequence[TensorShape], packing: Packing, *, length: int | None = None
) -> PackedArguments:
    """Return the buffer that passes `shapes` under `layout`.

    `length` is the kernel's parameter size in bytes: `exact` is cut to it where it is shorter (what a caller does that
    asks the kernel for its size), and `padded` filled up to it with the tensors' own addresses in turn (what lies in a
    caller's array of pointers by luck). `miopen` knows narrow descriptors and bare pointers only.
    """
    if len(shapes) != layout.tensors:
        raise ValueError(f"{len(shapes)} shapes for a layout of {layout.tensors} tensors")
    if packing == "miopen":
        return _miopen(layout, shapes)
    template, pointers = _tensors(layout, shapes)
    fields = tuple(argument_fields(layout))
    end = fields[-1].offset + fields[-1].size
    if packing == "padded":
        if length is None or length < end:
            raise ValueError(f"padding {end} bytes to {length}")
        slots = range(_round_up(end), length, POINTER_BYTES)
        added = [PointerSlot(offset=at, tensor=at // POINTER_BYTES % layout.tensors) for at in slots]
        fields = (
            *fields,
            *(KernelArgument(offset=at.offset, size=POINTER_BYTES, kind="global_buffer") for at in added),
        )
        pointers, end = [*pointers, *added], length
    elif length is not None:
        end = min(end, length)
    whole = _round_up(end)
    return PackedArguments(
        layout=layout,
        packing=packing,
        template=template[:whole].ljust(whole, b"\0"),
        pointers=tuple(slot for slot in pointers if slot.offset + POINTER_BYTES <= whole),
        fields=tuple(field for field in fields if field.offset + field.size <= whole),
        rounding=whole - end,
    )


def argument_fields(layout: ArgumentLayout) -> Iterator[KernelArgument]:
    """Yield the explicit arguments of `layout`, as a code object's metadata tells them."""
    stride = tensor_bytes(layout)
    for base in range(0, layout.tensors * stride, stride):
        if layout.form == "by-value":
            yield KernelArgument(offset=base, size=stride, kind="by_value")
            continue
        pointers = 1 if layout.form == "bare" else 2
        for at in range(base, base + pointers * POINTER_BYTES, POINTER_BYTES):
            yield KernelArgument(offset=at, size=POINTER_BYTES, kind="global_buffer")
        if layout.form == "expanded":
            width = (layout.index_bits or 0) // 8
            for index in range(1 + 2 * RANK):
                yield KernelArgument(offset=base + 2 * POINTER_BYTES + width * index, size=width, kind="by_value")


def tensor_bytes(layout: ArgumentLayout) -> int:
    """Return how many bytes of the buffer one tensor takes."""
    return POINTER_BYTES if layout.form == "bare" else DESCRIPTOR_BYTES[layout.index_bits or 0]


def _miopen(layout: ArgumentLayout, shapes: Sequence[TensorShape]) -> PackedArguments:
    if layout.index_bits == 64:
        raise ValueError("the consumer hands over descriptors with a 32-bit index only")
    template, pointers = _tensors(layout, shapes)
    used = len(template)
    whole = SLOTS * tensor_bytes(layout) + HIDDEN_BYTES
    empty = f"{SLOTS - layout.tensors} unused tensor slot" if layout.tensors < SLOTS else ""
    reason = " and ".join(filter(None, [empty, f"{HIDDEN_BYTES} zero bytes for hidden arguments"]))
    return PackedArguments(
        layout=layout,
        packing="miopen",
        template=template.ljust(whole, b"\0"),
        pointers=tuple(pointers),
        fields=tuple(argument_fields(layout)),
        trailing=whole - used,
        trailing_reason=reason,
    )


def _tensors(layout: ArgumentLayout, shapes: Sequence[TensorShape]) -> tuple[bytes, list[PointerSlot]]:
    """Return the tensors one after the other, each with its padding, and where their addresses go."""
    stride = tensor_bytes(layout)
    template, pointers = bytearray(), []
    for tensor, shape in enumerate(shapes):
        base = tensor * stride
        pointers.append(PointerSlot(offset=base, tensor=tensor))
        if layout.form == "bare":
            template += bytes(POINTER_BYTES)
            continue
        pointers.append(PointerSlot(offset=base + POINTER_BYTES, tensor=tensor))
        indexes = _INDEXES[layout.index_bits or 0].pack(0, *shape.sizes, *shape.strides)
        template += (bytes(2 * POINTER_BYTES) + indexes).ljust(stride, b"\0")
    return bytes(template), pointers


def _round_up(length: int) -> int:
    return -(-length // POINTER_BYTES) * POINTER_BYTES
