"""May a stored cut still be made? Pure: the plan, what stands now, and the time. (T6)"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from relmgr.gate.windows import compare_with_repository
from relmgr.model.checklist import CutFacts, CutPlan, PinAtCut
from relmgr.model.cut_apply import PlaceSeen, StoredCut


def is_made(seen: Sequence[PlaceSeen]) -> bool:
    """Tell whether every branch of the plan stands where the plan wants it."""
    return all(place.is_made for place in seen)


def is_half_done(seen: Sequence[PlaceSeen]) -> bool:
    """Tell whether a run of this very plan broke off."""
    return any(place.ours for place in seen) and not is_made(seen)


def why_refused(
    plan: StoredCut, seen: Sequence[PlaceSeen], now: datetime, max_age: timedelta, *, finishing: bool = False
) -> tuple[str, ...]:
    """Return why the plan must not be applied as things stand; nothing when it may.

    `finishing` a half-done cut forgives what time alone brings: an old plan, a base that moved on.
    """
    problems = [f"open: {item.text}{f' ({item.evidence})' if item.evidence else ''}" for item in plan.blocking]
    if not finishing:
        problems += _aged(plan, now, max_age)
        problems += [problem for place in seen if (problem := _moved(place))]
    # A cut that stands whole in the clones was made from here before, and is now to be pushed.
    here = [place for place in seen if place.remote is None]
    fresh = [place for place in seen if place not in here] if is_made(here) else seen
    problems += [problem for place in fresh if (problem := _in_the_way(place))]
    return tuple(problems)


def _aged(plan: StoredCut, now: datetime, max_age: timedelta) -> list[str]:
    age = now - plan.taken_at
    if age < -timedelta(minutes=5):
        return [
            f"the plan was taken at {plan.taken_at.isoformat()}, which is yet to come: is this machine's clock right?"
        ]
    if age > max_age:
        hours, most = age.total_seconds() / 3600, max_age.total_seconds() / 3600
        return [f"the plan is {hours:.0f} hours old, more than {most:g}"]
    return []


def _moved(place: PlaceSeen) -> str | None:
    """Tell whether the base is no longer where the plan saw it."""
    if place.base_now == place.cut.tip:
        return None
    base = place.cut.base.split("/", 2)[2]
    stands = f"is at {place.base_now[:12]}" if place.base_now else "is gone"
    return f"{place.where}: {base} {stands}, the plan saw {place.cut.tip[:12]}"


def _in_the_way(place: PlaceSeen) -> str | None:
    """Tell whether a branch appeared that this plan did not make."""
    cut = place.cut
    if cut.exists:
        return None
    if place.now is not None and not (place.ours and place.now == cut.commit):
        return f"{place.where}: {cut.branch} appeared, at {place.now[:12]}"
    if place.elsewhere and not place.ours:
        return f"{place.where}: {cut.branch} is already there as {', '.join(place.elsewhere)}"
    return None


def settled_by_cut(facts: CutFacts, plan: CutPlan, on_cut: Sequence[PinAtCut]) -> frozenset[str]:
    """Return the open items that making all branches of the plan settles by itself.

    That is a provider's branch that its consumer waits for, a pin whose commit will be on it (`on_cut`), and a calendar
    that only complains that the cut is overdue.
    """
    # A step waits for no branch but its providers', and those are made by the same plan.
    settled = {key for step in plan.steps for key in step.blocked_by if key.endswith("/release-branch")}
    settled |= {f"{pin.consumer}/{pin.pin}/pin-on-release-branch" for pin in on_cut}
    consumers = {pin.consumer for pin in facts.pins}
    complaints = {
        found.kind
        for r in facts.repositories
        for found in compare_with_repository(facts.train, r.state, facts.at, consumer=r.name in consumers)
    }
    return frozenset(settled | ({"calendar/agrees"} if complaints <= {"cut-overdue"} else set()))
