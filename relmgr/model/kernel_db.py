"""Kernel databases: what a file's name says, pointers to them, their rows, and what a scan or a comparison found."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from relmgr.model.base import Noun
from relmgr.model.code_object import KernelArgument

DatabaseKind = Literal["kdb", "ukdb", "perf-db", "find-db", "other"]


class DatabaseName(Noun):
    """What a database's file name says.

    `kind` is `other` for a file that is no database. `base` is the name before the kind's suffix. `arch` is the
    processor, and where it is not one of the known (`known_arch` False) the text that stands in its place, or None when
    none does. `cu_count` is None for a file that serves every chip of its arch.
    """

    kind: DatabaseKind
    arch: str | None
    cu_count: int | None
    base: str
    packing: Literal["bz2"] | None = None
    known_arch: bool
    user: bool = Field(default=False, description="one user's cache, not a shipped file")
    dvc: bool = Field(default=False, description="named as a DVC pointer")


class Pointer(Noun):
    """A file that stands for another one: `oid` in hex under `algorithm`, `size` in bytes (None: not told)."""

    form: Literal["git-lfs", "dvc"]
    algorithm: Literal["sha256", "md5", "etag"]
    oid: str
    size: int | None
    path: str | None = Field(default=None, description="the name of the file it stands for, where the pointer tells")


class Problem(Noun):
    """The convolution a row's kernel was compiled for. None: the options do not tell."""

    solver: str | None
    direction: str | None = Field(description="fwd, bwd-data or wrw")
    dtype: str | None
    layout: str | None = Field(description="the input's layout, without the group dimension")
    arch: str | None
    target: str | None = Field(description="the target id as written, features included")
    xdlops: bool
    num_cu: int | None
    kernel_id: int | None
    groups: int | None
    batch: int | None
    in_channels: int | None
    out_channels: int | None
    in_h: int | None
    in_w: int | None
    out_h: int | None
    out_w: int | None
    fil_h: int | None
    fil_w: int | None
    dilation_h: int | None
    dilation_w: int | None
    conv_stride_h: int | None
    conv_stride_w: int | None
    padding_h: int | None
    padding_w: int | None
    perf_config: str | None


class ScanFinding(Noun):
    """One thing worth saying about a file or, where `row` is set, about the row of that id."""

    kind: Literal[
        "pointer", "unreadable", "incomplete", "changed-while-read", "locked", "index", "unknown-arch", "arch-mismatch",
        "corrupt-row", "unknown-row", "more-rows",
    ]  # fmt: skip
    row: int | None = None
    why: str


class StaleRow(Noun):
    """A row whose kernel does not take its arguments as the target ABI passes them."""

    id: int
    kernel_name: str
    solver: str | None
    convention: str
    problem: Problem | None
    kernel_args: str | None = Field(default=None, description="as they are, where they could not be understood")


class RowCounts(Noun):
    """The provider's readable rows, counted by what they are; `?` is what could not be told."""

    solvers: dict[str, int] = Field(default={})
    directions: dict[str, int] = Field(default={})
    archs: dict[str, int] = Field(default={})
    dtypes: dict[str, int] = Field(default={})
    layouts: dict[str, int] = Field(default={})


class FileScan(Noun):
    """What one file holds. Counts are None where the file could not be read; `stale` is None without a target ABI.

    An `unreadable` file of which a part was read keeps the counts of that part, but never a `stale` of 0.

    `mlir_rows` are the provider's kernels, by name or symbol. `conventions` counts the rows whose object was read, and
    with a deep scan other kernels as `other`. `corrupt` rows break the database's own promises; `unknown` rows are the
    provider's with arguments of no known convention, or of another than could be judged: never counted as fresh.
    """

    path: str
    kind: DatabaseKind
    arch: str | None
    cu_count: int | None
    state: Literal["ok", "pointer", "unreadable"]
    bytes: int | None = Field(default=None, description="size of the file as it lies there")
    cache_version: str | None = Field(default=None, description="for a user cache: the folder named by its version")
    pointer: Pointer | None = None
    rows: int | None = None
    mlir_rows: int | None = None
    conventions: dict[str, int] = Field(default={})
    counts: RowCounts = RowCounts()
    stale: int | None = None
    corrupt: int | None = None
    unknown: int | None = None
    findings: tuple[ScanFinding, ...] = ()
    stale_rows: tuple[StaleRow, ...] = ()


class ScanTotals(Noun):
    """Sums over the files that could be read."""

    files: int
    ok: int
    pointers: int
    unreadable: int
    rows: int
    mlir_rows: int
    stale: int | None
    corrupt: int
    unknown: int


class KdbScan(Noun):
    """A scan under the target ABI number `abi`; None: not asked for, and staleness is then unknown."""

    abi: int | None
    convention: str
    abi_source: str
    files: tuple[FileScan, ...]
    totals: ScanTotals


class RowKey(Noun):
    """What a row is found by."""

    kernel_name: str
    kernel_args: str


class ChangedRow(RowKey):
    """A row whose object differs; the hashes are md5 of the objects, as the databases say."""

    old_hash: str
    new_hash: str


class KernelSignature(Noun):
    """How one kernel takes its arguments."""

    name: str
    explicit_args: tuple[KernelArgument, ...]
    explicit_bytes: int
    segment_bytes: int
    provider_kernel: bool
    convention: str


class SignatureChange(RowKey):
    """A row whose kernels take other arguments than before: the kernels that differ, on both sides."""

    old: tuple[KernelSignature, ...]
    new: tuple[KernelSignature, ...]


class DiffFinding(Noun):
    """A row that could not be compared, on the `old` or `new` side."""

    side: Literal["old", "new"]
    row: int | None
    why: str


class KdbDiff(Noun):
    """What differs between two databases. `more` counts the entries beyond the limit of each list."""

    old: str
    new: str
    same: int
    added: tuple[RowKey, ...]
    removed: tuple[RowKey, ...]
    changed: tuple[ChangedRow, ...]
    signature_changed: tuple[SignatureChange, ...]
    more: dict[str, int] = Field(default={})
    findings: tuple[DiffFinding, ...] = ()


class PrunePlan(Noun):
    """What a prune takes out of `path`, and with `applied` what came of it. Sizes in bytes.

    `kept_for_trouble` lists rows that stay although they could not be judged: only rows known to be stale are removed.
    """

    path: str
    out: str
    abi: int
    convention: str
    swap: bool
    applied: bool
    rows: int
    removed: int
    remaining: int
    removed_by_solver: dict[str, int]
    kept_for_trouble: tuple[ScanFinding, ...]
    size_before: int
    size_after: int | None = None
    kept_old: str | None = Field(default=None, description="where the database as it was lies after a swap")
    verified: bool = False


class ExtractedObject(Noun):
    """One code object, to be written or written to `path`."""

    id: int
    kernel_name: str
    target: str | None
    bytes: int
    path: str
    error: str | None = None


class Extract(Noun):
    """The code objects taken out of a database; nothing is written unless `applied`."""

    database: str
    applied: bool
    objects: tuple[ExtractedObject, ...]
    more: int = 0


class TuningEntry(Noun):
    """One entry that names a removed or disabled solver; `at` is its line (text) or row id (SQLite)."""

    at: int
    key: str
    solver: str


class TuningFile(Noun):
    """What a find-db or perf-db holds. Counts are None where it could not be read.

    `entries` are the problems of a find-db (one a line) or the rows of a perf-db; `mlir_entries` those that name a
    solver of the provider's. `solvers` counts every naming of a solver.
    """

    path: str
    kind: DatabaseKind
    arch: str | None
    cu_count: int | None
    state: Literal["ok", "pointer", "unreadable"]
    pointer: Pointer | None = None
    entries: int | None = None
    mlir_entries: int | None = None
    mlir_solvers: dict[str, int] = Field(default={})
    solvers: dict[str, int] = Field(default={})
    removed: dict[str, int] = Field(default={}, description="entries by removed or disabled solver")
    removed_entries: tuple[TuningEntry, ...] = Field(default=(), description="the first of them")
    not_understood: int = 0
    findings: tuple[str, ...] = ()


class TuningScan(Noun):
    """Find-dbs and perf-dbs: whether they can lead to the provider's kernels, and to solvers that are gone."""

    files: tuple[TuningFile, ...]
