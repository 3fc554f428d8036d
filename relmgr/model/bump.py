"""A bump: pins of one consumer moved to new refs in one commit; what is planned, what it means, what refuses it."""

from __future__ import annotations

from typing import Literal

from relmgr.model.base import Level, Noun, Outcome
from relmgr.model.pins import AbiChange, PinFinding, PinSide, RefKind

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
    tells whether they come in or are taken back.
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

    @property
    def crosses(self) -> bool:
        """Tell whether kernels built before must not be launched after, or whether nobody knows."""
        return self.abi is not None and self.abi.crossing is not False


class StaleDatabase(Noun):
    """A shipped kernel database that the bump makes stale, as far as it holds the provider's kernels."""

    path: str
    arch: str | None


class BumpPlan(Noun):
    """The document of `pin bump`. `reasons` are those given for what would be refused otherwise."""

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

    @property
    def is_noop(self) -> bool:
        """Tell whether every site says so already."""
        return not self.edits

    @property
    def refusals(self) -> tuple[PinFinding, ...]:
        """What forbids it: blocking checks that failed or could not tell."""
        return tuple(
            finding
            for step in self.steps
            for finding in step.findings
            if finding.level is Level.BLOCK and finding.outcome in BAD
        )

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
