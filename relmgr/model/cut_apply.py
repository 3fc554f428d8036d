"""A cut to be made: the stored plan with what was seen when it was taken, and the document of `cut apply`."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from relmgr.model.base import Noun
from relmgr.model.project import Slug

Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
BranchName = Annotated[str, Field(pattern=r"^[A-Za-z0-9](?:[A-Za-z0-9._/+-]{0,198}[A-Za-z0-9_+-])?$")]
RefName = Annotated[str, Field(pattern=r"^refs/(?:heads|remotes)/[A-Za-z0-9][A-Za-z0-9._/+-]{0,220}$")]
MAX_PLAN_BYTES = 1_000_000


class BranchToCut(Noun):
    """One repository of a stored plan: `branch` is to be made at `commit`.

    `base` is the full name of the ref it is cut from, and `tip` where that ref stood. With `exists` the branch was
    there already: nothing is to be made, and `base` is the branch itself.
    """

    name: str = Field(description="the repository's configured name")
    repository: Slug
    branch: BranchName
    commit: Commit
    base: RefName
    tip: Commit
    exists: bool = False


class OpenItem(Noun):
    """A checklist item that was open when the plan was taken; `accepted` is why the cut may be made all the same."""

    id: str
    text: str
    evidence: str | None
    accepted: str | None = None


class StoredCut(Noun):
    """The file that `cut plan --save` writes and `cut apply` reads. `digest` tells whether anybody edited it."""

    format: Literal["relmgr-cut-1"] = "relmgr-cut-1"
    project: str
    release: str
    taken_at: AwareDatetime
    branches: tuple[BranchToCut, ...] = Field(min_length=1)
    open_items: tuple[OpenItem, ...] = ()
    by_hand: tuple[str, ...] = ()
    digest: str = ""

    def computed_digest(self) -> str:
        """Return the SHA-256 of everything but the digest itself."""
        text = json.dumps(self.model_dump(mode="json", exclude={"digest"}), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def sealed(self) -> StoredCut:
        """Return the plan with its digest."""
        return self.model_copy(update={"digest": self.computed_digest()})

    @property
    def blocking(self) -> tuple[OpenItem, ...]:
        """The open items that nobody accepted."""
        return tuple(item for item in self.open_items if item.accepted is None)


class PlaceSeen(Noun):
    """One branch of the plan at one place, as it is now: in the clone (`remote` None), or at a remote of it.

    `now` is where the branch stands, `base_now` where its base does (None: not there). `ours` tells that a run of this
    very plan has marked the branch as being made; `elsewhere` names refs of other remotes that have the branch.
    """

    cut: BranchToCut
    path: str
    remote: str | None
    now: str | None
    base_now: str | None
    ours: bool = False
    elsewhere: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """The place in words."""
        return f"{self.cut.repository} at {self.remote}" if self.remote else f"{self.cut.repository} in {self.path}"

    @property
    def is_made(self) -> bool:
        """Tell whether the branch stands where the plan wants it."""
        return self.now == (self.cut.tip if self.cut.exists else self.cut.commit)


ActionState = Literal["exists", "to-create", "created", "kept", "undone", "left", "other-commit", "not-there"]


class CutAction(Noun):
    """What becomes of one branch at one place: a clone, or a remote of it (`remote`).

    `finish` and `undo` are the shell commands that complete or take back what a broken-off cut left.
    """

    repository: Slug
    path: str
    remote: str | None
    branch: str
    commit: str
    state: ActionState
    finish: str | None = None
    undo: str | None = None


class CutApplied(Noun):
    """The document of `cut apply`.

    `ready`: nothing was done yet · `refused`: `problems` say why, nothing was done · `done` · `undone`: it failed and
    all it had made was taken back · `half-done`: some of it stands; `actions` say what, with the commands.
    """

    release: str
    plan: str
    digest: str
    taken_at: AwareDatetime
    state: Literal["ready", "refused", "done", "undone", "half-done"]
    problems: tuple[str, ...]
    failed: bool = Field(default=False, description="something was tried, and failed")
    accepted: tuple[OpenItem, ...]
    by_hand: tuple[str, ...]
    actions: tuple[CutAction, ...]
