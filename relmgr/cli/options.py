"""Options that many commands share, and the objects they become."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from relmgr.errors import UserError

if TYPE_CHECKING:
    from relmgr.model.project import Project

F = TypeVar("F", bound=Callable[..., Any])


def _stack(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    def apply(command: F) -> F:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return apply


def project_options(command: F) -> F:
    """Add `--project` and `--repo`, which `the_project` turns into a `Project`."""
    return _stack(
        click.option(
            "--project",
            metavar="NAME|FILE",
            help="Shipped project, or a TOML file (default: miopen-rocmlir).",
        ),
        click.option("--repo", "repos", multiple=True, metavar="NAME=PATH", help="Clone of a configured repository."),
    )(command)


def output_options(command: F) -> F:
    """Add `--format`, `--out` and `--quiet`, as `emit` takes them."""
    return _stack(
        click.option("--format", "format_", type=click.Choice(["text", "json", "markdown"]), default="text"),
        click.option(
            "--out",
            type=click.Path(dir_okay=False, path_type=Path),
            help="Write there instead of to the terminal.",
        ),
        click.option("--quiet", is_flag=True, help="Print only errors; the exit code says the rest."),
    )(command)


def range_options(command: F) -> F:
    """Add `--ref`, `--all-refs`, `--release-branches` and `--include-pulls`."""
    return _stack(
        click.option("--ref", metavar="REF", help="Branch, tag or commit (default: the default branch)."),
        click.option("--all-refs", is_flag=True, help="Every branch, remote branch and tag."),
        click.option("--release-branches", is_flag=True, help="First parents of the release branches."),
        click.option("--include-pulls", is_flag=True, help="With --all-refs: pull refs too."),
    )(command)


def at_option(command: F) -> F:
    """Add `--at`, an aware time or a date (its last instant in the project's zone); see `instant`."""
    return click.option("--at", metavar="DATETIME", help="As of this date (whole day) or aware date-time.")(command)


def pin_option(command: F) -> F:
    """Add `--pin NAME`, for projects with several pins."""
    return click.option("--pin", "pin_name", metavar="NAME", help="Which pin (default: the project's first).")(command)


def the_project(project: str | None, repos: tuple[str, ...]) -> Project:
    """Load the project that the options name; inside a clone its own repository is found by itself."""
    from relmgr.workflows.locate import find_project

    paths: dict[str, str] = {}
    for item in repos:
        name, equals, path = item.partition("=")
        if not equals or not name or not path:
            raise UserError(f"--repo {item!r} is not NAME=PATH", next_step="write for example --repo miopen=../MIOpen")
        paths[name] = path
    return find_project(project, paths)


def instant(at: str | None, project: Project) -> datetime | None:
    """Return the instant that `--at` names in the project's zone, or None."""
    from relmgr.model.times import parse_instant

    return parse_instant(at, project.timezone) if at else None
