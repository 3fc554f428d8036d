"""Pull requests as GitHub tells them: many at once, every page of every list, what could not be read named as a gap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from relmgr.errors import SourceError
from relmgr.model.pull_request import (
    PullRequest,
    PullRequestCheck,
    PullRequestComment,
    PullRequestEdit,
    PullRequestFile,
    PullRequestRef,
    PullRequestReview,
)
from relmgr.sources.github.client import GitHub, GitHubError, NotFound
from relmgr.sources.github.queries import OPEN_PULLS, list_query, pulls_query
from relmgr.sources.github.rest import read_pull_by_rest

PAGE = 50
SMALLEST_PAGE = 5
# Single pull requests, and further pages of lists, in one query.
BATCH = 25
# How often GitHub is asked again whether a pull request can be merged: it works that out after the first question.
MERGEABLE_ASKS = 4
# A longer thread is not read to its end: what stands in it then counts for nothing.
MOST_COMMENTS = 2000

_REVIEW_STATES = {
    "APPROVED": "approved",
    "CHANGES_REQUESTED": "changes-requested",
    "COMMENTED": "commented",
    "DISMISSED": "dismissed",
    "PENDING": "pending",
}
_CHECK_STATUSES = {
    "QUEUED": "queued",
    "IN_PROGRESS": "in-progress",
    "COMPLETED": "completed",
    "WAITING": "waiting",
    "REQUESTED": "requested",
    "PENDING": "pending",
}
_CHANGE_WORDS = {"DELETED": "removed"}
_EDITS = {
    "HeadRefForcePushedEvent": "push",
    "BaseRefChangedEvent": "base",
    "RenamedTitleEvent": "title",
    "ConvertToDraftEvent": "draft",
    "ReadyForReviewEvent": "ready",
}
_MERGEABLE = {"MERGEABLE": True, "CONFLICTING": False}


@dataclass
class Pulls:
    """Pull requests by name, and why others, or whole repositories, could not be read."""

    found: dict[PullRequestRef, PullRequest] = field(default_factory=dict)
    gaps: dict[str, str] = field(default_factory=dict)

    def of(self, slug: str) -> tuple[PullRequest, ...]:
        """Return those of one repository, by number."""
        mine = (pull for ref, pull in self.found.items() if ref.repository.lower() == slug.lower())
        return tuple(sorted(mine, key=lambda pull: pull.number))


def read_open_pulls(github: GitHub, slugs: Iterable[str]) -> Pulls:
    """Return every open pull request of some repositories, with labels, reviews, files and checks of the head.

    One query a page of `PAGE`. A repository that cannot be read is a gap under its name; the others are still read.
    """
    pulls = Pulls()
    for slug in slugs:
        try:
            nodes = [node for page in _open_pages(github, slug) for node in page]
            _read_on(github, nodes)
            for node in nodes:
                pull = pull_of(node, slug)
                pulls.found[pull.ref] = pull
        except SourceError as error:
            pulls.gaps[slug] = _said(error)
    return pulls


def read_pulls(github: GitHub, refs: Iterable[PullRequestRef]) -> Pulls:
    """Return single pull requests in any state, `BATCH` in one query; one that cannot be read is a gap by its name."""
    pulls, wanted = Pulls(), list(dict.fromkeys(refs))
    for start in range(0, len(wanted), BATCH):
        some = wanted[start : start + BATCH]
        try:
            _read_some(github, some, pulls)
        except SourceError as error:
            pulls.gaps |= dict.fromkeys(map(str, some), _said(error))
    return pulls


def read_pull(github: GitHub, ref: PullRequestRef) -> PullRequest:
    """Return one pull request; asks again, a bounded number of times, while GitHub works out whether it can merge.

    Raises `SourceError` when it cannot be read.
    """
    for attempt in range(1, MERGEABLE_ASKS + 1):
        pulls = read_pulls(github, [ref])
        if ref not in pulls.found:
            raise SourceError(pulls.gaps.get(str(ref), "not read"), where=str(ref))
        pull = pulls.found[ref]
        if pull.mergeable is not None or pull.state != "open" or attempt == MERGEABLE_ASKS:
            break
        github.pause(attempt)
    return pull


def read_base(github: GitHub, ref: PullRequestRef) -> str | None:
    """Return the branch that a pull request goes to; None when GitHub does not tell."""
    try:
        return str(github.get(f"/repos/{ref.repository}/pulls/{ref.number}")["base"]["ref"])
    except SourceError:
        return None


def login_of(account: dict[str, Any] | None) -> str:
    """Return an account's login as it stands beside a comment: a bot's ends in `[bot]`; a deleted account is ghost."""
    if not account:
        return "ghost"
    login = str(account["login"])
    return f"{login}[bot]" if account.get("__typename") == "Bot" and not login.endswith("[bot]") else login


def _open_pages(github: GitHub, slug: str) -> Iterator[list[dict[str, Any]]]:
    """Yield pages of open pull requests; asks for fewer at a time where GitHub fails on a large page."""
    owner, name = slug.split("/")
    size, cursor = PAGE, None
    while True:
        variables = {"owner": owner, "name": name, "size": size, "cursor": cursor}
        try:
            answer = github.query(OPEN_PULLS, variables)
        except GitHubError as error:
            if error.status < 500 or size <= SMALLEST_PAGE:
                raise
            size = max(SMALLEST_PAGE, size // 3)
            continue
        repository = answer["data"].get("repository")
        if repository is None or answer.get("errors"):
            raise SourceError(_errors_of(answer), where=slug)
        github.learn_name(slug, repository["nameWithOwner"])
        page = repository["pullRequests"]
        yield page["nodes"]
        if not page["pageInfo"]["hasNextPage"]:
            return
        cursor = page["pageInfo"]["endCursor"]


def _read_some(github: GitHub, refs: Sequence[PullRequestRef], pulls: Pulls) -> None:
    variables: dict[str, Any] = {}
    for i, ref in enumerate(refs):
        owner, name = ref.repository.split("/")
        variables |= {f"o{i}": owner, f"n{i}": name, f"p{i}": ref.number}
    try:
        answer = github.query(pulls_query(len(refs)), variables)
    except NotFound:
        _read_by_rest(github, refs, pulls)
        return
    nodes: dict[PullRequestRef, dict[str, Any]] = {}
    for i, ref in enumerate(refs):
        repository = answer["data"].get(f"r{i}")
        wrong = [error for error in answer.get("errors") or () if str((error.get("path") or [""])[0]) == f"r{i}"]
        node = repository.get("pullRequest") if repository else None
        if node is None or wrong:
            pulls.gaps[str(ref)] = _errors_of({"errors": wrong}) if wrong else "there is no such pull request"
            continue
        github.learn_name(ref.repository, repository["nameWithOwner"])
        nodes[ref] = node
    _read_on(github, list(nodes.values()))
    pulls.found |= {ref: pull_of(node, ref.repository) for ref, node in nodes.items()}


def _read_by_rest(github: GitHub, refs: Sequence[PullRequestRef], pulls: Pulls) -> None:
    """Read them one by one from a forge that has no GraphQL."""
    for ref in refs:
        try:
            pulls.found[ref] = read_pull_by_rest(github, ref)
        except NotFound:
            pulls.gaps[str(ref)] = "there is no such pull request"


def _lists(node: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield (list, id of what holds it, the list) for each list of a pull request that has further pages."""
    found = [(name, node["id"], node[name]) for name in ("labels", "reviews", "files", "comments")]
    for commit in (entry["commit"] for entry in node["commits"]["nodes"]):
        rollup = commit["statusCheckRollup"]
        found.append(("contexts", commit["id"], rollup["contexts"] if rollup else None))
    yield from ((name, holder, some) for name, holder, some in found if some and _goes_on(name, some))


def _goes_on(name: str, page: dict[str, Any]) -> bool:
    """Tell whether a list is to be read on: nobody fills a thread to keep relmgr busy."""
    too_long = name == "comments" and len(page["nodes"]) >= MOST_COMMENTS
    return bool(page["pageInfo"]["hasNextPage"]) and not too_long


def _read_on(github: GitHub, nodes: list[dict[str, Any]]) -> None:
    """Read every further page of every list into the nodes themselves."""
    open_lists = [item for node in nodes for item in _lists(node)]
    while open_lists:
        some = open_lists[:BATCH]
        variables: dict[str, Any] = {}
        for n, (_, holder, page) in enumerate(some):
            variables |= {f"i{n}": holder, f"c{n}": page["pageInfo"]["endCursor"]}
        answer = github.query(list_query([name for name, _, _ in some]), variables)
        if answer.get("errors"):
            raise SourceError(_errors_of(answer), where="a further page of a list")
        for n, (name, _, page) in enumerate(some):
            held = answer["data"][f"r{n}"]
            more = (held["statusCheckRollup"] if name == "contexts" else held)[name]
            page["nodes"].extend(more["nodes"])
            page["pageInfo"] = more["pageInfo"]
        open_lists = [item for item in open_lists if _goes_on(item[0], item[2])]


def pull_of(node: dict[str, Any], slug: str) -> PullRequest:
    """Return a pull request from GraphQL's node, under the repository's configured name."""
    commits = [entry["commit"] for entry in node["commits"]["nodes"]]
    head = commits[-1] if commits else None
    return PullRequest(
        repository=slug,
        number=node["number"],
        title=node["title"],
        body=node["body"],
        state=node["state"].lower(),
        draft=node["isDraft"],
        base=node["baseRefName"],
        head_ref=node["headRefName"],
        head_commit=node["headRefOid"],
        author=login_of(node["author"]),
        merged_into=None,
        merge_commit=node["mergeCommit"]["oid"] if node["mergeCommit"] else None,
        merged_at=_time_or_none(node["mergedAt"]),
        created_at=time_of(node["createdAt"]),
        updated_at=time_of(node["updatedAt"]),
        last_push_at=_last_push(node, head),
        mergeable=_MERGEABLE.get(node["mergeable"]),
        labels=tuple(label["name"] for label in node["labels"]["nodes"]) if node["labels"] else (),
        reviews=tuple(_review(one) for one in node["reviews"]["nodes"]) if node["reviews"] else (),
        checks=_checks(head) if head else None,
        files=tuple(_file(one) for one in node["files"]["nodes"]) if node["files"] else None,
        comments=_comments(node["comments"]),
        edits=_edits(node),
    )


def _comments(page: dict[str, Any] | None) -> tuple[PullRequestComment, ...] | None:
    """Return the thread, oldest first; None when not all of it was read."""
    if not page or page["pageInfo"]["hasNextPage"]:
        return None
    return tuple(
        PullRequestComment(
            author=login_of(one["author"]),
            body=one["body"],
            created_at=time_of(one["createdAt"]),
            url=one["url"],
            # What is imported from elsewhere is said by a mannequin, who may be called as an owner is.
            is_bot=bool(one["author"]) and one["author"]["__typename"] != "User",
            association=one["authorAssociation"].lower(),
            edited_at=_time_or_none(one["lastEditedAt"]),
            edited_by=login_of(one["editor"]) if one["lastEditedAt"] else None,
            hidden=one["isMinimized"],
        )
        for one in page["nodes"]
    )


def _last_push(node: dict[str, Any], head: dict[str, Any] | None) -> datetime | None:
    """Return when the head was last pushed, at the earliest: GitHub tells the time of a forced push only.

    A commit's own date is its author's clock; it is what is left for a plain push.
    """
    items = node["timelineItems"]["nodes"]
    forced = [item["createdAt"] for item in items if item["__typename"] == "HeadRefForcePushedEvent"]
    times = [time_of(text) for text in (*forced, *([head["committedDate"]] if head else []))]
    return max(times, default=None)


def _edits(node: dict[str, Any]) -> tuple[PullRequestEdit, ...]:
    """Return what was changed after it was opened, oldest first."""
    told = [(_EDITS[item["__typename"]], item["createdAt"], item["actor"]) for item in node["timelineItems"]["nodes"]]
    if node["lastEditedAt"]:
        told.append(("body", node["lastEditedAt"], node["editor"]))
    found = [
        PullRequestEdit.model_validate({"kind": k, "at": at, "by": login_of(by) if by else None}) for k, at, by in told
    ]
    return tuple(sorted(found, key=lambda edit: edit.at))


def _review(node: dict[str, Any]) -> PullRequestReview:
    return PullRequestReview(
        author=login_of(node["author"]),
        state=_REVIEW_STATES[node["state"]],
        submitted_at=_time_or_none(node["submittedAt"]),
        commit=node["commit"]["oid"] if node["commit"] else None,
        may_push=node["authorCanPushToRepository"],
    )


def _file(node: dict[str, Any]) -> PullRequestFile:
    return PullRequestFile(
        path=node["path"], status=_CHANGE_WORDS.get(node["changeType"], str(node["changeType"]).lower())
    )


def _checks(head: dict[str, Any]) -> tuple[PullRequestCheck, ...]:
    rollup = head["statusCheckRollup"]
    return tuple(_check(one, head["oid"]) for one in rollup["contexts"]["nodes"]) if rollup else ()


def _check(node: dict[str, Any], commit: str) -> PullRequestCheck:
    """Return a check run, or a commit status in the words of check runs."""
    if node["__typename"] == "CheckRun":
        return PullRequestCheck(
            name=node["name"],
            status=_CHECK_STATUSES[node["status"]],
            conclusion=node["conclusion"].lower().replace("_", "-") if node["conclusion"] else None,
            completed_at=_time_or_none(node["completedAt"]),
            commit=commit,
        )
    done = node["state"] in ("SUCCESS", "FAILURE", "ERROR")
    return PullRequestCheck(
        name=node["context"],
        status="completed" if done else "pending",
        conclusion={"SUCCESS": "success", "FAILURE": "failure", "ERROR": "failure"}.get(node["state"]),
        completed_at=_time_or_none(node["createdAt"]) if done else None,
        commit=commit,
    )


def _errors_of(answer: dict[str, Any]) -> str:
    said = [str(error.get("message", "no message")) for error in answer.get("errors") or ()][:3]
    return "GitHub: " + ("; ".join(said) or "there is no such repository, or this account may not see it")


def _said(error: SourceError) -> str:
    return error.brief


def time_of(text: str) -> datetime:
    """Return a time as GitHub writes it."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _time_or_none(text: str | None) -> datetime | None:
    return time_of(text) if text else None
