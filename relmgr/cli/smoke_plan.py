"""`relmgr smoke plan`."""

from __future__ import annotations

from pathlib import Path

import click

from relmgr.cli.options import output_options, pin_option, project_options, the_project
from relmgr.cli.output import emit
from relmgr.cli.smoke_options import matrix_options


@click.command()
@project_options
@pin_option
@matrix_options
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
    format_: str,
    out: Path | None,
    quiet: bool,
) -> None:
    """The matrix that `smoke run` would launch here: kernels, arguments, and what each cell must end in."""
    from relmgr.smoke.plan import check_selection
    from relmgr.workflows.locate import named_pin
    from relmgr.workflows.smoke import SmokeOptions, matrices, plan_smoke

    loaded = the_project(project, repos)
    chosen = check_selection(dtypes, directions, layouts, main_forms=main_forms, mismatches=not matching_only)
    options = SmokeOptions(arch=arch, selection=chosen, launch_mismatches=launch_mismatches)
    document, choice = plan_smoke(loaded, named_pin(loaded, pin_name), backend, abi, options)
    view = matrices(document.cells)
    emit(document, template="smoke/plan", format_=format_, out=out, quiet=quiet, choice=choice, **view)
