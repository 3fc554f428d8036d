"""`relmgr status`: one page on where things stand, or the compatibility table of all releases."""

from __future__ import annotations

import click

from relmgr.cli.options import Chosen, at_option, instant, output_options, pin_option, project_options
from relmgr.cli.output import Output


@click.command()
@project_options
@pin_option
@at_option
@click.option("--releases", is_flag=True, help="The table release x pin x number x convention x databases.")
@output_options
def status(
    chosen: Chosen,
    pin_name: str | None,
    at: str | None,
    releases: bool,
    output: Output,
) -> None:
    """The pin, the ABI number, the last crossing, the databases: on one page."""
    from relmgr.workflows.locate import named_pin
    from relmgr.workflows.status import compatibility, show_status

    loaded = chosen.load()
    pin = named_pin(loaded, pin_name)
    if releases:
        output.emit(compatibility(loaded, pin), template="status/releases")
    else:
        output.emit(show_status(loaded, pin, instant(at, loaded)), template="status/status")
