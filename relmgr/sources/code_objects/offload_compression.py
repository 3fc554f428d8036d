"""Compressed offload bundles (`CCOB`), versions 1 to 3, with zlib or zstd.

Format: https://clang.llvm.org/docs/ClangOffloadBundler.html#compression-and-decompression. What a header declares is
never believed: decompression stops at the declared size and at the caller's limit, whichever is smaller.
"""

from __future__ import annotations

import hashlib
import importlib
import struct
import zlib
from typing import Any, NamedTuple

from relmgr.model.code_object import UnreadableCodeObject
from relmgr.sources.code_objects.elf import Buffer

COMPRESSED_MAGIC = b"CCOB"
MAX_CONTENT_BYTES = 512 << 20

_COMMON = struct.Struct("<4sHH")
# Version: its fields after the common ones. 1: content size, hash; 2 and 3: file size, content size, hash.
_FIELDS = {1: struct.Struct("<IQ"), 2: struct.Struct("<IIQ"), 3: struct.Struct("<QQQ")}
_ZLIB, _ZSTD = 0, 1
_METHODS = {_ZLIB: "zlib", _ZSTD: "zstd"}
# zstd can turn four bytes into 128 KiB: so little is fed at once that one step adds at most 64 MiB.
_STEP = 2_048
_ZSTD_MODULES = ("compression.zstd", "backports.zstd", "zstandard")


class _Header(NamedTuple):
    method: int
    header_bytes: int
    file_bytes: int | None
    content_bytes: int
    digest: int


def decompress(data: Buffer, limit: int) -> tuple[bytearray, int]:
    """Return the content of the compressed bundle that `data` begins with, and the bytes that the bundle takes.

    Raises `UnreadableCodeObject` for anything but exactly the declared content, and where zstd is needed and no
    decompressor is installed.
    """
    view = memoryview(data)
    header = _read_header(view)
    if header.content_bytes > min(limit, MAX_CONTENT_BYTES):
        raise UnreadableCodeObject(
            f"a compressed bundle of {header.content_bytes} bytes, more than {min(limit, MAX_CONTENT_BYTES)}"
        )
    end = len(view) if header.file_bytes is None else header.file_bytes
    content, used = _inflate(view[header.header_bytes : end], header)
    if int.from_bytes(hashlib.md5(content, usedforsecurity=False).digest()[:8], "little") != header.digest:
        raise UnreadableCodeObject("a compressed bundle whose content does not match its digest")
    return content, header.header_bytes + used if header.file_bytes is None else header.file_bytes


def _read_header(view: memoryview) -> _Header:
    if len(view) < _COMMON.size:
        raise UnreadableCodeObject("a compressed bundle that ends in its header")
    _, version, method = _COMMON.unpack_from(view)
    fields = _FIELDS.get(version)
    if fields is None or method not in _METHODS:
        raise UnreadableCodeObject(f"a compressed bundle of version {version}, method {method}: not known")
    size = _COMMON.size + fields.size
    if len(view) < size:
        raise UnreadableCodeObject("a compressed bundle that ends in its header")
    *file_bytes, content_bytes, digest = fields.unpack_from(view, _COMMON.size)
    if file_bytes and not size <= file_bytes[0] <= len(view):
        raise UnreadableCodeObject(f"a compressed bundle of {file_bytes[0]} bytes in {len(view)}: truncated or corrupt")
    return _Header(method, size, file_bytes[0] if file_bytes else None, content_bytes, digest)


def _inflate(payload: memoryview, header: _Header) -> tuple[bytearray, int]:
    """Return exactly the declared content, and how much of `payload` it took."""
    engine = zlib.decompressobj() if header.method == _ZLIB else _zstd()
    content = bytearray()
    at = 0
    try:
        while not engine.eof and at < len(payload):
            content += engine.decompress(bytes(payload[at : at + _STEP]))
            at += _STEP
            if len(content) > header.content_bytes:
                raise UnreadableCodeObject(f"a compressed bundle that holds more than its {header.content_bytes} bytes")
        used = min(at, len(payload)) - len(engine.unused_data)
    except UnreadableCodeObject:
        raise
    except Exception as error:  # each zstd module has an exception class of its own
        raise UnreadableCodeObject(f"{_METHODS[header.method]}: {ascii(str(error))[1:-1][:120]}") from None
    if not engine.eof or len(content) != header.content_bytes:
        raise UnreadableCodeObject(f"a compressed bundle that gave {len(content)} of {header.content_bytes} bytes")
    return content, used


def _zstd() -> Any:
    """Return a streaming zstd decompressor from Python's library (3.14) or an installed package."""
    for name in _ZSTD_MODULES:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        return module.ZstdDecompressor().decompressobj() if name == "zstandard" else module.ZstdDecompressor()
    raise UnreadableCodeObject(
        "compressed with zstd, for which no decompressor is installed",
        next_step="pip install zstandard (or use Python 3.14, which has one)",
    )
