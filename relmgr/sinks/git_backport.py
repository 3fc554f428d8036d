"""Take a commit to a branch: cherry-picked in a scratch repository, then put into the clone by one compare-and-swap.

The scratch repository borrows the clone's objects and lies outside of it. Until the last step the clone is only read,
so a conflict, a failure or a kill leaves it as it was; that step moves one ref, from where it was seen, or does not.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from relmgr.errors import SourceError, UserError
from relmgr.model.backport import Original, Target
from relmgr.sinks.git_commands import must_git, run_git

_IDENTITY = re.compile(r"^(?P<name>.*) <(?P<email>[^<>]*)> \d+ [+-]\d{4}$")
_SIGNING = ("commit.gpgsign", "gpg.format", "user.signingkey")
_NONE = "0" * 40
_HEAD = "refs/heads/picked"


@dataclass(frozen=True)
class Picked:
    """How a cherry-pick ended in the scratch repository at `path`; `commit` is set when it is clean."""

    state: Literal["clean", "conflict", "empty"]
    path: Path
    commit: str | None = None
    conflicts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


@contextmanager
def picked(clone: Path, original: Original, tip: str, mainline: int | None, *, sign: bool = False) -> Iterator[Picked]:
    """Yield the change of `original` on top of `tip`, as long as the scratch repository lives.

    Its committer is the clone's user, its author stays, and its message says where it comes from. Nothing is resolved
    for a person: what does not merge is named. With `sign` the user's signing settings hold.
    """
    with _scratch(clone) as path:
        env = _committer(clone)
        _prepare(clone, path, tip)
        signing = () if sign else ("--no-gpg-sign",)
        if sign:
            _copy_signing(clone, path)
        parent = ("-m", str(mainline)) if mainline else ()
        ran = run_git(path, "cherry-pick", "-x", "--allow-empty-message", *signing, *parent, original.commit, env=env)
        conflicts = _unmerged(path)
        if conflicts:
            yield Picked("conflict", path, conflicts=conflicts)
            return
        if ran.status:
            # Git stops at an empty pick, with the pick under way; any other failure is a failure.
            stopped = run_git(path, "rev-parse", "--verify", "--quiet", "CHERRY_PICK_HEAD").status == 0
            if not stopped or run_git(path, "diff", "--cached", "--quiet", "HEAD").status:
                raise SourceError(f"git cherry-pick failed: {ran.reason}", where=str(clone))
            yield Picked("empty", path)
            return
        if original.pr:
            trailer = f"Backport-Of: {original.repository}#{original.pr}"
            amend = ("commit", "--amend", "--no-edit", "--no-verify", "--allow-empty-message", "--trailer", trailer)
            must_git(path, *amend, *signing, env=env)
        commit = must_git(path, "rev-parse", "HEAD")
        files = must_git(path, "diff-tree", "-r", "-z", "--no-renames", "--name-only", tip, commit).split("\0")
        yield Picked("clean", path, commit, files=tuple(sorted(name for name in files if name.strip("\n"))))


def land(clone: Path, done: Picked, target: Target, original: Original) -> None:
    """Put a clean pick into the clone and move the target's ref to it, if that still is where it was seen."""
    assert done.commit is not None
    options = ("--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules", "--no-prune")
    must_git(clone, "fetch", "-q", *options, str(done.path), _HEAD)
    reason = f"relmgr backport: {original.commit[:12]}"
    ran = run_git(clone, "update-ref", "--create-reflog", "-m", reason, target.ref, done.commit, target.old or _NONE)
    if ran.status:
        raise SourceError(
            f"{target.ref.removeprefix('refs/heads/')} was not moved: {ran.reason}",
            where=str(clone),
            next_step="run it again: it starts from where the branch is now",
        )


def by_hand(clone: Path, original: Original, target: Target, mainline: int | None) -> str:
    """Return the shell commands by which a person takes the change, with its conflicts."""
    branch = target.ref.removeprefix("refs/heads/")
    switch = ["git", "-C", str(clone), "switch", *([branch] if target.old else ["-c", branch, target.tip])]
    parent = ["-m", str(mainline)] if mainline else []
    pick = ["git", "-C", str(clone), "cherry-pick", "-x", *parent, original.commit]
    return f"{shlex.join(switch)} && {shlex.join(pick)}"


# -- the scratch repository -----------------------------------------------------------------------------------------


@contextmanager
def _scratch(clone: Path) -> Iterator[Path]:
    """Yield where a repository of this process alone may be made; it is removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix=_prefix(clone)))
    handle = os.open(folder / "lock.new", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        # Only now is it seen by others, and held.
        (folder / "lock.new").rename(folder / "lock")
        yield folder / "repository"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def sweep_scratch(clone: Path) -> None:
    """Remove the scratch repositories that killed runs on the same clone left behind."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_prefix(clone)}*"):
        if folder.is_symlink() or folder.lstat().st_uid != os.getuid():
            continue
        try:
            handle = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue
        finally:
            os.close(handle)


def _prefix(clone: Path) -> str:
    return f"relmgr-backport-{os.getuid()}-{hashlib.sha256(str(clone).encode()).hexdigest()[:16]}-"


def _prepare(clone: Path, path: Path, tip: str) -> None:
    """Make a repository at `path` with the clone's objects and `tip` as its HEAD; no file is written out.

    Only attribute files are: they say how files merge.
    """
    path.mkdir()
    must_git(path, "init", "-q", "--template=")
    objects = (clone / must_git(clone, "rev-parse", "--git-path", "objects")).resolve()
    info = path / ".git" / "info"
    for name in (info, path / ".git" / "objects" / "info"):
        name.mkdir(exist_ok=True)
    (path / ".git" / "objects" / "info" / "alternates").write_text(f"{objects}\n", encoding="utf-8")
    (info / "sparse-checkout").write_text(".gitattributes\n", encoding="utf-8")
    for key, value in (("core.sparseCheckout", "true"), ("core.sparseCheckoutCone", "false")):
        must_git(path, "config", key, value)
    must_git(path, "update-ref", _HEAD, tip)
    must_git(path, "symbolic-ref", "HEAD", _HEAD)
    must_git(path, "read-tree", "-m", "-u", "HEAD")


def _unmerged(path: Path) -> tuple[str, ...]:
    records: Sequence[str] = must_git(path, "ls-files", "-u", "-z").split("\0")
    return tuple(dict.fromkeys(record.partition("\t")[2] for record in records if record.strip("\n")))


def _committer(clone: Path) -> dict[str, str]:
    """Return the committer's environment: the clone's user, never one that git guessed from the machine."""
    ran = run_git(clone, "-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT")
    found = _IDENTITY.match(ran.out.strip())
    if ran.status or not found:
        raise UserError(
            "git does not know who you are",
            where=str(clone),
            next_step="git config --global user.name NAME, and user.email ADDRESS",
        )
    return {"GIT_COMMITTER_NAME": found["name"], "GIT_COMMITTER_EMAIL": found["email"]}


def _copy_signing(clone: Path, path: Path) -> None:
    """Carry the clone's own signing settings over; programs come from the user's settings alone."""
    for key in _SIGNING:
        value = run_git(clone, "config", "--get", key)
        if value.status == 0:
            must_git(path, "config", key, value.out.removesuffix("\n"))
