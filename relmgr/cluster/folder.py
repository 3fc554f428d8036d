"""The folder of a run: its jobs, and for each attempt what was submitted, how it goes on, and what became of it.

plan.json                     the run's name and jobs
jobs/<name>/<attempt>/        command's log and output, `beat`, `ending.json` (written on the node),
                              `submitted.json` and `verdict.json` (written here)
slurm/                        submission files, and what batch scripts themselves printed
"""

from __future__ import annotations

import fcntl
import json
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from relmgr.cluster.task import BEAT, ENDING, LOG, TaskSpec
from relmgr.errors import UserError
from relmgr.model.base import Noun
from relmgr.model.cluster import OUTPUT, Attempt, Job, JobName

_MAX_BYTES = 16 << 20
_OUTPUT, _SUBMITTED, _VERDICT = "output.json", "submitted.json", "verdict.json"


class NodeEnding(Noun):
    """How a command ended, as its node wrote it; `error` where it could not be started."""

    exit_code: int | None
    signal: int | None
    timed_out: bool
    error: str | None
    node: str
    seconds: float


class _Plan(Noun):
    name: JobName
    jobs: tuple[Job, ...]


@dataclass(frozen=True)
class Task:
    """One attempt at a job, in a folder of its own. It is kept from the nodes in `avoid`."""

    job: Job
    number: int
    folder: Path
    deadline: float
    avoid: tuple[str, ...] = ()

    @property
    def output(self) -> Path:
        """The file that the command is to write."""
        return self.folder / _OUTPUT

    @property
    def log(self) -> Path:
        """What the command printed."""
        return self.folder / LOG

    def spec(self) -> TaskSpec:
        """Return what the node is told."""
        argv = [str(self.output) if part == OUTPUT else part for part in self.job.argv]
        return {"argv": argv, "folder": str(self.folder), "deadline": self.deadline}

    def beat(self) -> bytes:
        """Return the last sign of life, empty before the first."""
        return _read(self.folder / BEAT)

    def ending(self) -> NodeEnding | None:
        """Return what the node wrote about the end, if it did."""
        try:
            # Listing the folder makes a network file system look anew.
            if ENDING not in {entry.name for entry in self.folder.iterdir()}:
                return None
            return NodeEnding.model_validate_json(_read(self.folder / ENDING))
        except (OSError, ValidationError):
            return None

    def note_submitted(self, slurm_id: str) -> None:
        """Note under which id Slurm runs this attempt."""
        (self.folder / _SUBMITTED).write_text(json.dumps({"slurm_id": slurm_id}), encoding="utf-8")

    def submitted(self) -> str | None:
        """Return the id under which Slurm runs this attempt, if it was submitted."""
        try:
            return str(json.loads(_read(self.folder / _SUBMITTED))["slurm_id"])
        except (ValueError, KeyError, TypeError):
            return None

    def conclude(self, attempt: Attempt) -> None:
        """Write what became of this attempt."""
        partial = self.folder / f"{_VERDICT}.partial"
        partial.write_text(attempt.model_dump_json(), encoding="utf-8")
        partial.replace(self.folder / _VERDICT)


class RunFolder:
    """The folder of one run."""

    def __init__(self, path: Path, name: str, jobs: Sequence[Job]) -> None:
        self.path, self.name, self.jobs = path, name, tuple(jobs)

    def next_task(self, job: Job, deadline: float, avoid: tuple[str, ...] = ()) -> Task:
        """Return a new attempt at `job`, with its empty folder."""
        numbers = self._numbers(job)
        task = self._task(job, numbers[-1] + 1 if numbers else 1, deadline, avoid)
        task.folder.mkdir(parents=True)
        return task

    def finished(self, job: Job) -> Attempt | None:
        """Return the attempt at `job` that is done and whose output is still there, if there is one."""
        for number in reversed(self._numbers(job)):
            task = self._task(job, number, 0)
            verdict = _verdict(task)
            if verdict is not None and verdict.outcome == "done" and task.output.is_file():
                # Where it lies now: the folder may have been moved since.
                return verdict.model_copy(update={"output": str(task.output), "log": str(task.log)})
        return None

    def open_task(self, job: Job, deadline: float) -> Task | None:
        """Return the last attempt at `job` if nobody has concluded it: its run was cut short."""
        numbers = self._numbers(job)
        task = self._task(job, numbers[-1], deadline) if numbers else None
        return task if task is not None and _verdict(task) is None else None

    def _numbers(self, job: Job) -> list[int]:
        folder = self.path / "jobs" / job.name
        return sorted(int(entry.name) for entry in folder.glob("[1-9]*") if entry.name.isdecimal())

    def _task(self, job: Job, number: int, deadline: float, avoid: tuple[str, ...] = ()) -> Task:
        return Task(job, number, self.path / "jobs" / job.name / str(number), deadline, avoid)


@contextmanager
def opened_folder(path: Path, jobs: Sequence[Job]) -> Iterator[RunFolder]:
    """Open the folder of a run, new or begun before, for this process alone.

    Raises `UserError` where it belongs to other jobs, or another process works in it.
    """
    names = [job.name for job in jobs]
    if len(set(names)) != len(names):
        raise ValueError(f"two jobs of one name: {names}")
    path = path.absolute()
    try:
        # For nobody else: nodes run what lies there.
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = (path / "lock").open("w")
    except OSError as error:
        raise UserError(f"cannot write: {error.strerror}", where=str(path), next_step="name another folder") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError("another relmgr works in this folder", where=str(path), next_step="wait for it") from None
        yield RunFolder(path, _plan_name(path / "plan.json", tuple(jobs)), jobs)


def _plan_name(file: Path, jobs: tuple[Job, ...]) -> str:
    """Return the run's name; a new plan gets one that no other run has."""
    if not file.exists():
        plan = _Plan(name=f"relmgr-{secrets.token_hex(4)}", jobs=jobs)
        file.write_text(plan.model_dump_json(indent=1), encoding="utf-8")
        return plan.name
    found = _read_plan(file)
    if found is None or found.jobs != jobs:
        raise UserError(
            "not the folder of this run: it has other jobs" if found else "not the folder of a run",
            where=str(file.parent),
            next_step="give the options of that run, or name another folder",
        )
    return found.name


def _read_plan(file: Path) -> _Plan | None:
    try:
        return _Plan.model_validate_json(_read(file))
    except ValidationError:
        return None


def _verdict(task: Task) -> Attempt | None:
    try:
        return Attempt.model_validate_json(_read(task.folder / _VERDICT))
    except ValidationError:
        return None


def _read(file: Path) -> bytes:
    """Return a small file's bytes; empty where it is absent, or too large to be ours."""
    try:
        with file.open("rb") as source:
            data = source.read(_MAX_BYTES + 1)
    except OSError:
        return b""
    return data if len(data) <= _MAX_BYTES else b""
