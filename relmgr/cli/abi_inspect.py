"""`relmgr abi inspect`: the argument layouts of the kernels in compiled files."""

from __future__ import annotations

from pathlib import Path

import click

from relmgr.cli.options import Chosen, output_options, pin_option, project_options
from relmgr.cli.output import Output
from relmgr.errors import EXIT_SOURCE


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@project_options
@pin_option
@output_options
@click.pass_context
def inspect(
    ctx: click.Context,
    files: tuple[Path, ...],
    chosen: Chosen,
    pin_name: str | None,
    output: Output,
) -> None:
    """Show how the kernels in FILE take their arguments.

    FILE is a code object, a cubin, a Clang offload bundle (plain or compressed), or a program with HIP kernels inside.
    Whose kernel it is, its symbol tells (the contract's pattern); the convention is read from the layout alone.
    Ends with 3 when anything could not be read.
    """
    from relmgr.sources.code_objects.device_file import read_file
    from relmgr.workflows.locate import named_pin

    loaded = chosen.load()
    contract = loaded.contract(named_pin(loaded, pin_name))
    pattern = contract.kernel_symbol if contract else None
    document = [found for file in files for found in read_file(file, pattern)]
    output.emit(document, template="abi/inspect", pattern=pattern)
    if any(found.error for found in document):
        ctx.exit(EXIT_SOURCE)
