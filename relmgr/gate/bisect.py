"""Which commit to try next, and what the trials tell. A trial that could not run tells nothing (P17). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relmgr.model.bisect import TrialOutcome


def narrow(commits: Sequence[str], told: Mapping[str, TrialOutcome]) -> Sequence[str]:
    """Return the commits among which the first bad one is, oldest first.

    `commits` lead from just after a good one to a bad one, oldest first; the last one counts as bad.
    """
    first_bad = next((n for n, commit in enumerate(commits) if told.get(commit) == "bad"), len(commits) - 1)
    last_good = max((n for n, commit in enumerate(commits[:first_bad]) if told.get(commit) == "good"), default=-1)
    return commits[last_good + 1 : first_bad + 1]


def next_trial(commits: Sequence[str], told: Mapping[str, TrialOutcome]) -> str | None:
    """Return the untried commit nearest to the middle of what is left; None when no trial can tell more."""
    left = narrow(commits, told)
    # The last one is known to be bad.
    untried = [n for n, commit in enumerate(left[:-1]) if commit not in told]
    middle = (len(left) - 1) / 2 - 0.5
    return left[min(untried, key=lambda n: (abs(n - middle), n))] if untried else None
