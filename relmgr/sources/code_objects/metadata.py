"""The AMDGPU metadata note of code object v3 and later (msgpack) to plain kernels.

Format: https://llvm.org/docs/AMDGPUUsage.html#code-object-metadata. Notes are untrusted: sizes, depth and counts
are capped before anything is built, so that a hostile note costs at most about 100 times its own bounded size.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

import msgpack

from relmgr.model.code_object import KernelArgument, Signature, UnreadableCodeObject

MAX_NOTE_BYTES = 64 << 20
MAX_KERNELS = 32_768
MAX_ARGUMENTS_PER_KERNEL = 2_048
MAX_ARGUMENTS = 1 << 19
MAX_NAME = 1 << 16
MAX_KIND = 64
MAX_SEGMENT_BYTES = 1 << 20

# One msgpack value is built as Python objects at once only up to this size; larger notes are cut into their kernels.
# Texts stay bytes until they are needed (`raw=True`): that saves a third of the time.
_WHOLE_BYTES = 1 << 20
_SHARED_ARGUMENTS = 96
_MAX_KEYS = 64

_KERNELS, _TARGET = b"amdhsa.kernels", b"amdhsa.target"
_ARGUMENT = itemgetter(b".offset", b".size", b".value_kind")


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
            document = msgpack.unpackb(note, raw=True)
            if not isinstance(document, dict):
                raise UnreadableCodeObject("the metadata note is no map")
            target, kernels = document.get(_TARGET), document.get(_KERNELS, ())
            if not isinstance(kernels, list | tuple):
                raise UnreadableCodeObject("amdhsa.kernels is no list")
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
    return msgpack.unpackb(note[start : unpacker.tell()], raw=True)


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
    if target is not None and not isinstance(target, bytes):
        raise UnreadableCodeObject("amdhsa.target is no text")
    return None if target is None else target.decode()


def _kernel(kernel: dict[bytes, Any]) -> RawKernel:
    """Return one kernel's map as plain values. This is where the time of a scan goes: keep it plain."""
    arguments = kernel.get(b".args", ())
    if len(arguments) > MAX_ARGUMENTS_PER_KERNEL:
        raise UnreadableCodeObject(f"a kernel with {len(arguments)} arguments")
    fields = tuple(map(_ARGUMENT, arguments))
    layout = _shared_layout(fields) if len(fields) <= _SHARED_ARGUMENTS else _raw_layout(fields)
    return checked(kernel[b".name"].decode(), kernel[b".symbol"].decode(), layout, kernel[b".kernarg_segment_size"])


def checked(name: str, symbol: str, layout: Layout, segment_bytes: Any) -> RawKernel:
    """Return the kernel when its names are printable text and its arguments lie inside its segment."""
    for text in (name, symbol):
        if not text or len(text) > MAX_NAME or not text.isprintable():
            raise UnreadableCodeObject(f"not a kernel's name: {ascii(text)[:80]}")
    if type(segment_bytes) is not int or not layout.explicit_bytes <= segment_bytes <= MAX_SEGMENT_BYTES:
        raise UnreadableCodeObject(
            f"kernel {name[:80]}: arguments end at byte {layout.explicit_bytes} of a segment of "
            f"{ascii(segment_bytes)[:40]}"
        )
    return RawKernel(name, symbol.removesuffix(".kd").removesuffix("@kd"), layout, segment_bytes)


def make_layout(fields: Iterable[tuple[Any, Any, str]]) -> Layout:
    """Return the layout of (offset, size, kind) of each argument without the hidden ones.

    Raises `UnreadableCodeObject` for impossible values. A float or a bool that is whole counts as its number: equal
    numbers are one key of the cache below, and one object must not be read in two ways.
    """
    signature = []
    for offset, size, kind in fields:
        if int(offset) != offset or int(size) != size or offset < 0 or size < 0:
            raise UnreadableCodeObject(f"an argument of {ascii(size)[:40]} bytes at {ascii(offset)[:40]}")
        if len(kind) > MAX_KIND or not kind.isprintable():
            raise UnreadableCodeObject(f"an argument of kind {ascii(kind)[:80]}")
        if not kind.startswith("hidden_"):
            signature.append((int(offset), int(size), kind))
    return Layout(
        tuple(signature),
        tuple([KernelArgument.model_construct(offset=o, size=s, kind=k) for o, s, k in signature]),
        max([offset + size for offset, size, _ in signature], default=0),
    )


def _raw_layout(fields: tuple[tuple[Any, Any, bytes], ...]) -> Layout:
    return make_layout([(offset, size, kind.decode()) for offset, size, kind in fields])


# Most kernels of a database share a few layouts: their nouns are built once. Bounded to a few megabytes.
_shared_layout = lru_cache(maxsize=256)(_raw_layout)


def _reason(error: Exception) -> str:
    return ascii(str(error) or type(error).__name__)[1:-1][:120]
