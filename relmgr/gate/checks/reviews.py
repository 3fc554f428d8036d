"""People and their machines: approvals, check results, holds."""

from __future__ import annotations

from pydantic import Field

from relmgr.gate.registry import Result, check
from relmgr.model.base import Noun, Outcome
from relmgr.model.facts import CheckRun, Review
from relmgr.model.snapshot import Snapshot


class ApprovalParams(Noun):
    """`approvals` wanted; `required` check names that must be there; `accepted` conclusions that count as passed."""

    approvals: int = Field(default=1, ge=0)
    required: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ("success", "neutral")


class ApprovalEvidence(Noun):
    """Who approves the last push, who asks for changes, and the checks by how they stand (`name: conclusion`).

    `not_counted` approve and may not push to the repository.
    """

    approved_by: tuple[str, ...]
    outdated: tuple[str, ...]
    not_counted: tuple[str, ...]
    changes_requested_by: tuple[str, ...]
    passed: tuple[str, ...]
    waiting: tuple[str, ...]
    not_passed: tuple[str, ...]


@check("approvals-and-checks")
def approvals_and_checks(snapshot: Snapshot, params: ApprovalParams) -> Result[ApprovalEvidence]:
    """Enough approvals are newer than the last push, and the newest result of every check passed (M10)."""
    everybody = _newest_reviews(snapshot)
    reviews = [r for r in everybody if r.may_push is not False]
    approvals = [r for r in reviews if r.state == "approved"]
    current = [r for r in approvals if _is_of_last_push(r, snapshot)]
    results = newest_checks(snapshot.checks or ())
    passed = [r.name for r in results if r.conclusion in params.accepted]
    waiting = [r.name for r in results if r.conclusion is None]
    waiting += [name for name in params.required if name not in {r.name for r in results}]
    evidence = ApprovalEvidence(
        approved_by=tuple(r.by for r in current),
        outdated=tuple(r.by for r in approvals if r not in current),
        not_counted=tuple(r.by for r in everybody if r.state == "approved" and r not in reviews),
        changes_requested_by=tuple(r.by for r in reviews if r.state == "changes-requested"),
        passed=tuple(passed),
        waiting=tuple(waiting or ([] if results else ["any check at all"])),
        not_passed=tuple(f"{r.name}: {r.conclusion}" for r in results if r.name not in passed and r.conclusion),
    )
    if evidence.changes_requested_by or evidence.not_passed:
        return Result(Outcome.FAILED, evidence)
    enough = len(current) >= params.approvals and not evidence.waiting
    return Result(Outcome.PASSED if enough else Outcome.PENDING, evidence)


def _is_of_last_push(review: Review, snapshot: Snapshot) -> bool:
    """Tell whether a review is newer than the last push, and of its commit: a commit's date is its author's word."""
    is_of_head = review.commit is None or snapshot.head is None or review.commit == snapshot.head
    return is_of_head and (snapshot.pushed_at is None or review.at > snapshot.pushed_at)


def _newest_reviews(snapshot: Snapshot) -> list[Review]:
    """Return each person's last word; a comment takes no approval back."""
    last: dict[str, Review] = {}
    for review in sorted(snapshot.reviews or (), key=lambda review: review.at):
        if review.state != "commented":
            last[review.by] = review
    return [last[by] for by in sorted(last)]


def newest_checks(checks: tuple[CheckRun, ...]) -> list[CheckRun]:
    """Return the newest result of each name, by name."""
    newest: dict[str, CheckRun] = {}
    for one in sorted(checks, key=lambda one: one.at):
        newest[one.name] = one
    return [newest[name] for name in sorted(newest)]


class HoldParams(Noun):
    """Labels that hold, and words that a title starts with to hold; letter case does not matter."""

    labels: tuple[str, ...] = ("ON_HOLD",)
    title_starts: tuple[str, ...] = ("[ON HOLD]", "[DO NOT MERGE]", "DO NOT MERGE", "[WIP]")


class HoldEvidence(Noun):
    """What holds it."""

    labels: tuple[str, ...]
    title: str | None


@check("on-hold")
def on_hold(snapshot: Snapshot, params: HoldParams) -> Result[HoldEvidence]:
    """Nobody holds it, by a label or in its title."""
    holding = {label.lower() for label in params.labels}
    labels = tuple(label for label in snapshot.labels or () if label.lower() in holding)
    starts = tuple(start.lower() for start in params.title_starts)
    title = snapshot.title if snapshot.title.lower().startswith(starts) else None
    return Result(Outcome.PENDING if labels or title else Outcome.PASSED, HoldEvidence(labels=labels, title=title))
