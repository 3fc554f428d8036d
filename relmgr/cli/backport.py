"""`relmgr backport`: take a change to a release branch, or list the reverts that release branches lack."""

from __future__ import annotations

import click

from relmgr.cli.options import Chosen, output_options, project_options
from relmgr.cli.output import Output
from relmgr.errors import EXIT_BLOCKED, EXIT_OK, UserError


@click.command(name="backport")
@click.argument("change", metavar="COMMIT|OWNER/REPO#N", required=False)
@click.option("--to", "branch", metavar="BRANCH", help="The branch it goes to, by its whole name.")
@click.option(
    "-m", "--mainline", type=click.IntRange(min=1), metavar="N", help="A merge: the parent to take it against."
)
@click.option("--as", "topic", metavar="NEW-BRANCH", help="Make it a new branch from BRANCH, for a pull request.")
@click.option("--in", "inside", metavar="NAME", help="The configured repository to look in.")
@click.option("--reverts", is_flag=True, help="List changes that were reverted and are still on release branches.")
@click.option("--apply", "apply_", is_flag=True, help="Commit it; otherwise nothing is changed.")
@project_options
@output_options
def backport(
    change: str | None,
    branch: str | None,
    mainline: int | None,
    topic: str | None,
    inside: str | None,
    reverts: bool,
    apply_: bool,
    chosen: Chosen,
    output: Output,
) -> int:
    """Take a change to a release branch; exit code 1 when it conflicts, or something speaks against it."""
    from relmgr.workflows import backport as workflow

    loaded = chosen.load()
    if inside is not None and inside not in loaded.repositories:
        raise UserError(f"--in {inside}: no such repository", next_step=f"use one of: {', '.join(loaded.repositories)}")
    if reverts:
        if change or apply_ or topic or mainline:
            raise UserError("--reverts only lists", next_step="give --to BRANCH at most")
        found = workflow.missing_reverts(loaded, branch, inside)
        output.emit(found, template="backport/reverts")
        return EXIT_BLOCKED if found else EXIT_OK
    if change is None or branch is None:
        raise UserError("a change and --to BRANCH are needed", next_step="relmgr backport owner/repo#1 --to BRANCH")
    document = workflow.backport(loaded, change, branch, mainline=mainline, topic=topic, inside=inside, apply=apply_)
    output.emit(document, template="backport/backport")
    return EXIT_BLOCKED if document.state in ("conflict", "blocked") else EXIT_OK
