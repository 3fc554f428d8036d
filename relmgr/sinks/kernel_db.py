"""Write kernel databases: one without its stale rows, built beside the old one, verified, then put in its place (K6).

Until the last step the old database is only read, under a lock that keeps other writers out. The new one is a whole,
synchronised file before it gets its name; a kill at any moment leaves the old database, or the new one and the old one
under another name, and at worst a file `.relmgr-partial` that the next run takes over.
"""

from __future__ import annotations

import bz2
import fcntl
import hashlib
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from relmgr.errors import SourceError, UserError
from relmgr.sources.databases.files import read_bz2, sha256_of, unpacked
from relmgr.sources.databases.rows import require_table
from relmgr.sources.databases.sqlite_readonly import DATABASE_ERRORS, open_readonly

PARTIAL, NEW = ".relmgr-partial", ".relmgr-new"
_CHUNK = 1 << 20
_END_IT = "end that process, open the database once with sqlite3, then try again"
_KEPT_NAMES = 1_000

# What a copy must share with the original beside its rows.
_HEADER_PRAGMAS = ("page_size", "auto_vacuum", "encoding", "user_version", "application_id")


class Written(NamedTuple):
    """The size of the new database in bytes, and where the old one is kept when it was swapped."""

    size: int
    kept_old: Path | None


def write_pruned(path: Path, out: Path, stale: Sequence[int], sha256: str, *, swap_abi: int | None = None) -> Written:
    """Write the database at `path` without the rows `stale` to `out`, whole or not at all.

    `sha256` is that of the bytes in which these rows were found. Either file may be bz2: by its bytes, and by its name.
    Every remaining row is compared byte for byte with the original. With `swap_abi` the file then takes the place of
    `path`, which is kept as `<path>.before-abi-<swap_abi>`; `out` is a passing name, and one left by a killed run goes.
    Raises `SourceError` when the database is another by now, is open for writing, or the result fails a check.
    """
    try:
        with _partial(out, again=swap_abi is not None) as partial:
            return _write(path, out, partial, stale, sha256, swap_abi)
    except (*DATABASE_ERRORS, OSError) as error:
        raise SourceError(f"could not be written: {error}; the old one is untouched", where=str(out)) from None


def _write(path: Path, out: Path, partial: Path, stale: Sequence[int], sha256: str, swap_abi: int | None) -> Written:
    with ExitStack() as stack:
        _require_no_log(path)
        stamp = _stamp(path)
        content = stack.enter_context(unpacked(path))
        in_wal_mode = _is_in_wal_mode(content)
        database = stack.enter_context(open_readonly(content))
        old = database.connection
        if database.locked_by_other:
            raise SourceError("another process is writing to it", where=str(path), next_step=_END_IT)
        require_table(old, str(path))
        _require_only_tables(old, path)
        _lock_as_scanned(old, path, sha256)
        # From here to the end `path` must not be opened and closed: that would drop the lock on it, as POSIX has it.
        _copy_without(old, partial, stale)
        _verify(old, partial, stale, path)
        if in_wal_mode:
            _set_wal_mode(partial)
        ready = _packed(partial) if out.suffix == ".bz2" else partial
        _sync(ready)
        _require_no_log(path)
        if _stamp(path) != stamp:
            raise SourceError("another process wrote to it meanwhile", where=str(path), next_step=_END_IT)
        ready.rename(out)
        _sync_folder(out.parent)
        size = out.stat().st_size
        return Written(size, None if swap_abi is None else _swap(path, out, swap_abi, stamp))


def _lock_as_scanned(old: sqlite3.Connection, path: Path, sha256: str) -> None:
    """Begin to read, which keeps writers from committing, at the content that was scanned."""
    before = old.execute("PRAGMA data_version").fetchone()
    same = sha256_of(path) == sha256
    old.execute("BEGIN")
    old.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not same or old.execute("PRAGMA data_version").fetchone() != before:
        raise SourceError("it is not the database that was scanned", where=str(path), next_step="try again")


def _swap(path: Path, new: Path, abi: int, stamp: tuple[int, ...]) -> Path:
    """Put `new` in the place of `path` in one step; return where the old one is kept.

    The old file first gets a second name (a hard link, or a synchronised copy), so that it is never without one. A
    process that has it open goes on with the old one.
    """
    shutil.copymode(path, new)
    with suppress(OSError):
        os.chown(new, path.stat().st_uid, path.stat().st_gid)
    kept = _second_name(path, abi)
    if _stamp(path) != stamp:
        kept.unlink()
        raise SourceError("another process wrote to it meanwhile", where=str(path), next_step=_END_IT)
    new.replace(path)
    _sync_folder(path.parent)
    return kept


def _stamp(path: Path) -> tuple[int, ...]:
    """Return what a write changes, without opening the file."""
    stat = path.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _require_no_log(path: Path) -> None:
    """Refuse a database with rows in a log or journal: its bytes alone are not all of it."""
    for suffix in ("-wal", "-journal"):
        side = Path(f"{path}{suffix}")
        if side.exists() and side.stat().st_size:
            what = f"a {suffix[1:]} lies beside it: another process has it open, or one crashed"
            raise SourceError(what, where=str(path), next_step=_END_IT)


def _second_name(path: Path, abi: int) -> Path:
    """Give `path` another name that did not exist, and return it."""
    for number in range(_KEPT_NAMES):
        kept = path.with_name(f"{path.name}.before-abi-{abi}{f'.{number}' if number else ''}")
        try:
            os.link(path, kept)
        except FileExistsError:
            continue
        except OSError:
            # No hard links on this file system: a whole copy under a passing name, which is then renamed.
            if kept.exists():
                continue
            passing = kept.with_name(kept.name + PARTIAL)
            shutil.copyfile(path, passing)
            _sync(passing)
            passing.rename(kept)
        _sync_folder(path.parent)
        return kept
    raise UserError("too many kept databases beside it", where=str(path), next_step="remove old ones")


@contextmanager
def _partial(out: Path, again: bool) -> Iterator[Path]:
    """Yield the path to build `out` at, alone: a second run on the same `out` is refused, a leftover taken over."""
    partial = out.with_name(out.name + PARTIAL)
    lock = out.with_name(out.name + PARTIAL + ".lock")
    try:
        handle = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise UserError(
            f"cannot write there: {error.strerror}", where=str(out), next_step="give another --out"
        ) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError("another prune is writing it", where=str(out), next_step="wait for it") from None
        if os.fstat(handle).st_nlink == 0:  # the other run has just ended and removed it
            raise UserError("another prune was writing it", where=str(out), next_step="try again")
        # From here it is ours alone, and so is what lies at its names.
        try:
            if again:
                out.unlink(missing_ok=True)
            if out.exists():
                raise UserError("it exists already", where=str(out), next_step="give another --out, or remove it")
            _remove(partial)
            yield partial
        finally:
            _remove(partial)
            if again:
                out.unlink(missing_ok=True)
            lock.unlink(missing_ok=True)
    finally:
        os.close(handle)


def _remove(partial: Path) -> None:
    for suffix in ("", "-journal", "-wal", "-shm", ".work", ".work-journal", ".bz2"):
        Path(f"{partial}{suffix}").unlink(missing_ok=True)


def _require_only_tables(old: sqlite3.Connection, path: Path) -> None:
    """Refuse schemas with triggers, views or virtual tables: deleting rows there may do more than that."""
    for kind, name, sql in old.execute("SELECT type, name, sql FROM sqlite_master"):
        virtual = isinstance(sql, str) and sql.lstrip().upper().startswith("CREATE VIRTUAL")
        if kind not in ("table", "index") or virtual:
            raise SourceError(f"its schema holds more than tables and indexes: {kind} {name}", where=str(path))


def _copy_without(old: sqlite3.Connection, partial: Path, stale: Sequence[int]) -> None:
    """Copy the database page by page, delete the rows from the copy, and write it anew without the gaps."""
    work = Path(f"{partial}.work")
    with closing(sqlite3.connect(work, isolation_level=None)) as copy:
        old.backup(copy)
    with closing(sqlite3.connect(work, isolation_level=None)) as copy:
        copy.execute("PRAGMA trusted_schema = OFF")
        copy.execute("PRAGMA journal_mode = DELETE")
        copy.execute("PRAGMA synchronous = OFF")
        copy.execute("BEGIN")
        copy.executemany("DELETE FROM kern_db WHERE id = ?", ((row_id,) for row_id in stale))
        copy.execute("COMMIT")
        copy.execute("VACUUM INTO ?", (str(partial),))
    work.unlink()


def _verify(old: sqlite3.Connection, partial: Path, stale: Sequence[int], path: Path) -> None:
    """Compare the new database with the old one: checks, header, schema, and all rows of all tables."""

    def require(holds: bool, what: str) -> None:
        if not holds:
            raise SourceError(f"the new database failed a check: {what}; nothing was changed", where=str(path))

    with closing(sqlite3.connect(f"{partial.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)) as new:
        found = new.execute("PRAGMA integrity_check").fetchall()
        require(found == [("ok",)], f"integrity_check says {str(found)[:200]}")
        for pragma in _HEADER_PRAGMAS:
            query = f"PRAGMA {pragma}"
            require(old.execute(query).fetchone() == new.execute(query).fetchone(), f"{pragma} differs")
        with _as_bytes(old), _as_bytes(new):
            schema = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
            require(old.execute(schema).fetchall() == new.execute(schema).fetchall(), "the schema differs")
            tables = [row[0].decode() for row in old.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for table in tables:
                gone = frozenset(stale) if table == "kern_db" else frozenset()
                require(_same_rows(old, new, table, gone), f"rows of {table} differ")


@contextmanager
def _as_bytes(connection: sqlite3.Connection) -> Iterator[None]:
    """Read text as the bytes that are stored."""
    before = connection.text_factory
    connection.text_factory = bytes
    try:
        yield
    finally:
        connection.text_factory = before


def _same_rows(old: sqlite3.Connection, new: sqlite3.Connection, table: str, gone: frozenset[int]) -> bool:
    """Tell whether `new` holds the rows of `old` in order, all but those of the ids `gone`, and no others."""
    quoted = '"' + table.replace('"', '""') + '"'
    order = "id" if table == "kern_db" else "rowid"
    query = f"SELECT {order}, * FROM {quoted} NOT INDEXED ORDER BY {order}"  # noqa: S608 (a quoted name)
    remaining = new.execute(query)
    met = 0
    for row in old.execute(query):
        if row[0] in gone:
            met += 1
        elif not _same_row(row, remaining.fetchone()):
            return False
    return met == len(gone) and remaining.fetchone() is None


def _same_row(old: tuple[object, ...], new: tuple[object, ...] | None) -> bool:
    # The types too: to Python 1 and 1.0 are equal.
    return new is not None and old == new and [type(value) for value in old] == [type(value) for value in new]


def _is_in_wal_mode(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(20)[18:20] == b"\2\2"


def _set_wal_mode(partial: Path) -> None:
    """Give the new file the write-ahead mode in its header, as the old one has it."""
    with closing(sqlite3.connect(partial, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")


def _packed(source: Path) -> Path:
    """Return a bz2 of `source` beside it, which was unpacked again and compared."""
    target = Path(f"{source}.bz2")
    packer = bz2.BZ2Compressor(9)
    with source.open("rb") as file, target.open("wb") as out:
        while chunk := file.read(_CHUNK):
            out.write(packer.compress(chunk))
        out.write(packer.flush())
    digest = hashlib.sha256()
    for piece in read_bz2(target):
        digest.update(piece)
    if digest.hexdigest() != sha256_of(source):
        raise SourceError("the packed file does not unpack to the same bytes", where=str(target))
    return target


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # some file systems cannot
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
