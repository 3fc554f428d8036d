"""A source archive against the tag it was made from (P1): same tree with other bytes, or another tree."""

from __future__ import annotations

import hashlib
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from relmgr.errors import SourceError
from relmgr.sources.git.clone import Clone

MAX_MEMBERS = 500_000
MAX_UNPACKED = 8 * 1024**3


@dataclass(frozen=True)
class Archive:
    """An archive's sha256, the commit that git wrote into its header (None: none), and its files' git blob ids."""

    sha256: str
    commit: str | None
    blobs: dict[str, str]


def read_archive(path: Path) -> Archive:
    """Read a `.tar.gz` as forges make them (one top folder, left out of the paths).

    Bounded in members and unpacked bytes; links and special files are left out. Raises `SourceError` for anything else.
    """
    try:
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while part := file.read(1 << 20):
                digest.update(part)
        blobs: dict[str, str] = {}
        total = 0
        with tarfile.open(path, "r:gz") as archive:
            for member in archive:
                total += member.size
                if len(blobs) > MAX_MEMBERS or total > MAX_UNPACKED:
                    raise SourceError("larger than relmgr reads", where=str(path))
                stream = archive.extractfile(member) if member.isreg() else None
                if stream is not None:
                    blob = hashlib.sha1(b"blob %d\0" % member.size, usedforsecurity=False)
                    while part := stream.read(1 << 20):
                        blob.update(part)
                    blobs[member.name.partition("/")[2]] = blob.hexdigest()
            commit = archive.pax_headers.get("comment")
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}", where=str(path)) from None
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise SourceError(f"not a gzipped tar archive: {error}", where=str(path)) from None
    return Archive(digest.hexdigest(), commit, blobs)


def differing_paths(archive: Archive, clone: Clone, commit: str) -> list[str]:
    """Return the paths whose content differs between an archive and a commit's regular files."""
    tree = {entry.path: entry.oid for entry in clone.list_tree(commit) if entry.mode in ("100644", "100755")}
    return sorted(path for path in tree.keys() | archive.blobs.keys() if tree.get(path) != archive.blobs.get(path))
