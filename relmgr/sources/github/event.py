"""Read the event that GitHub hands to a workflow, `$GITHUB_EVENT_PATH`. Its texts are strangers'.

https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from relmgr.errors import UserError
from relmgr.model.event import EventComment, ForgeEvent
from relmgr.model.pull_request import PullRequestRef
from relmgr.sources.github.pulls import login_of, time_of
from relmgr.sources.json_files import read_json

MAX_EVENT_BYTES = 32 * 2**20
# What changes a fact that policies judge by (M8): text, base, head, draft, labels, state.
JUDGED_ACTIONS = frozenset(
    {"opened", "edited", "synchronize", "reopened", "closed", "converted_to_draft", "ready_for_review"}
    | {"labeled", "unlabeled", "submitted", "dismissed", "enqueued"}
)
_QUEUE_REF = re.compile(r"/pr-(?P<number>\d{1,9})-[0-9a-f]{40}$")


def read_event(file: Path, name: str | None = None) -> ForgeEvent:
    """Return the event in a file; `name` is what `$GITHUB_EVENT_NAME` says, else the payload's shape tells.

    Raises `UserError` for a file that is no such payload.
    """
    payload = read_json(file, MAX_EVENT_BYTES, "give the file of $GITHUB_EVENT_PATH")
    if not isinstance(payload, dict):
        raise UserError("not an event", where=str(file), next_step="give the file of $GITHUB_EVENT_PATH")
    try:
        return event_of(payload, name or _name_of(payload))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(
            f"not an event that GitHub would send ({type(error).__name__}: {error})"[:300],
            where=str(file),
            next_step="give the file of $GITHUB_EVENT_PATH",
        ) from None


def event_of(payload: dict[str, Any], name: str) -> ForgeEvent:
    """Return a payload as an event. What it does not concern us with has no subject."""
    action = payload.get("action")
    if name in ("pull_request", "pull_request_target", "pull_request_review"):
        pull = payload["pull_request"]
        return ForgeEvent(
            name=name,
            action=action,
            subject=_ref(payload, pull["number"]),
            judge=action in JUDGED_ACTIONS,
            read_only=name != "pull_request_target" and _is_read_only(payload, pull),
        )
    if name == "merge_group":
        match = _QUEUE_REF.search(payload["merge_group"]["head_ref"])
        if match is None:
            return _none(name, action, "the queue's branch names no pull request")
        return ForgeEvent(
            name=name,
            action=action,
            subject=_ref(payload, int(match["number"])),
            judge=action == "checks_requested",
            queued=payload["merge_group"]["head_sha"],
        )
    if name != "issue_comment":
        return _none(name, action, f"nothing is judged on {name}")
    if "pull_request" not in payload["issue"]:
        return _none(name, action, "the comment is on an issue")
    return ForgeEvent(
        name=name,
        action=action,
        subject=_ref(payload, payload["issue"]["number"]),
        judge=False,
        comment=_comment(payload, action),
    )


def _comment(payload: dict[str, Any], action: str | None) -> EventComment:
    comment = payload["comment"]
    text, before = comment["body"] or "", ""
    if action == "edited":
        before = (payload.get("changes") or {}).get("body", {}).get("from", text) or ""
    elif action == "deleted":
        text, before = "", text
    author = login_of(comment["user"])
    return EventComment(
        id=comment["id"],
        url=comment["html_url"],
        body=text,
        before=before,
        author=author,
        by=login_of(payload["sender"]) if action == "edited" else author,
        is_bot=bool(comment["user"]) and comment["user"]["type"] != "User",
        at=time_of(comment["updated_at"]),
    )


def _is_read_only(payload: dict[str, Any], pull: dict[str, Any]) -> bool:
    """Tell whether GitHub withholds a token that may write: from forks, and from Dependabot."""
    whose = pull["head"].get("repo")
    is_fork = not whose or whose["full_name"] != payload["repository"]["full_name"]
    return is_fork or login_of(pull.get("user")) == "dependabot[bot]"


def _name_of(payload: dict[str, Any]) -> str:
    if "comment" in payload and "issue" in payload:
        return "issue_comment"
    if "merge_group" in payload:
        return "merge_group"
    if "review" in payload:
        return "pull_request_review"
    return "pull_request" if "pull_request" in payload else "unknown"


def _ref(payload: dict[str, Any], number: int) -> PullRequestRef:
    return PullRequestRef(repository=payload["repository"]["full_name"], number=number)


def _none(name: str, action: str | None, why: str) -> ForgeEvent:
    return ForgeEvent(name=name, action=action, subject=None, judge=False, why=why)
