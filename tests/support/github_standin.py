"""A stateful stand-in for GitHub on this machine: what relmgr reads and writes there, and how GitHub fails.

It is not GitHub. Every answer it gives is judged by GitHub's own OpenAPI description where that is installed
(`mistakes`), and its refusals and slips are told to it beforehand (`Trouble`).
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.support import github_actions as actions
from tests.support import github_shapes as shapes
from tests.support.github_graph import graph_root
from tests.support.github_schema import missing_openapi, openapi
from tests.support.graphql_walk import Walk

SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
Kind = Literal[
    "502",
    "502-done",
    "dropped-done",
    "secondary",
    "retry-after",
    "primary",
    "graphql-primary",
    "graphql-secondary",
    "refused",
    "forbidden",
    "garbage",
]
LONGEST_BODY = 65_536


@dataclass
class Trouble:
    """The next `times` requests of `verb` whose path matches `pattern` end so; `-done`: what they ask is still done."""

    kind: Kind
    verb: str
    pattern: str
    times: int = 1


@dataclass
class Repo:
    """One repository: `threads` are its issues and pull requests by number."""

    slug: str
    number: int
    default_branch: str = "develop"
    threads: dict[int, dict[str, Any]] = field(default_factory=dict)
    comments: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    checks: list[dict[str, Any]] = field(default_factory=list)
    statuses: list[dict[str, Any]] = field(default_factory=list)
    on_branch: dict[str, set[str]] = field(default_factory=dict)
    permissions: dict[str, str] = field(default_factory=dict)
    own_roles: dict[str, str] = field(default_factory=dict)
    workflows: dict[str, dict[str, Any]] = field(default_factory=dict)
    runs: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class StandIn:
    """GitHub's state. `viewer` is who asks; `is_app` may write check runs.

    `compares_commits`: GraphQL's compare does; `knows_creators`: a list of issues can be asked for one author's;
    `longest`: what is kept of a check's id and a status's words; `renamed`: a repository's former name to its present
    one, or to an address elsewhere; `prefix`: `/api/v3` on an Enterprise Server, whose GraphQL is beside it.
    """

    viewer: str = "relmgr[bot]"
    is_app: bool = True
    compares_commits: bool = True
    knows_creators: bool = True
    longest: int | None = None
    url: str = ""
    repos: dict[str, Repo] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    prefix: str = ""
    troubles: list[Trouble] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)
    mistakes: list[str] = field(default_factory=list)
    authorizations: set[str] = field(default_factory=set)
    asked_permissions: dict[str, str] = field(default_factory=dict)
    before: Callable[[int], None] = lambda number: None
    after: Callable[[int], None] = lambda number: None
    _ids: int = 1000
    _lock: threading.Lock = field(default_factory=threading.Lock)

    # -- arranging ----------------------------------------------------------------------------------------------------

    def add_repo(self, slug: str, default_branch: str = "develop") -> Repo:
        self.repos[slug] = Repo(slug, len(self.repos) + 1, default_branch)
        return self.repos[slug]

    def add_pull(self, slug: str, number: int, **facts: Any) -> dict[str, Any]:
        """Add a pull request; `facts` lie over an ordinary open one."""
        entry = {
            "kind": "pull",
            "number": number,
            "title": f"Change {number}",
            "body": "Words.",
            "state": "open",
            "author": "dev",
            "labels": [],
            "base": self.repos[slug].default_branch,
            "head": f"work-{number}",
            "head_sha": sha256(f"{slug}#{number}".encode()).hexdigest()[:40],
            "at": "2030-02-01T10:00:00Z",
        } | facts
        self.repos[slug].threads[number] = entry
        return entry

    def add_comment(self, slug: str, number: int, author: str | None, body: str) -> dict[str, Any]:
        entry = {"id": self.next_id(), "author": author, "body": body, "at": "2030-02-01T11:00:00Z"}
        self.repos[slug].comments.setdefault(number, []).append(entry)
        return entry

    def next_id(self) -> int:
        self._ids += 1
        return self._ids

    def bodies(self, slug: str, number: int) -> list[str]:
        """Return what stands in a thread, oldest first."""
        return [entry["body"] for entry in self.repos[slug].comments.get(number, [])]

    def issues(self, slug: str) -> list[dict[str, Any]]:
        return [entry for entry in self.repos[slug].threads.values() if entry["kind"] == "issue"]

    def writes(self) -> list[tuple[str, str]]:
        """Return the calls that could change something."""
        return [(verb, path) for verb, path in self.calls if verb != "GET" and path != "/graphql"]

    # -- answering ----------------------------------------------------------------------------------------------------

    def handle(self, verb: str, target: str, body: Any) -> tuple[int, dict[str, str], Any] | None:
        """Return status, headers and JSON; None drops the connection."""
        if self.prefix and target != "/api/graphql" and not target.startswith(f"{self.prefix}/"):
            return 404, {}, {"message": "Not Found"}
        parts = urlsplit(target.removeprefix(self.prefix).removeprefix("/api" if self.prefix else ""))
        path, query = unquote(parts.path), dict(parse_qsl(parts.query))
        with self._lock:
            self.calls.append((verb, target if verb == "GET" else path))
            self.before(len(self.calls))
            trouble = self._trouble(verb, path)
            if trouble and not trouble.kind.endswith("-done"):
                return _refusal(trouble.kind)
            status, headers, data = self._route(verb, path, query, body)
            self.after(len(self.calls))
            if path != "/graphql" and missing_openapi() is None:
                self.mistakes += openapi().mistakes(verb, path, status, data, body)
            if trouble:
                return None if trouble.kind == "dropped-done" else _refusal("502")
            return status, headers, data

    def _trouble(self, verb: str, path: str) -> Trouble | None:
        for trouble in self.troubles:
            if trouble.times > 0 and trouble.verb == verb and re.search(trouble.pattern, path):
                trouble.times -= 1
                return trouble
        return None

    def _route(self, verb: str, path: str, query: dict[str, str], body: Any) -> tuple[int, dict[str, str], Any]:
        if path == "/graphql":
            return self._graphql(body)
        if path == "/user":
            return 200, {}, shapes.account(self.url, self.viewer)
        if verb == "POST" and re.fullmatch(r"/app/installations/\d+/access_tokens", path):
            self.asked_permissions = body["permissions"]
            return 201, {}, {"token": "ghs_planted0123456789", "expires_at": "2099-01-01T00:00:00Z"}
        match = re.match(r"^/repos/([^/]+/[^/]+)(/.*)?$", path)
        if not match:
            return 404, {}, {"message": "Not Found"}
        slug, rest = match[1], match[2] or ""
        if slug in self.renamed:
            new = self.renamed[slug]
            moved = f"{new}{rest}" if "://" in new else f"{self.url}/repos/{new}{rest}"
            return (301 if verb == "GET" else 307), {"Location": moved}, {"message": "Moved Permanently", "url": moved}
        if slug not in self.repos:
            return 404, {}, {"message": "Not Found"}
        for route, handler in ROUTES:
            named, _, pattern = route.partition(" ")
            found = re.fullmatch(pattern, rest)
            if named == verb and found:
                status, data = handler(self, self.repos[slug], found.groups(), query, body)
                if isinstance(data, list) and verb == "GET":
                    return status, *self._paged(path, query, data)
                if isinstance(data, dict) and "check_runs" in data:
                    headers, some = self._paged(path, query, data["check_runs"])
                    return status, headers, data | {"check_runs": some}
                return status, {}, data
        return 404, {}, {"message": "Not Found"}

    def _paged(self, path: str, query: dict[str, str], data: list[Any]) -> tuple[dict[str, str], Any]:
        size, page = int(query.get("per_page", 30)), int(query.get("page", 1))
        some, headers = data[(page - 1) * size : page * size], {}
        if page * size < len(data):
            rest = "&".join(f"{k}={v}" for k, v in query.items() if k != "page")
            headers["Link"] = f'<{self.url}{path}?{rest}&page={page + 1}>; rel="next"'
        return headers, some

    def _graphql(self, body: Any) -> tuple[int, dict[str, str], Any]:
        errors: list[dict[str, Any]] = []
        data = Walk(body["query"], body["variables"]).answer(graph_root(self, errors))
        return 200, {}, {"data": data} | ({"errors": errors} if errors else {})

    @contextmanager
    def running(self) -> Iterator[StandIn]:
        """Serve on a port of its own."""
        standin = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Head and body in one packet: else each answer waits for the other side's delayed acknowledgement.
            wbufsize = 1 << 16

            def answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                standin.authorizations.add(self.headers.get("Authorization", ""))
                answer = standin.handle(self.command, self.path, body)
                if answer is None:
                    self.close_connection = True
                    return
                status, headers, data = answer
                text = b"" if data is None else data.encode() if isinstance(data, str) else json.dumps(data).encode()
                etag = f'W/"{sha256(text).hexdigest()}"'
                if status == 200 and self.command == "GET":
                    headers = headers | {"ETag": etag}
                    if self.headers.get("If-None-Match") == etag:
                        status, text = 304, b""
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Type", "application/json; charset=utf-8")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = answer

            def log_message(self, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_port}{self.prefix}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def _refusal(kind: str) -> tuple[int, dict[str, str], Any]:
    if kind == "secondary":
        return 403, {}, {"message": SECONDARY}
    if kind == "primary":
        reset = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1893456000"}
        return 403, reset, {"message": "API rate limit exceeded for installation ID 1."}
    if kind == "retry-after":
        return 429, {"Retry-After": "7"}, {"message": SECONDARY}
    if kind == "graphql-primary":
        reset = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1893456000"}
        return 200, reset, {"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded for user ID 1."}]}
    if kind == "graphql-secondary":
        return 200, {}, {"data": None, "errors": [{"message": SECONDARY}]}
    if kind == "refused":
        return 422, {}, {"message": "Validation Failed", "errors": [{"resource": "Issue", "code": "invalid"}]}
    if kind == "forbidden":
        return 403, {}, {"message": "Resource not accessible by integration"}
    if kind == "garbage":
        return 200, {}, "<html>"
    return 502, {}, {"message": "Server Error"}


# -- routes: (stand-in, repository, parts of the path, query, body) -> status, JSON ------------------------------------


def _thread(repo: Repo, number: str) -> dict[str, Any] | None:
    return repo.threads.get(int(number))


def _too_long(body: Any) -> bool:
    return len(body.get("body") or "") > LONGEST_BODY


_INVALID = (
    422,
    {"message": "Validation Failed", "errors": [{"message": "body is too long (maximum is 65536 characters)"}]},
)
_MISSING = (404, {"message": "Not Found"})


def _get_repo(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    return 200, shapes.repository(s.url, repo.slug, repo.number, repo.default_branch)


def _list_comments(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    if _thread(repo, parts[0]) is None:
        return _MISSING
    entries = repo.comments.get(int(parts[0]), [])
    return 200, [shapes.comment(s.url, repo.slug, int(parts[0]), entry) for entry in entries]


def _post_comment(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    if _thread(repo, parts[0]) is None:
        return _MISSING
    if _too_long(body):
        return _INVALID
    entry = s.add_comment(repo.slug, int(parts[0]), s.viewer, body["body"])
    return 201, shapes.comment(s.url, repo.slug, int(parts[0]), entry)


def _comment(repo: Repo, id_: str) -> tuple[int, dict[str, Any]] | None:
    return next(((n, e) for n, entries in repo.comments.items() for e in entries if e["id"] == int(id_)), None)


def _patch_comment(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    found = _comment(repo, parts[0])
    if found is None:
        return _MISSING
    if _too_long(body):
        return _INVALID
    found[1]["body"] = body["body"]
    return 200, shapes.comment(s.url, repo.slug, *found)


def _delete_comment(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    found = _comment(repo, parts[0])
    if found is None:
        return _MISSING
    repo.comments[found[0]].remove(found[1])
    return 204, None


def _list_issues(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    entries = [
        entry
        for entry in sorted(repo.threads.values(), key=lambda entry: -entry["number"])
        if query.get("state", "open") in ("all", "open" if entry["state"] == "open" else "closed")
        and (not s.knows_creators or query.get("creator", entry["author"]) == entry["author"])
        and set(filter(None, query.get("labels", "").split(","))) <= set(entry["labels"])
    ]
    return 200, [shapes.issue(s.url, repo.slug, e, len(repo.comments.get(e["number"], []))) for e in entries]


def _post_issue(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    if _too_long(body):
        return _INVALID
    number = max(repo.threads, default=0) + 1
    entry = {
        "kind": "issue",
        "number": number,
        "title": body["title"],
        "body": body.get("body"),
        "state": "open",
        "author": s.viewer,
        "labels": [],
        "at": "2030-02-02T10:00:00Z",
    }
    repo.threads[number] = entry
    _label(s, entry, body.get("labels", []))
    return 201, shapes.issue(s.url, repo.slug, entry, 0)


def _get_issue(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    entry = _thread(repo, parts[0])
    return (200, shapes.issue(s.url, repo.slug, entry, 0)) if entry else _MISSING


def _patch_thread(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    kind, number = parts
    entry = _thread(repo, number)
    if entry is None:
        return _MISSING
    if _too_long(body):
        return _INVALID
    entry |= {name: body[name] for name in ("title", "body", "state", "state_reason", "labels", "base") if name in body}
    if kind == "issues":
        return 200, shapes.issue(s.url, repo.slug, entry, 0)
    return 200, shapes.whole_pull(s.url, repo.slug, entry, _get_repo(s, repo, (), {}, None)[1])


def _list_labels(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    entry = _thread(repo, parts[0])
    return (200, [shapes.label(s.url, repo.slug, name) for name in entry["labels"]]) if entry else _MISSING


def _post_labels(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    entry = _thread(repo, parts[0])
    if entry is None:
        return _MISSING
    _label(s, entry, body["labels"])
    return _list_labels(s, repo, parts, query, None)


def _label(s: StandIn, entry: dict[str, Any], names: list[str]) -> None:
    new = [name for name in dict.fromkeys(names) if name not in entry["labels"]]
    entry["labels"] = [*entry["labels"], *new]
    entry.setdefault("events", []).extend({"id": s.next_id(), "event": "labeled", "label": name} for name in new)


def _list_events(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    entry = _thread(repo, parts[0])
    if entry is None:
        return _MISSING
    return 200, [shapes.label_event(s.url, repo.slug, s.viewer, event) for event in entry.get("events", [])]


def _delete_label(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    entry = _thread(repo, parts[0])
    if entry is None or parts[1] not in entry["labels"]:
        return 404, {"message": "Label does not exist"}
    entry["labels"].remove(parts[1])
    entry.setdefault("events", []).append({"id": s.next_id(), "event": "unlabeled", "label": parts[1]})
    return _list_labels(s, repo, parts, query, None)


def _list_pulls(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    owner = repo.slug.split("/")[0]
    whole = _get_repo(s, repo, (), {}, None)[1]
    return 200, [
        shapes.pull(s.url, repo.slug, entry, whole)
        for entry in sorted(repo.threads.values(), key=lambda entry: -entry["number"])
        if entry["kind"] == "pull"
        and query.get("state", "open") in ("all", "open" if entry["state"] == "open" else "closed")
        and query.get("head", f"{owner}:{entry['head']}") == f"{owner}:{entry['head']}"
        and query.get("base", entry["base"]) == entry["base"]
    ]


def _post_pull(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    same = [
        e for e in repo.threads.values() if e["kind"] == "pull" and e["state"] == "open" and e["head"] == body["head"]
    ]
    if same:
        return 422, {"message": "Validation Failed", "errors": [{"message": "A pull request already exists for it."}]}
    number = max(repo.threads, default=0) + 1
    facts = {name: body[name] for name in ("title", "body", "head", "base", "draft") if name in body}
    entry = s.add_pull(repo.slug, number, author=s.viewer, **facts)
    return 201, shapes.whole_pull(s.url, repo.slug, entry, _get_repo(s, repo, (), {}, None)[1])


def _get_pull(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    entry = _thread(repo, parts[0])
    if entry is None or entry["kind"] != "pull":
        return _MISSING
    return 200, shapes.whole_pull(s.url, repo.slug, entry, _get_repo(s, repo, (), {}, None)[1])


def _list_checks(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    runs = [run for run in reversed(repo.checks) if run["head_sha"] == parts[0]]
    runs = [run for run in runs if query.get("check_name", run["name"]) == run["name"]]
    return 200, {"total_count": len(runs), "check_runs": [shapes.check_run(s.url, repo.slug, run) for run in runs]}


def _post_check(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    if not s.is_app:
        return 403, {"message": "You must authenticate via a GitHub App."}
    output = dict(body.get("output", {}))
    annotations = output.pop("annotations", [])
    if len(annotations) > 50:
        return 422, {"message": "Validation Failed", "errors": [{"message": "annotations: at most 50"}]}
    run = {name: value for name, value in body.items() if name != "output"}
    run |= {
        "external_id": body.get("external_id", "")[: s.longest],
        "id": s.next_id(),
        "app": s.viewer.removesuffix("[bot]"),
        "output": output,
        "annotations": list(annotations),
        "at": "2030-02-02T10:00:00Z",
    }
    repo.checks.append(run)
    return 201, shapes.check_run(s.url, repo.slug, run)


def _patch_check(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    run = next((run for run in repo.checks if run["id"] == int(parts[0])), None)
    if run is None:
        return _MISSING
    output = dict(body.get("output", {}))
    annotations = output.pop("annotations", [])
    if len(annotations) > 50:
        return 422, {"message": "Validation Failed", "errors": [{"message": "annotations: at most 50"}]}
    # As GitHub does it: annotations are added to those that are there, and what is completed stays completed.
    run["annotations"] += annotations
    run["output"] |= output
    kept = {"output", "status"} if run["status"] == "completed" else {"output"}
    run |= {name: value for name, value in body.items() if name not in kept}
    return 200, shapes.check_run(s.url, repo.slug, run)


def _list_statuses(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    return 200, [shapes.status(s.url, repo.slug, one) for one in reversed(repo.statuses) if one["sha"] == parts[0]]


def _post_status(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    entry = body | {"id": s.next_id(), "sha": parts[0], "author": s.viewer, "at": "2030-02-02T10:00:00Z"}
    entry["description"] = entry["description"][: s.longest]
    repo.statuses.append(entry)
    return 201, shapes.status(s.url, repo.slug, entry)


def _get_permission(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    role = repo.permissions.get(parts[0], "read")
    legacy = {"triage": "read", "maintain": "write"}.get(role, role)
    named = repo.own_roles.get(parts[0], role)
    user = shapes.user(s.url, parts[0]) | {"role_name": named}
    return 200, {"permission": legacy, "role_name": named, "user": user}


def _compare(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    """Say where a commit stands to a branch; the commits themselves are left out, as nobody here reads them."""
    branch, commit = parts
    on = repo.on_branch.get(branch)
    if on is None:
        return _MISSING
    base = f"{s.url}/repos/{repo.slug}"
    return 200, {
        "url": f"{base}/compare/{branch}...{commit}",
        "html_url": base,
        "permalink_url": base,
        "diff_url": base,
        "patch_url": base,
        "status": "behind" if commit in on else "diverged",
        "ahead_by": 0 if commit in on else 1,
        "behind_by": 1,
        "total_commits": 0,
        "commits": [],
        "files": [],
        "base_commit": _commit(base, commit),
        "merge_base_commit": _commit(base, commit),
    }


def _commit(base: str, sha: str) -> dict[str, Any]:
    url = f"{base}/commits/{sha}"
    tree = {"sha": sha, "url": url}
    return {
        "url": url,
        "sha": sha,
        "node_id": sha,
        "html_url": url,
        "comments_url": url,
        "author": None,
        "committer": None,
        "parents": [],
        "commit": {"url": url, "author": None, "committer": None, "message": "", "comment_count": 0, "tree": tree},
    }


ROUTES: list[tuple[str, Callable[..., tuple[int, Any]]]] = [
    ("GET ", _get_repo),
    (r"GET /issues/(\d+)/comments", _list_comments),
    (r"POST /issues/(\d+)/comments", _post_comment),
    (r"PATCH /issues/comments/(\d+)", _patch_comment),
    (r"DELETE /issues/comments/(\d+)", _delete_comment),
    ("GET /issues", _list_issues),
    ("POST /issues", _post_issue),
    (r"GET /issues/(\d+)", _get_issue),
    (r"PATCH /(issues|pulls)/(\d+)", _patch_thread),
    (r"GET /issues/(\d+)/events", _list_events),
    (r"GET /issues/(\d+)/labels", _list_labels),
    (r"POST /issues/(\d+)/labels", _post_labels),
    (r"DELETE /issues/(\d+)/labels/(.+)", _delete_label),
    (r"GET /compare/(.+)\.\.\.([0-9a-f]+)", _compare),
    (r"GET /collaborators/([^/]+)/permission", _get_permission),
    ("GET /pulls", _list_pulls),
    ("POST /pulls", _post_pull),
    (r"GET /pulls/(\d+)", _get_pull),
    (r"GET /commits/([0-9a-f]+)/check-runs", _list_checks),
    ("POST /check-runs", _post_check),
    (r"PATCH /check-runs/(\d+)", _patch_check),
    (r"POST /actions/workflows/([^/]+)/dispatches", actions.dispatch),
    (r"GET /actions/workflows/([^/]+)/runs", actions.list_runs),
    (r"GET /commits/([0-9a-f]+)/statuses", _list_statuses),
    (r"POST /statuses/([0-9a-f]+)", _post_status),
]
