"""Code objects: the kernels in a compiled file, how each takes its arguments, and which convention that is."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import Literal

from pydantic import Field

from relmgr.errors import SourceError
from relmgr.model.base import Noun

Form = Literal["expanded", "by-value"]
KernelConvention = Literal["memref-descriptor", "bare-pointer", "other"]

# (offset, size, kind) of each explicit argument: what a layout is, and all that a convention is read from.
Signature = tuple[tuple[int, int, str], ...]


class UnreadableCodeObject(SourceError):
    """A code object, bundle or fat binary that is truncated, corrupt, hostile, or of a kind not known; says why."""


class KernelArgument(Noun):
    """One explicit kernel argument: `offset` and `size` in bytes, `kind` as the metadata spells it.

    The kinds are those of the AMDGPU metadata (`global_buffer`, `by_value`, ...), in the spelling of code object v3 and
    later; `parameter` stands for a CUDA kernel's, whose files tell offset and size only.
    """

    offset: int
    size: int
    kind: str


class Kernel(Noun):
    """One kernel of a code object.

    `symbol` is the kernel descriptor's symbol without its suffix (`.kd`, `@kd`). `explicit_bytes` is where the last
    explicit argument ends; `segment_bytes` is the whole kernarg segment, hidden arguments included.
    """

    name: str
    symbol: str
    explicit_args: tuple[KernelArgument, ...]
    explicit_bytes: int
    segment_bytes: int

    @cached_property
    def signature(self) -> Signature:
        """The explicit arguments as plain tuples, to compare two kernels by."""
        return tuple([(argument.offset, argument.size, argument.kind) for argument in self.explicit_args])


class CodeObject(Noun):
    """A device binary. `target` is a target id such as `gfx90a:sramecc+:xnack-`, `arch` its first part.

    `code_object_version` is AMD's (2 to 6, from the ELF header) and None for CUDA, where `target` reads `sm_90`.
    """

    target: str
    arch: str
    code_object_version: int | None
    kernels: tuple[Kernel, ...]


class KernelLayout(Noun):
    """What a kernel's arguments say: whose kernel it is, and its convention. `other` carries no form and no counts."""

    provider_kernel: bool
    convention: KernelConvention
    form: Form | None = None
    tensors: int | None = None
    index_bits: Literal[32, 64] | None = None


class InspectedKernel(Noun):
    """A kernel with its layout, as `abi inspect` prints it."""

    name: str
    explicit_args: tuple[KernelArgument, ...]
    explicit_bytes: int
    segment_bytes: int
    provider_kernel: bool
    convention: KernelConvention
    form: Form | None
    tensors: int | None
    index_bits: Literal[32, 64] | None


class InspectedObject(Noun):
    """One code object found in `file` (a bundle or fat binary holds several), or the reason why none could be read."""

    file: str
    target: str | None = None
    code_object_version: int | None = None
    kernels: tuple[InspectedKernel, ...] = ()
    error: str | None = Field(default=None, description="why it could not be read")


# A memref descriptor of rank 5: two pointers, one offset, five sizes, five strides. Its index is 4 or 8 bytes wide;
# the next tensor starts at a multiple of 8, so that the 60 bytes of the narrow form take 64.
_INDEXES = 11
_DESCRIPTOR_BYTES = {32: 64, 64: 104}
_POINTER_BYTES = 8

_OTHER = KernelLayout(provider_kernel=False, convention="other")
_OTHER_OF_PROVIDER = KernelLayout(provider_kernel=True, convention="other")


def classify(kernel: Kernel, symbol_pattern: str | None) -> KernelLayout:
    """Return whose kernel it is, by its symbol, and for a provider's kernel the convention, by its layout alone.

    `symbol_pattern` is the contract's `kernel_symbol`; without one no kernel is the provider's. A kernel of someone
    else is `other` whatever its arguments look like: three pointers are no sign of a memref.
    """
    if symbol_pattern is None or not re.search(symbol_pattern, kernel.symbol):
        return _OTHER
    return classify_signature(kernel.signature)


@lru_cache(maxsize=256)
def classify_signature(signature: Signature) -> KernelLayout:
    """Return the layout of a provider's kernel with these explicit arguments."""
    for index_bits, stride in _DESCRIPTOR_BYTES.items():
        tensors, rest = divmod(len(signature), 2 + _INDEXES)
        if signature and not rest and _matches(signature, _expanded(tensors, index_bits)):
            return _descriptor("expanded", tensors, index_bits)
        if _matches(signature, tuple((stride * i, stride, "value") for i in range(len(signature)))):
            return _descriptor("by-value", len(signature), index_bits)
    pointers = tuple((_POINTER_BYTES * i, _POINTER_BYTES, "pointer") for i in range(len(signature)))
    if _matches(signature, pointers):
        return KernelLayout(provider_kernel=True, convention="bare-pointer", tensors=len(signature))
    return _OTHER_OF_PROVIDER


def _descriptor(form: Form, tensors: int, index_bits: int) -> KernelLayout:
    return KernelLayout(
        provider_kernel=True,
        convention="memref-descriptor",
        form=form,
        tensors=tensors,
        index_bits=32 if index_bits == 32 else 64,
    )


def _expanded(tensors: int, index_bits: int) -> Signature:
    """Return what `tensors` descriptors look like when each field is an argument of its own."""
    expected: list[tuple[int, int, str]] = []
    width, stride = index_bits // 8, _DESCRIPTOR_BYTES[index_bits]
    for base in range(0, tensors * stride, stride):
        expected += [(base, _POINTER_BYTES, "pointer"), (base + _POINTER_BYTES, _POINTER_BYTES, "pointer")]
        expected += [(base + 2 * _POINTER_BYTES + width * i, width, "value") for i in range(_INDEXES)]
    return tuple(expected)


_KINDS = {"pointer": ("global_buffer", "parameter"), "value": ("by_value", "parameter")}


def _matches(signature: Signature, expected: Signature) -> bool:
    """Tell whether there are arguments, as many as expected, each of the expected place and kind."""
    return bool(signature) and all(
        (offset, size) == (wanted_offset, wanted_size) and kind in _KINDS[wanted_kind]
        for (offset, size, kind), (wanted_offset, wanted_size, wanted_kind) in zip(signature, expected, strict=True)
    )
