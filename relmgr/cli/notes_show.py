"""`relmgr notes show` and `relmgr notes check`."""

from __future__ import annotations

from pathlib import Path

import click

from relmgr.cli.notes_options import notes_options
from relmgr.cli.options import Chosen, output_options
from relmgr.cli.output import Output
from relmgr.cli.paths import FILE, NEW_FILE
from relmgr.errors import EXIT_BLOCKED, EXIT_OK

FORMS = ["text", "json", "markdown", "rocm", "github", "html"]


@click.command()
@notes_options
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMS),
    default="text",
    help="rocm: the change log's section; github: a release's body.",
)
@click.option("--out", type=NEW_FILE, help="Write there instead of to the terminal.")
@click.option("--quiet", is_flag=True, help="Print only errors.")
def show(
    range_: str,
    chosen: Chosen,
    pin_name: str | None,
    pulls: Path | None,
    github: bool,
    databases: tuple[str, ...],
    format_: str,
    out: Path | None,
    quiet: bool,
) -> None:
    """What FROM..TO brings: changes, kernel ABI, databases, open findings, the provider's commits.

    A release tag alone means: since the release before it; a train such as 5.4: since the train before it.
    """
    from relmgr.workflows.locate import named_pin
    from relmgr.workflows.notes import Asked, notes_text, take_notes

    loaded = chosen.load()
    notes = take_notes(loaded, named_pin(loaded, pin_name), range_, Asked(pulls, github, databases))
    Output(format_, out, quiet).write(notes_text(loaded, notes, format_))


@click.command()
@notes_options
@click.option(
    "--pull-request",
    type=click.IntRange(min=1),
    metavar="N",
    help="Only this pull request: the range is its, or holds its merge.",
)
@click.option("--file", type=FILE, help="Check this change log.")
@click.option("--changelog-ref", metavar="REF", help="Check the change log as it stands at REF.")
@output_options
def check(
    range_: str,
    chosen: Chosen,
    pin_name: str | None,
    pulls: Path | None,
    github: bool,
    databases: tuple[str, ...],
    pull_request: int | None,
    file: Path | None,
    changelog_ref: str | None,
    output: Output,
) -> int:
    """What changed in FROM..TO and is not told in the change log at TO; exit code 1 when something must be written.

    With --pull-request the range is one pull request's, or holds the commit that merged it; its entry is shown as it
    will read.
    """
    from relmgr.workflows.locate import named_pin
    from relmgr.workflows.notes import Asked
    from relmgr.workflows.notes_check import check_notes

    loaded = chosen.load()
    pin = named_pin(loaded, pin_name)
    document = check_notes(
        loaded,
        pin,
        range_,
        Asked(pulls, github, databases),
        pull_request=pull_request,
        changelog=file or changelog_ref,
    )
    output.emit(document, template="notes/check")
    return EXIT_BLOCKED if document.fails else EXIT_OK
