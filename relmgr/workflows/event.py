"""`relmgr gate check --event`: an event to what is judged, what its comment asks for, and the answer to that."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone

from relmgr.errors import UserError
from relmgr.gate.asked import Asked, key_of, read_asked, why_unheard
from relmgr.gate.policies import load_rules
from relmgr.gate.slash_commands import needs_role, permit_commands
from relmgr.model.actions import Action, UpsertCheck
from relmgr.model.answer import Answer, AnswerPart
from relmgr.model.event import EventComment, ForgeEvent
from relmgr.model.project import Project
from relmgr.model.pull_request import PullRequestRef
from relmgr.model.slash_commands import USAGE, Commenter, RefusedCommand, SlashCommands
from relmgr.render.actions import gate_actions
from relmgr.render.foreign import md
from relmgr.sources.github.facts import read_permission
from relmgr.workflows.commands import Desk, part_of, refusal


def why_not_called(event: ForgeEvent) -> str | None:
    """Return why an event asks for nothing, None when it does; without project or forge, as most ask for nothing."""
    if event.subject is None:
        return event.why
    if event.comment is None:
        return None if event.judge else f"{event.action} changes nothing to judge by"
    return why_unheard(event.comment)


def called_for(project: Project, subject: PullRequestRef) -> PullRequestRef:
    """Return the pull request of an event by its repository's configured name.

    Raises `UserError` for another's: a gate that cannot judge is not open.
    """
    name = project.repository_named(subject.repository)
    if name is None:
        raise UserError(
            f"{subject.repository} is no repository of the project {project.name}",
            next_step="name it in the project file, a former name under `aliases`; or choose another with --project",
        )
    return PullRequestRef(repository=project.repositories[name].slug, number=subject.number)


def run_event(desk: Desk, event: ForgeEvent) -> Answer | None:
    """Judge what is to be judged, do what a comment asks for, and make the forge say both; return the answer."""
    answer = answer_comment(desk, event.comment) if event.comment else None
    if event.comment is None or desk.was_judged:
        snapshot, report = desk.judged
        actions = gate_actions(snapshot, report, desk.words)
        desk.postings.append(desk.sink.apply((*actions, *_queued(actions, event.queued))))
    if answer is not None:
        desk.postings.append(desk.sink.apply((answer,)))
    return answer


def _queued(actions: Iterable[Action], commit: str | None) -> list[Action]:
    """Return the check once more for the commit that a merge queue tries out: it waits for it there."""
    checks = [action for action in actions if isinstance(action, UpsertCheck)] if commit else []
    return [check.model_copy(update={"commit": commit, "annotations": ()}) for check in checks]


def answer_comment(desk: Desk, comment: EventComment) -> Answer | None:
    """Do what a comment asks for, as far as its author may, and return the answer; None when it asks nothing new.

    An edited comment does not run again what stood in it before (M8); what was said about that stays in the answer.
    """
    asked = read_asked(comment, [rule.policy.id for rule in load_rules(desk.project, desk.pull.base)])
    if asked.is_nothing:
        return None
    permitted = permit_commands(asked.new, _commenter(desk, comment, asked), desk.project, datetime.now(timezone.utc))
    # A waiver that was taken back is told by the judgement, which reads the comments anew.
    parts = [*_parts(desk, asked, permitted), *(part_of(desk, command) for command in asked.taken_back)]
    usages = list(USAGE.values()) if any(isinstance(one, RefusedCommand) for one in asked.entries) else []
    foot = desk.words.render("comment/slash-commands.md.j2", d=SlashCommands(), usages=usages).strip()
    return Answer(
        thread=desk.ref,
        comment=comment.id,
        head=f"To [this comment]({comment.url}) of {md(comment.author)}:",
        parts=tuple({part.key: part for part in parts}.values()),
        foot=foot,
        # What is only taken back is told where it was answered, and nowhere else.
        only_update=not (asked.new.commands or asked.new.refused),
    )


def _parts(desk: Desk, asked: Asked, permitted: SlashCommands) -> list[AnswerPart]:
    """Return a part for each line: run, refused, or kept from an earlier answer, in the order of the comment."""
    # Tickets first: the judgement that others tell of knows them then.
    ordered = sorted(permitted.commands, key=lambda command: command.name != "ticket")
    run = {command.line: part_of(desk, command) for command in ordered}
    refused = {one.line: one for one in permitted.refused}
    parts = []
    for entry in asked.entries:
        if entry.line in run:
            parts.append(run[entry.line])
        elif entry.line in refused:
            parts.append(refusal(desk, entry, refused[entry.line]))
        else:
            parts.append(AnswerPart(key=key_of(entry), body=None))
    return parts


def _commenter(desk: Desk, comment: EventComment, asked: Asked) -> Commenter:
    """Return who wrote the comment; the forge is asked what they may do only where that decides."""
    permission = None
    if any(needs_role(desk.project, command.name) for command in asked.new.commands):
        permission = read_permission(desk.forge.github, desk.ref.repository, comment.author)
    return Commenter(login=comment.author, is_bot=comment.is_bot, permission=permission)
