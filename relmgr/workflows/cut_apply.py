"""`relmgr cut plan --save` and `relmgr cut apply`: store what was seen, then make every branch or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Literal

from relmgr.errors import RelmgrError, SourceError, UserError
from relmgr.gate.checklist import evaluate_checklist, plan_cut
from relmgr.gate.cut_apply import is_half_done, is_made, settled_by_cut, why_refused
from relmgr.model.checklist import CutFacts, CutPlan, CutStep, PinAtCut
from relmgr.model.cut_apply import ActionState, BranchToCut, CutAction, CutApplied, OpenItem, PlaceSeen, StoredCut
from relmgr.model.project import Project
from relmgr.model.trains import Calendar
from relmgr.sinks.git_branches import (
    Place,
    foreign_marks,
    forget,
    make_all,
    marked_remotes,
    read_place,
    require_remote,
    take_back,
)
from relmgr.sources.git.clone import Clone
from relmgr.sources.stored_cuts import hold_stored_cut
from relmgr.workflows.cut import cut_facts
from relmgr.workflows.trains import clones_at_hand

Mode = Literal["show", "apply", "finish", "undo"]


# -- storing --------------------------------------------------------------------------------------------------------


def store_cut(
    project: Project, calendar: Calendar, release: str, at: datetime | None, accept: Mapping[str, str]
) -> tuple[CutPlan, StoredCut]:
    """Return the plan of a cut, and what to store of it; `accept` maps ids of open items to why they are accepted."""
    facts = cut_facts(project, calendar, release, at)
    plan, clones = plan_cut(facts, evaluate_checklist(facts)), clones_at_hand(project)
    branches = tuple(_branch(facts, step, clones) for step in plan.steps)
    settled = settled_by_cut(facts, plan, _pins_on_cut(facts, clones))
    open_ids = dict.fromkeys(key for step in plan.steps for key in step.blocked_by if key not in settled)
    if strange := sorted(set(accept) - set(open_ids)):
        known = ", ".join(open_ids) or "none"
        raise UserError(f"--accept {strange[0]}: no open item of that id", next_step=f"open items: {known}")
    items = {item.id: item for item in plan.items}
    stored = StoredCut(
        project=project.name,
        release=plan.release,
        taken_at=datetime.now(timezone.utc),
        branches=branches,
        open_items=tuple(
            OpenItem(id=key, text=items[key].text, evidence=items[key].evidence, accepted=accept.get(key))
            for key in open_ids
        ),
        by_hand=tuple(dict.fromkeys(items[key].text for step in plan.steps for key in step.by_hand)),
    )
    return plan, stored.sealed()


def _branch(facts: CutFacts, step: CutStep, clones: Mapping[str, Clone]) -> BranchToCut:
    """Return what is to be made for one step, with the refs of its clone as they are now."""
    at_cut = facts.repositories[step.number - 1]
    clone, exists = clones.get(at_cut.name), step.state == "done"
    base = at_cut.state.branch if exists else step.from_ref
    ref = clone.branches.get(base or "") if clone else None
    if ref is None or step.branch is None or step.from_commit is None:
        why = "; ".join(at_cut.state.unread) or f"no commit or no branch name for {step.action}"
        raise UserError(
            f"{step.repository} cannot be stored: {why}",
            next_step=f"give its clone (--repo {at_cut.name}=PATH), and a branch name for the train in the calendar",
        )
    return BranchToCut(
        name=at_cut.name,
        repository=step.repository,
        branch=step.branch,
        commit=step.from_commit,
        base=ref.name,
        tip=ref.commit,
        exists=exists,
    )


def _pins_on_cut(facts: CutFacts, clones: Mapping[str, Clone]) -> tuple[PinAtCut, ...]:
    """Return the pins whose commit will be on the provider's branch once that is cut where the plan says."""
    cut_at = {r.name: r.commit for r in facts.repositories if r.state.branch is None}
    return tuple(
        pin
        for pin in facts.pins
        if pin.resolved
        and (commit := cut_at.get(pin.provider))
        and clones[pin.provider].resolve(pin.resolved)
        and clones[pin.provider].is_ancestor(pin.resolved, commit)
    )


# -- applying -------------------------------------------------------------------------------------------------------


def apply_stored_cut(
    project: Project, file: Path, push: Mapping[str, str], mode: Mode, max_age: timedelta
) -> CutApplied:
    """Show, make, finish or take back the cut stored in `file`; `push` maps each repository's name to its remote."""
    with hold_stored_cut(file) as plan:
        places = _places(project, plan, push)
        seen = [read_place(place) for place in places]
        if mode == "undo":
            return _undo(plan, file, places)
        if is_made(seen):
            if mode != "show":
                forget(places)
            return _document(plan, file, "done", places, seen, ())
        half = is_half_done(seen)
        if mode == "finish" and not half:
            raise UserError("no half-done cut of this plan to finish", next_step="use --apply")
        now = datetime.now(timezone.utc)
        problems = why_refused(plan, seen, now, max_age, finishing=mode == "finish") + _foreign(places)
        if problems or mode == "show":
            state: Literal["half-done", "refused", "ready"] = (
                "half-done" if half else "refused" if problems else "ready"
            )
            return _document(plan, file, state, places, seen, problems)
        return _make(plan, file, places, mode)


def _make(plan: StoredCut, file: Path, places: Sequence[Place], mode: Mode) -> CutApplied:
    before = [read_place(place) for place in places]
    try:
        make_all(places, check_base=mode != "finish")
    except RelmgrError as error:
        return _after_failure(plan, file, places, before, error)
    return _document(plan, file, "done", places, [read_place(place) for place in places], (), before)


def _after_failure(
    plan: StoredCut, file: Path, places: Sequence[Place], before: Sequence[PlaceSeen], error: RelmgrError
) -> CutApplied:
    """Say what stands after a failure: nothing, some of it, or all when only our marks could not be removed."""
    seen = [_read_or(place, was) for place, was in zip(places, before, strict=True)]
    state: Literal["done", "undone", "half-done"] = "half-done" if any(place.ours for place in seen) else "undone"
    # Once all is taken back, the command that makes one branch alone is no advice.
    said = ": ".join(filter(None, (error.where, error.what))) if state == "undone" else str(error)
    return _document(plan, file, "done" if is_made(seen) else state, places, seen, (said,), before)


def _read_or(place: Place, before: PlaceSeen) -> PlaceSeen:
    """Read a place again; one that does not answer counts as ours, made or not: somebody has to look."""
    try:
        return read_place(place)
    except SourceError:
        return before.model_copy(update={"ours": True, "now": None})


def _undo(plan: StoredCut, file: Path, places: Sequence[Place]) -> CutApplied:
    before = [read_place(place) for place in places]
    if not any(place.ours for place in before):
        raise UserError("this plan left nothing half done", where=str(file), next_step="there is nothing to undo")
    try:
        take_back(places)
    except RelmgrError as error:
        return _after_failure(plan, file, places, before, error)
    return _document(plan, file, "undone", places, [read_place(place) for place in places], (), before)


def _places(project: Project, plan: StoredCut, push: Mapping[str, str]) -> list[Place]:
    """Return every place of the plan: all clones first, then the remotes."""
    if plan.project != project.name:
        raise UserError(f"the plan is of project {plan.project}", next_step=f"give --project {plan.project}")
    if strange := sorted(set(push) - {cut.name for cut in plan.branches}):
        raise UserError(f"--push {strange[0]}=...: the plan has no such repository")
    here, there = [], []
    for cut in plan.branches:
        repository = project.repositories.get(cut.name)
        if repository is None or not repository.is_named(cut.repository):
            raise UserError(f"{cut.name} is no longer {cut.repository}", next_step="store the plan again")
        if repository.path is None:
            raise UserError(f"no clone of {cut.repository} at hand", next_step=f"give --repo {cut.name}=PATH")
        path = Clone.open(repository.path).path
        here.append(Place(cut, path, None, plan.digest))
        # A push that broke off is finished, or taken back, without being named again.
        if remote := push.get(cut.name) or marked_remotes(path, plan.digest).get(cut.branch):
            require_remote(path, remote, repository, project.forge)
            there.append(Place(cut, path, remote, plan.digest))
    return here + there


def _foreign(places: Sequence[Place]) -> tuple[str, ...]:
    paths = dict.fromkeys((place.path, place.plan) for place in places)
    return tuple(
        f"{path}: another cut is half done here ({mark}); finish or undo that one first"
        for path, digest in paths
        for mark in foreign_marks(path, digest)
    )


# -- telling --------------------------------------------------------------------------------------------------------


def _document(
    plan: StoredCut,
    file: Path,
    state: Literal["ready", "refused", "done", "undone", "half-done"],
    places: Sequence[Place],
    seen: Sequence[PlaceSeen],
    problems: tuple[str, ...],
    before: Sequence[PlaceSeen] = (),
) -> CutApplied:
    actions = [
        _action(place, now, was, half=state == "half-done")
        for place, now, was in zip(places, seen, before or seen, strict=True)
    ]
    return CutApplied(
        release=plan.release,
        plan=str(file),
        digest=plan.digest,
        taken_at=plan.taken_at,
        state=state,
        problems=problems,
        failed=bool(before) and bool(problems) and state != "done",
        accepted=tuple(item for item in plan.open_items if item.accepted is not None),
        by_hand=plan.by_hand,
        actions=tuple(actions),
    )


def _action(place: Place, seen: PlaceSeen, before: PlaceSeen, *, half: bool) -> CutAction:
    cut = place.cut
    state: ActionState
    if cut.exists:
        state = "exists"
    elif seen.now is None:
        state = "undone" if before.now == cut.commit else "not-there" if half else "to-create"
    elif seen.now != cut.commit:
        state = "other-commit"
    else:
        state = "created" if before.now is None else "kept"
    missing, ours = state in ("not-there", "to-create"), seen.ours and state in ("created", "kept", "left")
    return CutAction(
        repository=cut.repository,
        path=str(place.path),
        remote=place.remote,
        branch=cut.branch,
        commit=cut.commit,
        state=state,
        finish=place.finish() if half and missing else None,
        undo=place.undo() if half and ours else None,
    )
