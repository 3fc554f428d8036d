"""The facts an audit judges, and the findings it reports."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from relmgr.model.abi import AbiVersion
from relmgr.model.base import Level, Noun, Outcome
from relmgr.model.databases import DatabaseFact
from relmgr.model.pins import PinChange, PinState
from relmgr.model.ticket import ScannedFile

AuditKind = Literal[
    "abi-crossing",
    "number-changed",
    "api-changed-number-not",
    "bump",
    "revert",
    "branch-pin-at-release",
    "digest-drift",
    "pin-age",
    "order-violation",
    "sites-disagree",
    "database-stale-suspected",
    "database-repacked",
    "database-changed-since",
    "database-stale",
    "source-gap",
]
DatabaseState = Literal["suspected", "repacked", "changed-since", "fits", "stale", "fresh", "no-crossing", "unknown"]


class ReleaseFacts(Noun):
    """One release tag. `crossing` is the last one in the tag's own history; `databases` carry their introductions."""

    tag: str
    commit: str
    tagged_at: datetime
    state: PinState
    abi: AbiVersion | None
    crossing: PinChange | None
    databases: tuple[DatabaseFact, ...] = ()


class AuditFacts(Noun):
    """Everything an audit looks at, frozen. `changes` are of the default branch's line, `elsewhere` of any other."""

    consumer: str
    taken_at: datetime
    scope: str
    changes: tuple[PinChange, ...]
    elsewhere: tuple[PinChange, ...] = ()
    head: PinState | None = None
    releases: tuple[ReleaseFacts, ...] = ()
    api_changes: tuple[ApiChange, ...] = ()
    order: tuple[OrderFact, ...] = ()
    scans: tuple[ScannedFile, ...] = ()
    gaps: tuple[str, ...] = ()
    max_age_days: int = 180


class ApiChange(Noun):
    """A pin move under which the provider's header changed while its number did not."""

    commit: str
    statement: str
    changed: tuple[str, ...]


class OrderFact(Noun):
    """A declared merge order against what happened; `outcome` is passed, failed or unknown."""

    before: str
    after: str
    declared_in: str
    before_merged_at: datetime | None
    after_merged_at: datetime | None
    outcome: Outcome


class AuditFinding(Noun):
    """One finding. `outcome` failed: it happened; unknown: it could not be told; passed: a fact worth knowing."""

    kind: AuditKind
    outcome: Outcome
    level: Level
    commit: str | None
    committed_at: datetime | None
    pr: int | None
    release: str | None
    path: str | None
    evidence: dict[str, object]
    remedy: str

    @property
    def label(self) -> str:
        """The kind in words for people: a scan that found nothing stale is good news."""
        if self.kind == "database-stale" and self.outcome is Outcome.PASSED:
            return "scanned, no stale row"
        return "unlikely by its find-db" if self.evidence.get("may_hold") is False else self.kind


class Audit(Noun):
    """The document of `audit`; findings oldest first, a release's databases under its tag."""

    consumer: str
    taken_at: datetime
    scope: str
    findings: tuple[AuditFinding, ...]

    @property
    def in_short(self) -> tuple[AuditFinding, ...]:
        """The findings, with one copy of a pin that stays behind told once: at `FIRST..LAST` of its releases."""
        shown: list[AuditFinding] = []
        runs: dict[tuple[tuple[str, str], ...], tuple[int, str]] = {}
        for finding in self.findings:
            behind = _sites_behind(finding)
            if not behind:
                shown.append(finding)
            elif behind not in runs:
                runs[behind] = (len(shown), finding.release or "")
                shown.append(finding)
            else:
                place, first = runs[behind]
                update = {"release": f"{first}..{finding.release}", "evidence": {"sites": dict(behind)}}
                shown[place] = shown[place].model_copy(update=update)
        return tuple(shown)


def _sites_behind(finding: AuditFinding) -> tuple[tuple[str, str], ...]:
    """Return the sites of a release, without their lines, that differ from the first one, which is in force."""
    sites = finding.evidence.get("sites")
    if finding.kind != "sites-disagree" or finding.release is None or not isinstance(sites, dict):
        return ()
    in_force = next(iter(sites.values()), None)
    return tuple((str(site).partition(":")[0], str(ref)) for site, ref in sites.items() if ref != in_force)


class ReleaseDatabase(Noun):
    """A database of a release and what is known of its age."""

    path: str
    state: DatabaseState


class ReleaseRow(Noun):
    """One row of the compatibility table."""

    release: str
    pin: str | None
    number: int | None
    convention: str
    databases: tuple[ReleaseDatabase, ...]


AuditFacts.model_rebuild()
