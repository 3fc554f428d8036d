"""What became of the pull requests that a change waits for, read from clones: merged where, since when, and how.

A clone holds merges, and heads only where they were fetched. A pull request that it does not show as merged may be
open, closed or simply not fetched: its state is then None, "unknown", unless it is seen to merge later than asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from relmgr.errors import RelmgrError
from relmgr.model.facts import Dependency, PinMove
from relmgr.model.project import Project, Repository
from relmgr.model.trains import Train
from relmgr.sources.changes.change import commit_before, find_change
from relmgr.sources.git.clone import Clone
from relmgr.sources.pins.history import pin_state
from relmgr.sources.provider.refs import ProviderRefs


def read_dependency(
    project: Project, name: str, number: int, *, subject: str, declared_by: str, train: Train | None, at: datetime
) -> Dependency:
    """Return one declared dependency: pull request `number` of the repository configured as `name`.

    `subject` is the waiting repository's configured name, `train` the one whose release branch it goes to, if any.
    """
    repository = project.repositories[name]
    known = Dependency(
        pull=f"{repository.slug}#{number}",
        companion=_are_ends_of_a_pin(project, name, subject),
        declared_by=declared_by,
        state=None,
        needs=repository.default_branch,
    )
    if repository.path is None:
        return known
    try:
        return _as_of(Clone.open(repository.path), name, repository, number, known, train, at)
    except RelmgrError:
        return known


def pinned_companions(project: Project, moves: Iterable[PinMove], at: datetime) -> tuple[Dependency, ...]:
    """Return the pull requests whose fetched head a pin names although no branch holds it (P12)."""
    found = []
    for move in (move for move in moves if move.moves and move.new):
        name = project.pin(move.pin).provider
        repository = project.repositories[name]
        if repository.path is None or move.new is None:
            continue
        try:
            clone = Clone.open(repository.path)
            commit = clone.resolve(move.new.ref)
            if commit and not ProviderRefs(repository).reachability(commit).branches:
                found += _companion(clone, name, repository, commit, at)
        except RelmgrError:
            # That the pin's commit cannot be placed is told by pin-reachable-from-branch.
            continue
    return tuple(found)


def _companion(clone: Clone, name: str, repository: Repository, commit: str, at: datetime) -> list[Dependency]:
    numbers = [ref.name.split("/")[-2] for ref in clone.refs("refs/pull") if ref.commit == commit]
    known = [
        Dependency(
            pull=f"{repository.slug}#{number}",
            companion=True,
            declared_by="pin",
            state=None,
            needs=repository.default_branch,
            pinned=True,
            head=commit,
        )
        for number in numbers
        if number.isdigit()
    ]
    return [
        _as_of(clone, name, repository, int(one.pull.rpartition("#")[2]), one, None, at).model_copy(
            update={"squash": _same_tree(clone, repository, commit)}
        )
        for one in known
    ]


def _as_of(
    clone: Clone, name: str, repository: Repository, number: int, known: Dependency, train: Train | None, at: datetime
) -> Dependency:
    """Return `known` with what the clone says about the pull request at `at`."""
    change = find_change(clone, repository, number)
    needs = _needed_branch(clone, name, repository, train)
    known = known.model_copy(update={"needs": needs})
    if change.merged_at is None:
        return known
    if change.merged_at > at:
        return known.model_copy(update={"state": "open", "base": change.base})
    tip = clone.branches[needs].commit if needs in clone.branches else None
    landed = clone.is_ancestor(change.head, tip) if tip else None
    if known.pinned and known.head:
        landed = clone.is_ancestor(known.head, tip) if tip else None
    return known.model_copy(
        update={"state": "merged", "base": change.base, "merged_at": change.merged_at, "landed": landed}
    )


def _needed_branch(clone: Clone, name: str, repository: Repository, train: Train | None) -> str:
    """Return the branch that the subject builds against: the same train's, or the default branch (M7)."""
    if train is not None:
        own = [branch for branch in clone.branches if train.names_branch(name, repository, branch)]
        if own:
            return own[0]
    return repository.default_branch


def _same_tree(clone: Clone, repository: Repository, commit: str) -> str | None:
    return ProviderRefs(repository).same_tree_on_branch(commit, repository.default_branch)


def _are_ends_of_a_pin(project: Project, one: str, other: str) -> bool:
    return any({pin.consumer, pin.provider} == {one, other} for pin in project.pins)


def pin_reached(project: Project, clone: Clone, pin: str, ref: str, branch: str, at: datetime) -> bool | None:
    """Tell whether the pin on a branch had reached `ref` of its provider at `at`; None when that cannot be told.

    Reached: the pinned commit is `ref`'s commit, or descends from it.
    """
    config = next((one for one in project.pins if one.name == pin), None)
    provider = project.repositories[config.provider] if config else None
    commit = commit_before(clone, branch, at)
    if config is None or provider is None or provider.path is None or commit is None:
        return None
    state = pin_state(clone, project, config, commit)
    if state.pin is None:
        return None
    try:
        other = Clone.open(provider.path)
        now, wanted = other.resolve(state.pin.ref), other.resolve(ref)
        return other.is_ancestor(wanted, now) if now and wanted else None
    except RelmgrError:
        return None
