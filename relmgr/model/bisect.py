"""A bisection between a good and a bad commit of a provider: what was tried, and what is left."""

from __future__ import annotations

from typing import Literal

from relmgr.model.base import Noun

TrialOutcome = Literal["good", "bad", "skip"]


class Trial(Noun):
    """One commit that was tried. `why` says why one was skipped: could not be checked out, built or run, or hung.

    One that could not be checked out tells of the clone, and nothing of the command.
    """

    commit: str
    subject: str
    outcome: TrialOutcome
    exit_code: int | None
    seconds: float
    why: str = ""
    checked_out: bool = True


class Bisection(Noun):
    """The document of `pin bisect`. `first_bad` is None while skipped commits leave several `candidates`.

    `candidates` are oldest first; the first bad commit is one of them. `doubt` says which end the command contradicts:
    then nobody is blamed.
    """

    pin: str
    provider: str
    good: str
    bad: str
    commits: int
    trials: tuple[Trial, ...]
    first_bad: str | None
    candidates: tuple[str, ...]
    subject: str | None = None
    doubt: str = ""
