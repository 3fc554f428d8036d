"""The answer to a comment, and the workflows that it starts: recorded in the answer first, so that each starts once."""

from __future__ import annotations

from relmgr.model.actions import Done, UpsertComment, marker_of
from relmgr.model.answer import Answer
from relmgr.render.answer import Run, runs_of, write_answer
from relmgr.sinks.github_comments import create_comment, own_comments, upsert_comment
from relmgr.sinks.github_dispatch import asked_now, start_workflow
from relmgr.sinks.github_once import LOOKS
from relmgr.sources.github.client import GitHub, GitHubError, RateLimited


def post_answer(github: GitHub, action: Answer) -> Done:
    """Make the one answer say what it must, and start what it starts.

    Where the answer cannot be written nothing is started: nobody would know that it was. Of two processes at once that
    find no answer the faster one starts; one that finds a start recorded gives whoever recorded it time to finish.
    """
    slug = github.canonical(action.thread.repository)
    before = _settled(github, action, slug)
    runs = runs_of(before)
    due = {part.key: part.start for part in action.parts if part.start and _is_due(runs.get(part.key))}
    earlier = {key for key in due if key in runs}
    runs |= {key: asked_now() for key in due if key not in earlier}
    is_new = bool(due) and not before
    if is_new and not create_comment(github, _comment(action, before, runs)):
        return Done(kind=action.kind, target=action.target, outcome="unchanged", why="another run answers it")
    done = _write(github, action, before, runs)
    if is_new:
        done = done.model_copy(update={"outcome": "created"})
    refused: list[str] = []
    for key, start in due.items():
        try:
            runs[key] = start_workflow(github, slug, start, runs[key], again=key in earlier)
        except RateLimited:
            raise
        except GitHubError as error:
            runs[key] = Run("refused", error.what)
            refused.append(f"{start.workflow}: {error.what}")
    if due:
        last = _write(github, action, before, runs)
        done = last if done.outcome == "unchanged" else done
    if refused:
        return done.model_copy(update={"outcome": "not-posted", "why": "; ".join(refused)})
    return done


def _is_due(run: Run | None) -> bool:
    return run is None or run.state == "asked"


def _settled(github: GitHub, action: Answer, slug: str) -> str:
    """Return what the answer says now, '' for none; while it says that something is being started, look again."""
    starts = {part.key for part in action.parts if part.start}
    for attempt in range(1, LOOKS + 1):
        mine = own_comments(github, slug, action.thread.number, marker_of(f"comment={_key(action)}"))
        before = str(mine[0]["body"]) if mine else ""
        if not any(key in starts and run.state == "asked" for key, run in runs_of(before).items()):
            break
        github.pause(attempt)
    return before


def _write(github: GitHub, action: Answer, before: str, runs: dict[str, Run]) -> Done:
    return upsert_comment(github, _comment(action, before, runs)).model_copy(update={"kind": action.kind})


def _comment(action: Answer, before: str, runs: dict[str, Run]) -> UpsertComment:
    text = write_answer(action, before, runs)
    return UpsertComment(thread=action.thread, key=_key(action), body=text, only_update=action.only_update)


def _key(action: Answer) -> str:
    return f"answer/{action.comment}"
