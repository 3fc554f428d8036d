"""One pull request by REST, where a forge has no GraphQL: more calls, the same facts, and the files' patches."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from relmgr.model.pull_request import (
    PullRequest,
    PullRequestCheck,
    PullRequestFile,
    PullRequestRef,
    PullRequestReview,
)
from relmgr.sources.github.client import GitHub, NotFound

_REVIEWS = {
    "APPROVED": "approved",
    "CHANGES_REQUESTED": "changes-requested",
    "COMMENTED": "commented",
    "DISMISSED": "dismissed",
    "PENDING": "pending",
}
_CLOSE = ("OWNER", "MEMBER", "COLLABORATOR")
_STATES = {"success": "success", "failure": "failure", "error": "failure"}


def read_pull_by_rest(github: GitHub, ref: PullRequestRef) -> PullRequest:
    """Return one pull request with labels, reviews, files, and the head's checks and statuses; every page of each.

    `checks` are None where the forge has no statuses: half of the results are not the results.
    """
    slug = github.canonical(ref.repository)
    path = f"/repos/{slug}/pulls/{ref.number}"
    entry = github.get(path)
    at = f"/repos/{slug}/commits/{entry['head']['sha']}"
    return pull_by_rest(
        entry,
        ref.repository,
        reviews=list(github.get_all(f"{path}/reviews")),
        files=list(github.get_all(f"{path}/files")),
        checks=_checks(github, at),
    )


def _checks(github: GitHub, at: str) -> list[PullRequestCheck] | None:
    """Return a commit's check runs and statuses; None when the forge does not show both."""
    try:
        runs = [check_by_rest(run) for run in github.get_all(f"{at}/check-runs", "check_runs", filter="latest")]
        statuses = github.get_all(f"{at}/status", "statuses")
        return [*runs, *map(status_by_rest, statuses)]
    except NotFound:
        return None


def pull_by_rest(
    entry: dict[str, Any],
    slug: str,
    *,
    reviews: list[dict[str, Any]] | None = None,
    files: list[dict[str, Any]] | None = None,
    checks: list[PullRequestCheck] | None = None,
) -> PullRequest:
    """Return a pull request from REST's objects; a list that was not read stays None."""
    merged = entry.get("merged_at")
    return PullRequest(
        repository=slug,
        number=entry["number"],
        title=entry["title"],
        body=entry["body"],
        state="merged" if merged else entry["state"],
        draft=bool(entry.get("draft")),
        base=entry["base"]["ref"],
        head_ref=entry["head"]["ref"],
        head_commit=entry["head"]["sha"],
        author=_login(entry["user"]),
        merge_commit=entry.get("merge_commit_sha") if merged else None,
        merged_at=_time(merged),
        created_at=_time(entry["created_at"]),
        updated_at=_time(entry["updated_at"]),
        mergeable=entry.get("mergeable"),
        labels=tuple(label["name"] for label in entry.get("labels", ())),
        reviews=None if reviews is None else tuple(map(_review, reviews)),
        files=None if files is None else tuple(map(_file, files)),
        checks=None if checks is None else tuple(checks),
    )


def _review(entry: dict[str, Any]) -> PullRequestReview:
    return PullRequestReview.model_validate(
        {
            "author": _login(entry["user"]),
            "state": _REVIEWS[entry["state"]],
            "submitted_at": entry.get("submitted_at"),
            "commit": entry.get("commit_id"),
            # How close somebody is to the repository is all that REST tells: strangers are told apart, no more.
            "may_push": None if entry.get("author_association") in _CLOSE else False,
        }
    )


def _file(entry: dict[str, Any]) -> PullRequestFile:
    return PullRequestFile(
        path=entry["filename"],
        status=entry["status"],
        patch=entry.get("patch"),
        previous_path=entry.get("previous_filename"),
    )


def check_by_rest(entry: dict[str, Any]) -> PullRequestCheck:
    """Return a check run."""
    return PullRequestCheck.model_validate(
        {
            "name": entry["name"],
            "status": str(entry["status"]).replace("_", "-"),
            "conclusion": str(entry["conclusion"]).replace("_", "-") if entry["conclusion"] else None,
            "completed_at": entry["completed_at"],
            "commit": entry["head_sha"],
        }
    )


def status_by_rest(entry: dict[str, Any]) -> PullRequestCheck:
    """Return a commit status in the words of check runs."""
    done = entry["state"] in _STATES
    return PullRequestCheck(
        name=entry["context"],
        status="completed" if done else "pending",
        conclusion=_STATES.get(entry["state"]),
        completed_at=_time(entry["updated_at"]) if done else None,
    )


def _login(account: dict[str, Any] | None) -> str:
    return str(account["login"]) if account else "ghost"


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None
