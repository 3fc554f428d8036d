"""`relmgr pin bump`: move a pin, safely and in all its sites."""

from __future__ import annotations

from pathlib import Path

import click

from relmgr.cli.options import Chosen, output_options, pin_option, project_options
from relmgr.cli.output import Output
from relmgr.cli.posting import show_posting
from relmgr.errors import EXIT_BLOCKED, EXIT_OK, UserError


@click.command()
@click.option("--to", required=True, metavar="REF", help="Commit, tag or branch of the provider (a branch: its tip).")
@click.option("--also", multiple=True, metavar="NAME=REF", help="Where another pin of the same group goes.")
@click.option("--base", metavar="BRANCH", help="The consumer's branch (default: its default branch).")
@click.option(
    "--archive", type=click.Path(dir_okay=False, path_type=Path), help="The new ref's archive, for the pin's digest."
)
@click.option("--drop-digest", is_flag=True, help="Remove the pin's digest.")
@click.option("--allow-rollback", metavar="REASON", help="Move back, or aside, on purpose.")
@click.option("--allow-reverted", metavar="REASON", help="Propose a ref again whose bump was reverted.")
@click.option("--apply", "applies", is_flag=True, help="Commit it on a branch of its own (nothing else is touched).")
@click.option("--pull-request", is_flag=True, help="Also push the branch, and open or update its pull request.")
@project_options
@pin_option
@output_options
def bump(
    to: str,
    also: tuple[str, ...],
    base: str | None,
    archive: Path | None,
    drop_digest: bool,
    allow_rollback: str | None,
    allow_reverted: str | None,
    applies: bool,
    pull_request: bool,
    chosen: Chosen,
    pin_name: str | None,
    output: Output,
) -> int:
    """Plan moving the pin in all of its sites; --apply commits it. Exit code 1 when a check refuses it."""
    from relmgr.render.bump import abi_line
    from relmgr.render.comment import quoted
    from relmgr.sources.pins.bump import Target
    from relmgr.workflows.bump import apply_bump, plan_bump, post_bump
    from relmgr.workflows.locate import named_pin
    from relmgr.workflows.post import sink_of

    loaded = chosen.load()
    pin = named_pin(loaded, pin_name)
    target = Target(pin, to, archive, drop_digest, allow_rollback, allow_reverted)
    prepared = plan_bump(loaded, target, _pairs(also), base)
    plan = prepared.plan
    writes = (applies or pull_request) and not plan.is_noop and not plan.refusals
    done = apply_bump(prepared, push=pull_request) if writes else None
    output.emit(plan, template="pin/bump", done=done, abi_line=abi_line, q=quoted)
    if plan.is_noop:
        return EXIT_OK
    if plan.refusals:
        return EXIT_BLOCKED
    if not pull_request:
        return EXIT_OK
    posting = post_bump(sink_of(loaded, dry_run=False), loaded, pin, plan)
    return show_posting(posting, EXIT_OK, output)


def _pairs(also: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for item in also:
        name, equals, ref = item.partition("=")
        if not equals or not name or not ref:
            raise UserError(f"--also {item!r} is not NAME=REF", next_step="write for example --also rocmlir=rocm-6.0.0")
        pairs[name] = ref
    return pairs
