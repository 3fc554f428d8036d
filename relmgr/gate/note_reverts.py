"""Which changes of a range its own reverts take back (N2). Pure.

A revert counts while no later revert takes *it* back, so a revert of a revert brings the change back. It is netted
together with what it reverts when all of that is in the range; a revert of something older is a change of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from relmgr.model.notes import RangeCommit
from relmgr.model.reverts import RevertClaim, read_revert, says_revert, without_numbers


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


def net_reverts(changes: Sequence[RangeCommit], names: Collection[str] = ()) -> Netting:
    """Return what remains of `changes` (oldest first, ancestors before their descendants).

    `names` are those that the repository has or had, `owner/repo`: a number of another one is none of the range's.
    """
    targets = _targets(changes, names)
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


def _targets(changes: Sequence[RangeCommit], names: Collection[str]) -> dict[str, _Claim]:
    """Return the claim of every commit that makes one."""
    earlier = _Earlier(names)
    found: dict[str, _Claim] = {}
    for commit in changes:
        claim = read_revert(commit.title, commit.body)
        if claim is not None:
            found[commit.commit] = _looked_up(claim, earlier)
        earlier.add(commit)
    return found


def _looked_up(claim: RevertClaim, earlier: _Earlier) -> _Claim:
    """Return what a claim means here: by the surest kind of name that it gives."""
    title = earlier.by_title(claim.title) if claim.title else None
    if claim.commits:
        hits = [(earlier.by_id(sha), sha[:12]) for sha in claim.commits]
    elif claim.pulls:
        hits = [(earlier.by_number(pull.number, pull.repository), str(pull)) for pull in claim.pulls]
    else:
        hits = [(title, f'"{claim.title}"')]
    if len(hits) == 1 and hits[0][0] is None and title is not None:
        # What was picked, or merged under another number, has its title still.
        hits = [(title, "")]
    return _Claim(tuple(hit for hit, _ in hits if hit), tuple(words for hit, words in hits if hit is None))


class _Earlier:
    """The changes before a commit; the latest that fits is the one that a revert means."""

    def __init__(self, names: Collection[str]) -> None:
        self._repositories = {name.lower() for name in names}
        self._ids: dict[str, list[tuple[str, RangeCommit]]] = defaultdict(list)
        self._numbers: dict[int, list[RangeCommit]] = defaultdict(list)
        self._titles: dict[str, RangeCommit] = {}

    def add(self, commit: RangeCommit) -> None:
        """Remember a change."""
        for known in (commit.commit, *commit.picked_from):
            self._ids[known[:7]].append((known, commit))
        self._titles[commit.title] = self._titles[commit.subject] = commit
        for number in commit.numbers:
            self._numbers[number].append(commit)

    def by_id(self, sha: str) -> RangeCommit | None:
        """Return the change whose id, or whose original's id, begins with `sha`."""
        found = [(known, commit) for known, commit in self._ids.get(sha[:7], ()) if known.startswith(sha)]
        own = [commit for known, commit in found if known == commit.commit]
        return next(iter(own or [commit for _, commit in reversed(found)]), None)

    def by_number(self, number: int, repository: str | None) -> RangeCommit | None:
        """Return the latest change of a pull request; None where several different ones carry its number.

        A revert counts by its own number, and only where no change carries it: `Revert "x" (#1)` may quote x's.
        """
        if repository and self._repositories and repository.lower() not in self._repositories:
            return None
        carry = self._numbers.get(number, [])
        fits = [c for c in carry if not says_revert(c.title)] or [c for c in carry if c.pr == number]
        fits = [c for c in fits if c.pr == number] or fits
        return fits[-1] if len({c.title for c in fits}) == 1 else None

    def by_title(self, title: str) -> RangeCommit | None:
        """Return the latest change of that title, with or without the numbers at its end."""
        return self._titles.get(title) or self._titles.get(without_numbers(title))


def net_changes(commits: Iterable[RangeCommit], names: Collection[str] = ()) -> Netting:
    """Return what remains of the commits that are changes of their own."""
    return net_reverts([commit for commit in commits if commit.kind in ("change", "pull-merge")], names)
