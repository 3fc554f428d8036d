"""Options that many commands share, and the objects they become."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from relmgr.cli.output import Output, remember
from relmgr.cli.paths import NEW_FILE
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


@dataclass(frozen=True)
class Chosen:
    """The project that `--project` and `--repo` name, not loaded yet."""

    name: str | None
    repos: tuple[str, ...]

    @property
    def paths(self) -> dict[str, str]:
        """The places of clones, by repository."""
        paths: dict[str, str] = {}
        for item in self.repos:
            name, equals, path = item.partition("=")
            if not equals or not name or not path:
                raise UserError(
                    f"--repo {item!r} is not NAME=PATH", next_step="write for example --repo miopen=../MIOpen"
                )
            paths[name] = path
        return paths

    def load(self) -> Project:
        """Load it; inside a clone its own repository is found by itself."""
        from relmgr.workflows.locate import find_project

        project = find_project(self.name, self.paths)
        remember(project)
        return project


def project_options(command: F) -> F:
    """Add `--project` and `--repo`; the command gets them as `chosen`, a `Chosen`."""

    @functools.wraps(command)
    def with_chosen(*, project: str | None, repos: tuple[str, ...], **given: Any) -> Any:
        return command(chosen=Chosen(project, repos), **given)

    return _stack(
        click.option(
            "--project",
            metavar="NAME|FILE",
            help="Shipped project, or a TOML file (default: miopen-rocmlir).",
        ),
        click.option("--repo", "repos", multiple=True, metavar="NAME=PATH", help="Clone of a configured repository."),
    )(cast(F, with_chosen))


def output_options(command: F) -> F:
    """Add `--format`, `--out` and `--quiet`; the command gets them as `output`, an `Output`."""

    @functools.wraps(command)
    def with_output(*, format_: str, out: Path | None, quiet: bool, **given: Any) -> Any:
        return command(output=Output(format_, out, quiet), **given)

    return _stack(
        click.option("--format", "format_", type=click.Choice(["text", "json", "markdown"]), default="text"),
        click.option(
            "--out",
            type=NEW_FILE,
            help="Write there instead of to the terminal.",
        ),
        click.option("--quiet", is_flag=True, help="Print only errors; the exit code says the rest."),
    )(cast(F, with_output))


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


def instant(at: str | None, project: Project) -> datetime | None:
    """Return the instant that `--at` names in the project's zone, or None."""
    from relmgr.model.times import parse_instant

    return parse_instant(at, project.timezone) if at else None
