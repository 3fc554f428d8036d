"""Real git repositories, built in a test's own folder."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class TestRepository:
    """A work tree with helpers that run the real git."""

    __test__ = False
    path: Path

    def git(self, *args: str, at: str | None = None) -> str:
        """Run git here; `at` is the author's and committer's date (ISO with offset)."""
        env = dict(os.environ)
        if at:
            env |= {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
        run = subprocess.run(["git", "-C", str(self.path), *args], env=env, check=True, capture_output=True, text=True)
        return run.stdout.strip()

    def commit(
        self,
        subject: str,
        files: dict[str, str | bytes | None] | None = None,
        *,
        at: str = "2022-01-01T12:00:00-08:00",
    ) -> str:
        """Write `files` (None removes one), commit everything, return the commit's 40 hex digits."""
        for name, content in (files or {}).items():
            file = self.path / name
            if content is None:
                file.unlink()
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject, at=at)
        return self.git("rev-parse", "HEAD")


def new_repository(path: Path, branch: str = "develop") -> TestRepository:
    """Create an empty repository at `path` on `branch`."""
    path.mkdir(parents=True)
    repository = TestRepository(path)
    repository.git("init", "-q", "-b", branch)
    return repository
