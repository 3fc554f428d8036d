"""`relmgr gate check --event`: from an event to the pull request that is to be judged, or to why none is."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import NamedTuple

from relmgr.gate.policies import shipped_rules
from relmgr.gate.slash_commands import new_commands, permit_commands, read_commands
from relmgr.model.event import ForgeEvent
from relmgr.model.project import Project
from relmgr.model.slash_commands import Commenter
from relmgr.sources.github.client import GitHub
from relmgr.sources.github.facts import read_permission


class Called(NamedTuple):
    """What an event asks for: the pull request to judge (None: none), and why not, or what was refused."""

    subject: str | None
    said: tuple[str, ...]


def called_for(project: Project, event: ForgeEvent, github: GitHub) -> Called:
    """Return what is to be judged. A comment calls for it with `/relmgr recheck`, from somebody who may (B5).

    An edited comment does not run again what stood in it before (M8).
    """
    if event.subject is None:
        return Called(None, (event.why,))
    name = project.repository_named(event.subject.repository)
    if name is None:
        return Called(None, (f"{event.subject.repository} is no repository of this project",))
    subject = f"{project.repositories[name].slug}#{event.subject.number}"
    if event.comment is None:
        return Called(subject, ()) if event.judge else Called(None, (f"{event.action} changes nothing to judge by",))
    policies = [rule.policy.id for rule in shipped_rules()]
    found = new_commands(read_commands(event.comment.before, policies), read_commands(event.comment.body, policies))
    if not found.commands and not found.refused:
        return Called(None, ("the comment holds no command",))
    permission = None
    if not event.comment.is_bot:
        permission = read_permission(github, event.subject.repository, event.comment.author)
    by = Commenter(login=event.comment.author, is_bot=event.comment.is_bot, permission=permission)
    permitted = permit_commands(found, by, project, datetime.now(timezone.utc))
    said = tuple(f"line {one.line}: {one.why}" for one in permitted.refused)
    other = tuple(
        f"line {one.line}: {one.name} is not run from here" for one in permitted.commands if one.name != "recheck"
    )
    asked = any(one.name == "recheck" for one in permitted.commands)
    return Called(subject if asked else None, (*said, *other))
