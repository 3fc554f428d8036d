"""Rows of a kernel database, in bounded memory: which there are, their content, and the code object in each.

Decompression is nearly all the work, and the standard bz2 releases the interpreter's lock, so threads scale.
"""

from __future__ import annotations

import bz2
import hashlib
import re
import sqlite3
import threading
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any, NamedTuple, TypeVar

from relmgr.errors import SourceError
from relmgr.model.code_object import CodeObject, UnreadableCodeObject
from relmgr.sources.code_objects.code_object import read_code_object
from relmgr.sources.code_objects.device_file import read_device_code
from relmgr.sources.code_objects.offload_bundle import is_bundle
from relmgr.sources.databases.sqlite_readonly import DATABASE_ERRORS

TABLE, INDEX = "kern_db", "idx_kern_db"
COLUMNS = ("id", "kernel_name", "kernel_args", "kernel_blob", "kernel_hash", "uncompressed_size")

MAX_OBJECT_BYTES = 32 << 20
_LARGE_BYTES = _BATCH_BYTES = 2 << 20
_BATCH_ROWS = 64
_IN_FLIGHT_BYTES = 40 << 20
_CHUNK_ROWS = 256
_CHUNK_BYTES = 4 << 20
_GONE = "in the index, but not in the table"

_TABLE_WALK = "SELECT id, kernel_name FROM kern_db NOT INDEXED"
_INDEX_WALK = "SELECT id, kernel_name FROM kern_db INDEXED BY idx_kern_db"
_INDEX_RANGE = f"{_INDEX_WALK} WHERE kernel_name >= ? AND kernel_name < ?"
_TABLE_COUNT = "SELECT count(*) FROM kern_db NOT INDEXED"
_INDEX_COUNT = "SELECT count(*) FROM kern_db INDEXED BY idx_kern_db"
# A blob that is too large is not even read; `length` of a blob needs only the row's head.
_READ = (
    "SELECT id, kernel_name, kernel_args, CASE WHEN length(kernel_blob) <= ?1 THEN kernel_blob END, kernel_hash,"
    " uncompressed_size, length(kernel_blob) FROM kern_db NOT INDEXED WHERE id "
)
_READ_ONE = f"{_READ} = ?2"

# Large objects are unpacked one at a time, so that memory does not grow with the number of threads.
_one_large = threading.Lock()
T = TypeVar("T")


class Row(NamedTuple):
    """One row. `broken` says why it could not be read or has not the shape of one; its other fields are then blank."""

    id: int
    kernel_name: str
    kernel_args: str
    blob: bytes
    kernel_hash: str
    uncompressed_size: int
    broken: str | None = None
    too_large: bool = False


class Unreadable(Exception):
    """Why a row's object could not be read; `corrupt` False: it was not tried (too large)."""

    def __init__(self, why: str, *, corrupt: bool = True) -> None:
        super().__init__(why)
        self.corrupt = corrupt


class Listing(NamedTuple):
    """The ids to read, ascending; how many rows the table holds (None: cannot be counted); what was wrong."""

    ids: Sequence[int]
    total: int | None
    trouble: tuple[str, ...]
    complete: bool


def require_table(connection: sqlite3.Connection, where: str) -> None:
    """Raise `SourceError` unless the database has a plain table of kernels (a view or a computed column is none)."""
    try:
        found = connection.execute("SELECT type, sql FROM sqlite_master WHERE name = ?", (TABLE,)).fetchone()
        encoding = connection.execute("PRAGMA encoding").fetchone()[0]
        columns = {row[1]: row for row in connection.execute(f"PRAGMA table_xinfo({TABLE})")} if found else {}
    except DATABASE_ERRORS as error:
        raise SourceError(f"the schema cannot be read: {error}", where=where) from None
    if encoding != "UTF-8":
        raise SourceError(f"its text is {encoding}, not UTF-8", where=where)
    if found is None:
        next_step = "name a kernel database; `relmgr kdb tuning` reads perf-dbs and find-dbs"
        raise SourceError(f"no table {TABLE}: not a kernel database", where=where, next_step=next_step)
    kind, sql = found
    if kind != "table" or not isinstance(sql, str) or not re.match(r"\s*CREATE\s+TABLE\b", sql, re.IGNORECASE):
        raise SourceError(f"{TABLE} is not a plain table", where=where)
    if missing := [name for name in COLUMNS if name not in columns or columns[name][6] != 0]:
        raise SourceError(f"{TABLE} has no plain column {', '.join(missing)}", where=where)
    if (
        columns["id"][2].upper() != "INTEGER"
        or not columns["id"][5]
        or re.search(r"WITHOUT\s+ROWID", sql, re.IGNORECASE)
    ):
        raise SourceError(f"id is not the integer key of {TABLE}", where=where)


def list_rows(connection: sqlite3.Connection, pattern: str | None) -> Listing:
    """Return the rows whose kernel name `pattern` matches, or all rows for None.

    Where the pattern begins with fixed text, its range of the unique index is enough, provided that index and table
    hold equally many rows. When they do not, the table is believed; where that cannot be walked, both are.
    """
    total, indexed = _count(connection, _TABLE_COUNT), _count(connection, _INDEX_COUNT)
    prefix = literal_prefix(pattern) if pattern and total is not None and total == indexed else None
    trouble: list[str] = []
    if prefix is not None:
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        ids = _walk(connection, _INDEX_RANGE, (prefix, end), pattern)
        if ids.complete:
            return Listing(sorted(ids.found), total, (), True)
        trouble.append(ids.trouble)
    walked = _walk(connection, _TABLE_WALK, (), pattern)
    found = set(walked.found)
    if not walked.complete:
        trouble.append(walked.trouble)
        found |= set(_walk(connection, _INDEX_WALK, (), pattern).found)
    elif indexed is None:
        trouble.append(f"the index {INDEX} is missing or cannot be read")
    elif indexed != total:
        trouble.append(f"the index holds {indexed} rows, the table {total}")
    return Listing(sorted(found), total, tuple(trouble), walked.complete)


class _Walk(NamedTuple):
    found: array[int]
    complete: bool
    trouble: str = ""


def _walk(connection: sqlite3.Connection, query: str, values: tuple[str, ...], pattern: str | None) -> _Walk:
    """Return the ids met, up to the end or to the first page that cannot be read."""
    found = array("q")
    matches = re.compile(pattern).search if pattern else None
    try:
        for row_id, name in connection.execute(query, values):
            if matches is None or not isinstance(name, str) or matches(name):
                found.append(row_id)
    except DATABASE_ERRORS as error:
        return _Walk(found, False, f"the list of rows breaks off after {len(found)}: {error}")
    return _Walk(found, True)


def _count(connection: sqlite3.Connection, query: str) -> int | None:
    try:
        return int(connection.execute(query).fetchone()[0])
    except DATABASE_ERRORS:
        return None


def literal_prefix(pattern: str) -> str | None:
    """Return the text with which every match of a regular expression begins; None where it has none for certain."""
    if not pattern.startswith("^") or "|" in pattern:
        return None
    match = re.match(r"(?:[\w \-/,:;=@]|\\[.\-/])*", pattern[1:], re.ASCII)
    text = match[0] if match else ""
    if pattern[1 + len(text) : 2 + len(text)] in ("*", "?", "{", "+"):
        text = text[:-1]
    text = text.replace("\\", "")
    return text or None


def read_rows(connection: sqlite3.Connection, ids: Sequence[int]) -> Iterator[Row]:
    """Yield the rows of `ids` (ascending), a few megabytes to a statement: no lock is held while the caller works.

    A row on a damaged page, or one that is no longer there, is yielded as broken; the others are still read.
    """
    at = 0
    while at < len(ids):
        chunk = ids[at : at + _CHUNK_ROWS]
        try:
            rows = _read_chunk(connection, chunk)
        except DATABASE_ERRORS:
            for row_id in chunk:
                yield _read_alone(connection, row_id)
            at += len(chunk)
            continue
        yield from rows
        at += len(rows)


def _read_chunk(connection: sqlite3.Connection, chunk: Sequence[int]) -> list[Row]:
    """Return one row for each of the first ids of `chunk`, up to `_CHUNK_BYTES` and at least one."""
    found: dict[int, Row] = {}
    size, last = 0, chunk[-1]
    query = f"{_READ} IN ({','.join('?' * len(chunk))}) ORDER BY id"
    with closing(connection.execute(query, [MAX_OBJECT_BYTES, *chunk])) as cursor:
        for values in cursor:
            row = found[values[0]] = _row(values)
            size += len(row.blob)
            if size >= _CHUNK_BYTES:
                last = row.id
                break
    return [found.get(row_id) or _broken(row_id, _GONE) for row_id in chunk if row_id <= last]


def _read_alone(connection: sqlite3.Connection, row_id: int) -> Row:
    try:
        values = connection.execute(_READ_ONE, (MAX_OBJECT_BYTES, row_id)).fetchone()
    except DATABASE_ERRORS as error:
        return _broken(row_id, f"SQLite cannot read it: {error}")
    return _row(values) if values else _broken(row_id, _GONE)


def _row(values: tuple[Any, ...]) -> Row:
    row_id, name, args, blob, digest, size, length = values
    if not isinstance(name, str) or not isinstance(args, str) or not isinstance(digest, str):
        return _broken(row_id, "a text column holds no text", name)
    if not isinstance(size, int) or not isinstance(length, int) or size < 0:
        return _broken(row_id, "no blob, or no size", name)
    if blob is None or size > MAX_OBJECT_BYTES:
        why = f"an object of {max(size, length)} bytes: more than {MAX_OBJECT_BYTES} are not read"
        return Row(row_id, name, args, b"", digest, size, why, True)
    if not isinstance(blob, bytes):
        return _broken(row_id, "kernel_blob holds no bytes", name)
    return Row(row_id, name, args, blob, digest, size)


def _broken(row_id: int, why: str, name: object = None) -> Row:
    return Row(row_id, name if isinstance(name, str) else "", "", b"", "", 0, why)


def read_objects(rows: Sequence[Row], *, verify: bool) -> list[CodeObject | Unreadable]:
    """Return the code object of each row whose size, and with `verify` md5, is as the row says; else why not.

    The rows of a batch are unpacked together, then hashed, then read: each step leaves the processor's caches to the
    next only once a batch, which saves a twentieth of the whole.
    """
    if len(rows) == 1 and _bytes_of(rows[0]) > _LARGE_BYTES:
        with _one_large:
            return _read_objects(rows, verify)
    return _read_objects(rows, verify)


def _read_objects(rows: Sequence[Row], verify: bool) -> list[CodeObject | Unreadable]:
    contents = [_content(row) for row in rows]
    if verify:
        contents = [_verified(row, content) for row, content in zip(rows, contents, strict=True)]
    return [_code_object(content) for content in contents]


def _content(row: Row) -> bytes | Unreadable:
    if row.broken is not None:
        return Unreadable(row.broken, corrupt=not row.too_large)
    try:
        return unpack(row)
    except Unreadable as error:
        return error


def _verified(row: Row, content: bytes | Unreadable) -> bytes | Unreadable:
    if isinstance(content, Unreadable) or md5_of(content) == row.kernel_hash.lower():
        return content
    return Unreadable("its md5 is not its kernel_hash")


def _code_object(content: bytes | Unreadable) -> CodeObject | Unreadable:
    if isinstance(content, Unreadable):
        return content
    try:
        if not is_bundle(content):
            return read_code_object(content)
        found = read_device_code(content)
    except UnreadableCodeObject as error:
        return Unreadable(f"not a readable code object: {error.what}")
    # A row is for one device: a bundle of several does not say which of them would be launched.
    return found[0] if len(found) == 1 else Unreadable(f"an offload bundle of {len(found)} code objects, not one")


def md5_of(content: bytes) -> str:
    """Return the md5 of an object, as a database's `kernel_hash` holds it."""
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def unpack(row: Row) -> bytes:
    """Return the object's bytes: bz2 unless the row says that it is stored as it is. Raises `Unreadable`."""
    size = row.uncompressed_size
    if size == 0:
        return row.blob
    reader = bz2.BZ2Decompressor()
    try:
        # One byte more than there should be: so the end of the stream, with its checksum, is reached.
        data = reader.decompress(row.blob, size + 1)
    except OSError:
        raise Unreadable("corrupt bz2 data") from None
    if len(data) > size:
        raise Unreadable(f"unpacks to more than the {size} bytes it says")
    if not reader.eof:
        raise Unreadable("truncated bz2 data")
    if len(data) < size:
        raise Unreadable(f"unpacks to {len(data)} bytes and says {size}")
    return data


def map_batches(rows: Iterator[Row], function: Callable[[list[Row]], list[T]], jobs: int) -> Iterator[T]:
    """Yield what `function` returns for batches of rows, in order, on `jobs` threads; the bytes waiting are bounded."""
    if jobs <= 1:
        for batch in _batches(rows):
            yield from function(batch)
        return
    waiting: deque[tuple[Future[list[T]], int]] = deque()
    in_flight = 0
    with ThreadPoolExecutor(jobs, thread_name_prefix="rows") as pool:
        for batch in _batches(rows):
            size = sum(len(row.blob) for row in batch)
            while waiting and (len(waiting) >= 2 * jobs or in_flight + size > _IN_FLIGHT_BYTES):
                done, freed = waiting.popleft()
                in_flight -= freed
                yield from done.result()
            waiting.append((pool.submit(function, batch), size))
            in_flight += size
        for done, _ in waiting:
            yield from done.result()


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Yield rows in batches of about `_BATCH_BYTES` unpacked; a large one alone."""
    batch: list[Row] = []
    size = 0
    for row in rows:
        length = _bytes_of(row)
        if batch and (size + length > _BATCH_BYTES or len(batch) >= _BATCH_ROWS):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += length
    if batch:
        yield batch


def _bytes_of(row: Row) -> int:
    """Return how much memory a row takes at most: what it holds and what it says that it unpacks to."""
    return 0 if row.broken is not None else max(row.uncompressed_size, len(row.blob))
