"""Aware time: instants, whole days and half-open windows, decided once.

All arithmetic is in UTC. A date alone means that whole day in a zone. A local time that a zone skips (daylight gap)
becomes the next valid instant; one that occurs twice (overlap) is the earlier for a start and the later for an end.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

from relmgr.errors import UserError

_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}$")


def parse_instant(text: str, zone: ZoneInfo) -> datetime:
    """Return the instant `text` names: an aware ISO date-time, or a date (its last instant in `zone`).

    Raises `UserError` for anything else; a time of day without an offset is refused as ambiguous.
    """
    if _DATE.match(text):
        return end_of_day(parse_date(text), zone) - timedelta(microseconds=1)
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise UserError(
            f"{text!r} is not a date or date-time", next_step="write 2022-07-12 or 2022-07-12T09:00:00-07:00"
        ) from None
    if moment.tzinfo is None:
        raise UserError(f"{text!r} has no offset", next_step="add one, such as -07:00 or Z, or give a date alone")
    return moment


def parse_date(text: str) -> date:
    """Return the calendar date `text` names (ISO), or raise `UserError`."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UserError(f"{text!r} is not a calendar date", next_step="write it as 2022-07-12") from None


def start_of_day(day: date, zone: ZoneInfo) -> datetime:
    """Return the first instant of `day` in `zone`."""
    return localize(datetime.combine(day, time()), zone)


def end_of_day(day: date, zone: ZoneInfo) -> datetime:
    """Return the first instant after `day` in `zone`: windows are half-open."""
    return start_of_day(day + timedelta(days=1), zone)


def localize(naive: datetime, zone: ZoneInfo, *, later: bool = False) -> datetime:
    """Return the instant of a wall-clock time in `zone`; `later` chooses the second of an overlap.

    A time inside a gap becomes the first valid instant after the gap.
    """
    moment = naive.replace(tzinfo=zone, fold=1 if later else 0)
    back = moment.astimezone(timezone.utc).astimezone(zone)
    if back.replace(tzinfo=None) == naive:
        return moment
    # A gap: before and after it the offsets differ; the first valid instant is the transition itself.
    low = naive.replace(tzinfo=zone, fold=1).astimezone(timezone.utc)
    high = naive.replace(tzinfo=zone, fold=0).astimezone(timezone.utc)
    offset = low.astimezone(zone).utcoffset()
    while high - low > timedelta(microseconds=1):
        middle = low + (high - low) / 2
        if middle.astimezone(zone).utcoffset() == offset:
            low = middle
        else:
            high = middle
    return high.astimezone(zone)
