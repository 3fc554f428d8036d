"""Options that the `relmgr notes` commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from relmgr.cli.options import pin_option, project_options
from relmgr.cli.paths import FILE

F = TypeVar("F", bound=Callable[..., Any])


def notes_options(command: F) -> F:
    """Add the range, and the options that say what notes are made from."""
    for decorator in (
        click.option(
            "--database", "databases", multiple=True, metavar="PATH", help="Scan these files or folders, of both ends."
        ),
        click.option(
            "--pulls",
            type=FILE,
            metavar="FILE",
            help="Recorded pull requests (JSON list: number, title, body, labels).",
        ),
        click.option("--github", is_flag=True, help="Ask GitHub for descriptions and labels (GITHUB_TOKEN)."),
        pin_option,
        project_options,
        click.argument("range_", metavar="FROM..TO"),
    ):
        command = decorator(command)
    return command
