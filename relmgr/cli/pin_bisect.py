"""`relmgr pin bisect`: the first bad commit of the provider."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from relmgr.cli.options import Chosen, output_options, pin_option, project_options
from relmgr.cli.output import Output
from relmgr.errors import EXIT_BLOCKED, EXIT_OK

if TYPE_CHECKING:
    from relmgr.model.bisect import Trial


@click.command()
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND...", type=click.UNPROCESSED)
@click.option("--good", metavar="REF", help="A commit at which COMMAND passes (default: the pin before its last move).")
@click.option("--bad", metavar="REF", help="A later one at which it fails (default: the pin after it).")
@click.option(
    "--seconds",
    default=3600.0,
    show_default=True,
    type=click.FloatRange(min=0.1),
    help="A trial that takes longer is skipped.",
)
@project_options
@pin_option
@output_options
def bisect(
    command: tuple[str, ...],
    good: str | None,
    bad: str | None,
    seconds: float,
    chosen: Chosen,
    pin_name: str | None,
    output: Output,
) -> int:
    """Find the first commit of the provider at which COMMAND fails.

    COMMAND runs in a work tree of the provider (RELMGR_COMMIT names the commit): 0 is good, 1 to 124 bad; 125, what
    cannot be run, a signal or too long a run is skipped. Exit code 1 when skipped commits leave several candidates.
    """
    from relmgr.workflows.bisect import bisect_pin
    from relmgr.workflows.locate import named_pin

    def told(trial: Trial) -> None:
        if not output.quiet:
            click.echo(f"{trial.outcome}: {trial.commit[:12]} {trial.why}".rstrip(), err=True)

    loaded = chosen.load()
    document = bisect_pin(loaded, named_pin(loaded, pin_name), good, bad, command, seconds, told)
    output.emit(document, template="pin/bisect")
    return EXIT_OK if document.first_bad else EXIT_BLOCKED
