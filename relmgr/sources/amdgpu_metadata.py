"""The AMDGPU metadata note of code object v3 and later (msgpack) to plain kernels.

Format: https://llvm.org/docs/AMDGPUUsage.html#code-object-metadata. Notes are untrusted: sizes, depth and counts
are capped before anything is built, so that a hostile note costs at most about 100 times its own bounded size.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import msgpack

from relmgr.model.code_object import KernelArgument, Signature, UnreadableCodeObject

MAX_NOTE_BYTES = 64 << 20
MAX_KERNELS = 32_768
MAX_ARGUMENTS_PER_KERNEL = 2_048
MAX_ARGUMENTS = 1 << 19
MAX_NAME = 1 << 16
MAX_SEGMENT_BYTES = 1 << 20

# One msgpack value is built as Python objects at once only up to this size; larger notes are cut into their kernels.
_WHOLE_BYTES = 1 << 20
_SHARED_ARGUMENTS = 64
_MAX_KEYS = 64

_KERNELS, _TARGET = "amdhsa.kernels", "amdhsa.target"


class Layout(NamedTuple):
    """The arguments that are not hidden, as plain tuples and as nouns, and where the last of them ends."""

    signature: Signature
    arguments: tuple[KernelArgument, ...]
    explicit_bytes: int


class RawKernel(NamedTuple):
    """A kernel as its note tells it, checked."""

    name: str
    symbol: str
    layout: Layout
    segment_bytes: int


class Metadata(NamedTuple):
    """What a note says: the target in the note's own spelling (None where it has none) and the kernels."""

    target: str | None
    kernels: list[RawKernel]


def parse_msgpack(note: bytes) -> Metadata:
    """Return what a code object v3-v6 note says; raises `UnreadableCodeObject`."""
    try:
        if len(note) <= _WHOLE_BYTES:
            document = msgpack.unpackb(note)
            if not isinstance(document, dict):
                raise UnreadableCodeObject("the metadata note is no map")
            target, kernels = document.get(_TARGET), document.get(_KERNELS, ())
            if not isinstance(kernels, list | tuple):
                raise UnreadableCodeObject(f"{_KERNELS} is no list")
            return _metadata(target, kernels)
        return _parse_large(note)
    except UnreadableCodeObject:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, msgpack.UnpackException) as error:
        raise UnreadableCodeObject(f"the metadata note is not valid: {_reason(error)}") from None


def _parse_large(note: bytes) -> Metadata:
    """Parse a large note kernel by kernel, so that only one of them stands in memory as Python objects."""
    if len(note) > MAX_NOTE_BYTES:
        raise UnreadableCodeObject(f"a metadata note of {len(note)} bytes, more than {MAX_NOTE_BYTES}")
    unpacker = msgpack.Unpacker(max_buffer_size=len(note))
    unpacker.feed(note)
    target: Any = None
    metadata = Metadata(None, [])
    keys = unpacker.read_map_header()
    if keys > _MAX_KEYS:
        raise UnreadableCodeObject(f"a metadata note of {keys} keys")
    for _ in range(keys):
        key = _next(unpacker, note)
        if key == _KERNELS:
            count = unpacker.read_array_header()
            metadata = _metadata(None, (_next(unpacker, note) for _ in range(count)))
        elif key == _TARGET:
            target = _next(unpacker, note)
        else:
            unpacker.skip()
    return metadata._replace(target=_checked_target(target))


def _next(unpacker: Any, note: bytes) -> Any:
    start = unpacker.tell()
    unpacker.skip()
    if unpacker.tell() - start > _WHOLE_BYTES:
        raise UnreadableCodeObject(f"one value of the metadata note takes {unpacker.tell() - start} bytes")
    return msgpack.unpackb(note[start : unpacker.tell()])


def _metadata(target: Any, kernels: Any) -> Metadata:
    found: list[RawKernel] = []
    arguments = 0
    for kernel in kernels:
        found.append(_kernel(kernel))
        arguments += len(found[-1].layout.arguments)
        if len(found) > MAX_KERNELS or arguments > MAX_ARGUMENTS:
            raise UnreadableCodeObject(f"more than {MAX_KERNELS} kernels or {MAX_ARGUMENTS} arguments in one object")
    return Metadata(_checked_target(target), found)


def _checked_target(target: Any) -> str | None:
    if target is not None and not isinstance(target, str):
        raise UnreadableCodeObject(f"{_TARGET} is no text")
    return target


def _kernel(kernel: dict[str, Any]) -> RawKernel:
    """Return one kernel's map as plain values. This is where the time of a scan goes: keep it plain."""
    arguments = kernel.get(".args", ())
    if len(arguments) > MAX_ARGUMENTS_PER_KERNEL:
        raise UnreadableCodeObject(f"a kernel with {len(arguments)} arguments")
    explicit = tuple(
        [(a[".offset"], a[".size"], a[".value_kind"]) for a in arguments if a[".value_kind"][:7] != "hidden_"]
    )
    return checked(kernel[".name"], kernel[".symbol"], explicit, kernel[".kernarg_segment_size"])


def checked(name: Any, symbol: Any, explicit: Signature, segment_bytes: Any) -> RawKernel:
    """Return the kernel when its names are printable text and its arguments lie inside its segment."""
    for text in (name, symbol):
        if type(text) is not str or not text or len(text) > MAX_NAME or not text.isprintable():
            raise UnreadableCodeObject(f"not a kernel's name: {ascii(text)[:80]}")
    layout = _shared_layout(explicit) if len(explicit) <= _SHARED_ARGUMENTS else _layout(explicit)
    if type(segment_bytes) is not int or not layout.explicit_bytes <= segment_bytes <= MAX_SEGMENT_BYTES:
        raise UnreadableCodeObject(
            f"kernel {name[:80]}: arguments end at byte {layout.explicit_bytes} of a segment of "
            f"{ascii(segment_bytes)[:40]}"
        )
    return RawKernel(name, symbol.removesuffix(".kd").removesuffix("@kd"), layout, segment_bytes)


def _layout(explicit: Signature) -> Layout:
    """Return the layout of these arguments; raises `UnreadableCodeObject` for impossible ones."""
    signature = []
    for offset, size, kind in explicit:
        if int(offset) != offset or int(size) != size or offset < 0 or size < 0:
            raise UnreadableCodeObject(f"an argument of {ascii(size)[:40]} bytes at {ascii(offset)[:40]}")
        if type(kind) is not str or len(kind) > 64 or not kind.isprintable():
            raise UnreadableCodeObject(f"an argument of kind {ascii(kind)[:80]}")
        signature.append((int(offset), int(size), kind))
    return Layout(
        tuple(signature),
        tuple([KernelArgument.model_construct(offset=o, size=s, kind=k) for o, s, k in signature]),
        max([offset + size for offset, size, _ in signature], default=0),
    )


# Most kernels of a database share a few layouts: their nouns are built once. Bounded to a few megabytes.
_shared_layout = lru_cache(maxsize=256)(_layout)


def _reason(error: Exception) -> str:
    return ascii(str(error) or type(error).__name__)[1:-1][:120]
