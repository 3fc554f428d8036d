"""What happened on the forge, as far as it matters here."""

from __future__ import annotations

from pydantic import AwareDatetime

from relmgr.model.base import Noun
from relmgr.model.pull_request import PullRequestRef


class EventComment(Noun):
    """A comment that was written, edited or deleted: its text now ('' when deleted) and `before` ('' for a new one).

    `by` wrote what stands there now: its author, or who edited it, at `at`.
    """

    id: int
    url: str
    body: str
    before: str
    author: str
    by: str
    is_bot: bool
    at: AwareDatetime


class ForgeEvent(Noun):
    """One event: the pull request that it concerns, whether to judge it anew, and the comment that may hold commands.

    Without `subject` it concerns none, and `why` says so. `queued` is the commit that a merge queue tries out.
    `read_only`: GitHub gives such an event's workflow a token that may not write (a fork's pull request, Dependabot's).
    """

    name: str
    action: str | None
    subject: PullRequestRef | None
    judge: bool
    comment: EventComment | None = None
    queued: str | None = None
    read_only: bool = False
    why: str = ""
