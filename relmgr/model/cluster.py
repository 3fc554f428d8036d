"""Jobs on more than one machine: where each arch's run, how long they may take, and what became of them."""

from __future__ import annotations

import signal
from typing import Annotated, Literal

from pydantic import Field

from relmgr.model.base import Noun

ClusterName = Literal["local", "slurm"]

# `failed`: ended by itself with an exit code that is no answer, or without its output. `crashed`: ended by a signal.
# `lost`: its node gave no sign any more. `not-started`: never ran. `no-node`: no node can run it.
JobOutcome = Literal["done", "failed", "crashed", "deadline", "lost", "cancelled", "not-started", "no-node"]
Retried = Literal["failed", "crashed", "deadline", "lost", "not-started"]

# What Slurm's options are made of; no blanks or quotes, so that nothing ends the option it stands in.
Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.,:/&|*@+\[\]()=-]{1,200}$")]
JobName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}$")]

# The element of a job's command line that stands for the file it is to write.
OUTPUT = "{output}"


class Placement(Noun):
    """Where a job may run, in Slurm's words; what is None here is taken from `cluster`, then left to Slurm."""

    partition: Word | None = None
    account: Word | None = None
    qos: Word | None = None
    constraint: Word | None = Field(default=None, description="--constraint, such as the feature gfx90a")
    gres: Word | None = Field(default=None, description="--gres, such as gpu:1")
    cpus: int | None = Field(default=None, ge=1, description="--cpus-per-task")
    memory_gb: float | None = Field(default=None, gt=0)
    deadline_seconds: float | None = Field(default=None, gt=0, description="running time of a job")
    retries: int | None = Field(default=None, ge=0, le=10, description="further attempts after the first")


class ClusterSettings(Placement):
    """How jobs are run. Times in seconds and by this machine's clock; none of them is left to the cluster."""

    archs: dict[JobName, Placement] = Field(default={}, description="where the jobs of each arch run")
    deadline_seconds: float = Field(default=3600, gt=0, description="running time of a job")
    retries: int = Field(default=1, ge=0, le=10, description="further attempts after the first")
    retry: tuple[Retried, ...] = Field(default=("crashed", "lost"), description="the endings that are tried again")
    queue_seconds: float = Field(default=86400, gt=0, description="a job that waits for longer is taken back")
    start_seconds: float = Field(default=120, gt=0, description="from a job's start to its first sign")
    lost_seconds: float = Field(default=20, ge=2, description="a job silent for longer is lost; it signs every second")
    call_seconds: float = Field(default=30, gt=0, description="for each call of a Slurm command")
    poll_seconds: float = Field(default=2, gt=0, description="between looks at the jobs")
    shards: int = Field(default=4, ge=1, le=1000, description="jobs that the work of an arch is cut into, at most")
    workers: int = Field(default=2, ge=1, le=256, description="jobs at once on this machine, with --cluster local")
    python: str | None = Field(default=None, description="the nodes' Python that has relmgr (default: this one)")

    def placement(self, arch: str | None) -> Placement:
        """Return where jobs of `arch` run, with what is left open filled in from here."""
        own = self.archs.get(arch) if arch is not None else None
        names = Placement.model_fields
        return Placement(**{name: _first(getattr(own, name, None), getattr(self, name)) for name in names})


class Job(Noun):
    """One command line to run somewhere. Its element `{output}` is replaced by the file it must write.

    `answers` are the exit codes with which the command says something, rather than that it could not. `stamp` says what
    else an answer depends on: a run is taken up again only by jobs that are equal in all of this.
    """

    name: JobName
    argv: tuple[str, ...] = Field(min_length=1)
    arch: str | None = None
    answers: tuple[int, ...] = (0,)
    stamp: str = ""


class Attempt(Noun):
    """One attempt at a job, and how it ended. `signal` is the name of the one that ended the command."""

    number: int
    outcome: JobOutcome
    exit_code: int | None = None
    signal: str | None = None
    node: str | None = None
    seconds: float | None = None
    detail: str = ""
    slurm_id: str | None = None
    log: str | None = None
    output: str | None = Field(default=None, description="the file the command wrote; of a job that is done")


class JobReport(Noun):
    """A job and all its attempts, the first one first."""

    name: str
    arch: str | None
    outcome: JobOutcome
    attempts: tuple[Attempt, ...] = Field(min_length=1)

    @property
    def last(self) -> Attempt:
        """The attempt that counts."""
        return self.attempts[-1]

    @property
    def tried_again(self) -> bool:
        """Tell whether one attempt was not enough."""
        return len(self.attempts) > 1

    @property
    def why(self) -> str:
        """How it ended, in one line, with every attempt that was tried again."""
        return "; then ".join(f"{attempt.outcome}{_on(attempt)}{_because(attempt)}" for attempt in self.attempts)


def signal_name(number: int) -> str:
    """Return a signal's name, or its number where it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _first(own: object, general: object) -> object:
    return general if own is None else own


def _on(attempt: Attempt) -> str:
    return f" on {attempt.node}" if attempt.node else ""


def _because(attempt: Attempt) -> str:
    return f" ({attempt.detail})" if attempt.detail else ""
