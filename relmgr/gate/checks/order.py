"""What must merge first: companions, dependencies, events, and sentences that only sound like an order."""

from __future__ import annotations

from datetime import date
from typing import Literal

from relmgr.gate.registry import NoParams, Result, check, worst
from relmgr.model.base import Noun, Outcome
from relmgr.model.facts import Dependency, MergeAfter, Suggestion
from relmgr.model.snapshot import Snapshot
from relmgr.model.times import local_date
from relmgr.model.trains import Train

Standing = Literal["landed", "open", "closed", "elsewhere", "head-not-squash", "merged-later", "unmerged", "unread"]


class Waited(Noun):
    """One pull request that is waited for. `squash` is the commit to pin instead of its head."""

    pull: str
    declared_by: str
    standing: Standing
    base: str | None
    needs: str | None
    squash: str | None = None
    merged_at: date | None = None


class OrderEvidence(Noun):
    """Every pull request that is waited for; `own_merge` is the day the subject itself was merged, if it was."""

    waited: tuple[Waited, ...]
    own_merge: date | None = None


@check("companion-merges-first")
def companion_merges_first(snapshot: Snapshot, params: NoParams) -> Result[OrderEvidence]:
    """Companions, at the other end of a pin, are on the branch that is built against (M6, M7, P12, P13)."""
    return _settle(snapshot, companions=True)


@check("dependencies-merged")
def dependencies_merged(snapshot: Snapshot, params: NoParams) -> Result[OrderEvidence]:
    """Every other declared dependency is on the branch that the subject builds against (M6, M7)."""
    return _settle(snapshot, companions=False)


def _settle(snapshot: Snapshot, *, companions: bool) -> Result[OrderEvidence]:
    found = [d for d in snapshot.dependencies or () if d.companion is companions]
    waited = tuple(_waited(snapshot, dependency) for dependency in found)
    own = snapshot.merged_at.date() if _is_merged(snapshot) and snapshot.merged_at else None
    unread = tuple(f"{w.pull}: whether it is on {w.needs or 'its branch'}" for w in waited if w.standing == "unread")
    outcome = worst(_OUTCOMES[w.standing] for w in waited)
    return Result(outcome, OrderEvidence(waited=waited, own_merge=own), unread if outcome is Outcome.UNKNOWN else ())


def _waited(snapshot: Snapshot, dependency: Dependency) -> Waited:
    return Waited(
        pull=dependency.pull,
        declared_by=dependency.declared_by,
        standing=_standing(snapshot, dependency),
        base=dependency.base,
        needs=dependency.needs,
        squash=dependency.squash,
        merged_at=dependency.merged_at.date() if dependency.merged_at else None,
    )


def _standing(snapshot: Snapshot, dependency: Dependency) -> Standing:
    """ "Merged" is not enough: the commit must be on the branch that is needed, and must have been there first."""
    if dependency.state in ("open", "closed"):
        return "open" if dependency.state == "open" else "closed"
    if dependency.state is None:
        # A pinned head that no branch holds is not merged, whether its pull request is open or closed.
        return "unmerged" if dependency.pinned else "unread"
    if _is_merged(snapshot) and snapshot.merged_at and dependency.merged_at:
        return "merged-later" if dependency.merged_at > snapshot.merged_at else "landed"
    if dependency.pinned and dependency.squash and dependency.squash != dependency.head:
        return "head-not-squash"
    if dependency.landed is None:
        return "unread"
    return "landed" if dependency.landed else "elsewhere"


def _is_merged(snapshot: Snapshot) -> bool:
    return snapshot.merged_at is not None and snapshot.merged_at <= snapshot.at


_OUTCOMES: dict[Standing, Outcome] = {
    "landed": Outcome.PASSED,
    "open": Outcome.PENDING,
    "unmerged": Outcome.PENDING,
    "closed": Outcome.FAILED,
    "elsewhere": Outcome.FAILED,
    "head-not-squash": Outcome.FAILED,
    "merged-later": Outcome.FAILED,
    "unread": Outcome.UNKNOWN,
}


class CycleEvidence(Noun):
    """The cycles through the subject, each as the pull requests in turn."""

    cycles: tuple[tuple[str, ...], ...]


@check("no-dependency-cycle")
def no_dependency_cycle(snapshot: Snapshot, params: NoParams) -> Result[CycleEvidence]:
    """The subject is in no cycle of declared dependencies (M5)."""
    own = tuple(cycle for cycle in snapshot.cycles or () if snapshot.subject in cycle)
    return Result(Outcome.FAILED if own else Outcome.PASSED, CycleEvidence(cycles=own))


class Event(Noun):
    """One declared event. `until` is its day where one is known; `outcome` tells whether it has come."""

    what: str
    declared_by: str
    until: date | None
    outcome: Outcome


class EventEvidence(Noun):
    """Every declared event, and those that are still to come."""

    events: tuple[Event, ...]
    waits: tuple[Event, ...]


@check("merge-after-event")
def merge_after_event(snapshot: Snapshot, params: NoParams) -> Result[EventEvidence]:
    """Every declared event has come: a train's cut, a day, a pin that reached a ref."""
    events = tuple(_event(snapshot, declared) for declared in snapshot.merge_after or ())
    waits = tuple(event for event in events if event.outcome is Outcome.PENDING)
    unread = tuple(f"{e.what}: whether it has come" for e in events if e.outcome is Outcome.UNKNOWN)
    outcome = worst(event.outcome for event in events)
    return Result(outcome, EventEvidence(events=events, waits=waits), unread if outcome is Outcome.UNKNOWN else ())


def _event(snapshot: Snapshot, declared: MergeAfter) -> Event:
    until: date | None = None
    came: bool | None = declared.reached
    if declared.kind == "cut":
        what = f"the cut of {declared.train}"
        train = named_train(snapshot, declared.train)
        until, came = (train.cut, train.is_cut(snapshot.at) or False) if train else (None, None)
    elif declared.kind == "date":
        what, until = f"{declared.day}", declared.day
        came = declared.day is not None and local_date(snapshot.at, snapshot.timezone) >= declared.day
    else:
        what = f"the pin {declared.pin} at {declared.ref} or later"
    outcome = Outcome.UNKNOWN if came is None else Outcome.PASSED if came else Outcome.PENDING
    return Event(what=what, declared_by=declared.declared_by, until=until, outcome=outcome)


def named_train(snapshot: Snapshot, name: str | None) -> Train | None:
    """Return the train called `name`, in full (`rocm-5.3`) or by its exact version (`5.3`, never `5.30`: T7)."""
    trains = snapshot.trains or ()
    exact = [train for train in trains if train.name == name]
    by_version = [train for train in trains if train.version == name]
    return exact[0] if exact else by_version[0] if len(by_version) == 1 else None


class SpokenEvidence(Noun):
    """Sentences that read like an order and declare none."""

    suggestions: tuple[Suggestion, ...]


@check("order-spoken-of")
def order_spoken_of(snapshot: Snapshot, params: NoParams) -> Result[SpokenEvidence]:
    """No sentence speaks of an order that no trailer declares; prose is suggested, never obeyed (M4)."""
    spoken = snapshot.suggestions or ()
    return Result(Outcome.FAILED if spoken else Outcome.PASSED, SpokenEvidence(suggestions=spoken))
