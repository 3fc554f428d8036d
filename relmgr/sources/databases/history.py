"""Kernel database files in git: at a ref, and the first commit in which each content appeared.

Not the last commit that touched a path: reverts and merges bring old content back under new commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatch
from pathlib import PurePosixPath

from relmgr.model.databases import DatabaseFact, Introduction
from relmgr.model.project import Repository
from relmgr.sources.databases.names import parse_database_name
from relmgr.sources.databases.pointers import parse_pointer
from relmgr.sources.git.ancestry import Ancestry
from relmgr.sources.git.clone import Clone
from relmgr.sources.git.objects import ObjectReader
from relmgr.sources.git.raw_log import Step, walk
from relmgr.sources.pins.classify import pr_number

MAX_POINTER = 4096


@dataclass(frozen=True)
class _Appearance:
    """A content in a step: which blob appeared at which path, and what the same step removed."""

    step: Step
    removed: tuple[tuple[str, str], ...]
    added: bool


class DatabaseFiles:
    """Turns blobs at paths into facts, each blob once; only blobs small enough to be pointers are read."""

    def __init__(self, clone: Clone, repository: Repository) -> None:
        self._clone, self._repository = clone, repository
        self._sizes: dict[str, int | None] = {}
        self._pointers: dict[str, DatabaseFact] = {}

    @property
    def patterns(self) -> list[str]:
        """The repository's database globs, from its top folder."""
        return [f"{self._repository.root}/{glob}".lstrip("/") for glob in self._repository.databases]

    def is_database(self, path: str) -> bool:
        """Tell whether a path is one of the configured databases (`*` stays within a folder)."""
        return any(
            fnmatch(path, glob) and path.count("/") == glob.count("/") for glob in self.patterns if "**" not in glob
        ) or any(PurePosixPath(path).match(glob) for glob in self.patterns if "**" in glob)

    def at(self, ref: str) -> list[DatabaseFact]:
        """Return every database file at `ref`, by path, without its introduction."""
        return self.facts(self.blobs(ref))

    def blobs(self, ref: str) -> list[tuple[str, str]]:
        """Return (path, blob) of every database file at `ref`, by path."""
        folders = [f"{self._repository.root}/{folder}".strip("/") for folder in self._repository.database_folders]
        entries = [entry for folder in (folders or [""]) for entry in self._clone.list_tree(ref, folder)]
        return sorted((entry.path, entry.oid) for entry in entries if self.is_database(entry.path))

    def facts(self, files: Iterable[tuple[str, str]]) -> list[DatabaseFact]:
        """Return the facts of (path, blob) pairs, in order."""
        files = list(files)
        unknown = list(dict.fromkeys(oid for _, oid in files if oid not in self._sizes))
        if unknown:
            self._sizes |= self._clone.sizes(unknown)
        with self._clone.objects(MAX_POINTER) as reader:
            return [self._fact(path, oid, reader) for path, oid in files]

    def _fact(self, path: str, oid: str, reader: ObjectReader) -> DatabaseFact:
        name = parse_database_name(path)
        fields = {"path": path, "arch": name.arch, "cu_count": name.cu_count, "known_arch": name.known_arch}
        size = self._sizes[oid]
        if size is None:
            return DatabaseFact(**fields, storage="missing", oid=oid, size=None)
        if size <= MAX_POINTER:
            if oid not in self._pointers:
                pointer = parse_pointer(reader.blob(oid).data or b"")
                self._pointers[oid] = DatabaseFact(
                    **fields,
                    storage=pointer.form if pointer else "content",
                    oid=pointer.oid if pointer else oid,
                    size=pointer.size if pointer else size,
                )
            return self._pointers[oid].model_copy(update=fields)
        return DatabaseFact(**fields, storage="content", oid=oid, size=size)


def _steps(files: DatabaseFiles, clone: Clone, starts: Sequence[str]) -> Iterator[Step]:
    """Yield the steps that touch databases, with those paths alone."""
    folders = sorted({glob.rpartition("/")[0] for glob in files.patterns})
    if not all(folders) or any(mark in folder for folder in folders for mark in "*?["):
        yield from walk(clone, starts, files.patterns, first_parent=False, globs=True) if files.patterns else ()
        return
    # git compares trees twice as fast by folders as by patterns.
    for step in walk(clone, starts, folders, first_parent=False):
        if touched := tuple(one for one in step.touched if files.is_database(one[0])):
            yield step._replace(touched=touched)


class DatabaseHistory:
    """Every appearance of every database content over the histories of some starts."""

    def __init__(self, files: DatabaseFiles, clone: Clone, starts: Sequence[str], ancestry: Ancestry) -> None:
        self._files, self._ancestry = files, ancestry
        steps = list(_steps(files, clone, starts))
        blobs = {(path, oid) for step in steps for path, *oids in step.touched for oid in oids if oid.strip("0")}
        self._known = {(fact_path, oid): fact for (fact_path, oid), fact in zip(blobs, files.facts(blobs), strict=True)}
        self._appearances: dict[str, list[_Appearance]] = {}
        for step in sorted(steps, key=lambda step: ancestry.place(step.commit)):
            removed = tuple((path, old) for path, old, new in step.touched if not new.strip("0"))
            for path, old, new in step.touched:
                if new.strip("0"):
                    seen = _Appearance(step, removed, added=not old.strip("0"))
                    self._appearances.setdefault(self._known[path, new].oid, []).append(seen)

    def introduced(self, fact: DatabaseFact, within: set[bytes]) -> DatabaseFact:
        """Return `fact` with the first commit among `within` (hex as bytes) in which its content appeared."""
        seen = next((a for a in self._appearances.get(fact.oid, ()) if a.step.commit.encode() in within), None)
        if seen is None:
            return fact
        before = self._repacked_from(fact, seen, within)
        introduction = Introduction(
            commit=seen.step.commit,
            committed_at=datetime.fromisoformat(seen.step.committed_at.replace("Z", "+00:00")),
            pr=pr_number(seen.step.subject),
            subject=seen.step.subject,
            repacked_from=tuple(before),
        )
        return fact.model_copy(update={"introduced": introduction})

    def _repacked_from(self, fact: DatabaseFact, seen: _Appearance, within: set[bytes]) -> list[DatabaseFact]:
        """Return the same arch's files that the same commit removed: another packing, an arch split or merge."""
        if not seen.added or fact.arch is None:
            return []
        removed = [self._known[path, oid] for path, oid in seen.removed]
        same = [old for old in removed if old.arch == fact.arch and old.oid != fact.oid]
        exact = [old for old in same if old.cu_count == fact.cu_count]
        return [self.introduced(old, within) for old in (exact or same)]
