"""`relmgr smoke plan`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from relmgr.cli.options import Chosen, output_options, pin_option, project_options
from relmgr.cli.output import Output
from relmgr.cli.smoke_options import Matrix, library_options, matrix_options
from relmgr.errors import EXIT_BLOCKED, EXIT_OK, UserError

if TYPE_CHECKING:
    from relmgr.workflows.smoke_provider import Library


@click.command()
@project_options
@pin_option
@matrix_options
@library_options
@click.option("--build", is_flag=True, help="Compile the kernels for --arch and ask the static gate; no device needed.")
@output_options
def plan(
    chosen: Chosen,
    pin_name: str | None,
    matrix: Matrix,
    library: Library | None,
    build: bool,
    output: Output,
) -> int:
    """The matrix that `smoke run` would launch here: kernels, arguments, and what each cell must end in.

    With --build the kernels are compiled for --arch, and the static gate's answers are shown: ends with 1 when it
    would refuse matching arguments, or let others pass. With --miir-lib they come from the provider's library instead,
    and their convention is checked against its header: ends with 1 when the two do not belong together.
    """
    from relmgr.render.smoke_matrix import show_check, show_plan
    from relmgr.workflows.locate import named_pin
    from relmgr.workflows.smoke import SmokeOptions, check_smoke, matrices, plan_smoke

    loaded = chosen.load()
    pin = named_pin(loaded, pin_name)
    selection = matrix.selection()
    options = SmokeOptions(arch=matrix.arch, selection=selection, launch_mismatches=matrix.launch_mismatches)
    if library is not None:
        from relmgr.workflows.smoke_provider import check_library

        if matrix.arch is None:
            raise UserError("--miir-lib needs --arch here", next_step="name what to generate for, such as gfx90a")
        provider = check_library(loaded, pin, library, selection, matrix.arch)
        output.emit(provider, template="smoke/provider")
        return EXIT_OK if provider.agrees else EXIT_BLOCKED
    if build:
        checked = check_smoke(loaded, pin, matrix.backend, matrix.abi, options)
        view = matrices([answer.cell for answer in checked.cells], show_check(checked.cells))
        output.emit(checked, template="smoke/check", **view)
        return EXIT_OK if checked.passed else EXIT_BLOCKED
    document, choice = plan_smoke(loaded, pin, matrix.backend, matrix.abi, options)
    view = matrices(document.cells, show_plan(document.cells))
    output.emit(document, template="smoke/plan", choice=choice, **view)
    return EXIT_OK
