"""`relmgr pin bump`: plan, have the gate judge it, refuse or apply, open the pull request."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from relmgr.errors import SourceError, UserError
from relmgr.gate.bump import answer_with_reasons
from relmgr.gate.engine import evaluate
from relmgr.gate.policies import load_rules
from relmgr.model.actions import Posting, UpsertPull
from relmgr.model.bump import BAD, Bumped, BumpPlan, PinStep, StaleDatabase
from relmgr.model.facts import PinDigest
from relmgr.model.order import OrderDeclarations
from relmgr.model.pins import PinFinding
from relmgr.model.project import PinConfig, Project
from relmgr.model.snapshot import Snapshot
from relmgr.render.bump import branch_of, bump_message, bump_title, pull_action
from relmgr.render.engine import words_of
from relmgr.sinks.git_bump import commit_on_branch, planned_commit, push_branch
from relmgr.sources.changes.change import Change
from relmgr.sources.databases.history import DatabaseFiles
from relmgr.sources.git.clone import HEX40, Clone
from relmgr.sources.github.client import GitHub
from relmgr.sources.github.companions import read_companions
from relmgr.sources.github.facts import read_ticket_issues
from relmgr.sources.pins.archive import ArchiveFile
from relmgr.sources.pins.bump import Move, Target, plan_move
from relmgr.sources.pins.checks import COMPANION_HEAD, with_companion
from relmgr.workflows.gate import Calendars, snapshot_of_change
from relmgr.workflows.gate_given import GateInputs, with_given
from relmgr.workflows.gate_order import with_order
from relmgr.workflows.locate import consumer_clone, named_pin
from relmgr.workflows.pins import commit_at
from relmgr.workflows.post import Sink


@dataclass(frozen=True)
class Prepared:
    """A plan with what it writes: each path's new content. `digests` are of archives that were read for it."""

    plan: BumpPlan
    clone: Clone
    contents: Mapping[str, bytes | str]
    digests: tuple[PinDigest, ...] = ()


def plan_bump(
    project: Project, target: Target, also: Mapping[str, str], base: str | None = None, at: datetime | None = None
) -> Prepared:
    """Return the plan of moving a pin, and with it every pin of its group (P15), on the branch `base` as of `at`."""
    clone = consumer_clone(project, target.pin)
    branch = base or project.repositories[target.pin.consumer].default_branch
    commit = commit_at(clone, branch, at)
    now = at or datetime.now(timezone.utc)
    moves = [plan_move(project, clone, commit, one, now) for one in _targets(project, target, also)]
    contents: dict[str, bytes | str] = {}
    for move in moves:
        if clash := [path for path in move.contents if path in contents]:
            raise UserError(f"two pins stand in {clash[0]}", next_step="bump them one after the other")
        contents |= move.contents
    plan = _plan(project, target, branch, commit, moves, _stale(project, target.pin, clone, commit, moves))
    return Prepared(plan, clone, contents, tuple(move.digest for move in moves if move.digest))


def judge_bump(
    project: Project, pin: PinConfig, prepared: Prepared, at: datetime | None, calendars: Calendars, given: GateInputs
) -> Prepared:
    """Return the plan with the gate's verdicts on the pull request that it would be. Nothing is written to the clone.

    What only an open pull request can have (`Snapshot.later`) is waited for; all else is judged as it is.
    """
    plan = prepared.plan
    if plan.is_noop:
        return prepared
    with planned_commit(prepared.clone.path, plan.base_commit, prepared.contents, plan.message) as (objects, commit):
        seen = prepared.clone.beside(objects)
        change = Change(None, commit, plan.base_commit, plan.base, plan.title, plan.message, None, branch=plan.branch)
        snapshot = snapshot_of_change(project, pin.consumer, seen, change, at, calendars)
        # Nothing can wait for what has no number yet.
        snapshot = with_order(project, snapshot, OrderDeclarations(), seen).model_copy(update={"cycles": ()})
        snapshot = with_given(project, _with_digests(snapshot, prepared.digests), given)
        verdicts = evaluate(snapshot, load_rules(project, plan.base))
    judged: dict[str, Any] = {"subject": snapshot.subject, "judged_at": snapshot.at}
    judged["verdicts"] = answer_with_reasons(verdicts, plan.reasons)
    return replace(prepared, plan=plan.model_copy(update=judged))


def ask_about_companions(project: Project, prepared: Prepared, github: GitHub) -> Prepared:
    """Return the plan with what the forge says of a pull request whose head it would pin (P12)."""
    steps = tuple(
        step.model_copy(update={"findings": tuple(_told(project, github, step, one) for one in step.findings)})
        for step in prepared.plan.steps
    )
    return replace(prepared, plan=prepared.plan.model_copy(update={"steps": steps}))


def _told(project: Project, github: GitHub, step: PinStep, finding: PinFinding) -> PinFinding:
    if finding.check != COMPANION_HEAD or finding.outcome not in BAD or not HEX40.match(step.ref):
        return finding
    try:
        found = read_companions(github, step.provider, step.ref)
    except SourceError as error:
        return finding.model_copy(update={"evidence": finding.evidence | {"not_read": " ".join(str(error).split())}})
    return with_companion(finding, found[0]) if found else finding


def tickets_on_forge(project: Project, pin: PinConfig, github: GitHub, folder: Path) -> Path:
    """Write the tickets that are on the forge as a list into `folder`, and return it, for `judge_bump`."""
    file = folder / "issues.json"
    file.write_text(json.dumps(read_ticket_issues(github, project.repositories[pin.consumer].slug)), encoding="utf-8")
    return file


def apply_bump(prepared: Prepared, *, push: bool) -> Bumped:
    """Commit the plan on its branch, and push it where asked; refuses what the plan refuses."""
    plan = prepared.plan
    if plan.refusals:
        raise UserError(f"refused by {', '.join(plan.refusals)}", next_step="see the plan: each says what to do")
    old = prepared.clone.resolve(f"refs/heads/{plan.branch}")
    done = commit_on_branch(prepared.clone.path, plan.branch, plan.base_commit, prepared.contents, plan.message)
    return push_branch(prepared.clone.path, done, old) if push else done


def post_bump(sink: Sink, project: Project, pin: PinConfig, plan: BumpPlan) -> Posting:
    """Open or update the one pull request of a bump; close the attempts that it supersedes."""
    action: UpsertPull = pull_action(plan, pin.group or pin.name, words_of(project))
    return sink.apply((action,))


def _with_digests(snapshot: Snapshot, known: Sequence[PinDigest]) -> Snapshot:
    """Return the snapshot with the digests whose archives were read for the plan."""
    read = {one.pin: one for one in known}
    if snapshot.pin_digests is None:
        return snapshot
    return snapshot.model_copy(update={"pin_digests": tuple(read.get(one.pin, one) for one in snapshot.pin_digests)})


def _targets(project: Project, target: Target, also: Mapping[str, str]) -> Sequence[Target]:
    """Return one target a pin of the group: another pin of the same provider goes to the same ref."""
    group = [pin for pin in project.pins if pin.group and pin.group == target.pin.group and pin != target.pin]
    if strange := sorted(set(also) - {pin.name for pin in group}):
        raise UserError(f"--also {strange[0]}: not in one group with {target.pin.name}", next_step="check the project")
    others = []
    for pin in group:
        to = also.get(pin.name) or (target.to if pin.provider == target.pin.provider else None)
        if to is None:
            raise UserError(
                f"{pin.name} is of the group {pin.group} and moves with {target.pin.name} or not at all",
                next_step=f"say where to: --also {pin.name}=REF",
            )
        if pin.consumer != target.pin.consumer:
            raise UserError(f"{pin.name} is another repository's pin", next_step="bump it there, in the same step")
        # A file is one ref's archive; the forge has every one's.
        archive = None if isinstance(target.archive, ArchiveFile) else target.archive
        others.append(replace(target, pin=named_pin(project, pin.name), to=to, archive=archive))
    return [target, *others]


def _stale(
    project: Project, pin: PinConfig, clone: Clone, commit: str, moves: Sequence[Move]
) -> tuple[StaleDatabase, ...]:
    consumer = project.repositories[pin.consumer]
    if not consumer.databases or not any(move.step.crosses for move in moves):
        return ()
    return tuple(StaleDatabase(path=one.path, arch=one.arch) for one in DatabaseFiles(clone, consumer).at(commit))


def _plan(
    project: Project, target: Target, base: str, commit: str, moves: Sequence[Move], stale: tuple[StaleDatabase, ...]
) -> BumpPlan:
    steps, consumer = tuple(move.step for move in moves), project.repositories[target.pin.consumer]
    reasons = {"rollback": target.allow_rollback, "reverted": target.allow_reverted}
    given = {name: reason for name, reason in reasons.items() if reason}
    elsewhere = None if base == consumer.default_branch else base
    return BumpPlan(
        consumer=consumer.slug,
        base=base,
        base_commit=commit,
        branch=branch_of(target.pin.group or target.pin.name, steps, elsewhere),
        title=bump_title(steps),
        message=bump_message(steps, given),
        steps=steps,
        edits=tuple(edit for move in moves for edit in move.edits),
        invalidates=stale,
        tickets=tuple(sorted({one.arch for one in stale if one.arch})),
        reasons=given,
    )
