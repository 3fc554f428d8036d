"""Find one pull request in a clone: the commit that merged it, else its head; its final text and its diff."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from relmgr.errors import SourceError
from relmgr.model.project import Repository
from relmgr.sources.git.clone import Clone, CommitInfo
from relmgr.sources.pins.classify import pr_number

MAX_FILES = 10_000


@dataclass(frozen=True)
class Change:
    """A pull request as a clone has it. `parent` to `head` is its diff; `base` is the branch it went to, or None.

    `merged_at` is None for one that is not merged in this clone: then `head` is its pull ref. `namesakes` are other
    commits of that branch that carry the number: from a former forge, whose numbers began at 1 too. One that is planned
    and not opened has no number, and is called by the `branch` that it is to come from.
    """

    number: int | None
    head: str
    parent: str
    base: str | None
    title: str
    body: str
    merged_at: datetime | None
    namesakes: tuple[str, ...] = ()
    branch: str | None = None

    def name_in(self, slug: str) -> str:
        """Return its name: `owner/repo#n`, or `owner/repo:branch` of one that is planned."""
        return f"{slug}:{self.branch}" if self.number is None else f"{slug}#{self.number}"


def find_change(
    clone: Clone, repository: Repository, number: int, base: str | None = None, *, merged: bool | None = None
) -> Change:
    """Return pull request `number`: merged on `base` (default: the default branch, then the release branches), or open.

    `merged` False: the forge says that it is not, whatever commit bears its number. Raises `SourceError` when the clone
    has neither the merge nor the pull ref.
    """
    for branch in () if merged is False else _branches(clone, repository, base):
        commits = [commit for commit in merges_of(clone, branch, number) if commit.parents]
        if commits:
            commit = _merge_among(clone, commits, number)
            title = re.sub(rf"\s*\(#{number}\)$", "", commit.subject)
            others = tuple(other.sha for other in commits if other.sha != commit.sha)
            body = commit.body.strip()
            return Change(
                number, commit.sha, commit.parents[0], branch, title, body, commit.committed_at, namesakes=others
            )
    return _open_change(clone, repository, number, base)


def merges_of(clone: Clone, branch: str, number: int) -> list[CommitInfo]:
    """Return the commits on a branch's first parents whose subject carries a pull request's number, oldest first."""
    listed = clone.run(
        "log",
        "--first-parent",
        "--reverse",
        "--fixed-strings",
        f"--grep=#{number}",
        "--format=%H%x00%s",
        clone.require(branch),
    )
    named = (line.partition("\0") for line in listed.splitlines())
    return [clone.commit(sha) for sha, _, subject in named if pr_number(subject) == number]


def _merge_among(clone: Clone, commits: list[CommitInfo], number: int) -> CommitInfo:
    """Return the first commit made after the pull request's head; where that head is not at hand, the newest."""
    head = _pull_head(clone, number)
    last = clone.commit(head).committed_at if head else None
    after = [commit for commit in commits if last is not None and commit.committed_at >= last]
    return after[0] if after else commits[-1]


def _pull_head(clone: Clone, number: int) -> str | None:
    refs = (f"refs/pull/{number}/head", f"refs/remotes/origin/pull/{number}/head", f"refs/remotes/origin/pr/{number}")
    return next((commit for ref in refs if (commit := clone.resolve(ref)) is not None), None)


def changed_files(clone: Clone, change: Change) -> tuple[str, ...]:
    """Return the paths that differ between the two sides of a change, by name; renames are a delete and an add."""
    listed = clone.run("diff-tree", "-r", "-z", "--no-renames", "--name-only", change.parent, change.head)
    paths = tuple(sorted(path for path in listed.split("\0") if path.strip("\n")))
    if len(paths) > MAX_FILES:
        raise SourceError(f"{change.name_in('')} changes more than {MAX_FILES} files", where=str(clone.path))
    return paths


def added_lines(clone: Clone, change: Change, path: str) -> tuple[str, ...]:
    """Return the lines that a change adds to one file, without blank ones."""
    diff = clone.run(
        "diff", "--no-renames", "--no-ext-diff", "--no-textconv", "-U0", change.parent, change.head, "--", path
    )
    lines = (line[1:] for line in diff.splitlines() if line.startswith("+") and not line.startswith("+++ "))
    return tuple(line.strip() for line in lines if line.strip())


def commit_before(clone: Clone, branch: str, at: datetime) -> str | None:
    """Return the commit that a branch's first parents had reached at `at`, None before its first one."""
    for line in clone.run("log", "--first-parent", "--format=%H %ct", clone.require(branch)).splitlines():
        sha, _, seconds = line.partition(" ")
        if int(seconds) <= at.timestamp():
            return sha
    return None


def _branches(clone: Clone, repository: Repository, base: str | None) -> list[str]:
    if base is not None:
        return [base] if base in clone.branches else []
    first = [repository.default_branch] if repository.default_branch in clone.branches else []
    others = [name for name in clone.branches if re.fullmatch(repository.all_branches, name)]
    return list(dict.fromkeys([*first, *sorted(others)]))


def _open_change(clone: Clone, repository: Repository, number: int, base: str | None) -> Change:
    head = _pull_head(clone, number)
    if head is None:
        raise SourceError(
            f"{repository.slug}#{number} is neither merged in this clone nor fetched",
            where=str(clone.path),
            next_step=f"git fetch origin pull/{number}/head:refs/pull/{number}/head",
        )
    target = base or repository.default_branch
    parent = clone.merge_base(target, head) if clone.resolve(target) else None
    if parent is None:
        raise SourceError(
            f"#{number} shares no commit with {target}", where=str(clone.path), next_step="give its base with --base"
        )
    last = clone.commit(head)
    return Change(number, head, parent, base, last.subject, last.body.strip(), None)
