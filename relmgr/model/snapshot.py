"""The snapshot: everything known about one subject at one time, taken once, frozen, replayable.

"Now" is a fact (`at`). A fact that could not be read is a named gap; a rule that needs it then says "unknown".
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import AwareDatetime, Field, model_validator

from relmgr.model.base import Noun
from relmgr.model.facts import (
    ChangelogFact,
    CheckRun,
    ConsumerPin,
    Dependency,
    GuardFact,
    MergeAfter,
    PinAncestry,
    PinAt,
    PinDigest,
    PinMove,
    PolicyEdit,
    RevertedPin,
    Review,
    ShippedDatabase,
    Suggestion,
    Surface,
    Ticket,
)
from relmgr.model.project import Zone
from relmgr.model.smoke_report import SignedReport
from relmgr.model.trains import Train, TrainState
from relmgr.model.waiver import Waiver

# Why a fact is a gap, where the one who asks can do something about it: `gate/hand_in.py` knows what.
FORGE_NOT_ASKED = "the forge was not asked"
NO_REPORT = "no smoke report was given"

SubjectKind = Literal["pull-request", "cut", "release"]
Role = Literal["consumer", "provider", "other"]
Gaps = dict[str, Annotated[str, Field(min_length=1)]]

FactName = Literal[
    "base",
    "changed_files",
    "labels",
    "reviews",
    "checks",
    "pushed_at",
    "dependencies",
    "cycles",
    "merge_after",
    "suggestions",
    "pin_moves",
    "pins",
    "pin_ancestry",
    "pin_digests",
    "reverted_pins",
    "pin_groups",
    "surfaces",
    "guards",
    "trains",
    "train_state",
    "tickets",
    "databases",
    "smoke",
    "consumers",
    "changelog",
    "policy_edits",
    "waivers",
]


class Snapshot(Noun):
    """The facts. A fact is None when it was not read; `gaps` says of each such fact why, and from which source."""

    subject: str
    kind: SubjectKind = "pull-request"
    basis: Literal["live", "final-text"] = Field(
        default="live", description="final-text: a merged pull request, judged by its final text and diff at `at`"
    )
    at: AwareDatetime
    taken_at: AwareDatetime
    zone: Zone = "UTC"
    owners: tuple[str, ...] = Field(default=(), description="logins whose waivers count")
    repository: str = Field(description="the subject's repository, by its configured name")
    role: Role
    default_branch: str
    title: str = ""
    train: str | None = Field(default=None, description="the train that is cut or released, or that the base is of")
    head: str | None = None
    merged_at: AwareDatetime | None = None
    sources: tuple[str, ...] = Field(default=(), description="where the facts come from, in words and addresses")
    gaps: Gaps = Field(default={})
    later: Gaps = Field(
        default={},
        description="facts that a change which is planned and not opened cannot have yet, and what brings each",
    )

    base: str | None = None
    changed_files: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    reviews: tuple[Review, ...] | None = None
    checks: tuple[CheckRun, ...] | None = None
    pushed_at: AwareDatetime | None = None
    dependencies: tuple[Dependency, ...] | None = None
    cycles: tuple[tuple[str, ...], ...] | None = None
    merge_after: tuple[MergeAfter, ...] | None = None
    suggestions: tuple[Suggestion, ...] | None = None
    pin_moves: tuple[PinMove, ...] | None = None
    pins: tuple[PinAt, ...] | None = None
    pin_ancestry: tuple[PinAncestry, ...] | None = None
    pin_digests: tuple[PinDigest, ...] | None = None
    reverted_pins: tuple[RevertedPin, ...] | None = None
    pin_groups: dict[str, tuple[str, ...]] | None = None
    surfaces: tuple[Surface, ...] | None = None
    guards: tuple[GuardFact, ...] | None = None
    trains: tuple[Train, ...] | None = None
    train_state: TrainState | None = None
    tickets: tuple[Ticket, ...] | None = None
    databases: tuple[ShippedDatabase, ...] | None = None
    smoke: tuple[SignedReport, ...] | None = None
    consumers: tuple[ConsumerPin, ...] | None = None
    changelog: ChangelogFact | None = None
    policy_edits: tuple[PolicyEdit, ...] | None = None
    waivers: tuple[Waiver, ...] | None = None

    @model_validator(mode="after")
    def _check(self) -> Snapshot:
        known = set(FactName.__args__)  # type: ignore[attr-defined]
        for name, told in (("gaps", self.gaps), ("later", self.later)):
            if strange := sorted(set(told) - known):
                raise ValueError(f"{name} name no fact: {', '.join(strange)}; facts: {', '.join(sorted(known))}")
        return self

    def gap(self, fact: str) -> str | None:
        """Return why `fact` is not known, or None when it is."""
        if fact in self.gaps:
            return self.gaps[fact]
        return "not part of this snapshot" if getattr(self, fact) is None else None

    def comes_later(self, fact: str) -> bool:
        """Tell whether `fact` is not there because it only comes once the planned change is open."""
        return fact in self.later and fact not in self.gaps and getattr(self, fact) is None

    @cached_property
    def timezone(self) -> ZoneInfo:
        """The project's zone, in which a day alone means that whole day."""
        return ZoneInfo(self.zone)
