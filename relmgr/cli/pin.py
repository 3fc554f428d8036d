"""`relmgr pin`: the compiler pin now, over history, and its safety checks."""

from __future__ import annotations

from pathlib import Path

import click

from relmgr.cli.options import (
    Chosen,
    at_option,
    instant,
    output_options,
    pin_option,
    project_options,
    range_options,
)
from relmgr.cli.output import Output
from relmgr.cli.paths import FILE
from relmgr.cli.pin_bisect import bisect
from relmgr.cli.pin_bump import bump
from relmgr.errors import EXIT_BLOCKED, EXIT_OK, EXIT_SOURCE, UserError


@click.group(name="pin")
def group() -> None:
    """The compiler pin: now, over history, and its safety checks."""


group.add_command(bump)
group.add_command(bisect)


@group.command()
@project_options
@pin_option
@range_options
@output_options
def history(
    chosen: Chosen,
    pin_name: str | None,
    ref: str | None,
    all_refs: bool,
    release_branches: bool,
    include_pulls: bool,
    output: Output,
) -> int:
    """Every change of the pin, oldest first, with its kinds and what it did to the kernel ABI."""
    from relmgr.workflows.locate import named_pin
    from relmgr.workflows.pins import show_history

    loaded = chosen.load()
    document = show_history(
        loaded, named_pin(loaded, pin_name), ref=ref, every_ref=all_refs, releases=release_branches, pulls=include_pulls
    )
    shown = document.changes if output.is_json else document
    output.emit(shown, template="pin/history")
    for gap in document.gaps:
        click.echo(f"relmgr: {gap.commit[:12]}: {gap.path} could not be read ({gap.reason})", err=True)
    return EXIT_SOURCE if document.gaps else EXIT_OK


@group.command()
@project_options
@pin_option
@click.option("--ref", metavar="REF", help="Branch, tag or commit (default: the default branch).")
@at_option
@output_options
def show(
    chosen: Chosen,
    pin_name: str | None,
    ref: str | None,
    at: str | None,
    output: Output,
) -> int:
    """The pin at a ref: every site, what its ref means, the ABI number, the age."""
    from relmgr.workflows.locate import named_pin
    from relmgr.workflows.pins import show_pin

    loaded = chosen.load()
    document = show_pin(loaded, named_pin(loaded, pin_name), ref, instant(at, loaded))
    output.emit(document, template="pin/show")
    return EXIT_SOURCE if document.gaps else EXIT_OK


@group.command()
@project_options
@pin_option
@click.option("--ref", metavar="REF", help="Branch, tag or commit (default: the default branch).")
@click.option("--archive", type=FILE, help="The pinned ref's archive, for its digest.")
@click.option("--download", is_flag=True, help="Read that archive from the forge.")
@at_option
@output_options
def check(
    chosen: Chosen,
    pin_name: str | None,
    ref: str | None,
    archive: Path | None,
    download: bool,
    at: str | None,
    output: Output,
) -> int:
    """Every safety check on the current pin; exit code 1 when one blocks."""
    from relmgr.sources.pins.archive import ArchiveFile, ArchiveSource
    from relmgr.sources.pins.download import forge_archives
    from relmgr.workflows.locate import named_pin
    from relmgr.workflows.pins import check_pin

    if archive and download:
        raise UserError("--archive is there already", next_step="drop --download")
    loaded = chosen.load()
    source: ArchiveSource | None = ArchiveFile(archive) if archive else None
    source = forge_archives(loaded.forge) if download else source
    document = check_pin(loaded, named_pin(loaded, pin_name), ref, instant(at, loaded), source)
    output.emit(document, template="pin/check")
    return EXIT_BLOCKED if document.blocks else EXIT_OK
