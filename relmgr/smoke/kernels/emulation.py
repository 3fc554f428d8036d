"""A smoke kernel in Python, where no compiler is at hand: it reads its arguments from memory as a compiled one does."""

from __future__ import annotations

import ctypes
from typing import Any

from relmgr.smoke.kernels.problem import Dimensions, Problem, count
from relmgr.smoke.kernels.reference import convolve
from relmgr.smoke.kernels.tensors import BYTES, decode, encode

EMULATION_MAGIC = b"relmgr-emulated-kernels-1\n"
_POINTER_BYTES = 8
_DESCRIPTOR_BYTES = {32: 64, 64: 104}


def emulate(kernel: dict[str, Any], arguments: int) -> None:
    """Run `kernel` on the arguments at the address `arguments`. A wrong address ends this process, as it should.

    `kernel` holds `problem` (fields of `Problem`), `form`, `index_bits` and `dynamic`.
    """
    dimensions, *rest = kernel["problem"]
    problem = Problem(Dimensions(*dimensions), *rest)
    bare = kernel["form"] == "bare"
    stride = _POINTER_BYTES if bare else _DESCRIPTOR_BYTES[kernel["index_bits"]]
    data_at = 0 if bare else _POINTER_BYTES
    pointers = [_word(arguments + stride * tensor + data_at) for tensor in range(problem.tensors)]
    types, shapes = problem.element_types(), problem.shapes()
    if kernel["dynamic"] and not _told_sizes_hold(kernel["index_bits"], stride, arguments, shapes):
        return
    numbers = [
        () if index == problem.written else decode(dtype, ctypes.string_at(pointer, count(shape) * BYTES[dtype]))
        for index, (dtype, shape, pointer) in enumerate(zip(types[:3], shapes[:3], pointers[:3], strict=True))
    ]
    result = convolve(problem, numbers)
    if problem.tensors > len(numbers):
        _write(pointers[-1], encode("f32", result))
    _write(pointers[problem.written], encode(types[problem.written], result))


def _told_sizes_hold(index_bits: int, stride: int, arguments: int, shapes: tuple[tuple[int, ...], ...]) -> bool:
    """Read the sizes from the descriptors; the emulation computes for the sizes it knows and for no others."""
    width = index_bits // 8
    kind = ctypes.c_int32 if width == ctypes.sizeof(ctypes.c_int32) else ctypes.c_int64
    told = []
    for tensor in range(len(shapes)):
        at = arguments + stride * tensor + 2 * _POINTER_BYTES + width
        told.append(tuple(kind.from_address(at + width * index).value for index in range(5)))
    return tuple(told) == shapes


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def _write(address: int, data: bytes) -> None:
    ctypes.memmove(address, data, len(data))
