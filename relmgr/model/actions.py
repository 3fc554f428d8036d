"""What is to be true on the forge: actions as data, and what became of each.

Every action says how the world should be, not what to send: applying one twice changes nothing the second time. `key`
is one word and names the thing, so that it is found again by a hidden marker.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from relmgr.model.answer import Answer
from relmgr.model.base import Noun
from relmgr.model.project import Slug
from relmgr.model.pull_request import PullRequestRef

Key = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.~%,:/-]{1,200}$")]
Sha = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
Conclusion = Literal["success", "failure", "neutral", "action_required"]
ActionOutcome = Literal["planned", "created", "updated", "unchanged", "closed", "not-posted"]


class UpsertComment(Noun):
    """One comment of ours in the thread of an issue or pull request; None as `body` removes it.

    With `only_update` none is made where there is none: it has nothing to tell, but sets an older one right.
    """

    kind: Literal["comment"] = "comment"
    thread: PullRequestRef
    key: Key
    body: str | None
    only_update: bool = False

    @property
    def target(self) -> str:
        """Where, in words."""
        return str(self.thread)


class Annotation(Noun):
    """A remark at lines of a file; lines are 1-based."""

    path: str
    line: int = Field(ge=1)
    end_line: int = Field(ge=1)
    level: Literal["notice", "warning", "failure"]
    title: str
    message: str


class UpsertCheck(Noun):
    """The result called `name` on a commit. Where the account is no App, a commit status says it in one line.

    A `key` that ends in `/NUMBER` names the pull request: of those with that head, open, the strictest is shown (M9).
    """

    kind: Literal["check"] = "check"
    repository: Slug
    commit: Sha
    key: Key
    name: str
    conclusion: Conclusion | None = Field(description="None: still waiting for something")
    title: str
    summary: str
    annotations: tuple[Annotation, ...] = ()
    details_url: str | None = None

    @property
    def target(self) -> str:
        """Where, in words."""
        return f"{self.repository}@{self.commit[:12]}"


class SetLabels(Noun):
    """Labels that a thread must bear, and those it must not; others are people's."""

    kind: Literal["labels"] = "labels"
    thread: PullRequestRef
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        """Where, in words."""
        return str(self.thread)


class UpsertIssue(Noun):
    """One issue of ours. `marker` is a line that its body holds; `state` None leaves open or closed as it is.

    With `keep_hands` the body is a checklist: ticks and notes that people made in it stay. `labels` are given once;
    later they are people's.
    """

    kind: Literal["issue"] = "issue"
    repository: Slug
    marker: str
    title: str
    body: str
    labels: tuple[str, ...] = ()
    state: Literal["open", "done", "withdrawn"] | None = "open"
    keep_hands: bool = False

    @property
    def target(self) -> str:
        """Where, in words."""
        return self.repository


class UpsertPull(Noun):
    """One pull request of ours, from `head` (a branch of the same repository) to `base`.

    `family` is the marker that it shares with earlier attempts: those still open, from other branches, are closed with
    a word. `closed` by a person, it stays closed.
    """

    kind: Literal["pull-request"] = "pull-request"
    repository: Slug
    head: str
    base: str
    family: Key
    title: str
    body: str
    labels: tuple[str, ...] = ()
    draft: bool = False

    @property
    def target(self) -> str:
        """Where, in words."""
        return f"{self.repository}:{self.head}"


Action = Annotated[
    UpsertComment | UpsertCheck | SetLabels | UpsertIssue | UpsertPull | Answer,
    Field(discriminator="kind"),
]


class Done(Noun):
    """What became of one action. `url` is its page; `why` tells why it was not posted, or what else decided it."""

    kind: str
    target: str
    outcome: ActionOutcome
    url: str | None = None
    why: str | None = None


class Posting(Noun):
    """The document of every `--post`: what was to be true, and what became of it, in order."""

    dry_run: bool
    actions: tuple[Action, ...]
    done: tuple[Done, ...]

    @property
    def is_whole(self) -> bool:
        """Tell whether everything was posted, or would be."""
        return all(one.outcome != "not-posted" for one in self.done)


def marker_of(key: str) -> str:
    """Return the line by which a comment or pull request of ours is found again."""
    return f"<!-- relmgr:{key} -->"
