"""`relmgr notes write`: the section of the change log."""

from __future__ import annotations

from pathlib import Path

import click

from relmgr.cli.notes_options import notes_options
from relmgr.cli.options import Chosen, output_options
from relmgr.cli.output import Output
from relmgr.cli.paths import NEW_FILE


@click.command()
@notes_options
@click.option(
    "--file",
    type=NEW_FILE,
    help="The change log (default: the one in the consumer's work tree).",
)
@click.option("--title", metavar="TITLE", help="The section's title, where the project's setting does not fit.")
@click.option("--adopt", is_flag=True, help="Add to a section that was written by hand; all of its lines stay.")
@click.option("--apply", "apply_", is_flag=True, help="Write the file; without it the change is shown.")
@output_options
def write(
    range_: str,
    chosen: Chosen,
    pin_name: str | None,
    pulls: Path | None,
    github: bool,
    databases: tuple[str, ...],
    file: Path | None,
    title: str | None,
    adopt: bool,
    apply_: bool,
    output: Output,
) -> None:
    """Insert the section of FROM..TO into the change log, or update it. Lines that people wrote or edited stay."""
    from relmgr.workflows.locate import named_pin
    from relmgr.workflows.notes import Asked, take_notes
    from relmgr.workflows.notes_write import plan_changelog

    loaded = chosen.load()
    pin = named_pin(loaded, pin_name)
    notes = take_notes(loaded, pin, range_, Asked(pulls, github, databases))
    document = plan_changelog(loaded, pin, notes, file, title=title, adopt=adopt, apply=apply_)
    output.emit(document, template="notes/write")
