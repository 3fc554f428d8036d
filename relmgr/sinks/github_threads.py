"""Issues, pull requests and labels of ours: found again by marker and author; what people changed is theirs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from relmgr.errors import UserError
from relmgr.model.actions import Done, SetLabels, UpsertIssue, UpsertPull, marker_of
from relmgr.model.pull_request import PullRequestRef
from relmgr.render.checklist_merge import merge_checklist
from relmgr.render.comment import LONGEST_BODY, fit_body, length
from relmgr.sinks.github_once import Entry, create_once, holds_line, same_text
from relmgr.sources.github.client import GitHub, GitHubError, NotFound

_REASONS = {"open": "reopened", "done": "completed", "withdrawn": "not_planned"}


def set_labels(github: GitHub, action: SetLabels) -> Done:
    """Add and remove what differs, and nothing else."""
    path = f"/repos/{github.canonical(action.thread.repository)}/issues/{action.thread.number}/labels"
    there = {str(label["name"]).lower(): str(label["name"]) for label in github.get_all(path)}
    missing = [name for name in action.add if name.lower() not in there]
    extra = [there[name.lower()] for name in action.remove if name.lower() in there]
    if missing:
        github.send("POST", path, {"labels": missing}, repeatable=True)
    for name in extra:
        with suppress(NotFound):
            github.send("DELETE", f"{path}/{quote(name, safe='')}", repeatable=True)
    return _done(action, "updated" if missing or extra else "unchanged", None)


def upsert_issue(github: GitHub, action: UpsertIssue) -> Done:
    """Make the one issue with that marker say what it must; further ones of ours are closed."""
    if length(action.body) > LONGEST_BODY or not holds_line(action.body, action.marker):
        raise UserError("an issue's body is too long, or lacks its marker", where=action.title, next_step="shorten it")
    slug = github.canonical(action.repository)
    mine = _issues(github, slug, action.marker)
    if not mine:
        if action.state not in ("open", None):
            return _done(action, "unchanged", None)
        new = {"title": action.title, "body": action.body, "labels": list(action.labels)}
        create_once(
            github,
            lambda: next(iter(_issues(github, slug, action.marker)), None),
            lambda: dict(github.send("POST", f"/repos/{slug}/issues", new)),
        )
        mine = _issues(github, slug, action.marker)
        _close_extra(github, slug, mine[1:])
        return _done(action, "created", mine[0] if mine else None)
    _close_extra(github, slug, mine[1:])
    changes = _changes(action, mine[0])
    if changes:
        github.send("PATCH", f"/repos/{slug}/issues/{mine[0]['number']}", changes, repeatable=True)
    labelled = _complete_labels(github, slug, mine[0], action.labels)
    closes = changes.get("state") == "closed"
    return _done(action, "closed" if closes else "updated" if changes or labelled else "unchanged", mine[0])


def _complete_labels(github: GitHub, slug: str, entry: Entry, labels: tuple[str, ...]) -> bool:
    """Give the labels that it never bore: a run may have been cut off before. One that was taken off stays off."""
    bears = {str(label["name"]).lower() for label in entry["labels"]}
    missing = [name for name in labels if name.lower() not in bears]
    if not missing:
        return False
    path = f"/repos/{slug}/issues/{entry['number']}"
    events = github.get_all(f"{path}/events")
    bore = {str(event["label"]["name"]).lower() for event in events if event["event"] == "labeled"}
    never = [name for name in missing if name.lower() not in bore]
    if never:
        github.send("POST", f"{path}/labels", {"labels": never}, repeatable=True)
    return bool(never)


def _issues(github: GitHub, slug: str, marker: str) -> list[Entry]:
    """Return our issues with that marker, the oldest first. A list, not a search: GitHub's search lags behind."""
    found = [
        entry
        for entry in github.get_all(f"/repos/{slug}/issues", state="all", creator=github.login())
        if "pull_request" not in entry and _is_by_us(github, entry) and holds_line(entry["body"], marker)
    ]
    return sorted(found, key=lambda entry: int(entry["number"]))


def _changes(action: UpsertIssue, entry: Entry) -> dict[str, Any]:
    """Return what differs between an issue and what it must be."""
    body = action.body
    if action.keep_hands:
        body = merge_checklist(body, entry["body"] or "", where=str(entry["html_url"]))
    changes: dict[str, Any] = {}
    if entry["title"] != action.title:
        changes["title"] = action.title
    if not same_text(entry["body"], body):
        changes["body"] = body
    wanted = {"open": "open", "done": "closed", "withdrawn": "closed"}.get(action.state or "", entry["state"])
    if entry["state"] != wanted and action.state:
        changes |= {"state": wanted, "state_reason": _REASONS[action.state]}
    return changes


def _close_extra(github: GitHub, slug: str, entries: list[Entry]) -> None:
    """Close what a run at the same time made twice: an issue cannot be deleted."""
    for entry in entries:
        if entry["state"] == "open":
            body = {"state": "closed", "state_reason": "not_planned"}
            github.send("PATCH", f"/repos/{slug}/issues/{entry['number']}", body, repeatable=True)


def upsert_pull(github: GitHub, action: UpsertPull) -> tuple[Done, list[PullRequestRef]]:
    """Make the one pull request from that branch, or update its words; return also the open ones it supersedes.

    One that was closed stays closed: it was turned down, and only a person opens it again.
    """
    slug = github.canonical(action.repository)
    mark = marker_of(f"bump={action.family}")
    body = fit_body(f"{mark}\n{action.body}")

    def find() -> Entry | None:
        head = f"{slug.split('/')[0]}:{action.head}"
        pulls = github.get_all(f"/repos/{slug}/pulls", state="all", head=head, base=action.base)
        from_it = [dict(pull) for pull in pulls if _is_from(pull, slug, action.head)]
        is_open = [pull for pull in from_it if pull["state"] == "open"]
        return next(iter([*is_open, *(pull for pull in from_it if _is_by_us(github, pull))]), None)

    found, outcome = find(), "unchanged"
    if found is not None and found["state"] != "open":
        if found["merged_at"]:
            return _done(action, "unchanged", found, "it was merged"), _superseded(github, slug, action, mark)
        return _done(action, "unchanged", found, "it was closed; reopen it by hand to try again"), []
    if found is None:
        found, outcome = _open(github, slug, action, body, find), "created"
    if not _is_ours(github, found, mark):
        return _done(action, "not-posted", found, "a pull request from that branch is not relmgr's"), []
    if found["title"] != action.title or not same_text(found["body"], body):
        words = {"title": action.title, "body": body}
        github.send("PATCH", f"/repos/{slug}/pulls/{found['number']}", words, repeatable=True)
        outcome = "updated" if outcome == "unchanged" else outcome
    if _complete_labels(github, slug, found, action.labels) and outcome == "unchanged":
        outcome = "updated"
    return _done(action, outcome, found), _superseded(github, slug, action, mark)


def _open(github: GitHub, slug: str, action: UpsertPull, body: str, find: Callable[[], Entry | None]) -> Entry:
    words = {"title": action.title, "body": body, "head": action.head, "base": action.base, "draft": action.draft}

    def create() -> Entry:
        try:
            return dict(github.send("POST", f"/repos/{slug}/pulls", words))
        except GitHubError as error:
            # Another run was faster: GitHub refuses a second one from the same branch.
            if error.status == 422 and (there := find()) is not None:
                return there
            raise

    return create_once(github, find, create)


def _superseded(github: GitHub, slug: str, action: UpsertPull, mark: str) -> list[PullRequestRef]:
    """Return our other open attempts of the same family."""
    return [
        PullRequestRef(repository=action.repository, number=int(pull["number"]))
        for pull in github.get_all(f"/repos/{slug}/pulls", state="open", base=action.base)
        if not _is_from(pull, slug, action.head) and _is_ours(github, pull, mark)
    ]


def close_pull(github: GitHub, ref: PullRequestRef) -> None:
    """Close a pull request."""
    path = f"/repos/{github.canonical(ref.repository)}/pulls/{ref.number}"
    github.send("PATCH", path, {"state": "closed"}, repeatable=True)


def _is_from(pull: Entry, slug: str, branch: str) -> bool:
    """Tell whether a pull request comes from a branch of the repository itself; a deleted fork's has no repository."""
    repository = pull["head"]["repo"]
    return bool(repository) and repository["full_name"].lower() == slug.lower() and pull["head"]["ref"] == branch


def _is_by_us(github: GitHub, entry: Entry) -> bool:
    return bool(entry["user"]) and entry["user"]["login"] == github.login()


def _is_ours(github: GitHub, pull: Entry, mark: str) -> bool:
    return _is_by_us(github, pull) and holds_line(pull["body"], mark)


def _done(
    action: SetLabels | UpsertIssue | UpsertPull, outcome: str, entry: Entry | None, why: str | None = None
) -> Done:
    url = str(entry["html_url"]) if entry else None
    fields = {"kind": action.kind, "target": action.target, "outcome": outcome, "url": url, "why": why}
    return Done.model_validate(fields)
