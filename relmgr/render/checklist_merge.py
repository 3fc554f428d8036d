"""Re-render a Markdown checklist without losing what people wrote into it.

Every line that relmgr writes ends in a hidden marker, `<!-- relmgr:KIND=KEY [state=STATE] -->`; it is replaced when the
checklist is rendered again. Every other line belongs to people and stays below the line it follows. A box whose tick
differs from what the marker's state asks for was changed by hand, and stays as it is. An item that is no longer listed
is kept at the end while it bears a hand-made tick or notes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from relmgr.errors import UserError

MAX_CHECKLIST = 1_000_000
_MARKER = re.compile(r"<!-- relmgr:(?P<kind>[a-z]+)=(?P<key>[A-Za-z0-9_./-]+)(?: state=(?P<state>[a-z-]+))? -->$")
_BOX = re.compile(r"^- \[(?P<tick>[ xX])\] ")
_ORPHANS = "## No longer asked <!-- relmgr:group=no-longer-asked -->"


@dataclass(frozen=True)
class _Line:
    """One line of ours, with the people's lines (`notes`, blank ones included) that follow it."""

    text: str
    kind: str
    key: str
    state: str | None
    notes: tuple[str, ...] = ()

    @property
    def ticked(self) -> bool | None:
        box = _BOX.match(self.text)
        return None if box is None else box["tick"] != " "

    @property
    def by_hand(self) -> bool:
        """Tell whether a person changed the box: relmgr ticks what is done, and nothing else."""
        return self.ticked is not None and self.ticked != (self.state == "done")

    @property
    def has_notes(self) -> bool:
        return any(note.strip() for note in self.notes)


@dataclass
class _Parsed:
    head: list[str] = field(default_factory=list)
    lines: list[_Line] = field(default_factory=list)

    def find(self, kind: str) -> list[_Line]:
        return [line for line in self.lines if line.kind == kind]


def merge_checklist(fresh: str, old: str, *, where: str = "the file") -> str:
    """Return `fresh` with the ticks and notes of `old`; unchanged facts give `old` back byte for byte.

    Raises `UserError` when `old` is no checklist of relmgr's, or that of another release.
    """
    eol = "\r\n" if "\r\n" in old else "\n"
    new, before = _parse(fresh), _parse(old)
    asked, found = new.find("checklist"), before.find("checklist")
    if not found:
        raise UserError("not a checklist of relmgr's: its marker is missing", where=where, next_step="check --merge")
    if asked[0].key != found[0].key:
        raise UserError(
            f"the checklist of {found[0].key}, not of {asked[0].key}", where=where, next_step="give the right file"
        )
    had = {(line.kind, line.key): line for line in before.lines}
    merged = [_merge(line, had.get((line.kind, line.key))) for line in new.lines]
    listed = {(line.kind, line.key) for line in new.lines}
    merged += _orphans([line for line in before.lines if (line.kind, line.key) not in listed], had)
    return eol.join([*before.head, *(text for line in merged for text in (line.text, *line.notes))]) + eol


def _parse(text: str) -> _Parsed:
    parsed, seen = _Parsed(), set()
    notes: list[str] = []
    body = text.removesuffix("\n").removesuffix("\r")
    for raw in body.split("\n"):
        line = raw.removesuffix("\r")
        marker = _MARKER.search(line.rstrip())
        # A line that somebody copied carries the same marker: the first is ours, further ones are notes.
        if marker is None or (marker["kind"], marker["key"]) in seen:
            notes.append(line)
            continue
        seen.add((marker["kind"], marker["key"]))
        _close(parsed, notes)
        parsed.lines.append(_Line(line.rstrip(), marker["kind"], marker["key"], marker["state"]))
        notes = []
    _close(parsed, notes)
    return parsed


def _close(parsed: _Parsed, notes: list[str]) -> None:
    if parsed.lines:
        parsed.lines[-1] = replace(parsed.lines[-1], notes=tuple(notes))
    else:
        parsed.head += notes


def _merge(line: _Line, old: _Line | None) -> _Line:
    if old is None:
        return line
    notes = line.notes
    if old.has_notes:
        notes = old.notes
        # What follows in the fresh text may need the blank line that the old place did not.
        if line.notes and not line.notes[-1].strip() and notes[-1].strip():
            notes = (*notes, line.notes[-1])
    return replace(line, text=_with_tick(line, old), notes=notes)


def _with_tick(line: _Line, old: _Line) -> str:
    """Return the fresh line, with the box as a person left it; a box that only the evidence had ticked is not kept."""
    return f"- [{old.text[3]}{line.text[4:]}" if old.by_hand and line.ticked is not None else line.text


def _orphans(lines: list[_Line], had: dict[tuple[str, str], _Line]) -> list[_Line]:
    kept = [line for line in lines if line.kind == "item" and (line.by_hand or line.has_notes)]
    lost = [line for line in lines if line.kind != "item" and line.key != "no-longer-asked" and line.has_notes]
    if not kept and not lost:
        return []
    old = had.get(("group", "no-longer-asked"))
    heading = _Line(_ORPHANS, "group", "no-longer-asked", None, ("",))
    return [replace(heading, notes=old.notes if old and old.has_notes else ("",)), *lost, *kept]
