"""Which changes of a range its own reverts take back (N2). Pure.

A revert counts while no later revert takes *it* back, so a revert of a revert brings the change back. It is netted
together with what it reverts when all of that is in the range; a revert of something older is a change of its own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from relmgr.model.notes import RangeCommit

_SHA = re.compile(r"^This reverts commit ([0-9a-f]{7,40})\b", re.MULTILINE)
_FORGE = re.compile(r"^Reverts (?:[\w.-]+/[\w.-]+)?#(\d{1,9})\s*$", re.MULTILINE)
_SAYS = re.compile(r"^(?:\[[^\]]*\]\s*)*(?:revert(?:s|ed)?|reapply|back(?:s|ed)?[ -]out)\b", re.IGNORECASE)
_QUOTED = re.compile(r'^(?:\[[^\]]*\]\s*)*(?P<verb>Revert|Reapply) "(?P<title>.*)"\s*$', re.IGNORECASE)
_NUMBERS_AT_END = re.compile(r"(?:\s*\(#\d{1,9}\))+\s*$")


@dataclass(frozen=True)
class Reverted:
    """A change that a revert of the same range took back."""

    change: RangeCommit
    by: RangeCommit


@dataclass(frozen=True)
class Netting:
    """`kept` are the changes that remain, oldest first; `outside` says what a remaining revert took back, in words."""

    kept: tuple[RangeCommit, ...]
    reverted: tuple[Reverted, ...]
    outside: dict[str, str]


def net_reverts(changes: Sequence[RangeCommit]) -> Netting:
    """Return what remains of `changes` (oldest first, ancestors before their descendants)."""
    targets = _targets(changes)
    alive: dict[str, RangeCommit | None] = {}
    taken_by: dict[str, RangeCommit] = {}
    for commit in reversed(changes):
        if commit.commit in taken_by:
            continue
        alive[commit.commit] = commit
        for target in targets.get(commit.commit, _Claim()).inside:
            taken_by.setdefault(target.commit, commit)
    spent = {sha for sha in alive if sha in targets and targets[sha].inside and not targets[sha].outside}
    kept = tuple(c for c in changes if c.commit in alive and c.commit not in spent)
    outside = {c.commit: ", ".join(targets[c.commit].outside) for c in kept if c.commit in targets}
    reverted = tuple(Reverted(c, taken_by[c.commit]) for c in changes if c.commit in taken_by)
    return Netting(kept, reverted, {sha: words for sha, words in outside.items() if words})


@dataclass(frozen=True)
class _Claim:
    """What one commit says that it reverts: changes of the range, and what is not in it, in words."""

    inside: tuple[RangeCommit, ...] = ()
    outside: tuple[str, ...] = ()


def _targets(changes: Sequence[RangeCommit]) -> dict[str, _Claim]:
    """Return the claim of every commit that makes one."""
    earlier = _Earlier()
    found: dict[str, _Claim] = {}
    for commit in changes:
        if _SAYS.match(commit.title):
            found[commit.commit] = _claim(commit, earlier)
        earlier.add(commit)
    return found


def _claim(commit: RangeCommit, earlier: _Earlier) -> _Claim:
    shas = _SHA.findall(commit.body)
    if shas:
        hits = [(earlier.by_sha(sha), sha[:12]) for sha in dict.fromkeys(shas)]
    elif numbers := _FORGE.findall(commit.body):
        hits = [(earlier.by_number(int(n)), f"#{n}") for n in dict.fromkeys(numbers)]
    elif quoted := _QUOTED.match(commit.title):
        title = quoted["title"] if quoted["verb"].lower() == "revert" else f'Revert "{quoted["title"]}"'
        hits = [(earlier.by_title(title), f'"{title}"')]
    else:
        # Words such as "Revert #1 and fix #2" name no commit: a change to read, not to net.
        return _Claim()
    return _Claim(tuple(hit for hit, _ in hits if hit), tuple(words for hit, words in hits if hit is None))


class _Earlier:
    """The changes before a commit; the latest that fits is the one that a revert means."""

    def __init__(self) -> None:
        self._shas: dict[str, list[RangeCommit]] = defaultdict(list)
        self._numbers: dict[int, RangeCommit] = {}
        self._titles: dict[str, RangeCommit] = {}

    def add(self, commit: RangeCommit) -> None:
        """Remember a change."""
        self._shas[commit.commit[:7]].append(commit)
        for name in _names(commit):
            self._titles[name] = commit
        if not _SAYS.match(commit.title):
            self._numbers |= dict.fromkeys(commit.numbers, commit)

    def by_sha(self, sha: str) -> RangeCommit | None:
        """Return the change whose id begins with `sha`."""
        return next((c for c in self._shas.get(sha[:7], ()) if c.commit.startswith(sha)), None)

    def by_number(self, number: int) -> RangeCommit | None:
        """Return the latest change of a pull request."""
        return self._numbers.get(number)

    def by_title(self, title: str) -> RangeCommit | None:
        """Return the latest change of that title, with or without the numbers at its end."""
        return self._titles.get(title) or self._titles.get(_NUMBERS_AT_END.sub("", title))


def _names(commit: RangeCommit) -> Iterator[str]:
    yield commit.title
    yield commit.subject


def net_changes(commits: Iterable[RangeCommit]) -> Netting:
    """Return what remains of the commits that are changes of their own."""
    return net_reverts([commit for commit in commits if commit.kind in ("change", "pull-merge")])
