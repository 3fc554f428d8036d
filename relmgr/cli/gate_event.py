"""`relmgr gate check --event`: inside a workflow of GitHub Actions."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import click

from relmgr.cli.gate_request import Request
from relmgr.cli.output import Output, remember, words_in_force
from relmgr.errors import EXIT_BLOCKED, EXIT_OK, EXIT_SOURCE, UserError
from relmgr.model.actions import Done
from relmgr.model.answer import Answer
from relmgr.model.event import ForgeEvent
from relmgr.render.actions import annotations_of, gate_comment
from relmgr.render.engine import to_json
from relmgr.render.workflow_commands import annotation_lines, inert
from relmgr.sources.github.client import open_github
from relmgr.sources.github.event import read_event
from relmgr.sources.github.pulls import read_base
from relmgr.workflows.base_project import Origin, project_on
from relmgr.workflows.commands import Desk
from relmgr.workflows.event import called_for, run_event, why_not_called
from relmgr.workflows.forge import ask_forge, require_base
from relmgr.workflows.post import sink_of


def check_event(request: Request, file: Path, output: Output) -> int:
    """Judge what the event concerns, do what its comment asks for, say both in the job; see `_exit_code`."""
    event = read_event(file, os.environ.get("GITHUB_EVENT_NAME"))
    why = why_not_called(event)
    if event.subject is None or why is not None:
        _say(why or "", aside=output.is_json)
        return EXIT_OK
    project = request.chosen.load()
    github = open_github(project.forge, starts_workflows=project.commands.smoke_workflow is not None)
    base = read_base(github, event.subject)
    origin = Origin(request.chosen.name, request.chosen.paths)
    with project_on(project, origin, event.subject.repository, base) as on_base:
        remember(on_base)
        ref = called_for(on_base, event.subject)
        forge = ask_forge(on_base, github, ref)
        require_base(forge, ref, base)
        desk = Desk(
            project=on_base,
            forge=forge,
            ref=ref,
            calendars=request.calendars(on_base),
            comment=event.comment,
            given=request.given(),
            sink=sink_of(on_base, dry_run=not request.posts, github=github),
            words=words_in_force(),
        )
        answer = run_event(desk, event)
        if answer is None and not desk.was_judged:
            _say("the comment asks for nothing new", aside=output.is_json)
            return EXIT_OK
        _show(request, desk, answer, output)
    return _exit_code(desk, event, output)


def _show(request: Request, desk: Desk, answer: Answer | None, output: Output) -> None:
    """Print the report and the answer so that no text of them is a command, and write the job's summary."""
    if request.record is not None and desk.was_judged:
        Output("json", request.record).emit(desk.judged[0], template="")
    if output.format_ == "text" and output.out is None and not output.quiet:
        _show_in_actions(desk, answer)
    elif desk.was_judged:
        output.emit(desk.judged[1], template="gate/check", snapshot=desk.judged[0])
    elif answer is not None:
        output.write(to_json(answer) if output.is_json else answer.body)
    _write_summary(desk, answer)
    if output.is_json or output.quiet:
        _say(*map(_line, desk.not_posted), aside=True)
    elif request.post:
        _say(*(_line(one) for posting in desk.postings for one in posting.done))


def _show_in_actions(desk: Desk, answer: Answer | None) -> None:
    if desk.was_judged:
        snapshot, report = desk.judged
        _say(desk.words.render("gate/check.txt.j2", d=report, snapshot=snapshot))
        click.echo(annotation_lines(annotations_of(snapshot)), nl=False)
    if answer is not None:
        _say(answer.body)


def _write_summary(desk: Desk, answer: Answer | None) -> None:
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if not summary:
        return
    texts = [gate_comment(*desk.judged, desk.words)] if desk.was_judged else []
    try:
        with Path(summary).open("a", encoding="utf-8") as out:
            out.write("\n\n".join([*texts, *([answer.body] if answer else [])]))
    except OSError as error:
        raise UserError(f"cannot write: {error.strerror}", where=summary, next_step="check the runner") from None


def _line(one: Done) -> str:
    more = f": {one.why}" if one.why else f"  {one.url}" if one.url else ""
    return f"{one.outcome}  {one.kind} {one.target}{more}"


def _exit_code(desk: Desk, event: ForgeEvent, output: Output) -> int:
    """Return how the step ends: what went wrong wins; then the verdict, where there is one.

    GitHub gives the workflow of a fork's pull request a token that may not write. That is as it should be: what was
    not posted is said, and the verdict decides.
    """
    failed = desk.not_posted
    if failed and event.read_only and all("GitHub refused: 403" in (one.why or "") for one in failed):
        why = "GitHub gives this event's workflow a token that may not write: the job itself tells the verdict"
        _say(why, aside=output.is_json or output.quiet)
        failed = []
    if desk.troubles:
        return max(trouble.exit_code for trouble in desk.troubles)
    if failed:
        return EXIT_SOURCE
    return EXIT_OK if not desk.was_judged or desk.judged[1].decision == "merge" else EXIT_BLOCKED


def _say(*texts: str, aside: bool = False) -> None:
    """Print strangers' text so that Actions reads no command in it; `aside`: on standard error."""
    if text := "\n".join(filter(None, texts)):
        click.echo(inert(text, secrets.token_hex(16)), nl=False, err=aside)
