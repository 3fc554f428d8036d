"""`relmgr pin bisect`: the first bad commit of the provider, by a command."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence

from relmgr.errors import SourceError, UserError
from relmgr.gate.bisect import narrow, next_trial
from relmgr.model.bisect import Bisection, Trial, TrialOutcome
from relmgr.model.project import PinConfig, Project
from relmgr.sinks.bisect_tree import try_commit, work_tree
from relmgr.sources.git.clone import Clone
from relmgr.sources.pins.history import one_branch, pin_history
from relmgr.workflows.locate import consumer_clone, default_ref

ENOUGH_CHECKOUTS = 5


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
    _require_command(command)
    one, other = (good, bad) if good and bad else _last_move(project, pin, good, bad)
    start, end = _ends(clone, one, other)
    listed = clone.run("log", "--reverse", "--ancestry-path", "--first-parent", "--format=%H %s", f"{start}..{end}")
    subjects = {line[:40]: line[41:] for line in listed.splitlines()}
    commits, trials = list(subjects), dict[str, Trial]()
    with work_tree(clone.path) as tree:

        def attempt(commit: str) -> Trial:
            subject = subjects.get(commit) or clone.commit(commit).subject
            trials[commit] = try_commit(tree, commit, subject, command, seconds)
            told(trials[commit])
            _require_checkout(clone, trials)
            return trials[commit]

        while (commit := next_trial(commits, _outcomes(trials))) is not None:
            attempt(commit)
        left = narrow(commits, _outcomes(trials))
        doubt = _doubt(attempt, trials, start, end) if len(left) == 1 else ""
    first = left[0] if len(left) == 1 and not doubt else None
    return Bisection(
        pin=pin.name,
        provider=repository.slug,
        good=start,
        bad=end,
        commits=len(commits),
        trials=tuple(trials.values()),
        first_bad=first,
        candidates=() if doubt else tuple(left),
        subject=subjects[first] if first else None,
        doubt=doubt,
    )


def _outcomes(trials: Mapping[str, Trial]) -> dict[str, TrialOutcome]:
    return {sha: trial.outcome for sha, trial in trials.items()}


def _require_command(command: Sequence[str]) -> None:
    """Refuse a command that no commit can bring: one by name or by an absolute path (one of the tree is relative)."""
    name = command[0]
    if ("/" not in name or name.startswith("/")) and shutil.which(name) is None:
        raise UserError(f"{name!r} cannot be run here", next_step="name a program; a shell line is: sh -c '...'")


def _ends(clone: Clone, good: str, bad: str) -> tuple[str, str]:
    start, end = clone.require(good), clone.require(bad)
    if start != end and clone.is_ancestor(start, end):
        return start, end
    fork = clone.merge_base(start, end)
    step = "give --good and --bad of one line"
    if fork and fork not in (start, end):
        step += f": they part at {fork[:12]}, so if COMMAND passes there, --good {fork[:12]}"
    raise UserError(f"{good[:40]} is not an ancestor of {bad[:40]}", where=str(clone.path), next_step=step)


def _require_checkout(clone: Clone, trials: Mapping[str, Trial]) -> None:
    """Stop when nothing can be checked out: that is the clone's fault, and no commit's."""
    tried = list(trials.values())
    if len(tried) >= ENOUGH_CHECKOUTS and not any(trial.checked_out for trial in tried):
        raise SourceError(
            f"none of {len(tried)} commits could be checked out: {tried[-1].why.partition(': ')[2]}",
            where=str(clone.path),
            next_step="fetch what the clone lacks, or give a full one",
        )


def _doubt(attempt: Callable[[str], Trial], trials: Mapping[str, Trial], start: str, end: str) -> str:
    """Try the end that no trial bears out yet, and say so when the command contradicts it: then nobody is to blame."""
    outcomes = set(_outcomes(trials).values())
    if "good" not in outcomes and (trial := attempt(start)).outcome != "good":
        return f"it does not pass at the good end {start[:12]} either" + (f" ({trial.why})" if trial.why else "")
    if "bad" not in outcomes and (trial := attempt(end)).outcome != "bad":
        return f"it does not fail at the bad end {end[:12]}" + (f" ({trial.why})" if trial.why else "")
    return ""


def _last_move(project: Project, pin: PinConfig, good: str | None, bad: str | None) -> tuple[str, str]:
    """Return both sides of the pin's last move that is no revert, with what was given in their place."""
    clone = consumer_clone(project, pin)
    changes = pin_history(clone, project, pin, one_branch(clone, default_ref(clone, project, pin))).changes
    moves = [one for one in changes if "ref" in one.kinds and not one.reverts and one.old and one.new]
    if not moves:
        raise UserError("the pin never moved", next_step="give --good and --bad")
    old, new = moves[-1].old, moves[-1].new
    return good or (old.ref if old else ""), bad or (new.ref if new else "")
