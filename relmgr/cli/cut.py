"""`relmgr cut`: what must be true before a release branch is cut."""

from __future__ import annotations

from pathlib import Path

import click

from relmgr.cli.options import at_option, instant, output_options, project_options, the_project
from relmgr.cli.output import emit
from relmgr.cli.trains import trains_option
from relmgr.errors import EXIT_BLOCKED, EXIT_OK, UserError


@click.group(name="cut")
def group() -> None:
    """What must be true before a branch is cut: plan and checklist."""


@group.command()
@click.argument("release")
@project_options
@trains_option
@at_option
@output_options
def plan(
    release: str,
    project: str | None,
    repos: tuple[str, ...],
    calendar: Path | None,
    at: str | None,
    format_: str,
    out: Path | None,
    quiet: bool,
) -> int:
    """The branches to cut, in order, and what still blocks each; exit code 1 when something does."""
    from relmgr.workflows.cut import cut_plan
    from relmgr.workflows.trains import calendar_of

    loaded = the_project(project, repos)
    document = cut_plan(loaded, calendar_of(calendar or loaded.trains), release, instant(at, loaded))
    emit(document, template="cut/plan", format_=format_, out=out, quiet=quiet)
    return EXIT_BLOCKED if any(step.state == "blocked" for step in document.steps) else EXIT_OK


@group.command()
@click.argument("release")
@project_options
@trains_option
@at_option
@click.option(
    "--merge",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Keep the ticks and notes that people made in this checklist (implies --format markdown).",
)
@output_options
def checklist(
    release: str,
    project: str | None,
    repos: tuple[str, ...],
    calendar: Path | None,
    at: str | None,
    merge: Path | None,
    format_: str,
    out: Path | None,
    quiet: bool,
) -> int:
    """What must be true before the branch is cut: done from evidence, open, or for a person to tell."""
    from relmgr.workflows.cut import cut_checklist
    from relmgr.workflows.trains import calendar_of

    if merge is not None and format_ == "json":
        raise UserError("--merge renders Markdown", next_step="drop --format json")
    loaded = the_project(project, repos)
    document = cut_checklist(loaded, calendar_of(calendar or loaded.trains), release, instant(at, loaded))
    if merge is None:
        emit(document, template="cut/checklist", format_=format_, out=out, quiet=quiet)
        return EXIT_OK
    _emit_merged(document, merge, out, quiet)
    return EXIT_OK


def _emit_merged(document: object, merge: Path, out: Path | None, quiet: bool) -> None:
    from relmgr.render.engine import render
    from relmgr.workflows.cut import merged_checklist

    text = merged_checklist(merge, render("cut/checklist.md.j2", d=document)).encode()
    if out is None:
        if not quiet:
            click.echo(text, nl=False)
        return
    try:
        out.write_bytes(text)
    except OSError as error:
        raise UserError(f"cannot write: {error.strerror}", where=str(out), next_step="give another --out") from None
