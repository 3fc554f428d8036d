"""Commands that people give in comments: what was asked, by whom, and what became of it."""

from __future__ import annotations

from datetime import date
from typing import Literal

from relmgr.model.base import Noun

CommandName = Literal["recheck", "explain", "order", "smoke", "waive", "ticket"]
Permission = Literal["none", "read", "triage", "write", "maintain", "admin"]

USAGE: dict[CommandName, str] = {
    "recheck": "recheck",
    "explain": "explain POLICY",
    "order": "order",
    "smoke": "smoke ARCH",
    "waive": "waive POLICY until YYYY-MM-DD REASON",
    "ticket": "ticket",
}


class SlashCommand(Noun):
    """One command as written on `line` of a comment (from 1); only the fields of its name are set.

    `until` is the last day of a waiver, in the project's zone.
    """

    name: CommandName
    line: int
    policy: str | None = None
    arch: str | None = None
    until: date | None = None
    reason: str | None = None


class RefusedCommand(Noun):
    """A line that addresses relmgr and is not run: `said` is what stands there, `why` what to do about it."""

    line: int
    said: str
    problem: Literal["unknown", "malformed", "not-permitted", "too-many"]
    why: str


class SlashCommands(Noun):
    """What one comment asks for, in its order; equal commands are one."""

    commands: tuple[SlashCommand, ...] = ()
    refused: tuple[RefusedCommand, ...] = ()


class Commenter(Noun):
    """Who wrote a comment. `permission` is theirs on the repository, None when it could not be read."""

    login: str
    is_bot: bool = False
    permission: Permission | None = None
