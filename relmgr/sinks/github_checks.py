"""The check run, with its annotations in batches; where the account is no App, a commit status in its place."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from relmgr.model.actions import Annotation, Done, UpsertCheck
from relmgr.render.comment import LONGEST_SUMMARY, fit_body
from relmgr.sinks.github_once import LOOKS, Entry, create_once
from relmgr.sources.github.client import GitHub, GitHubError, Uncertain

# https://docs.github.com/en/rest/checks/runs: at most 50 annotations a request; further ones are added.
BATCH = 50
LONGEST_DESCRIPTION = 140
LONGEST_MESSAGE = 16_000


def upsert_check(github: GitHub, action: UpsertCheck) -> Done:
    """Make the newest result of that name say what it must.

    GitHub can add annotations and never take one away: other annotations need another run of the same name, and only
    the newest counts. What a run was made from stands in its `external_id`, so that a run cut off half-way is finished.
    """
    slug = github.canonical(action.repository)
    outcome, attempt = "unchanged", 0
    run = _newest(github, slug, action)
    while True:
        have = int(run["output"]["annotations_count"]) if run else 0
        if run and run["external_id"] == _identity(action) and have >= len(action.annotations):
            return _done(action, outcome, run["html_url"])
        outcome = "created" if run is None or outcome == "created" else "updated"
        try:
            run = _write(github, slug, action, run, have)
        except Uncertain:
            attempt += 1
            if attempt >= LOOKS:
                raise
            github.pause(attempt)
            run = _newest(github, slug, action)
        except GitHubError as error:
            if run is not None or error.status not in (403, 404):
                raise
            return _upsert_status(github, slug, action)


def _newest(github: GitHub, slug: str, action: UpsertCheck) -> Entry | None:
    """Return our newest run of that key on the commit, when its annotations are a beginning of the wanted ones."""
    path = f"/repos/{slug}/commits/{action.commit}/check-runs"
    runs = github.get_all(path, "check_runs", check_name=action.name, filter="all")
    login, mark = github.login().removesuffix("[bot]"), f"relmgr:{action.key}:"
    mine = [
        run
        for run in runs
        if (not run["app"] or run["app"]["slug"] == login) and str(run["external_id"]).startswith(mark)
    ]
    newest: Entry | None = max(mine, key=lambda run: int(run["id"]), default=None)
    same = newest and str(newest["external_id"]).rsplit(":", 1)[-1] == _digest(action.annotations)
    return newest if same else None


def _write(github: GitHub, slug: str, action: UpsertCheck, run: Entry | None, have: int) -> Entry:
    """Send one batch; return the run with the number of annotations that it now has."""
    some = action.annotations[have : have + BATCH]
    body = _body(action, some)
    if run is None:
        made = github.send("POST", f"/repos/{slug}/check-runs", body | {"head_sha": action.commit})
    else:
        made = github.send("PATCH", f"/repos/{slug}/check-runs/{run['id']}", body, repeatable=not some)
    return dict(made) | {"output": dict(made["output"]) | {"annotations_count": have + len(some)}}


def _body(action: UpsertCheck, some: tuple[Annotation, ...]) -> dict[str, Any]:
    output: dict[str, Any] = {"title": action.title, "summary": fit_body(action.summary, LONGEST_SUMMARY)}
    if some:
        output["annotations"] = [
            {
                "path": one.path,
                "start_line": one.line,
                "end_line": max(one.line, one.end_line),
                "annotation_level": one.level,
                "title": one.title[:255],
                "message": one.message[:LONGEST_MESSAGE],
            }
            for one in some
        ]
    done = {"status": "completed", "conclusion": action.conclusion} if action.conclusion else {"status": "in_progress"}
    details = {"details_url": action.details_url} if action.details_url else {}
    return {"name": action.name, "external_id": _identity(action), "output": output} | done | details


def _identity(action: UpsertCheck) -> str:
    content = action.model_dump_json(exclude={"annotations", "key", "commit", "repository"})
    return f"relmgr:{action.key}:{sha256(content.encode()).hexdigest()[:16]}:{_digest(action.annotations)}"


def _digest(annotations: tuple[Annotation, ...]) -> str:
    text = "\n".join(one.model_dump_json() for one in annotations)
    return sha256(text.encode()).hexdigest()[:16]


def _upsert_status(github: GitHub, slug: str, action: UpsertCheck) -> Done:
    """Say it in a commit status: statuses are only ever added, and the newest of a context counts."""
    state = {"success": "success", "neutral": "success", None: "pending"}.get(action.conclusion, "failure")
    text = action.title
    if len(text) > LONGEST_DESCRIPTION:
        text = f"{text[: LONGEST_DESCRIPTION - 1]}…"
    wanted = {"state": state, "context": action.name, "description": text}
    if action.details_url:
        wanted["target_url"] = action.details_url

    def find() -> Entry | None:
        statuses = github.get_all(f"/repos/{slug}/commits/{action.commit}/statuses")
        newest = next((one for one in statuses if one["context"] == action.name), None)
        if newest is None or any(newest[name] != wanted[name] for name in ("state", "description")):
            return None
        return dict(newest)

    if find() is not None:
        return _done(action, "unchanged", None)
    create_once(github, find, lambda: dict(github.send("POST", f"/repos/{slug}/statuses/{action.commit}", wanted)))
    return _done(action, "created", None)


def _done(action: UpsertCheck, outcome: str, url: str | None) -> Done:
    return Done.model_validate({"kind": action.kind, "target": action.target, "outcome": outcome, "url": url})
