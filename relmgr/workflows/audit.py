"""`relmgr audit`: replay a consumer's history and judge it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import get_args

from relmgr.errors import UserError
from relmgr.gate.audit import audit
from relmgr.gate.declared_order import order_facts
from relmgr.model.audit import Audit, AuditFacts, AuditKind
from relmgr.model.project import PinConfig, Project
from relmgr.model.ticket import ScannedFile
from relmgr.render.engine import SHIPPED, Words
from relmgr.render.timeline import timeline
from relmgr.sources.databases.files import find_databases
from relmgr.sources.pins.history import one_branch, pin_history, pin_state, release_branches
from relmgr.sources.provider.abi import AbiReader
from relmgr.sources.provider.api_changes import read_api_changes
from relmgr.sources.releases import read_releases
from relmgr.sources.ticket_files import scan_databases
from relmgr.workflows.kdb import scan_rules, target_abi
from relmgr.workflows.locate import consumer_clone, default_ref
from relmgr.workflows.order import read_pulls


def read_audit_facts(
    project: Project,
    pin: PinConfig,
    at: datetime | None = None,
    databases: Sequence[str] = (),
    pulls: Path | None = None,
) -> AuditFacts:
    """Read everything an audit judges from the consumer's clone (and the provider's, where one is given).

    `databases` are files, folders or globs to scan: what is inside decides over the age of the same content. `pulls` is
    a recorded list of pull requests, whose declared order is held against what happened.
    """
    clone, abi = consumer_clone(project, pin), AbiReader(project, pin)
    ref = default_ref(clone, project, pin)
    main = pin_history(clone, project, pin, one_branch(clone, ref), abi)
    # The whole graph behind those branches: a promotion merge that only brings a change along is none of its own.
    everywhere = replace(release_branches(clone, project.repositories[pin.consumer]), first_parent=False)
    others = pin_history(clone, project, pin, everywhere, abi)
    known = {change.commit for change in main.changes}
    elsewhere = tuple(change for change in others.changes if change.commit not in known)
    contract = project.contract(pin)
    gaps = dict.fromkeys(f"{gap.commit[:12]} {gap.path}: {gap.reason}" for gap in (*main.gaps, *others.gaps))
    return AuditFacts(
        consumer=project.repositories[pin.consumer].slug,
        taken_at=at or datetime.now(timezone.utc),
        scope=ref,
        changes=main.changes,
        elsewhere=elsewhere,
        api_changes=tuple(read_api_changes(abi, contract, main.changes)) if contract else (),
        head=pin_state(clone, project, pin, ref),
        releases=read_releases(clone, project, pin, abi, find_dbs=True),
        scans=_scans(project, pin, databases),
        order=order_facts(project, read_pulls(pulls)) if pulls else (),
        gaps=tuple(gaps),
        max_age_days=pin.max_age_days,
    )


def run_audit(
    project: Project,
    pin: PinConfig,
    at: datetime | None = None,
    databases: Sequence[str] = (),
    pulls: Path | None = None,
) -> tuple[Audit, AuditFacts]:
    """Return the audit of a consumer and the facts it judged."""
    facts = read_audit_facts(project, pin, at, databases, pulls)
    return audit(facts), facts


def _scans(project: Project, pin: PinConfig, databases: Sequence[str]) -> tuple[ScannedFile, ...]:
    if not databases:
        return ()
    rules = scan_rules(project, pin, target_abi(project, pin, None), fast=False, deep=False, jobs=1)
    return scan_databases(find_databases(databases, frozenset({"kdb"})), rules)


def check_kinds(kinds: Iterable[str]) -> None:
    """Refuse a name that is no kind of finding."""
    known = get_args(AuditKind)
    for kind in kinds:
        if kind not in known:
            raise UserError(f"--fail-on {kind}: no such kind of finding", next_step=f"use one of: {', '.join(known)}")


def audit_page(document: Audit, facts: AuditFacts, words: Words = SHIPPED) -> str:
    """Return the audit as one self-contained HTML page with its timeline."""
    return words.render("page/audit.html.j2", d=document, timeline=timeline(facts))
