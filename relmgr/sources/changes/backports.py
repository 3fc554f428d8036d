"""What a change is, whether a branch has it, and which reverts a release branch lacks. By ancestry, never by dates."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from relmgr.errors import RelmgrError, SourceError, UserError
from relmgr.model.backport import Original, Parent, PinStep, Taken, Target
from relmgr.model.pins import PinState
from relmgr.model.project import PinConfig, Project, Repository
from relmgr.sources.changes.change import Change, find_change
from relmgr.sources.changes.reverts import Reverts, links_of
from relmgr.sources.git.clone import Clone
from relmgr.sources.git.commit_log import Commit, read_commits
from relmgr.sources.pins.classify import pr_number
from relmgr.sources.pins.history import pin_state
from relmgr.sources.provider.abi import AbiReader
from relmgr.sources.provider.refs import ProviderRefs

_PULL = re.compile(r"^(?:(?P<slug>[\w.-]+/[\w.-]+))?#(?P<number>[1-9]\d{0,8})$", re.ASCII)


def find_original(project: Project, clones: Mapping[str, Clone], text: str, inside: str | None) -> Original:
    """Return the change that `text` names: `owner/repo#n`, `#n` of the main consumer, or a commit.

    A commit is looked for in the clone of `inside`, else in every clone at hand. Raises `UserError` for a name that
    fits several commits or none, `SourceError` for a pull request that is not merged in the clone.
    """
    if pull := _PULL.match(text):
        slug = pull["slug"] or project.repositories[inside or project.pin().consumer].slug
        owner = project.repository_named(slug)
        if owner is None:
            raise UserError(f"{slug} is no repository of project {project.name}", next_step="give --project")
        clone = _clone(project, clones, owner)
        merged = _merged(clone, project.repositories[owner], int(pull["number"]))
        original = _original(clone, project, owner, merged.head, merged.number)
        return original.model_copy(update={"namesakes": merged.namesakes})
    names = [inside] if inside else list(dict.fromkeys([project.pin().consumer, *clones]))
    found = [(name, commit) for name in names if name in clones and (commit := clones[name].resolve(text))]
    if len({commit for _, commit in found}) > 1:
        raise UserError(f"{text} is in {' and '.join(n for n, _ in found)}", next_step="choose one with --in NAME")
    if not found:
        where = ", ".join(name for name in names if name in clones) or "no clone: give one with --repo NAME=PATH"
        raise UserError(f"no commit {text!r} in {where}", next_step="give a commit, or owner/repo#n")
    name, commit = found[0]
    return _original(clones[name], project, name, commit, None)


def find_target(clone: Clone, branch: str, topic: str | None) -> Target:
    """Return the branch called exactly `branch` (T7) and what moves: the branch, or the new branch `topic` from it.

    Raises `UserError` where `topic` is there; what an earlier run made of it, `find_on_topic` tells.
    """
    if branch not in clone.branches:
        close = difflib.get_close_matches(branch, list(clone.branches), n=3, cutoff=0.5)
        known = (
            f"did you mean {' or '.join(close)}?"
            if close
            else f"known branches: {', '.join(list(clone.branches)[:5]) or 'none'}"
        )
        raise UserError(f"no branch {branch!r}", where=str(clone.path), next_step=known)
    refs = {ref.name: ref.commit for ref in clone.refs("refs/heads", "refs/remotes/origin")}
    local, there = refs.get(f"refs/heads/{branch}"), refs.get(f"refs/remotes/origin/{branch}")
    if local and there and not clone.is_ancestor(there, local):
        raise UserError(
            f"{branch} lacks commits that origin has",
            where=str(clone.path),
            next_step=f"bring it up to origin/{branch}",
        )
    tip = local or there
    assert tip is not None
    if topic is not None and topic in clone.branches:
        raise UserError(f"{topic} is there already", where=str(clone.path), next_step="give another --as")
    ref = f"refs/heads/{topic or branch}"
    return Target(
        branch=branch,
        ref=ref,
        old=None if topic else local,
        tip=tip,
        checked_out=_checked_out(clone, ref),
    )


def find_taken(clone: Clone, original: Original, tip: str) -> Taken | None:
    """Return the commit by which `tip` has the change, unless it was reverted there again."""
    since = read_commits(clone, tip, "--not", original.commit)
    reverts = Reverts(since)
    if clone.is_ancestor(original.commit, tip) and not reverts.of(original.commit):
        return Taken(commit=original.commit, subject=original.subject, by="ancestry")
    linked = [commit for commit in since if _is_link(commit, original)]
    same = _same_patch(clone, original, tip) if not original.is_merge else None
    candidates = [(commit, "link") for commit in linked]
    candidates += [(commit, "same-patch") for commit in since if commit.sha == same and commit not in linked]
    for commit, by in candidates:
        if not reverts.of(commit.sha):
            return Taken.model_validate({"commit": commit.sha, "subject": commit.subject, "by": by})
    return None


def find_on_topic(clone: Clone, original: Original, topic: str | None) -> Taken | None:
    """Return the commit by which a branch called `topic` has the change as a backport: an earlier run made it (T8)."""
    if topic is None or topic not in clone.branches:
        return None
    found = find_taken(clone, original, clone.branches[topic].commit)
    return found if found and found.by == "link" else None


def look_alike(clone: Clone, original: Original, tip: str) -> Taken | None:
    """Return a commit of the target with the very same title, which may be the change taken by hand."""
    for commit in read_commits(clone, tip, "--not", original.commit):
        if commit.subject == original.subject:
            return Taken(commit=commit.sha, subject=commit.subject, by="same-subject")
    return None


def pin_steps(project: Project, name: str, before: Clone, tip: str, after: Clone, picked: str) -> tuple[PinStep, ...]:
    """Return what happens to the pins of the consumer `name` from `tip` to `picked`; those that stay are left out."""
    steps = []
    for pin in project.pins:
        if pin.consumer != name:
            continue
        old, new = pin_state(before, project, pin, tip), pin_state(after, project, pin, picked)
        if gaps := (*old.gaps, *new.gaps):
            steps.append(PinStep(pin=pin.name, old=_ref(old), new=_ref(new), gap=gaps[0]))
        elif _ref(old) != _ref(new) or _slug(old) != _slug(new):
            steps.append(_step(project, pin, old, new))
    return tuple(steps)


def _step(project: Project, pin: PinConfig, old: PinState, new: PinState) -> PinStep:
    step = PinStep(pin=pin.name, old=_ref(old), new=_ref(new))
    if old.pin is None or new.pin is None:
        return step
    update: dict[str, object] = {}
    if project.contract(pin):
        reader = AbiReader(project, pin)
        sides = [reader.at(p.repository, p.ref, p.ref if p.ref_kind == "sha" else None) for p in (old.pin, new.pin)]
        known = all(side.convention != "unknown" for side in sides)
        update = {
            "old_number": sides[0].number,
            "new_number": sides[1].number,
            "crossing": sides[0].convention != sides[1].convention if known else None,
        }
    if old.pin.ref == new.pin.ref:
        return step.model_copy(update=update | {"forward": True})
    try:
        refs = ProviderRefs(project.repositories[pin.provider])
        ends = [refs.name_ref(ref) for ref in (old.pin.ref, new.pin.ref)]
        if refs.clone is None or any(end is None or end.commit is None for end in ends):
            return step.model_copy(update=update | {"gap": f"both refs could not be found in {refs.where}"})
        was, will = (end.commit for end in ends if end is not None and end.commit is not None)
        return step.model_copy(update=update | {"forward": refs.clone.is_ancestor(was, will)})
    except RelmgrError as error:
        return step.model_copy(update=update | {"gap": str(error).replace("\n", " ")})


def _ref(state: PinState) -> str | None:
    return state.pin.ref if state.pin else None


def _slug(state: PinState) -> str | None:
    return state.pin.repository if state.pin else None


# -- the original ---------------------------------------------------------------------------------------------------


def _clone(project: Project, clones: Mapping[str, Clone], name: str) -> Clone:
    if name not in clones:
        raise UserError(
            f"no clone of {project.repositories[name].slug} at hand", next_step=f"give one with --repo {name}=PATH"
        )
    return clones[name]


def _merged(clone: Clone, repository: Repository, number: int) -> Change:
    """Return a pull request that is merged: its head is the squash's own commit, or the merge."""
    change = find_change(clone, repository, number)
    if change.merged_at is None:
        raise UserError(
            f"{repository.slug}#{number} is not merged", next_step="a backport takes what has landed; merge it first"
        )
    return change


def _original(clone: Clone, project: Project, name: str, sha: str, number: int | None) -> Original:
    if clone.shallow:
        raise SourceError(
            "a shallow clone cannot tell ancestry", where=str(clone.path), next_step="git fetch --unshallow"
        )
    repository = project.repositories[name]
    info = clone.commit(sha)
    default = clone.branches.get(repository.default_branch)
    line = set(clone.run("rev-list", "--first-parent", default.commit).split()) if default else set()
    on = [
        branch
        for branch, ref in clone.branches.items()
        if (branch == repository.default_branch or re.match(repository.all_branches, branch))
        and clone.is_ancestor(sha, ref.commit)
    ]
    refs = ProviderRefs(repository.model_copy(update={"path": clone.path}))
    return Original(
        name=name,
        repository=repository.slug,
        commit=sha,
        subject=info.subject,
        pr=number or pr_number(info.subject),
        committed_at=info.committed_at,
        parents=tuple(
            Parent(number=n, commit=parent, subject=clone.commit(parent).subject, mainline=parent in line)
            for n, parent in enumerate(info.parents, 1)
        ),
        on=tuple(sorted(on, key=lambda b: (b != repository.default_branch, b))[:5]),
        squash=None if on else refs.same_tree_on_branch(sha, repository.default_branch),
    )


def _is_link(commit: Commit, original: Original) -> bool:
    links = links_of(commit.body)
    pull = f"{original.repository}#{original.pr}".lower() if original.pr else None
    return original.commit in links or (pull is not None and pull in links)


def _same_patch(clone: Clone, original: Original, tip: str) -> str | None:
    """Return the commit of `tip` that makes the very same changes, None when there is none or it cannot be told."""
    if len(original.parents) != 1:
        return None
    listed = clone.run(
        "rev-list",
        "--cherry-mark",
        "--no-merges",
        f"{tip}...{original.commit}",
        f"^{original.parents[0].commit}",
        check=False,
    )
    return next((line[1:] for line in listed.split("\n") if line[:1] == "=" and line[1:] != original.commit), None)


def _checked_out(clone: Clone, ref: str) -> str | None:
    """Return the work tree that has a branch checked out: moving it there would look like lost work."""
    path = None
    for line in clone.run("worktree", "list", "--porcelain").splitlines():
        if line.startswith("worktree "):
            path = line.removeprefix("worktree ")
        elif line == f"branch {ref}":
            return path
    return None
