"""`relmgr pin bump`: move a pin, safely and in all its sites."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from relmgr.cli.options import Chosen, at_option, instant, output_options, pin_option, project_options
from relmgr.cli.output import Output
from relmgr.cli.paths import FILE
from relmgr.cli.posting import show_posting
from relmgr.cli.trains import trains_option
from relmgr.errors import EXIT_BLOCKED, EXIT_OK, UserError

if TYPE_CHECKING:
    from datetime import datetime

    from relmgr.model.project import PinConfig, Project
    from relmgr.sources.github.client import GitHub
    from relmgr.workflows.bump import Prepared


@click.command()
@click.option("--to", required=True, metavar="REF", help="Commit, tag or branch of the provider (a branch: its tip).")
@click.option("--also", multiple=True, metavar="NAME=REF", help="Where another pin of the same group goes.")
@click.option("--base", metavar="BRANCH", help="The consumer's branch (default: its default branch).")
@click.option("--archive", type=FILE, help="The new ref's archive, for the pin's digest.")
@click.option("--drop-digest", is_flag=True, help="Remove the pin's digest.")
@click.option("--allow-rollback", metavar="REASON", help="Move back, or aside, on purpose.")
@click.option("--allow-reverted", metavar="REASON", help="Propose a ref again whose bump was reverted.")
@click.option("--apply", "applies", is_flag=True, help="Commit it on a branch of its own (nothing else is touched).")
@click.option("--pull-request", is_flag=True, help="Also push the branch, and open or update its pull request.")
@click.option("--dry-run", is_flag=True, help="With --pull-request: write nothing, and show what would be posted.")
@click.option("--github", is_flag=True, help="Ask the forge too: tickets, and what a companion was merged as.")
@click.option("--tickets", type=FILE, metavar="FILE", help="Regeneration tickets that are there already (JSON list).")
@project_options
@pin_option
@trains_option
@at_option
@output_options
def bump(
    to: str,
    also: tuple[str, ...],
    base: str | None,
    archive: Path | None,
    drop_digest: bool,
    allow_rollback: str | None,
    allow_reverted: str | None,
    applies: bool,
    pull_request: bool,
    dry_run: bool,
    github: bool,
    tickets: Path | None,
    chosen: Chosen,
    pin_name: str | None,
    calendar: Path | None,
    at: str | None,
    output: Output,
) -> int:
    """Plan moving the pin in all of its sites, and judge the plan as the gate would judge its pull request.

    --apply commits it. Exit code 1 when a check on the pin or a policy refuses it; what it would wait for is told.
    """
    from relmgr.sources.github.client import open_github
    from relmgr.sources.pins.archive import ArchiveFile
    from relmgr.sources.pins.bump import Target
    from relmgr.sources.pins.download import forge_archives
    from relmgr.workflows.bump import apply_bump, ask_about_companions, plan_bump, post_bump
    from relmgr.workflows.locate import named_pin
    from relmgr.workflows.post import sink_of

    posts = pull_request and not dry_run
    _refuse(applies=applies, pull_request=pull_request, dry_run=dry_run, at=at, tickets=tickets, github=github)
    loaded = chosen.load()
    pin, when = named_pin(loaded, pin_name), instant(at, loaded)
    source = ArchiveFile(archive) if archive else forge_archives(loaded.forge)
    target = Target(pin, to, source, drop_digest, allow_rollback, allow_reverted)
    prepared = plan_bump(loaded, target, _pairs(also), base, when)
    forge = open_github(loaded.forge) if github or posts else None
    if forge is not None:
        prepared = ask_about_companions(loaded, prepared, forge)
    prepared = _judged(loaded, pin, prepared, when, calendar, tickets, forge if github else None)
    plan = prepared.plan
    writes = (applies or posts) and not (plan.is_noop or plan.refusals)
    done = apply_bump(prepared, push=pull_request) if writes else None
    output.emit(plan, template="pin/bump", done=done)
    if plan.refusals and not plan.is_noop:
        return EXIT_BLOCKED
    if plan.is_noop or not pull_request:
        return EXIT_OK
    posting = post_bump(sink_of(loaded, dry_run=dry_run, github=forge), loaded, pin, plan)
    return show_posting(posting, EXIT_OK, output)


def _judged(
    project: Project,
    pin: PinConfig,
    prepared: Prepared,
    when: datetime | None,
    calendar: Path | None,
    tickets: Path | None,
    forge: GitHub | None,
) -> Prepared:
    """Return the plan as the gate judges it; with `forge` the tickets there are asked for."""
    import tempfile

    from relmgr.sources.trains import calendar_or_gap
    from relmgr.workflows.bump import judge_bump, tickets_on_forge
    from relmgr.workflows.gate import Calendars
    from relmgr.workflows.gate_given import GateInputs

    with tempfile.TemporaryDirectory() as folder:
        if forge is not None:
            tickets = tickets_on_forge(project, pin, forge, Path(folder))
        calendars = Calendars(*calendar_or_gap(calendar or project.trains))
        return judge_bump(project, pin, prepared, when, calendars, GateInputs(tickets=tickets))


def _refuse(
    *, applies: bool, pull_request: bool, dry_run: bool, at: str | None, tickets: Path | None, github: bool
) -> None:
    """Refuse options that contradict each other."""
    if tickets and github:
        raise UserError("--tickets and --github both tell the tickets", next_step="give one of them")
    if at and github:
        raise UserError("--at judges another day, and the forge tells of today", next_step="drop --github, or --at")
    if dry_run and not pull_request:
        raise UserError(
            "--dry-run shows what would be posted", next_step="add --pull-request, or drop both for the plan"
        )
    if dry_run and applies:
        raise UserError("--dry-run writes nothing", next_step="drop --apply")
    if at and (applies or (pull_request and not dry_run)):
        raise UserError("--at shows what would have been said then", next_step="drop it to write what is so now")


def _pairs(also: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for item in also:
        name, equals, ref = item.partition("=")
        if not equals or not name or not ref:
            raise UserError(f"--also {item!r} is not NAME=REF", next_step="write for example --also rocmlir=rocm-6.0.0")
        pairs[name] = ref
    return pairs
