"""`relmgr smoke run`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from relmgr.cli.cluster_options import cluster_option
from relmgr.cli.options import Chosen, output_options, pin_option, project_options
from relmgr.cli.output import Output, words_in_force, write_file
from relmgr.cli.paths import FILE, NEW_FILE
from relmgr.cli.smoke_options import Matrix, library_options, matrix_options
from relmgr.errors import EXIT_BLOCKED, EXIT_OK, EXIT_SOURCE, UserError

if TYPE_CHECKING:
    from relmgr.model.smoke import CellResult
    from relmgr.workflows.smoke_given import Given
    from relmgr.workflows.smoke_provider import Library


@click.command()
@project_options
@pin_option
@matrix_options
@click.option("--ref", metavar="REF", help="Consumer's ref whose pin is under test (default: the default branch).")
@click.option("--pinned", metavar="REF", help="Provider's ref that the report is bound to (default: the pin's).")
@click.option("--head", metavar="COMMIT", help="Consumer's commit that the report is bound to (default: of --ref).")
@click.option("--limit", type=click.FloatRange(0.1, 600), default=10.0, show_default=True, help="Seconds a launch.")
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Launches at once.")
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    metavar="JOURNAL",
    help="Note finished cells there (with --cluster: jobs, in a folder); run only what is missing.",
)
@cluster_option
@click.option("--json", "json_file", type=NEW_FILE, help="Also write the report, as JSON.")
@click.option("--junit", type=NEW_FILE, help="Also write JUnit XML.")
@click.option("--html", type=NEW_FILE, help="Also write the matrix as one HTML page.")
@click.option("--code-object", type=FILE, help="Launch a kernel of this file instead of the matrix.")
@click.option("--kernel", metavar="NAME", help="With --code-object: which kernel (default: its only one).")
@click.option("--options", "problem", metavar="TEXT", help="With --code-object: the options it was compiled from.")
@click.option("--kdb", type=FILE, help="Launch the kernel of a database's row instead of the matrix.")
@click.option("--row", type=int, metavar="ID", help="With --kdb: which row.")
@click.option("--blocks", type=click.IntRange(1), metavar="N", help="Blocks of that launch; no file tells them.")
@click.option("--block", type=click.IntRange(1, 1024), metavar="N", help="Threads of each block.")
@library_options
@click.option("--sign-key", type=FILE, metavar="KEY", help="Sign the report with this SSH private key.")
@output_options
def run(
    chosen: Chosen,
    pin_name: str | None,
    matrix: Matrix,
    ref: str | None,
    pinned: str | None,
    head: str | None,
    limit: float,
    workers: int,
    resume: Path | None,
    cluster: str | None,
    json_file: Path | None,
    junit: Path | None,
    html: Path | None,
    code_object: Path | None,
    kernel: str | None,
    problem: str | None,
    kdb: Path | None,
    row: int | None,
    blocks: int | None,
    block: int | None,
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
        from relmgr.render.engine import to_json
        from relmgr.render.junit import render_junit
        from relmgr.smoke.report import failed_by_environment
        from relmgr.workflows.locate import named_pin
        from relmgr.workflows.smoke import SmokeOptions, bind_report, run_smoke, run_view, sign_run

        loaded = chosen.load()
        pin = named_pin(loaded, pin_name)
        options = SmokeOptions(
            arch=matrix.arch,
            selection=matrix.selection(),
            launch_mismatches=matrix.launch_mismatches,
            limit=limit,
            journal=resume,
        )
        progress = _Progress(output.quiet or not sys.stderr.isatty())
        binding = bind_report(loaded, pin, matrix.abi, ref, pinned, head)
        given = _given(code_object, kernel, problem, kdb, row, blocks, block)
        if library is not None:
            if library.file is None:
                raise UserError("--miir-header needs --miir-lib here", next_step="a generator: `relmgr smoke plan`")
            from relmgr.smoke.run import Manner
            from relmgr.workflows.smoke_provider import run_provider

            manner = Manner(limit, matrix.launch_mismatches)
            done = run_provider(started, loaded, pin, binding, library, options.selection, manner)
        elif given is None:
            done = run_smoke(started, loaded, pin, binding, options, progress)
        else:
            from relmgr.smoke.report import UNBOUND
            from relmgr.smoke.run import Manner
            from relmgr.workflows.smoke_given import run_given

            manner, unbound = Manner(limit, matrix.launch_mismatches), matrix.abi is None and binding.pin == UNBOUND
            done = run_given(started, loaded, pin, binding, *given, manner, own_number=unbound)
        started.pool.stop()
        done = sign_run(loaded, done, sign_key)
        if json_file is not None:
            write_file(json_file, to_json(done.report))
        if junit is not None:
            write_file(junit, render_junit(done))
        if html is not None:
            write_file(html, words_in_force().render("smoke/run.html.j2", d=done.report, **run_view(done)))
        output.emit(done.report, template="smoke/run", **run_view(done))
    if done.report.verdict == "passed":
        return EXIT_OK
    return EXIT_SOURCE if failed_by_environment(done.results) else EXIT_BLOCKED


def _given(
    code_object: Path | None,
    kernel: str | None,
    problem: str | None,
    kdb: Path | None,
    row: int | None,
    blocks: int | None,
    block: int | None,
) -> tuple[Given, tuple[int, int]] | None:
    """Return the kernel that is to be launched instead of the matrix, and its launch's size; None for the matrix."""
    if code_object is None and kdb is None:
        return None
    from relmgr.workflows.smoke_given import read_code_object_file, read_database_row

    if blocks is None or block is None:
        raise UserError("a launch needs --blocks and --block", next_step="give both, as the provider tells them")
    if kdb is not None:
        if row is None or code_object is not None:
            raise UserError("--kdb needs --row, and no --code-object", next_step="choose a row with `relmgr kdb scan`")
        return read_database_row(kdb, row), (blocks, block)
    if code_object is None or problem is None:
        raise UserError("--code-object needs --options", next_step="give those that the kernel was compiled from")
    return read_code_object_file(code_object, kernel, problem), (blocks, block)


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
