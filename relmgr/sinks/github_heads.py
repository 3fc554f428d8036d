"""Pull requests that share a head: GitHub shows one result of a name for a commit, here the strictest (M9)."""

from __future__ import annotations

from collections.abc import Mapping

from relmgr.model.actions import UpsertCheck
from relmgr.sources.github.client import GitHub, NotFound

# A check's conclusion, or `waiting`; the later the stricter.
STRICTNESS = ("success", "neutral", "waiting", "action_required", "failure")
Verdict = str


def number_of(key: str) -> int | None:
    """Return the pull request that a check's key names (`gate/7`), None for a key that names none."""
    number = key.rpartition("/")[2]
    return int(number) if "/" in key and number.isdecimal() else None


def others_of(github: GitHub, slug: str, action: UpsertCheck, verdicts: Mapping[int, Verdict]) -> dict[int, Verdict]:
    """Return those of `verdicts`, by number, whose pull request is open with this very head, this one left out."""
    own = number_of(action.key)
    found = {number: verdict for number, verdict in sorted(verdicts.items()) if number != own}
    return {number: verdict for number, verdict in found.items() if _has_head(github, slug, number, action.commit)}


def stricter(action: UpsertCheck, others: Mapping[int, Verdict]) -> tuple[UpsertCheck, str | None]:
    """Return the action with the strictest conclusion of all, saying whose it is; and that sentence."""
    if not others:
        return action, None
    own = action.conclusion or "waiting"
    strictest = max((own, *others.values()), key=STRICTNESS.index)
    told = ", ".join(f"#{number} ({verdict})" for number, verdict in others.items())
    why = f"shares its head with {told}: GitHub shows one {action.name} for a commit, so the strictest stands"
    title = action.title if strictest == own else f"{action.title}, but its head is also that of {told}"
    note = f"This pull request {why}. A commit of its own separates it.\n\n"
    shown = None if strictest == "waiting" else strictest
    fields = {"conclusion": shown, "title": title, "summary": note + action.summary}
    return UpsertCheck.model_validate(action.model_dump() | fields), why


def _has_head(github: GitHub, slug: str, number: int, commit: str) -> bool:
    try:
        pull = github.get(f"/repos/{slug}/pulls/{number}")
    except NotFound:
        return False
    return bool(pull["state"] == "open" and pull["head"]["sha"] == commit)
