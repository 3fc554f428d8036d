"""Which blobs changed at some paths over a history: git's own `log --raw`, read from one pipe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, NamedTuple

from relmgr.sources.git.clone import Clone

_CHUNK = 1 << 16
_FORMAT = "--format=%x1e%H%x00%P%x00%cI%x00%s%x00%b"


class Step(NamedTuple):
    """One commit against one parent: (path, old blob, new blob) of every touched path; zeros stand for no file."""

    commit: str
    parents: tuple[str, ...]
    committed_at: str
    subject: str
    body: str
    touched: tuple[tuple[str, str, str], ...]


def walk(
    clone: Clone,
    starts: Sequence[str],
    paths: Sequence[str],
    *,
    first_parent: bool,
    globs: bool = False,
    alone: bool = False,
) -> Iterator[Step]:
    """Yield a step for each commit and parent that differ at `paths`, newest first.

    A merge is repeated once for each parent that it differs from, or compared with its first parent only. With `globs`
    the paths are patterns in which `*` stays within a folder. `alone`: only the commits of `starts` themselves.
    """
    if not starts:
        return
    lines = "--first-parent" if first_parent else "--full-history"
    args = ["log", "-z", "--raw", "--no-abbrev", "--no-renames", "-m", lines, _FORMAT]
    args += [*(["--no-walk=unsorted"] if alone else []), "--end-of-options", *starts]
    with clone.stream(*args, "--", *paths, globs=globs) as out:
        yield from _steps(_fields(out))


def _fields(out: IO[bytes]) -> Iterator[bytes]:
    """Yield the NUL-separated fields while git still writes: reading blobs overlaps with its walk."""
    rest = b""
    while part := out.read1(_CHUNK):  # type: ignore[attr-defined]
        *fields, rest = (rest + part).split(b"\0")
        yield from fields
    yield rest


def _steps(fields: Iterator[bytes]) -> Iterator[Step]:
    token = next(fields, b"")
    while token:
        header = [token.lstrip(b"\n")[1:], *(next(fields) for _ in range(4))]
        touched = []
        token = next(fields, b"")
        while token.lstrip(b"\n").startswith(b":"):
            _, _, old, new, _ = token.strip(b"\n").split(b" ")
            touched.append((next(fields).decode("utf-8", "surrogateescape"), old.decode(), new.decode()))
            token = next(fields, b"")
        sha, parents, at, subject, body = (part.decode("utf-8", "replace") for part in header)
        yield Step(sha, tuple(parents.split()), at, subject, body, tuple(touched))
