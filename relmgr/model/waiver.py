"""Waivers: a dated, signed exception to one policy for one subject."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from relmgr.model.base import Noun

Subject = Annotated[
    str, Field(pattern=r"^(?:[\w.-]+/[\w.-]+(?:#\d+|:[\w.-]+(?:/[\w.-]+)*)|(?:cut|release) \S+)$", max_length=400)
]


class Waiver(Noun):
    """An exception. `until` is its last day in the project's zone; `by` must be one of the project's owners.

    `subject` is `owner/repo#n`, `cut TRAIN` or `release TRAIN`; a bump that is planned and not opened is
    `owner/repo:BRANCH`, as its plan says, and once it is open it is its number.

    `source` tells where it stands: the base branch, a command in a comment by somebody who may give it, or the
    subject's own change, where it has no effect yet. It counts from `given_at` on, where that is told; `url` is its
    page.
    """

    policy: str
    subject: Subject
    until: Annotated[date, Field(ge=date(1980, 1, 1), lt=date(2200, 1, 1))]
    by: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*(\[bot\])?$")]
    reason: Annotated[str, Field(min_length=1, max_length=1000)]
    source: Literal["base", "command", "own-change"] = "base"
    given_at: AwareDatetime | None = None
    url: str | None = None


class WaiverFile(Noun):
    """The YAML file of waivers on a base branch. Where it stands is what makes them count, so none names a source."""

    waivers: tuple[Waiver, ...] = ()
