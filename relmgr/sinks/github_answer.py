"""The answer to a comment, and the workflows that it starts: recorded in the answer first, so that each starts once."""

from __future__ import annotations

from relmgr.model.actions import Done, UpsertComment, marker_of
from relmgr.model.answer import Answer
from relmgr.render.answer import Run, runs_of, write_answer
from relmgr.sinks.github_comments import own_comments, upsert_comment
from relmgr.sinks.github_dispatch import asked_now, start_workflow
from relmgr.sources.github.client import GitHub, GitHubError, RateLimited


def post_answer(github: GitHub, action: Answer) -> Done:
    """Make the one answer say what it must, and start what it starts.

    Where the answer cannot be written nothing is started: nobody would know that it was.
    """
    slug = github.canonical(action.thread.repository)
    mine = own_comments(github, slug, action.thread.number, marker_of(f"comment={_key(action)}"))
    before = str(mine[0]["body"]) if mine else ""
    runs = runs_of(before)
    due = {part.key: part.start for part in action.parts if part.start and _is_due(runs.get(part.key))}
    earlier = {key for key in due if key in runs}
    runs |= {key: asked_now() for key in due if key not in earlier}
    done = _write(github, action, before, runs)
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


def _write(github: GitHub, action: Answer, before: str, runs: dict[str, Run]) -> Done:
    text = write_answer(action, before, runs)
    comment = UpsertComment(thread=action.thread, key=_key(action), body=text, only_update=action.only_update)
    return upsert_comment(github, comment).model_copy(update={"kind": action.kind})


def _key(action: Answer) -> str:
    return f"answer/{action.comment}"
