"""`relmgr backport`: what a change is, what taking it would do, and taking it."""

from __future__ import annotations

import re

from relmgr.errors import UserError
from relmgr.gate.backport import judge_backport
from relmgr.model.backport import Backport, BackportFacts, OpenRevert, Original, Target
from relmgr.model.project import Project
from relmgr.sinks.git_backport import Picked, by_hand, land, picked, sweep_scratch
from relmgr.sources.changes.backports import (
    find_on_topic,
    find_original,
    find_taken,
    find_target,
    look_alike,
    pin_steps,
)
from relmgr.sources.changes.reverts import Reverts, reverts_missing_on
from relmgr.sources.git.clone import Clone
from relmgr.sources.git.commit_log import read_commits
from relmgr.workflows.locate import no_clone
from relmgr.workflows.trains import clones_at_hand


def backport(
    project: Project,
    text: str,
    branch: str,
    *,
    mainline: int | None = None,
    topic: str | None = None,
    inside: str | None = None,
    apply: bool = False,
) -> Backport:
    """Say what taking the change `text` to `branch` does; with `apply` and nothing against it, take it."""
    clones = clones_at_hand(project)
    if not clones:
        raise no_clone(project, inside or project.pin().consumer)
    original = find_original(project, clones, text, inside)
    clone = clones[original.name]
    sweep_scratch(clone.path)
    _require_parent(original, mainline)
    if first := find_on_topic(clone, original, topic):
        target = find_target(clone, branch, None).model_copy(update={"ref": f"refs/heads/{topic}"})
        return Backport(state="already", original=original, target=target, mainline=mainline, first=first)
    target = find_target(clone, branch, topic)
    facts = _facts(project, clone, original, target, mainline)
    document = Backport(state="ready", original=original, target=target, mainline=mainline)
    if first := find_taken(clone, original, target.tip):
        return document.model_copy(update={"state": "already", "first": first})
    with picked(clone.path, original, target.tip, mainline, sign=apply) as result:
        if result.commit:
            steps = pin_steps(project, original.name, clone, target.tip, Clone.open(result.path), result.commit)
            facts = facts.model_copy(update={"pins": steps})
        document = _told(document, facts, result, by_hand(clone.path, original, target, mainline))
        if document.state == "ready" and apply:
            land(clone.path, result, target, original)
            document = document.model_copy(update={"state": "done", "result": result.commit})
    return document


def missing_reverts(project: Project, branch: str | None, inside: str | None) -> tuple[OpenRevert, ...]:
    """Return the reverts that release branches lack (default: all of them), in the clone of `inside`."""
    name = inside or project.pin().consumer
    clones, repository = clones_at_hand(project), project.repositories[name]
    if name not in clones:
        raise no_clone(project, name)
    clone = clones[name]
    if branch is not None and branch not in clone.branches:
        raise UserError(f"no branch {branch!r}", where=str(clone.path), next_step="give its whole name")
    branches = [branch] if branch else [b for b in clone.branches if re.fullmatch(repository.release_branches, b)]
    return reverts_missing_on(clone, repository, branches)


def _require_parent(original: Original, mainline: int | None) -> None:
    """A merge has no one change: a person says against which parent it is taken (T8)."""
    if original.is_merge and mainline is None:
        listed = "; ".join(
            f"-m {p.number} against {p.commit[:12]} {p.subject!r}{' (the default branch)' if p.mainline else ''}"
            for p in original.parents
        )
        raise UserError(
            f"{original.commit[:12]} is a merge", next_step=f"say which parent it is taken against: {listed}"
        )
    if not original.is_merge and mainline is not None:
        raise UserError(f"{original.commit[:12]} is no merge", next_step="drop -m")
    if mainline is not None and mainline > len(original.parents):
        raise UserError(f"{original.commit[:12]} has {len(original.parents)} parents", next_step="give one of them")


def _facts(project: Project, clone: Clone, original: Original, target: Target, mainline: int | None) -> BackportFacts:
    default = clone.branches.get(project.repositories[original.name].default_branch)
    log = read_commits(clone, default.commit) if default else []
    reverts = Reverts(log, project.repositories[original.name].names())
    own = next((commit for commit in log if commit.sha == original.commit), None)
    withdrawn, reverted = reverts.of(original.commit), reverts.target_of(own) if own else None
    alike = look_alike(clone, original, target.tip)
    there = None
    if reverted and clone.resolve(reverted):
        named = original.model_copy(update={"commit": clone.require(reverted), "pr": None, "parents": ()})
        there = find_taken(clone, named, target.tip) is not None
    return BackportFacts(
        original=original,
        target=target,
        mainline=mainline,
        withdrawn_by=withdrawn.sha if withdrawn else None,
        reverts=reverted,
        reverted_is_there=there,
        look_alike=alike.commit if alike else None,
    )


def _told(document: Backport, facts: BackportFacts, result: Picked, commands: str) -> Backport:
    findings = judge_backport(facts)
    update: dict[str, object] = {
        "findings": findings,
        "pins": facts.pins,
        "files": result.files,
        "conflicts": result.conflicts,
        "state": "blocked" if any(finding.blocks for finding in findings) else document.state,
    }
    if result.state == "conflict":
        update |= {"state": "conflict", "by_hand": commands}
    elif result.state == "empty":
        update["state"] = "empty"
    return document.model_copy(update=update)
