"""`relmgr kdb scan --cluster`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from relmgr.cli.cluster_options import JobProgress

if TYPE_CHECKING:
    from relmgr.model.kernel_db import KdbScan
    from relmgr.model.project import PinConfig, Project
    from relmgr.workflows.cluster import ScanOptions
    from relmgr.workflows.kdb import Target


def scan_on_cluster(
    cluster: Any,
    files: tuple[str, ...],
    loaded: tuple[Project, PinConfig, str | None],
    target: Target,
    options: ScanOptions,
    folder: Path | None,
    *,
    quiet: bool,
) -> KdbScan:
    """Scan `files` as jobs; `loaded` is the project, its pin, and how the project was named."""
    from relmgr.workflows.cluster import default_folder, project_arguments, scan_on

    project, pin, given = loaded
    arguments = project_arguments(project, pin, given)
    told = JobProgress(quiet=quiet, watched=sys.stderr.isatty())
    chosen = folder or default_folder("scan")
    document, reports = scan_on(cluster, files, project, arguments, target, options, chosen, told)
    if not quiet and any(report.outcome != "done" for report in reports):
        click.echo(f"Logs: {chosen}/jobs/. With --resume {chosen} only what is missing runs.", err=True)
    return document
