"""Find-dbs beside the kernel databases in git: do they name any solver whose kernels are the provider's.

A find-db that names none narrows a suspicion; it is no scan. One that is missing, or not in the clone, tells nothing.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence

from relmgr.errors import SourceError
from relmgr.model.databases import DatabaseFact, SolverEvidence
from relmgr.model.kernel_db import DatabaseName
from relmgr.model.project import Repository
from relmgr.sources.databases.files import BZ2_MAGIC, unpack_stream
from relmgr.sources.databases.history import DatabaseFiles
from relmgr.sources.databases.names import parse_database_name
from relmgr.sources.databases.pointers import parse_pointer
from relmgr.sources.databases.tuning import read_tuning_text
from relmgr.sources.git.clone import Clone
from relmgr.sources.git.objects import ObjectReader

# The largest known is 61 MB of text.
MAX_BLOB_BYTES = 128 << 20
MAX_TEXT_BYTES = 512 << 20
_CHUNK = 1 << 20
# (which solvers are named: some, none, or not told; why not told)
_Answer = tuple[bool | None, str]


class FindDbs:
    """Reads the find-dbs of one repository; each content once, whatever commits and names it has."""

    def __init__(self, clone: Clone, repository: Repository, solvers: Iterable[str]) -> None:
        self._clone, self._repository = clone, repository
        self._files = DatabaseFiles(clone, repository.model_copy(update={"databases": repository.find_dbs}))
        self._solvers = tuple(sorted(solver.encode() for solver in solvers))
        self._answers: dict[str, _Answer] = {}

    def beside(self, ref: str, databases: Sequence[DatabaseFact]) -> tuple[DatabaseFact, ...]:
        """Return databases of `ref` with what the find-dbs of that ref say; as they are where none is configured."""
        if not self._solvers or not self._repository.find_dbs or not databases:
            return tuple(databases)
        found = self._files.blobs(ref)
        with self._clone.objects(MAX_BLOB_BYTES) as reader:
            alone = {database.path: self._of(database, found, reader) for database in databases}
        return tuple(
            database.model_copy(update={"solvers": _joined(database, databases, alone)}) for database in databases
        )

    def _of(self, database: DatabaseFact, found: Sequence[tuple[str, str]], reader: ObjectReader) -> SolverEvidence:
        """Return what the find-dbs of one database say; its arch must be known, and theirs be the same (K5)."""
        name = parse_database_name(database.path)
        named = [(path, oid) for path, oid in found if _is_of(parse_database_name(path), name)]
        files = tuple(path for path, _ in named)
        if not named:
            return SolverEvidence(may_hold=None, why="no find-db of it stands beside it")
        unread = ""
        for path, oid in named:
            if oid not in self._answers:
                self._answers[oid] = self._read(path, oid, reader)
            says, why = self._answers[oid]
            if says:
                return SolverEvidence(may_hold=True, files=files)
            unread = unread or (f"{path}: {why}" if says is None else "")
        return SolverEvidence(may_hold=None if unread else False, files=files, why=unread)

    def _read(self, path: str, oid: str, reader: ObjectReader) -> _Answer:
        blob = reader.blob(oid)
        if blob.state != "ok" or blob.data is None:
            return None, f"larger than {MAX_BLOB_BYTES} bytes" if blob.state == "too-large" else "not in this clone"
        if len(blob.data) <= _CHUNK and parse_pointer(blob.data) is not None:
            return None, "a pointer, not its content"
        try:
            return self._names_solver(path, blob.data)
        except SourceError as error:
            return None, error.what

    def _names_solver(self, path: str, data: bytes) -> _Answer:
        """Tell whether the name of a solver stands anywhere in the text: cheaper than counting, and never too few."""
        rest, total, head = b"", 0, b""
        longest = max(map(len, self._solvers))
        for chunk in _text(path, data):
            total += len(chunk)
            if total > MAX_TEXT_BYTES:
                return None, f"more than {MAX_TEXT_BYTES} bytes of text"
            head = head or chunk
            window = rest + chunk
            if any(solver in window for solver in self._solvers):
                return True, ""
            rest = window[-longest:]
        # What holds no entry at all is no find-db, and rules nothing out.
        start = read_tuning_text(path, [head.rpartition(b"\n")[0] or head], (), ())
        if start.state != "ok" or not start.entries:
            return None, "; ".join(start.findings) or "it has no entry"
        return False, ""


def _text(path: str, data: bytes) -> Iterator[bytes]:
    if data.startswith(BZ2_MAGIC):
        yield from (chunk for chunk in unpack_stream(io.BytesIO(data), path) if chunk)
        return
    view = memoryview(data)
    for start in range(0, len(data), _CHUNK):
        yield bytes(view[start : start + _CHUNK])


def _is_of(found: DatabaseName, database: DatabaseName) -> bool:
    """Tell whether a find-db is a database's: of the same base, or, for a database of a whole arch, of that arch."""
    if found.kind != "find-db" or not database.known_arch or found.arch != database.arch:
        return False
    return database.cu_count is None or found.base.partition(".")[0] == database.base.partition(".")[0]


def _joined(
    database: DatabaseFact, databases: Sequence[DatabaseFact], alone: dict[str, SolverEvidence]
) -> SolverEvidence:
    """Return the evidence of one content, which may stand there under another name too: what that may hold, it may."""
    own = alone[database.path]
    if own.may_hold:
        return own
    for twin in (one for one in databases if one.oid == database.oid and one.path != database.path):
        if alone[twin.path].may_hold:
            return alone[twin.path].model_copy(update={"why": f"the same content as {twin.path}"})
        if own.may_hold is False and alone[twin.path].may_hold is None:
            own = alone[twin.path].model_copy(update={"why": f"as {twin.path}: {alone[twin.path].why}"})
    return own
