"""What became of the kernel databases over a range. Pure.

Git tells that bytes changed, appeared, moved or went; it does not tell that kernels were built again. "Regenerated" and
"pruned" are said only where both contents were scanned.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from relmgr.model.audit import ReleaseFacts
from relmgr.model.database_age import database_state, scan_of
from relmgr.model.databases import DatabaseFact
from relmgr.model.notes import DatabaseChange, NotesDatabase, NotesDatabases, SideFacts
from relmgr.model.ticket import ScannedFile


def compare_databases(before: SideFacts, after: ReleaseFacts, scans: Sequence[ScannedFile] = ()) -> NotesDatabases:
    """Return every database of either end, by path."""
    old = {fact.path: fact for fact in before.databases}
    new = {fact.path: fact for fact in after.databases}
    was = {path: _replaces(fact, old, new) for path, fact in new.items()}
    replaced = {path for paths in was.values() for path in paths}
    files = [_present(fact, [old[path] for path in was[fact.path]], old, after, scans) for fact in new.values()]
    files += [_gone(fact) for path, fact in old.items() if path not in new and path not in replaced]
    return NotesDatabases(
        files=tuple(sorted(files, key=lambda file: file.path)),
        old_total=_total(old.values()),
        new_total=_total(new.values()),
    )


def _replaces(fact: DatabaseFact, old: dict[str, DatabaseFact], new: dict[str, DatabaseFact]) -> list[str]:
    """Return the paths of `old` that this file took the place of: what it was packed from, else its arch's files."""
    if fact.path in old:
        return []
    gone = {path: before for path, before in old.items() if path not in new}
    packed = {before.path for before in fact.introduced.repacked_from} if fact.introduced else set()
    same = [path for path, before in gone.items() if before.oid == fact.oid]
    arch = [path for path, before in gone.items() if fact.arch is not None and before.arch == fact.arch]
    return sorted([path for path in packed if path in old] or same or arch)


def _present(
    fact: DatabaseFact,
    was: Sequence[DatabaseFact],
    old: dict[str, DatabaseFact],
    after: ReleaseFacts,
    scans: Sequence[ScannedFile],
) -> NotesDatabase:
    sources = [old[fact.path]] if fact.path in old else was
    since = fact.introduced if not sources or sources[0].oid != fact.oid else None
    return NotesDatabase(
        path=fact.path,
        arch=fact.arch,
        change=_change(fact, sources, scans),
        state=database_state(fact, after, scans),
        old_size=_total(sources) if sources else None,
        new_size=fact.size,
        storage=fact.storage,
        commit=since.commit if since else None,
        committed_at=since.committed_at if since else None,
        pr=since.pr if since else None,
        subject=since.subject if since else None,
        was=tuple(source.path for source in was),
    )


def _change(fact: DatabaseFact, sources: Sequence[DatabaseFact], scans: Sequence[ScannedFile]) -> DatabaseChange:
    if not sources:
        return "added"
    if any(source.oid == fact.oid for source in sources):
        return "unchanged" if sources[0].path == fact.path else "moved"
    known = _by_scans(fact, sources, scans)
    if known:
        return known
    return "re-packed" if fact.introduced is not None and fact.introduced.repacked_from else "changed"


def _by_scans(
    fact: DatabaseFact, sources: Sequence[DatabaseFact], scans: Sequence[ScannedFile]
) -> DatabaseChange | None:
    """Return what scans of both contents prove: the provider's rows are all gone, or are all of another convention."""
    now, then = scan_of(fact, scans), [scan_of(source, scans) for source in sources]
    if now is None or None in then or now.unknown or now.corrupt:
        return None
    before: set[str] = {name for scan in then if scan for name, rows in scan.conventions.items() if rows}
    before &= {"memref-descriptor", "bare-pointer"}
    after = {name for name, rows in now.conventions.items() if rows} & {"memref-descriptor", "bare-pointer"}
    if before and not now.provider_rows:
        return "pruned"
    return "regenerated" if after and before and not after & before else None


def _gone(fact: DatabaseFact) -> NotesDatabase:
    return NotesDatabase(
        path=fact.path,
        arch=fact.arch,
        change="removed",
        state="removed",
        old_size=fact.size,
        new_size=None,
        storage=None,
        commit=None,
        committed_at=None,
        pr=None,
        subject=None,
    )


def _total(facts: Iterable[DatabaseFact]) -> int | None:
    sizes = [fact.size for fact in facts]
    return None if None in sizes else sum(size for size in sizes if size is not None)
