"""`relmgr smoke plan`."""

from __future__ import annotations

from pathlib import Path

import click

from relmgr.cli.options import output_options, pin_option, project_options, the_project
from relmgr.cli.output import emit
from relmgr.cli.smoke_options import library_options, matrix_options, the_library
from relmgr.errors import EXIT_BLOCKED, EXIT_OK, UserError


@click.command()
@project_options
@pin_option
@matrix_options
@library_options
@click.option("--build", is_flag=True, help="Compile the kernels for --arch and ask the static gate; no device needed.")
@output_options
def plan(
    project: str | None,
    repos: tuple[str, ...],
    pin_name: str | None,
    backend: str,
    arch: str | None,
    abi: int | None,
    dtypes: tuple[str, ...],
    directions: tuple[str, ...],
    layouts: tuple[str, ...],
    main_forms: bool,
    matching_only: bool,
    launch_mismatches: bool,
    miir_lib: Path | None,
    miir_header: Path | None,
    miir_link: tuple[str, ...],
    build: bool,
    format_: str,
    out: Path | None,
    quiet: bool,
) -> int:
    """The matrix that `smoke run` would launch here: kernels, arguments, and what each cell must end in.

    With --build the kernels are compiled for --arch, and the static gate's answers are shown: ends with 1 when it
    would refuse matching arguments, or let others pass. With --miir-lib they come from the provider's library instead,
    and their convention is checked against its header: ends with 1 when the two do not belong together.
    """
    from relmgr.render.smoke_matrix import show_check, show_plan
    from relmgr.smoke.plan import check_selection
    from relmgr.workflows.locate import named_pin
    from relmgr.workflows.smoke import SmokeOptions, check_smoke, matrices, plan_smoke

    loaded = the_project(project, repos)
    pin = named_pin(loaded, pin_name)
    chosen = check_selection(dtypes, directions, layouts, main_forms=main_forms, mismatches=not matching_only)
    options = SmokeOptions(arch=arch, selection=chosen, launch_mismatches=launch_mismatches)
    library = the_library(miir_lib, miir_header, miir_link)
    if library is not None:
        from relmgr.workflows.smoke_provider import check_library

        if arch is None:
            raise UserError("--miir-lib needs --arch here", next_step="name what to generate for, such as gfx90a")
        provider = check_library(loaded, pin, library, chosen, arch)
        emit(provider, template="smoke/provider", format_=format_, out=out, quiet=quiet)
        return EXIT_OK if provider.agrees else EXIT_BLOCKED
    if build:
        checked = check_smoke(loaded, pin, backend, abi, options)
        view = matrices([answer.cell for answer in checked.cells], show_check(checked.cells))
        emit(checked, template="smoke/check", format_=format_, out=out, quiet=quiet, **view)
        return EXIT_OK if checked.passed else EXIT_BLOCKED
    document, choice = plan_smoke(loaded, pin, backend, abi, options)
    view = matrices(document.cells, show_plan(document.cells))
    emit(document, template="smoke/plan", format_=format_, out=out, quiet=quiet, choice=choice, **view)
    return EXIT_OK
