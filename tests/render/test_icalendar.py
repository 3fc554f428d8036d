"""The iCalendar export, by its text and read back by another library."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relmgr.model.trains import Train
from relmgr.render.icalendar import calendar_text
from tests.support.services import need_module

STAMP = datetime(2022, 7, 1, 9, 0, tzinfo=timezone(timedelta(hours=-7)))
BASE: dict[str, Any] = {
    "name": "rocm-5.4",
    "base_branch": "develop",
    "zone": "America/Los_Angeles",
    "cut": "2022-10-06",
    "abi": {"miir": 6},
    "owners": ["jo"],
    "regeneration": {"days": 35, "source": "observed"},
    "first_tag": {"name": "rocm-5.4.0", "tagged": "2022-11-30"},
}


def freeze(**more: Any) -> dict[str, Any]:
    return {
        "phase": "feature-freeze",
        "starts": "2022-09-19",
        "ends": "2022-10-05",
        "why": "only fixes, no features; see the plan",
        "exception": "comment /exception",
    } | more


def text_of(**more: Any) -> str:
    return calendar_text([Train.model_validate(BASE | more)], name="rocm", stamp=STAMP)


def test_the_whole_text_of_one_train() -> None:
    assert (
        text_of(freezes=[freeze()]).replace("\r\n", "\n")
        == """\
BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//relmgr//trains//EN
CALSCALE:GREGORIAN
X-WR-CALNAME:rocm
BEGIN:VEVENT
DTSTAMP:20220701T160000Z
UID:last-safe-day@rocm-5.4.rocm.relmgr
DTSTART;VALUE=DATE:20220901
DTEND;VALUE=DATE:20220902
SUMMARY:rocm-5.4: last safe day for an ABI change
DESCRIPTION:Last day on which databases can still be rebuilt before the cut
  of rocm-5.4 on 2022-10-06.
TRANSP:TRANSPARENT
END:VEVENT
BEGIN:VEVENT
DTSTAMP:20220701T160000Z
UID:cut@rocm-5.4.rocm.relmgr
DTSTART;VALUE=DATE:20221006
DTEND;VALUE=DATE:20221007
SUMMARY:rocm-5.4: branch cut
DESCRIPTION:rocm-5.4 is cut from develop. Ships: miir 6. Exceptions: jo.
TRANSP:TRANSPARENT
END:VEVENT
BEGIN:VEVENT
DTSTAMP:20220701T160000Z
UID:freeze-feature-freeze-1@rocm-5.4.rocm.relmgr
DTSTART:20220919T070000Z
DTEND:20221006T070000Z
SUMMARY:rocm-5.4: feature-freeze of develop
DESCRIPTION:only fixes\\, no features\\; see the plan\\nException: comment /ex
 ception\\nAsk: jo
TRANSP:TRANSPARENT
END:VEVENT
BEGIN:VEVENT
DTSTAMP:20220701T160000Z
UID:first-tag@rocm-5.4.rocm.relmgr
DTSTART;VALUE=DATE:20221130
DTEND;VALUE=DATE:20221201
SUMMARY:rocm-5.4: first tag
DESCRIPTION:rocm-5.4.0 is tagged.
TRANSP:TRANSPARENT
END:VEVENT
END:VCALENDAR
"""
    )


def test_every_line_ends_in_crlf_and_none_is_longer_than_75_octets() -> None:
    text = text_of(freezes=[freeze(why="né " * 60)])
    assert text.count("\n") == text.count("\r\n")
    assert max(len(line.encode()) for line in text.split("\r\n")) <= 75


def test_the_same_trains_give_the_same_bytes() -> None:
    assert text_of(freezes=[freeze()]) == text_of(freezes=[freeze()])


def test_a_uid_stays_when_the_date_moves() -> None:
    def uids(text: str) -> list[str]:
        return [line for line in text.split("\r\n") if line.startswith("UID:")]

    moved = text_of(cut="2022-10-13", freezes=[freeze(ends="2022-10-12")])
    assert uids(moved) == uids(text_of(freezes=[freeze()]))
    assert len(set(uids(moved))) == 4


def test_two_freezes_of_one_phase_are_two_events() -> None:
    text = text_of(freezes=[freeze(), freeze(starts="2022-11-01", ends="2022-11-02")])
    assert "UID:freeze-feature-freeze-1@" in text
    assert "UID:freeze-feature-freeze-2@" in text


def test_a_text_cannot_start_a_line_of_its_own() -> None:
    text = text_of(freezes=[freeze(why="x\r\nEND:VEVENT\nBEGIN:VALARM\rATTACH:evil\x00\x85")])
    assert "\r\nEND:VEVENT\r\nBEGIN:VALARM" not in text
    assert "\x00" not in text
    assert text.count("BEGIN:VEVENT") == text.count("\r\nEND:VEVENT") == 4


def test_t1_a_naive_stamp_is_refused() -> None:
    with pytest.raises(ValueError, match="without an offset"):
        calendar_text([Train.model_validate(BASE)], name="rocm", stamp=datetime(2022, 7, 1))


def test_a_train_without_dates_has_no_events() -> None:
    bare = Train.model_validate({"name": "rocm-5.4", "base_branch": "develop"})
    assert "VEVENT" not in calendar_text([bare], name="rocm", stamp=STAMP)


def test_another_library_reads_the_same_dates_back() -> None:
    read = need_module("icalendar").Calendar.from_ical(text_of(freezes=[freeze()]))
    events = {str(event["UID"]).split("@")[0]: event for event in read.walk("VEVENT")}
    assert {key: event["DTSTART"].dt for key, event in events.items()} == {
        "last-safe-day": date(2022, 9, 1),
        "cut": date(2022, 10, 6),
        "freeze-feature-freeze-1": datetime(2022, 9, 19, 7, tzinfo=timezone.utc),
        "first-tag": date(2022, 11, 30),
    }
    assert events["freeze-feature-freeze-1"]["DTEND"].dt == datetime(2022, 10, 6, 7, tzinfo=timezone.utc)
    assert events["cut"]["DTEND"].dt == date(2022, 10, 7)
    assert str(events["freeze-feature-freeze-1"]["DESCRIPTION"]) == (
        "only fixes, no features; see the plan\nException: comment /exception\nAsk: jo"
    )


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=200))
def test_any_words_come_back_as_they_were(words: str) -> None:
    text = text_of(freezes=[freeze(why=words)])
    read = need_module("icalendar").Calendar.from_ical(text)
    (event,) = [e for e in read.walk("VEVENT") if str(e["UID"]).startswith("freeze-")]
    assert str(event["DESCRIPTION"]) == f"{words}\nException: comment /exception\nAsk: jo"
    assert max(len(line.encode()) for line in text.split("\r\n")) <= 75
