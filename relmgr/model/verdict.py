"""What the gate says: one verdict per policy, and one decision."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from relmgr.model.base import Level, Noun, Outcome

Decision = Literal["merge", "wait", "block"]
Judged = Literal["live", "final-text-at", "recorded"]
# The remedy of what could not be read, where no option of the command hands it in.
READ_IT = "Make that readable, then ask again."


class Verdict(Noun):
    """What one policy says about one subject.

    `evidence` holds what the check saw and wanted; beside that `statement` (one sentence: what failed, what it waits
    for, why it was skipped, or what could not be told), `unread` (facts that could not be read, each with its reason)
    and, where one touches this verdict, `waiver`. `remedy` is the next step, '' where there is none.
    """

    policy: str
    level: Level
    outcome: Outcome
    title: str
    evidence: dict[str, Any]
    remedy: str

    @property
    def next_step(self) -> str:
        """The remedy where it says more than that something was not read."""
        return "" if self.remedy == READ_IT else self.remedy

    @property
    def is_waived(self) -> bool:
        """Tell whether a waiver in force lifts this verdict."""
        waiver = self.evidence.get("waiver")
        return bool(waiver and waiver["state"] == "in force")

    @property
    def is_advice(self) -> bool:
        """Tell whether it found something that does not stop the subject."""
        return self.level is not Level.BLOCK and self.outcome not in (Outcome.PASSED, Outcome.SKIPPED)

    @property
    def holds(self) -> bool:
        """Tell whether the subject waits for what this verdict names."""
        return self.level is Level.BLOCK and self.outcome is Outcome.PENDING and not self.is_waived

    @property
    def blocks(self) -> bool:
        """Tell whether this verdict forbids: failed, or could not be told, at level block."""
        stops = self.outcome in (Outcome.FAILED, Outcome.UNKNOWN)
        return self.level is Level.BLOCK and stops and not self.is_waived


class GateReport(Noun):
    """The document of `gate check`."""

    subject: str
    judged: Judged
    at: datetime
    decision: Decision
    verdicts: tuple[Verdict, ...]
    may_today: tuple[str, ...]
    taken_at: datetime


class VerdictChange(Noun):
    """One verdict that an assumption changes."""

    policy: str
    before: Outcome
    after: Outcome
    statement: str


class WhatIf(Noun):
    """The document of `gate check --assume`: what would change, and the decision before and after."""

    subject: str
    at: datetime
    assumed: tuple[str, ...]
    decision: dict[Literal["before", "after"], Decision]
    changes: tuple[VerdictChange, ...]
    report: GateReport
