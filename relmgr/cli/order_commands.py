"""`relmgr order plan | parse`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from relmgr.cli.options import Chosen, output_options, project_options
from relmgr.cli.output import Output, words_in_force
from relmgr.cli.paths import FILE
from relmgr.cli.posting import post_options, show_posting
from relmgr.errors import EXIT_BLOCKED, EXIT_OK, UserError

if TYPE_CHECKING:
    from relmgr.model.project import Project
    from relmgr.model.pull_request import PullRequest

# Enough for the longest body in the widest encoding, and a bound for everything else.
MAX_BODY_BYTES = 4 * 2**20


@click.command()
@click.argument("pulls", nargs=-1, metavar="[PR]...")
@click.option(
    "--snapshot",
    type=FILE,
    help="Recorded JSON file with `pull_requests`, instead of asking the forge.",
)
@click.option("--with-suggestions", is_flag=True, help="Count what prose only suggests as if it were declared.")
@post_options
@project_options
@output_options
def plan(
    pulls: tuple[str, ...],
    snapshot: Path | None,
    with_suggestions: bool,
    post: bool,
    dry_run: bool,
    chosen: Chosen,
    output: Output,
) -> int:
    """Print the merge order of open pull requests: what may merge now, what waits, what nothing orders.

    With PR (owner/repo#number) only those and what they wait for. Exit code 1 where a cycle, a closed pull request or
    a missing fact holds something up.
    """
    from relmgr.workflows.order import plan_pulls, read_pulls

    if post and not dry_run and snapshot is not None:
        raise UserError("--post says what is so now", next_step="drop --snapshot, or add --dry-run")
    loaded = chosen.load()
    read = _on_forge(loaded) if snapshot is None else read_pulls(snapshot)
    document = plan_pulls(loaded, read, pulls, spoken=with_suggestions)
    output.emit(document, template="order/plan")
    code = EXIT_BLOCKED if document.cycles or any(wait.stuck for wait in document.waits) else EXIT_OK
    if not post:
        return code
    from relmgr.workflows.post import post_order, sink_of

    posting = post_order(sink_of(loaded, dry_run=dry_run), document, words_in_force())
    return show_posting(posting, code, output)


def _on_forge(project: Project) -> tuple[PullRequest, ...]:
    from relmgr.sources.github.client import open_github
    from relmgr.workflows.forge import pulls_on_forge

    return pulls_on_forge(project, open_github(project.forge))


@click.command()
@click.option("--repository", required=True, metavar="R", help="The pull request's repository, owner/name.")
@click.option("--number", required=True, type=click.IntRange(min=1), metavar="N", help="Its number.")
@click.option("--body-file", required=True, metavar="F", help="Its body (Markdown), `-` for standard input.")
@project_options
@output_options
def parse(
    repository: str,
    number: int,
    body_file: str,
    chosen: Chosen,
    output: Output,
) -> None:
    """Print what the body declares, what it only speaks of, and what was not understood in it."""
    from relmgr.workflows.order import named, parse_body

    configured = chosen.load()
    document = parse_body(configured, repository, number, _read_body(body_file))
    pull = str(named(configured, repository, number))
    output.emit(document, template="order/parse", pull=pull)


def _read_body(file: str) -> str:
    """Return the text of a body; bytes that are no UTF-8 are replaced, as a forge would."""
    try:
        if file == "-":
            data = sys.stdin.buffer.read(MAX_BODY_BYTES)
        else:
            with Path(file).open("rb") as stream:
                data = stream.read(MAX_BODY_BYTES)
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=file, next_step="give another file") from None
    if b"\0" in data:
        raise UserError("no text: it holds NUL bytes", where=file, next_step="give the body as Markdown")
    return data.decode("utf-8", errors="replace")
