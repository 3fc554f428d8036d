"""Which commit reverts which, by their messages, and which reverts a release branch lacks (T9)."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Sequence

from relmgr.errors import SourceError
from relmgr.model.backport import By, OpenRevert
from relmgr.model.project import Repository
from relmgr.model.reverts import PullNumber, read_revert, without_numbers
from relmgr.sources.git.ancestry import read_ancestry
from relmgr.sources.git.clone import Clone
from relmgr.sources.git.commit_log import Commit, read_commits
from relmgr.sources.pins.classify import pr_number

_PICKED = re.compile(r"^\(cherry picked from commit ([0-9a-f]{40})\)$", re.M)
_TRAILER = re.compile(r"^Backport-Of: (?:([0-9a-f]{40})|([\w.-]+/[\w.-]+#\d{1,9}))$", re.M)


def links_of(body: str) -> set[str]:
    """Return what a message says it was taken from: commits, and pull requests as `owner/repo#n` in small letters."""
    found = set(_PICKED.findall(body))
    for commit, pull in _TRAILER.findall(body):
        found.add(commit or pull.lower())
    return found


class Reverts:
    """The reverts among some commits (children before parents); a reverted revert is none (N2).

    `names` are those that the repository has or had: a number of another one is none of these commits'.
    """

    def __init__(self, commits: Sequence[Commit], names: Collection[str] = ()) -> None:
        self._names = {name.lower() for name in names}
        self._commits = list(commits)
        self._place = {commit.sha: index for index, commit in enumerate(self._commits)}
        self._sorted = sorted(self._place)
        self._titles: dict[str, list[int]] = {}
        self._pulls: dict[int, list[int]] = {}
        for index, commit in enumerate(self._commits):
            for title in dict.fromkeys((commit.subject, without_numbers(commit.subject))):
                self._titles.setdefault(title, []).append(index)
            if number := pr_number(commit.subject):
                self._pulls.setdefault(number, []).append(index)
        self._reverted: dict[str, list[Commit]] = {}
        for commit in self._commits:
            for sha in self._reverted_by(commit):
                self._reverted.setdefault(sha, []).append(commit)
        self._in_force: dict[str, Commit | None] = {}
        # Oldest last: a revert's own reverts are its descendants, so they are decided before it.
        for commit in self._commits:
            self._decide(commit.sha)

    def of(self, sha: str) -> Commit | None:
        """Return the revert of `sha` that is in force, None when there is none."""
        if sha not in self._in_force:
            self._decide(sha)
        return self._in_force[sha]

    def target_of(self, commit: Commit) -> str | None:
        """Return what `commit` reverts, None when it reverts nothing that is known."""
        return next(iter(self._reverted_by(commit)), None)

    def in_force(self) -> list[tuple[str, Commit]]:
        """Return (reverted commit, its revert) for every revert that is in force, newest first."""
        return [(sha, commit) for sha in self._reverted if (commit := self.of(sha)) is not None]

    def _decide(self, sha: str) -> None:
        standing = (c for c in self._reverted.get(sha, ()) if c.sha != sha and self._in_force.get(c.sha) is None)
        self._in_force[sha] = next(standing, None)

    def _reverted_by(self, commit: Commit) -> list[str]:
        claim = read_revert(commit.subject, commit.body)
        if claim is None:
            return []
        if claim.commits:
            return [self._full(sha) for sha in claim.commits]
        after = self._place[commit.sha] + 1
        title = claim.title or ""
        found = [self._nearest(self._pulls.get(p.number, []), after) for p in claim.pulls if self._is_ours(p)]
        if not claim.pulls:
            found = [self._nearest(self._titles.get(title) or self._titles.get(without_numbers(title), []), after)]
        return [sha for sha in found if sha is not None]

    def _is_ours(self, pull: PullNumber) -> bool:
        return not pull.repository or not self._names or pull.repository.lower() in self._names

    def _nearest(self, places: list[int], after: int) -> str | None:
        """Return the nearest older commit of some."""
        index = bisect_left(places, after)
        return self._commits[places[index]].sha if index < len(places) else None

    def _full(self, prefix: str) -> str:
        """Return the commit that a shortened id means here; an unknown or ambiguous one as it is."""
        if len(prefix) == 40:
            return prefix
        index = bisect_left(self._sorted, prefix)
        fits = [sha for sha in self._sorted[index : index + 2] if sha.startswith(prefix)]
        return fits[0] if len(fits) == 1 else prefix


def reverts_missing_on(clone: Clone, repository: Repository, branches: Sequence[str]) -> tuple[OpenRevert, ...]:
    """Return every change that was reverted on the default branch and still is on one of `branches`, unreverted.

    A branch has a change when it is an ancestor of its tip, or a commit there says that it was taken from it, or has
    its very title with its number; a revert likewise.
    """
    if clone.shallow:
        raise SourceError(
            "a shallow clone cannot tell ancestry", where=str(clone.path), next_step="git fetch --unshallow"
        )
    default = clone.require(repository.default_branch)
    commits = {commit.sha: commit for commit in read_commits(clone, default)}
    reverts = Reverts(list(commits.values()), repository.names()).in_force()
    ancestry = read_ancestry(clone, [default, *(clone.require(branch) for branch in branches)])
    found: list[OpenRevert] = []
    for branch in branches:
        tip = clone.require(branch)
        line = _Line(repository, ancestry.ancestors(tip), read_commits(clone, tip, "--not", default))
        for sha, revert in reverts:
            original = commits.get(sha)
            there = line.has(original) if original else None
            if original is None or there is None or line.has(revert) is not None:
                continue
            found.append(
                OpenRevert(
                    branch=branch,
                    original=sha,
                    original_subject=original.subject,
                    as_commit=there[0],
                    by=there[1],
                    revert=revert.sha,
                    revert_subject=revert.subject,
                    reverted_at=revert.at,
                    pr=pr_number(revert.subject),
                )
            )
    return tuple(found)


class _Line:
    """One release branch: what it shares with the default branch, and its own commits."""

    def __init__(self, repository: Repository, ancestors: set[bytes], own: Sequence[Commit]) -> None:
        self._repository, self._ancestors, self._reverts = repository, ancestors, Reverts(own, repository.names())
        self._links: dict[str, Commit] = {}
        self._titles: dict[str, Commit] = {}
        for commit in own:
            for link in links_of(commit.body):
                self._links.setdefault(link, commit)
            if pr_number(commit.subject):
                self._titles.setdefault(commit.subject, commit)

    def has(self, commit: Commit) -> tuple[str, By] | None:
        """Return the commit by which the branch has a change, and how that is known; None when it has not."""
        if commit.sha.encode() in self._ancestors and not self._reverts.of(commit.sha):
            return commit.sha, "ancestry"
        number = pr_number(commit.subject)
        names = [commit.sha, *(f"{name}#{number}".lower() for name in self._repository.names() if number)]
        taken = next((self._links[name] for name in names if name in self._links), None)
        by: By = "link" if taken else "same-subject"
        taken = taken or self._titles.get(commit.subject)
        if taken is None or self._reverts.of(taken.sha):
            return None
        return taken.sha, by
