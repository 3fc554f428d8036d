"""Compare two kernel databases row by row, in bounded memory: both are walked in the order of their unique key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from relmgr.errors import SourceError
from relmgr.model.code_object import Kernel, classify
from relmgr.model.kernel_db import (
    ChangedRow,
    DiffFinding,
    KdbDiff,
    KernelSignature,
    RowKey,
    SignatureChange,
)
from relmgr.sources.databases.files import read_pointer, unpacked
from relmgr.sources.databases.rows import Unreadable, read_objects, read_rows, require_table
from relmgr.sources.databases.sqlite_readonly import DATABASE_ERRORS, ReadOnlyDatabase, open_readonly

MAX_LISTED = 50_000
MAX_FINDINGS = 1_000

# Blobs lie before the hash in a row: SQLite steps over them, nothing is unpacked for rows that are the same.
# Keys are taken as bytes: SQLite orders them so, and text need not be valid.
_WALK = (
    "SELECT CAST(kernel_name AS BLOB), CAST(kernel_args AS BLOB), id, kernel_hash,"
    " typeof(kernel_name) = 'text' AND typeof(kernel_args) = 'text' FROM kern_db ORDER BY kernel_name, kernel_args"
)

Side = Literal["old", "new"]
T = TypeVar("T")


class _Entry(NamedTuple):
    key: tuple[bytes, bytes]
    id: int
    kernel_hash: str


def diff_databases(old: Path, new: Path, symbol: str | None) -> KdbDiff:
    """Return what differs between two databases (plain or bz2); `symbol` is the pattern of the provider's kernels.

    Rows are the same when key and `kernel_hash` are. Where only the hash differs both objects are read, and their
    kernels' arguments compared, whoever's kernels they are. Raises `SourceError` for a file that is no database.
    """
    with ExitStack() as stack:
        sides: dict[Side, ReadOnlyDatabase] = {"old": _open(old, stack), "new": _open(new, stack)}
        return _Diff(sides, symbol).run(str(old), str(new))


def _open(path: Path, stack: ExitStack) -> ReadOnlyDatabase:
    if (pointer := read_pointer(path)) is not None:
        raise SourceError(
            f"pointer, not content: {pointer.form} {pointer.algorithm}:{pointer.oid} ({pointer.size} bytes)",
            where=str(path),
            next_step="fetch the content, with `git lfs pull` or `dvc pull`",
        )
    database = stack.enter_context(open_readonly(stack.enter_context(unpacked(path))))
    require_table(database.connection, str(path))
    return database


class _Diff:
    """The lists of one comparison while it runs."""

    def __init__(self, sides: dict[Side, ReadOnlyDatabase], symbol: str | None) -> None:
        self.sides, self.symbol = sides, symbol
        self.added: list[RowKey] = []
        self.removed: list[RowKey] = []
        self.changed: list[ChangedRow] = []
        self.signature_changed: list[SignatureChange] = []
        self.findings: list[DiffFinding] = []
        self.more: Counter[str] = Counter()
        self.same = 0

    def run(self, old: str, new: str) -> KdbDiff:
        """Walk both sides and return the whole result."""
        for before, after in _pairs(self._walk("old"), self._walk("new")):
            if before is None and after is not None:
                self._keep("added", self.added, _key(after))
            elif after is None and before is not None:
                self._keep("removed", self.removed, _key(before))
            elif before is not None and after is not None:
                self._compare(before, after)
        for side, database in self.sides.items():
            if database.changed():
                self._find(side, None, "another process wrote to it meanwhile: compare again")
        return KdbDiff(
            old=old,
            new=new,
            same=self.same,
            added=tuple(self.added),
            removed=tuple(self.removed),
            changed=tuple(self.changed),
            signature_changed=tuple(self.signature_changed),
            more=dict(self.more),
            findings=tuple(self.findings),
        )

    def _walk(self, side: Side) -> Iterator[_Entry]:
        """Yield the rows of a side by key; a walk that breaks off is a finding."""
        last: _Entry | None = None
        try:
            for name, args, row_id, digest, is_text in self.sides[side].connection.execute(_WALK):
                if not is_text or not isinstance(digest, str):
                    self._find(side, row_id, "a text column holds no text")
                    continue
                entry = _Entry((name, args), row_id, digest.lower())
                # A damaged index may be out of order; a merge of such a walk would report nonsense.
                if last is not None and entry.key <= last.key:
                    raise SourceError("its index is out of order", where=str(self.sides[side].path))
                last = entry
                yield entry
        except DATABASE_ERRORS as error:
            raise SourceError(f"the rows cannot be walked: {error}", where=str(self.sides[side].path)) from None

    def _compare(self, before: _Entry, after: _Entry) -> None:
        if before.kernel_hash == after.kernel_hash:
            self.same += 1
            return
        key = _key(before)
        row = ChangedRow(**key.model_dump(), old_hash=before.kernel_hash[:64], new_hash=after.kernel_hash[:64])
        self._keep("changed", self.changed, row)
        old, new = self._kernels("old", before.id), self._kernels("new", after.id)
        if old is None or new is None:
            return
        differing = {n for n in old.keys() | new.keys() if n not in old or n not in new or not _alike(old[n], new[n])}
        if len(old) == len(new) == 1 and differing and _alike(*old.values(), *new.values()):
            return  # one kernel, renamed
        if differing:
            change = SignatureChange(
                **key.model_dump(),
                old=tuple(self._signature(old[n]) for n in sorted(differing) if n in old),
                new=tuple(self._signature(new[n]) for n in sorted(differing) if n in new),
            )
            self._keep("signature_changed", self.signature_changed, change)

    def _kernels(self, side: Side, row_id: int) -> dict[str, Kernel] | None:
        (found,) = read_objects(list(read_rows(self.sides[side].connection, [row_id])), verify=True)
        if isinstance(found, Unreadable):
            self._find(side, row_id, str(found))
            return None
        return {kernel.symbol: kernel for kernel in found.kernels}

    def _signature(self, kernel: Kernel) -> KernelSignature:
        layout = classify(kernel, self.symbol)
        return KernelSignature(
            name=kernel.name,
            explicit_args=kernel.explicit_args,
            explicit_bytes=kernel.explicit_bytes,
            segment_bytes=kernel.segment_bytes,
            provider_kernel=layout.provider_kernel,
            convention=layout.convention,
        )

    def _keep(self, name: str, kept: list[T], entry: T) -> None:
        if len(kept) < MAX_LISTED:
            kept.append(entry)
        else:
            self.more[name] += 1

    def _find(self, side: Side, row: int | None, why: str) -> None:
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(DiffFinding(side=side, row=row, why=why))
        else:
            self.more["findings"] += 1


def _key(entry: _Entry) -> RowKey:
    name, args = (part.decode("utf-8", "replace") for part in entry.key)
    return RowKey(kernel_name=name, kernel_args=args)


def _alike(one: Kernel, other: Kernel) -> bool:
    return one.signature == other.signature


def _pairs(old: Iterator[_Entry], new: Iterator[_Entry]) -> Iterator[tuple[_Entry | None, _Entry | None]]:
    """Merge two walks: yield the rows of one key together, and a row without counterpart beside None."""
    before, after = next(old, None), next(new, None)
    while before is not None or after is not None:
        if after is None or (before is not None and before.key < after.key):
            yield before, None
            before = next(old, None)
        elif before is None or after.key < before.key:
            yield None, after
            after = next(new, None)
        else:
            yield before, after
            before, after = next(old, None), next(new, None)
