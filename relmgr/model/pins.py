"""Pins: what a consumer names of its provider, where, and how that changed."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from relmgr.model.base import Confidence, Convention, Level, Noun, Outcome

RefKind = Literal["sha", "tag", "branch"]
Kind = Literal["first", "ref", "repository", "site", "digest", "options", "revert", "rebump", "removed", "restored"]


class SitePin(Noun):
    """A pin as one site writes it. `line` is 1-based, None for a gitlink; `options` are the words after the ref."""

    site: str
    line: int | None
    repository: str | None
    ref: str
    ref_kind: RefKind | None
    digest: str | None = None
    options: tuple[str, ...] = ()


class PinSide(Noun):
    """One side of a change: the pin in force; `resolved` is the commit it meant, where that could be read."""

    site: str
    repository: str | None
    ref: str
    ref_kind: RefKind | None
    resolved: str | None
    digest: str | None
    options: tuple[str, ...]


class AbiEvidence(Noun):
    """Where both numbers come from; `confidence` is the weaker of the two, None when either is unknown."""

    confidence: Confidence | None
    old: str | None
    new: str | None


class AbiChange(Noun):
    """The kernel ABI on both sides of a change. `crossing`: the conventions differ; None when either is unknown."""

    old: int | None
    new: int | None
    old_convention: Convention
    new_convention: Convention
    crossing: bool | None
    evidence: AbiEvidence

    @property
    def number_changed(self) -> bool:
        """Tell whether both numbers are known and differ while the convention stays."""
        return self.old is not None and self.new is not None and self.old != self.new and self.crossing is False


class PinChange(Noun):
    """One commit that changed the pin in force. `reverts` and `rebump_of` name other changes by commit."""

    commit: str
    committed_at: datetime
    pr: int | None
    subject: str
    kinds: tuple[Kind, ...]
    old: PinSide | None
    new: PinSide | None
    abi: AbiChange | None
    first_release: str | None
    reverts: str | None = None
    rebump_of: str | None = None


class PinGap(Noun):
    """A commit whose pin could not be read, because the clone lacks a file's content there."""

    commit: str
    path: str
    reason: str


class PinHistory(Noun):
    """Every change of one pin over `scope`, oldest first, and what could not be read."""

    pin: str
    consumer: str
    scope: str
    head: str | None
    changes: tuple[PinChange, ...]
    gaps: tuple[PinGap, ...] = ()


class PinState(Noun):
    """A pin at one commit: every live line of every site, `pin` the one in force, `gaps` what could not be read."""

    commit: str
    pin: SitePin | None
    sites: tuple[SitePin, ...]
    gaps: tuple[str, ...] = ()

    @property
    def agree(self) -> bool | None:
        """Tell whether all live sites name one ref; None when a site could not be read."""
        if self.gaps:
            return None
        return len({site.ref for site in self.sites}) <= 1


class ShownSite(Noun):
    """A site as `pin show` prints it."""

    site: str
    line: int | None
    repository: str | None
    ref: str
    ref_kind: RefKind | None
    resolved: str | None
    digest: str | None
    in_force: bool


class ShownAbi(Noun):
    """The provider's number at the pin."""

    macro: str | None
    number: int | None
    convention: Convention
    confidence: Confidence | None
    source: str


class PinShow(Noun):
    """The document of `pin show`."""

    pin: str
    consumer: str
    ref: str
    commit: str
    committed_at: datetime
    sites: tuple[ShownSite, ...]
    agree: bool | None
    abi: ShownAbi | None
    age_days: int | None
    since: PinChange | None
    gaps: tuple[str, ...] = ()

    @property
    def live(self) -> ShownSite | None:
        """The site in force."""
        return next((site for site in self.sites if site.in_force), None)


class PinFinding(Noun):
    """One safety check of `pin check`; `check` is a stable id."""

    check: str
    outcome: Outcome
    level: Level
    evidence: dict[str, object]
    remedy: str


class PinCheck(Noun):
    """The document of `pin check`."""

    pin: str
    consumer: str
    ref: str
    findings: tuple[PinFinding, ...]

    @property
    def blocks(self) -> bool:
        """Tell whether a blocking check failed or could not tell."""
        bad = (Outcome.FAILED, Outcome.PENDING, Outcome.UNKNOWN)
        return any(f.level is Level.BLOCK and f.outcome in bad for f in self.findings)
