"""A source archive against the tag it was made from (P1): same tree with other bytes, or another tree."""

from __future__ import annotations

import gzip
import hashlib
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol, cast

from relmgr.errors import SourceError
from relmgr.sources.git.clone import Clone

MAX_MEMBERS = 500_000
MAX_UNPACKED = 8 * 1024**3
# What may stand in the extra headers of one member: a long name, git's comment.
MAX_HEADER = 1 << 20
_PART = 1 << 20


@dataclass(frozen=True)
class Archive:
    """An archive's sha256, the commit that git wrote into its header (None: none), and its files' git blob ids."""

    sha256: str
    commit: str | None
    blobs: dict[str, str]

    @property
    def digest(self) -> str:
        """The digest as a pin writes it."""
        return f"sha256:{self.sha256}"


class ArchiveSource(Protocol):
    """Where the archive of a ref comes from."""

    def read(self, slug: str, ref: str) -> Archive:
        """Return the archive of `owner/name` at a ref; raises `SourceError` when there is none to read."""
        ...


@dataclass(frozen=True)
class ArchiveFile:
    """An archive that a person has and names; it is taken for that of any ref, and then compared with its tree."""

    path: Path

    def read(self, slug: str, ref: str) -> Archive:
        """Return the archive in the file."""
        return read_archive(self.path)


def read_archive(path: Path) -> Archive:
    """Read a `.tar.gz` file; see `read_archive_stream`."""
    try:
        with path.open("rb") as file:
            return read_archive_stream(file, str(path))
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}", where=str(path)) from None


def read_archive_stream(stream: IO[bytes], where: str) -> Archive:
    """Read a `.tar.gz` as forges make them (one top folder, left out of the paths), once, keeping nothing of it.

    Bounded in members, headers and unpacked bytes; links and special files are left out. Raises `SourceError` for
    anything else; what `stream` raises passes.
    """
    hashed = _Hashed(stream)
    blobs: dict[str, str] = {}
    total = 0
    try:
        with (
            gzip.GzipFile(fileobj=cast(IO[bytes], hashed)) as unpacked,
            tarfile.open(fileobj=unpacked, mode="r|", tarinfo=_Member) as archive,
        ):
            for member in archive:
                total += member.size
                if len(blobs) > MAX_MEMBERS or total > MAX_UNPACKED:
                    raise SourceError("larger than relmgr reads", where=where)
                content = archive.extractfile(member) if member.isreg() else None
                if content is not None:
                    blobs[member.name.partition("/")[2]] = _blob_id(content, member.size)
                # The list of members is not needed, and would hold half a million of them.
                archive.members.clear()  # type: ignore[attr-defined]
            commit = archive.pax_headers.get("comment")
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise SourceError(f"not a gzipped tar archive: {error}", where=where) from None
    return Archive(hashed.finish(), commit, blobs)


def differing_paths(archive: Archive, clone: Clone, commit: str) -> list[str]:
    """Return the paths whose content differs between an archive and a commit's regular files."""
    tree = {entry.path: entry.oid for entry in clone.list_tree(commit) if entry.mode in ("100644", "100755")}
    return sorted(path for path in tree.keys() | archive.blobs.keys() if tree.get(path) != archive.blobs.get(path))


class _Hashed:
    """A stream whose bytes are hashed as they are read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._hash = stream, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(_PART if size < 0 else size)
        self._hash.update(data)
        return data

    def finish(self) -> str:
        """Read on to the end, past what the archive needed, and return the sha256 of it all."""
        while self.read(_PART):
            pass
        return self._hash.hexdigest()


class _Member(tarfile.TarInfo):
    """A member whose extra headers are bounded: Python reads them whole into memory, maps of sparse files too."""

    _HEADERS = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, b"X")

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Member:
        member = super().frombuf(buf, encoding, errors)
        if member.type in cls._HEADERS and member.size > MAX_HEADER:
            raise SourceError(f"an archive with a header of {member.size} bytes")
        if member.type == tarfile.GNUTYPE_SPARSE:
            raise SourceError("an archive with sparse files, which no forge makes")
        return member

    def _proc_gnusparse_10(self, *_: object) -> None:
        raise SourceError("an archive with sparse files, which no forge makes")


def _blob_id(content: IO[bytes], size: int) -> str:
    blob = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    while part := content.read(_PART):
        blob.update(part)
    return blob.hexdigest()
