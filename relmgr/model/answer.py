"""The answer to one comment: a part for each command, and the workflows that it starts, each once."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from relmgr.model.base import Noun
from relmgr.model.pull_request import PullRequestRef

PartKey = Annotated[str, Field(pattern=r"^[a-z0-9-]{1,60}$")]
# asked: GitHub is being asked to start it, or the process ended in between. unknown: nobody can tell any more.
RunState = Literal["asked", "started", "unknown", "refused"]


class StartWorkflow(Noun):
    """A workflow to start once, as it stands on the repository's default branch; `inputs` are data for it.

    `request` is the input of that name too: a workflow that has it in its `run-name` is recognised again. `words` is
    what to say in each state; `{run}` in it is the run's page, `{why}` GitHub's reason.
    """

    workflow: str
    inputs: dict[str, str]
    request: Annotated[str, Field(pattern=r"^relmgr-\d+-[a-z0-9-]+$")]
    words: dict[RunState, str]


class AnswerPart(Noun):
    """What one command led to; None as `body` keeps what an earlier answer to the same comment says of it."""

    key: PartKey
    body: str | None
    start: StartWorkflow | None = None


class Answer(Noun):
    """One comment of ours that answers one of somebody's: its parts in order, then `foot`."""

    kind: Literal["answer"] = "answer"
    thread: PullRequestRef
    comment: int
    head: str
    parts: tuple[AnswerPart, ...]
    foot: str = ""
    only_update: bool = False

    @property
    def target(self) -> str:
        """Where, in words."""
        return str(self.thread)

    @property
    def body(self) -> str:
        """What it says, as far as it is known before anything is started."""
        said = [part.body or "" for part in self.parts]
        starts = [part.start.words["asked"] for part in self.parts if part.start]
        return "\n\n".join(filter(None, (self.head, *said, *starts, self.foot)))
