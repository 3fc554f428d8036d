"""The commits of a range, by the graph (N1), with the pull requests they name (N3).

A merged pull request owns the commits it brought in. A merge of a branch is no change: its line is read on its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from relmgr.errors import SourceError, UserError
from relmgr.model.notes import CommitKind, RangeCommit, RangeFacts
from relmgr.model.project import Repository
from relmgr.sources.git.clone import Clone
from relmgr.sources.notes.same import read_elsewhere, read_twice
from relmgr.sources.pins.history import release_tags

MAX_COMMITS = 200_000
MAX_BODY = 65_536
MAX_SUBJECT = 4_096
_FORMAT = "--format=%m%H%x00%P%x00%aN%x00%cI%x00%s%x00%b"
_FIELDS = 6
_NUMBERS_AT_END = re.compile(r"(?:\s*\(#\d{1,9}\))+\s*$")
_NUMBER = re.compile(r"#(\d+)")
_PULL_MERGE = re.compile(r"^Merge pull request #(\d{1,9}) from \S+")
_PICKED = re.compile(r"^\(cherry picked from commit ([0-9a-f]{7,40})\)\s*$", re.MULTILINE)


def read_range(clone: Clone, from_ref: str, to_ref: str, root: str = "") -> RangeFacts:
    """Return what `to_ref` has and `from_ref` has not, oldest first; `root` limits it to a folder.

    Raises `SourceError` on a shallow clone (N4), for an unknown ref and for unrelated histories, `UserError` for a
    range that is empty.
    """
    refuse_shallow(clone)
    from_commit, to_commit = clone.require(from_ref), clone.require(to_ref)
    ours, theirs = _log(clone, from_commit, to_commit)
    commits = _commits(clone, ours, (from_commit, to_commit), root)
    if not commits:
        _refuse_empty(clone, from_ref, to_ref, (from_commit, to_commit))
    _refuse_unrelated(clone, from_ref, to_ref, ours)
    missing = _commits(clone, theirs, (to_commit, from_commit), root)
    gaps: list[str] = []
    return RangeFacts(
        from_=from_ref,
        from_commit=from_commit,
        to=to_ref,
        to_commit=to_commit,
        to_at=clone.commit(to_commit).committed_at,
        commits=tuple(commits),
        missing=tuple(missing),
        elsewhere=tuple(read_elsewhere(clone, (from_commit, to_commit), commits, missing, gaps)),
        twice=tuple(read_twice(clone, commits, gaps)),
        gaps=tuple(dict.fromkeys(gaps)),
    )


def refuse_shallow(clone: Clone) -> None:
    """Raise `SourceError` for a clone whose history is cut short: it would make wrong notes (N4)."""
    if clone.shallow:
        raise SourceError(
            "a shallow clone lacks commits of the range",
            where=str(clone.path),
            next_step="git fetch --unshallow (never fetch with --depth: it cuts a full clone short)",
        )


def previous_release(clone: Clone, repository: Repository, tag: str) -> str:
    """Return the release tag before `tag` in version order, another version than its own."""
    tags = release_tags(clone, repository)
    names = [name for name, _ in tags]
    if tag not in names:
        raise UserError(f"{tag} is no release tag", next_step="write FROM..TO")
    own = dict(tags)[tag]
    before = [name for name, commit in tags[: names.index(tag)] if commit != own and _numbers(name) != _numbers(tag)]
    if not before:
        raise UserError(f"no release before {tag}", next_step="write FROM..TO")
    # `rocm-5.3` and `rocm-5.3.0` may be one release: its full name comes first.
    return next(name for name in before if dict(tags)[name] == dict(tags)[before[-1]])


def train_ends(clone: Clone, repository: Repository, train: str) -> tuple[str, str] | None:
    """Return the range of a train such as `5.4`: from the last release before it to its first tag, else its branch."""
    wanted = _numbers(train)[:2]
    tags = release_tags(clone, repository)
    own = [name for name, _ in tags if _numbers(name)[:2] == wanted]
    before = [name for name, _ in tags if _numbers(name)[:2] < wanted]
    branches = [name for name in clone.branches if _is_train(repository, name, wanted)]
    if not before or len(wanted) < 2 or not (own or branches):
        return None
    return before[-1], own[0] if own else branches[0]


def _is_train(repository: Repository, branch: str, wanted: tuple[int, ...]) -> bool:
    match = re.match(repository.release_branches, branch)
    return match is not None and _numbers(match["train"])[:2] == wanted


def _numbers(text: str) -> tuple[int, ...]:
    numbers = [int(n) for n in re.findall(r"\d+", text)]
    return tuple(numbers + [0] * (3 - len(numbers))) if len(numbers) > 1 else tuple(numbers)


def _refuse_empty(clone: Clone, from_ref: str, to_ref: str, ends: tuple[str, str]) -> None:
    if ends[0] != ends[1] and clone.is_ancestor(ends[1], ends[0]):
        raise UserError(f"{to_ref} is older than {from_ref}", next_step=f"write {to_ref}..{from_ref}")
    raise UserError(f"nothing lies between {from_ref} and {to_ref}", next_step="write two refs that differ: FROM..TO")


def _refuse_unrelated(clone: Clone, from_ref: str, to_ref: str, rows: Sequence[_Row]) -> None:
    """Refuse a range none of whose commits has a parent outside it: that parent would be what both sides share."""
    inside = {row[0] for row in rows}
    if all(inside.issuperset(row[1].split()) for row in rows):
        raise SourceError(f"{from_ref} and {to_ref} share no history", where=str(clone.path))


# -- reading --------------------------------------------------------------------------------------------------------


# id, parents, author, date, subject, body
_Row = tuple[str, str, str, str, str, str]


def _commits(clone: Clone, rows: Sequence[_Row], ends: tuple[str, str], root: str) -> list[RangeCommit]:
    """Return what `ends[1]` has and `ends[0]` has not (`rows`), each with its kind; limited to what touches `root`."""
    kinds = _kinds(ends[1], {row[0]: (tuple(row[1].split()), _PULL_MERGE.match(row[4]) is not None) for row in rows})
    commits = [parse_commit(*row, kinds[row[0]]) for row in rows]
    if not root:
        return commits
    args = ["log", "--full-history", "--format=%H", "--end-of-options", ends[1], f"^{ends[0]}", "--", root]
    touching = set(clone.run(*args).split())
    owners = {commit.part_of for commit in commits if commit.commit in touching}
    return [commit for commit in commits if commit.commit in touching or commit.commit in owners]


def _log(clone: Clone, from_commit: str, to_commit: str) -> tuple[list[_Row], list[_Row]]:
    """Return the commits that only `to_commit` has and those that only `from_commit` has, oldest first, by one git."""
    args = ["log", "-z", "--topo-order", "--left-right", _FORMAT, f"--max-count={MAX_COMMITS + 1}"]
    with clone.stream(*args, "--end-of-options", f"{from_commit}...{to_commit}", "--") as out:
        fields = out.read().decode("utf-8", "replace").split("\0")
    fields.pop()
    if len(fields) > MAX_COMMITS * _FIELDS:
        raise SourceError(f"more than {MAX_COMMITS} commits", where=f"{from_commit[:12]}..{to_commit[:12]}")
    sides: dict[str, list[_Row]] = {">": [], "<": []}
    for index in range(len(fields) - _FIELDS, -1, -_FIELDS):
        marked, parents, author, at, subject, body = fields[index : index + _FIELDS]
        sides[marked[0]].append((marked[1:], parents, author, at, subject, body))
    return sides[">"], sides["<"]


_Kind = tuple[CommitKind, str | None]


def parse_commit(
    sha: str, parents: str, author: str, at: str, subject: str, body: str, kind: _Kind | None = None
) -> RangeCommit:
    """Return a commit with the pull requests it names. A revert's quoted number is not its own (N2).

    `kind` is what the graph says of it, and the merge that owns it; without a graph the subject alone tells.
    """
    subject, body = subject[:MAX_SUBJECT], body[:MAX_BODY]
    merge = _PULL_MERGE.match(subject)
    if merge:
        numbers: tuple[int, ...] = (int(merge[1]),)
        title = next((line.strip() for line in body.splitlines() if line.strip()), subject)
    else:
        # Looked for only where it can be: this is asked of every commit.
        tail = _NUMBERS_AT_END.search(subject) if subject.rstrip().endswith(")") else None
        numbers = tuple(int(n) for n in _NUMBER.findall(tail[0])) if tail else ()
        title = subject[: tail.start()] if tail else subject
    return RangeCommit(
        commit=sha,
        parents=tuple(parents.split()),
        committed_at=datetime.fromisoformat(at.replace("Z", "+00:00")),
        author=author,
        subject=subject,
        body=body,
        title=title.strip() or subject,
        numbers=numbers,
        kind=kind[0] if kind else "pull-merge" if merge else "change",
        part_of=kind[1] if kind else None,
        picked_from=tuple(_PICKED.findall(body)) if "cherry picked" in body else (),
    )


# -- who brought what -----------------------------------------------------------------------------------------------

_Graph = dict[str, tuple[tuple[str, ...], bool]]
_Kinds = dict[str, _Kind]


def _kinds(tip: str, graph: _Graph) -> _Kinds:
    """Return each commit's kind and, for a part, the merge that owns it.

    `graph` holds each commit's parents, and whether its subject says that it merges a pull request. A line is a chain
    of first parents, read from its oldest commit on: what a merge on it brings is what its other parents reach and no
    older commit does. A pull request's merge owns all of that; a branch's merge starts a new line.
    """
    kinds: _Kinds = {}
    todo: list[Iterator[str]] = [_line(tip, graph, kinds)]
    while todo:
        sha = next(todo[-1], None)
        if sha is None:
            todo.pop()
            continue
        parents, of_pull = graph[sha]
        kinds[sha] = ("pull-merge" if of_pull else "branch-merge" if len(parents) > 1 else "change", None)
        if of_pull:
            _own(sha, graph, kinds)
        else:
            todo += [_line(parent, graph, kinds) for parent in reversed(parents[1:])]
    return kinds


def _line(tip: str, graph: _Graph, kinds: _Kinds) -> Iterator[str]:
    """Yield the first parents of `tip` that are in the range and on no line yet, oldest first; looked up when begun."""
    chain: list[str] = []
    while tip in graph and tip not in kinds:
        chain.append(tip)
        parents = graph[tip][0]
        tip = parents[0] if parents else ""
    yield from reversed(chain)


def _own(merge: str, graph: _Graph, kinds: _Kinds) -> None:
    todo: list[str] = list(graph[merge][0][1:])
    while todo:
        sha = todo.pop()
        if sha in graph and sha not in kinds:
            kinds[sha] = ("part", merge)
            todo += graph[sha][0]
