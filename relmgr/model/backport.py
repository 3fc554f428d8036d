"""A change taken to a release branch: what it is, what stands there already, and what it would do to the pins."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from relmgr.model.base import Level, Noun, Outcome

By = Literal["ancestry", "link", "same-patch", "same-subject"]


class Parent(Noun):
    """A parent; `number` is what `-m` takes, `mainline` tells that it is on the default branch's own line."""

    number: int
    commit: str
    subject: str
    mainline: bool


class Original(Noun):
    """The change to take. `on` names branches that have it; `squash` is the commit there with the same tree instead.

    `namesakes` are other commits of the branch that carry the number it was asked for by.
    """

    name: str
    repository: str
    commit: str
    subject: str
    pr: int | None
    committed_at: datetime
    parents: tuple[Parent, ...]
    on: tuple[str, ...] = ()
    squash: str | None = None
    namesakes: tuple[str, ...] = ()

    @property
    def is_merge(self) -> bool:
        """Tell whether it has several parents."""
        return len(self.parents) > 1


class Target(Noun):
    """The branch it goes to. `ref` is what moves (made new where `old` is None), `tip` what it is built on.

    `checked_out` is the work tree that has `ref` out.
    """

    branch: str
    ref: str
    old: str | None
    tip: str
    checked_out: str | None = None


class Taken(Noun):
    """A commit of the target that is the change already, and how that is known."""

    commit: str
    subject: str
    by: By


class OpenRevert(Noun):
    """A change that was reverted on the default branch while a release branch still has it (T9).

    `as_commit` is the change on that branch: the original itself, or what was taken from it.
    """

    branch: str
    original: str
    original_subject: str
    as_commit: str
    by: By
    revert: str
    revert_subject: str
    reverted_at: datetime
    pr: int | None


class PinStep(Noun):
    """What taking the change does to one pin of the target; None: not known, or no pin. `gap`: what was not read."""

    pin: str
    old: str | None
    new: str | None
    forward: bool | None = None
    old_number: int | None = None
    new_number: int | None = None
    crossing: bool | None = None
    gap: str | None = None


class BackportFacts(Noun):
    """Everything a backport is judged by; `conflicts` are the paths that do not merge."""

    original: Original
    target: Target
    mainline: int | None
    withdrawn_by: str | None = None
    reverts: str | None = None
    reverted_is_there: bool | None = None
    look_alike: str | None = None
    conflicts: tuple[str, ...] = ()
    pins: tuple[PinStep, ...] = ()


class BackportFinding(Noun):
    """One thing that speaks against it, or is worth knowing."""

    check: str
    outcome: Outcome
    level: Level
    says: str
    remedy: str

    @property
    def blocks(self) -> bool:
        """Tell whether it keeps the change from being taken."""
        return self.level is Level.BLOCK and self.outcome is not Outcome.PASSED


class Backport(Noun):
    """The document of `backport`.

    `ready`: it would go there · `done` · `already`: `first` is it · `empty`: the branch has that content ·
    `conflict`: `conflicts` do not merge, a person has to · `blocked`: `findings` say why.
    """

    state: Literal["ready", "done", "already", "empty", "conflict", "blocked"]
    original: Original
    target: Target
    mainline: int | None
    first: Taken | None = None
    conflicts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    pins: tuple[PinStep, ...] = ()
    findings: tuple[BackportFinding, ...] = ()
    result: str | None = None
    by_hand: str | None = None
