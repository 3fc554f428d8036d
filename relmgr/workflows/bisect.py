"""`relmgr pin bisect`: the first bad commit of the provider, by a command."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relmgr.errors import UserError
from relmgr.gate.bisect import narrow, next_trial
from relmgr.model.bisect import Bisection, Trial
from relmgr.model.project import PinConfig, Project
from relmgr.sinks.bisect_tree import try_commit, work_tree
from relmgr.sources.git.clone import Clone
from relmgr.sources.pins.history import one_branch, pin_history
from relmgr.workflows.locate import consumer_clone, default_ref


def bisect_pin(
    project: Project,
    pin: PinConfig,
    good: str | None,
    bad: str | None,
    command: Sequence[str],
    seconds: float,
    told: Callable[[Trial], None] = lambda trial: None,
) -> Bisection:
    """Return where the command began to fail between two refs of the provider (default: the pin's last move)."""
    repository = project.repositories[pin.provider]
    if repository.path is None:
        raise UserError(f"no clone of {repository.slug} at hand", next_step=f"give one: --repo {pin.provider}=PATH")
    clone = Clone.open(repository.path)
    one, other = (good, bad) if good and bad else _last_move(project, pin, good, bad)
    start, end = clone.require(one), clone.require(other)
    if start == end or not clone.is_ancestor(start, end):
        raise UserError(f"{one} is not an ancestor of {other}", next_step="give --good and --bad of one line")
    listed = clone.run("log", "--reverse", "--ancestry-path", "--first-parent", "--format=%H %s", f"{start}..{end}")
    subjects = {line[:40]: line[41:] for line in listed.splitlines()}
    commits, trials = list(subjects), dict[str, Trial]()
    with work_tree(clone.path) as tree:
        while (commit := next_trial(commits, {sha: trial.outcome for sha, trial in trials.items()})) is not None:
            trials[commit] = try_commit(tree, commit, subjects[commit], command, seconds)
            told(trials[commit])
    left = narrow(commits, {sha: trial.outcome for sha, trial in trials.items()})
    first = left[0] if len(left) == 1 else None
    return Bisection(
        pin=pin.name,
        provider=repository.slug,
        good=start,
        bad=end,
        commits=len(commits),
        trials=tuple(trials.values()),
        first_bad=first,
        candidates=tuple(left),
        subject=subjects[first] if first else None,
    )


def _last_move(project: Project, pin: PinConfig, good: str | None, bad: str | None) -> tuple[str, str]:
    """Return both sides of the pin's last move that is no revert, with what was given in their place."""
    clone = consumer_clone(project, pin)
    changes = pin_history(clone, project, pin, one_branch(clone, default_ref(clone, project, pin))).changes
    moves = [one for one in changes if "ref" in one.kinds and not one.reverts and one.old and one.new]
    if not moves:
        raise UserError("the pin never moved", next_step="give --good and --bad")
    old, new = moves[-1].old, moves[-1].new
    return good or (old.ref if old else ""), bad or (new.ref if new else "")
