"""`relmgr cut`: what must be true before a release branch is cut, and cutting it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from relmgr.cli.options import Chosen, at_option, instant, output_options, project_options
from relmgr.cli.output import Output, words_in_force
from relmgr.cli.paths import FILE, NEW_FILE
from relmgr.cli.posting import post_options, show_posting
from relmgr.cli.trains import trains_option
from relmgr.errors import EXIT_BLOCKED, EXIT_OK, EXIT_SOURCE, UserError

if TYPE_CHECKING:
    from relmgr.model.project import Project


@click.group(name="cut")
def group() -> None:
    """What must be true before a branch is cut: plan and checklist; then cut it."""


@group.command()
@click.argument("release")
@project_options
@trains_option
@at_option
@click.option(
    "--save",
    type=NEW_FILE,
    metavar="FILE",
    help="Store the plan for `relmgr cut apply FILE`.",
)
@click.option(
    "--accept", multiple=True, metavar="ITEM=REASON", help="With --save: cut although this item is open, and say why."
)
@output_options
def plan(
    release: str,
    chosen: Chosen,
    calendar: Path | None,
    at: str | None,
    save: Path | None,
    accept: tuple[str, ...],
    output: Output,
) -> int:
    """The branches to cut, in order, and what still blocks each; exit code 1 when something does."""
    from relmgr.workflows.cut import cut_plan
    from relmgr.workflows.trains import calendar_of

    loaded = chosen.load()
    if save is not None:
        return _store(loaded, calendar or loaded.trains, release, at, save, accept, output)
    if accept:
        raise UserError("--accept is kept in a stored plan", next_step="add --save FILE")
    document = cut_plan(loaded, calendar_of(calendar or loaded.trains), release, instant(at, loaded))
    output.emit(document, template="cut/plan")
    return EXIT_BLOCKED if any(step.state == "blocked" for step in document.steps) else EXIT_OK


@group.command()
@click.argument("release")
@project_options
@trains_option
@at_option
@click.option(
    "--merge",
    type=FILE,
    metavar="FILE",
    help="Keep the ticks and notes that people made in this checklist (implies --format markdown).",
)
@post_options
@output_options
def checklist(
    release: str,
    chosen: Chosen,
    calendar: Path | None,
    at: str | None,
    merge: Path | None,
    post: bool,
    dry_run: bool,
    output: Output,
) -> int:
    """What must be true before the branch is cut: done from evidence, open, or for a person to tell."""
    from relmgr.workflows.cut import cut_checklist
    from relmgr.workflows.trains import calendar_of

    if merge is not None and output.is_json:
        raise UserError("--merge renders Markdown", next_step="drop --format json")
    if merge is not None and post:
        raise UserError("--post keeps what people wrote into the issue", next_step="drop --merge")
    loaded = chosen.load()
    document = cut_checklist(loaded, calendar_of(calendar or loaded.trains), release, instant(at, loaded))
    if merge is None:
        output.emit(document, template="cut/checklist")
        if not post:
            return EXIT_OK
        from relmgr.workflows.post import post_checklist, sink_of

        posting = post_checklist(sink_of(loaded, dry_run=dry_run), loaded, document)
        return show_posting(posting, EXIT_OK, output)
    _emit_merged(document, merge, output)
    return EXIT_OK


@group.command()
@click.argument("stored", metavar="PLAN", type=FILE)
@project_options
@click.option("--push", multiple=True, metavar="[NAME=]REMOTE", help="Make the branches at this remote too.")
@click.option("--apply", "mode", flag_value="apply", help="Make the branches: all of them, or none.")
@click.option("--finish", "mode", flag_value="finish", help="Complete a cut that broke off, although time has passed.")
@click.option("--undo", "mode", flag_value="undo", help="Take back what a cut that broke off had made.")
@click.option(
    "--max-age",
    type=click.FloatRange(min=0, max=8760),
    default=24.0,
    metavar="HOURS",
    show_default=True,
    help="Refuse a plan that is older.",
)
@output_options
def apply(
    stored: Path,
    chosen: Chosen,
    push: tuple[str, ...],
    mode: str | None,
    max_age: float,
    output: Output,
) -> int:
    """What a stored plan would make; with --apply, make it. Exit code 1: refused, or half done; 3: it failed."""
    from datetime import timedelta

    from relmgr.workflows.cut_apply import apply_stored_cut

    loaded = chosen.load()
    remotes = _remotes(push, loaded)
    wanted: Any = mode or "show"
    document = apply_stored_cut(loaded, stored, remotes, wanted, timedelta(hours=max_age))
    output.emit(document, template="cut/apply")
    if document.state in ("ready", "done") or (wanted == "undo" and document.state == "undone"):
        return EXIT_OK
    return EXIT_SOURCE if document.failed else EXIT_BLOCKED


def _remotes(push: tuple[str, ...], project: Project) -> dict[str, str]:
    """Return the remote of each repository: `REMOTE` for all that the project pins, `NAME=REMOTE` for one."""
    everywhere = [item for item in push if "=" not in item]
    if len(everywhere) > 1:
        raise UserError("--push names several remotes for all", next_step="write --push NAME=REMOTE")
    names = {name for pin in project.pins for name in (pin.provider, pin.consumer)}
    found = dict.fromkeys(names, everywhere[0]) if everywhere else {}
    return found | {name: remote for name, _, remote in (item.partition("=") for item in push) if remote}


def _store(
    project: Project,
    trains: Path | None,
    release: str,
    at: str | None,
    save: Path,
    accept: tuple[str, ...],
    output: Output,
) -> int:
    from relmgr.cli.output import write_file
    from relmgr.render.engine import to_json
    from relmgr.workflows.cut_apply import store_cut
    from relmgr.workflows.trains import calendar_of

    reasons = {key: reason.strip() for key, _, reason in (item.partition("=") for item in accept)}
    if empty := [key for key, reason in reasons.items() if not reason]:
        raise UserError(f"--accept {empty[0]}: no reason", next_step="write --accept ITEM=REASON")
    document, stored = store_cut(project, calendar_of(trains), release, instant(at, project), reasons)
    write_file(save, to_json(stored))
    output.emit(document, template="cut/plan")
    for item in stored.blocking:
        click.echo(f"relmgr: not to be applied while open: {item.id}", err=True)
    if stored.blocking:
        click.echo(f"  next: settle them, or store it again with --accept {stored.blocking[0].id}=REASON", err=True)
    return EXIT_BLOCKED if stored.blocking else EXIT_OK


def _emit_merged(document: object, merge: Path, output: Output) -> None:
    from relmgr.workflows.cut import merged_checklist

    text = words_in_force().render("cut/checklist.md.j2", d=document)
    output.write(merged_checklist(merge, text).encode())
