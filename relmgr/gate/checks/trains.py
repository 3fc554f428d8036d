"""Trains: which number the next one ships, when its databases must be begun, and when a branch is frozen."""

from __future__ import annotations

from datetime import date, datetime

from relmgr.gate.registry import NoParams, Result, check, worst
from relmgr.gate.windows import compare_with_repository
from relmgr.model.base import Noun, Outcome
from relmgr.model.facts import PinMove
from relmgr.model.snapshot import Snapshot
from relmgr.model.times import local_date
from relmgr.model.trains import Train, last_safe_day, next_train_to_cut, windows_at


class Shipping(Noun):
    """A crossing against the train that would take it. `declares` is the number that train says it ships."""

    contract: str
    number: int | None
    train: str | None
    declares: int | None
    cut: date | None
    outcome: Outcome


class ShippingEvidence(Noun):
    """Every crossing with its train, and those that wait or may not."""

    crossings: tuple[Shipping, ...]
    early: tuple[Shipping, ...]


@check("abi-bump-waits-for-cut")
def abi_bump_waits_for_cut(snapshot: Snapshot, params: NoParams) -> Result[ShippingEvidence]:
    """The train that would take the change declares the new number; a lower one must be cut first."""
    seen = tuple(_shipping(snapshot, move) for move in crossings(snapshot))
    outcome = worst(one.outcome for one in seen)
    unread = tuple(
        f"trains: the number of {one.contract} that {one.train or 'the next train'} ships"
        for one in seen
        if one.outcome is Outcome.UNKNOWN
    )
    early = tuple(one for one in seen if one.outcome in (Outcome.PENDING, Outcome.FAILED))
    evidence = ShippingEvidence(crossings=seen, early=early)
    return Result(outcome, evidence, unread if outcome is Outcome.UNKNOWN else ())


def _shipping(snapshot: Snapshot, move: PinMove) -> Shipping:
    train, number = _taking(snapshot), move.abi.new if move.abi else None
    declares = train.abi.get(move.contract or "") if train else None
    outcome = Outcome.UNKNOWN
    if declares is not None and number is not None:
        # On a release branch the train's number stands; on the default branch it is the next train's turn to be cut.
        late = Outcome.FAILED if snapshot.train else Outcome.PENDING
        outcome = Outcome.PASSED if declares >= number else late
    return Shipping(
        contract=move.contract or "",
        number=number,
        train=train.name if train else None,
        declares=declares,
        cut=train.cut if train else None,
        outcome=outcome,
    )


def _taking(snapshot: Snapshot) -> Train | None:
    """Return the train that would take the change: the release branch's own, else the next to be cut from the base."""
    trains = snapshot.trains or ()
    if snapshot.train:
        return next((train for train in trains if train.name == snapshot.train), None)
    return next_train_to_cut(trains, snapshot.base or snapshot.default_branch, snapshot.at)


def crossings(snapshot: Snapshot) -> list[PinMove]:
    """Return the moves whose convention changes."""
    return [m for m in snapshot.pin_moves or () if m.moves and m.abi is not None and m.abi.crossing]


class SafeDay(Noun):
    """How long the databases of a crossing may wait. `last_safe_day` = `cut` - `days`."""

    contract: str
    number: int | None
    train: str | None
    cut: date | None
    days: int | None
    days_from: str
    last_safe_day: date | None


class SafeDayEvidence(Noun):
    """The day at which it is judged, every crossing, and those that come too late."""

    today: date
    crossings: tuple[SafeDay, ...]
    late: tuple[SafeDay, ...]


@check("abi-bump-leaves-time-to-regenerate")
def abi_bump_leaves_time_to_regenerate(snapshot: Snapshot, params: NoParams) -> Result[SafeDayEvidence]:
    """The databases can still be rebuilt before the cut of the first train that ships the new number."""
    today = local_date(snapshot.at, snapshot.timezone)
    seen = tuple(_safe_day(snapshot, move) for move in crossings(snapshot))
    late = tuple(one for one in seen if one.last_safe_day is not None and today > one.last_safe_day)
    unread = tuple(
        f"trains: the last safe day of {one.train or f'a train that ships {one.contract} {one.number}'}"
        for one in seen
        if one.last_safe_day is None
    )
    outcome = Outcome.FAILED if late else Outcome.UNKNOWN if unread else Outcome.PASSED
    evidence = SafeDayEvidence(today=today, crossings=seen, late=late)
    return Result(outcome, evidence, unread if outcome is Outcome.UNKNOWN else ())


def _safe_day(snapshot: Snapshot, move: PinMove) -> SafeDay:
    number = move.abi.new if move.abi else None
    train, rows = _first_shipping(snapshot, move.contract, number), _rows(snapshot)
    days = train.regeneration.days_for(rows) if train and train.regeneration else None
    return SafeDay(
        contract=move.contract or "",
        number=number,
        train=train.name if train else None,
        cut=train.cut if train else None,
        days=days,
        days_from=(train.regeneration.source if train and train.regeneration else "") or "rows and rate of the train",
        last_safe_day=last_safe_day(train, rows) if train else None,
    )


def _first_shipping(snapshot: Snapshot, contract: str | None, number: int | None) -> Train | None:
    """Return the first train, not yet cut from the base, that declares the number or a higher one."""
    if number is None or contract is None:
        return None
    ships = [train for train in snapshot.trains or () if train.abi.get(contract, number - 1) >= number]
    if snapshot.train:
        return next((train for train in ships if train.name == snapshot.train), None)
    return next_train_to_cut(ships, snapshot.base or snapshot.default_branch, snapshot.at)


def _rows(snapshot: Snapshot) -> int | None:
    """Return how many rows need rebuilding; None unless every database was scanned."""
    rows = [database.provider_rows for database in snapshot.databases or ()]
    return None if not rows or None in rows else sum(row for row in rows if row is not None)


class Frozen(Noun):
    """A freeze that holds the base branch: half-open, until `until`."""

    train: str
    phase: str
    until: datetime
    why: str
    exception: str
    ask: tuple[str, ...]
    notes: tuple[str, ...]


class FreezeEvidence(Noun):
    """Every freeze in force on the base branch, the longest first; `note`: calendar against repository (T4)."""

    freezes: tuple[Frozen, ...]
    note: str = ""


@check("freeze")
def freeze(snapshot: Snapshot, params: NoParams) -> Result[FreezeEvidence]:
    """The subject's real base branch is not frozen now (T1-T5)."""
    held = windows_at(snapshot.trains or (), snapshot.repository, snapshot.base or "", snapshot.at)
    frozen = tuple(
        Frozen(
            train=window.train,
            phase=window.phase,
            until=window.end.astimezone(snapshot.timezone),
            why=window.why,
            exception=window.exception,
            ask=window.ask,
            notes=window.notes,
        )
        for window in held
    )
    evidence = FreezeEvidence(freezes=frozen, note=_disagreement(snapshot))
    return Result(Outcome.PENDING if frozen else Outcome.PASSED, evidence)


def _disagreement(snapshot: Snapshot) -> str:
    """Return where the calendar and the repository disagree about the subject's train."""
    state = snapshot.train_state
    train = next((train for train in snapshot.trains or () if state and train.name == state.train), None)
    if state is None or train is None:
        return ""
    found = compare_with_repository(train, state, snapshot.at)
    differ = [
        f"{one.calendar or 'nothing'} in the calendar, {one.found or 'nothing'} in the repository" for one in found
    ]
    return f"about {train.name} they disagree: {'; '.join(differ)}" if differ else ""
