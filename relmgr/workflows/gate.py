"""`relmgr gate`: take a snapshot, judge it, decide; what if; what a policy means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

from relmgr.errors import RelmgrError, UserError
from relmgr.gate.decide import report
from relmgr.gate.depends_on import parse_declarations
from relmgr.gate.policies import check_policy_text, load_rules
from relmgr.gate.what_if import what_if
from relmgr.model.policy import PolicyPage
from relmgr.model.project import Project
from relmgr.model.pull_request import PullRequestRef
from relmgr.model.snapshot import Snapshot
from relmgr.model.trains import Calendar
from relmgr.model.verdict import GateReport, WhatIf
from relmgr.render.own_templates import check_changed_template
from relmgr.sources.changes.change import Change, find_change
from relmgr.sources.git.clone import Clone
from relmgr.sources.recorded import read_recorded
from relmgr.sources.snapshot import take_snapshot
from relmgr.sources.trains import calendar_on_base
from relmgr.workflows.gate_databases import with_databases
from relmgr.workflows.gate_order import with_order
from relmgr.workflows.locate import no_clone

_SUBJECT = re.compile(r"^(?P<slug>[\w.-]+/[\w.-]+)#(?P<number>\d{1,9})$")


@dataclass(frozen=True)
class Calendars:
    """The trains' calendar, or why there is none: one that cannot be read is never an open one (T2).

    `file` is where it was read. One that lies in the clone of what is judged is read from the base branch instead.
    """

    calendar: Calendar | None
    gap: str | None
    file: Path | None = None

    def on_base(self, clone: Clone, base: str, at: datetime) -> tuple[Calendars, str | None]:
        """Return the calendar to judge a change by, and where it was read."""
        if self.file is None:
            return self, None
        found = calendar_on_base(clone, base, at, self.file)
        if found is None:
            return self, f"calendar {self.file.name}: no file of this repository, read as it is"
        return Calendars(found[0], found[1], self.file), found[2]


def snapshot_of(
    project: Project,
    subject: str,
    at: datetime | None,
    calendars: Calendars,
    base: str | None = None,
    *,
    merged: bool | None = None,
) -> Snapshot:
    """Return the facts about `owner/repo#n` from the clones at hand, judged at `at` (default: now).

    `merged` is what the forge says of it, None where it was not asked.
    """
    name, number = _named(project, subject)
    clone = _clone(project, name)
    change = find_change(clone, project.repositories[name], number, base, merged=merged)
    snapshot = snapshot_of_change(project, name, clone, change, at, calendars)
    this = PullRequestRef(repository=project.repositories[name].slug, number=number)
    return with_order(project, snapshot, parse_declarations(change.body, project, this), clone)


def snapshot_of_change(
    project: Project, name: str, clone: Clone, change: Change, at: datetime | None, calendars: Calendars
) -> Snapshot:
    """Return the facts about a change of the repository configured as `name`, but for what it waits for."""
    now = datetime.now(timezone.utc).astimezone(project.timezone).replace(microsecond=0)
    base = change.base or project.repositories[name].default_branch
    calendars, said = calendars.on_base(clone, base, at or now)
    snapshot = take_snapshot(
        project,
        name,
        clone,
        change,
        at=at or now,
        taken_at=now,
        calendar=calendars.calendar,
        calendar_gap=calendars.gap,
        read_policy=partial(_rule_problem, project),
    )
    snapshot = with_databases(project, snapshot, clone)
    return snapshot.model_copy(update={"sources": (*snapshot.sources, said)}) if said else snapshot


def recorded_snapshot(name_or_file: str, at: datetime | None) -> Snapshot:
    """Return a recorded snapshot, judged at its own time or at `at`."""
    snapshot = read_recorded(name_or_file)
    return snapshot if at is None else snapshot.model_copy(update={"at": at})


def judge(project: Project, snapshot: Snapshot, *, recorded: bool) -> GateReport:
    """Return the report on a snapshot by the policies in force for its base branch."""
    return report(snapshot, load_rules(project, snapshot.base), recorded=recorded)


def judge_assuming(project: Project, snapshot: Snapshot, assumptions: Sequence[str], *, recorded: bool) -> WhatIf:
    """Return what changes under the assumptions."""
    return what_if(snapshot, load_rules(project, snapshot.base), assumptions, recorded=recorded)


def explain(project: Project, policy: str, base: str | None = None) -> PolicyPage:
    """Return everything about one policy as it is in force on `base`; `UserError` names the known ones."""
    rules = {rule.policy.id: rule for rule in load_rules(project, base)}
    if policy not in rules:
        raise UserError(f"no policy {policy!r}", next_step=f"known: {', '.join(rules)}")
    rule = rules[policy]
    return PolicyPage(
        **{name: getattr(rule.policy, name) for name in type(rule.policy).model_fields if name != "params"},
        params=rule.params.model_dump(mode="json"),
        checks=" ".join((rule.check.function.__doc__ or "").split()),
        evidence=tuple(rule.check.evidence.model_fields),
        file=rule.file,
        disabled=rule.disabled,
    )


def explain_all(project: Project) -> list[PolicyPage]:
    """Return every policy in force."""
    return [explain(project, rule.policy.id) for rule in load_rules(project)]


def subject_of(project: Project, subject: str) -> tuple[str, PullRequestRef]:
    """Return the configured name of the repository, and the pull request, that `owner/repo#n` means."""
    name, number = _named(project, subject)
    return name, PullRequestRef(repository=project.repositories[name].slug, number=number)


def _named(project: Project, subject: str) -> tuple[str, int]:
    match = _SUBJECT.match(subject)
    name = project.repository_named(match["slug"]) if match else None
    if match is None or name is None:
        known = ", ".join(repository.slug for repository in project.repositories.values())
        raise UserError(
            f"{subject!r} is no pull request of this project",
            next_step=f"write owner/repo#number, of: {known}; or name another project with --project",
        )
    return name, int(match["number"])


def _clone(project: Project, name: str) -> Clone:
    repository = project.repositories[name]
    if repository.path is None:
        raise no_clone(project, name)
    return Clone.open(repository.path)


def _rule_problem(project: Project, text: str, path: str) -> str | None:
    try:
        if project.templates is not None and path.endswith(".j2"):
            check_changed_template(project.templates, path, text)
        else:
            check_policy_text(text, path)
    except RelmgrError as error:
        return str(error)
    return None
