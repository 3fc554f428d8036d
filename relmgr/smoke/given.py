"""Kernels that somebody else compiled: what convolution each computes, and the cells to launch it in."""

from __future__ import annotations

from collections.abc import Mapping

from relmgr.errors import UserError
from relmgr.model.base import Convention
from relmgr.model.code_object import Kernel, classify_signature
from relmgr.model.kernargs import ArgumentLayout, Packing
from relmgr.model.kernel_db import Problem as Options
from relmgr.model.smoke import DType, RuntimeKind, SmokeCell
from relmgr.smoke.kernels.problem import Dimensions, Problem
from relmgr.smoke.plan import ends_of_a_wrong_launch
from relmgr.smoke.run import Subject

DTYPES: dict[str, DType] = {"fp32": "f32", "fp16": "f16", "bf16": "bf16", "int8": "i8"}
# The reference is plain Python: what it needs a minute for is no smoke test.
MAX_PRODUCTS = 20_000_000

_OTHER: dict[Convention, Convention] = {"memref-descriptor": "bare-pointer", "bare-pointer": "memref-descriptor"}


def read_problem(options: Options, tensors: int) -> Problem:
    """Return the convolution that `options` (of a database's row) describe. Raises `UserError` where they do not."""
    o = options
    dtype, groups = DTYPES.get(o.dtype or ""), o.groups or 1
    told = (o.batch, o.in_channels, o.out_channels, o.in_h, o.in_w, o.fil_h, o.fil_w, o.conv_stride_h, o.conv_stride_w)
    more = (o.padding_h, o.padding_w, o.dilation_h, o.dilation_w)
    known = dtype is not None and o.direction in ("fwd", "bwd-data", "wrw") and o.layout in ("NCHW", "NHWC")
    if not known or None in (*told, *more) or o.in_channels % groups or o.out_channels % groups:  # type: ignore[operator]
        raise UserError("the options do not tell a convolution that can be run", next_step="give all of its options")
    n, c, k, h, w, y, x, sh, sw = (int(value or 0) for value in told)
    ph, pw, dh, dw = (int(value or 0) for value in more)
    dimensions = Dimensions(n, groups, c // groups, k // groups, h, w, y, x, sh, sw, ph, pw, dh, dw)
    if min(n, groups, c, k, h, w, y, x, sh, sw, dh, dw) < 1 or dimensions.ho < 1 or dimensions.wo < 1:
        raise UserError("the options tell a convolution without a result", next_step="check sizes and padding")
    if products(dimensions) > MAX_PRODUCTS:
        raise UserError(
            f"{products(dimensions)} products, more than the reference does ({MAX_PRODUCTS})",
            next_step="choose a row of a smaller problem",
        )
    return Problem(dimensions, str(o.direction), str(dtype), str(o.layout), tensors)


def products(d: Dimensions) -> int:
    """Return how many products the convolution has, padding included."""
    return d.n * d.g * d.k * d.c * d.ho * d.wo * d.y * d.x


def kernel_layout(kernel: Kernel) -> tuple[Convention, ArgumentLayout]:
    """Return how a kernel takes its arguments, by its layout alone. Raises `UserError` for neither convention."""
    found = classify_signature(kernel.signature)
    if found.convention == "other" or found.tensors not in (3, 4):
        raise UserError(
            f"{kernel.name} takes its arguments neither as descriptors nor as bare pointers of 3 or 4 tensors",
            next_step="`relmgr abi inspect FILE` shows what it takes",
        )
    fields = {"form": found.form or "bare", "index_bits": found.index_bits, "tensors": found.tensors}
    return found.convention, ArgumentLayout.model_validate(fields)


def given_subjects(
    kernel: Kernel,
    module: bytes,
    problem: Problem,
    size: tuple[int, int],
    numbers: Mapping[Convention, int],
    runtime: RuntimeKind,
    packing: Packing,
    *,
    promised: Convention | None = None,
) -> tuple[Subject, ...]:
    """Return the cells of one kernel: with the arguments it must take, and with those of the other convention.

    It must take what its own layout says, or where `promised` is given, what that convention says. `size` is (blocks,
    block). Each launch has a process of its own.
    """
    convention, layout = kernel_layout(kernel)
    wanted = promised or convention
    subjects = []
    for arguments_of in (wanted, _OTHER[wanted]):
        if arguments_of not in numbers or wanted not in numbers:
            continue
        matching = arguments_of == wanted
        arguments = layout if arguments_of == convention else _main_form(arguments_of, layout.tensors)
        cell = SmokeCell.model_validate(
            {
                "kernel_abi": numbers[wanted],
                "argument_abi": numbers[arguments_of],
                "kernel": layout,
                "arguments": arguments,
                "packing": "exact" if arguments.index_bits == 64 else packing,
                "dtype": problem.dtype,
                "direction": problem.direction,
                "layout": problem.layout,
                "matching": matching,
                "expected": ("right",) if matching else ends_of_a_wrong_launch(runtime),
            }
        )
        subjects.append(Subject(cell, kernel, problem, module, *size, untrusted=True))
    return tuple(subjects)


def _main_form(convention: Convention, tensors: int) -> ArgumentLayout:
    bare = convention == "bare-pointer"
    fields = {"form": "bare" if bare else "expanded", "index_bits": None if bare else 32, "tensors": tensors}
    return ArgumentLayout.model_validate(fields)
