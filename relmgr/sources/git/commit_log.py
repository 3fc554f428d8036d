"""Commits with their whole messages, newest first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from relmgr.errors import SourceError
from relmgr.sources.git.clone import Clone

MAX_LOG = 256 * 1024 * 1024


@dataclass(frozen=True)
class Commit:
    """One commit; `at` keeps the committer's offset."""

    sha: str
    at: datetime
    subject: str
    body: str


def read_commits(clone: Clone, *walk: str) -> list[Commit]:
    """Return the commits of a walk (as `git log` takes it), children before parents."""
    with clone.stream("log", "--topo-order", "-z", "--format=%H%n%cI%n%s%n%b", *walk, "--") as out:
        data = out.read(MAX_LOG + 1)
        if len(data) > MAX_LOG:
            raise SourceError(f"more than {MAX_LOG} bytes of messages", where=str(clone.path))
    found = []
    for record in data.decode("utf-8", "replace").split("\0"):
        if record.strip():
            sha, at, subject, body = record.split("\n", 3)
            found.append(Commit(sha, datetime.fromisoformat(at.replace("Z", "+00:00")), subject, body))
    return found
