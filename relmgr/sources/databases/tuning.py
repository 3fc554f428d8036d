"""Read find-dbs (text) and perf-dbs (SQLite, or a user's text): which solvers they name.

A line of text is `problem=record;record...`. A record is `solver:time,workspace,...`, in older files
`algorithm:solver,time,...`, and in a perf-db `solver:parameters`.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from relmgr.errors import SourceError
from relmgr.model.kernel_db import DatabaseName, TuningEntry, TuningFile
from relmgr.sources.databases.files import is_packed, read_bz2, read_pointer, unpacked
from relmgr.sources.databases.names import parse_database_name
from relmgr.sources.databases.sqlite_readonly import DATABASE_ERRORS, MAGIC, open_readonly

MAX_LINE_BYTES = 1 << 20
MAX_TEXT_BYTES = 4 << 30
MAX_SOLVERS = 5_000
MAX_LISTED = 1_000
MAX_KEY = 300
_CHUNK = 1 << 20
_SAMPLE_BYTES = 4096

_ROWS = "SELECT p.id, p.solver FROM perf_db AS p NOT INDEXED"
_CONFIG = "SELECT * FROM config WHERE id = (SELECT config FROM perf_db WHERE id = ?)"


def read_tuning_file(path: Path, mlir: Iterable[str], removed: Iterable[str]) -> TuningFile:
    """Return what the find-db or perf-db at `path` holds (plain or bz2); trouble is in its state, never raised.

    `mlir` are the solvers that launch the provider's kernels, `removed` those that are gone or disabled.
    """
    count = _Count(str(path), parse_database_name(path.name), mlir, removed)
    try:
        if (pointer := read_pointer(path)) is not None:
            why = f"pointer, not content: {pointer.form} {pointer.algorithm}:{pointer.oid}"
            return count.result("pointer", why).model_copy(update={"pointer": pointer})
        if _is_sqlite(path):
            with unpacked(path) as content:
                count.add_rows(content)
        else:
            count.add_text(_read(path))
    except SourceError as error:
        return count.result("unreadable", error.what)
    except OSError as error:
        return count.result("unreadable", f"cannot be read: {error.strerror}")
    return count.result("ok")


def read_tuning_text(name: str, chunks: Iterable[bytes], mlir: Iterable[str], removed: Iterable[str]) -> TuningFile:
    """Return what a text database of that name holds, given as unpacked bytes in pieces: for files inside git."""
    count = _Count(name, parse_database_name(name), mlir, removed)
    try:
        count.add_text(chunks)
    except SourceError as error:
        return count.result("unreadable", error.what)
    return count.result("ok")


class _Count:
    """The counts of one file while it is read."""

    def __init__(self, path: str, name: DatabaseName, mlir: Iterable[str], removed: Iterable[str]) -> None:
        self.path, self.name = path, name
        self.mlir, self.removed = frozenset(mlir), frozenset(removed)
        self.entries = self.mlir_entries = self.not_understood = 0
        self.solvers: Counter[str] = Counter()
        self.listed: list[TuningEntry] = []

    def add_text(self, chunks: Iterable[bytes]) -> None:
        """Count the lines of a text database."""
        is_perf = self.name.kind == "perf-db"
        for number, line in enumerate(_lines(chunks), 1):
            key, equals, records = line.partition(b"=")
            if not line.strip() or line.startswith(b"#"):
                continue
            solvers = [_solver(record, is_perf) for record in records.split(b";") if record.strip()]
            if not equals or not solvers or None in solvers:
                self.not_understood += 1
            if found := [solver for solver in solvers if solver is not None]:
                self._add(number, key.decode("utf-8", "replace"), found)
        if self.not_understood and not self.entries:
            raise SourceError("none of its lines is an entry: not a text database", where=self.path)

    def add_rows(self, content: Path) -> None:
        """Count the rows of a SQLite perf-db."""
        with open_readonly(content) as database:
            connection = database.connection
            try:
                found = connection.execute("SELECT type FROM sqlite_master WHERE name = 'perf_db'").fetchone()
                if found != ("table",):
                    raise SourceError("no table perf_db: not a perf-db", where=self.path)
                for row_id, solver in connection.execute(_ROWS):
                    if isinstance(solver, str):
                        self._add(row_id, "", [solver])
                    else:
                        self.not_understood += 1
                self.listed = [entry.model_copy(update={"key": _config(connection, entry.at)}) for entry in self.listed]
            except DATABASE_ERRORS as error:
                raise SourceError(f"SQLite cannot read it: {error}", where=self.path) from None
            if database.changed():
                raise SourceError("another process wrote to it meanwhile: read it again", where=self.path)

    def _add(self, at: int, key: str, solvers: list[str]) -> None:
        self.entries += 1
        self.mlir_entries += not self.mlir.isdisjoint(solvers)
        for solver in solvers:
            known = solver in self.solvers or len(self.solvers) < MAX_SOLVERS
            self.solvers[solver if known else "(more)"] += 1
            if solver in self.removed and len(self.listed) < MAX_LISTED:
                self.listed.append(TuningEntry(at=at, key=key[:MAX_KEY], solver=solver))

    def result(self, state: str, *findings: str) -> TuningFile:
        """Return the noun; nothing is counted in a file that could not be read to its end."""
        head = TuningFile(
            path=self.path,
            kind=self.name.kind,
            arch=self.name.arch if self.name.known_arch else None,
            cu_count=self.name.cu_count,
            state="ok",
            findings=findings,
        )
        if state != "ok":
            return head.model_copy(update={"state": state})
        notes = [f"{self.not_understood} entries were not understood"] if self.not_understood else []
        return head.model_copy(
            update={
                "entries": self.entries,
                "mlir_entries": self.mlir_entries,
                "mlir_solvers": self._only(self.mlir),
                "solvers": dict(sorted(self.solvers.items())),
                "removed": self._only(self.removed),
                "removed_entries": tuple(self.listed),
                "not_understood": self.not_understood,
                "findings": (*findings, *notes),
            }
        )

    def _only(self, names: frozenset[str]) -> dict[str, int]:
        return {name: self.solvers[name] for name in sorted(names) if self.solvers[name]}


def _solver(record: bytes, is_perf: bool) -> str | None:
    """Return the solver that a record names, None when it has not the form of one."""
    name, colon, values = record.strip().partition(b":")
    first = values.partition(b",")[0]
    if not colon or not name or not first:
        return None
    chosen = name if is_perf or _is_number(first) else first
    return chosen[:120].decode("utf-8", "replace")


def _is_number(text: bytes) -> bool:
    try:
        float(text[:40])
    except ValueError:
        return False
    return True


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines without their ends. Raises `SourceError` for a line or a whole that no real file reaches."""
    rest, total = b"", 0
    for chunk in chunks:
        total += len(chunk)
        if total > MAX_TEXT_BYTES:
            raise SourceError(f"more than {MAX_TEXT_BYTES} bytes of text")
        lines = (rest + chunk).split(b"\n")
        rest = lines.pop()
        if len(rest) > MAX_LINE_BYTES:
            raise SourceError(f"a line of more than {MAX_LINE_BYTES} bytes: not a text database")
        yield from lines
    if rest:
        yield rest


def _read(path: Path) -> Iterator[bytes]:
    if is_packed(path):
        yield from read_bz2(path)
        return
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _is_sqlite(path: Path) -> bool:
    """Tell by its first bytes, unpacked, whether a file is SQLite's."""
    head = b""
    for chunk in _read(path):
        head += chunk[:_SAMPLE_BYTES]
        if len(head) >= len(MAGIC):
            break
    return head.startswith(MAGIC)


def _config(connection: sqlite3.Connection, row_id: int) -> str:
    """Return the problem of a perf-db's row in words; '' where its table does not tell."""
    try:
        cursor = connection.execute(_CONFIG, (row_id,))
        values = cursor.fetchone()
    except DATABASE_ERRORS:
        return ""
    names = [column[0] for column in cursor.description][1:]
    return " ".join(f"{n}={v}" for n, v in zip(names, values[1:], strict=True))[:MAX_KEY] if values else ""
