"""A pull request of the provider whose head a pin names."""

from __future__ import annotations

from typing import Literal

from relmgr.model.base import Noun


class Companion(Noun):
    """What the forge says of it. `merged_as` is its commit on `base`, whose tree is the head's when `same_tree`."""

    repository: str
    number: int
    state: Literal["open", "closed", "merged"]
    base: str
    merged_as: str | None = None
    same_tree: bool | None = None

    def __str__(self) -> str:
        return f"{self.repository}#{self.number}"
