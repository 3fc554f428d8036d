"""The check run, with its annotations in batches; where the account is no App, a commit status in its place.

Branch protection asks for a check by its name, and GitHub lets the newest of a name count for a commit. Pull requests
that share a head therefore share that result (M9): each keeps a run of its own, and the newest shows the strictest of
their verdicts. Only the newest run is ever edited, so that the newest made and the newest completed are one.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, NamedTuple

from relmgr.model.actions import Annotation, Done, UpsertCheck
from relmgr.render.comment import LONGEST_SUMMARY, fit_body
from relmgr.sinks.github_heads import STRICTNESS, Verdict, number_of, others_of, stricter
from relmgr.sinks.github_once import LOOKS, Entry
from relmgr.sinks.github_statuses import upsert_status
from relmgr.sources.github.client import GitHub, GitHubError, Uncertain

# https://docs.github.com/en/rest/checks/runs: at most 50 annotations a request; further ones are added.
BATCH = 50
LONGEST_MESSAGE = 16_000


class Wanted(NamedTuple):
    """What is to be shown: the action after others' verdicts, the run's `external_id`, and what to say about it."""

    shown: UpsertCheck
    identity: str
    why: str | None


def upsert_check(github: GitHub, action: UpsertCheck) -> Done:
    """Make the newest result of that name say what it must.

    GitHub can add annotations and never take one away, and a completed run never waits again: those need another run.
    What a run was made from stands in its `external_id`, so that a run cut off half-way is finished.
    """
    slug = github.canonical(action.repository)
    outcome, trouble, made = "unchanged", 0, None
    for _ in range(len(action.annotations) // BATCH + LOOKS + 2):
        ours = _ours(github, slug, action, made)
        wanted = _wanted(github, slug, action, ours)
        own = _own(ours, action)
        if own is not None and _stands(ours, own, wanted):
            return _done(action, outcome, own["html_url"], wanted.why)
        run = _editable(ours, own, wanted)
        outcome = "created" if run is None or outcome == "created" else "updated"
        try:
            made = _write(github, slug, wanted, run)
        except Uncertain:
            trouble, made = trouble + 1, None
            if trouble >= LOOKS:
                raise
            github.pause(trouble)
        except GitHubError as error:
            if run is not None or ours or error.status not in (403, 404):
                raise
            return upsert_status(github, slug, action)
    raise GitHubError("the check never reads as it was written", where=action.target)


def _ours(github: GitHub, slug: str, action: UpsertCheck, made: Entry | None) -> list[Entry]:
    """Return this App's runs of that name on the commit, the newest first; one just `made` may not be listed yet."""
    path = f"/repos/{slug}/commits/{action.commit}/check-runs"
    slug_of_app = github.login().removesuffix("[bot]")
    runs = {
        int(run["id"]): run
        for run in github.get_all(path, "check_runs", check_name=action.name, filter="all")
        if run["app"] and run["app"]["slug"] == slug_of_app and str(run["external_id"]).startswith("relmgr:")
    }
    if made is not None:
        runs[int(made["id"])] = made
    return [runs[number] for number in sorted(runs, reverse=True)]


def _wanted(github: GitHub, slug: str, action: UpsertCheck, ours: list[Entry]) -> Wanted:
    """Return what the check must show, knowing the verdicts on other pull requests with that head."""
    verdicts: dict[int, Verdict] = {}
    for run in ours:
        parts = str(run["external_id"]).split(":")
        if len(parts) == 5 and (number := number_of(parts[1])) is not None:
            verdicts.setdefault(number, parts[2] if parts[2] in STRICTNESS else "failure")
    others = others_of(github, slug, action, verdicts)
    shown, why = stricter(action, others)
    return Wanted(shown, _identity(action, shown), why)


def _own(ours: list[Entry], action: UpsertCheck) -> Entry | None:
    mark = f"relmgr:{action.key}:"
    return next((run for run in ours if str(run["external_id"]).startswith(mark)), None)


def _stands(ours: list[Entry], own: Entry, wanted: Wanted) -> bool:
    """Tell whether our run is as it must be, and the newest one of the name shows the same conclusion."""
    whole = own["external_id"] == wanted.identity and _count(own) >= len(wanted.shown.annotations)
    return whole and _conclusion(ours[0]) == wanted.shown.conclusion


def _editable(ours: list[Entry], own: Entry | None, wanted: Wanted) -> Entry | None:
    """Return our run when an edit makes it what it must be; else another is made."""
    if own is None or own["id"] != ours[0]["id"]:
        return None
    if str(own["external_id"]).rsplit(":", 1)[-1] != _digest(wanted.shown.annotations):
        return None
    return None if own["status"] == "completed" and wanted.shown.conclusion is None else own


def _write(github: GitHub, slug: str, wanted: Wanted, run: Entry | None) -> Entry:
    """Send one batch; return the run with the number of annotations that it now has."""
    action, have = wanted.shown, _count(run) if run else 0
    some = action.annotations[have : have + BATCH]
    body = _body(wanted, some)
    if run is None:
        made = github.send("POST", f"/repos/{slug}/check-runs", body | {"head_sha": action.commit})
    else:
        made = github.send("PATCH", f"/repos/{slug}/check-runs/{run['id']}", body, repeatable=not some)
    return dict(made) | {"output": dict(made["output"]) | {"annotations_count": have + len(some)}}


def _body(wanted: Wanted, some: tuple[Annotation, ...]) -> dict[str, Any]:
    action = wanted.shown
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
    return {"name": action.name, "external_id": wanted.identity, "output": output} | done | details


def _identity(action: UpsertCheck, shown: UpsertCheck) -> str:
    """Return `relmgr:KEY:VERDICT:CONTENT:ANNOTATIONS`: the verdict is this pull request's own, whatever is shown."""
    content = shown.model_dump_json(exclude={"annotations", "key", "commit", "repository"})
    verdict = action.conclusion or "waiting"
    return f"relmgr:{action.key}:{verdict}:{sha256(content.encode()).hexdigest()[:16]}:{_digest(action.annotations)}"


def _digest(annotations: tuple[Annotation, ...]) -> str:
    text = "\n".join(one.model_dump_json() for one in annotations)
    return sha256(text.encode()).hexdigest()[:16]


def _count(run: Entry) -> int:
    return int(run["output"]["annotations_count"])


def _conclusion(run: Entry) -> str | None:
    return str(run["conclusion"]) if run["status"] == "completed" else None


def _done(action: UpsertCheck, outcome: str, url: str | None, why: str | None) -> Done:
    fields = {"kind": action.kind, "target": action.target, "outcome": outcome, "url": url, "why": why}
    return Done.model_validate(fields)
