"""`relmgr train`: the calendar beside what the clones say."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path

from relmgr.errors import UserError
from relmgr.gate.windows import compare_with_repository, open_from
from relmgr.model.project import Project
from relmgr.model.trains import Calendar, Train, TrainRow, TrainShow, TrainState, last_safe_day, windows_at
from relmgr.render.icalendar import calendar_text
from relmgr.sources.git.clone import Clone
from relmgr.sources.trains import read_calendar, read_train_state, shipped_calendar


def list_trains(project: Project, calendar: Calendar, at: datetime | None = None) -> list[TrainRow]:
    """Return every train of the calendar, compared with the clones at hand."""
    clones = clones_at_hand(project)
    return [TrainRow(**_row(project, train, read_states(project, clones, train, at), at)) for train in calendar.trains]


def show_train(project: Project, calendar: Calendar, name: str, at: datetime | None = None) -> TrainShow:
    """Return everything about one train as of `at`."""
    train, now = named_train(calendar, name), at or datetime.now(timezone.utc)
    states = read_states(project, clones_at_hand(project), train, at)
    consumer = project.pin().consumer
    frozen = windows_at(calendar.trains, consumer, train.base_branch, now)
    return TrainShow(
        **_row(project, train, states, at),
        at=now,
        zone=train.zone,
        regeneration=train.regeneration,
        owners=train.owners or project.owners,
        windows=train.windows,
        frozen=frozen,
        open_from=open_from(calendar.trains, consumer, train.base_branch, now) if frozen else None,
        states=states,
    )


def trains_as_icalendar(
    project: Project, calendar: Calendar, names: tuple[str, ...], stamp: datetime | None, file: Path | None
) -> str:
    """Return the trains (all, or those named) as iCalendar; the stamp is `stamp`, else when the file last changed."""
    trains = [named_train(calendar, name) for name in names] or list(calendar.trains)
    changed = datetime.fromtimestamp((file or shipped_calendar()).stat().st_mtime, timezone.utc)
    return calendar_text(trains, name=project.name, stamp=stamp or changed)


def named_train(calendar: Calendar, name: str) -> Train:
    """Return the train called `name` (`rocm-5.3`, or `5.3`), or raise `UserError` with the known names."""
    train = calendar.train(name)
    if train is None:
        known = ", ".join(train.name for train in calendar.trains)
        next_step = f"use one of: {known}" if known else "write the train into the calendar: it holds none"
        raise UserError(f"no train {name!r} in the calendar", next_step=next_step)
    return train


def calendar_of(file: Path | None) -> Calendar:
    """Return the calendar in `file`, which the project's `trains` or `--trains` named."""
    if file is None:
        raise UserError("the project names no calendar", next_step="set `trains` in the project, or give --trains FILE")
    return read_calendar(file)


def clones_at_hand(project: Project) -> dict[str, Clone]:
    """Open the clone of every repository that has a path; `SourceError` for a path that is none."""
    return {
        name: Clone.open(repository.path)
        for name, repository in project.repositories.items()
        if repository.path is not None
    }


def read_states(
    project: Project, clones: Mapping[str, Clone], train: Train, at: datetime | None
) -> tuple[TrainState, ...]:
    """Return what each clone says about a train."""
    return tuple(read_train_state(clone, name, project.repositories[name], train, at) for name, clone in clones.items())


def _row(project: Project, train: Train, states: tuple[TrainState, ...], at: datetime | None) -> dict[str, object]:
    now = at or datetime.now(timezone.utc)
    consumer = next((state for state in states if state.repository == project.pin().consumer), None)
    tag, consumers = train.first_tag, {pin.consumer for pin in project.pins}
    return {
        "train": train.name,
        "base_branch": train.base_branch,
        "planned_cut": train.cut_of(project.pin().consumer),
        "last_safe_day": last_safe_day(train),
        "cut": consumer.cut if consumer else None,
        "branch": consumer.branch if consumer else None,
        "first_tag": (consumer.first_tag if consumer else None) or (tag.name if tag else None),
        "tagged": consumer.tagged.date() if consumer and consumer.tagged else tag.tagged if tag else None,
        "announced": bool(tag and tag.announced and not (consumer and consumer.tagged)),
        "abi": train.abi,
        "withdrawn": train.withdrawn,
        "disagreements": tuple(
            found
            for state in states
            for found in compare_with_repository(train, state, now, consumer=state.repository in consumers)
        ),
    }
