"""Scan a kernel database: whose kernels it holds, how they take their arguments, which are poison under an ABI."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from relmgr.errors import SourceError
from relmgr.model.base import Convention
from relmgr.model.code_object import CodeObject, classify
from relmgr.model.kernel_db import FileScan, RowCounts, ScanFinding, StaleRow
from relmgr.sources.databases.files import read_pointer, unpacked
from relmgr.sources.databases.kernel_args import parse_options, parse_problem, solver_of
from relmgr.sources.databases.names import parse_database_name
from relmgr.sources.databases.rows import (
    Row,
    Unreadable,
    list_rows,
    map_batches,
    read_objects,
    read_rows,
    require_table,
)
from relmgr.sources.databases.sqlite_readonly import open_readonly

MAX_FINDINGS = 1_000
MAX_STALE_ROWS = 20_000
_UNTOLD = "?"

# (rows done, rows in all)
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class ScanRules:
    """What a scan is told.

    `symbol` is the pattern of the provider's kernel symbols, which are also the beginnings of its rows' kernel names;
    `convention` is that of the target ABI, None without a target. `verify` checks every object's md5; `deep` reads all
    rows, not only those named like the provider's. At most `most_stale_rows` of a file are listed, all are counted.
    """

    symbol: str | None
    solvers: Mapping[str, str] = field(default_factory=dict)
    convention: Convention | None = None
    verify: bool = True
    deep: bool = False
    jobs: int = 1
    most_stale_rows: int = MAX_STALE_ROWS


class _Reading(NamedTuple):
    """What one row turned out to be. `convention` is None for a row that could not be read."""

    row: Row
    provider: bool
    convention: str | None
    arch: str | None = None
    why: str = ""
    corrupt: bool = False


def scan_file(path: Path, rules: ScanRules, progress: Progress | None = None) -> FileScan:
    """Return what the database at `path` holds; trouble of any kind is in its state and findings, never raised."""
    head = describe_file(path)
    try:
        if (pointer := read_pointer(path)) is not None:
            why = f"pointer, not content: {pointer.form} {pointer.algorithm}:{pointer.oid}"
            return head.model_copy(
                update={
                    "state": "pointer",
                    "pointer": pointer,
                    "findings": (*head.findings, ScanFinding(kind="pointer", why=why)),
                }
            )
        with unpacked(path) as content:
            return _Scan(head, rules).run(content, progress)
    except SourceError as error:
        trouble = ScanFinding(kind="unreadable", why=error.what)
        return head.model_copy(update={"state": "unreadable", "findings": (*head.findings, trouble)})


def describe_file(path: Path) -> FileScan:
    """Return what a file's name and size tell, without opening it."""
    name = parse_database_name(path.name)
    try:
        size = path.stat().st_size
    except OSError:
        size = None
    findings: tuple[ScanFinding, ...] = ()
    if name.kind in ("kdb", "ukdb") and not name.known_arch:
        findings = (
            ScanFinding(kind="unknown-arch", why=f"the file name tells no known arch: {name.arch or name.base}"),
        )
    return FileScan(
        path=str(path),
        kind=name.kind,
        arch=name.arch if name.known_arch else None,
        cu_count=name.cu_count,
        state="ok",
        bytes=size,
        cache_version=path.absolute().parent.name if name.kind == "ukdb" else None,
        findings=findings,
    )


class _Scan:
    """The counts of one scan while it runs."""

    def __init__(self, head: FileScan, rules: ScanRules) -> None:
        self.head, self.rules = head, rules
        self.findings: list[ScanFinding] = list(head.findings)
        self.stale_rows: list[StaleRow] = []
        self.mlir_rows = self.stale = self.corrupt = self.unknown = 0
        self.conventions: Counter[str] = Counter()
        self.by: Counter[tuple[str, str, str, str, str]] = Counter()
        self.foreign: Counter[str] = Counter()
        self.mismatched = 0
        self.more = 0

    def run(self, content: Path, progress: Progress | None) -> FileScan:
        """Read the rows and return the whole result."""
        rules, state = self.rules, "ok"
        with open_readonly(content) as database:
            require_table(database.connection, self.head.path)
            listing = list_rows(database.connection, None if rules.deep else rules.symbol)
            self.findings += [ScanFinding(kind="index", why=why) for why in listing.trouble]
            if not listing.complete:
                state = "unreadable"
                self._find("incomplete", None, "rows may be missing from this scan; the others were read")
            rows = read_rows(database.connection, listing.ids)
            for done, reading in enumerate(map_batches(rows, _reader(rules), rules.jobs), 1):
                self._count(reading)
                if progress is not None and (done % 64 == 0 or done == len(listing.ids)):
                    progress(done, len(listing.ids))
            if database.changed():
                state = "unreadable"
                self._find("changed-while-read", None, "another process wrote to it meanwhile: scan it again")
            elif database.locked_by_other:
                self._find("locked", None, "another process holds a lock; read without one, unchanged meanwhile")
        return self._result(state, listing.total)

    def _count(self, reading: _Reading) -> None:
        row = reading.row
        self.mlir_rows += reading.provider
        if reading.corrupt:
            self.corrupt += 1
            self._find("corrupt-row", row.id, f"{row.kernel_name[:120]}: {reading.why}")
            return
        if reading.convention is None:
            self.unknown += 1
            self._find("unknown-row", row.id, f"{row.kernel_name[:120]}: {reading.why}")
            if reading.provider:
                self.conventions["unknown"] += 1
            return
        self.conventions[reading.convention] += 1
        self._check_arch(reading)
        if reading.provider:
            self._judge(reading)

    def _judge(self, reading: _Reading) -> None:
        """Count a provider's row whose convention is known, and tell whether it is stale."""
        row, target = reading.row, self.rules.convention
        options = parse_options(row.kernel_args)
        solver = solver_of(row.kernel_name, self.rules.solvers)
        told = (
            solver,
            options.direction if options else None,
            reading.arch,
            options.dtype if options else None,
            options.layout if options else None,
        )
        self.by[tuple([value or _UNTOLD for value in told])] += 1  # type: ignore[index]
        if options is not None and options.arch not in (None, reading.arch):
            self._mismatch(row, f"compiled for {reading.arch}, and its options say {options.arch}")
        if target == "unknown":
            self.unknown += 1
        elif target is not None and target != reading.convention:
            self.stale += 1
            if len(self.stale_rows) < self.rules.most_stale_rows:
                self.stale_rows.append(
                    StaleRow(
                        id=row.id,
                        kernel_name=row.kernel_name,
                        solver=solver,
                        convention=str(reading.convention),
                        problem=parse_problem(options, row.kernel_name, self.rules.solvers) if options else None,
                        kernel_args=None if options else row.kernel_args[:1000],
                    )
                )

    def _check_arch(self, reading: _Reading) -> None:
        if self.head.arch is not None and reading.arch != self.head.arch:
            self._mismatch(reading.row, f"compiled for {reading.arch}, in a file for {self.head.arch}")

    def _mismatch(self, row: Row, why: str) -> None:
        self.mismatched += 1
        if self.mismatched == 1:
            self._find("arch-mismatch", row.id, why)

    def _find(self, kind: str, row: int | None, why: str) -> None:
        if len(self.findings) >= MAX_FINDINGS and row is not None:
            self.more += 1
            return
        self.findings.append(ScanFinding.model_validate({"kind": kind, "row": row, "why": why}))

    def _result(self, state: str, total: int | None) -> FileScan:
        if self.mismatched > 1:
            self._find("arch-mismatch", None, f"{self.mismatched} rows of another arch in all")
        if self.more:
            self._find("more-rows", None, f"{self.more} more rows with findings are not listed")
        if self.stale > len(self.stale_rows):
            self._find("more-rows", None, f"of {self.stale} stale rows the first {len(self.stale_rows)} are listed")
        if self.rules.convention == "unknown" and self.by:
            self._find("unknown-row", None, "the project declares no convention for this ABI number")
        solvers, directions, archs, dtypes, layouts = (self._sum(i) for i in range(5))
        return self.head.model_copy(
            update={
                "state": state,
                "rows": total,
                "mlir_rows": self.mlir_rows,
                "conventions": dict(sorted(self.conventions.items())),
                "counts": RowCounts(
                    solvers=solvers, directions=directions, archs=archs, dtypes=dtypes, layouts=layouts
                ),
                # What was found stale is; that nothing was is no answer of a scan that may have missed rows.
                "stale": None if self.rules.convention is None or (state != "ok" and not self.stale) else self.stale,
                "corrupt": self.corrupt,
                "unknown": self.unknown,
                "findings": tuple(self.findings),
                "stale_rows": tuple(self.stale_rows),
            }
        )

    def _sum(self, place: int) -> dict[str, int]:
        total: Counter[str] = Counter()
        for told, count in self.by.items():
            total[told[place]] += count
        return dict(sorted(total.items()))


def _reader(rules: ScanRules) -> Callable[[list[Row]], list[_Reading]]:
    """Return the function that reads a batch of rows; it runs on any thread."""
    named = re.compile(rules.symbol).search if rules.symbol else None

    def read(rows: list[Row]) -> list[_Reading]:
        readings = []
        for row, found in zip(rows, read_objects(rows, verify=rules.verify), strict=True):
            by_name = named is not None and named(row.kernel_name) is not None
            bare = row._replace(blob=b"")
            if isinstance(found, Unreadable):
                readings.append(_Reading(bare, by_name, None, None, str(found), found.corrupt))
            else:
                readings.append(_classified(bare, found, by_name, rules.symbol))
        return readings

    return read


def _classified(row: Row, code: CodeObject, by_name: bool, symbol: str | None) -> _Reading:
    """Return whose the object is, by its symbols, and the one convention of the provider's kernels in it."""
    layouts = {layout for kernel in code.kernels if (layout := classify(kernel, symbol)).provider_kernel}
    conventions = {layout.convention for layout in layouts}
    if not layouts:
        if by_name:
            return _Reading(row, True, None, code.arch, "named like the provider's, holds none of its kernels")
        return _Reading(row, False, "other", code.arch)
    if len(conventions) > 1:
        return _Reading(row, True, None, code.arch, f"kernels of several conventions: {', '.join(sorted(conventions))}")
    convention = next(iter(conventions))
    if convention == "other":
        return _Reading(row, True, None, code.arch, "arguments of no known convention")
    return _Reading(row, True, convention, code.arch)
