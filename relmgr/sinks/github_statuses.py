"""The commit status: what an account that is no App can say about a commit, in one line."""

from __future__ import annotations

import re
from typing import Any

from relmgr.model.actions import Done, UpsertCheck
from relmgr.sinks.github_heads import Verdict, number_of, others_of, stricter
from relmgr.sinks.github_once import LOOKS, Entry, create_once
from relmgr.sources.github.client import GitHub, GitHubError

LONGEST_DESCRIPTION = 140
_STATES = {"success": "success", "neutral": "success", None: "pending"}
_VERDICTS = {"success": "success", "pending": "waiting", "failure": "failure", "error": "failure"}
# `#7: words`, or `#7 alone success: words` where another's verdict is shown: a status has no other place for it.
_WHOSE = re.compile(r"^#(?P<number>\d{1,9})(?: alone (?P<own>success|pending|failure))?: ")


def upsert_status(github: GitHub, slug: str, action: UpsertCheck) -> Done:
    """Say it in a commit status: statuses are only ever added, and the newest of a context counts."""
    outcome, made = "unchanged", None
    for _ in range(LOOKS):
        statuses = _statuses(github, slug, action, made)
        wanted, why = _wanted(github, slug, action, statuses)
        if _stands(github, statuses, wanted):
            fields = {"kind": action.kind, "target": action.target, "outcome": outcome, "why": why}
            return Done.model_validate(fields)
        made, outcome = _add(github, slug, action, wanted), "created"
    raise GitHubError("the status never reads as it was written", where=action.target)


def _statuses(github: GitHub, slug: str, action: UpsertCheck, made: Entry | None = None) -> list[Entry]:
    """Return the statuses of that context, whoever set them, the newest first; one just `made` may not be listed."""
    path = f"/repos/{slug}/commits/{action.commit}/statuses"
    found = [entry for entry in github.get_all(path) if entry["context"] == action.name]
    listed = made is None or any(entry["id"] == made["id"] for entry in found)
    return found if listed or made is None else [made, *found]


def _is_ours(github: GitHub, entry: Entry) -> bool:
    return bool(entry["creator"]) and entry["creator"]["login"] == github.login()


def _wanted(github: GitHub, slug: str, action: UpsertCheck, statuses: list[Entry]) -> tuple[dict[str, Any], str | None]:
    """Return the status to be set, knowing the verdicts on other pull requests with that head, and about whom."""
    verdicts: dict[int, Verdict] = {}
    for entry in statuses:
        whose = _WHOSE.match(entry["description"] or "")
        if whose and _is_ours(github, entry):
            verdicts.setdefault(int(whose["number"]), _VERDICTS[whose["own"] or entry["state"]])
    shown, why = stricter(action, others_of(github, slug, action, verdicts))
    own, state = _STATES.get(action.conclusion, "failure"), _STATES.get(shown.conclusion, "failure")
    number = number_of(action.key)
    whose_words = f"#{number}: " if own == state else f"#{number} alone {own}: "
    text = shown.title if number is None else whose_words + shown.title
    if len(text) > LONGEST_DESCRIPTION:
        text = f"{text[: LONGEST_DESCRIPTION - 1]}…"
    wanted = {"state": state, "context": action.name, "description": text}
    return wanted | ({"target_url": action.details_url} if action.details_url else {}), why


def _stands(github: GitHub, statuses: list[Entry], wanted: dict[str, Any]) -> bool:
    """Tell whether our newest words for this pull request stand, and the newest status of all, ours, says the same."""
    if not statuses or not _is_ours(github, statuses[0]) or statuses[0]["state"] != wanted["state"]:
        return False
    newest = statuses[0]
    if whose := _WHOSE.match(wanted["description"]):
        newest = next((one for one in statuses if _is_about(github, one, whose["number"])), newest)
    return all(newest[name] == wanted[name] for name in ("state", "description"))


def _is_about(github: GitHub, entry: Entry, number: str) -> bool:
    whose = _WHOSE.match(entry["description"] or "")
    return whose is not None and whose["number"] == number and _is_ours(github, entry)


def _add(github: GitHub, slug: str, action: UpsertCheck, wanted: dict[str, Any]) -> Entry:
    def find() -> Entry | None:
        statuses = _statuses(github, slug, action)
        return statuses[0] if _stands(github, statuses, wanted) else None

    path = f"/repos/{slug}/statuses/{action.commit}"
    return create_once(github, find, lambda: dict(github.send("POST", path, wanted)))
