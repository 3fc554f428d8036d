"""Find database files, tell by their bytes what they are, and unpack `.bz2` ones into a bounded temporary file."""

from __future__ import annotations

import bz2
import glob
import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from relmgr.errors import SourceError, UserError
from relmgr.model.kernel_db import DatabaseKind, Pointer
from relmgr.sources.databases.names import parse_database_name
from relmgr.sources.databases.pointers import MAX_DVC_BYTES, parse_pointer

BZ2_MAGIC = b"BZh"
MAX_FILES = 100_000
MAX_UNPACKED_BYTES = 8 << 30
_CHUNK = 1 << 20
_KEPT_FREE_BYTES = 64 << 20


def find_databases(given: Iterable[str], kinds: frozenset[DatabaseKind]) -> list[Path]:
    """Return the files that `given` names, in order, each once: files, folders (searched through) and globs.

    A file that is named itself is taken whatever its name; in folders only databases of `kinds` are. Raises `UserError`
    for what does not exist and for a folder or glob without any database.
    """
    found: dict[Path, None] = {}
    for text in given:
        path = Path(text)
        if path.is_dir():
            files = list(_inside(path, kinds))
        elif path.exists() or path.is_symlink():
            files = [path]
        else:
            matches = sorted(glob.glob(text, recursive=True))  # noqa: PTH207 (Path.glob takes no absolute pattern)
            files = [file for match in matches for file in _matched(Path(match), kinds)]
        if not files:
            what = "no database in this folder" if path.is_dir() else "no such file, and no file matches"
            raise UserError(what, where=text, next_step="give database files, folders that hold some, or a glob")
        found.update(dict.fromkeys(files))
        if len(found) > MAX_FILES:
            raise UserError(f"more than {MAX_FILES} files", where=text, next_step="give fewer")
    return list(found)


def _matched(path: Path, kinds: frozenset[DatabaseKind]) -> list[Path]:
    return list(_inside(path, kinds)) if path.is_dir() else [path]


def _inside(folder: Path, kinds: frozenset[DatabaseKind]) -> Iterator[Path]:
    for top, folders, names in os.walk(folder):
        folders.sort()
        yield from (Path(top, name) for name in sorted(names) if parse_database_name(name).kind in kinds)


def read_pointer(path: Path) -> Pointer | None:
    """Return the pointer that the file at `path` is, None for anything else. Raises `SourceError`."""
    try:
        if not path.is_file():
            raise SourceError("not a regular file" if path.exists() else "no such file", where=str(path))
        if path.stat().st_size > MAX_DVC_BYTES:
            return None
        return parse_pointer(path.read_bytes())
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", where=str(path)) from None


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file's bytes, in hex. Raises `SourceError`."""
    digest = hashlib.sha256()
    try:
        with path.open("rb", buffering=0) as file:
            buffer = bytearray(_CHUNK)
            while size := file.readinto(buffer):
                digest.update(memoryview(buffer)[:size])
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", where=str(path)) from None
    return digest.hexdigest()


def is_packed(path: Path) -> bool:
    """Tell whether a file's bytes are bz2. Raises `SourceError`."""
    try:
        with path.open("rb") as file:
            return file.read(len(BZ2_MAGIC)) == BZ2_MAGIC
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", where=str(path)) from None


@contextmanager
def unpacked(path: Path, limit: int = MAX_UNPACKED_BYTES) -> Iterator[Path]:
    """Yield `path` itself, or, when its bytes are bz2, a temporary file with its content (at most `limit` bytes)."""
    if not is_packed(path):
        yield path
        return
    with TemporaryDirectory(prefix="relmgr-") as folder:
        target = Path(folder, "unpacked")
        room = shutil.disk_usage(folder).free - _KEPT_FREE_BYTES
        _unpack(path, target, min(limit, room))
        yield target


def _unpack(path: Path, target: Path, limit: int) -> None:
    written = 0
    try:
        with target.open("wb") as out:
            for chunk in read_bz2(path):
                written += len(chunk)
                if written > limit:
                    raise SourceError(f"unpacks to more than {limit} bytes", where=str(path))
                out.write(chunk)
    except OSError as error:
        raise SourceError(f"cannot be unpacked: {error.strerror or error}", where=str(path)) from None


def read_bz2(path: Path) -> Iterator[bytes]:
    """Yield the content of a bz2 file as `unpack_stream` does."""
    with path.open("rb") as file:
        yield from unpack_stream(file, str(path))


def unpack_stream(file: IO[bytes], where: str) -> Iterator[bytes]:
    """Yield the content of bz2 data, of one stream or several, in pieces of at most 1 MiB.

    Raises `SourceError` for corrupt or truncated data, and for bytes after the end that are no stream.
    """
    reader, data = bz2.BZ2Decompressor(), b""
    while True:
        if reader.eof:
            data = reader.unused_data or file.read(_CHUNK)
            if not data:
                return
            reader = bz2.BZ2Decompressor()
        elif reader.needs_input:
            data = file.read(_CHUNK)
            if not data:
                raise SourceError("truncated: the bz2 data end in the middle", where=where, next_step="fetch it again")
        try:
            yield reader.decompress(data, _CHUNK)
        except OSError:
            raise SourceError("corrupt bz2 data", where=where, next_step="fetch it again") from None
        data = b""
