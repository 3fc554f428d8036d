"""`relmgr train`: the trains of the calendar, compared with the repositories."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from relmgr.cli.options import at_option, instant, output_options, project_options, the_project
from relmgr.cli.output import emit
from relmgr.errors import EXIT_BLOCKED, EXIT_OK, EXIT_SOURCE, UserError

if TYPE_CHECKING:
    from relmgr.model.trains import Disagreement

F = TypeVar("F", bound=Callable[..., Any])


def trains_option(command: F) -> F:
    """Add `--trains FILE`, the calendar to read instead of the shipped one."""
    return click.option(
        "--trains",
        "calendar",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="The trains' calendar (default: the project's).",
    )(command)


@click.group(name="train")
def group() -> None:
    """Release trains: cuts, freezes, first tags; calendar against repository."""


@group.command(name="list")
@project_options
@trains_option
@at_option
@output_options
def list_(
    project: str | None,
    repos: tuple[str, ...],
    calendar: Path | None,
    at: str | None,
    format_: str,
    out: Path | None,
    quiet: bool,
) -> int:
    """Every train: planned cut, real cut, last safe day, first tag, ABI number; exit codes as `show`."""
    from relmgr.workflows.trains import calendar_of, list_trains

    loaded = the_project(project, repos)
    rows = list_trains(loaded, calendar_of(calendar or loaded.trains), instant(at, loaded))
    emit(rows, template="train/list", format_=format_, out=out, quiet=quiet)
    return _exit_code(found for row in rows for found in row.disagreements)


@group.command()
@click.argument("name")
@project_options
@trains_option
@at_option
@output_options
def show(
    name: str,
    project: str | None,
    repos: tuple[str, ...],
    calendar: Path | None,
    at: str | None,
    format_: str,
    out: Path | None,
    quiet: bool,
) -> int:
    """One train in every repository at hand; exit code 1 where calendar and repository disagree, 3 where not read."""
    from relmgr.workflows.trains import calendar_of, show_train

    loaded = the_project(project, repos)
    document = show_train(loaded, calendar_of(calendar or loaded.trains), name, instant(at, loaded))
    emit(document, template="train/show", format_=format_, out=out, quiet=quiet)
    return _exit_code(document.disagreements)


@group.command()
@click.argument("names", nargs=-1)
@project_options
@trains_option
@click.option("--at", metavar="DATETIME", help="The dates' revision stamp (default: when the calendar file changed).")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write there instead of to the terminal.")
def ical(
    names: tuple[str, ...],
    project: str | None,
    repos: tuple[str, ...],
    calendar: Path | None,
    at: str | None,
    out: Path | None,
) -> int:
    """The trains' dates as an iCalendar file, to subscribe to."""
    from relmgr.workflows.trains import calendar_of, trains_as_icalendar

    loaded = the_project(project, repos)
    text = trains_as_icalendar(loaded, calendar_of(calendar or loaded.trains), names, instant(at, loaded), calendar)
    if out is None:
        click.echo(text.encode(), nl=False)
        return EXIT_OK
    try:
        out.write_bytes(text.encode())
    except OSError as error:
        raise UserError(f"cannot write: {error.strerror}", where=str(out), next_step="give another --out") from None
    return EXIT_OK


def _exit_code(found: Iterable[Disagreement]) -> int:
    outcomes = {disagreement.outcome.value for disagreement in found}
    return EXIT_BLOCKED if "failed" in outcomes else EXIT_SOURCE if outcomes else EXIT_OK
