"""Pins: where they stand, where they go, and whether they may."""

from __future__ import annotations

from datetime import date
from typing import Literal

from pydantic import Field

from relmgr.gate.registry import NoParams, Result, check, worst
from relmgr.model.base import Noun, Outcome
from relmgr.model.facts import PinAncestry, PinMove, RevertedPin
from relmgr.model.snapshot import Snapshot
from relmgr.model.times import local_date
from relmgr.model.trains import next_train_to_cut


class PinSitesSeen(Noun):
    """One pin's sites: where each stands (`file:line`) and what it names."""

    pin: str
    sites: dict[str, str]
    agree: bool | None


class SitesEvidence(Noun):
    """Every pin, and those whose sites differ."""

    pins: tuple[PinSitesSeen, ...]
    differ: tuple[PinSitesSeen, ...]


@check("pin-sites-agree")
def pin_sites_agree(snapshot: Snapshot, params: NoParams) -> Result[SitesEvidence]:
    """Every place that writes a pin names the same ref."""
    seen = []
    for pin in snapshot.pins or ():
        refs = {f"{site.site}:{site.line}" if site.line else site.site: site.ref for site in pin.sites}
        agree = False if len(set(refs.values())) > 1 else None if pin.gaps else True
        seen.append(PinSitesSeen(pin=pin.pin, sites=refs, agree=agree))
    differ = tuple(one for one in seen if one.agree is False)
    unread = tuple(gap for pin in snapshot.pins or () for gap in pin.gaps)
    outcome = Outcome.FAILED if differ else Outcome.UNKNOWN if unread else Outcome.PASSED
    evidence = SitesEvidence(pins=tuple(seen), differ=differ)
    return Result(outcome, evidence, unread if outcome is Outcome.UNKNOWN else ())


class Step(Noun):
    """One pin's move, and where it leads. `forward`: the old commit is an ancestor of the new one."""

    pin: str
    old: str | None
    new: str | None
    forward: bool | None
    is_revert: bool
    branches: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    tag_object: str | None = None
    commit: str | None = None


class StepEvidence(Noun):
    """Every pin that moves, and those of them that may not."""

    moves: tuple[Step, ...]
    wrong: tuple[Step, ...]


@check("pin-moves-forward")
def pin_moves_forward(snapshot: Snapshot, params: NoParams) -> Result[StepEvidence]:
    """Every pin moves to a descendant of where it was, or is put back by a revert (P9)."""
    steps = steps_of(snapshot)
    compared = [step for step in steps if step.old and step.new and not step.is_revert]
    wrong = tuple(step for step in compared if step.forward is False)
    unread = tuple(f"{s.pin}: whether {s.old} comes before {s.new}" for s in compared if s.forward is None)
    outcome = Outcome.FAILED if wrong else Outcome.UNKNOWN if unread else Outcome.PASSED
    return Result(outcome, StepEvidence(moves=steps, wrong=wrong), unread if outcome is Outcome.UNKNOWN else ())


@check("pin-reachable-from-branch")
def pin_reachable_from_branch(snapshot: Snapshot, params: NoParams) -> Result[StepEvidence]:
    """Every pinned commit is on a branch of the named repository, and is a commit (P7, P14)."""
    steps = steps_of(snapshot)
    named = [step for step in steps if step.new]
    wrong = tuple(step for step in named if step.tag_object or step.branches == ())
    unread = tuple(f"{s.pin}: which branches hold {s.new}" for s in named if s.branches is None and not s.tag_object)
    outcome = Outcome.FAILED if wrong else Outcome.UNKNOWN if unread else Outcome.PASSED
    return Result(outcome, StepEvidence(moves=steps, wrong=wrong), unread if outcome is Outcome.UNKNOWN else ())


def steps_of(snapshot: Snapshot) -> tuple[Step, ...]:
    """Return every move of a pin with what the provider's history says of it."""
    known = {ancestry.pin: ancestry for ancestry in snapshot.pin_ancestry or ()}
    return tuple(_step(move, known.get(move.pin)) for move in snapshot.pin_moves or () if move.moves)


def _step(move: PinMove, ancestry: PinAncestry | None) -> Step:
    return Step(
        pin=move.pin,
        old=move.old.ref if move.old else None,
        new=move.new.ref if move.new else None,
        forward=ancestry.forward if ancestry else None,
        is_revert="revert" in move.kinds,
        branches=ancestry.branches if ancestry else None,
        tags=ancestry.tags if ancestry else (),
        tag_object=ancestry.tag_object if ancestry else None,
        commit=ancestry.commit if ancestry else None,
    )


class BranchParams(Noun):
    """`days`: how long before a cut a branch pin may still stand."""

    days: int = Field(default=14, ge=0)


class BranchEvidence(Noun):
    """Pins that name a branch, and the cut that comes next."""

    branch_pins: dict[str, str]
    train: str | None
    cut: date | None
    days_left: int | None


@check("pin-not-a-branch-at-cut")
def pin_not_a_branch_at_cut(snapshot: Snapshot, params: BranchParams) -> Result[BranchEvidence]:
    """No pin names a branch, which moves, when a cut is near or here (P4)."""
    pins = {pin.pin: site.ref for pin in snapshot.pins or () for site in pin.sites[:1] if site.ref_kind == "branch"}
    unread = tuple(f"{p.pin}: {gap}" for p in snapshot.pins or () for gap in p.gaps)
    unread += tuple(
        f"{p.pin}: what {p.sites[0].ref} is" for p in snapshot.pins or () if p.sites and p.sites[0].ref_kind is None
    )
    here = snapshot.kind != "pull-request"
    train = next((one for one in snapshot.trains or () if one.name == snapshot.train), None)
    if not here:
        train = next_train_to_cut(snapshot.trains or (), snapshot.base or snapshot.default_branch, snapshot.at)
    left = (train.cut - local_date(snapshot.at, train.timezone)).days if train and train.cut else None
    if here and left is not None and left < 0:
        left = None
    evidence = BranchEvidence(
        branch_pins=pins, train=train.name if train else None, cut=train.cut if train else None, days_left=left
    )
    if not pins:
        return Result(Outcome.UNKNOWN if unread else Outcome.PASSED, evidence, unread)
    if here or (left is not None and left <= params.days):
        return Result(Outcome.FAILED, evidence)
    if left is None:
        return Result(Outcome.UNKNOWN, evidence, ("trains: when the next branch is cut",))
    return Result(Outcome.PASSED, evidence)


class DigestSeen(Noun):
    """One digest. `verdict` tells changed bytes of the same tree from a tag that was moved."""

    pin: str
    ref: str
    declared: str
    archive: str | None
    verdict: Literal["matches", "bytes-changed", "moved", "unread"]


class DigestEvidence(Noun):
    """Every pin with a digest, and those that do not match."""

    digests: tuple[DigestSeen, ...]
    wrong: tuple[DigestSeen, ...]


@check("pin-digest-matches")
def pin_digest_matches(snapshot: Snapshot, params: NoParams) -> Result[DigestEvidence]:
    """Every digest is that of the archive (P1)."""
    seen = []
    for one in snapshot.pin_digests or ():
        verdict: Literal["matches", "bytes-changed", "moved", "unread"] = "unread"
        if one.archive is not None and one.archive == one.declared:
            verdict = "matches"
        elif one.archive is not None and one.same_tree is not None:
            verdict = "bytes-changed" if one.same_tree else "moved"
        fields = one.model_dump(include={"pin", "ref", "declared", "archive"})
        seen.append(DigestSeen(**fields, verdict=verdict))
    wrong = tuple(one for one in seen if one.verdict in ("bytes-changed", "moved"))
    unread = tuple(f"the archive of {one.pin} at {one.ref}" for one in seen if one.verdict == "unread")
    outcome = Outcome.FAILED if wrong else Outcome.UNKNOWN if unread else Outcome.PASSED
    evidence = DigestEvidence(digests=tuple(seen), wrong=wrong)
    return Result(outcome, evidence, unread if outcome is Outcome.UNKNOWN else ())


class RevertedEvidence(Noun):
    """Refs that the subject pins again after they were reverted; `since` names what changed, for those that may."""

    again: tuple[RevertedPin, ...]
    allowed: tuple[RevertedPin, ...]


@check("reverted-pin-not-reproposed")
def reverted_pin_not_reproposed(snapshot: Snapshot, params: NoParams) -> Result[RevertedEvidence]:
    """A reverted ref stays away until somebody releases it; a newer ref is another ref (P11)."""
    moves = [m for m in snapshot.pin_moves or () if m.moves and m.new and "revert" not in m.kinds]
    known = {ancestry.pin: ancestry.commit for ancestry in snapshot.pin_ancestry or ()}
    proposed = {(m.pin, name) for m in moves for name in (m.new.ref if m.new else None, known.get(m.pin)) if name}
    named = [one for one in snapshot.reverted_pins or () if {(one.pin, one.ref), (one.pin, one.commit)} & proposed]
    again = tuple(one for one in named if not one.released and not one.moved_past)
    allowed = tuple(one for one in named if one not in again)
    return Result(Outcome.FAILED if again else Outcome.PASSED, RevertedEvidence(again=again, allowed=allowed))


class GroupSeen(Noun):
    """A group of pins of which some move and some stay."""

    group: str
    moving: tuple[str, ...]
    staying: tuple[str, ...]


class GroupEvidence(Noun):
    """Every group that is torn."""

    torn: tuple[GroupSeen, ...]


@check("group-pins-move-together")
def group_pins_move_together(snapshot: Snapshot, params: NoParams) -> Result[GroupEvidence]:
    """Pins of one group move together or not at all (P15)."""
    moving = {move.pin for move in snapshot.pin_moves or () if move.moves}
    torn = []
    for group, pins in sorted((snapshot.pin_groups or {}).items()):
        go, stay = (tuple(pin for pin in pins if (pin in moving) is moves) for moves in (True, False))
        if go and stay:
            torn.append(GroupSeen(group=group, moving=go, staying=stay))
    return Result(worst([Outcome.FAILED] * bool(torn)), GroupEvidence(torn=tuple(torn)))
