"""Judge a history: facts in, findings out. Pure; the instant of asking is a fact."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from relmgr.model.audit import Audit, AuditFacts, AuditFinding, AuditKind, DatabaseState, ReleaseFacts
from relmgr.model.base import Level, Outcome
from relmgr.model.database_age import database_state, scan_of, stale_rows
from relmgr.model.databases import DatabaseFact
from relmgr.model.pins import PinChange

_MOVES = {"first", "ref", "restored"}
_SUSPICIONS: dict[DatabaseState, tuple[AuditKind, Level, str]] = {
    "suspected": (
        "database-stale-suspected",
        Level.BLOCK,
        "older than the crossing and not scanned: fetch it and run `relmgr kdb scan`",
    ),
    "repacked": (
        "database-repacked",
        Level.WARN,
        "re-packed, not rebuilt as far as git tells: scan it, or scan what it was packed from",
    ),
    "changed-since": (
        "database-changed-since",
        Level.NOTE,
        "changed after the crossing; changed is not rebuilt: scan it to be sure",
    ),
}
_NONE_BY_FIND_DB = "its find-db names no solver of the provider's, so it probably holds none of those kernels"


def audit(facts: AuditFacts) -> Audit:
    """Return every finding, the history's oldest first, then the releases' by version, then the present's."""
    findings = [
        *_of_changes(facts.changes),
        *_of_changes(facts.elsewhere),
        *_of_api(facts),
        *_of_order(facts),
        *(finding for release in facts.releases for finding in _of_release(release, facts)),
        *_of_present(facts),
        *(_finding("source-gap", Outcome.UNKNOWN, Level.BLOCK, {"not_read": gap}) for gap in facts.gaps),
    ]
    return Audit(consumer=facts.consumer, taken_at=facts.taken_at, scope=facts.scope, findings=tuple(findings))


def _finding(
    kind: AuditKind, outcome: Outcome, level: Level, evidence: dict[str, object], remedy: str = "", **where: Any
) -> AuditFinding:
    places: dict[str, Any] = dict.fromkeys(("commit", "committed_at", "pr", "release", "path"))
    return AuditFinding(kind=kind, outcome=outcome, level=level, evidence=evidence, remedy=remedy, **(places | where))


def _at(change: PinChange) -> dict[str, Any]:
    return {"commit": change.commit, "committed_at": change.committed_at, "pr": change.pr}


_UNKNOWN = "these moves start or end at a ref whose number is not known; give the provider's clone to read its header"
_UNKNOWN_READ = (
    "their headers were read and tell no number of a known convention: rebuild kernels of that time before use"
)


def _were_read(unknown: list[PinChange]) -> bool:
    """Tell whether a clone of the provider was read for every one of them; the first pin has one side only."""
    told = {change.abi.evidence.confidence for change in unknown if change.abi and "first" not in change.kinds}
    return told == {"read"}


def _of_changes(changes: tuple[PinChange, ...]) -> Iterator[AuditFinding]:
    unknown = [change for change in changes if _could_not_tell(change)]
    if unknown:
        yield _finding(
            "abi-crossing",
            Outcome.UNKNOWN,
            Level.NOTE,
            {
                "changes": len(unknown),
                "until": unknown[-1].committed_at.date().isoformat(),
                "commits": [change.commit for change in unknown],
            },
            _UNKNOWN_READ if _were_read(unknown) else _UNKNOWN,
            **_at(unknown[-1]),
        )
    for change in changes:
        yield from _of_change(change)


def _could_not_tell(change: PinChange) -> bool:
    """Tell whether a move may have crossed: a first pin with a known number has nothing to cross."""
    if change.abi is None or change.abi.crossing is not None or not _MOVES & set(change.kinds):
        return False
    return change.old is not None or change.abi.new_convention == "unknown"


def _of_change(change: PinChange) -> Iterator[AuditFinding]:
    refs: dict[str, object] = {
        "subject": change.subject,
        "old": change.old.ref if change.old else None,
        "new": change.new.ref if change.new else None,
        "first_release": change.first_release,
    }
    abi = change.abi
    if abi and abi.crossing:
        evidence = refs | {
            "number": f"{abi.old} -> {abi.new}",
            "convention": f"{abi.old_convention} -> {abi.new_convention}",
            "sources": [abi.evidence.old, abi.evidence.new],
        }
        remedy = "kernels of the provider built before this commit must not be launched after it: rebuild or prune"
        yield _finding("abi-crossing", Outcome.FAILED, Level.NOTE, evidence, remedy, **_at(change))
    elif abi and abi.number_changed:
        evidence = refs | {"number": f"{abi.old} -> {abi.new}", "convention": abi.new_convention}
        yield _finding("number-changed", Outcome.PASSED, Level.NOTE, evidence, **_at(change))
    if change.reverts:
        yield _finding("revert", Outcome.PASSED, Level.NOTE, refs | {"reverts": change.reverts}, **_at(change))
    elif "ref" in change.kinds:
        yield _finding("bump", Outcome.PASSED, Level.NOTE, refs | {"kinds": list(change.kinds)}, **_at(change))
    if change.old and change.new and change.kinds == ("digest",):
        evidence = refs | {"old_digest": change.old.digest, "new_digest": change.new.digest}
        remedy = "the ref stayed: tell changed archive bytes from a moved tag (`relmgr pin check --archive`)"
        yield _finding("digest-drift", Outcome.FAILED, Level.WARN, evidence, remedy, **_at(change))


def _of_api(facts: AuditFacts) -> Iterator[AuditFinding]:
    by_commit = {change.commit: change for change in (*facts.changes, *facts.elsewhere)}
    for api in facts.api_changes:
        evidence: dict[str, object] = {"statement": api.statement, "changed": list(api.changed)}
        where = _at(by_commit[api.commit]) if api.commit in by_commit else {"commit": api.commit}
        remedy = "callers compiled against the older header may not link or may misbehave: check the consumer's calls"
        yield _finding("api-changed-number-not", Outcome.FAILED, Level.WARN, evidence, remedy, **where)


def _of_order(facts: AuditFacts) -> Iterator[AuditFinding]:
    for fact in facts.order:
        if fact.outcome is Outcome.PASSED:
            continue
        evidence: dict[str, object] = fact.model_dump(mode="json", exclude={"outcome"})
        evidence["statement"] = f"{fact.before} was to merge before {fact.after}"
        remedy = "a merge time is not known: read it from the forge"
        if fact.outcome is Outcome.FAILED:
            remedy = "merged out of the declared order; what it invalidated tell the pin moves, not the merges"
        yield _finding("order-violation", fact.outcome, Level.WARN, evidence, remedy, committed_at=fact.after_merged_at)


def _of_release(release: ReleaseFacts, facts: AuditFacts) -> Iterator[AuditFinding]:
    where: dict[str, Any] = {"release": release.tag, "commit": release.commit, "committed_at": release.tagged_at}
    pin = release.state.pin
    for gap in release.state.gaps:
        remedy = "fetch the missing files into the clone"
        yield _finding("source-gap", Outcome.UNKNOWN, Level.BLOCK, {"not_read": gap}, remedy, **where)
    if pin and pin.ref_kind == "branch":
        evidence: dict[str, object] = {"ref": pin.ref, "site": pin.site}
        remedy = "a branch moves after the release: pin its commit before the cut"
        yield _finding("branch-pin-at-release", Outcome.FAILED, Level.WARN, evidence, remedy, **where)
    if release.state.agree is False:
        yield _sites_disagree(release.state.sites, where)
    for fact in release.databases:
        if not fact.known_arch:
            evidence = {"not_read": f"the arch in the name {fact.path.rpartition('/')[2]}"}
            remedy = "no known arch: rename the file, or teach relmgr the arch"
            yield _finding("source-gap", Outcome.UNKNOWN, Level.WARN, evidence, remedy, path=fact.path, **where)
        found = _of_database(fact, release, facts)
        if found is not None:
            yield found


def _sites_disagree(sites: Any, where: dict[str, Any]) -> AuditFinding:
    evidence: dict[str, object] = {"sites": {f"{s.site}:{s.line}" if s.line else s.site: s.ref for s in sites}}
    remedy = "move every site to one ref, or remove the stale one"
    return _finding("sites-disagree", Outcome.FAILED, Level.WARN, evidence, remedy, **where)


def _of_database(fact: DatabaseFact, release: ReleaseFacts, facts: AuditFacts) -> AuditFinding | None:
    where: dict[str, Any] = {"release": release.tag, "path": fact.path}
    state = database_state(fact, release, facts.scans)
    evidence = _database_evidence(fact, release)
    if fact.introduced:
        since = fact.introduced
        where |= {"commit": since.commit, "committed_at": since.committed_at, "pr": since.pr}
    if state in ("stale", "fresh"):
        scan = scan_of(fact, facts.scans)
        stale = stale_rows(scan, release) if scan else None
        evidence |= {"provider_rows": scan.provider_rows if scan else None, "stale_rows": stale}
        outcome, level = (Outcome.FAILED, Level.BLOCK) if stale else (Outcome.PASSED, Level.NOTE)
        remedy = "rebuild this database, or prune its stale rows" if stale else ""
        return _finding("database-stale", outcome, level, evidence, remedy, **where)
    if state not in _SUSPICIONS:
        return None
    kind, level, remedy = _SUSPICIONS[state]
    if fact.solvers is not None:
        evidence |= {"may_hold": fact.solvers.may_hold, "find_db": fact.solvers.model_dump(exclude={"may_hold"})}
        if fact.solvers.may_hold is False:
            level = Level.WARN if level is Level.BLOCK else level
            remedy = f"{_NONE_BY_FIND_DB}; that is no scan: {remedy}"
    return _finding(kind, Outcome.UNKNOWN, level, evidence, remedy, **where)


def _database_evidence(fact: DatabaseFact, release: ReleaseFacts) -> dict[str, object]:
    evidence: dict[str, object] = {
        "arch": fact.arch,
        "storage": fact.storage,
        "oid": fact.oid,
        "size": fact.size,
        "crossing": release.crossing.commit if release.crossing else None,
    }
    if fact.introduced:
        evidence["first_seen"] = fact.introduced.committed_at.isoformat()
        if fact.introduced.repacked_from:
            evidence["was"] = [
                {
                    "path": old.path,
                    "oid": old.oid,
                    "first_seen": old.introduced.committed_at.isoformat() if old.introduced else None,
                    "after_crossing": old.after_crossing,
                }
                for old in fact.introduced.repacked_from
            ]
    return evidence


def _of_present(facts: AuditFacts) -> Iterator[AuditFinding]:
    if facts.head is not None and facts.head.agree is False:
        yield _sites_disagree(facts.head.sites, {"commit": facts.head.commit})
    moved = next((change for change in reversed(facts.changes) if _MOVES & set(change.kinds)), None)
    if moved is not None and facts.head is not None and facts.head.pin is not None:
        days = _days(moved.committed_at, facts.taken_at)
        if days > facts.max_age_days:
            evidence: dict[str, object] = {
                "age_days": days,
                "limit_days": facts.max_age_days,
                "ref": facts.head.pin.ref,
            }
            yield _finding(
                "pin-age", Outcome.FAILED, Level.WARN, evidence, "bump the pin, or say why it stays", **_at(moved)
            )


def _days(start: datetime, end: datetime) -> int:
    return (end - start).days
