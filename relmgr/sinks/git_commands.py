"""Run git commands that write, through GitPython: no hooks, no prompts, no gc, and never in a surprise repository."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from relmgr.errors import SourceError, UserError, redact
from relmgr.sources.git.remote_secrets import environment_for, plain_arguments

# What a hook or a `git rebase --exec` leaves in the environment would send writes to another repository.
_MISLEADING = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
)
_CONFIG = (
    f"core.hooksPath={os.devnull}",
    "core.fsmonitor=false",
    "core.quotePath=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "rerere.enabled=false",
    "advice.detachedHead=false",
)
_ENV = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_ALLOW_PROTOCOL": "https:ssh:file:git",
}
REMOTE_SECONDS = 300


@dataclass(frozen=True)
class Ran:
    """How a git command ended."""

    status: int
    out: str
    said: str

    @property
    def reason(self) -> str:
        """What git said last, without credentials, for people."""
        lines = [line.strip() for line in redact(self.said).splitlines() if line.strip()]
        told = [line for line in lines if line.startswith(("fatal:", "error:", "! ", "remote: error"))]
        return (told or lines or [f"status {self.status}"])[0 if told else -1][:300]


def run_git(
    path: Path, *args: str, given: bytes = b"", env: dict[str, str] | None = None, seconds: int | None = None
) -> Ran:
    """Run one git command in the repository at `path`, `given` on its standard input; a failure is told, not raised.

    With `seconds` the command speaks to a remote, and is killed when it takes longer. Raises `UserError` where the
    environment points git at another repository, `SourceError` without git.
    """
    from git import Git
    from git.exc import GitCommandError, GitCommandNotFound

    if leading := [name for name in _MISLEADING if os.environ.get(name)]:
        raise UserError(
            f"{leading[0]} is set, so git would write to another repository", next_step=f"unset {' '.join(leading)}"
        )
    if seconds is not None:
        env = (env or {}) | environment_for([*_addresses(path, args), *args])
        args = tuple(plain_arguments(args))
    config = [part for item in _CONFIG for part in ("-c", item)]
    command = ["git", "-C", str(path), "--no-replace-objects", *config, *args]
    try:
        with tempfile.TemporaryFile() as stdin:
            stdin.write(given)
            stdin.seek(0)
            status, out, said = Git(str(path)).execute(
                command,
                istream=stdin,
                with_extended_output=True,
                with_exceptions=False,
                env=_ENV | (env or {}),
                stdout_as_string=False,
                kill_after_timeout=seconds,
            )
    except GitCommandNotFound:
        raise SourceError("git is not installed", next_step="install git 2.34 or newer") from None
    except (GitCommandError, OSError) as error:
        raise SourceError(f"git {args[0]}: {redact(str(error))}", where=str(path)) from None
    return Ran(status, out.decode("utf-8", "surrogateescape") if isinstance(out, bytes) else str(out), str(said))


def _addresses(path: Path, args: tuple[str, ...]) -> list[str]:
    """Return the addresses of the remotes that a command names."""
    told = run_git(path, "config", "--get-regexp", r"^remote\..*\.(push)?url$").out.splitlines()
    named = (line.partition(" ") for line in told)
    return [address for key, _, address in named if key.removeprefix("remote.").rpartition(".")[0] in args]


def must_git(path: Path, *args: str, env: dict[str, str] | None = None) -> str:
    """Return what a git command prints, without its last newline; raise `SourceError` when it fails."""
    ran = run_git(path, *args, env=env)
    if ran.status:
        raise SourceError(f"git {args[0]} failed: {ran.reason}", where=str(path))
    return ran.out.removesuffix("\n")
