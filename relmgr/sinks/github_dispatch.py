"""Start a workflow once. A dispatch has no name of its own, so it is recorded before it is sent, and looked for after.

https://docs.github.com/en/rest/actions/workflows#create-a-workflow-dispatch-event
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from relmgr.model.answer import StartWorkflow
from relmgr.render.answer import Run
from relmgr.sinks.github_once import Entry, create_once
from relmgr.sources.github.client import GitHub, GitHubError, RateLimited, Uncertain

# GitHub's clock and this machine's may differ.
SKEW = timedelta(minutes=10)
_OTHERS = re.compile(r"\brelmgr-\d+-[a-z0-9-]+")
_UNTOLD = {"cannot_tell": True}


def asked_now() -> Run:
    """Return the record that stands before a dispatch is sent."""
    return Run("asked", datetime.now(timezone.utc).isoformat(timespec="seconds"))


def start_workflow(github: GitHub, slug: str, start: StartWorkflow, asked: Run, *, again: bool) -> Run:
    """Start it, on the default branch, and return its record; `again`: an earlier process may have done so.

    Then it is looked for first. One that cannot be told from others is not started again. Raises `GitHubError` when
    GitHub refuses.
    """
    repository = github.get(f"/repos/{slug}")
    path = f"/repos/{slug}/actions/workflows/{start.workflow}"

    def find() -> Entry | None:
        return _find(github, path, start, asked)

    def create() -> Entry:
        body = {"ref": repository["default_branch"], "inputs": start.inputs, "return_run_details": True}
        return dict(github.send("POST", f"{path}/dispatches", body) or {})

    page = f"{repository['html_url']}/actions/workflows/{start.workflow}"
    found = find() if again else None
    try:
        made = found or create_once(github, find, create)
    except Uncertain:
        return Run("unknown", page)
    # A forge that does not tell the run's page has made it all the same.
    return Run("unknown" if made is _UNTOLD else "started", str(made.get("html_url") or page))


def _find(github: GitHub, path: str, start: StartWorkflow, asked: Run) -> Entry | None:
    """Return the run that was started by this request; `_UNTOLD` when one that names no request may be it."""
    try:
        since = datetime.fromisoformat(asked.what) - SKEW
    except (ValueError, TypeError, OverflowError):
        # Who may edit relmgr's comments has garbled the record: whether it ran cannot be told.
        return _UNTOLD
    created = f">={since.strftime('%Y-%m-%dT%H:%M:%SZ')}"
    try:
        runs = list(github.get_all(f"{path}/runs", "workflow_runs", event="workflow_dispatch", created=created))
    except RateLimited:
        raise
    except GitHubError:
        return _UNTOLD
    untold = False
    for run in runs:
        names = _OTHERS.findall(run.get("display_title") or "")
        if start.request in names:
            return dict(run)
        untold = untold or not names
    return _UNTOLD if untold else None
