"""`relmgr gate`: may it merge, why not, until when, and what to do next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from relmgr.cli.gate_event import show_in_actions, subject_of_event
from relmgr.cli.gate_given import gate_inputs, given_options, refuse_given, shipping_snapshot, the_projects
from relmgr.cli.options import Chosen, at_option, instant, output_options, project_options
from relmgr.cli.output import Output, words_in_force
from relmgr.cli.posting import post_options, show_posting
from relmgr.cli.trains import trains_option
from relmgr.errors import EXIT_BLOCKED, EXIT_OK, UserError

if TYPE_CHECKING:
    from datetime import datetime

    from relmgr.model.project import Project
    from relmgr.model.snapshot import Snapshot


@click.group(name="gate")
def group() -> None:
    """May it merge? If not: why, until when, and what to do next."""


@group.command()
@click.argument("subject", required=False, metavar="OWNER/REPO#N")
@click.option("--snapshot", "recorded", metavar="NAME|FILE", help="Judge recorded facts instead of the clones.")
@click.option(
    "--event",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="In GitHub Actions: $GITHUB_EVENT_PATH says what to judge; asks the forge, writes the job's summary.",
)
@click.option("--base", metavar="BRANCH", help="The branch it goes to, where a clone does not tell.")
@click.option(
    "--assume", multiple=True, metavar="TEXT", help="What if: 'cut TRAIN at DATE', 'merged:OWNER/REPO#N', ..."
)
@click.option(
    "--record",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the facts there, for --snapshot.",
)
@click.option(
    "--github", is_flag=True, help="Ask the forge too: reviews, checks, labels, other pull requests, tickets."
)
@given_options
@post_options
@project_options
@trains_option
@at_option
@output_options
def check(
    subject: str | None,
    recorded: str | None,
    event: Path | None,
    base: str | None,
    assume: tuple[str, ...],
    record: Path | None,
    github: bool,
    cut: str | None,
    release: str | None,
    databases: tuple[str, ...],
    scans: tuple[Path, ...],
    tickets: Path | None,
    smoke_reports: tuple[Path, ...],
    post: bool,
    dry_run: bool,
    chosen: Chosen,
    calendar: Path | None,
    at: str | None,
    output: Output,
) -> int:
    """Judge one pull request, a cut or a release; exit code 1 when a policy blocks or holds it."""
    from relmgr.workflows.gate import judge, judge_assuming, recorded_snapshot
    from relmgr.workflows.gate_given import with_given

    if sum(given is not None for given in (subject, recorded, event, cut, release)) != 1:
        raise UserError(
            "give either OWNER/REPO#N or --snapshot, --cut, --release, or in a workflow --event",
            next_step="relmgr gate check ROCm/MIOpen#1673",
        )
    given, ships = gate_inputs(scans, databases, tickets, smoke_reports), cut is not None or release is not None
    forge = github or event is not None or (post and not dry_run)
    refuse_given(given, recorded=recorded is not None, forge=forge, ships=ships, pull=bool(github or post or base))
    loaded, other = the_projects(chosen, ships=ships)
    when = instant(at, loaded)
    if event is not None:
        subject = subject_of_event(loaded, event)
        if subject is None:
            return EXIT_OK
    if post and not dry_run and (recorded or when or assume):
        raise UserError("--post says what is so now", next_step="drop --at, --assume and --snapshot, or add --dry-run")
    if ships:
        snapshot = shipping_snapshot(loaded, other, calendar, cut, release, when)
    elif subject is None:
        snapshot = recorded_snapshot(recorded or "", when)
    else:
        snapshot = _live(loaded, subject, when, calendar, base, forge=forge)
    snapshot = with_given(loaded, snapshot, given)
    if record is not None:
        Output("json", record).emit(snapshot, template="")
    if assume:
        answer = judge_assuming(loaded, snapshot, assume, recorded=recorded is not None)
        output.emit(answer, template="gate/what_if")
        return EXIT_OK if answer.decision["after"] == "merge" else EXIT_BLOCKED
    document = judge(loaded, snapshot, recorded=recorded is not None)
    if event is None or output.format_ != "text" or output.out is not None:
        output.emit(document, template="gate/check", snapshot=snapshot)
    else:
        show_in_actions(snapshot, document)
    code = EXIT_OK if document.decision == "merge" else EXIT_BLOCKED
    if not post:
        return code
    from relmgr.workflows.post import post_gate, sink_of

    posting = post_gate(sink_of(loaded, dry_run=dry_run), snapshot, document, words_in_force())
    return show_posting(posting, code, output)


def _live(
    project: Project, subject: str, when: datetime | None, calendar: Path | None, base: str | None, *, forge: bool
) -> Snapshot:
    from relmgr.sources.trains import calendar_or_gap
    from relmgr.workflows.gate import Calendars, snapshot_of

    calendars = Calendars(*calendar_or_gap(calendar or project.trains))
    if not forge:
        return snapshot_of(project, subject, when, calendars, base)
    from relmgr.sources.github.client import open_github
    from relmgr.workflows.forge import live_snapshot

    return live_snapshot(project, subject, when, calendars, base, open_github(project.forge))


@group.command()
@click.argument("policy", required=False)
@click.option("--base", metavar="BRANCH", help="As in force on this branch.")
@project_options
@output_options
def explain(
    policy: str | None,
    base: str | None,
    chosen: Chosen,
    output: Output,
) -> int:
    """What a policy means, when it applies and how it judges; without POLICY the list of all."""
    from relmgr.workflows.gate import explain as explain_policy
    from relmgr.workflows.gate import explain_all

    loaded = chosen.load()
    if policy is None:
        output.emit(explain_all(loaded), template="gate/policies")
    else:
        output.emit(explain_policy(loaded, policy, base), template="gate/explain")
    return EXIT_OK
