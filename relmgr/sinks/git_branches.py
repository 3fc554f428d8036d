"""Make the branches of a cut, in clones and at their remotes: all of them or none (T6).

Each branch is made by compare-and-swap: it must not be there, and its base must be where the plan saw it. Before any
branch is made, a ref of our own for each, `refs/relmgr/cut/<plan>/...`, is left in the clone; it goes when the whole
cut stands, or is taken back. So a run that is killed leaves nothing, or marks that tell the next run what is its own.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from relmgr.errors import RelmgrError, SourceError, UserError
from relmgr.model.cut_apply import BranchToCut, PlaceSeen
from relmgr.model.project import Repository
from relmgr.sinks.git_commands import REMOTE_SECONDS, Ran, must_git, run_git

MARKS = "refs/relmgr/cut"
_NONE = "0" * 40
_SLUG = re.compile(r"[:/]([\w.-]+/[\w.-]+?)(?:\.git)?/?$")
_REMOTE_NAME = re.compile(r"^[A-Za-z0-9][\w.-]*$", re.ASCII)


@dataclass(frozen=True)
class Place:
    """One branch of a plan at one place; `plan` is the plan's digest."""

    cut: BranchToCut
    path: Path
    remote: str | None
    plan: str

    @property
    def mark(self) -> str:
        """The ref that says: this plan is making the branch here."""
        return f"{MARKS}/{self.plan[:16]}/{f'at/{self.remote}' if self.remote else 'here'}/{self.cut.branch}"

    @property
    def ref(self) -> str:
        """The branch's full name."""
        return f"refs/heads/{self.cut.branch}"

    def finish(self) -> str:
        """Return the shell command that makes the branch."""
        if self.remote:
            return _shell(self.path, "push", self.remote, f"{self.cut.commit}:{self.ref}")
        return _shell(self.path, "update-ref", self.ref, self.cut.commit, _NONE)

    def undo(self) -> str:
        """Return the shell command that takes the branch back, if nobody moved it."""
        if self.remote:
            return _shell(
                self.path, "push", f"--force-with-lease={self.ref}:{self.cut.commit}", self.remote, f":{self.ref}"
            )
        return _shell(self.path, "update-ref", "-d", self.ref, self.cut.commit)


def require_remote(path: Path, remote: str, repository: Repository, forge: str) -> None:
    """Refuse (`UserError`) what is no remote of the clone, or one whose URL is another repository, such as a fork."""
    if not _REMOTE_NAME.match(remote):
        raise UserError(f"{remote!r} is not the name of a remote", next_step="give a name such as origin, not a URL")
    asked = [run_git(path, "remote", "get-url", "--all", *push, remote) for push in ((), ("--push",))]
    urls = [line for ran in asked for line in ran.out.splitlines()]
    if any(ran.status for ran in asked) or len(urls) != 2:
        what = f"remote {remote!r} has several URLs" if urls else f"the clone has no remote {remote!r}"
        raise UserError(what, where=str(path), next_step="see git remote -v")
    slugs = [match[1] for url in urls if forge in url and (match := _SLUG.search(url))]
    if strange := [slug for slug in slugs if not repository.is_named(slug)]:
        what = f"remote {remote!r} is {strange[0]}, not {repository.slug}"
        raise UserError(what, where=str(path), next_step="name the remote of the repository itself")
    if urls[0] != urls[1] and len(slugs) != 2:
        raise UserError(f"remote {remote!r} fetches from one URL and pushes to another", where=str(path))


def read_place(place: Place) -> PlaceSeen:
    """Return what stands at a place now; `SourceError` when the clone or the remote does not answer."""
    cut = place.cut
    here = dict(
        line.split(" ", 1)
        for line in must_git(place.path, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    )
    found = here if place.remote is None else _at_remote(place)
    base = cut.base if place.remote is None else f"refs/heads/{_short(cut.base)}"
    others = [name for name in here if name.startswith("refs/remotes/") and _short(name) == cut.branch]
    return PlaceSeen(
        cut=cut,
        path=str(place.path),
        remote=place.remote,
        now=found.get(place.ref) if not cut.exists else found.get(base),
        base_now=found.get(base),
        ours=place.mark in here,
        elsewhere=tuple(others) if place.remote is None else (),
    )


def foreign_marks(path: Path, plan: str) -> tuple[str, ...]:
    """Return the marks that another plan left in a clone: its cut is half done, or being made."""
    names = must_git(path, "for-each-ref", "--format=%(refname)", MARKS).splitlines()
    return tuple(name for name in names if not name.startswith(f"{MARKS}/{plan[:16]}/"))


def marked_remotes(path: Path, plan: str) -> dict[str, str]:
    """Return the branches that this plan was pushing from a clone when it broke off, with the remote of each."""
    folder = f"{MARKS}/{plan[:16]}/at/"
    names = must_git(path, "for-each-ref", "--format=%(refname)", folder).splitlines()
    pairs = (name.removeprefix(folder).partition("/") for name in names)
    return {branch: remote for remote, _, branch in pairs}


def make_all(places: Sequence[Place], *, check_base: bool = True) -> None:
    """Make every branch that is not there yet; on any failure take back all that carries this plan's mark.

    Raises the failure. Whether anything was left is for `read_place` to say afterwards.
    """
    try:
        missing = [place for place in places if not place.cut.exists and not read_place(place).is_made]
        # All marks first: whatever happens then, they say what was meant to be made, and where.
        for place in missing:
            _mark(place)
        for place in missing:
            _make(place, check_base=check_base)
    except BaseException:
        with suppress(RelmgrError):
            take_back(places)
        raise
    forget(places)


def take_back(places: Sequence[Place]) -> None:
    """Remove, last first, every branch that this plan made and nobody moved, and then its mark.

    A place that fails keeps its mark; the others are still taken back, then the first failure is raised.
    """
    failure: RelmgrError | None = None
    for place in reversed(places):
        try:
            seen = read_place(place)
            if seen.ours and seen.now is not None and seen.now == place.cut.commit:
                _remove(place)
            elif seen.ours and seen.now is not None:
                raise SourceError(f"{place.cut.branch} was moved to {seen.now[:12]}", where=seen.where)
            if seen.ours:
                _unmark(place)
        except RelmgrError as error:
            failure = failure or error
    if failure:
        raise failure


def forget(places: Sequence[Place]) -> None:
    """Remove this plan's marks: the cut stands."""
    for place in places:
        if run_git(place.path, "rev-parse", "--verify", "--quiet", place.mark).status == 0:
            _unmark(place)


def _mark(place: Place) -> None:
    if run_git(place.path, "rev-parse", "--verify", "--quiet", place.mark).status:
        must_git(place.path, "update-ref", place.mark, place.cut.commit, _NONE)


def _make(place: Place, *, check_base: bool) -> None:
    cut = place.cut
    if place.remote is None:
        verify = f"verify {cut.base} {cut.tip}\n" if check_base else ""
        steps = f"start\n{verify}create {place.ref} {cut.commit}\nprepare\ncommit\n"
        reason = f"relmgr cut apply: {cut.branch} from {_short(cut.base)}"
        ran = run_git(place.path, "update-ref", "--create-reflog", "-m", reason, "--stdin", given=steps.encode())
    else:
        # The empty expectation: the remote must not have the branch.
        lease = f"--force-with-lease={place.ref}:"
        ran = _push(place, lease, f"{cut.commit}:{place.ref}")
    if ran.status and not read_place(place).is_made:
        # Git refused: whatever stands there is not of this plan's making. (Where nobody answered, the mark stays.)
        _unmark(place)
        raise SourceError(f"{cut.branch} was not made: {ran.reason}", where=_where(place), next_step=place.finish())


def _remove(place: Place) -> None:
    if place.remote is None:
        must_git(place.path, "update-ref", "-d", place.ref, place.cut.commit)
        return
    ran = _push(place, f"--force-with-lease={place.ref}:{place.cut.commit}", f":{place.ref}")
    if ran.status and read_place(place).now is not None:
        raise SourceError(f"{place.cut.branch} was not removed: {ran.reason}", where=_where(place))


def _push(place: Place, lease: str, refspec: str) -> Ran:
    assert place.remote is not None
    options = ("--no-verify", "--no-follow-tags", "--no-recurse-submodules", "--porcelain", lease)
    return run_git(place.path, "push", *options, place.remote, refspec, seconds=REMOTE_SECONDS)


def _unmark(place: Place) -> None:
    must_git(place.path, "update-ref", "-d", place.mark)


def _at_remote(place: Place) -> dict[str, str]:
    """Return the refs of interest at the remote, name to commit. It is named, not spelt: URLs can hold tokens (B7)."""
    names = (place.ref, f"refs/heads/{_short(place.cut.base)}")
    ran = run_git(place.path, "ls-remote", "--end-of-options", place.remote or "", *names, seconds=REMOTE_SECONDS)
    if ran.status:
        raise SourceError(f"git ls-remote failed: {ran.reason}", where=_where(place), next_step="check the network")
    listed = (line.partition("\t") for line in ran.out.splitlines())
    return {name: oid for oid, _, name in listed if name in names}


def _short(ref: str) -> str:
    """Return a branch's name: without refs/heads/, or refs/remotes/ and the remote."""
    return ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else ref.split("/", 3)[3]


def _where(place: Place) -> str:
    return f"{place.path} at {place.remote}" if place.remote else str(place.path)


def _shell(path: Path, *args: str) -> str:
    return shlex.join(["git", "-C", str(path), *args])
