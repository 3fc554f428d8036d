"""T1: aware times, whole days, daylight gaps and overlaps."""

from __future__ import annotations

import contextlib
from datetime import date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from relmgr.errors import UserError
from relmgr.model.times import (
    end_of_day,
    last_instant_before,
    local_date,
    localize,
    parse_date,
    parse_instant,
    resolve_moment,
)

UTC = timezone.utc
LA = ZoneInfo("America/Los_Angeles")
zones = st.sampled_from(sorted(available_timezones())).map(ZoneInfo)
instants = st.datetimes(datetime(1980, 1, 3), datetime(2199, 12, 20), timezones=st.just(UTC))
clocks = st.datetimes(datetime(1980, 1, 3), datetime(2199, 12, 20))


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def start_of(day: date, zone: ZoneInfo) -> datetime:
    return resolve_moment(day.isoformat(), zone).at


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2022-07-12", "2022-07-13T06:59:59.999999"),
        ("2022-12-12", "2022-12-13T07:59:59.999999"),
        ("2022-07-12T09:00:00-07:00", "2022-07-12T16:00:00"),
        ("2022-07-12T09:00-07:00", "2022-07-12T16:00:00"),
        ("2022-07-12 09:00:00-0700", "2022-07-12T16:00:00"),
        ("2022-07-12T09:00:00Z", "2022-07-12T09:00:00"),
        ("2022-07-12T09:00:00.25z", "2022-07-12T09:00:00.250000"),
        ("2022-07-12T09:00 Europe/Berlin", "2022-07-12T07:00:00"),
        ("2022-07-12T23:59:59+14:00", "2022-07-12T09:59:59"),
    ],
)
def test_a_text_names_an_instant(text: str, expected: str) -> None:
    assert parse_instant(text, LA) == utc(expected)


def test_the_written_offset_is_kept() -> None:
    assert parse_instant("2022-09-29T20:44:26-07:00", LA).isoformat() == "2022-09-29T20:44:26-07:00"


@pytest.mark.parametrize("text", ["2022-07-12T09:00:00", "2022-07-12T09:00", "2022-07-12 09:00:00.5"])
def test_t1_a_naive_time_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="has no offset"):
        parse_instant(text, LA)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tomorrow",
        "20220712",
        "2022-7-12",
        "2022-W28-2",
        "2022-02-30",
        "2022-07-12T25:00Z",
        "2022-07-12T09:00+25:00",
        "2022-07-12T09:00+07:99",
        "2022-07-12T09:00 Mars/Olympus",
        "2022-07-12T09:00 ../../etc/passwd",
        "2022-07-12T09:00 America",
        "2022-07-12Z",
        "2022-07-12\n",
        "٢٠٢٢-٠٧-١٢",
        "0001-01-01",
        "9999-12-31",
        "9999-12-31T23:00Z",
    ],
)
def test_anything_else_is_refused_with_a_next_step(text: str) -> None:
    with pytest.raises(UserError) as refused:
        parse_instant(text, LA)
    assert refused.value.next_step


@settings(deadline=None)
@given(st.text(max_size=60))
def test_no_text_crashes_it(text: str) -> None:
    with contextlib.suppress(UserError):
        assert parse_instant(text, LA).utcoffset() is not None


def test_a_calendar_date_is_read_alike_by_every_python() -> None:
    assert parse_date("2022-07-12") == date(2022, 7, 12)
    with pytest.raises(UserError, match="not a calendar date"):
        parse_date("20220712")  # date.fromisoformat takes it from 3.11 on


def test_t1_a_date_is_the_zones_whole_day_also_when_clocks_change() -> None:
    short, long = date(2022, 3, 13), date(2022, 11, 6)
    assert end_of_day(short, LA) - start_of(short, LA) == timedelta(hours=23)
    assert end_of_day(long, LA) - start_of(long, LA) == timedelta(hours=25)


def test_t1_a_gap_becomes_the_next_valid_instant_and_says_so() -> None:
    moment = resolve_moment("2022-03-13T02:30 America/Los_Angeles", LA)
    assert moment.at.isoformat() == "2022-03-13T03:00:00-07:00"
    assert moment.note == (
        "2022-03-13 02:30:00 in America/Los_Angeles does not occur: "
        "taken as the next valid instant, 2022-03-13T03:00:00-07:00"
    )


def test_t1_an_overlap_is_the_earlier_for_a_start_and_the_later_for_an_end() -> None:
    start = resolve_moment("2022-11-06T01:30 America/Los_Angeles", LA)
    end = resolve_moment("2022-11-06T01:30 America/Los_Angeles", LA, end=True)
    assert (start.at.isoformat(), end.at.isoformat()) == ("2022-11-06T01:30:00-07:00", "2022-11-06T01:30:00-08:00")
    assert end.at - start.at == timedelta(hours=1)
    assert start.at < end.at
    assert "occurs twice: taken as the earlier" in start.note
    assert "occurs twice: taken as the later" in end.note


def test_an_ordinary_time_has_no_note() -> None:
    assert resolve_moment("2022-07-12T09:00 America/Los_Angeles", LA).note == ""
    assert resolve_moment("2022-07-12", LA, end=True).note == ""


def test_t1_midnight_in_a_gap() -> None:
    # Sao Paulo went from 00:00 to 01:00 on 2018-11-04: the day before ends where the day begins, at 01:00.
    zone, day = ZoneInfo("America/Sao_Paulo"), date(2018, 11, 4)
    assert start_of(day, zone) == utc("2018-11-04T03:00:00")
    assert parse_instant("2018-11-03", zone) == utc("2018-11-04T02:59:59.999999")
    assert end_of_day(day, zone) - start_of(day, zone) == timedelta(hours=23)


def test_t1_midnight_that_occurs_twice() -> None:
    # St John's went back from 00:01 on the 7th to 23:01 on the 6th: the end of the 6th is the second midnight.
    zone = ZoneInfo("America/St_Johns")
    assert start_of(date(2010, 11, 7), zone) == utc("2010-11-07T02:30:00")
    assert end_of_day(date(2010, 11, 6), zone) == utc("2010-11-07T03:30:00")
    assert parse_instant("2010-11-06", zone) == utc("2010-11-07T03:29:59.999999")


def test_a_day_that_a_zone_skipped_is_empty() -> None:
    apia, day = ZoneInfo("Pacific/Apia"), date(2011, 12, 30)
    assert start_of(day, apia) == end_of_day(day, apia) == start_of(date(2011, 12, 31), apia)


def test_t1_times_are_compared_and_subtracted_as_instants() -> None:
    # Two times of one ZoneInfo compare by their clocks in Python; what this module returns must not.
    first, second = localize(datetime(2022, 11, 6, 1, 45), LA), localize(datetime(2022, 11, 6, 1, 15), LA, later=True)
    assert first < second
    assert second - first == timedelta(minutes=30)


def test_last_instant_before_keeps_the_offset() -> None:
    at = datetime(2022, 11, 6, 0, 0, tzinfo=timezone(timedelta(hours=-7)))
    assert last_instant_before(at).isoformat() == "2022-11-05T23:59:59.999999-07:00"


def test_t1_a_naive_instant_has_no_date() -> None:
    with pytest.raises(ValueError, match="without an offset"):
        local_date(datetime(2022, 7, 12), LA)


@settings(deadline=None)
@given(zones, instants)
@example(ZoneInfo("America/St_Johns"), utc("2010-11-07T03:00:00"))
@example(ZoneInfo("Pacific/Apia"), utc("2011-12-30T10:00:00"))
@example(ZoneInfo("America/Sao_Paulo"), utc("2018-11-04T03:00:00"))
@example(ZoneInfo("Africa/Cairo"), utc("2014-07-31T22:30:00"))
def test_t1_every_instant_lies_in_the_day_that_its_clock_shows(zone: ZoneInfo, at: datetime) -> None:
    day = local_date(at, zone)
    assert start_of(day, zone) <= at < end_of_day(day, zone)


@settings(deadline=None)
@given(zones, instants)
@example(ZoneInfo("America/St_Johns"), utc("2010-11-07T03:00:00"))
def test_t1_days_leave_no_hole(zone: ZoneInfo, at: datetime) -> None:
    day = local_date(at, zone)
    assert start_of(day + timedelta(days=1), zone) <= end_of_day(day, zone)
    assert last_instant_before(end_of_day(day, zone)) < end_of_day(day, zone)


@settings(deadline=None)
@given(zones, clocks, st.booleans())
@example(LA, datetime(2022, 3, 13, 2, 0), False)
@example(LA, datetime(2022, 3, 13, 2, 59, 59, 999999), True)
@example(LA, datetime(2022, 11, 6, 1, 0), True)
@example(ZoneInfo("Australia/Lord_Howe"), datetime(2022, 10, 2, 2, 15), False)
def test_t1_a_clock_time_is_that_instant_or_the_first_after_the_gap(
    zone: ZoneInfo, clock: datetime, later: bool
) -> None:
    at = localize(clock, zone, later=later)
    shown = at.astimezone(zone).replace(tzinfo=None, fold=0)
    if shown == clock:
        return
    before = last_instant_before(at).astimezone(zone).replace(tzinfo=None)
    assert before < clock < shown, "inside a gap: the instant before shows an earlier clock, this one a later"
    assert at.microsecond == 0


@settings(deadline=None)
@given(zones, clocks)
@example(LA, datetime(2022, 11, 6, 1, 30))
def test_t1_the_later_is_never_before_the_earlier(zone: ZoneInfo, clock: datetime) -> None:
    assert localize(clock, zone) <= localize(clock, zone, later=True)
