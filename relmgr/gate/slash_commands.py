"""`/relmgr ...` in a comment: read as a reader of the comment sees it, and only from who may (B5). Pure.

A command is plain text that starts its line in the source and in what is shown: nothing in code, quotes, tables, lists,
headings, diffs, HTML or struck text is one.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator
from datetime import date, datetime

from relmgr.errors import UserError
from relmgr.gate.markdown_text import MAX_BODY, Block, read_visible
from relmgr.gate.marks import CODE, LINK_END, LINK_OPEN, STRUCK, spoken, strip_marks
from relmgr.model.project import Project
from relmgr.model.slash_commands import USAGE, CommandName, Commenter, RefusedCommand, SlashCommand, SlashCommands
from relmgr.model.times import local_date, parse_date

PREFIX = "/relmgr"
MAX_COMMANDS = 10
MAX_SAID = 200
MAX_REASON = 1000
_ADDRESS = re.compile(r"/relmgr(?![^\s])", re.ASCII | re.IGNORECASE)
_COVERS = re.compile(r"<!--|-->|</?del(?=[\s>])", re.ASCII | re.IGNORECASE)
_HIDDEN = (CODE, STRUCK, LINK_OPEN, LINK_END)
_POLICY = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)
_ARCH = re.compile(r"[a-z][a-z0-9_]{1,30}(?::[a-z]{1,20}[+-]){0,4}", re.ASCII)
_LADDER = ("none", "read", "triage", "write", "maintain", "admin")


class _Refused(Exception):
    def __init__(self, problem: str, why: str) -> None:
        super().__init__(why)
        self.problem, self.why = problem, why


def read_commands(body: str | None, policies: Collection[str] | None = None) -> SlashCommands:
    """Return the commands in a comment, and what looks like one and is not understood.

    `policies` are the known ids (None: not checked). Reads at most `MAX_BODY` characters and runs `MAX_COMMANDS`.
    """
    commands: dict[str, SlashCommand] = {}
    refused: list[RefusedCommand] = []
    for line, text, raw in _addressed(body or ""):
        try:
            command = _parse(text, line, policies)
            _require_plain(command, text, raw)
            key = command.model_dump_json(exclude={"line"})
            if key not in commands and len(commands) >= MAX_COMMANDS:
                raise _Refused("too-many", f"a comment runs at most {MAX_COMMANDS} commands")
            commands.setdefault(key, command)
        except _Refused as reason:
            if len(refused) < MAX_COMMANDS:
                refused.append(_refuse(line, text, reason))
    return SlashCommands(commands=tuple(commands.values()), refused=tuple(refused))


def new_commands(before: SlashCommands, after: SlashCommands) -> SlashCommands:
    """Return what an edit of a comment added: an edit never runs a command again (M8)."""
    known = {command.model_copy(update={"line": 0}) for command in before.commands}
    said = {(refusal.said, refusal.problem) for refusal in before.refused}
    return SlashCommands(
        commands=tuple(c for c in after.commands if c.model_copy(update={"line": 0}) not in known),
        refused=tuple(r for r in after.refused if (r.said, r.problem) not in said),
    )


def permit_commands(found: SlashCommands, by: Commenter, project: Project, at: datetime) -> SlashCommands:
    """Return what of `found` may run when `by` wrote it at `at`; a bot is neither obeyed nor answered."""
    if by.is_bot or by.login.lower().endswith("[bot]") or not by.login:
        return SlashCommands()
    allowed: list[SlashCommand] = []
    refused = list(found.refused)
    for command in found.commands:
        why = _why_not(command, by, project, at)
        if why is None:
            allowed.append(command)
        else:
            refused.append(_refuse(command.line, f"{PREFIX} {command.name}", _Refused("not-permitted", why)))
    return SlashCommands(commands=tuple(allowed), refused=tuple(sorted(refused, key=lambda r: r.line)))


def needs_role(project: Project, command: CommandName) -> bool:
    """Tell whether it is a permission on the repository, not a list of names, that decides who may run a command."""
    return project.commands.who(command) in _LADDER


def may_ever(project: Project, command: CommandName, login: str) -> bool:
    """Tell whether somebody of that name may run a command, as far as names tell."""
    who = project.commands.who(command)
    names = who if isinstance(who, tuple) else project.owners if who == "owners" else None
    return who != "nobody" and (names is None or login.lower() in {name.lower() for name in names})


def _why_not(command: SlashCommand, by: Commenter, project: Project, at: datetime) -> str | None:
    who = project.commands.who(command.name)
    if command.until is not None and command.until < local_date(at, project.timezone):
        return f"{command.until} has passed: a waiver ends with that day"
    if isinstance(who, tuple):
        return None if by.login.lower() in {name.lower() for name in who} else f"only for {_names(who)}"
    if who == "anyone":
        return None
    if who == "nobody":
        return "switched off in this project"
    if who == "owners":
        owners = {name.lower() for name in project.owners}
        return None if by.login.lower() in owners else f"only for the project's owners: {_names(project.owners)}"
    if by.permission is None:
        return f"needs the permission {who!r}, and yours could not be read: try again"
    if _LADDER.index(by.permission) < _LADDER.index(who):
        return f"needs the permission {who!r} on the repository, you have {by.permission!r}"
    return None


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none are configured"


# -- where a command stands -----------------------------------------------------------------------------------------


def _addressed(body: str) -> Iterator[tuple[int, str, str]]:
    """Yield (line, visible text, source) of each line that addresses relmgr."""
    source = strip_marks(body[:MAX_BODY]).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not any(_ADDRESS.match(line) for line in source):
        return
    covered = _covered(source)
    for block in read_visible(body).blocks:
        if block.kind == "paragraph":
            yield from (found for found in _in_block(block, source) if found[0] not in covered)


def _covered(source: list[str]) -> set[int]:
    """Return the lines that start inside an HTML comment or `<del>`, taken by their letters alone.

    Browsers end these where HTML says, which may be far from where Markdown's blocks end: better one command too few.
    """
    covered: set[int] = set()
    comment, struck = False, 0
    for number, line in enumerate(source, 1):
        if comment or struck:
            covered.add(number)
        for mark in _COVERS.findall(line):
            if mark in ("<!--", "-->"):
                comment = mark == "<!--"
            elif not comment:
                struck = max(0, struck + (-1 if mark.startswith("</") else 1))
    return covered


def _in_block(block: Block, source: list[str]) -> Iterator[tuple[int, str, str]]:
    open_links, last = 0, 0
    for line in block.lines:
        first, last = line.number != last, line.number
        raw = source[line.number - 1] if line.number <= len(source) else ""
        # Only the first piece of a source line starts it: what follows a <br> does not.
        if first and not open_links and _ADDRESS.match(raw) and _ADDRESS.match(line.text):
            yield line.number, line.text, raw
        open_links += line.text.count(LINK_OPEN) - line.text.count(LINK_END)


# -- what it says ---------------------------------------------------------------------------------------------------


def _parse(text: str, line: int, policies: Collection[str] | None) -> SlashCommand:
    name, _, rest = text[len(PREFIX) :].strip().partition(" ")
    name = name.lower()
    if name not in USAGE:
        raise _Refused("unknown", "there is no such command" if name else "a command must follow")
    words = rest.split()
    if name == "waive":
        return _waive(words, line, policies)
    wanted = len(USAGE[name].split()) - 1
    if len(words) != wanted or any(mark in rest for mark in _HIDDEN):
        raise _malformed(name)
    if name == "explain":
        return SlashCommand(name="explain", line=line, policy=_policy(words[0], policies))
    if name == "smoke":
        if not _ARCH.fullmatch(words[0]):
            raise _malformed("smoke")
        return SlashCommand(name="smoke", line=line, arch=words[0])
    return SlashCommand(name=name, line=line)


def _require_plain(command: SlashCommand, text: str, raw: str) -> None:
    """Refuse a command that is not spelt in the source as it is shown; only a waiver's reason may carry markup."""
    count = 5 if command.name == "waive" else None
    if text.split()[:count] != raw.split()[:count]:
        raise _Refused("malformed", "write the command as plain text, without any markup")


def _waive(words: list[str], line: int, policies: Collection[str] | None) -> SlashCommand:
    if len(words) < 4 or words[1].lower() != "until" or any(mark in "".join(words[:3]) for mark in _HIDDEN):
        raise _malformed("waive")
    reason = spoken(" ".join(words[3:]))
    if not re.search(r"\w", reason) or len(reason) > MAX_REASON:
        raise _Refused("malformed", f"give a reason in words, of at most {MAX_REASON} characters")
    return SlashCommand(
        name="waive", line=line, policy=_policy(words[0], policies), until=_day(words[2]), reason=reason
    )


def _policy(word: str, policies: Collection[str] | None) -> str:
    if not _POLICY.fullmatch(word) or len(word) > 100:
        raise _Refused("malformed", "a policy's id is made of small letters, digits and hyphens")
    if policies is not None and word not in policies:
        close = difflib.get_close_matches(word, sorted(policies), n=1)
        raise _Refused("malformed", f"no policy {word}{f'; did you mean {close[0]}?' if close else ''}")
    return word


def _day(word: str) -> date:
    try:
        return parse_date(word)
    except UserError as error:
        raise _Refused("malformed", f"{error.what}; {error.next_step}") from None


def _malformed(name: CommandName) -> _Refused:
    return _Refused("malformed", f"write {PREFIX} {USAGE[name]}")


def _refuse(line: int, text: str, reason: _Refused) -> RefusedCommand:
    said = spoken(text)
    said = f"{said[:MAX_SAID]}..." if len(said) > MAX_SAID else said
    return RefusedCommand.model_validate({"line": line, "said": said, "problem": reason.problem, "why": reason.why})
