"""A pull request as the forge, or a recorded file, tells it. An optional fact is None when it was not read."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, Field

from relmgr.model.base import Noun
from relmgr.model.project import Slug

PullRequestState = Literal["open", "closed", "merged"]
ReviewState = Literal["approved", "changes-requested", "commented", "dismissed", "pending"]
CheckStatus = Literal["queued", "in-progress", "completed", "waiting", "requested", "pending"]


class PullRequestRef(Noun):
    """A pull request by name: `repository` is the present `owner/name` of a configured repository."""

    repository: Slug
    number: int = Field(ge=1)

    def __str__(self) -> str:
        return f"{self.repository}#{self.number}"


class PullRequestReview(Noun):
    """A review of `commit`; `submitted_at` is None while its author has not sent it.

    `may_push` tells whether its author may push to the repository, None where the forge does not tell.
    """

    author: str
    state: ReviewState
    submitted_at: AwareDatetime | None = None
    commit: str | None = None
    may_push: bool | None = None


class PullRequestCheck(Noun):
    """One result of the check `name` on `commit`; `conclusion` is None until it is completed."""

    name: str
    status: CheckStatus
    conclusion: str | None = None
    completed_at: AwareDatetime | None = None
    commit: str | None = None


class PullRequestFile(Noun):
    """A changed file. `patch` is None where the forge left it out: binary, too large, or not asked for."""

    path: str
    status: str
    patch: str | None = None
    previous_path: str | None = None


class PullRequestComment(Noun):
    """A comment in the thread. `edited_by` wrote what stands there now; `hidden`: folded away, readers do not see it.

    `association` is what the forge says its author is to the repository, such as member or contributor.
    """

    author: str
    body: str
    created_at: AwareDatetime
    url: str | None = None
    is_bot: bool = False
    association: str | None = None
    edited_at: AwareDatetime | None = None
    edited_by: str | None = None
    hidden: bool = False


EditKind = Literal["base", "title", "body", "draft", "ready", "push"]


class PullRequestEdit(Noun):
    """What was changed after it was opened, and when: the base, the title, the description, draft or ready, the head.

    Of the description only the last edit is known, of pushes only the forced ones; `by` is None where nobody is told.
    """

    kind: EditKind
    at: AwareDatetime
    by: str | None = None


class PullRequest(Noun):
    """A pull request at one time.

    `state` "closed" means closed without a merge. `base` is the branch it goes to; `merged_into` the branch that holds
    its commit, where that was looked up (else `base` is what is known of a merged one). `mergeable` is None while the
    forge has not worked it out. `labels`, `reviews`, `checks`, `files`, `comments` and `edits` are None when they were
    not read; an empty tuple means that there are none.
    """

    repository: Slug
    number: int = Field(ge=1)
    title: str = ""
    body: str | None = None
    state: PullRequestState
    draft: bool = False
    base: str
    head_ref: str | None = None
    head_commit: str | None = None
    author: str | None = None
    merged_into: str | None = None
    merge_commit: str | None = None
    merged_at: AwareDatetime | None = None
    created_at: AwareDatetime | None = None
    updated_at: AwareDatetime | None = None
    last_push_at: AwareDatetime | None = None
    mergeable: bool | None = None
    labels: tuple[str, ...] | None = None
    reviews: tuple[PullRequestReview, ...] | None = None
    checks: tuple[PullRequestCheck, ...] | None = None
    files: tuple[PullRequestFile, ...] | None = None
    comments: tuple[PullRequestComment, ...] | None = None
    edits: tuple[PullRequestEdit, ...] | None = None

    @property
    def ref(self) -> PullRequestRef:
        """Its name."""
        return PullRequestRef(repository=self.repository, number=self.number)
