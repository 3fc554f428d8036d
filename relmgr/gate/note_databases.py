"""What became of the kernel databases over a range. Pure.

Git tells that bytes changed, appeared, moved or went; it does not tell that kernels were built again. "Regenerated" and
"pruned" are said only where both contents were scanned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from relmgr.model.audit import ReleaseFacts
from relmgr.model.database_age import database_state, scan_of
from relmgr.model.databases import DatabaseFact
from relmgr.model.notes import DatabaseChange, NotesDatabase, NotesDatabases, SideFacts
from relmgr.model.ticket import ScannedFile

_CONVENTIONS = {"memref-descriptor", "bare-pointer"}


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
    """Return what scans of both contents prove.

    Pruned: the provider's rows of a convention are gone, and there are as many of the others as before. Regenerated:
    all of its rows are of a convention that none was of.
    """
    now, then = scan_of(fact, scans), [scan_of(source, scans) for source in sources]
    known = [scan for scan in then if scan is not None]
    if now is None or len(known) < len(then) or now.unknown or now.corrupt:
        return None
    before, after = _rows(*known), _rows(now)
    if not before:
        return None
    if not now.provider_rows or (set(after) < set(before) and all(before[name] == after[name] for name in after)):
        return "pruned"
    return "regenerated" if after and not set(after) & set(before) else None


def _rows(*scans: ScannedFile) -> Counter[str]:
    """Return the provider's rows by convention, of the conventions that relmgr tells apart."""
    found: Counter[str] = Counter()
    for scan in scans:
        found.update({name: rows for name, rows in scan.conventions.items() if rows and name in _CONVENTIONS})
    return found


def unused_scans(before: SideFacts, after: ReleaseFacts, scans: Iterable[ScannedFile]) -> Iterator[str]:
    """Yield why a file that was handed in says nothing: it could not be read, or is no database of either end."""
    facts = (*before.databases, *after.databases)
    known = {fact.oid for fact in facts}
    known |= {old.oid for fact in facts if fact.introduced for old in fact.introduced.repacked_from}
    for scan in scans:
        name = scan.path.rpartition("/")[2]
        if scan.state == "pointer":
            yield f"{name}: a pointer, not the database itself"
        elif scan.state == "unreadable":
            yield f"{name}: {scan.note or 'not readable'}"
        elif known.isdisjoint(scan.content_ids):
            yield f"{name}: its content is no database's at either end"


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
