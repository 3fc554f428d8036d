"""Aware time: instants, whole days and half-open windows, decided once.

All arithmetic is in UTC. A date alone means that whole day in a zone. A local time that a zone skips (daylight gap)
becomes the next valid instant; one that occurs twice (overlap) is the earlier for a start and the later for an end.

What is returned carries a fixed offset, never a zone: Python compares and subtracts two times of one zone by their
clocks, which is wrong wherever the clocks changed in between.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

from relmgr.errors import UserError

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_CLOCK = r"\d{4}-\d{2}-\d{2}[T ](?:[01]\d|2[0-3]):[0-5]\d(?::\d{2}(?:[.,]\d{1,6})?)?"
_AWARE = re.compile(rf"(?P<clock>{_CLOCK})(?P<offset>[Zz]|[+-]\d{{2}}:?\d{{2}})", re.ASCII)
_ZONED = re.compile(rf"(?P<clock>{_CLOCK}) (?P<zone>[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*)", re.ASCII)
_NAIVE = re.compile(_CLOCK, re.ASCII)
# Before, offsets have seconds; after, zones are guesses. Both would be no date of a release anyway.
_YEARS = range(1980, 2200)

_EXAMPLES = "write 2022-07-12, 2022-07-12T09:00:00-07:00 or 2022-07-12T09:00 America/Los_Angeles"


@dataclass(frozen=True)
class Moment:
    """An instant (aware) and, where a change of clocks had to be decided, what was decided."""

    at: datetime
    note: str = ""


def parse_instant(text: str, zone: ZoneInfo) -> datetime:
    """Return the instant `text` names: an aware date-time, a time with a zone name, or a date (its last instant).

    Raises `UserError` for anything else; a time of day without offset or zone is refused as ambiguous.
    """
    moment = resolve_moment(text, zone, end=True).at
    return last_instant_before(moment) if _DATE.fullmatch(text) else moment


def resolve_moment(text: str, zone: ZoneInfo, *, end: bool = False) -> Moment:
    """Return the boundary of a half-open window that `text` names: a start, or with `end` the first instant after it.

    A date is that whole day in `zone`: its first instant as a start, the first instant after it as an end. Raises
    `UserError` for what is no date or date-time, and for a time of day without offset or zone.
    """
    if _DATE.fullmatch(text):
        day = parse_date(text)
        return _localize(_midnight(day + timedelta(days=1) if end else day), zone, later=end)
    if aware := _AWARE.fullmatch(text):
        return Moment(_clock(aware["clock"], text).replace(tzinfo=_offset(aware["offset"], text)))
    if zoned := _ZONED.fullmatch(text):
        return _localize(_clock(zoned["clock"], text), _zone(zoned["zone"], text), later=end)
    if _NAIVE.fullmatch(text):
        raise UserError(f"{text!r} has no offset", next_step="add one, such as -07:00 or Z, or give a date alone")
    raise UserError(f"{text!r} is not a date or date-time", next_step=_EXAMPLES)


def check_moment(text: str) -> str:
    """Return `text` when `resolve_moment` understands it, else raise `ValueError` (for use in validators)."""
    try:
        resolve_moment(text, ZoneInfo("UTC"))
    except UserError as error:
        raise ValueError(f"{error.what}; {error.next_step}") from None
    return text


def parse_date(text: str) -> date:
    """Return the calendar date `text` names (YYYY-MM-DD), or raise `UserError`."""
    try:
        if not _DATE.fullmatch(text):
            raise ValueError
        day = date.fromisoformat(text)
    except ValueError:
        raise UserError(f"{text!r} is not a calendar date", next_step="write it as 2022-07-12") from None
    if day.year not in _YEARS:
        raise UserError(f"{text!r} lies outside the years {_YEARS.start} to {_YEARS.stop - 1}", next_step="correct it")
    return day


def local_date(at: datetime, zone: ZoneInfo) -> date:
    """Return the calendar date of an instant in `zone`; a naive `at` is refused."""
    if at.utcoffset() is None:
        raise ValueError("a time without an offset")
    return at.astimezone(zone).date()


def end_of_day(day: date, zone: ZoneInfo) -> datetime:
    """Return the first instant after `day` in `zone`: windows are half-open.

    Where midnight occurs twice it is the later one, so that all of the day lies before it. For a day that the zone
    skipped it is the same instant as the day's start.
    """
    return localize(_midnight(day + timedelta(days=1)), zone, later=True)


def last_instant_before(at: datetime) -> datetime:
    """Return the last instant (microsecond) before `at`, with its offset."""
    return (at.astimezone(timezone.utc) - timedelta(microseconds=1)).astimezone(timezone(at.utcoffset() or timedelta()))


def localize(naive: datetime, zone: ZoneInfo, *, later: bool = False) -> datetime:
    """Return the instant of a wall-clock time in `zone`; `later` chooses the second of an overlap.

    A time inside a gap becomes the first valid instant after the gap.
    """
    return _localize(naive, zone, later=later).at


def _localize(naive: datetime, zone: ZoneInfo, *, later: bool) -> Moment:
    first, second = (naive.replace(tzinfo=zone, fold=fold).astimezone(timezone.utc) for fold in (0, 1))
    if first == second:
        return Moment(_in_zone(first, zone))
    clock = f"{naive.isoformat(sep=' ')} in {zone.key}"
    if first < second:
        chosen = _in_zone(second if later else first, zone)
        which = "later" if later else "earlier"
        return Moment(chosen, f"{clock} occurs twice: taken as the {which}, {chosen.isoformat()}")
    valid = _in_zone(_transition(second, first, zone), zone)
    return Moment(valid, f"{clock} does not occur: taken as the next valid instant, {valid.isoformat()}")


def _transition(low: datetime, high: datetime, zone: ZoneInfo) -> datetime:
    """Return the first instant (whole second, UTC) after `low` and up to `high` with the clock of `high`."""
    offset = low.astimezone(zone).utcoffset()
    seconds = [int(low.timestamp()), int(-(-high.timestamp() // 1))]
    while seconds[1] - seconds[0] > 1:
        middle = (seconds[0] + seconds[1]) // 2
        same = datetime.fromtimestamp(middle, timezone.utc).astimezone(zone).utcoffset() == offset
        seconds[0 if same else 1] = middle
    return datetime.fromtimestamp(seconds[1], timezone.utc)


def _in_zone(at: datetime, zone: ZoneInfo) -> datetime:
    """Return the instant with the offset that `zone` has then, as a fixed offset."""
    return at.astimezone(timezone(at.astimezone(zone).utcoffset() or timedelta()))


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time())


def _clock(text: str, whole: str) -> datetime:
    """Return the naive wall-clock time in `text`; `whole` is what the person wrote."""
    day, rest = parse_date(text[:10]), text[11:].replace(",", ".")
    if "." in rest:
        rest = f"{rest.partition('.')[0]}.{rest.partition('.')[2]:0<6}"
    try:
        return datetime.combine(day, time.fromisoformat(rest))
    except ValueError:
        raise UserError(f"{whole!r} is not a time of day", next_step=_EXAMPLES) from None


def _offset(text: str, whole: str) -> timezone:
    if text in "Zz":
        return timezone.utc
    hours, minutes = int(text[1:3]), int(text[-2:])
    if hours > 23 or minutes > 59:
        raise UserError(f"{whole!r} has no valid offset", next_step=_EXAMPLES)
    delta = timedelta(hours=hours, minutes=minutes)
    return timezone(-delta if text[0] == "-" else delta)


def _zone(name: str, whole: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except Exception:
        raise UserError(
            f"{whole!r} names no known time zone", next_step="use one such as America/Los_Angeles"
        ) from None
