"""ABI guards: the consumer's conditionals on the provider's number."""

from __future__ import annotations

from pydantic import Field

from relmgr.model.base import Noun


class Guard(Noun):
    """One branch of a conditional that depends on the number, and when it is compiled.

    `line` is its directive, `end_line` the last line before the next directive of the conditional. `condition` is as
    written (`defined(X)` for `#ifdef X`; `#else` shows what it negates). `macro` is the name the condition tests: the
    contract's macro, or one derived from it. `live`: whether this branch is taken at the pinned number wherever the
    code around it is compiled; None when the number, or another macro in the condition, is unknown.
    """

    file: str
    line: int
    end_line: int
    condition: str
    macro: str
    live: bool | None
    dead_for: tuple[str, ...] = Field(default=(), description="releases at whose number this branch is never compiled")


class GuardReport(Noun):
    """Every guard at one commit. `numbers` is the number at each asked release; `gaps` are files that were not read."""

    macro: str
    ref: str
    commit: str
    number: int | None
    numbers: dict[str, int | None]
    guards: tuple[Guard, ...]
    gaps: tuple[str, ...] = ()


class GuardPatch(Noun):
    """A proven patch: `diff` is a unified diff in latin-1 (one character a byte), '' when nothing is dead."""

    diff: str
    numbers: tuple[int, ...]
    removed: tuple[Guard, ...]
    macros_removed: tuple[str, ...]
    worlds: int = Field(description="preprocessor runs compared on either side")
