"""Unpack Clang offload bundles, plain and compressed, as they stand in files and in fat binaries.

Formats: https://clang.llvm.org/docs/ClangOffloadBundler.html. Several bundles may follow each other, zeros between them
(one for each translation unit of a program).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

from relmgr.model.code_object import UnreadableCodeObject
from relmgr.sources.code_objects.elf import Buffer
from relmgr.sources.code_objects.offload_compression import COMPRESSED_MAGIC, decompress

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"

_COUNT = struct.Struct("<Q")
_ENTRY = struct.Struct("<QQQ")
_MAX_ENTRIES = 4_096
_MAX_ID = 1_024
_MAX_BUNDLES = 65_536
_MAX_DECOMPRESSED = 2 << 30
_NOT_ZERO = re.compile(rb"[^\0]")


class BundleEntry(NamedTuple):
    """One image of a bundle; `identity` is its offload kind and target, such as `hip-amdgcn-amd-amdhsa--gfx90a`."""

    identity: str
    image: Buffer


def is_bundle(data: Buffer) -> bool:
    """Tell whether `data` begins like an offload bundle, plain or compressed."""
    return bytes(data[: len(MAGIC)]) == MAGIC or bytes(data[: len(COMPRESSED_MAGIC)]) == COMPRESSED_MAGIC


def unpack_bundles(data: Buffer) -> Iterator[BundleEntry]:
    """Yield the device images of the bundles in `data`, one after the other; host images and empty ones are left out.

    Raises `UnreadableCodeObject` at the first bundle that is truncated, corrupt, hostile or of an unknown kind; the
    images before it have been yielded by then.
    """
    view, at, decompressed = memoryview(data), 0, 0
    for _ in range(_MAX_BUNDLES):
        here = view[at:]
        if bytes(here[: len(COMPRESSED_MAGIC)]) == COMPRESSED_MAGIC:
            content, length = decompress(here, limit=_MAX_DECOMPRESSED - decompressed)
            decompressed += len(content)
            yield from _device_entries(read_bundle(memoryview(content))[0])
        else:
            entries, length = read_bundle(here)
            yield from _device_entries(entries)
        following = _NOT_ZERO.search(view, at + length)
        if following is None:
            return
        at = following.start()
    raise UnreadableCodeObject(f"more than {_MAX_BUNDLES} bundles")


def read_bundle(data: Buffer) -> tuple[list[BundleEntry], int]:
    """Return the entries of one plain bundle and the bytes that it takes; raises `UnreadableCodeObject`."""
    view = memoryview(data)
    if bytes(view[: len(MAGIC)]) != MAGIC:
        raise UnreadableCodeObject("not an offload bundle")
    at = len(MAGIC)
    if at + _COUNT.size > len(view):
        raise UnreadableCodeObject("an offload bundle that ends in its header")
    (count,) = _COUNT.unpack_from(view, at)
    at += _COUNT.size
    if count > _MAX_ENTRIES:
        raise UnreadableCodeObject(f"an offload bundle of {count} entries")
    extents: list[tuple[int, int, str]] = []
    for _ in range(count):
        if at + _ENTRY.size > len(view):
            raise UnreadableCodeObject("an offload bundle that ends in its table")
        offset, size, id_size = _ENTRY.unpack_from(view, at)
        at += _ENTRY.size
        if id_size > _MAX_ID or at + id_size > len(view):
            raise UnreadableCodeObject(f"an offload bundle entry with a name of {id_size} bytes")
        identity = bytes(view[at : at + id_size]).decode("utf-8", errors="replace")
        at += id_size
        if not identity.isprintable() or offset + size > len(view):
            raise UnreadableCodeObject(
                f"the bundle's entry {ascii(identity)[:80]} ends at byte {offset + size} of {len(view)}"
            )
        extents.append((offset, size, identity))
    _refuse_overlaps(extents, at)
    end = max([at, *(offset + size for offset, size, _ in extents)])
    return [BundleEntry(identity, view[offset : offset + size]) for offset, size, identity in extents], end


def _refuse_overlaps(extents: list[tuple[int, int, str]], table_end: int) -> None:
    """Raise where images overlap each other or the table: so that no byte is read twice."""
    end = table_end
    for offset, size, identity in sorted(extents):
        if size and offset < end:
            raise UnreadableCodeObject(f"the bundle's entry {identity[:80]} overlaps another")
        end = max(end, offset + size)


def _device_entries(entries: list[BundleEntry]) -> Iterator[BundleEntry]:
    for entry in entries:
        if entry.identity.partition("-")[0] != "host" and len(entry.image):
            yield entry
