"""Waivers from a pull request's comments, laid over its snapshot; what could not be read is named, and counts not."""

from __future__ import annotations

from collections.abc import Iterable

from relmgr.gate.comment_waivers import given_waivers, permitted_waivers, roles_needed
from relmgr.gate.policies import load_rules
from relmgr.gate.slash_commands import PREFIX
from relmgr.model.project import Project
from relmgr.model.pull_request import PullRequest
from relmgr.model.slash_commands import Permission
from relmgr.model.snapshot import Snapshot
from relmgr.sources.github.client import GitHub
from relmgr.sources.github.facts import read_permission

# Accounts whose permission is asked for in one run: nobody makes relmgr ask for thousands.
MOST_ASKED = 10

Permissions = dict[tuple[str, str], Permission | None]


def with_comment_waivers(
    project: Project, snapshot: Snapshot, pull: PullRequest, github: GitHub, known: Permissions
) -> Snapshot:
    """Return the snapshot with the waivers that stand in the comments of its pull request now.

    `known` keeps permissions, by repository and login, from one snapshot to the next.
    """
    if pull.comments is None:
        return without_comments(snapshot, "the forge did not show the whole thread")
    if not any(PREFIX in comment.body.lower() for comment in pull.comments):
        return snapshot
    given = given_waivers(pull.comments, [rule.policy.id for rule in load_rules(project, snapshot.base)], project)
    told = _permissions(github, pull.repository, roles_needed(given, project), known)
    waivers, unread = permitted_waivers(given, snapshot.subject, project, told, snapshot.taken_at)
    snapshot = snapshot.model_copy(update={"waivers": (*(snapshot.waivers or ()), *waivers)})
    return without_comments(snapshot, f"what {', '.join(unread)} may do could not be told") if unread else snapshot


def without_comments(snapshot: Snapshot, why: str) -> Snapshot:
    """Return the snapshot with the gap that waivers in comments, if there are any, could not be read."""
    said = "; ".join(filter(None, (snapshot.gaps.get("waivers"), f"waivers given in comments: {why}")))
    return snapshot.model_copy(update={"gaps": snapshot.gaps | {"waivers": said}})


def _permissions(github: GitHub, slug: str, logins: Iterable[str], known: Permissions) -> dict[str, Permission | None]:
    told: dict[str, Permission | None] = {}
    for login in logins:
        key = (slug.lower(), login.lower())
        if key not in known and len(known) < MOST_ASKED:
            known[key] = read_permission(github, slug, login)
        told[login] = known.get(key)
    return told
