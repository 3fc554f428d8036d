"""`relmgr kdb ticket`: the tickets that get stale kernel databases rebuilt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from relmgr.cli.options import Chosen, at_option, instant, output_options, pin_option, project_options
from relmgr.cli.output import Output, write_file
from relmgr.cli.paths import FILE, FOLDER
from relmgr.cli.posting import post_options, show_posting
from relmgr.cli.trains import trains_option
from relmgr.errors import EXIT_OK, EXIT_SOURCE, UserError

if TYPE_CHECKING:
    from relmgr.model.project import PinConfig, Project
    from relmgr.model.ticket import Tickets
    from relmgr.model.trains import Calendar
    from relmgr.workflows.ticket import TicketInputs


@click.command()
@click.argument("databases", nargs=-1, metavar="[DATABASE]...")
@project_options
@pin_option
@click.option("--train", metavar="NAME", help="The release line (default: the next to be cut).")
@trains_option
@click.option("--ref", metavar="REF", help="Where the databases stand (default: the train's branch, else the default).")
@at_option
@click.option("--scan", "scans", multiple=True, type=FILE, metavar="FILE", help="What `kdb scan --format json` wrote.")
@click.option("--existing", type=FILE, metavar="FILE", help="Tickets that are there already, as a JSON list.")
@click.option("--fill", multiple=True, metavar="NAME=VALUE", help="Fill in a word of the recipe.")
@click.option("--out-dir", type=FOLDER, help="Also write each ticket's text there.")
@post_options
@output_options
def ticket(
    databases: tuple[str, ...],
    chosen: Chosen,
    pin_name: str | None,
    train: str | None,
    calendar: Path | None,
    ref: str | None,
    at: str | None,
    scans: tuple[Path, ...],
    existing: Path | None,
    fill: tuple[str, ...],
    out_dir: Path | None,
    post: bool,
    dry_run: bool,
    output: Output,
) -> int:
    """One regeneration ticket per arch whose kernel databases an ABI crossing made stale, or may have.

    DATABASE is a database to scan now. The tickets are printed; --post files them as issues, or updates, closes and
    reopens those that are there; an issue that --existing names gets one comment instead. Exit code 3 when a fact that
    decides could not be read.
    """
    from relmgr.workflows.locate import named_pin
    from relmgr.workflows.ticket import TicketInputs, regeneration_tickets
    from relmgr.workflows.trains import calendar_of

    loaded = chosen.load()
    given = TicketInputs(scans, databases, existing, fill, ref)
    pin, trains = named_pin(loaded, pin_name), calendar_of(calendar or loaded.trains)
    if post and not dry_run:
        if at:
            raise UserError("--post asks the forge what is there now", next_step="drop --at")
        document = _beside_issues(loaded, pin, trains, train, given)
    else:
        document = regeneration_tickets(loaded, pin, trains, train, instant(at, loaded), given)
    output.emit(document, template="kdb/ticket")
    if out_dir is not None:
        _write_each(document, out_dir)
    code = EXIT_SOURCE if document.gaps else EXIT_OK
    return _post(loaded, document, code, dry_run, output) if post else code


def _beside_issues(
    project: Project, pin: PinConfig, trains: Calendar, train: str | None, given: TicketInputs
) -> Tickets:
    from relmgr.sources.github.client import open_github
    from relmgr.workflows.post import tickets_beside_issues

    return tickets_beside_issues(project, pin, trains, train, given, open_github(project.forge))


def _post(project: Project, document: Tickets, code: int, dry_run: bool, output: Output) -> int:
    from relmgr.render.engine import words_of
    from relmgr.workflows.post import post_tickets, sink_of

    posting = post_tickets(sink_of(project, dry_run=dry_run), document, words_of(project))
    return show_posting(posting, code, output)


def _write_each(document: Tickets, folder: Path) -> None:
    from relmgr.workflows.ticket import ticket_files

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot be made: {error.strerror}", where=str(folder), next_step="give another") from None
    for name, text in ticket_files(document).items():
        write_file(folder / name, text)
