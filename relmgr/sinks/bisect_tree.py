"""A work tree of its own for a bisection, and the command that is run in it; the clone's checkout is not touched."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from relmgr.errors import SourceError
from relmgr.model.bisect import Trial
from relmgr.sinks.git_commands import run_git

# As `git bisect run` reads them: 125 is "cannot be tested"; a shell says 126 and 127 for what it cannot run.
CANNOT_TEST = 125
_CANNOT_RUN = {CANNOT_TEST: "it said so (125)", 126: "it cannot be executed (126)", 127: "it was not found (127)"}


@contextmanager
def work_tree(repository: Path) -> Iterator[Path]:
    """Yield a detached work tree of the clone, and remove it at the end."""
    with tempfile.TemporaryDirectory(prefix="relmgr-bisect-") as folder:
        path = Path(folder) / "tree"
        made = run_git(repository, "worktree", "add", "--quiet", "--detach", "--no-checkout", str(path), "HEAD")
        if made.status:
            raise SourceError(f"git worktree failed: {made.reason}", where=str(repository))
        try:
            yield path
        finally:
            run_git(repository, "worktree", "remove", "--force", str(path))


def try_commit(tree: Path, commit: str, subject: str, command: Sequence[str], seconds: float) -> Trial:
    """Check a commit out and run the command there; what could not be tested is a skip, never bad (P17).

    The command is given as words, not to a shell; it finds the commit in `RELMGR_COMMIT`. What it left behind stays, so
    that a build can go on from the last one.
    """
    started = time.monotonic()
    out = run_git(tree, "checkout", "--quiet", "--detach", "--force", commit)
    if out.status:
        code, why = None, f"it could not be checked out: {out.reason.removeprefix('error: ')}"
    else:
        code, why = _run(tree, commit, command, seconds)
    outcome = "skip" if why else "good" if code == 0 else "bad"
    fields: dict[str, object] = {
        "commit": commit,
        "subject": subject,
        "outcome": outcome,
        "exit_code": code,
        "why": why,
        "checked_out": not out.status,
    }
    return Trial.model_validate(fields | {"seconds": round(time.monotonic() - started, 3)})


def _run(tree: Path, commit: str, command: Sequence[str], seconds: float) -> tuple[int | None, str]:
    env = os.environ | {"RELMGR_COMMIT": commit}
    try:
        # Its output goes where a person sees it, and not into the document.
        process = subprocess.Popen(list(command), cwd=tree, env=env, stdout=2, start_new_session=True)
    except OSError as error:
        return None, f"it could not be started: {error.strerror}"
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None, f"it ran for more than {seconds:g} s"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if code < 0:
        return code, f"it was killed by signal {-code}"
    return code, _CANNOT_RUN.get(code, f"it ended in {code}" if code >= 128 else "")
