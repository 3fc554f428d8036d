"""Trains as an iCalendar file (RFC 5545): cuts, last safe days, freezes, first tags.

Days are whole-day events, freezes have UTC instants. The same trains and stamp give the same bytes; an event keeps its
UID when its date moves, so that a calendar client moves it too. https://www.rfc-editor.org/rfc/rfc5545
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta, timezone

from relmgr.model.trains import Train, last_safe_day

_FOLD = 75  # octets a line without its CRLF (section 3.1)


def calendar_text(trains: Iterable[Train], *, name: str, stamp: datetime) -> str:
    """Return the calendar called `name` with CRLF line ends; `stamp` (aware) is when the dates were last revised."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//relmgr//trains//EN", "CALSCALE:GREGORIAN"]
    lines.append(f"X-WR-CALNAME:{_text(name)}")
    for train in trains:
        for event in _events(train, name):
            lines += ["BEGIN:VEVENT", f"DTSTAMP:{_utc(stamp)}", *event, "END:VEVENT"]
    lines.append("END:VCALENDAR")
    return "".join(f"{_fold(line)}\r\n" for line in lines)


def _events(train: Train, name: str) -> Iterator[list[str]]:
    uid = f"{train.name}.{name}.relmgr"
    safe = last_safe_day(train)
    if train.cut and safe and not train.withdrawn:
        why = f"Last day on which databases can still be rebuilt before the cut of {train.name} on {train.cut}."
        yield _day(f"last-safe-day@{uid}", safe, f"{train.name}: last safe day for an ABI change", why)
    if train.cut:
        what = (
            f"{train.name} is cut from {train.base_branch}. Ships: {_ships(train)}. Exceptions: {_who(train.owners)}."
        )
        yield _day(f"cut@{uid}", train.cut, f"{train.name}: branch cut", what)
    count: dict[str, int] = {}
    for window in train.windows:
        number = count[window.phase] = count.get(window.phase, 0) + 1
        what = f"{window.why}\nException: {window.exception}\nAsk: {_who(window.ask)}"
        yield [
            f"UID:{_text(f'freeze-{window.phase}-{number}@{uid}')}",
            f"DTSTART:{_utc(window.start)}",
            f"DTEND:{_utc(window.end)}",
            f"SUMMARY:{_text(f'{train.name}: {window.phase} of ' + ', '.join(window.branches))}",
            f"DESCRIPTION:{_text(what)}",
            "TRANSP:TRANSPARENT",
        ]
    if train.first_tag and train.first_tag.tagged:
        word = "announced" if train.first_tag.announced else "tagged"
        what = f"{train.first_tag.name} is {word}."
        yield _day(f"first-tag@{uid}", train.first_tag.tagged, f"{train.name}: first tag", what)


def _day(uid: str, day: date, summary: str, description: str) -> list[str]:
    return [
        f"UID:{_text(uid)}",
        f"DTSTART;VALUE=DATE:{day:%Y%m%d}",
        f"DTEND;VALUE=DATE:{day + timedelta(days=1):%Y%m%d}",
        f"SUMMARY:{_text(summary)}",
        f"DESCRIPTION:{_text(description)}",
        "TRANSP:TRANSPARENT",
    ]


def _ships(train: Train) -> str:
    return ", ".join(f"{contract} {number}" for contract, number in sorted(train.abi.items())) or "no number declared"


def _who(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "nobody is named"


def _utc(at: datetime) -> str:
    if at.utcoffset() is None:
        raise ValueError("a time without an offset")
    return f"{at.astimezone(timezone.utc):%Y%m%dT%H%M%SZ}"


def _text(value: str) -> str:
    """Return a TEXT value: backslash, semicolon, comma and line ends escaped, other control characters dropped."""
    value = value.replace("\r\n", "\n").replace("\r", "\n")
    kept = "".join(c for c in value if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs"))
    for plain, escaped in (("\\", "\\\\"), (";", "\\;"), (",", "\\,"), ("\n", "\\n")):
        kept = kept.replace(plain, escaped)
    return kept


def _fold(line: str) -> str:
    """Fold a content line at 75 octets, never inside a character; continuation lines start with a blank."""
    parts, room, current = [], _FOLD, b""
    for character in line:
        octets = character.encode()
        if len(current) + len(octets) > room:
            parts.append(current)
            current, room = b"", _FOLD - 1
        current += octets
    return "\r\n ".join(part.decode("utf-8") for part in [*parts, current])
