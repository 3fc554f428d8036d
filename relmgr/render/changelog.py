"""A section of a change log, inserted or updated without losing what people wrote (N5).

A section that relmgr wrote ends in a hidden marker with a short digest of every line it wrote. When it is written
again, a line whose digest stands there is relmgr's and may change or go; every other line is a person's and stays where
it is. A line of relmgr's that a person deleted or rewrote does not come back.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from typing import Literal

from relmgr.errors import UserError

MAX_CHANGELOG = 16 * 1024 * 1024
_MARKER = re.compile(r"^<!-- relmgr:notes (?P<range>\S+) lines=(?P<lines>[A-Za-z0-9_.-]*) -->\s*$")
_HEADING = re.compile(r"^ {0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<title>.*?))?[ \t]*#*[ \t]*$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_LINK = re.compile(r"\((?:\[#\d+\]|\[`[0-9a-f]{7,}`\])\((https?://[^)\s]+)\)")
_NUMBERS = re.compile(r"\d+(?:\.\d+)+")

Action = Literal["insert", "update", "unchanged", "by-hand"]


@dataclass(frozen=True)
class Merged:
    """The new text of a change log, and what was done to its section."""

    text: str
    action: Action


def write_section(old: str, fresh: str, range_: str, *, adopt: bool = False) -> Merged:
    """Return the change log `old` with the section `fresh` (its first line is `## title`) in its place.

    `range_` names what the section tells. A section of that release without a marker is a person's: it stays untouched,
    or, with `adopt`, takes what it lacks. Everything outside the section stays byte for byte. Raises `UserError` where
    a code fence is left open: no one can tell what is a heading after it.
    """
    eol = "\r\n" if "\r\n" in old else "\n"
    lines = old.removesuffix("\n").removesuffix("\r").split("\n") if old else []
    lines = [line.removesuffix("\r") for line in lines] if eol == "\r\n" else lines
    new = [line.rstrip() for line in fresh.strip("\n").split("\n")]
    if (opened := _open_fence(lines)) is not None:
        raise UserError(f"line {opened + 1} opens a code fence that nothing closes", next_step="close it first")
    place = find_section(lines, new[0])
    if place is None:
        body = [*new, "", _marker(range_, new)]
        merged, action = _insert(lines, body, new[0]), "insert"
    else:
        start, end = place
        kept, action = _update(lines[start:end], new, range_, adopt)
        merged = [*lines[:start], *kept, *lines[end:]]
    text = eol.join(merged) + (eol if not old or old.endswith("\n") or place is None else "")
    if action != "insert" and text == old:
        return Merged(old, "by-hand" if action == "by-hand" else "unchanged")
    return Merged(text, "insert" if action == "insert" else "update")


def section_text(text: str, title: str) -> str | None:
    """Return the section of a change log that `title` (with or without `## `) names, without its heading."""
    lines = text.splitlines()
    place = find_section(lines, title if title.startswith("#") else f"## {title}")
    return None if place is None else "\n".join(lines[place[0] + 1 : place[1]])


def find_section(lines: list[str], heading: str) -> tuple[int, int] | None:
    """Return where the section of the release in `heading` starts and ends (without the blank lines before the next).

    Titles are compared by their words and numbers: `X-2.1 for Y 5.7` is `X 2.1 for Y 5.7`; when the last number, the
    release, is the same the titles may differ in the others.
    """
    found = _HEADING.match(heading)
    if found is None:
        raise UserError(f"not a section's heading: {heading!r}", next_step="write a title without line breaks")
    level, title = len(found["marks"]), found["title"] or ""
    headings = _headings(lines)
    for index, (number, marks, name) in enumerate(headings):
        if marks == level and _same_release(name, title):
            after = next((n for n, m, _ in headings[index + 1 :] if m <= level), len(lines))
            while after > number + 1 and not lines[after - 1].strip():
                after -= 1
            return number, after
    return None


def _headings(lines: list[str]) -> list[tuple[int, int, str]]:
    """Return (line, level, title) of every heading outside code fences."""
    found: list[tuple[int, int, str]] = []
    fences = _Fences()
    for number, line in enumerate(lines):
        inside = fences.read(number, line)
        if not inside and (heading := _HEADING.match(line)):
            found.append((number, len(heading["marks"]), heading["title"] or ""))
    return found


def _open_fence(lines: list[str]) -> int | None:
    """Return the line that opens a code fence which the text leaves open."""
    fences = _Fences()
    for number, line in enumerate(lines):
        fences.read(number, line)
    return fences.opened


class _Fences:
    """Follows code fences from line to line; `opened` is the line of the one that is open."""

    def __init__(self) -> None:
        self.opened: int | None = None
        self._mark = ""

    def read(self, number: int, line: str) -> bool:
        """Take one line; tell whether it is code or a fence."""
        match, bare = _FENCE.match(line), line.strip()
        if self.opened is not None:
            if match and len(bare) >= len(self._mark) and not bare.strip(self._mark[0]):
                self.opened = None
            return True
        if match and not (match[1][0] == "`" and "`" in bare.lstrip("`")):
            self.opened, self._mark = number, match[1]
        return self.opened is not None


def _same_release(one: str, other: str) -> bool:
    if _words(one) == _words(other):
        return True
    mine, theirs = _NUMBERS.findall(one), _NUMBERS.findall(other)
    bare = [re.sub(r"\d[\d.]*", "", text) for text in (_words(one), _words(other))]
    return bool(mine and theirs) and mine[-1] == theirs[-1] and bare[0].split() == bare[1].split()


def _words(title: str) -> str:
    # A backslash or a gap that keeps a mark from being markup is no word.
    return " ".join(re.sub(r"[-_\s]+", " ", re.sub(r"\\(?=[^\w\s]|_)|\u200b", "", title)).split()).lower()


# -- a new section --------------------------------------------------------------------------------------------------


def _insert(lines: list[str], body: list[str], heading: str) -> list[str]:
    """Return the lines with the section before the first of an older release, else before the first of its level."""
    same = [(number, title) for number, level, title in _headings(lines) if level == heading.index(" ")]
    own = _release(heading)
    older = [number for number, title in same if (theirs := _release(title)) is not None and own and theirs < own]
    place = older[0] if older else same[0][0] if same and not _has_release(same) else len(lines)
    before, after = lines[:place], lines[place:]
    if before and before[-1].strip():
        before = [*before, ""]
    return [*before, *body, *(["", *after] if after else [])]


def _has_release(headings: list[tuple[int, str]]) -> bool:
    return any(_release(title) for _, title in headings)


def _release(title: str) -> tuple[int, ...] | None:
    numbers = _NUMBERS.findall(title)
    if not numbers:
        return None
    parts = [int(part) for part in numbers[-1].split(".")]
    while parts and not parts[-1]:
        parts.pop()
    return tuple(parts)


# -- one that is there ----------------------------------------------------------------------------------------------


@dataclass
class _Group:
    """A heading ('' before the first) and the lines below it."""

    heading: str
    lines: list[str]

    @property
    def is_empty(self) -> bool:
        return not any(line.strip() for line in self.lines)


def _update(old: list[str], new: list[str], range_: str, adopt: bool) -> tuple[list[str], Action]:
    marker = next((match for line in reversed(old) if (match := _MARKER.match(line))), None)
    if marker is None and not adopt:
        return old, "by-hand"
    base = set(marker["lines"].split(".")) if marker else set()
    fresh = _marker(range_, new)
    body = old[1:]
    at_end = marker is None or _MARKER.match(body[-1]) is not None
    if at_end and marker is not None:
        body = body[:-1]
    ours = set(new[1:])
    stays = [line for line in body if not line.strip() or line in ours or _digest(line) not in base]
    groups = [g for g in _groups(stays) if not (g.is_empty and g.heading and _digest(g.heading) in base)]
    _add(groups, _groups(new[1:]), base)
    # A title is relmgr's to correct only where it wrote it.
    title = new[0] if marker and _digest(old[0]) in base else old[0]
    told = [fresh if _MARKER.match(line) else line for line in _joined(groups)]
    while at_end and told and not told[-1].strip():
        told.pop()
    return [title, *told, *(["", fresh] if at_end else [])], "update"


def _groups(lines: list[str]) -> list[_Group]:
    groups = [_Group("", [])]
    starts = {number for number, _, _ in _headings(lines)}
    for number, line in enumerate(lines):
        if number in starts:
            groups.append(_Group(line, []))
        else:
            groups[-1].lines.append(line)
    return groups


def _joined(groups: list[_Group]) -> list[str]:
    lines: list[str] = []
    for group in groups:
        lines += [*([group.heading] if group.heading else []), *group.lines]
    return lines


def _add(groups: list[_Group], fresh: list[_Group], base: set[str]) -> None:
    """Add the fresh lines that are neither there nor were taken away or rewritten by a person."""
    there = {line for group in groups for line in group.lines}
    theirs = [line for line in there if _digest(line) not in base]
    links = {link for line in theirs for link in _LINK.findall(line)[:1]}
    order = [group.heading for group in fresh]
    for group in fresh:
        items = [line for line in group.lines if line.strip()]
        wanted = [line for line in items if line not in there and _is_new(line, base, links)]
        if wanted:
            _place(_group_of(groups, group.heading, order), items, wanted)


def _is_new(line: str, base: set[str], links: set[str]) -> bool:
    return _digest(line) not in base and not set(_LINK.findall(line)[:1]) & links


def _group_of(groups: list[_Group], heading: str, order: list[str]) -> _Group:
    """Return the group below `heading`, made before the first one that comes later in the section's order."""
    found = next((group for group in groups if group.heading.strip().lower() == heading.lower()), None)
    if found is not None:
        return found
    later = order[order.index(heading) + 1 :]
    at = next((index for index, group in enumerate(groups) if group.heading in later), len(groups))
    made = _Group(heading, ["", ""])
    before = groups[at - 1]
    if (before.heading or before.lines) and (not before.lines or before.lines[-1].strip()):
        before.lines.append("")
    groups.insert(at, made)
    return made


def _place(group: _Group, items: list[str], wanted: list[str]) -> None:
    """Insert each wanted line below the one it follows, else at the group's top."""
    above: str | None = None
    for line in items:
        if line in wanted:
            if above is None:
                at = next((n for n, other in enumerate(group.lines) if other.strip()), min(1, len(group.lines)))
            else:
                at = group.lines.index(above) + 1
            group.lines.insert(at, line)
        if line in group.lines:
            above = line


def _marker(range_: str, lines: list[str]) -> str:
    digests = ".".join(dict.fromkeys(_digest(line) for line in lines if line.strip()))
    return f"<!-- relmgr:notes {range_} lines={digests} -->"


def _digest(line: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(line.strip().encode()).digest()[:6]).decode()
