"""`relmgr audit`: replay a consumer's whole history."""

from __future__ import annotations

from pathlib import Path

import click

from relmgr.cli.options import Chosen, at_option, instant, output_options, pin_option, project_options
from relmgr.cli.output import Output, words_in_force, write_file
from relmgr.cli.paths import FILE, NEW_FILE
from relmgr.errors import EXIT_BLOCKED, EXIT_OK


@click.command()
@project_options
@pin_option
@at_option
@click.option("--database", "databases", multiple=True, metavar="PATH", help="Scan these files, folders or globs too.")
@click.option("--pulls", type=FILE, help="Recorded pull requests (JSON).")
@click.option("--html", type=NEW_FILE, help="Also write one self-contained page.")
@click.option("--fail-on", multiple=True, metavar="KIND", help="Exit 1 when a finding of this kind is there.")
@output_options
def audit(
    chosen: Chosen,
    pin_name: str | None,
    at: str | None,
    databases: tuple[str, ...],
    pulls: Path | None,
    html: Path | None,
    fail_on: tuple[str, ...],
    output: Output,
) -> int:
    """Every hazard in a consumer's history, and every release shipped with data older than a crossing."""
    from relmgr.workflows.audit import audit_page, check_kinds, run_audit
    from relmgr.workflows.locate import named_pin

    check_kinds(fail_on)
    loaded = chosen.load()
    document, facts = run_audit(loaded, named_pin(loaded, pin_name), instant(at, loaded), databases, pulls)
    output.emit(document, template="audit/audit")
    if html is not None:
        write_file(html, audit_page(document, facts, words_in_force()))
    return EXIT_BLOCKED if any(finding.kind in fail_on for finding in document.findings) else EXIT_OK
