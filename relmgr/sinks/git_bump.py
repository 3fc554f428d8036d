"""Commit new contents on a branch of their own, without touching anybody's checkout, index or hooks; then push it.

The tree is made in an index of its own. A branch that holds anything but relmgr's own commit is left alone.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from relmgr.errors import SourceError, UserError
from relmgr.model.bump import Bumped
from relmgr.sinks.git_commands import REMOTE_SECONDS, must_git, run_git

_ZERO = "0" * 40
_TRAILER = "Pin-To:"
_AS_IT_IS: Mapping[str, str] = {}
# Whoever looks at a plan need not be known to git.
_NOBODY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "relmgr"), ("EMAIL", "relmgr@localhost"))
}


def commit_on_branch(
    repository: Path, branch: str, base: str, contents: Mapping[str, bytes | str], message: str
) -> Bumped:
    """Commit `contents` (path to bytes, or to a gitlink's commit) on top of `base` as the branch's only commit.

    Doing it again changes nothing; on another base, or with other contents, relmgr's commit is made anew. Raises
    `UserError` when the branch holds another's work or is checked out.
    """
    ref = f"refs/heads/{branch}"
    old = run_git(repository, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}").out.strip() or None
    tree = _tree(repository, base, contents)
    if old is not None:
        told = must_git(repository, "log", "-1", "--format=%T %P%n%B", old)
        head, _, said = told.partition("\n")
        if head == f"{tree} {base}" and said.strip() == message.strip():
            return Bumped(branch=branch, commit=old, outcome="unchanged")
        if _TRAILER not in said:
            raise UserError(
                f"the branch {branch} holds a commit that is not relmgr's",
                where=str(repository),
                next_step="rename or delete it",
            )
        if run_git(repository, "symbolic-ref", "--quiet", "HEAD").out.strip() == ref:
            raise UserError(f"{branch} is checked out", where=str(repository), next_step="check out another branch")
    made = run_git(repository, "commit-tree", tree, "-p", base, "-F", "-", given=message.encode())
    if made.status:
        raise SourceError(f"git commit-tree failed: {made.reason}", where=str(repository), next_step="set user.email")
    commit = made.out.strip()
    must_git(repository, "update-ref", "-m", "relmgr: pin bump", ref, commit, old or _ZERO)
    return Bumped(branch=branch, commit=commit, outcome="remade" if old else "created")


@contextmanager
def planned_commit(
    repository: Path, base: str, contents: Mapping[str, bytes | str], message: str
) -> Iterator[tuple[Path, str]]:
    """Yield a folder of objects, and the commit in it that `commit_on_branch` would make.

    The clone is only read: what is new lies in that folder alone, borrows the clone's objects, and goes at the end.
    """
    with tempfile.TemporaryDirectory(prefix="relmgr-plan-") as folder:
        objects = Path(folder)
        (objects / "info").mkdir()
        own = (repository / must_git(repository, "rev-parse", "--git-path", "objects")).resolve()
        (objects / "info" / "alternates").write_bytes(os.fsencode(own) + b"\n")
        env = {"GIT_OBJECT_DIRECTORY": folder, "GIT_NO_LAZY_FETCH": "1"}
        tree = _tree(repository, base, contents, env)
        made = run_git(
            repository, "commit-tree", tree, "-p", base, "-F", "-", given=message.encode(), env=env | _NOBODY
        )
        if made.status:
            raise SourceError(f"git commit-tree failed: {made.reason}", where=str(repository))
        yield objects, made.out.strip()


def _tree(repository: Path, base: str, contents: Mapping[str, bytes | str], env: Mapping[str, str] = _AS_IT_IS) -> str:
    with tempfile.TemporaryDirectory() as folder:
        index = {**env, "GIT_INDEX_FILE": str(Path(folder) / "index")}
        must_git(repository, "read-tree", base, env=index)
        for path, content in contents.items():
            mode = must_git(repository, "ls-tree", base, "--", path).split(" ", 1)[0] or "100644"
            oid = content if isinstance(content, str) else _blob(repository, content, env)
            must_git(repository, "update-index", "--add", "--cacheinfo", f"{mode},{oid},{path}", env=index)
        # A partial clone lacks the contents of other files, and need not fetch them for this.
        return must_git(repository, "write-tree", "--missing-ok", env=index)


def _blob(repository: Path, data: bytes, env: Mapping[str, str]) -> str:
    # The bytes as they are: no filter turns line ends, which would touch what the bump must not touch.
    made = run_git(repository, "hash-object", "-w", "--stdin", "--no-filters", given=data, env=dict(env))
    if made.status:
        raise SourceError(f"git hash-object failed: {made.reason}", where=str(repository))
    return made.out.strip()


def push_branch(repository: Path, done: Bumped, previous: str | None, remote: str = "origin") -> Bumped:
    """Push the branch with the clone's own credentials; `previous` is relmgr's commit before this run, if any.

    A branch there is overwritten only where it holds `previous`. Raises `SourceError` when the remote refuses.
    """
    ref = f"refs/heads/{done.branch}"
    asked = run_git(repository, "ls-remote", remote, ref, seconds=REMOTE_SECONDS)
    if asked.status:
        raise SourceError(f"git ls-remote failed: {asked.reason}", where=remote, next_step="check the remote")
    there = asked.out.split("\t", 1)[0].strip() or None
    if there == done.commit:
        return done.model_copy(update={"pushed": "unchanged"})
    if there is not None and there != previous:
        raise UserError(
            f"{done.branch} at {remote} holds {there[:12]}, which this clone did not make",
            next_step="fetch it, or delete it there",
        )
    lease = f"--force-with-lease={ref}:{there or ''}"
    sent = run_git(repository, "push", "--quiet", lease, remote, f"{done.commit}:{ref}", seconds=REMOTE_SECONDS)
    if sent.status:
        raise SourceError(
            f"git push failed: {sent.reason}", where=remote, next_step="check permissions, then run again"
        )
    return done.model_copy(update={"pushed": "remade" if there else "created"})
