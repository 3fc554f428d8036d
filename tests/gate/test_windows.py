"""Freezes (T1-T3, T5) and the calendar against the repository (T4)."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from relmgr.gate.windows import compare_with_repository, open_from
from relmgr.model.base import Outcome
from relmgr.model.project import Repository
from relmgr.model.trains import (
    Calendar,
    Train,
    TrainState,
    last_safe_day,
    next_train_to_cut,
    train_of_branch,
    windows_at,
)

PDT = timezone(timedelta(hours=-7))
MIOPEN = Repository(
    slug="ROCm/MIOpen",
    default_branch="develop",
    release_branches=r"^release/rocm-rel-(?P<train>\d+\.\d+)$",
    release_tags=r"^rocm-\d+\.\d+(\.\d+)?$",
)


def freeze(starts: str, ends: str, **more: Any) -> dict[str, Any]:
    return {
        "phase": "feature-freeze",
        "starts": starts,
        "ends": ends,
        "why": "only fixes until the branch is cut",
        "exception": "comment /exception with the failing test",
        "ask": ["vesna"],
    } | more


def train(name: str = "rocm-5.3", **more: Any) -> Train:
    return Train.model_validate(
        {"name": name, "base_branch": "develop", "zone": "America/Los_Angeles", "cut": "2022-08-08"} | more
    )


FROZEN = train(freezes=[freeze("2022-07-25", "2022-08-07")])


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


# -- T1: half-open, whole days --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("when", "is_frozen"),
    [
        ("2022-07-24T23:59:59.999999-07:00", False),
        ("2022-07-25T00:00:00-07:00", True),
        ("2022-08-07T23:59:59.999999-07:00", True),
        ("2022-08-08T00:00:00-07:00", False),
        ("2022-08-08T06:59:59+00:00", True),
    ],
)
def test_t1_a_window_is_half_open_and_its_last_day_counts(when: str, is_frozen: bool) -> None:
    assert bool(windows_at([FROZEN], "miopen", "develop", at(when))) is is_frozen


def test_t1_the_repeated_hour_is_frozen_on_both_sides_and_the_window_says_so() -> None:
    overlap = "2022-11-06T01:30 America/Los_Angeles"
    (window,) = train(freezes=[freeze(overlap, overlap)]).windows
    assert window.contains(at("2022-11-06T01:30:00-07:00"))
    assert window.contains(at("2022-11-06T01:29:59-08:00"))
    assert not window.contains(at("2022-11-06T01:30:00-08:00"))
    assert len(window.notes) == 2


@pytest.mark.parametrize(
    ("starts", "ends", "why"),
    [
        ("2022-08-07", "2022-07-25", "ends before it starts"),
        ("2022-07-25T10:00Z", "2022-07-25T10:00Z", "ends before it starts"),
        ("2022-07-25T10:00:00", "2022-08-01", "has no offset"),
        ("2022-07-25", "soon", "is not a date"),
        ("2022-07-25", "2022-08-01T10:00 Europe/Atlantis", "no known time zone"),
    ],
)
def test_t2_a_window_that_makes_no_sense_is_refused(starts: str, ends: str, why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        train(freezes=[freeze(starts, ends)])


def test_t5_a_freeze_without_anybody_to_ask_is_refused() -> None:
    with pytest.raises(ValidationError, match="names nobody to ask"):
        train(freezes=[freeze("2022-07-25", "2022-08-07", ask=[])])
    assert train(freezes=[freeze("2022-07-25", "2022-08-07", ask=[])], owners=["jo"]).windows[0].ask == ("jo",)


# -- which freeze ---------------------------------------------------------------------------------------------------


def test_t5_each_phase_has_its_own_text_and_the_longest_comes_first() -> None:
    two = train(
        freezes=[
            freeze("2022-07-25", "2022-08-07"),
            freeze("2022-08-01", "2022-08-03", phase="code-freeze", why="release candidates are built", ask=["jo"]),
        ]
    )
    held = windows_at([two], "miopen", "develop", at("2022-08-02T09:00:00-07:00"))
    assert [(window.phase, window.why) for window in held] == [
        ("feature-freeze", "only fixes until the branch is cut"),
        ("code-freeze", "release candidates are built"),
    ]


@pytest.mark.parametrize("branch", ["release/rocm-rel-5.3", "develop2", "Develop", "origin/develop"])
def test_t3_a_freeze_holds_the_real_base_branch_and_no_other(branch: str) -> None:
    assert not windows_at([FROZEN], "miopen", branch, at("2022-08-01T09:00:00-07:00"))


def test_a_freeze_can_name_repositories_and_branches() -> None:
    mine = train(freezes=[freeze("2022-07-25", "2022-08-07", repositories=["rocmlir"], branches=["release/rocm-5.3"])])
    when = at("2022-08-01T09:00:00-07:00")
    assert windows_at([mine], "rocmlir", "release/rocm-5.3", when)
    assert not windows_at([mine], "miopen", "release/rocm-5.3", when)
    assert not windows_at([mine], "rocmlir", "develop", when)


# -- property: every instant is inside exactly the windows that say so ------------------------------------------------

spans = st.lists(
    st.tuples(st.integers(0, 200), st.integers(1, 60), st.sampled_from(["develop", "mainline"])), max_size=6
)
EPOCH = datetime(2022, 1, 1, tzinfo=timezone.utc)


@settings(deadline=None)
@given(spans, st.integers(-5, 270), st.sampled_from(["develop", "mainline", "other"]))
def test_t1_an_instant_is_in_exactly_the_windows_that_say_so(
    made: list[tuple[int, int, str]], hour: int, branch: str
) -> None:
    freezes = [
        freeze(
            (EPOCH + timedelta(hours=start)).isoformat(),
            (EPOCH + timedelta(hours=start + length)).astimezone(PDT).isoformat(),
            phase=f"p{number}",
            branches=[name],
        )
        for number, (start, length, name) in enumerate(made)
    ]
    trains, when = [train(freezes=freezes)], EPOCH + timedelta(hours=hour)
    expected = {
        f"p{number}"
        for number, (start, length, name) in enumerate(made)
        if name == branch and hour in range(start, start + length)
    }
    assert {window.phase for window in windows_at(trains, "miopen", branch, when)} == expected
    opens = next(
        h for h in range(hour, 300) if not any(n == branch and h in range(s, s + length) for s, length, n in made)
    )
    assert open_from(trains, "miopen", branch, when) == EPOCH + timedelta(hours=opens)


# -- trains ---------------------------------------------------------------------------------------------------------


def three() -> tuple[Train, ...]:
    return (train("rocm-5.3"), train("rocm-5.4", cut="2022-10-06"), train("rocm-5.5", cut="2023-01-31"))


@pytest.mark.parametrize(
    ("when", "name"),
    [
        ("2022-08-05T23:59:59-07:00", "rocm-5.3"),
        ("2022-08-07T23:59:59-07:00", "rocm-5.3"),
        ("2022-08-08T06:59:59+00:00", "rocm-5.3"),
        ("2022-08-08T00:00:00-07:00", "rocm-5.4"),
        ("2022-09-29T23:59:59-07:00", "rocm-5.4"),
        ("2023-02-01T12:00:00-08:00", None),
    ],
)
def test_the_next_train_to_be_cut(when: str, name: str | None) -> None:
    found = next_train_to_cut(three(), "develop", at(when))
    assert (found.name if found else None) == name
    assert next_train_to_cut(three(), "mainline", at(when)) is None


def test_an_undated_train_is_not_skipped_for_a_later_one() -> None:
    trains = (train("rocm-5.3", cut=None), train("rocm-5.4", cut="2022-10-06"))
    found = next_train_to_cut(trains, "develop", at("2022-08-01T00:00:00+00:00"))
    assert found is not None
    assert (found.name, found.cut) == ("rocm-5.3", None)


def test_a_withdrawn_train_is_not_waited_for() -> None:
    trains = (train("rocm-4.4", cut="2021-07-05", withdrawn="never tagged"), train("rocm-4.5", cut="2021-08-28"))
    found = next_train_to_cut(trains, "develop", at("2021-06-01T00:00:00+00:00"))
    assert found is not None
    assert found.name == "rocm-4.5"


@pytest.mark.parametrize(
    ("branch", "name"),
    [
        ("release/rocm-rel-5.1", "rocm-5.1"),
        ("release/rocm-rel-5.14", "rocm-5.14"),
        ("release/rocm-rel-5.1-staging", None),
        ("release/rocm-rel-5.1.4.1", None),
        ("xrelease/rocm-rel-5.1", None),
        ("release/rocm-rel-5.1\n", None),
        ("6.3", "rocm-6.3"),
        ("6x3", None),
        ("6.3.0.1", None),
        ("6.3-staging", None),
        ("release/rocm-rel-6.3", None),
    ],
)
def test_t7_a_branch_belongs_to_exactly_its_version(branch: str, name: str | None) -> None:
    trains = (train("rocm-5.1"), train("rocm-5.14"), train("rocm-6.3", branches={"miopen": r"6\.3"}))
    found = train_of_branch(trains, "miopen", MIOPEN, branch)
    assert (found.name if found else None) == name


@pytest.mark.parametrize(
    ("tag", "is_its"),
    [
        ("rocm-5.1", True),
        ("rocm-5.1.0", True),
        ("rocm-5.1.3", True),
        ("rocm-5.14.0", False),
        ("rocm-5.10", False),
        ("rocm-15.1", False),
        ("v5.1.0", False),
        ("rocm-5.1.0-rc1", False),
    ],
)
def test_t7_a_tag_belongs_to_exactly_its_version(tag: str, is_its: bool) -> None:
    assert train("rocm-5.1").names_tag(MIOPEN, tag) is is_its


def test_versions_sort_as_numbers() -> None:
    assert train("rocm-5.10").order > train("rocm-5.9").order


def test_the_last_safe_day_is_the_cut_minus_the_days_needed() -> None:
    days = train("rocm-5.4", cut="2022-10-06", regeneration={"days": 35, "source": "observed in 2022"})
    rate = train("rocm-5.4", cut="2022-10-06", regeneration={"rows_per_day": 1000})
    assert last_safe_day(days) == date(2022, 9, 1)
    assert last_safe_day(rate, rows=2001) == date(2022, 10, 3)
    assert last_safe_day(rate) is None, "a rate without rows: unknown"
    assert last_safe_day(rate, rows=10**12) == date.min, "never"
    assert last_safe_day(train(regeneration=None)) is None
    assert last_safe_day(train(cut=None, regeneration={"days": 35, "source": "s"})) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"days": 3},
        {"days": 3, "source": "s", "rows_per_day": 4},
        {"rows_per_day": 0},
        {"rows_per_day": float("nan")},
    ],
)
def test_a_regeneration_time_is_days_with_a_source_or_a_rate(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        train(regeneration=wrong)


def test_a_calendar_lays_its_defaults_under_each_train() -> None:
    calendar = Calendar.model_validate(
        {
            "defaults": {"base_branch": "develop", "zone": "America/Los_Angeles", "owners": ["jo"]},
            "trains": [{"name": "rocm-5.3"}, {"name": "rocm-5.4", "base_branch": "mainline", "owners": ["vesna"]}],
        }
    )
    assert [(t.base_branch, t.zone, t.owners) for t in calendar.trains] == [
        ("develop", "America/Los_Angeles", ("jo",)),
        ("mainline", "America/Los_Angeles", ("vesna",)),
    ]
    assert Calendar.model_validate_json(calendar.model_dump_json()) == calendar


def test_a_train_is_found_by_its_name_or_its_number_alone() -> None:
    calendar = Calendar(trains=(train("rocm-5.3"), train("rocm-5.4"), train("therock-5.4")))
    assert calendar.train("5.3") == calendar.train("rocm-5.3") == train("rocm-5.3")
    assert calendar.train("5.4") is None, "two trains have that number"
    assert calendar.train("rocm-5") is None


def test_a_train_listed_twice_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"listed twice: rocm-5\.3"):
        Calendar(trains=(train("rocm-5.3"), train("rocm-5.3")))


# -- T4: the calendar against the repository ------------------------------------------------------------------------

CUT = TrainState(
    train="rocm-5.3",
    repository="miopen",
    branch="release/rocm-rel-5.3",
    cut_commit="a" * 40,
    cut_at=at("2022-08-08T00:03:46-07:00"),
)
TAGGED = CUT.model_copy(
    update={"first_tag": "rocm-5.3.0", "tag_dated": True, "tagged": at("2022-09-30T17:19:33+00:00")}
)
NOTHING = TrainState(train="rocm-5.3", repository="miopen")
FIRST = {"name": "rocm-5.3.0", "tagged": "2022-09-30"}
LATER, BEFORE = at("2022-12-01T12:00:00-08:00"), at("2022-08-01T12:00:00-07:00")


def kinds(made: Train, state: TrainState, when: datetime) -> list[str]:
    return [found.kind for found in compare_with_repository(made, state, when)]


@pytest.mark.parametrize(
    ("made", "state", "when", "expected"),
    [
        (train(first_tag=FIRST), TAGGED, LATER, []),
        (train(), NOTHING, BEFORE, []),
        (train(), NOTHING, at("2022-08-08T12:00:00-07:00"), []),
        (train(), NOTHING, at("2022-08-09T12:00:00-07:00"), ["cut-overdue"]),
        (train(first_tag=FIRST), TAGGED.model_copy(update={"branch": None, "cut_at": None}), LATER, []),
        (train(withdrawn="given up"), NOTHING, LATER, []),
        (train(cut="2022-08-10"), CUT, LATER, ["cut-date-differs"]),
        (train(cut="2022-08-05"), CUT, LATER, ["cut-date-differs"]),
        (train(cut="2022-08-10"), CUT, at("2022-08-10T12:00:00-07:00"), ["cut-date-differs"]),
        (train(cut="2022-08-10"), CUT.model_copy(update={"cut_at": None}), LATER, []),
        (train(cut=None), CUT, LATER, ["cut-not-in-calendar"]),
        (train(), CUT, BEFORE, ["branch-before-cut"]),
        (train(), CUT, at("2022-08-08T12:00:00-07:00"), []),
        (train(cut="2023-01-01"), CUT, LATER, ["branch-before-cut"]),
        (train(), TAGGED, LATER, ["tag-not-in-calendar"]),
        (train(first_tag=FIRST), CUT, LATER, ["tag-missing"]),
        (train(first_tag=FIRST), CUT, at("2022-09-01T12:00:00-07:00"), []),
        (train(first_tag=FIRST), CUT, at("2022-09-30T12:00:00-07:00"), []),
        (train(first_tag=FIRST | {"name": "rocm-5.3"}), TAGGED, LATER, ["first-tag-differs"]),
        (train(first_tag=FIRST | {"name": "rocm-5.3.1"}), TAGGED, LATER, ["first-tag-differs"]),
        (train(first_tag=FIRST), TAGGED, at("2022-09-30T12:00:00-07:00"), []),
        (train(first_tag=FIRST | {"tagged": "2022-10-05"}), TAGGED, LATER, ["first-tag-differs"]),
        (train(first_tag=FIRST | {"tagged": "2022-10-05", "announced": True}), TAGGED, LATER, []),
        (train(first_tag=FIRST | {"tagged": "2023-01-05"}), TAGGED, LATER, ["tagged-early"]),
        (train(first_tag={"name": "rocm-5.3.0"}), TAGGED, LATER, []),
        (train(withdrawn="given up"), TAGGED, LATER, ["withdrawn-but-tagged"]),
        (train(), CUT.model_copy(update={"also": ("release/rocm-rel-5.3b",)}), LATER, ["several-branches"]),
    ],
)
def test_t4_a_disagreement_has_a_name(made: Train, state: TrainState, when: datetime, expected: list[str]) -> None:
    assert kinds(made, state, when) == expected


def test_t4_a_release_branch_still_frozen_after_its_first_tag() -> None:
    code = freeze("2022-08-08", "2022-12-31", phase="code-freeze", branches=["release/rocm-rel-5.3"])
    (found,) = compare_with_repository(train(first_tag=FIRST, freezes=[code]), TAGGED, LATER)
    assert (found.kind, found.found) == ("frozen-after-tag", "rocm-5.3.0 of 2022-09-30")
    assert found.calendar == "code-freeze of release/rocm-rel-5.3 until 2023-01-01 00:00-08:00"


def test_t4_a_freeze_that_is_over_or_of_another_branch_is_no_disagreement() -> None:
    over = freeze("2022-08-08", "2022-11-30", phase="code-freeze", branches=["release/rocm-rel-5.3"])
    elsewhere = freeze("2022-08-08", "2022-12-31", phase="code-freeze", branches=["release/rocm-rel-5.2"])
    assert kinds(train(first_tag=FIRST, freezes=[over, elsewhere]), TAGGED, LATER) == []


def test_t4_every_branch_that_could_be_the_trains_is_named() -> None:
    (found,) = compare_with_repository(train(), CUT.model_copy(update={"also": ("release/rocm-rel-5.3b",)}), LATER)
    assert found.found == "release/rocm-rel-5.3, release/rocm-rel-5.3b"


def test_t4_a_branch_before_its_day_says_since_when_where_that_is_known() -> None:
    (found,) = compare_with_repository(train(), CUT, BEFORE)
    assert found.found == "branch release/rocm-rel-5.3 exists since 2022-08-08"
    (found,) = compare_with_repository(train(), CUT.model_copy(update={"cut_at": None}), BEFORE)
    assert found.found == "branch release/rocm-rel-5.3 exists"


def test_t4_tags_that_stand_off_the_branch_are_named() -> None:
    (found,) = compare_with_repository(train(first_tag=FIRST), CUT, LATER)
    assert (found.kind, found.found) == ("tag-missing", "no release tag")
    stray = CUT.model_copy(update={"stray_tags": ("rocm-5.3.0", "rocm-5.3.1")})
    (found,) = compare_with_repository(train(first_tag=FIRST), stray, LATER)
    assert (found.kind, found.found) == ("tag-missing", "only off the branch: rocm-5.3.0, rocm-5.3.1")


def test_t4_what_was_not_read_is_unknown_and_no_other_finding() -> None:
    state = NOTHING.model_copy(update={"unread": ("a shallow clone",)})
    (found,) = compare_with_repository(train(first_tag=FIRST), state, LATER)
    assert (found.kind, found.outcome, found.remedy) == ("not-read", Outcome.UNKNOWN, "a shallow clone")


def test_t4_the_words_name_both_sides_and_the_remedy() -> None:
    (found,) = compare_with_repository(train(cut="2022-08-10"), CUT, LATER)
    assert (found.calendar, found.found) == ("2022-08-10", "2022-08-08")
    assert found.remedy == "write cut: 2022-08-08 into the calendar, or name the right branch"


def test_t4_a_provider_is_cut_on_its_own_day_and_tagged_on_its_own() -> None:
    theirs = TAGGED.model_copy(update={"repository": "rocmlir", "cut_at": at("2022-08-01T12:00:00-07:00")})
    assert compare_with_repository(train(first_tag=FIRST), theirs, BEFORE, consumer=False) == ()
    assert [f.kind for f in compare_with_repository(train(first_tag=FIRST), theirs, LATER)] == ["cut-date-differs"]
    (found,) = compare_with_repository(train(cuts={"rocmlir": "2022-08-02"}), theirs, LATER, consumer=False)
    assert (found.kind, found.calendar, found.found) == ("cut-date-differs", "2022-08-02", "2022-08-01")
    missing = NOTHING.model_copy(update={"repository": "rocmlir"})
    (late,) = compare_with_repository(train(cuts={"rocmlir": "2022-08-02"}), missing, LATER, consumer=False)
    assert late.kind == "cut-overdue"
