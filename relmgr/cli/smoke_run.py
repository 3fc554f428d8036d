"""`relmgr smoke run`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from relmgr.cli.cluster_options import cluster_option
from relmgr.cli.options import Chosen, output_options, pin_option, project_options
from relmgr.cli.output import Output
from relmgr.cli.paths import FILE
from relmgr.cli.smoke_given import Bound, GivenKernel, ReportFiles, bound_options, file_options, given_options
from relmgr.cli.smoke_options import Matrix, library_options, matrix_options
from relmgr.errors import EXIT_BLOCKED, EXIT_OK, EXIT_SOURCE, UserError

if TYPE_CHECKING:
    from relmgr.model.project import PinConfig, Project
    from relmgr.model.smoke import CellResult, SmokeRun
    from relmgr.smoke.report import Binding
    from relmgr.smoke.start import Started
    from relmgr.workflows.smoke import SmokeOptions
    from relmgr.workflows.smoke_provider import Library


@click.command()
@project_options
@pin_option
@matrix_options
@bound_options
@click.option("--limit", type=click.FloatRange(0.1, 600), default=10.0, show_default=True, help="Seconds a launch.")
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Launches at once.")
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    metavar="JOURNAL",
    help="Note finished cells there (with --cluster: jobs, in a folder); run only what is missing.",
)
@cluster_option
@file_options
@given_options
@library_options
@click.option("--sign-key", type=FILE, metavar="KEY", help="Sign the report with this SSH private key.")
@output_options
def run(
    chosen: Chosen,
    pin_name: str | None,
    matrix: Matrix,
    bound: Bound,
    limit: float,
    workers: int,
    resume: Path | None,
    cluster: str | None,
    files: ReportFiles,
    given: GivenKernel,
    library: Library | None,
    sign_key: Path | None,
    output: Output,
) -> int:
    """Build small kernels under the ABI, launch them with matching arguments, refuse the others; judge every cell.

    Ends with 1 for a wrong result or a mismatch that was not caught, with 3 when the device gave no answer. Reports are
    signed when a key is given here, or a secret stands in the environment variable that the project names.
    """
    if cluster is not None:
        from relmgr.cli.smoke_cluster import run_on_cluster

        return run_on_cluster(click.get_current_context())
    from relmgr.smoke.start import start_workers

    # First of all, so that devices open while the rest of the program is read.
    with start_workers(matrix.backend, workers) as started:
        from relmgr.smoke.report import failed_by_environment
        from relmgr.workflows.locate import named_pin
        from relmgr.workflows.smoke import SmokeOptions, bind_report, run_view, sign_run

        loaded = chosen.load()
        pin = named_pin(loaded, pin_name)
        options = SmokeOptions(
            arch=matrix.arch,
            selection=matrix.selection(),
            launch_mismatches=matrix.launch_mismatches,
            limit=limit,
            journal=resume,
        )
        binding = bind_report(loaded, pin, matrix.abi, bound.ref, bound.pinned, bound.head)
        told = _Progress(output.quiet or not sys.stderr.isatty())
        done = _carry_out(started, loaded, pin, binding, matrix, options, given, library, told)
        started.pool.stop()
        done = sign_run(loaded, done, sign_key)
        files.write(done)
        output.emit(done.report, template="smoke/run", **run_view(done))
    if done.report.verdict == "passed":
        return EXIT_OK
    return EXIT_SOURCE if failed_by_environment(done.results) else EXIT_BLOCKED


def _carry_out(
    started: Started,
    project: Project,
    pin: PinConfig,
    binding: Binding,
    matrix: Matrix,
    options: SmokeOptions,
    given: GivenKernel,
    library: Library | None,
    told: _Progress,
) -> SmokeRun:
    """Run what was asked for: the kernels of a library, one that is at hand, or the matrix."""
    from relmgr.smoke.report import UNBOUND
    from relmgr.smoke.run import Manner

    existing = given.read()
    manner = Manner(options.limit, options.launch_mismatches)
    if library is not None:
        if library.file is None:
            raise UserError("--miir-header needs --miir-lib here", next_step="a generator: `relmgr smoke plan`")
        from relmgr.workflows.smoke_provider import run_provider

        return run_provider(started, project, pin, binding, library, options.selection, manner)
    if existing is not None:
        from relmgr.workflows.smoke_given import run_given

        own_number = matrix.abi is None and binding.pin == UNBOUND
        return run_given(started, project, pin, binding, *existing, manner, own_number=own_number)
    from relmgr.workflows.smoke import run_smoke

    return run_smoke(started, project, pin, binding, options, told)


class _Progress:
    """Counts finished cells on standard error, in one line that is rewritten; `silent` where nobody watches."""

    def __init__(self, silent: bool) -> None:
        self.silent = silent
        self.count = self.bad = 0

    def __call__(self, result: CellResult, total: int) -> None:
        self.count += 1
        self.bad += not result.as_expected
        bad = f", {self.bad} not as they must be" if self.bad else ""
        if not self.silent:
            click.echo(f"\r{self.count}/{total} cells{bad} ", nl=self.count == total, err=True)
