"""`relmgr train`: the trains of the calendar, compared with the repositories."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from relmgr.cli.options import Chosen, at_option, instant, output_options, project_options
from relmgr.cli.output import Output
from relmgr.cli.paths import FILE, NEW_FILE
from relmgr.errors import EXIT_BLOCKED, EXIT_OK, EXIT_SOURCE

if TYPE_CHECKING:
    from relmgr.model.trains import Disagreement

F = TypeVar("F", bound=Callable[..., Any])


def trains_option(command: F) -> F:
    """Add `--trains FILE`, the calendar to read instead of the shipped one."""
    return click.option(
        "--trains",
        "calendar",
        type=FILE,
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
    chosen: Chosen,
    calendar: Path | None,
    at: str | None,
    output: Output,
) -> int:
    """Every train: planned cut, real cut, last safe day, first tag, ABI number; exit codes as `show`."""
    from relmgr.workflows.trains import calendar_of, list_trains

    loaded = chosen.load()
    rows = list_trains(loaded, calendar_of(calendar or loaded.trains), instant(at, loaded))
    output.emit(rows, template="train/list")
    return _exit_code(found for row in rows for found in row.disagreements)


@group.command()
@click.argument("name")
@project_options
@trains_option
@at_option
@output_options
def show(
    name: str,
    chosen: Chosen,
    calendar: Path | None,
    at: str | None,
    output: Output,
) -> int:
    """One train in every repository at hand; exit code 1 where calendar and repository disagree, 3 where not read."""
    from relmgr.workflows.trains import calendar_of, show_train

    loaded = chosen.load()
    document = show_train(loaded, calendar_of(calendar or loaded.trains), name, instant(at, loaded))
    output.emit(document, template="train/show")
    return _exit_code(document.disagreements)


@group.command()
@click.argument("names", nargs=-1)
@project_options
@trains_option
@click.option("--at", metavar="DATETIME", help="The dates' revision stamp (default: when the calendar file changed).")
@click.option("--out", type=NEW_FILE, help="Write there instead of to the terminal.")
def ical(
    names: tuple[str, ...],
    chosen: Chosen,
    calendar: Path | None,
    at: str | None,
    out: Path | None,
) -> None:
    """The trains' dates as an iCalendar file, to subscribe to."""
    from relmgr.workflows.trains import calendar_of, trains_as_icalendar

    loaded = chosen.load()
    text = trains_as_icalendar(loaded, calendar_of(calendar or loaded.trains), names, instant(at, loaded), calendar)
    Output("text", out).write(text.encode())


def _exit_code(found: Iterable[Disagreement]) -> int:
    outcomes = {disagreement.outcome.value for disagreement in found}
    return EXIT_BLOCKED if "failed" in outcomes else EXIT_SOURCE if outcomes else EXIT_OK
