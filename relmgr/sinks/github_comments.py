"""The sticky comment: found by its marker and its author, on any page; one of a key, edited in place, else silent."""

from __future__ import annotations

from contextlib import suppress

from relmgr.model.actions import Done, UpsertComment, marker_of
from relmgr.render.comment import fit_body
from relmgr.sinks.github_once import Entry, create_once, same_text
from relmgr.sources.github.client import GitHub, NotFound


def upsert_comment(github: GitHub, action: UpsertComment) -> Done:
    """Make the one comment say what it must; two runs at once leave one (the older), strangers' copies are left."""
    slug = github.canonical(action.thread.repository)
    mark = marker_of(f"comment={action.key}")
    mine = own_comments(github, slug, action.thread.number, mark)
    if action.body is None:
        _delete(github, slug, mine)
        return _done(action, "closed" if mine else "unchanged", None)
    if action.only_update and not mine:
        return _done(action, "unchanged", None)
    body = fit_body(f"{mark}\n{action.body}")
    if not mine:
        # Another run may have written in the meantime: both look, both keep the older one.
        _, mine = _create(github, slug, action.thread.number, mark, body)
        outcome = "created"
    else:
        outcome = "unchanged" if same_text(mine[0]["body"], body) else "updated"
    kept, extra = mine[0], mine[1:]
    _delete(github, slug, extra)
    if not same_text(kept["body"], body):
        github.send("PATCH", f"/repos/{slug}/issues/comments/{kept['id']}", {"body": body}, repeatable=True)
    return _done(action, outcome, kept)


def create_comment(github: GitHub, action: UpsertComment) -> bool:
    """Make the comment that is not there yet; tell False where another run at the same time was faster."""
    slug, number = github.canonical(action.thread.repository), action.thread.number
    mark = marker_of(f"comment={action.key}")
    if action.body is None or own_comments(github, slug, number, mark):
        return False
    made, mine = _create(github, slug, number, mark, fit_body(f"{mark}\n{action.body}"))
    is_first = bool(mine[0]["id"] == made["id"])
    if not is_first:
        _delete(github, slug, [made])
    return is_first


def _create(github: GitHub, slug: str, number: int, mark: str, body: str) -> tuple[Entry, list[Entry]]:
    """Return the comment that was made, and all of ours with that marker, the oldest first."""
    made = create_once(
        github,
        lambda: next(iter(own_comments(github, slug, number, mark)), None),
        lambda: dict(github.send("POST", f"/repos/{slug}/issues/{number}/comments", {"body": body})),
    )
    return made, own_comments(github, slug, number, mark) or [made]


def own_comments(github: GitHub, slug: str, number: int, mark: str) -> list[Entry]:
    """Return our comments in a thread with the marker on their first line, the oldest first."""
    login, thread = github.login(), f"/repos/{slug}/issues/{number}/comments"
    entries = (entry for entry in github.get_all(thread) if entry["user"] and entry["user"]["login"] == login)
    found = [entry for entry in entries if (entry["body"] or "").lstrip().startswith(mark)]
    return sorted(found, key=lambda entry: int(entry["id"]))


def _delete(github: GitHub, slug: str, entries: list[Entry]) -> None:
    for entry in entries:
        with suppress(NotFound):
            github.send("DELETE", f"/repos/{slug}/issues/comments/{entry['id']}", repeatable=True)


def _done(action: UpsertComment, outcome: str, entry: Entry | None) -> Done:
    url = str(entry["html_url"]) if entry else None
    return Done.model_validate({"kind": action.kind, "target": action.target, "outcome": outcome, "url": url})
