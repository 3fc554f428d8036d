"""Waivers that people give in comments: read anew at every judgement, so what is taken back there counts no more. Pure.

A comment counts by what stands in it now. It is its author's word only while nobody else has edited it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from relmgr.gate.slash_commands import PREFIX, may_ever, needs_role, permit_commands, read_commands
from relmgr.model.project import Project
from relmgr.model.pull_request import PullRequestComment
from relmgr.model.slash_commands import Commenter, Permission, SlashCommand, SlashCommands
from relmgr.model.waiver import Waiver

_CLOSE = {"owner": 0, "member": 1, "collaborator": 2}


class Given(NamedTuple):
    """A waiver as somebody wrote it in a comment, who may or may not give one."""

    comment: PullRequestComment
    command: SlashCommand

    def given_at(self, now: datetime) -> datetime:
        """Since when it has stood there so, at the latest. The forge's clock may be ahead of this one."""
        return min(self.comment.edited_at or self.comment.created_at, now)


def given_waivers(
    comments: Iterable[PullRequestComment], policies: Collection[str], project: Project
) -> tuple[Given, ...]:
    """Return the waivers that people wrote into a thread, oldest comment first.

    Not those in comments of bots, in hidden ones, or in ones that somebody else than their author edited; where names
    decide, others' comments are not even parsed: anybody may fill a thread.
    """
    return tuple(
        Given(comment, command)
        for comment in comments
        if _is_own_word(comment) and may_ever(project, "waive", comment.author)
        for command in read_commands(comment.body, policies).commands
        if command.name == "waive"
    )


def roles_needed(given: Iterable[Given], project: Project) -> tuple[str, ...]:
    """Return the logins whose permission decides, those closest to the repository first; none where names decide."""
    if not needs_role(project, "waive"):
        return ()
    ordered = sorted(given, key=lambda one: _CLOSE.get(one.comment.association or "", 9))
    return tuple(dict.fromkeys(one.comment.author for one in ordered))


def permitted_waivers(
    given: Iterable[Given],
    subject: str,
    project: Project,
    permissions: Mapping[str, Permission | None],
    now: datetime,
) -> tuple[tuple[Waiver, ...], tuple[str, ...]]:
    """Return the waivers of those who may give one, and the logins of whom that could not be told."""
    waivers: list[Waiver] = []
    unread: list[str] = []
    for one in given:
        login = one.comment.author
        by = Commenter(login=login, is_bot=one.comment.is_bot, permission=permissions.get(login))
        if permit_commands(SlashCommands(commands=(one.command,)), by, project, one.given_at(now)).commands:
            waivers.append(_waiver(one, subject, now))
        elif needs_role(project, "waive") and by.permission is None:
            unread.append(login)
    return tuple(waivers), tuple(dict.fromkeys(unread))


def _is_own_word(comment: PullRequestComment) -> bool:
    own = comment.edited_at is None or comment.edited_by == comment.author
    return own and not comment.hidden and not comment.is_bot and PREFIX in comment.body.lower()


def _waiver(given: Given, subject: str, now: datetime) -> Waiver:
    return Waiver.model_validate(
        {
            "policy": given.command.policy,
            "subject": subject,
            "until": given.command.until,
            "by": given.comment.author,
            "reason": given.command.reason,
            "source": "command",
            "given_at": given.given_at(now),
            "url": given.comment.url,
        }
    )
