"""Objects in the shapes that GitHub's REST API gives them."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote


def user(base: str, login: str) -> dict[str, Any]:
    name = quote(login)
    url = f"{base}/users/{name}"
    links = ("followers", "subscriptions", "organizations", "repos", "received_events")
    return {
        "login": login,
        "id": sum(login.encode()),
        "node_id": f"U_{login}",
        "avatar_url": f"{base}/avatars/{name}",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{base}/{name}",
        **{f"{link}_url": f"{url}/{link}" for link in links},
        "following_url": f"{url}/following{{/other_user}}",
        "gists_url": f"{url}/gists{{/gist_id}}",
        "starred_url": f"{url}/starred{{/owner}}{{/repo}}",
        "events_url": f"{url}/events{{/privacy}}",
        "type": "Bot" if login.endswith("[bot]") else "User",
        "site_admin": False,
    }


def account(base: str, login: str) -> dict[str, Any]:
    nothing = dict.fromkeys(("name", "company", "blog", "location", "email", "hireable", "bio"))
    counts = dict.fromkeys(("public_repos", "public_gists", "followers", "following"), 0)
    times = dict.fromkeys(("created_at", "updated_at"), "2030-01-01T00:00:00Z")
    return user(base, login) | nothing | counts | times


_REPOSITORY_LINKS = [
    "archive",
    "assignees",
    "blobs",
    "branches",
    "collaborators",
    "comments",
    "commits",
    "compare",
    "contents",
    "contributors",
    "deployments",
    "downloads",
    "events",
    "forks",
    "git_commits",
    "git_refs",
    "git_tags",
    "hooks",
    "issue_comment",
    "issue_events",
    "issues",
    "keys",
    "labels",
    "languages",
    "merges",
    "milestones",
    "notifications",
    "pulls",
    "releases",
    "stargazers",
    "statuses",
    "subscribers",
    "subscription",
    "tags",
    "teams",
    "trees",
]
_COUNTS = [
    "forks",
    "forks_count",
    "open_issues",
    "open_issues_count",
    "size",
    "stargazers_count",
    "watchers",
    "watchers_count",
]


def repository(base: str, slug: str, number: int, default_branch: str) -> dict[str, Any]:
    owner, name = slug.split("/")
    url = f"{base}/repos/{slug}"
    return {
        "id": number,
        "node_id": f"R_{number}",
        "name": name,
        "full_name": slug,
        "owner": user(base, owner),
        "private": False,
        "html_url": f"{base}/{slug}",
        "description": None,
        "fork": False,
        "url": url,
        **{f"{link}_url": f"{url}/{link}" for link in _REPOSITORY_LINKS},
        **dict.fromkeys(_COUNTS, 0),
        **{f"has_{thing}": True for thing in ("issues", "projects", "wiki", "pages", "discussions", "downloads")},
        "network_count": 0,
        "subscribers_count": 0,
        "clone_url": f"{base}/{slug}.git",
        "git_url": f"git://127.0.0.1/{slug}.git",
        "ssh_url": f"git@127.0.0.1:{slug}.git",
        "svn_url": f"{base}/{slug}",
        "mirror_url": None,
        "homepage": None,
        "language": None,
        "license": None,
        "archived": False,
        "disabled": False,
        "default_branch": default_branch,
        "pushed_at": "2030-01-01T00:00:00Z",
        "created_at": "2030-01-01T00:00:00Z",
        "updated_at": "2030-01-01T00:00:00Z",
    }


def label(base: str, slug: str, name: str) -> dict[str, Any]:
    return {
        "id": sum(name.encode()),
        "node_id": f"LA_{name}",
        "url": f"{base}/repos/{slug}/labels/{name}",
        "name": name,
        "description": "",
        "color": "ededed",
        "default": False,
    }


def label_event(base: str, slug: str, actor: str, event: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": event["id"],
        "node_id": f"LE_{event['id']}",
        "url": f"{base}/repos/{slug}/issues/events/{event['id']}",
        "actor": user(base, actor),
        "event": event["event"],
        "commit_id": None,
        "commit_url": None,
        "created_at": "2030-02-02T10:00:00Z",
        "performed_via_github_app": None,
        "label": {"name": event["label"], "color": "ededed"},
    }


def comment(base: str, slug: str, number: int, entry: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": entry["id"],
        "node_id": f"IC_{entry['id']}",
        "url": f"{base}/repos/{slug}/issues/comments/{entry['id']}",
        "html_url": f"{base}/{slug}/issues/{number}#issuecomment-{entry['id']}",
        "issue_url": f"{base}/repos/{slug}/issues/{number}",
        "body": entry["body"],
        "user": user(base, entry["author"]) if entry["author"] else None,
        "created_at": entry["at"],
        "updated_at": entry["at"],
        "author_association": "NONE",
        "performed_via_github_app": None,
    }


def issue(base: str, slug: str, entry: dict[str, Any], comments: int) -> dict[str, Any]:
    url = f"{base}/repos/{slug}/issues/{entry['number']}"
    is_pull = {"pull_request": pull_links(base, slug, entry["number"])} if entry["kind"] == "pull" else {}
    return {
        "id": entry["number"],
        "node_id": f"I_{entry['number']}",
        "number": entry["number"],
        "url": url,
        "repository_url": f"{base}/repos/{slug}",
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "html_url": f"{base}/{slug}/issues/{entry['number']}",
        "title": entry["title"],
        "body": entry["body"],
        "state": "open" if entry["state"] == "open" else "closed",
        "state_reason": entry.get("state_reason"),
        "user": user(base, entry["author"]) if entry["author"] else None,
        "labels": [label(base, slug, name) for name in entry["labels"]],
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "locked": False,
        "comments": comments,
        "closed_at": None if entry["state"] == "open" else entry["at"],
        "created_at": entry["at"],
        "updated_at": entry["at"],
        "author_association": "NONE",
        **is_pull,
    }


def pull_links(base: str, slug: str, number: int) -> dict[str, str]:
    page = f"{base}/{slug}/pull/{number}"
    return {
        "url": f"{base}/repos/{slug}/pulls/{number}",
        "html_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
    }


def pull(base: str, slug: str, entry: dict[str, Any], repo: dict[str, Any]) -> dict[str, Any]:
    links = pull_links(base, slug, entry["number"])
    others = {
        "issue": f"{base}/repos/{slug}/issues/{entry['number']}",
        "comments": f"{base}/repos/{slug}/issues/{entry['number']}/comments",
        "commits": f"{links['url']}/commits",
        "review_comments": f"{links['url']}/comments",
        "review_comment": f"{base}/repos/{slug}/pulls/comments{{/number}}",
        "statuses": f"{base}/repos/{slug}/statuses/{entry['head_sha']}",
    }
    hrefs = others | {"html": links["html_url"], "self": links["url"]}
    owner = slug.split("/")[0]

    def side(ref: str, sha: str, repo: dict[str, Any] | None = repo) -> dict[str, Any]:
        return {"label": f"{owner}:{ref}", "ref": ref, "sha": sha, "user": user(base, owner), "repo": repo}

    # A pull request from a fork names it; one whose fork was deleted names none.
    fork = entry.get("fork", repo)
    from_ = fork and repo | {"full_name": fork["full_name"]}

    return {
        **links,
        **{f"{name}_url": url for name, url in others.items()},
        "_links": {name: {"href": url} for name, url in hrefs.items()},
        "id": entry["number"],
        "node_id": f"PR_{entry['number']}",
        "number": entry["number"],
        "title": entry["title"],
        "body": entry["body"],
        "state": "open" if entry["state"] == "open" else "closed",
        "user": user(base, entry["author"]) if entry["author"] else None,
        "labels": [label(base, slug, name) for name in entry["labels"]],
        "base": side(entry["base"], "b" * 40),
        "head": side(entry["head"], entry["head_sha"], from_),
        "draft": entry.get("draft", False),
        "assignee": None,
        "assignees": [],
        "requested_reviewers": [],
        "requested_teams": [],
        "milestone": None,
        "locked": False,
        "auto_merge": None,
        "author_association": "NONE",
        "merge_commit_sha": entry.get("merge_commit"),
        "merged_at": entry.get("merged_at"),
        "closed_at": None if entry["state"] == "open" else entry["at"],
        "created_at": entry["at"],
        "updated_at": entry["at"],
    }


def whole_pull(base: str, slug: str, entry: dict[str, Any], repo: dict[str, Any]) -> dict[str, Any]:
    return {
        **pull(base, slug, entry, repo),
        "merged": entry["state"] == "merged",
        "mergeable": None,
        "mergeable_state": "unknown",
        "merged_by": None,
        "maintainer_can_modify": False,
        "comments": 0,
        "review_comments": 0,
        "commits": 1,
        "additions": 1,
        "deletions": 1,
        "changed_files": 1,
    }


def check_run(base: str, slug: str, entry: dict[str, Any]) -> dict[str, Any]:
    url = f"{base}/repos/{slug}/check-runs/{entry['id']}"
    output = entry["output"]
    app = entry["app"] and {
        "id": 1,
        "node_id": "A_1",
        "slug": entry["app"],
        "owner": user(base, "acme"),
        "name": entry["app"],
        "description": None,
        "external_url": base,
        "html_url": base,
        "created_at": "2030-01-01T00:00:00Z",
        "updated_at": "2030-01-01T00:00:00Z",
        "permissions": {},
        "events": [],
    }
    return {
        "id": entry["id"],
        "node_id": f"CR_{entry['id']}",
        "head_sha": entry["head_sha"],
        "name": entry["name"],
        "external_id": entry.get("external_id"),
        "url": url,
        "html_url": url,
        "details_url": entry.get("details_url"),
        "status": entry["status"],
        "conclusion": entry.get("conclusion"),
        "started_at": entry["at"],
        "completed_at": entry["at"] if entry["status"] == "completed" else None,
        "output": {
            "title": output.get("title"),
            "summary": output.get("summary"),
            "text": output.get("text"),
            "annotations_count": len(entry["annotations"]),
            "annotations_url": f"{url}/annotations",
        },
        "check_suite": {"id": 1},
        "app": app,
        "pull_requests": [],
    }


def status(base: str, slug: str, entry: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": entry["id"],
        "node_id": f"SC_{entry['id']}",
        "url": f"{base}/repos/{slug}/statuses/{entry['sha']}",
        "avatar_url": None,
        "state": entry["state"],
        "description": entry.get("description"),
        "target_url": entry.get("target_url"),
        "context": entry["context"],
        "creator": user(base, entry["author"]) if entry["author"] else None,
        "created_at": entry["at"],
        "updated_at": entry["at"],
    }
