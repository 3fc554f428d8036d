"""`relmgr gate check --event`: inside a workflow of GitHub Actions."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import click

from relmgr.cli.output import words_in_force
from relmgr.errors import UserError

if TYPE_CHECKING:
    from relmgr.model.project import Project
    from relmgr.model.snapshot import Snapshot
    from relmgr.model.verdict import GateReport


def subject_of_event(project: Project, file: Path) -> str | None:
    """Return the pull request to judge; None, with a line that says why, when there is none."""
    from relmgr.render.workflow_commands import inert
    from relmgr.sources.github.client import open_github
    from relmgr.sources.github.event import read_event
    from relmgr.workflows.event import called_for

    called = called_for(project, read_event(file, os.environ.get("GITHUB_EVENT_NAME")), open_github(project.forge))
    if called.said:
        click.echo(inert("\n".join(called.said), secrets.token_hex(16)), nl=False)
    return called.subject


def show_in_actions(snapshot: Snapshot, report: GateReport) -> None:
    """Write the job's summary, and print the report with its annotations so that no text of it is a command."""
    from relmgr.render.actions import annotations_of, gate_comment
    from relmgr.render.workflow_commands import annotation_lines, inert

    words = words_in_force()
    text = words.render("gate/check.txt.j2", d=report, snapshot=snapshot)
    click.echo(inert(text, secrets.token_hex(16)), nl=False)
    click.echo(annotation_lines(annotations_of(snapshot)), nl=False)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        try:
            with Path(summary).open("a", encoding="utf-8") as out:
                out.write(gate_comment(snapshot, report, words))
        except OSError as error:
            raise UserError(f"cannot write: {error.strerror}", where=summary, next_step="check the runner") from None
