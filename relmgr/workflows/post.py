"""`--post`: from a document to the forge. Each says what must be true; a sink makes it so, or only shows it."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from relmgr.errors import UserError
from relmgr.model.actions import Posting
from relmgr.model.checklist import Checklist
from relmgr.model.order import OrderPlan
from relmgr.model.project import PinConfig, Project
from relmgr.model.snapshot import Snapshot
from relmgr.model.ticket import ExistingTicket, Tickets
from relmgr.model.trains import Calendar
from relmgr.model.verdict import GateReport
from relmgr.render.actions import checklist_action, gate_actions, issue_at, ticket_actions
from relmgr.render.engine import SHIPPED, Words, words_of
from relmgr.render.order_actions import order_actions
from relmgr.sinks.action_log import log_file, record_to
from relmgr.sinks.dry_run import DryRun
from relmgr.sinks.github import GitHubSink
from relmgr.sources.github.client import GitHub, open_github
from relmgr.sources.github.facts import read_ticket_issues
from relmgr.sources.ticket_files import read_existing
from relmgr.workflows.ticket import TicketInputs, regeneration_tickets

Sink = GitHubSink | DryRun


def sink_of(project: Project, *, dry_run: bool, github: GitHub | None = None) -> Sink:
    """Return the sink: the project's forge, or the one that shows the same actions and asks nobody."""
    return DryRun() if dry_run else GitHubSink(github or open_github(project.forge), record_to(log_file()))


def post_gate(sink: Sink, snapshot: Snapshot, report: GateReport, words: Words = SHIPPED) -> Posting:
    """Post what the gate says about one pull request: a comment and a check."""
    return sink.apply(gate_actions(snapshot, report, words))


def post_order(sink: Sink, plan: OrderPlan, words: Words = SHIPPED) -> Posting:
    """Post the merge order on every pull request that it concerns."""
    return sink.apply(order_actions(plan, words))


def post_tickets(sink: Sink, document: Tickets, words: Words = SHIPPED) -> Posting:
    """File, update, close or reopen the issue of each regeneration ticket; join those that people filed."""
    return sink.apply(ticket_actions(document, words))


def post_checklist(sink: Sink, project: Project, document: Checklist) -> Posting:
    """Post a cut's checklist as an issue of the main consumer, keeping what people wrote into it."""
    return sink.apply((checklist_action(project, document, project.pin().consumer, words_of(project)),))


def tickets_beside_issues(
    project: Project, pin: PinConfig, calendar: Calendar, train: str | None, given: TicketInputs, github: GitHub
) -> Tickets:
    """Return the tickets of a train as of now, knowing those on the forge, and people's plans in `given.existing`.

    A plan counts while its issue is open there; what the list says of its state is of another day.
    """
    slug = project.repositories[pin.consumer].slug
    issues = [*read_ticket_issues(github, slug)]
    if given.existing is not None:
        plans, gaps = read_existing(given.existing)
        if gaps:
            raise UserError("; ".join(gaps), where=str(given.existing), next_step="correct these entries")
        issues += [_as_it_stands(github, slug, plan) for plan in plans if plan.data is None]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "issues.json"
        file.write_text(json.dumps(issues), encoding="utf-8")
        return regeneration_tickets(project, pin, calendar, train, None, given._replace(existing=file))


def _as_it_stands(github: GitHub, slug: str, plan: ExistingTicket) -> dict[str, Any]:
    """Return a person's plan with the state that its issue has on the forge."""
    entry: dict[str, Any] = {"consumer": plan.consumer, "train": plan.train, "arch": plan.arch, "url": plan.url}
    if plan.consumer.lower() != slug.lower() or (thread := issue_at(plan.url, slug)) is None:
        return entry | {"state": plan.state}
    issue = github.get(f"/repos/{github.canonical(slug)}/issues/{thread.number}")
    return entry | {"state": issue["state"], "state_reason": issue.get("state_reason")}
