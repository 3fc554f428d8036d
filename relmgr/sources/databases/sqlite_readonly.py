"""Open a SQLite file for reading, whoever else has it open, without changing a byte in its folder.

Three ways, each where it is right:

- `immutable`: no locks, no side files. For a file in WAL mode whose log is absent or empty, since any other way would
  create `-wal` and `-shm` files beside it (and fail in a folder that cannot be written). Also the last resort for a
  file that another process keeps locked; whether it changed meanwhile is checked afterwards (`changed`).
- `shared`: an ordinary reader beside other processes; sees what is in a live write-ahead log.
- `copy`: the file and its log or journal are copied, and SQLite recovers the copy. For what a crashed writer left.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from relmgr.errors import SourceError

MAGIC = b"SQLite format 3\0"
MAX_VALUE_BYTES = 64 << 20
MAX_COPY_BYTES = 8 << 30
LOCK_SECONDS = 1.0
_CACHE_KIB = 8192

# A message about a damaged schema need not be text, and Python then fails on the message.
DATABASE_ERRORS = (sqlite3.Error, UnicodeError, MemoryError)

How = Literal["shared", "immutable", "copy"]
_PARAMETERS: dict[How, str] = {"shared": "mode=ro", "immutable": "immutable=1", "copy": "mode=rw"}
# https://www.sqlite.org/fileformat.html: 18 and 19 are the versions to write and read (2: WAL), 24 the change counter.
_HEADER_BYTES = 100


@dataclass
class ReadOnlyDatabase:
    """An open database; `how` it was opened and, unless alone with a copy, the file's state at that time."""

    path: Path
    connection: sqlite3.Connection
    how: How
    locked_by_other: bool = False
    _before: tuple[object, ...] = field(default=())

    def changed(self) -> bool:
        """Tell whether the file was written since it was opened: what was read may then be of two states."""
        return self.how != "copy" and _state(self.path) != self._before


@contextmanager
def open_readonly(path: Path) -> Iterator[ReadOnlyDatabase]:
    """Open the SQLite file at `path`; raises `SourceError` when it is none or cannot be read in any way."""
    with ExitStack() as stack:
        yield _open(path, stack)


def _open(path: Path, stack: ExitStack) -> ReadOnlyDatabase:
    try:
        before, header = _state(path), _header(path)
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", where=str(path)) from None
    if not header.startswith(MAGIC):
        raise SourceError(
            "not a SQLite database", where=str(path), next_step="name a kernel database, or fetch it again"
        )
    in_wal_mode, log = header[18:20] == b"\2\2", _side(path, "-wal")
    if in_wal_mode and log and not _exists(path, "-shm"):
        return _open_copy(path, stack)
    how: How = "immutable" if in_wal_mode and not log else "shared"
    connection = _connect(path, _PARAMETERS[how], stack)
    trouble = _probe(connection)
    if trouble is None:
        return ReadOnlyDatabase(path, connection, how, False, before)
    if "locked" in str(trouble):
        connection = _connect(path, _PARAMETERS["immutable"], stack)
        _require(connection, path)
        return ReadOnlyDatabase(path, connection, "immutable", True, before)
    if log or _side(path, "-journal"):
        return _open_copy(path, stack)
    raise SourceError(f"SQLite cannot read it: {trouble}", where=str(path), next_step="fetch or build it again")


def _open_copy(path: Path, stack: ExitStack) -> ReadOnlyDatabase:
    folder = stack.enter_context(TemporaryDirectory(prefix="relmgr-"))
    connection = _connect(_copy(path, Path(folder)), _PARAMETERS["copy"], stack)
    _require(connection, path)
    return ReadOnlyDatabase(path, connection, "copy")


def _connect(path: Path, parameters: str, stack: ExitStack) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(
            f"{path.resolve().as_uri()}?{parameters}", uri=True, timeout=LOCK_SECONDS, isolation_level=None
        )
    except DATABASE_ERRORS as error:
        raise SourceError(f"SQLite cannot open it: {error}", where=str(path)) from None
    stack.callback(connection.close)
    connection.text_factory = _text
    if sys.version_info >= (3, 11):
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
    return connection


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _probe(connection: sqlite3.Connection) -> Exception | None:
    """Return why the database cannot be read, None when it can. The schema is not trusted to run anything."""
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.execute("PRAGMA query_only = ON")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except DATABASE_ERRORS as error:
        return error
    return None


def _require(connection: sqlite3.Connection, path: Path) -> None:
    if (trouble := _probe(connection)) is not None:
        raise SourceError(f"SQLite cannot read it: {trouble}", where=str(path), next_step="fetch or build it again")


def _copy(path: Path, folder: Path) -> Path:
    """Copy a database and its side files; the copy is SQLite's to recover."""
    parts = [(path, folder / "copy.db")]
    parts += [(Path(f"{path}{side}"), folder / f"copy.db{side}") for side in ("-wal", "-journal")]
    try:
        total = sum(source.stat().st_size for source, _ in parts if source.is_file())
        if total > min(MAX_COPY_BYTES, shutil.disk_usage(folder).free):
            raise SourceError(f"no room for a copy of {total} bytes to recover", where=str(path))
        for source, target in parts:
            with suppress(FileNotFoundError):
                shutil.copyfile(source, target)
    except OSError as error:
        raise SourceError(f"cannot be copied for recovery: {error.strerror}", where=str(path)) from None
    return folder / "copy.db"


def _header(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEADER_BYTES)


def _state(path: Path) -> tuple[object, ...]:
    """Return what changes when the file is written: inode, size, time, change counter, and the log's size."""
    stat = path.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns, _header(path)[24:28], _side(path, "-wal")


def _side(path: Path, suffix: str) -> int:
    """Return the size of a side file, 0 for none."""
    try:
        return Path(f"{path}{suffix}").stat().st_size
    except OSError:
        return 0


def _exists(path: Path, suffix: str) -> bool:
    return Path(f"{path}{suffix}").exists()
