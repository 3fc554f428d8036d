"""`relmgr abi guards`: the consumer's guards on the number, and the patch that removes dead branches."""

from __future__ import annotations

import click

from relmgr.cli.options import Chosen, output_options, pin_option, project_options
from relmgr.cli.output import Output
from relmgr.errors import EXIT_OK, EXIT_SOURCE, UserError


@click.command()
@project_options
@pin_option
@click.option("--ref", metavar="REF", help="Branch, tag or commit of the consumer (default: the default branch).")
@click.option("--releases", metavar="A,B", default="", help="Supported releases: tags, versions, or trains like 5.4.")
@click.option("--patch", is_flag=True, help="Print the diff that removes what no supported number compiles.")
@output_options
def guards(
    chosen: Chosen,
    pin_name: str | None,
    ref: str | None,
    releases: str,
    patch: bool,
    output: Output,
) -> int:
    """Every `#if` of the consumer on the provider's number: which branch is live, which are dead for --releases.

    A branch is live or dead at a number; `unknown` means that another macro decides. The supported numbers of --patch
    are those of --releases and the pinned one; the diff is proven by preprocessing both sides, or refused.
    """
    from relmgr.workflows.guards import patch_guards, study_guards
    from relmgr.workflows.locate import named_pin

    if patch and output.format_ != "text":
        raise UserError("--patch prints a diff, not --format", next_step="leave --format out")
    loaded = chosen.load()
    named = [name.strip() for name in releases.split(",") if name.strip()]
    study = study_guards(loaded, named_pin(loaded, pin_name), ref, named)
    report = study.report
    if patch:
        # A patch may hold any encoding and any line end: its bytes stay as they are.
        diff = patch_guards(study).diff.encode("latin-1")
        if not diff:
            click.echo("relmgr: nothing to remove: no guarded branch is dead for every supported number", err=True)
        output.write(diff)
        return EXIT_OK
    shown = report.guards if output.is_json else report
    output.emit(shown, template="abi/guards")
    for gap in report.gaps:
        click.echo(f"relmgr: {gap}", err=True)
    return EXIT_SOURCE if report.gaps else EXIT_OK
