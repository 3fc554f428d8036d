"""`--post`: from a document to the forge. Each says what must be true; a sink makes it so, or only shows it."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from relmgr.model.actions import Posting
from relmgr.model.checklist import Checklist
from relmgr.model.order import OrderPlan
from relmgr.model.project import PinConfig, Project
from relmgr.model.snapshot import Snapshot
from relmgr.model.ticket import Tickets
from relmgr.model.trains import Calendar
from relmgr.model.verdict import GateReport
from relmgr.render.actions import checklist_action, gate_actions, ticket_actions
from relmgr.render.engine import SHIPPED, Words, words_of
from relmgr.render.order_actions import order_actions
from relmgr.sinks.action_log import log_file, record_to
from relmgr.sinks.dry_run import DryRun
from relmgr.sinks.github import GitHubSink
from relmgr.sources.github.client import GitHub, open_github
from relmgr.sources.github.facts import read_ticket_issues
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


def post_tickets(sink: Sink, document: Tickets) -> Posting:
    """File, update, close or reopen the issue of each regeneration ticket."""
    return sink.apply(ticket_actions(document))


def post_checklist(sink: Sink, project: Project, document: Checklist) -> Posting:
    """Post a cut's checklist as an issue of the main consumer, keeping what people wrote into it."""
    return sink.apply((checklist_action(project, document, project.pin().consumer, words_of(project)),))


def tickets_beside_issues(
    project: Project, pin: PinConfig, calendar: Calendar, train: str | None, given: TicketInputs, github: GitHub
) -> Tickets:
    """Return the tickets of a train as of now, knowing those that are on the forge already."""
    issues = read_ticket_issues(github, project.repositories[pin.consumer].slug)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "issues.json"
        file.write_text(json.dumps(issues), encoding="utf-8")
        return regeneration_tickets(project, pin, calendar, train, None, given._replace(existing=file))
