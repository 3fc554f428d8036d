"""`relmgr kdb scan`, and what its sisters share: the target ABI and the rules of a scan."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from relmgr.errors import SourceError
from relmgr.model.base import Convention
from relmgr.model.kernel_db import FileScan, KdbScan, ScanTotals, TuningScan
from relmgr.model.project import PinConfig, Project
from relmgr.sources.databases.files import find_databases
from relmgr.sources.databases.scan import ScanRules, scan_file
from relmgr.sources.databases.scan_cache import scan_cached
from relmgr.sources.databases.tuning import read_tuning_file

# (file, rows done, rows in all)
FileProgress = Callable[[Path, int, int], None]


@dataclass(frozen=True)
class Target:
    """The ABI that databases are judged under; `abi` None: staleness is not told, and `source` says why."""

    abi: int | None
    convention: Convention
    source: str


def scan_databases(
    files: Iterable[str], target: Target, rules: ScanRules, *, cache: bool = True, progress: FileProgress | None = None
) -> KdbScan:
    """Scan files, folders and globs under `target`; `rules` as from `scan_rules`."""
    scan = scan_cached if cache else scan_file
    found = find_databases(files, frozenset({"kdb", "ukdb"}))
    scans = [scan(path, rules, _of_file(progress, path)) for path in found]
    return KdbScan(
        abi=target.abi,
        convention=target.convention,
        abi_source=target.source,
        files=tuple(scans),
        totals=sum_up(scans),
    )


def target_abi(project: Project, pin: PinConfig, abi: int | None) -> Target:
    """Return the ABI to judge by: `abi`, else the number at the consumer's pin where a clone is at hand."""
    from relmgr.workflows.abi import show_abi

    contract = project.contract(pin)
    if abi is not None:
        return Target(abi, contract.convention_of(abi) if contract else "unknown", "--abi")
    if project.repositories[pin.consumer].path is None:
        return Target(None, "unknown", f"no --abi, and no clone of {pin.consumer} to read the pin from")
    try:
        shown = show_abi(project, pin, None)
    except SourceError as error:
        return Target(None, "unknown", error.what)
    return Target(shown.number, shown.convention, f"{shown.provider} at the pin {shown.ref}: {shown.source}")


def scan_rules(project: Project, pin: PinConfig, target: Target, *, fast: bool, deep: bool, jobs: int) -> ScanRules:
    """Return how to scan: the contract's patterns, the target's convention, what to verify."""
    contract = project.contract(pin)
    return ScanRules(
        symbol=contract.kernel_symbol if contract else None,
        solvers=contract.solvers if contract else {},
        convention=target.convention if target.abi is not None else None,
        verify=not fast,
        deep=deep,
        jobs=jobs,
    )


def sum_up(scans: Iterable[FileScan]) -> ScanTotals:
    """Return the sums; `stale` is None where no file could be judged."""
    files = list(scans)
    stale = [scan.stale for scan in files if scan.stale is not None]
    return ScanTotals(
        files=len(files),
        ok=sum(scan.state == "ok" for scan in files),
        pointers=sum(scan.state == "pointer" for scan in files),
        unreadable=sum(scan.state == "unreadable" for scan in files),
        rows=sum(scan.rows or 0 for scan in files),
        mlir_rows=sum(scan.mlir_rows or 0 for scan in files),
        stale=sum(stale) if stale else None,
        corrupt=sum(scan.corrupt or 0 for scan in files),
        unknown=sum(scan.unknown or 0 for scan in files),
    )


def _of_file(progress: FileProgress | None, path: Path) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    return lambda done, total: progress(path, done, total)


def read_tuning(files: Iterable[str], project: Project, pin: PinConfig) -> TuningScan:
    """Read find-dbs and perf-dbs, given as files, folders and globs."""
    contract = project.contract(pin)
    mlir, removed = (tuple(contract.solvers), contract.removed_solvers) if contract else ((), ())
    found = find_databases(files, frozenset({"find-db", "perf-db"}))
    return TuningScan(files=tuple(read_tuning_file(path, mlir, removed) for path in found))
