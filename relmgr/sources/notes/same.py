"""Commits that change the same: cherry-picks, by what they say or by an equal patch.

A patch is equal when it touches the same paths and its text is the same without line numbers and white space, as git's
own patch ids have it. Blobs that stand as they are need not be read, so a mirror without its large files can answer.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from relmgr.errors import SourceError
from relmgr.model.notes import RangeCommit, SamePatch
from relmgr.sources.git.clone import Clone
from relmgr.sources.git.raw_log import Step, walk

MAX_PATCH = 8 * 1024 * 1024
MAX_MISSING = 2_000
MAX_COMPARED = 500
MAX_PATHS = 300
MAX_TREES = 5_000
_SPACE = re.compile(rb"\s+")
_LEAD = re.compile(r"^(?:\[[^\]]*\]\s*)+")

# The paths that a commit touches, each with what became of it: added, removed or changed.
_Shape = tuple[tuple[str, bool, bool], ...]


def read_elsewhere(
    clone: Clone,
    ends: tuple[str, str],
    commits: Sequence[RangeCommit],
    missing: Sequence[RangeCommit],
    gaps: list[str],
) -> Iterator[SamePatch]:
    """Yield pairs of a change of the range and one that only the range's start (`ends[0]`) has."""
    theirs = [commit for commit in missing if len(commit.parents) < 2]
    if not theirs:
        return
    if len(theirs) > MAX_MISSING:
        gaps.append(f"the start has {len(theirs)} commits of its own: picks were looked for by what they say alone")
    said = list(_said(commits, theirs))
    done = {pair.commit for pair in said}
    yield from said
    ours = [commit for commit in commits if len(commit.parents) < 2 and commit.commit not in done]
    try:
        equal = [] if len(theirs) > MAX_MISSING else _equal(clone, ends, ours, theirs, gaps)
    except SourceError as error:
        gaps.append(f"picks were looked for by what they say alone: {error.what}")
        equal = []
    yield from equal
    yield from _numbered([c for c in ours if c.commit not in {pair.commit for pair in equal}], theirs)


def read_twice(clone: Clone, commits: Sequence[RangeCommit], gaps: list[str]) -> Iterator[SamePatch]:
    """Yield pairs of the range itself: a commit says that it is a pick, or has the title and the patch of another."""
    plain = [commit for commit in commits if len(commit.parents) < 2 and commit.kind == "change"]
    yield from _said(plain, plain)
    titles: dict[str, list[RangeCommit]] = defaultdict(list)
    for commit in plain:
        titles[bare_title(commit.title)].append(commit)
    reader = _Patches(clone, gaps)
    several = [same for same in titles.values() if len(same) > 1]
    reader.read_trees([commit.commit for same in several for commit in same][:MAX_TREES])
    for same in several:
        for index, commit in enumerate(same[1:], 1):
            older = (o for o in same[:index] if not set(o.numbers) & set(commit.numbers) and reader.equal(o, commit))
            if (first := next(older, None)) is not None:
                yield SamePatch(commit=commit.commit, other=first.commit, by="equal-patch")


def bare_title(title: str) -> str:
    """Return a title without its leading `[tags]`, in lower case: release branches put their own in front."""
    return _LEAD.sub("", title).strip().lower() or title


def _said(ours: Iterable[RangeCommit], theirs: Iterable[RangeCommit]) -> Iterator[SamePatch]:
    """Yield the pairs of which one says that it was picked from the other."""
    by_start = {commit.commit[:7]: commit.commit for commit in theirs}
    picked = {source[:7]: (commit.commit, source) for commit in theirs for source in commit.picked_from}
    for commit in ours:
        for source in commit.picked_from:
            other = by_start.get(source[:7])
            if other and other.startswith(source) and other != commit.commit:
                yield SamePatch(commit=commit.commit, other=other, by="trailer")
        pick, source = picked.get(commit.commit[:7], ("", "?"))
        if pick and commit.commit.startswith(source) and pick != commit.commit:
            yield SamePatch(commit=commit.commit, other=pick, by="trailer")


def _equal(
    clone: Clone, ends: tuple[str, str], ours: list[RangeCommit], theirs: list[RangeCommit], gaps: list[str]
) -> list[SamePatch]:
    from_commit, to_commit = ends
    shapes: dict[_Shape, list[RangeCommit]] = defaultdict(list)
    known = {commit.commit: commit for commit in theirs}
    paths: set[str] = set()
    for step in walk(clone, list(known), [], first_parent=False, alone=True):
        if step.touched:
            shapes[_shape(step)].append(known[step.commit])
            paths |= {path for path, _, _ in step.touched}
    if not shapes:
        return []
    # Few paths spare git most of the trees; what else a commit touches is looked up where these fit.
    limit = sorted(paths) if len(paths) <= MAX_PATHS else []
    mine = {commit.commit: commit for commit in ours}
    reader, found = _Patches(clone, gaps), []
    for step in walk(clone, [to_commit, f"^{from_commit}"], limit, first_parent=False):
        if step.commit in mine:
            fits = (other for other in shapes.get(_shape(step), ()) if reader.equal(mine[step.commit], other))
            if (other := next(fits, None)) is not None:
                found.append(SamePatch(commit=step.commit, other=other.commit, by="equal-patch"))
    return found


def _numbered(ours: Iterable[RangeCommit], theirs: Iterable[RangeCommit]) -> Iterator[SamePatch]:
    by_number = {number: commit.commit for commit in theirs for number in commit.numbers}
    for commit in ours:
        if (other := next((by_number[n] for n in commit.numbers if n in by_number), None)) is not None:
            yield SamePatch(commit=commit.commit, other=other, by="number")


def _shape(step: Step) -> _Shape:
    return tuple(sorted((path, bool(old.strip("0")), bool(new.strip("0"))) for path, old, new in step.touched))


class _Patches:
    """Compares the patches of commits, each read once and only where it is asked for."""

    def __init__(self, clone: Clone, gaps: list[str]) -> None:
        self._clone, self._gaps = clone, gaps
        self._read: dict[str, bytes | None] = {}
        self._trees: dict[str, list[str]] = {}

    def equal(self, one: RangeCommit, other: RangeCommit) -> bool:
        """Tell whether both patches could be read, are not empty, and are equal."""
        trees = [self._tree(one.commit), self._tree(other.commit)]
        if not trees[0] or trees[0] == trees[1]:
            return bool(trees[0])
        # Other paths make another patch: then no content, which a mirror may lack, is asked for.
        paths = [[line.partition("\t")[2] for line in tree] for tree in trees]
        if paths[0] != paths[1]:
            return False
        mine = self._patch(one.commit)
        return bool(mine) and mine == self._patch(other.commit)

    def read_trees(self, commits: Sequence[str]) -> None:
        """Read what many commits touch through one git."""
        if not commits:
            return
        args = ["log", "--no-walk=unsorted", "--raw", "--root", "--no-abbrev", "--no-renames", "--format=%x1e%H"]
        for record in self._clone.run(*args, "--end-of-options", *commits).split("\x1e")[1:]:
            commit, *lines = record.splitlines()
            self._trees[commit] = [line for line in lines if line]

    def _tree(self, commit: str) -> list[str]:
        """Return the changed paths with their old and new blobs."""
        if commit not in self._trees:
            args = ["diff-tree", "-r", "--root", "--raw", "--no-abbrev", "--no-commit-id", "--no-renames"]
            self._trees[commit] = self._clone.run(*args, "--end-of-options", commit).splitlines()
        return self._trees[commit]

    def _patch(self, commit: str) -> bytes | None:
        if commit not in self._read:
            if len(self._read) >= MAX_COMPARED:
                self._gaps.append(f"more than {MAX_COMPARED} patches were not compared")
                return None
            self._read[commit] = self._text(commit)
        return self._read[commit]

    def _text(self, commit: str) -> bytes | None:
        args = ["diff-tree", "--root", "-p", "--no-commit-id", "--no-renames", "--no-color", "--no-ext-diff"]
        try:
            with self._clone.stream(*args, "--no-textconv", "--full-index", "--end-of-options", commit) as out:
                text = out.read(MAX_PATCH + 1)
                if len(text) > MAX_PATCH:
                    return None
        except SourceError as error:
            self._gaps.append(f"the patch of {commit[:12]} was not read: {error.what}")
            return None
        kept = [line for line in text.split(b"\n") if not line.startswith((b"index ", b"@@ "))]
        return _SPACE.sub(b"", b"\n".join(kept))
