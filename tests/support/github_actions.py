"""Workflows in the stand-in: started by a dispatch, listed as runs, as GitHub's API does both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support import github_shapes as shapes

if TYPE_CHECKING:
    from tests.support.github_standin import Repo, StandIn

_MISSING = (404, {"message": "Not Found"})
_LINKS = ("jobs", "logs", "check_suite", "cancel", "rerun", "artifacts", "workflow")


def dispatch(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    """Start a workflow. One whose `run-name` holds an input is told by that name; GitHub refuses unknown inputs."""
    workflow = repo.workflows.get(parts[0])
    if workflow is None:
        return _MISSING
    if strange := sorted(set(body.get("inputs", {})) - set(workflow["inputs"])):
        return 422, {"message": f"Unexpected inputs provided: {strange}"}
    if body["ref"] != repo.default_branch:
        return 422, {"message": f"No ref found for: {body['ref']}"}
    named = workflow.get("run_name")
    run = {
        "id": s.next_id(),
        "workflow": parts[0],
        "title": body["inputs"][named] if named else parts[0],
        "inputs": body["inputs"],
        "at": "2030-02-02T10:00:00Z",
    }
    repo.runs.append(run)
    page = f"{s.url}/{repo.slug}/actions/runs/{run['id']}"
    details = {"workflow_run_id": run["id"], "run_url": page, "html_url": page}
    return (200, details) if body.get("return_run_details") else (204, None)


def list_runs(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    """List the runs of a workflow, the newest first."""
    if parts[0] not in repo.workflows:
        return _MISSING
    since = query.get("created", "").removeprefix(">=")
    runs = [run for run in reversed(repo.runs) if run["workflow"] == parts[0] and run["at"] >= since]
    return 200, {"total_count": len(runs), "workflow_runs": [_run(s, repo, run) for run in runs]}


def _run(s: StandIn, repo: Repo, run: dict[str, Any]) -> dict[str, Any]:
    page = f"{s.url}/{repo.slug}/actions/runs/{run['id']}"
    person = {"name": "dev", "email": "dev@example.org"}
    whole = shapes.repository(s.url, repo.slug, repo.number, repo.default_branch)
    return {
        "id": run["id"],
        "node_id": f"WFR_{run['id']}",
        "name": run["workflow"],
        "display_title": run["title"],
        "event": "workflow_dispatch",
        "head_branch": repo.default_branch,
        "head_sha": "b" * 40,
        "path": f".github/workflows/{run['workflow']}",
        "run_number": 1,
        "status": "queued",
        "conclusion": None,
        "workflow_id": 1,
        "url": page,
        "html_url": page,
        "pull_requests": [],
        "created_at": run["at"],
        "updated_at": run["at"],
        **{f"{link}_url": f"{page}/{link}" for link in _LINKS},
        "head_commit": {
            "id": "b" * 40,
            "tree_id": "c" * 40,
            "message": "m",
            "timestamp": run["at"],
            "author": person,
            "committer": person,
        },
        "repository": whole,
        "head_repository": whole,
    }
