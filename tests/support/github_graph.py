"""The stand-in's state as GitHub's GraphQL API shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.support.github_standin import Repo, StandIn


def graph_root(standin: StandIn, errors: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the query root; what does not exist is null, and told in `errors`."""

    def repository(owner: str, name: str) -> Any:
        slug = f"{owner}/{name}"
        repo = standin.repos.get(standin.renamed.get(slug, slug))
        if repo is None:
            message = f"Could not resolve to a Repository with the name '{slug}'."
            errors.append({"type": "NOT_FOUND", "path": ["repository"], "message": message})
        return graph_repository(standin, repo) if repo else None

    def node(id: str) -> Any:
        for repo in standin.repos.values():
            for entry in repo.threads.values():
                if entry["kind"] == "pull":
                    pull = graph_pull(repo, entry)
                    head = pull["commits"](last=1)["nodes"][0]["commit"]
                    for found in (pull, head):
                        if found["id"] == id:
                            return found
        return None

    return {"repository": repository, "node": node, "viewer": {"__typename": "User", "login": standin.viewer}}


def connection(items: list[Any]) -> Callable[..., dict[str, Any]]:
    """Return a list as GraphQL pages it."""

    def page(
        first: int | None = None, after: str | None = None, last: int | None = None, **rest: Any
    ) -> dict[str, Any]:
        if last is not None:
            return {"nodes": items[-last:], "pageInfo": {"hasNextPage": False, "endCursor": None}}
        assert first is not None
        assert first <= 100, "GitHub refuses more than 100"
        start = int(after) if after else 0
        end = start + first
        return {"nodes": items[start:end], "pageInfo": {"hasNextPage": end < len(items), "endCursor": str(end)}}

    return page


def actor(login: str | None) -> dict[str, Any] | None:
    if login is None:
        return None
    is_bot = login.endswith("[bot]")
    return {"__typename": "Bot" if is_bot else "User", "login": login.removesuffix("[bot]")}


def graph_repository(standin: StandIn, repo: Repo) -> dict[str, Any]:
    pulls = [entry for entry in repo.threads.values() if entry["kind"] == "pull"]

    def pull_requests(states: list[str], **arguments: Any) -> Any:
        chosen = [graph_pull(repo, entry) for entry in pulls if entry["state"].upper() in states]
        return connection(chosen)(**arguments)

    def pull_request(number: int) -> Any:
        entry = repo.threads.get(number)
        return graph_pull(repo, entry) if entry and entry["kind"] == "pull" else None

    def ref(qualifiedName: str) -> Any:
        on = repo.on_branch.get(qualifiedName.removeprefix("refs/heads/"))
        if on is None:
            return None
        if not standin.compares_commits:
            return {"compare": lambda headRef: None}
        return {"compare": lambda headRef: {"status": "BEHIND" if headRef in on else "DIVERGED"}}

    return {
        "__typename": "Repository",
        "nameWithOwner": repo.slug,
        "ref": ref,
        "pullRequests": pull_requests,
        "pullRequest": pull_request,
    }


def graph_pull(repo: Repo, entry: dict[str, Any]) -> dict[str, Any]:
    reviews = [
        {
            "author": actor(review["author"]),
            "state": review["state"],
            "submittedAt": review.get("at"),
            "commit": {"oid": review.get("commit", entry["head_sha"])},
            "authorCanPushToRepository": review.get("can_push", True),
        }
        for review in entry.get("reviews", [])
    ]
    checks = entry.get("checks", [])
    contexts = [{"__typename": "CheckRun", "completedAt": None, "conclusion": None} | check for check in checks]
    commit = {
        "__typename": "Commit",
        "id": f"C_{repo.number}_{entry['number']}",
        "oid": entry["head_sha"],
        "committedDate": entry["at"],
        "statusCheckRollup": {"contexts": connection(contexts)} if contexts else None,
    }
    files = [{"path": path, "changeType": kind} for path, kind in entry.get("files", [("a.txt", "MODIFIED")])]
    pushed = entry.get("force_pushed")
    edits = [*entry.get("edits", []), *([("HeadRefForcePushedEvent", pushed, None)] if pushed else [])]
    timeline = [{"__typename": kind, "createdAt": at, "actor": actor(by)} for kind, at, by in edits]
    said = [graph_comment(repo, entry["number"], one) for one in repo.comments.get(entry["number"], [])]
    # GitHub answers null the first time, and works it out meanwhile.
    mergeable = entry.get("mergeable", ["MERGEABLE"])
    return {
        "__typename": "PullRequest",
        "id": f"PR_{repo.number}_{entry['number']}",
        "number": entry["number"],
        "title": entry["title"],
        "body": entry["body"] or "",
        "state": entry["state"].upper(),
        "isDraft": entry.get("draft", False),
        "baseRefName": entry["base"],
        "headRefName": entry["head"],
        "headRefOid": entry["head_sha"],
        "createdAt": entry["at"],
        "updatedAt": entry["at"],
        "mergedAt": entry.get("merged_at"),
        "lastEditedAt": entry.get("edited_at"),
        "editor": actor("dev") if entry.get("edited_at") else None,
        "mergeable": mergeable.pop(0) if len(mergeable) > 1 else mergeable[0],
        "mergeCommit": {"oid": entry["merge_commit"]} if entry.get("merge_commit") else None,
        "repository": {"nameWithOwner": repo.slug},
        "author": actor(entry["author"]),
        "labels": connection([{"name": name} for name in entry["labels"]]),
        "reviews": connection(reviews),
        "files": connection(files),
        "commits": connection([{"commit": commit}]),
        "comments": connection(said),
        "timelineItems": connection(timeline),
    }


def graph_comment(repo: Repo, number: int, entry: dict[str, Any]) -> dict[str, Any]:
    edited = entry.get("edited_at")
    return {
        "author": (actor(entry["author"]) or {}) | {"__typename": entry["typename"]}
        if "typename" in entry
        else actor(entry["author"]),
        "authorAssociation": "NONE",
        "body": entry["body"],
        "createdAt": entry["at"],
        "lastEditedAt": edited,
        "editor": actor(entry.get("edited_by", entry["author"])) if edited else None,
        "url": f"https://github.com/{repo.slug}/pull/{number}#issuecomment-{entry['id']}",
        "isMinimized": entry.get("hidden", False),
    }
