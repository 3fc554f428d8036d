"""Make the forge be as the actions say: one sink, no judgement. What could not be posted is said, with its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from relmgr.errors import RelmgrError
from relmgr.model.actions import Action, Done, Posting, SetLabels, UpsertCheck, UpsertComment, UpsertIssue, UpsertPull
from relmgr.model.answer import Answer
from relmgr.sinks.github_answer import post_answer
from relmgr.sinks.github_checks import upsert_check
from relmgr.sinks.github_comments import upsert_comment
from relmgr.sinks.github_threads import close_pull, set_labels, upsert_issue, upsert_pull
from relmgr.sources.github.client import GitHub, RateLimited


class GitHubSink:
    """Applies actions in order. `record` is called with what became of each, as soon as it is known."""

    def __init__(self, github: GitHub, record: Callable[[Done], None] = lambda done: None) -> None:
        self._github, self._record = github, record

    def apply(self, actions: Iterable[Action]) -> Posting:
        """Apply every action; one that fails does not keep the others from being applied, a rate limit does."""
        wanted, done = tuple(actions), []
        limit: str | None = None
        for action in wanted:
            one = _not_posted(action, limit) if limit else self._try(action)
            if one.outcome == "not-posted" and one.why and one.why.startswith("rate limited"):
                limit = one.why
            self._record(one)
            done.append(one)
        return Posting(dry_run=False, actions=wanted, done=tuple(done))

    def _try(self, action: Action) -> Done:
        try:
            return self._apply(action)
        except RateLimited as error:
            return _not_posted(
                action, error.what if error.what.startswith("rate limited") else f"rate limited: {error}"
            )
        except RelmgrError as error:
            return _not_posted(action, " ".join(str(error).split()))

    def _apply(self, action: Action) -> Done:
        if isinstance(action, UpsertComment):
            return upsert_comment(self._github, action)
        if isinstance(action, UpsertCheck):
            return upsert_check(self._github, action)
        if isinstance(action, SetLabels):
            return set_labels(self._github, action)
        if isinstance(action, UpsertIssue):
            return upsert_issue(self._github, action)
        if isinstance(action, Answer):
            return post_answer(self._github, action)
        return self._pull(action)

    def _pull(self, action: UpsertPull) -> Done:
        done, superseded = upsert_pull(self._github, action)
        for ref in superseded:
            words = f"Superseded by {done.url}."
            upsert_comment(self._github, UpsertComment(thread=ref, key="superseded", body=words))
            close_pull(self._github, ref)
        return done


def _not_posted(action: Action, why: str) -> Done:
    return Done(kind=action.kind, target=action.target, outcome="not-posted", why=why)
