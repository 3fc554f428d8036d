"""`relmgr smoke run --cluster`."""

from __future__ import annotations

import sys
from typing import Any

import click
from click.core import ParameterSource

from relmgr.cli.cluster_options import JobProgress
from relmgr.cli.options import Chosen
from relmgr.cli.output import Output, write_file
from relmgr.errors import EXIT_BLOCKED, EXIT_OK, EXIT_SOURCE, UserError

_TAKEN = {
    "cluster", "project", "repos", "pin_name", "backend", "arch", "abi", "dtypes", "directions", "layouts",
    "main_forms", "matching_only", "launch_mismatches", "ref", "pinned", "head", "limit", "workers", "resume",
    "json_file", "sign_key", "format_", "out", "quiet",
}  # fmt: skip


def run_on_cluster(context: click.Context) -> int:
    """Run the matrix of every arch as jobs; `context` is that of `smoke run`, with its options.

    Ends with 1 when a job found a wrong result or an uncaught mismatch, with 3 when an answer is missing.
    """
    from relmgr.render.engine import to_json
    from relmgr.workflows.cluster import default_folder, project_arguments
    from relmgr.workflows.cluster_smoke import arch_rows, chosen_archs, report_files, sign_reports, smoke_on
    from relmgr.workflows.locate import named_pin
    from relmgr.workflows.smoke import bind_report

    given: dict[str, Any] = context.params
    _refuse_others(context)
    project = Chosen(given["project"], given["repos"]).load()
    pin = named_pin(project, given["pin_name"])
    archs = chosen_archs(given["cluster"], project, given["arch"])
    binding = bind_report(project, pin, given["abi"], given["ref"], given["pinned"], given["head"])
    what = _jobs(given, project_arguments(project, pin, given["project"]))
    told = JobProgress(quiet=given["quiet"], watched=sys.stderr.isatty())
    folder = given["resume"] or default_folder("smoke")
    document = smoke_on(given["cluster"], project, archs, binding, what, folder, told)
    document = sign_reports(project, document, given["sign_key"])
    if given["json_file"] is not None:
        for file, report in report_files(document, given["json_file"]).items():
            write_file(file, to_json(report))
    output = Output(given["format_"], given["out"], given["quiet"])
    output.emit(document, template="cluster/smoke", rows=arch_rows(document))
    if document.verdict == "passed":
        return EXIT_OK
    return EXIT_BLOCKED if any(job.last.exit_code == EXIT_BLOCKED for job in document.jobs) else EXIT_SOURCE


def _jobs(given: dict[str, Any], arguments: tuple[str, ...]) -> Any:
    from relmgr.smoke.plan import check_selection
    from relmgr.workflows.cluster_smoke import SmokeJobs

    names = (given["dtypes"], given["directions"], given["layouts"])
    selection = check_selection(*names, main_forms=given["main_forms"], mismatches=not given["matching_only"])
    return SmokeJobs(
        arguments=arguments,
        backend=given["backend"],
        selection=selection,
        launch_mismatches=given["launch_mismatches"],
        limit=given["limit"],
        workers=given["workers"],
    )


def _refuse_others(context: click.Context) -> None:
    """Refuse options that say something about one process on one machine."""
    for option in context.command.params:
        name = str(option.name)
        if name not in _TAKEN and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UserError(
                f"{option.opts[0]} does not go with --cluster",
                next_step="leave it out; every job writes junit.xml and matrix.html beside its log",
            )
