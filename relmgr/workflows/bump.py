"""`relmgr pin bump`: plan, refuse or apply, open the pull request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

from relmgr.errors import UserError
from relmgr.model.actions import Posting, UpsertPull
from relmgr.model.bump import Bumped, BumpPlan, StaleDatabase
from relmgr.model.project import PinConfig, Project
from relmgr.render.bump import branch_of, bump_message, bump_title, pull_action
from relmgr.render.engine import words_of
from relmgr.sinks.git_bump import commit_on_branch, push_branch
from relmgr.sources.databases.history import DatabaseFiles
from relmgr.sources.git.clone import Clone
from relmgr.sources.pins.bump import Move, Target, plan_move
from relmgr.workflows.locate import consumer_clone, named_pin
from relmgr.workflows.post import Sink


@dataclass(frozen=True)
class Prepared:
    """A plan with what it writes: each path's new content."""

    plan: BumpPlan
    clone: Clone
    contents: Mapping[str, bytes | str]


def plan_bump(project: Project, target: Target, also: Mapping[str, str], base: str | None = None) -> Prepared:
    """Return the plan of moving a pin, and with it every pin of its group (P15), on the branch `base`."""
    clone = consumer_clone(project, target.pin)
    branch = base or project.repositories[target.pin.consumer].default_branch
    commit = clone.require(branch)
    now = datetime.now(timezone.utc)
    moves = [plan_move(project, clone, commit, one, now) for one in _targets(project, target, also)]
    contents: dict[str, bytes | str] = {}
    for move in moves:
        if clash := [path for path in move.contents if path in contents]:
            raise UserError(f"two pins stand in {clash[0]}", next_step="bump them one after the other")
        contents |= move.contents
    plan = _plan(project, target, branch, commit, moves, _stale(project, target.pin, clone, commit, moves))
    return Prepared(plan, clone, contents)


def apply_bump(prepared: Prepared, *, push: bool) -> Bumped:
    """Commit the plan on its branch, and push it where asked; refuses what the plan refuses."""
    plan = prepared.plan
    if plan.refusals:
        names = ", ".join(finding.check for finding in plan.refusals)
        raise UserError(f"refused by {names}", next_step="see the plan: each says what to do")
    old = prepared.clone.resolve(f"refs/heads/{plan.branch}")
    done = commit_on_branch(prepared.clone.path, plan.branch, plan.base_commit, prepared.contents, plan.message)
    return push_branch(prepared.clone.path, done, old) if push else done


def post_bump(sink: Sink, project: Project, pin: PinConfig, plan: BumpPlan) -> Posting:
    """Open or update the one pull request of a bump; close the attempts that it supersedes."""
    action: UpsertPull = pull_action(plan, pin.group or pin.name, words_of(project))
    return sink.apply((action,))


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
        others.append(replace(target, pin=named_pin(project, pin.name), to=to, archive=None))
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
    steps = tuple(move.step for move in moves)
    reasons = {"rollback": target.allow_rollback, "reverted": target.allow_reverted}
    given = {name: reason for name, reason in reasons.items() if reason}
    return BumpPlan(
        consumer=project.repositories[target.pin.consumer].slug,
        base=base,
        base_commit=commit,
        branch=branch_of(target.pin.group or target.pin.name, steps),
        title=bump_title(steps),
        message=bump_message(steps, given),
        steps=steps,
        edits=tuple(edit for move in moves for edit in move.edits),
        invalidates=stale,
        tickets=tuple(sorted({one.arch for one in stale if one.arch})),
        reasons=given,
    )
