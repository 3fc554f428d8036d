"""`relmgr status`: one page on where things stand, or the compatibility table of all releases."""

from __future__ import annotations

from pathlib import Path

import click

from relmgr.cli.options import at_option, instant, output_options, pin_option, project_options, the_project
from relmgr.cli.output import emit


@click.command()
@project_options
@pin_option
@at_option
@click.option("--releases", is_flag=True, help="The table release x pin x number x convention x databases.")
@output_options
def status(
    project: str | None,
    repos: tuple[str, ...],
    pin_name: str | None,
    at: str | None,
    releases: bool,
    format_: str,
    out: Path | None,
    quiet: bool,
) -> None:
    """The pin, the ABI number, the last crossing, the databases: on one page."""
    from relmgr.workflows.locate import named_pin
    from relmgr.workflows.status import compatibility, show_status

    loaded = the_project(project, repos)
    pin = named_pin(loaded, pin_name)
    if releases:
        emit(compatibility(loaded, pin), template="status/releases", format_=format_, out=out, quiet=quiet)
    else:
        emit(
            show_status(loaded, pin, instant(at, loaded)),
            template="status/status",
            format_=format_,
            out=out,
            quiet=quiet,
        )
