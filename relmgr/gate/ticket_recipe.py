"""What a rebuild takes: the commands filled in, the days it needs, and the train's day it must be ready by."""

from __future__ import annotations

import re
from datetime import datetime

from relmgr.model.rebuild import WORD, Rebuild, RebuildStep
from relmgr.model.ticket import Deadline, Effort, Recipe, TicketFacts, TicketReason, TicketRows
from relmgr.model.times import local_date
from relmgr.model.trains import Train, last_safe_day

# What may stand in a command unquoted: anything else is written as a dash, so that no name ends a shell word.
_UNSAFE = re.compile(r"[^A-Za-z0-9._/-]")


def fill_recipe(rebuild: Rebuild, facts: TicketFacts, arch: str, reason: TicketReason) -> Recipe:
    """Return the commands with every known word in place; a word left to a person stands as `<WORD>`."""
    number = facts.abi.number if facts.abi else None
    # The newest commit would do as well, and would change the ticket's words with every commit.
    commit = reason.crossings[-1].commit if reason.crossings else facts.commit
    known = {
        "train": facts.train.name,
        "version": facts.train.version,
        "arch": arch,
        "number": "unknown" if number is None else str(number),
        "commit": commit,
        "pin": facts.pin or "unknown",
    }
    words = {name: _UNSAFE.sub("-", text) for name, text in known.items()} | facts.values
    words["label"] = _fill(rebuild.label, words)
    used = {word for step in rebuild.steps for word in WORD.findall(step.command)}
    return Recipe(
        tool=rebuild.tool,
        label=words["label"],
        consumer=facts.consumer,
        commit=commit,
        provider=facts.provider,
        pin=facts.pin,
        version=facts.train.version,
        steps=tuple(RebuildStep(command=_fill(step.command, words), why=step.why) for step in rebuild.steps),
        fill={name: where for name, where in rebuild.fill.items() if name in used and name not in words},
    )


def effort_of(train: Train, rows: TicketRows) -> Effort:
    """Return the days a rebuild takes: as observed, or by the train's rate for the stale rows once all are counted."""
    rate = train.regeneration
    count = rows.stale if not rows.not_scanned else None
    if rate is None:
        return Effort(days=None, rows=count, rows_per_day=None, source=f"{train.name} names neither days nor a rate")
    source = rate.source or f"{rate.rows_per_day:g} rows a day"
    if rate.days is None and count is None:
        source = f"{source}; the rows are not known until every database is scanned"
    return Effort(days=rate.days_for(count), rows=count, rows_per_day=rate.rows_per_day, source=source)


def deadline_of(train: Train, at: datetime, rows: int | None) -> Deadline:
    """Return the next day of the train at `at`: last safe day, else the cut, else the first tag, else none is left.

    `rows` are those to rebuild, None when not known. On the day of the cut the train counts as cut.
    """
    today, safe = local_date(at, train.timezone), last_safe_day(train, rows)
    tagged = train.first_tag.tagged if train.first_tag else None
    days = {"last_safe_day": safe, "cut": train.cut, "first_tag": tagged}
    if train.cut is None:
        return Deadline(kind="not-planned", day=None, **days)
    if today < train.cut:
        if safe is not None and today <= safe:
            return Deadline(kind="last-safe-day", day=safe, **days)
        return Deadline(kind="cut", day=train.cut, **days)
    if tagged is None or today < tagged:
        return Deadline(kind="first-tag", day=tagged, **days)
    return Deadline(kind="next-release", day=None, **days)


def _fill(text: str, words: dict[str, str]) -> str:
    return WORD.sub(lambda match: words.get(match[1], f"<{match[1]}>"), text)
