"""The static gate: does a launch buffer hold what the kernel, by its binary, will read? Pure; nothing is launched."""

from __future__ import annotations

from typing import Literal

from relmgr.model.base import Noun
from relmgr.model.code_object import Kernel
from relmgr.model.kernargs import PackedArguments

MAX_DIFFERENCES = 3
_POINTER_BYTES = 8
# A cubin tells offset and size of a parameter, not whether it is a pointer.
_KIND_NOT_TOLD = "parameter"


class GateAnswer(Noun):
    """`same` lets a launch pass. `reasons` say what differs, `allowed` what is longer and may be."""

    static: Literal["same", "differs"]
    reasons: tuple[str, ...] = ()
    allowed: str | None = None


def compare_layouts(kernel: Kernel, packed: PackedArguments) -> GateAnswer:
    """Compare the explicit arguments of `kernel` with the fields of a buffer, one by one.

    They match when each argument has a field of its offset, size and kind, and nothing is left over. Bytes behind the
    last tensor are allowed in `miopen` packing only, and named. Where the binary tells no kinds (CUDA), the buffer must
    also be exactly as long as the parameters, rounded up to 8.
    """
    wanted, offered = kernel.signature, packed.signature
    reasons = []
    if len(wanted) != len(offered):
        reasons.append(f"the kernel takes {len(wanted)} arguments, the buffer holds {len(offered)}")
    for number, (argument, field) in enumerate(zip(wanted, offered, strict=False)):
        told = argument[2] != _KIND_NOT_TOLD
        if argument[:2] != field[:2] or (told and argument[2] != field[2]):
            reasons.append(f"argument {number}: the kernel reads {_show(argument)}, the buffer has {_show(field)}")
    end = -(-max(kernel.explicit_bytes, 0) // _POINTER_BYTES) * _POINTER_BYTES
    length = len(packed.template) - packed.trailing
    if length != end:
        reasons.append(f"the kernel's arguments end at byte {end}, the buffer's at {length}")
    if any(kind == _KIND_NOT_TOLD for _, _, kind in wanted):
        parameters = -(-kernel.segment_bytes // _POINTER_BYTES) * _POINTER_BYTES
        if len(packed.template) != parameters:
            reasons.append(f"{len(packed.template)} bytes for parameters of {parameters}")
    if len(reasons) > MAX_DIFFERENCES:
        reasons[MAX_DIFFERENCES:] = [f"and {len(reasons) - MAX_DIFFERENCES} more differences"]
    if reasons:
        return GateAnswer(static="differs", reasons=tuple(reasons))
    allowed = f"{packed.trailing} bytes more: {packed.trailing_reason}" if packed.trailing else None
    return GateAnswer(static="same", allowed=allowed)


def _show(argument: tuple[int, int, str]) -> str:
    offset, size, kind = argument
    return f"{size} bytes at {offset} ({kind})"
