"""A branch cut: the facts that its checklist is judged by, the checklist, the plan."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal

from relmgr.model.abi import AbiVersion
from relmgr.model.base import Noun
from relmgr.model.databases import DatabaseFact
from relmgr.model.facts import Ticket
from relmgr.model.pins import PinChange, PinState, RefKind
from relmgr.model.trains import Train, TrainState, Window

ItemState = Literal["done", "open", "by-hand"]


class RepositoryAtCut(Noun):
    """One repository before (or after) its branch is cut.

    `read_at` is the ref whose facts are judged: the release branch once there is one, else the base branch; `commit` is
    where it stood. `branch` is the name that the release branch has or will have, None when the pattern names none.
    """

    name: str
    slug: str
    consumes: tuple[str, ...] = ()
    branch: str | None
    state: TrainState
    read_at: str | None = None
    commit: str | None = None
    changelog: str
    heading: str | None = None
    changelog_gap: str | None = None


class PinAtCut(Noun):
    """One pin of a consumer at `read_at`. What could not be read is None, and `gaps` says why."""

    pin: str
    consumer: str
    provider: str
    contract: str | None
    state: PinState | None = None
    kind: RefKind | None = None
    resolved: str | None = None
    on_provider_branch: bool | None = None
    abi: AbiVersion | None = None
    crossing: PinChange | None = None
    crossing_known: bool = False
    databases: tuple[DatabaseFact, ...] | None = None
    gaps: tuple[str, ...] = ()


class CutFacts(Noun):
    """Everything that is known about a cut at `at`. Providers stand before their consumers in `repositories`."""

    train: Train
    previous: Train | None
    at: datetime
    owners: tuple[str, ...]
    repositories: tuple[RepositoryAtCut, ...]
    pins: tuple[PinAtCut, ...]
    windows: tuple[Window, ...] = ()
    tickets: tuple[Ticket, ...] | None = None
    tickets_gap: str = "the forge was not asked"


class ChecklistItem(Noun):
    """One thing that must be true. `evidence` is what was seen, None when nothing can be; `owner` who sees to it."""

    id: str
    text: str
    state: ItemState
    evidence: str | None
    owner: str | None


class Checklist(Noun):
    """The document of `cut checklist`."""

    release: str
    items: tuple[ChecklistItem, ...]

    def groups(self) -> list[tuple[str, list[ChecklistItem]]]:
        """Return the items by the first part of their ids, in order."""
        found: dict[str, list[ChecklistItem]] = {}
        for item in self.items:
            found.setdefault(item.id.split("/")[0], []).append(item)
        return list(found.items())

    def count(self, state: ItemState) -> int:
        """Return how many items are in `state`."""
        return sum(item.state == state for item in self.items)


class CutStep(Noun):
    """One step of the plan; `blocked_by` and `by_hand` are ids of checklist items."""

    number: int
    repository: str
    action: str
    branch: str | None
    from_ref: str | None
    from_commit: str | None
    state: Literal["done", "ready", "blocked"]
    blocked_by: tuple[str, ...]
    by_hand: tuple[str, ...]
    owner: str | None


class CutPlan(Noun):
    """The document of `cut plan`."""

    release: str
    at: datetime
    cut: date | None
    zone: str
    last_safe_day: date | None
    frozen: tuple[Window, ...]
    steps: tuple[CutStep, ...]
    items: tuple[ChecklistItem, ...]
