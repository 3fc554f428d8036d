"""How a consumer's kernel databases are rebuilt: commands of its tuning tool, and what need not be rebuilt.

A word in braces is filled in: by relmgr when it is one of `KNOWN`, else by the person named in no setting, so `fill`
says where each of those comes from.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field, model_validator

from relmgr.model.base import Noun

# What relmgr knows when it writes a ticket: see `relmgr.gate.tickets`.
KNOWN = ("label", "train", "version", "arch", "number", "commit", "pin")
WORD = re.compile(r"\{(\w+)\}")
OneLine = Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\r\n]+$")]


class RebuildStep(Noun):
    """One command, and why it is run."""

    command: OneLine
    why: OneLine


class Kept(Noun):
    """Data that outlives a crossing; `unless` is when it may have to be rebuilt after all, for another reason."""

    what: OneLine
    why: OneLine
    unless: OneLine


class Rebuild(Noun):
    """The recipe. `label` names the work in the tool; it may use every word of `KNOWN` but itself."""

    tool: OneLine
    label: OneLine = "{train}-{arch}"
    steps: tuple[RebuildStep, ...] = Field(min_length=1)
    fill: dict[Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")], OneLine] = Field(
        default={}, description="words that a person fills in, and where each comes from"
    )
    kept: tuple[Kept, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Rebuild:
        allowed = {*KNOWN, *self.fill}
        for text in (*(step.command for step in self.steps), self.label):
            strange = [word for word in WORD.findall(text) if word not in allowed]
            if strange or (text is self.label and "label" in WORD.findall(text)):
                names = ", ".join(strange) or "label"
                raise ValueError(f"{{{names}}} in {text!r} is not known; known: {', '.join(sorted(allowed))}")
        return self
