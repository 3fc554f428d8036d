"""The options of everything that posts, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from relmgr.cli.output import Output
from relmgr.errors import EXIT_SOURCE

if TYPE_CHECKING:
    from relmgr.model.actions import Posting

F = TypeVar("F", bound=Callable[..., Any])


def post_options(command: F) -> F:
    """Add `--post` and `--dry-run`."""
    post = click.option("--post", is_flag=True, help="Make the forge say so (needs GITHUB_TOKEN, or an App's key).")
    dry = click.option("--dry-run", is_flag=True, help="With --post: only show what would be posted.")
    return post(dry(command))


def show_posting(posting: Posting, code: int, output: Output) -> int:
    """Print what became of each action; return `code`, or 3 when something could not be posted."""
    # The document itself is on standard output; with JSON nothing else may be.
    if not output.quiet and not output.is_json:
        Output(output.format_).emit(posting, template="post/posting")
    elif not posting.is_whole:
        for one in posting.done:
            if one.outcome == "not-posted":
                click.echo(f"relmgr: not posted: {one.kind} {one.target}: {one.why}", err=True)
    return code if posting.is_whole else EXIT_SOURCE
