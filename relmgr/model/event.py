"""What happened on the forge, as far as it matters here."""

from __future__ import annotations

from relmgr.model.base import Noun
from relmgr.model.pull_request import PullRequestRef


class EventComment(Noun):
    """A comment that was written or edited; `before` is its text before an edit, '' for a new one."""

    body: str
    before: str
    author: str
    is_bot: bool


class ForgeEvent(Noun):
    """One event: the pull request that it concerns, whether to judge it anew, and the comment that may hold commands.

    Without `subject` it concerns none, and `why` says so.
    """

    name: str
    action: str | None
    subject: PullRequestRef | None
    judge: bool
    comment: EventComment | None = None
    why: str = ""
