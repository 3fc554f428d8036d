"""`relmgr gate`: may it merge, why not, until when, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from relmgr.cli.gate_request import Request, request_options
from relmgr.cli.options import Chosen, output_options, project_options
from relmgr.cli.output import Output, words_in_force
from relmgr.cli.posting import show_posting
from relmgr.errors import EXIT_BLOCKED, EXIT_OK

if TYPE_CHECKING:
    from relmgr.model.project import Project
    from relmgr.model.snapshot import Snapshot


@click.group(name="gate")
def group() -> None:
    """May it merge? If not: why, until when, and what to do next."""


@group.command()
@request_options
@output_options
def check(request: Request, output: Output) -> int:
    """Judge one pull request, a cut or a release; exit code 1 when a policy blocks or holds it."""
    request.refuse_contradictions()
    if request.event is not None:
        from relmgr.cli.gate_event import check_event

        return check_event(request, request.event, output)
    with request.take() as (project, snapshot):
        if request.record is not None:
            Output("json", request.record).emit(snapshot, template="")
        if request.assume:
            return _what_if(request, project, snapshot, output)
        return _judge(request, project, snapshot, output)


def _judge(request: Request, project: Project, snapshot: Snapshot, output: Output) -> int:
    from relmgr.workflows.gate import judge

    document = judge(project, snapshot, recorded=request.recorded is not None)
    output.emit(document, template="gate/check", snapshot=snapshot)
    code = EXIT_OK if document.decision == "merge" else EXIT_BLOCKED
    if not request.post:
        return code
    from relmgr.workflows.post import post_gate, sink_of

    sink = sink_of(project, dry_run=request.dry_run)
    return show_posting(post_gate(sink, snapshot, document, words_in_force()), code, output)


def _what_if(request: Request, project: Project, snapshot: Snapshot, output: Output) -> int:
    from relmgr.workflows.gate import judge_assuming

    answer = judge_assuming(project, snapshot, request.assume, recorded=request.recorded is not None)
    output.emit(answer, template="gate/what_if")
    return EXIT_OK if answer.decision["after"] == "merge" else EXIT_BLOCKED


@group.command()
@click.argument("policy", required=False)
@click.option("--base", metavar="BRANCH", help="As in force on this branch.")
@project_options
@output_options
def explain(
    policy: str | None,
    base: str | None,
    chosen: Chosen,
    output: Output,
) -> int:
    """What a policy means, when it applies and how it judges; without POLICY the list of all."""
    from relmgr.workflows.gate import explain as explain_policy
    from relmgr.workflows.gate import explain_all

    loaded = chosen.load()
    if policy is None:
        output.emit(explain_all(loaded), template="gate/policies")
    else:
        output.emit(explain_policy(loaded, policy, base), template="gate/explain")
    return EXIT_OK
