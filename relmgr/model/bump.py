"""A bump: pins of one consumer moved to new refs in one commit; what is planned, what it means, what refuses it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from relmgr.model.base import Level, Noun, Outcome
from relmgr.model.pins import AbiChange, PinFinding, PinSide, RefKind
from relmgr.model.verdict import Verdict

Direction = Literal["forward", "back", "aside", "unknown", "none"]
BAD = (Outcome.FAILED, Outcome.PENDING, Outcome.UNKNOWN)


class LineEdit(Noun):
    """One line of a file before and after; `line` is 1-based, None for a gitlink (then both are commits)."""

    path: str
    line: int | None
    before: str
    after: str


class ListedCommit(Noun):
    """A commit of the provider that the bump brings in, or takes back."""

    sha: str
    subject: str


class PinStep(Noun):
    """One pin of the bump. `repository` and `ref` are what the sites will say; `commit` is what that means.

    `commits` are first parents between both sides, newest first; `more` counts those that are not listed. `direction`
    tells whether they come in or are taken back. `reverted_by` took the last bump to this very commit back.
    """

    pin: str
    provider: str
    contract: str | None
    old: PinSide
    old_commit: str | None
    ref: str
    ref_kind: RefKind | None
    commit: str | None
    abi: AbiChange | None
    direction: Direction
    commits: tuple[ListedCommit, ...]
    more: int
    compare_url: str | None
    flags: dict[str, str]
    findings: tuple[PinFinding, ...]
    reverted_by: str | None = None

    @property
    def crosses(self) -> bool:
        """Tell whether kernels built before must not be launched after, or whether nobody knows."""
        return self.abi is not None and self.abi.crossing is not False


class StaleDatabase(Noun):
    """A shipped kernel database that the bump makes stale, as far as it holds the provider's kernels."""

    path: str
    arch: str | None


class BumpPlan(Noun):
    """The document of `pin bump`. `reasons` are those given for what would be refused otherwise.

    `verdicts` are the gate's, at the instant `judged_at`, on the pull request that it would be: into `base`, with these
    edits, by the rules and waivers of `base`. `subject` is what a waiver calls it as long as it is not open.
    """

    consumer: str
    base: str
    base_commit: str
    branch: str
    title: str
    message: str
    steps: tuple[PinStep, ...]
    edits: tuple[LineEdit, ...]
    invalidates: tuple[StaleDatabase, ...]
    tickets: tuple[str, ...]
    reasons: dict[str, str]
    subject: str = ""
    judged_at: datetime | None = None
    verdicts: tuple[Verdict, ...] = ()

    @property
    def is_noop(self) -> bool:
        """Tell whether every site says so already."""
        return not self.edits

    @property
    def complaints(self) -> tuple[PinFinding, ...]:
        """What the checks on the pin found, worst first, but for what a waiver of the same name lifts."""
        lifted = {verdict.policy for verdict in self.verdicts if verdict.is_waived}
        found = [one for step in self.steps for one in step.findings if one.outcome in BAD and one.check not in lifted]
        return tuple(sorted(found, key=lambda one: one.level is not Level.BLOCK))

    @property
    def stops(self) -> tuple[Verdict, ...]:
        """The gate's verdicts that forbid it: what failed already, or could not be told although it stands already."""
        return tuple(verdict for verdict in self.verdicts if verdict.blocks and "answered_by" not in verdict.evidence)

    @property
    def waits(self) -> tuple[Verdict, ...]:
        """What it has to wait for once it is open; a verdict that a reason answered waits for its waiver."""
        return tuple(one for one in self.verdicts if one.holds or (one.blocks and "answered_by" in one.evidence))

    @property
    def refusals(self) -> tuple[str, ...]:
        """The names of the checks and policies that forbid writing it; each is told once."""
        found = [one.check for one in self.complaints if one.level is Level.BLOCK]
        return tuple(dict.fromkeys([*found, *(verdict.policy for verdict in self.stops)]))

    @property
    def crosses(self) -> bool:
        """Tell whether any of its pins crosses the ABI, or may."""
        return any(step.crosses for step in self.steps)


class Bumped(Noun):
    """What was done: the commit on its branch; `pushed` is None where it was not asked for."""

    branch: str
    commit: str
    outcome: Literal["created", "unchanged", "remade"]
    pushed: Literal["created", "unchanged", "remade"] | None = None
