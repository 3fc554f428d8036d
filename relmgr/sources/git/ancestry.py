"""Ancestry of a set of refs, read once with `git rev-list --parents` (N1: the graph decides, not dates)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from relmgr.sources.git.clone import Clone


class Ancestry:
    """The commits reachable from some refs, children before parents, each with its parents (hex as bytes)."""

    def __init__(self, order: list[bytes], parents: dict[bytes, list[bytes]]) -> None:
        self._order, self._parents = order, parents
        self._place = {sha: -index for index, sha in enumerate(order)}

    def place(self, commit: str) -> int:
        """Return a sort key: ancestors sort before their descendants, else by commit time."""
        return self._place.get(commit.encode(), 0)

    def descendants(self, commit: str) -> set[bytes]:
        """Return the commits of this graph that have `commit` as an ancestor, itself included."""
        found = {commit.encode()}
        for sha in reversed(self._order):
            if not found.isdisjoint(self._parents[sha]):
                found.add(sha)
        return found

    def ancestors(self, commit: str) -> set[bytes]:
        """Return the commits reachable from `commit`, itself included."""
        found = {commit.encode()}
        for sha in self._order:
            if sha in found:
                found.update(self._parents[sha])
        return found

    def first_containing(self, tips: Sequence[tuple[str, str]]) -> dict[bytes, str]:
        """Map each commit to the name of the first of `tips`, (name, commit) in order, that contains it."""
        first: dict[bytes, int] = {}
        for index, (_, commit) in reversed(list(enumerate(tips))):
            first[commit.encode()] = index
        for sha in self._order:
            if sha not in first:
                continue
            for parent in self._parents[sha]:
                first[parent] = min(first[sha], first.get(parent, first[sha]))
        return {sha: tips[index][0] for sha, index in first.items()}


def read_ancestry(clone: Clone, starts: Iterable[str]) -> Ancestry:
    """Read the graph behind `starts` (commits or refs)."""
    order: list[bytes] = []
    parents: dict[bytes, list[bytes]] = {}
    starts = list(dict.fromkeys(starts))
    if not starts:
        return Ancestry([], {})
    with clone.stream("rev-list", "--parents", "--date-order", "--end-of-options", *starts, "--") as out:
        for line in out.read().split(b"\n"):
            if line:
                sha, *rest = line.split(b" ")
                order.append(sha)
                parents[sha] = rest
    return Ancestry(order, parents)
