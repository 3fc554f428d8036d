"""What pull requests declare about the order of merging, and the plan that follows from it."""

from __future__ import annotations

from datetime import date
from typing import Literal

from pydantic import Field

from relmgr.model.base import Noun
from relmgr.model.project import Slug
from relmgr.model.pull_request import PullRequestRef

Direction = Literal["this-after-other", "this-before-other", "paired", "this-after-event"]
EventKind = Literal["cut", "pin", "date"]


class DeclaredPull(Noun):
    """A pull request named by a trailer; `source` is the trailer's line as shown."""

    repository: Slug
    number: int = Field(ge=1)
    source: str

    @property
    def ref(self) -> PullRequestRef:
        """Its name."""
        return PullRequestRef(repository=self.repository, number=self.number)


class MergeEvent(Noun):
    """An event to merge after: the cut of `train`, a day, or `pin` (None: not said which) having reached `ref`.

    `ref` is None only in suggestions, where a sentence speaks of the next pin move; `source` is the line as shown.
    """

    kind: EventKind
    train: str | None = None
    day: date | None = None
    pin: str | None = None
    ref: str | None = None
    source: str

    def trailer(self) -> str:
        """Return the line that declares it."""
        if self.kind == "cut":
            return f"Merge-After: cut {self.train}"
        if self.kind == "date":
            return f"Merge-After: date {self.day}"
        return f"Merge-After: pin {self.pin + ' ' if self.pin else ''}{self.ref or 'REF'}"


class OrderSuggestion(Noun):
    """A sentence that reads like an order and decides nothing until a trailer says it.

    Without `via`, `direction` relates this pull request to `repository`#`number`; in a chain it relates `via`, the
    link before, to it. An event has no pull request. `trailer` is the line that would declare it, in the description
    of `belongs_in` (None: no trailer says this).
    """

    repository: Slug | None
    number: int | None
    direction: Direction
    sentence: str
    event: MergeEvent | None = None
    via: PullRequestRef | None = None
    trailer: str | None = None
    belongs_in: PullRequestRef | None = None

    @property
    def ref(self) -> PullRequestRef | None:
        """The other pull request, None for an event."""
        if self.repository is None or self.number is None:
            return None
        return PullRequestRef(repository=self.repository, number=self.number)


class NotUnderstood(Noun):
    """Text that looks like a declaration and was not read as one (M4); `line` counts from 1."""

    text: str
    line: int
    why: str


class OrderDeclarations(Noun):
    """The document of `order parse`: what one body declares, what it only speaks of, and what was not understood."""

    depends_on: tuple[DeclaredPull, ...] = ()
    merge_after: tuple[MergeEvent, ...] = ()
    paired_with: tuple[DeclaredPull, ...] = ()
    suggestions: tuple[OrderSuggestion, ...] = ()
    not_understood: tuple[NotUnderstood, ...] = ()


class OrderEdge(Noun):
    """`after` is to be merged after `before`; `source` says where that stands, `declared` is False for prose."""

    before: PullRequestRef
    after: PullRequestRef
    source: str
    declared: bool = True


Reason = Literal["open", "closed", "elsewhere", "unread", "cycle", "event", "draft"]


class WaitsFor(Noun):
    """One thing a pull request waits for: another one or an event, as `what`; `declared_by` is the line that says so.

    `elsewhere`: merged, but not into the branch that is needed; `note` names both.
    """

    what: str
    reason: Reason
    declared_by: str
    note: str = ""


class Wait(Noun):
    """A pull request that cannot merge now. `stuck`: no merge of another one frees it, a person has to act."""

    pull: str
    waits_for: tuple[WaitsFor, ...]
    stuck: bool


class WayOut(Noun):
    """One edit that opens a cycle: take `line` out of the description of `pull`."""

    pull: str
    line: str
    then: str


class OrderCycle(Noun):
    """Pull requests that wait for each other: all `members`, one shortest `path` round, and the ways out."""

    members: tuple[str, ...]
    path: tuple[str, ...]
    ways_out: tuple[WayOut, ...]


class SpokenOrder(Noun):
    """What the body of `pull` only speaks of, or what was not understood in it."""

    pull: str
    suggestions: tuple[OrderSuggestion, ...] = ()
    not_understood: tuple[NotUnderstood, ...] = ()


class OrderPlan(Noun):
    """The document of `order plan`. `order` are the steps; `now` what may merge at once; sets stand in `together`.

    Pull requests that nothing orders are in `unordered`, not in `order`; those that are stuck are only in `waits`.
    """

    order: tuple[tuple[str, ...], ...]
    now: tuple[str, ...]
    waits: tuple[Wait, ...]
    cycles: tuple[OrderCycle, ...]
    together: tuple[tuple[str, ...], ...] = ()
    unordered: tuple[str, ...] = ()
    spoken: tuple[SpokenOrder, ...] = ()
