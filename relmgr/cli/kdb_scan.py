"""`relmgr kdb scan`, `diff` and `tuning`: reading databases."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from relmgr.cli.cluster_options import cluster_option
from relmgr.cli.options import Chosen, output_options, pin_option, project_options
from relmgr.cli.output import Output
from relmgr.cli.paths import FILE, FOLDER
from relmgr.errors import EXIT_BLOCKED, EXIT_OK, EXIT_SOURCE

F = TypeVar("F", bound=Callable[..., Any])
MAX_JOBS = 64


def default_jobs() -> int:
    """Return how many threads there are cores for, at most 8."""
    return min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def scan_options(command: F) -> F:
    """Add the options of every command that scans rows."""
    for option in (
        click.option(
            "--jobs", type=click.IntRange(1, MAX_JOBS), default=None, help="Threads (default: cores, up to 8)."
        ),
        click.option("--deep", is_flag=True, help="Read all rows, not only those named like the provider's."),
        click.option("--abi", type=click.IntRange(0), default=None, metavar="N", help="The target ABI number."),
    ):
        command = option(command)
    return command


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@scan_options
@click.option("--fast", is_flag=True, help="Do not check the md5 of every object.")
@click.option("--no-cache", is_flag=True, help="Neither use nor keep results of earlier scans.")
@cluster_option
@click.option(
    "--resume",
    type=FOLDER,
    metavar="FOLDER",
    help="With --cluster: keep the jobs there; run only what is missing.",
)
@project_options
@pin_option
@output_options
def scan(
    files: tuple[str, ...],
    abi: int | None,
    deep: bool,
    jobs: int | None,
    fast: bool,
    no_cache: bool,
    cluster: str | None,
    resume: Path | None,
    chosen: Chosen,
    pin_name: str | None,
    output: Output,
) -> int:
    """Tell what FILE holds: whose kernels, how they take arguments, which rows are stale under an ABI.

    FILE is a database (.kdb, .ukdb, packed or not), a folder that holds some, such as a whole user cache, or a glob.
    Nothing is changed, also in a database that another process has open. Without --abi the number at the pin of --repo.
    Ends with 1 when there are stale rows, else with 3 when something could not be read or told.
    """
    from relmgr.workflows.kdb import scan_databases, scan_rules, target_abi
    from relmgr.workflows.locate import named_pin

    loaded = chosen.load()
    pin = named_pin(loaded, pin_name)
    target = target_abi(loaded, pin, abi)
    if cluster is not None:
        from relmgr.cli.kdb_cluster import scan_on_cluster
        from relmgr.workflows.cluster import ScanOptions

        options = ScanOptions(deep=deep, fast=fast, cache=not no_cache, jobs=jobs)
        document = scan_on_cluster(
            cluster, files, (loaded, pin, chosen.name), target, options, resume, quiet=output.quiet
        )
    elif resume is not None:
        raise click.UsageError("--resume goes with --cluster")
    else:
        rules = scan_rules(loaded, pin, target, fast=fast, deep=deep, jobs=jobs or default_jobs())
        with progress_bar(output.quiet) as progress:
            document = scan_databases(files, target, rules, cache=not no_cache, progress=progress)
    output.emit(document, template="kdb/scan")
    totals = document.totals
    if totals.stale:
        return EXIT_BLOCKED
    return EXIT_SOURCE if totals.pointers or totals.unreadable or totals.corrupt or totals.unknown else EXIT_OK


@click.command()
@click.argument("old", type=FILE)
@click.argument("new", type=FILE)
@project_options
@pin_option
@output_options
def diff(
    old: Path,
    new: Path,
    chosen: Chosen,
    pin_name: str | None,
    output: Output,
) -> int:
    """Tell which rows were added, removed or changed from OLD to NEW, and whose kernels take other arguments.

    A row with new arguments is poison to a library that still packs the old ones, whoever's kernel it is.
    Ends with 3 when a row could not be compared.
    """
    from relmgr.sources.databases.diff import diff_databases
    from relmgr.workflows.locate import named_pin

    loaded = chosen.load()
    contract = loaded.contract(named_pin(loaded, pin_name))
    document = diff_databases(old, new, contract.kernel_symbol if contract else None)
    output.emit(document, template="kdb/diff")
    return EXIT_SOURCE if document.findings else EXIT_OK


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@project_options
@pin_option
@output_options
def tuning(
    files: tuple[str, ...],
    chosen: Chosen,
    pin_name: str | None,
    output: Output,
) -> int:
    """Count the solvers that find-dbs and perf-dbs name, and list entries of removed or disabled ones.

    A database whose find-db names none of the provider's solvers can hardly hold kernels of the provider's.
    Ends with 3 when a file could not be read.
    """
    from relmgr.workflows.kdb import read_tuning
    from relmgr.workflows.locate import named_pin

    loaded = chosen.load()
    document = read_tuning(files, loaded, named_pin(loaded, pin_name))
    output.emit(document, template="kdb/tuning")
    return EXIT_SOURCE if any(file.state != "ok" for file in document.files) else EXIT_OK


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[Path, int, int], None] | None]:
    """Show how far each file is, on standard error and only where that is a terminal."""
    import sys

    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[Path, Any] = {}

        def show(path: Path, done: int, total: int) -> None:
            if path not in tasks:
                tasks[path] = bar.add_task(path.name.replace("[", "\\["), total=total)
            bar.update(tasks[path], completed=done)

        yield show
