"""Kernel arguments: how a kernel takes its tensors, and the bytes a caller hands over for them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from relmgr.model.base import Noun
from relmgr.model.code_object import KernelArgument, Signature

ArgumentForm = Literal["expanded", "by-value", "bare"]
Packing = Literal["miopen", "exact", "padded"]


class ArgumentLayout(Noun):
    """One way of passing `tensors` (filter, input, output[, workspace]).

    `bare`: a pointer each. The others are memref descriptors of rank 5 with an index of `index_bits`: their fields as
    arguments of their own (`expanded`), or one struct per tensor (`by-value`).
    """

    form: ArgumentForm
    tensors: Literal[3, 4] = 3
    index_bits: Literal[32, 64] | None = None

    @property
    def label(self) -> str:
        """The form with its index width, for people: `expanded/32`, `bare`."""
        return f"{self.form}/{self.index_bits}" if self.index_bits else self.form


class TensorShape(Noun):
    """Sizes and strides of one tensor, in elements, in the order of its memory layout (slowest first)."""

    sizes: tuple[int, int, int, int, int]
    strides: tuple[int, int, int, int, int]


class PointerSlot(Noun):
    """Where the address of a tensor goes: `offset` in bytes, `tensor` its index."""

    offset: int
    tensor: int


class PackedArguments(Noun):
    """A launch buffer before the addresses are known: `template` bytes with zeros in its pointer slots.

    `fields` are the explicit arguments that the buffer offers. The last `rounding` bytes round its length up to 8, and
    `trailing` bytes follow the last tensor that is used; `trailing_reason` says what those are (None: there are none
    that need an excuse).
    """

    layout: ArgumentLayout
    packing: Packing
    template: bytes
    pointers: tuple[PointerSlot, ...]
    fields: tuple[KernelArgument, ...]
    rounding: int = 0
    trailing: int = 0
    trailing_reason: str | None = Field(default=None)

    def handed_over(self, *, rounded: bool) -> bytes:
        """Return the bytes that a launch is given, with or without the rounding.

        CUDA takes none that a kernel has no parameter for: 192 bytes for parameters that end at 188 were refused (701)
        on an H200 with driver 580.
        """
        return self.template if rounded else self.template[: len(self.template) - self.rounding]

    @property
    def signature(self) -> Signature:
        """The fields as plain tuples, to compare with a kernel's."""
        return tuple((field.offset, field.size, field.kind) for field in self.fields)
