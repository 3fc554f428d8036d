"""The options of `gate check` that hand facts in, and those that name a cut or a release."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from relmgr.cli.options import Chosen
from relmgr.cli.paths import FILE
from relmgr.errors import UserError

if TYPE_CHECKING:
    from datetime import datetime

    from relmgr.model.project import Project
    from relmgr.model.snapshot import Snapshot
    from relmgr.workflows.gate_given import GateInputs

F = TypeVar("F", bound=Callable[..., Any])


def given_options(command: F) -> F:
    """Add `--cut`, `--release`, `--database`, `--scan`, `--tickets` and `--smoke-report`."""
    options = (
        click.option("--cut", metavar="TRAIN", help="Judge the cut of a train instead of a pull request."),
        click.option("--release", metavar="TAG", help="Judge a release by its tag."),
        click.option(
            "--database", "databases", multiple=True, metavar="PATH", help="Scan these databases: file, folder, glob."
        ),
        click.option(
            "--scan", "scans", multiple=True, type=FILE, metavar="FILE", help="What `kdb scan --format json` wrote."
        ),
        click.option(
            "--tickets",
            type=FILE,
            metavar="FILE",
            help="Regeneration tickets there are, a JSON list; beside the forge's.",
        ),
        click.option(
            "--smoke-report",
            "smoke_reports",
            multiple=True,
            type=FILE,
            metavar="FILE",
            help="What `smoke run --json` wrote; it counts when its signature holds.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def gate_inputs(
    scans: tuple[Path, ...], databases: tuple[str, ...], tickets: Path | None, smoke_reports: tuple[Path, ...]
) -> GateInputs:
    """Return what was handed in."""
    from relmgr.workflows.gate_given import GateInputs

    return GateInputs(scans, databases, tickets, smoke_reports)


def refuse_given(given: GateInputs, *, recorded: bool, event: bool, ships: bool, pull: bool) -> None:
    """Refuse what contradicts itself: recorded facts with others, a change's own tickets, a cut with `pull` options."""
    if ships and pull:
        raise UserError(
            "a cut or a release is no pull request",
            next_step="drop --github, --post and --base with --cut or --release",
        )
    if recorded and any(given):
        raise UserError("recorded facts are judged as they are", next_step="drop --snapshot, or what is handed in")
    if event and given.tickets is not None:
        raise UserError(
            "a list of tickets in a workflow's checkout may be the change's own",
            next_step="drop --tickets: the forge is asked for them; or name OWNER/REPO#N instead of --event",
        )


def the_projects(chosen: Chosen, *, ships: bool) -> tuple[Project, tuple[Project, ...]]:
    """Return the project and, for a cut or a release, the others whose consumers build against the same provider.

    Then `--repo` may also name the repositories of those others.
    """
    if not ships:
        return chosen.load(), ()
    from relmgr.settings import load_project
    from relmgr.workflows.gate_release import sibling_projects, sibling_repositories

    foreign = sibling_repositories(load_project(chosen.name))
    named = dict(item.partition("=")[::2] for item in chosen.repos if item.partition("=")[0] in foreign)
    loaded = Chosen(chosen.name, tuple(item for item in chosen.repos if item.partition("=")[0] not in foreign)).load()
    return loaded, sibling_projects(loaded, named)


def shipping_snapshot(
    project: Project,
    siblings: tuple[Project, ...],
    calendar: Path | None,
    cut: str | None,
    release: str | None,
    at: datetime | None,
) -> Snapshot:
    """Return the facts of a cut or a release."""
    from relmgr.workflows.gate_release import snapshot_of_cut, snapshot_of_release
    from relmgr.workflows.trains import calendar_of

    trains = calendar_of(calendar or project.trains)
    if cut is not None:
        return snapshot_of_cut(project, trains, cut, at, siblings)
    return snapshot_of_release(project, trains, release or "", at, siblings)
