"""Rebuild a repository from a table of commits with `git fast-import`."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from relmgr.errors import SourceError

_AUTHOR = b"relmgr <relmgr@example.org>"


def rebuild_repository(path: Path, table: dict[str, Any], names: Mapping[str, str] | None = None) -> dict[str, str]:
    """Create a bare repository at `path` from `table`; return the table's commit names mapped to the new commits.

    `table` holds `commits` (each `commit`, `parents`, `committed_at` with its offset, `subject`, `files` path to text,
    `removed` paths; parents first) and `refs` (each `ref`, `commit`). A parent that the table lacks is left out. The
    original name stands in the rebuilt commit's message as `Rebuilt-From`. `names` are replaced in every file's text:
    commits of another rebuilt repository, which cannot keep their ids. Raises `SourceError` when git fails.
    """
    path = path.resolve()
    path.mkdir(parents=True)
    _git(path, "init", "-q", "--bare", "-b", "develop")
    marks = path / "rebuilt-marks"
    _git(path, "fast-import", "--quiet", f"--export-marks={marks}", given=b"".join(_stream(table, names or {})))
    by_mark = dict(line.split() for line in marks.read_text().splitlines())
    marks.unlink()
    return {commit["commit"]: by_mark[f":{index}"] for index, commit in enumerate(table["commits"], 1)}


def _stream(table: dict[str, Any], names: Mapping[str, str]) -> Iterator[bytes]:
    marks = {commit["commit"]: index for index, commit in enumerate(table["commits"], 1)}
    for index, commit in enumerate(table["commits"], 1):
        at = datetime.fromisoformat(commit["committed_at"])
        stamp = f"{int(at.timestamp())} {at.strftime('%z')}".encode()
        message = f"{commit['subject']}\n\n{commit.get('body', '')}\nRebuilt-From: {commit['commit']}\n".encode()
        # Every commit gets a branch of its own while it is built, so that roots stay roots.
        yield b"commit refs/rebuilding/%d\nmark :%d\n" % (index, index)
        yield b"author %s %s\ncommitter %s %s\n" % (_AUTHOR, stamp, _AUTHOR, stamp)
        yield _data(message)
        parents = [marks[parent] for parent in commit["parents"] if marks.get(parent, index) < index]
        for place, parent in enumerate(parents):
            yield b"%s :%d\n" % (b"merge" if place else b"from", parent)
        for name in commit["removed"]:
            yield b"D %s\n" % _quoted(name)
        for name, text in commit["files"].items():
            for old, new in names.items():
                text = text.replace(old, new)
            yield b"M 100644 inline %s\n" % _quoted(name) + _data(text.encode())
    for ref in table["refs"]:
        yield b"reset %s\nfrom :%d\n\n" % (ref["ref"].encode(), marks[ref["commit"]])
    for index in range(1, len(table["commits"]) + 1):
        yield b"reset refs/rebuilding/%d\nfrom %s\n\n" % (index, b"0" * 40)
    yield b"done\n"


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)


def _quoted(name: str) -> bytes:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'.encode()


def _git(path: Path, *args: str, given: bytes = b"") -> None:
    run = subprocess.run(["git", "-C", str(path), *args], input=given, capture_output=True, check=False)
    if run.returncode:
        raise SourceError(
            f"git {args[0]} failed: {run.stderr.decode('utf-8', 'replace').strip()[:300]}", where=str(path)
        )
