"""Which waiver touches a verdict, and whether it is in force: it expires by itself, and not everybody's counts."""

from __future__ import annotations

from typing import Any, Literal

from relmgr.model.snapshot import Snapshot
from relmgr.model.times import end_of_day
from relmgr.model.waiver import Waiver

State = Literal["in force", "expired", "not yet given", "not by an owner", "in the change itself"]
_BY_WEIGHT: tuple[State, ...] = ("in force", "expired", "not yet given", "not by an owner", "in the change itself")


def waiver_evidence(snapshot: Snapshot, policy: str) -> dict[str, Any]:
    """Return `{"waiver": {...}}` for the weightiest waiver of this policy and subject, or nothing.

    Where none is in force and not all waivers could be read, `waivers_unread` says why: there may be one.
    """
    touching = [
        (waiver_state(snapshot, waiver), waiver)
        for waiver in snapshot.waivers or ()
        if waiver.policy == policy and waiver.subject.lower() == snapshot.subject.lower()
    ]
    unread = snapshot.gaps.get("waivers")
    gap = {"waivers_unread": unread} if unread else {}
    if not touching:
        return gap
    state, waiver = min(touching, key=lambda pair: (_BY_WEIGHT.index(pair[0]), -pair[1].until.toordinal()))
    found = {"waiver": {"state": state, **waiver.model_dump(mode="json", exclude_none=True)}}
    return found if state == "in force" else found | gap


def waiver_state(snapshot: Snapshot, waiver: Waiver) -> State:
    """Tell whether a waiver is in force at the snapshot's time; `until` is its last whole day in the project's zone.

    Who gives one by a command was judged by the project's settings when the comments were read.
    """
    if waiver.source == "own-change":
        return "in the change itself"
    if waiver.source != "command" and waiver.by.lower() not in {owner.lower() for owner in snapshot.owners}:
        return "not by an owner"
    if snapshot.at >= end_of_day(waiver.until, snapshot.timezone):
        return "expired"
    if waiver.given_at is not None and snapshot.at < waiver.given_at:
        return "not yet given"
    return "in force"
