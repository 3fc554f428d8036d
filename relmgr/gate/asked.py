"""What a comment asks for, now and anew: an edit runs only what it added, and takes back what it removed (M8). Pure."""

from __future__ import annotations

from collections.abc import Collection
from hashlib import sha256
from typing import NamedTuple

from relmgr.gate.slash_commands import PREFIX, new_commands, read_commands
from relmgr.model.event import EventComment
from relmgr.model.slash_commands import RefusedCommand, SlashCommand, SlashCommands

Entry = SlashCommand | RefusedCommand
# What relmgr writes begins so: it never asks itself for anything.
_OWN = "<!-- relmgr:"


class Asked(NamedTuple):
    """The lines that address relmgr in a comment now, those that are new, and waivers that no longer stand there."""

    entries: tuple[Entry, ...]
    new: SlashCommands
    taken_back: tuple[SlashCommand, ...]

    @property
    def is_nothing(self) -> bool:
        """Tell whether there is nothing to do."""
        return not (self.new.commands or self.new.refused or self.taken_back)


def why_unheard(comment: EventComment) -> str | None:
    """Return why nothing in a comment is looked at, None when it is. Bots are neither obeyed nor answered (B5)."""
    if comment.is_bot or comment.by.lower().endswith("[bot]"):
        return "a bot's comment is neither obeyed nor answered"
    if comment.body.lstrip().startswith(_OWN):
        return "the comment is relmgr's own"
    if PREFIX not in f"{comment.body}\n{comment.before}".lower():
        return "the comment holds no command"
    return None


def read_asked(comment: EventComment, policies: Collection[str]) -> Asked:
    """Return what a comment asks for. What somebody else than its author wrote into it is not their word.

    `policies` are the ids in force on the base branch.
    """
    before, now = read_commands(comment.before, policies), read_commands(comment.body, policies)
    own_word = comment.by == comment.author
    standing = {_plain(command) for command in now.commands} if own_word else set()
    taken_back = tuple(c for c in before.commands if c.name == "waive" and _plain(c) not in standing)
    entries: list[Entry] = [*now.commands, *now.refused]
    new = new_commands(before, now) if own_word else SlashCommands()
    return Asked(tuple(sorted(entries, key=lambda entry: entry.line)), new, taken_back)


def key_of(entry: Entry) -> str:
    """Return the word by which what was said about a line is found again in an answer."""
    if isinstance(entry, RefusedCommand):
        return f"line-{_short(entry.said + chr(0) + entry.problem)}"
    return f"{entry.name}-{_short(_plain(entry).model_dump_json())}"


def _plain(command: SlashCommand) -> SlashCommand:
    return command.model_copy(update={"line": 0})


def _short(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:12]
