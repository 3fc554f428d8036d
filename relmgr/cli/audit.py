"""`relmgr audit`: replay a consumer's whole history."""

from __future__ import annotations

from pathlib import Path

import click

from relmgr.cli.options import at_option, instant, output_options, pin_option, project_options, the_project
from relmgr.cli.output import emit, write_text
from relmgr.errors import EXIT_BLOCKED, EXIT_OK


@click.command()
@project_options
@pin_option
@at_option
@click.option("--database", "databases", multiple=True, metavar="PATH", help="Scan these files, folders or globs too.")
@click.option("--pulls", type=click.Path(dir_okay=False, path_type=Path), help="Recorded pull requests (JSON).")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Also write one self-contained page.")
@click.option("--fail-on", multiple=True, metavar="KIND", help="Exit 1 when a finding of this kind is there.")
@output_options
def audit(
    project: str | None,
    repos: tuple[str, ...],
    pin_name: str | None,
    at: str | None,
    databases: tuple[str, ...],
    pulls: Path | None,
    html: Path | None,
    fail_on: tuple[str, ...],
    format_: str,
    out: Path | None,
    quiet: bool,
) -> int:
    """Every hazard in a consumer's history, and every release shipped with data older than a crossing."""
    from relmgr.workflows.audit import audit_page, check_kinds, run_audit
    from relmgr.workflows.locate import named_pin

    check_kinds(fail_on)
    loaded = the_project(project, repos)
    document, facts = run_audit(loaded, named_pin(loaded, pin_name), instant(at, loaded), databases, pulls)
    emit(document, template="audit/audit", format_=format_, out=out, quiet=quiet)
    if html is not None:
        write_text(html, audit_page(document, facts))
    return EXIT_BLOCKED if any(finding.kind in fail_on for finding in document.findings) else EXIT_OK
