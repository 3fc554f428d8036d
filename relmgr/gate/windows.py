"""Freezes judged, and the calendar compared with the repository. Pure: "now" and both sides are given."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

from relmgr.model.base import Outcome
from relmgr.model.times import local_date
from relmgr.model.trains import Disagreement, Train, TrainState, windows_at


def open_from(trains: Sequence[Train], repository: str, branch: str, at: datetime) -> datetime:
    """Return the first instant from `at` on at which `branch` is not frozen: windows that touch are walked through."""
    moment = at
    while windows := windows_at(trains, repository, branch, moment):
        moment = windows[0].end
    return moment


def compare_with_repository(
    train: Train, state: TrainState, at: datetime, *, consumer: bool = True
) -> tuple[Disagreement, ...]:
    """Return every point in which the calendar and the repository disagree about a train at `at`.

    The calendar's `cut` and `first_tag` are the consumers'. A provider (`consumer` False) has a planned day only under
    `cuts`, and its tags are its own.
    """
    planned = train.cut_of(state.repository, consumer=consumer)
    found = [
        *(_unread(train, state, gap) for gap in state.unread),
        *_branches(train, state, at, planned),
        *(_cut(train, state, at, planned) if consumer or planned else ()),
        *(_tag(train, state, at) if consumer else ()),
    ]
    return tuple(found)


def _unread(train: Train, state: TrainState, gap: str) -> Disagreement:
    return _differ(train, state, "not-read", None, None, gap, Outcome.UNKNOWN)


def _branches(train: Train, state: TrainState, at: datetime, planned: date | None) -> list[Disagreement]:
    day = local_date(at, train.timezone)
    found = []
    if state.also:
        names = ", ".join((state.branch or "", *state.also))
        found.append(_differ(train, state, "several-branches", None, names, "make the train's branch pattern exact"))
    if state.branch and planned and day < planned:
        remedy = "correct the planned cut in the calendar, or say who branched early"
        seen = f"branch {state.branch} exists" + (f" since {state.cut}" if state.cut else "")
        found.append(_differ(train, state, "branch-before-cut", f"cut planned on {planned}", seen, remedy))
    # What is tagged was cut, on a branch that this clone does not have or that is gone.
    absent = state.branch is None and state.first_tag is None and not state.unread
    if absent and planned and day > planned and not train.withdrawn:
        remedy = "cut the branch, fetch it into the clone, or move the planned cut"
        found.append(_differ(train, state, "cut-overdue", f"cut planned on {planned}", "no branch", remedy))
    return found


def _cut(train: Train, state: TrainState, at: datetime, planned: date | None) -> list[Disagreement]:
    if state.cut is None or state.branch is None:
        return []
    if planned is None:
        remedy = "write the cut into the calendar"
        return [_differ(train, state, "cut-not-in-calendar", None, f"cut on {state.cut}", remedy)]
    early = local_date(at, train.timezone) < planned
    if state.cut == planned or early:
        return []
    remedy = f"write cut: {state.cut} into the calendar, or name the right branch"
    return [_differ(train, state, "cut-date-differs", str(planned), str(state.cut), remedy)]


def _tag(train: Train, state: TrainState, at: datetime) -> list[Disagreement]:
    planned = train.first_tag
    day = planned.tagged if planned else None
    today = local_date(at, train.timezone)
    if state.first_tag is None:
        if day is None or day >= today or state.unread:
            return []
        seen = f"only off the branch: {', '.join(state.stray_tags)}" if state.stray_tags else "no release tag"
        remedy = "fetch the tags, or correct the calendar"
        return [_differ(train, state, "tag-missing", f"first tag on {day}", seen, remedy)]
    seen = f"{state.first_tag}" + (f" of {state.tagged.date()}" if state.tagged else " (lightweight, undated)")
    if train.withdrawn:
        return [_differ(train, state, "withdrawn-but-tagged", train.withdrawn, seen, "correct the calendar")]
    if planned is None:
        return [_differ(train, state, "tag-not-in-calendar", None, seen, "write the first tag into the calendar")]
    if planned.name != state.first_tag:
        return [_differ(train, state, "first-tag-differs", planned.name, seen, "correct the calendar's first tag")]
    if day is not None and day > today:
        return [_differ(train, state, "tagged-early", f"first tag on {day}", seen, "correct the calendar's first tag")]
    if state.tagged and day and not planned.announced and not _same_day(state.tagged, day, train):
        return [_differ(train, state, "first-tag-differs", str(day), seen, "correct the calendar's first tag")]
    return _frozen_after_tag(train, state, seen, at)


def _frozen_after_tag(train: Train, state: TrainState, seen: str, at: datetime) -> list[Disagreement]:
    """A freeze of the release branch that still holds although the release is out."""
    branch = state.branch or ""
    holding = [w for w in train.windows if w.concerns(state.repository, branch) and w.contains(at)]
    says = [f"{w.phase} of {branch} until {w.end.isoformat(' ', 'minutes')}" for w in holding]
    return [_differ(train, state, "frozen-after-tag", text, seen, "end the freeze in the calendar") for text in says]


def _same_day(tagged: datetime, day: date, train: Train) -> bool:
    """A tag's day is the tagger's own, or the train's zone's: people write down either."""
    return day in (tagged.date(), local_date(tagged, train.timezone))


def _differ(
    train: Train,
    state: TrainState,
    kind: str,
    calendar: str | None,
    found: str | None,
    remedy: str,
    outcome: Outcome = Outcome.FAILED,
) -> Disagreement:
    return Disagreement(
        kind=kind,
        outcome=outcome,
        train=train.name,
        repository=state.repository,
        calendar=calendar,
        found=found,
        remedy=remedy,
    )
