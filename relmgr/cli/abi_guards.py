"""`relmgr abi guards`: the consumer's guards on the number, and the patch that removes dead branches."""

from __future__ import annotations

from pathlib import Path

import click

from relmgr.cli.options import output_options, pin_option, project_options, the_project
from relmgr.cli.output import emit
from relmgr.errors import EXIT_OK, EXIT_SOURCE, UserError


@click.command()
@project_options
@pin_option
@click.option("--ref", metavar="REF", help="Branch, tag or commit of the consumer (default: the default branch).")
@click.option("--releases", metavar="A,B", default="", help="Supported releases: tags, versions, or trains like 5.4.")
@click.option("--patch", is_flag=True, help="Print the diff that removes what no supported number compiles.")
@output_options
def guards(
    project: str | None,
    repos: tuple[str, ...],
    pin_name: str | None,
    ref: str | None,
    releases: str,
    patch: bool,
    format_: str,
    out: Path | None,
    quiet: bool,
) -> int:
    """Every `#if` of the consumer on the provider's number: which branch is live, which are dead for --releases.

    A branch is live or dead at a number; `unknown` means that another macro decides. The supported numbers of --patch
    are those of --releases and the pinned one; the diff is proven by preprocessing both sides, or refused.
    """
    from relmgr.workflows.guards import patch_guards, study_guards
    from relmgr.workflows.locate import named_pin

    if patch and format_ != "text":
        raise UserError("--patch prints a diff, not --format", next_step="leave --format out")
    loaded = the_project(project, repos)
    named = [name.strip() for name in releases.split(",") if name.strip()]
    study = study_guards(loaded, named_pin(loaded, pin_name), ref, named)
    report = study.report
    if patch:
        _write_patch(patch_guards(study).diff.encode("latin-1"), out, quiet)
        return EXIT_OK
    shown = report.guards if format_ == "json" else report
    emit(shown, template="abi/guards", format_=format_, out=out, quiet=quiet)
    for gap in report.gaps:
        click.echo(f"relmgr: {gap}", err=True)
    return EXIT_SOURCE if report.gaps else EXIT_OK


def _write_patch(diff: bytes, out: Path | None, quiet: bool) -> None:
    """Write the diff's bytes as they are: a patch may hold any encoding and any line end."""
    if not diff:
        click.echo("relmgr: nothing to remove: no guarded branch is dead for every supported number", err=True)
    if out is not None:
        try:
            out.write_bytes(diff)
        except OSError as error:
            raise UserError(f"cannot write: {error.strerror}", where=str(out), next_step="give another --out") from None
    elif not quiet:
        click.echo(diff, nl=False)
