"""Run independent jobs to their ends: each answers, or says why it did not; what is tried again is a rule."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from relmgr.cluster.folder import NodeEnding, RunFolder, Task, opened_folder
from relmgr.cluster.task import log_head
from relmgr.model.cluster import Attempt, ClusterSettings, Job, JobOutcome, JobReport, signal_name

OnAttempt = Callable[[Job, Attempt], None]


class Runner(Protocol):
    """Where attempts run. It tells of every one that was started or adopted, exactly once."""

    def open(self, run: RunFolder) -> None:
        """Make ready for the attempts of `run`."""

    def refuse(self, tasks: Sequence[Task]) -> Mapping[Job, str]:
        """Return the jobs that no node here can run, and why."""

    def start(self, tasks: Sequence[Task]) -> None:
        """Start attempts."""

    def adopt(self, task: Task) -> bool:
        """Take up an attempt whose run was cut short; False where it does not go on by itself."""

    def wait(self) -> Iterator[tuple[Task, Attempt]]:
        """Wait a little, and yield the attempts that ended."""

    def close(self) -> None:
        """End what still runs."""


def run_jobs(
    jobs: Sequence[Job],
    settings: ClusterSettings,
    runner: Runner,
    folder: Path,
    on_attempt: OnAttempt = lambda job, attempt: None,
) -> tuple[JobReport, ...]:
    """Run `jobs`, and return what became of each, in their order; `on_attempt` is told each ending as it comes.

    In the folder of an earlier run of the same jobs only what is missing runs, and attempts that still go on are taken
    up. A job ends by itself or at one of the limits of `settings`: nothing here waits for ever. Raises `UserError`
    and, where no machine can be asked, `SourceError`.
    """
    with opened_folder(folder, jobs) as run:
        runner.open(run)
        try:
            return _Run(run, settings, runner, on_attempt).to_the_end()
        finally:
            runner.close()


class _Run:
    """One run while it goes on."""

    def __init__(self, run: RunFolder, settings: ClusterSettings, runner: Runner, told: OnAttempt) -> None:
        self.run, self.settings, self.runner, self.told = run, settings, runner, told
        self.attempts: dict[Job, list[Attempt]] = {job: [] for job in run.jobs}
        self.running = 0

    def to_the_end(self) -> tuple[JobReport, ...]:
        """Take up, start, wait and try again until every job has ended."""
        self._start(list(self._missing()))
        while self.running:
            again = []
            for task, attempt in self.runner.wait():
                self.running -= 1
                self._note(task, attempt)
                if self._is_tried_again(task.job):
                    again.append(self._next(task.job))
            self._start(again)
        return tuple(
            JobReport(name=job.name, arch=job.arch, outcome=attempts[-1].outcome, attempts=tuple(attempts))
            for job, attempts in self.attempts.items()
        )

    def _missing(self) -> Iterator[Task]:
        """Yield a new attempt for every job that has no answer yet and is not on its way to one."""
        for job in self.run.jobs:
            if (finished := self.run.finished(job)) is not None:
                self.attempts[job].append(finished)
                continue
            begun = self.run.open_task(job, self._deadline(job))
            if begun is not None and self.runner.adopt(begun):
                self.running += 1
                continue
            if begun is not None:
                why = "the run that started it was cut short"
                begun.conclude(Attempt(number=begun.number, outcome="lost", detail=why))
            yield self._next(job)

    def _start(self, tasks: list[Task]) -> None:
        """Start what some node can run; the others end here."""
        refused = self.runner.refuse(tasks) if tasks else {}
        for task in tasks:
            if task.job in refused:
                self._note(task, Attempt(number=task.number, outcome="no-node", detail=refused[task.job]))
        startable = [task for task in tasks if task.job not in refused]
        if startable:
            self.running += len(startable)
            self.runner.start(startable)

    def _next(self, job: Job) -> Task:
        lost_on = (attempt.node for attempt in self.attempts[job] if attempt.outcome == "lost" and attempt.node)
        return self.run.next_task(job, self._deadline(job), tuple(dict.fromkeys(lost_on)))

    def _note(self, task: Task, attempt: Attempt) -> None:
        task.conclude(attempt)
        self.attempts[task.job].append(attempt)
        self.told(task.job, attempt)

    def _is_tried_again(self, job: Job) -> bool:
        attempts = self.attempts[job]
        retries = self.settings.placement(job.arch).retries
        return attempts[-1].outcome in self.settings.retry and len(attempts) <= (retries or 0)

    def _deadline(self, job: Job) -> float:
        return self.settings.placement(job.arch).deadline_seconds or self.settings.deadline_seconds


def judge_ending(task: Task, ending: NodeEnding, slurm_id: str | None = None) -> Attempt:
    """Return what the node's own account of the end amounts to."""
    outcome, detail = _judge(task, ending)
    name = signal_name(ending.signal) if ending.signal else None
    return Attempt(
        number=task.number,
        outcome=outcome,
        exit_code=ending.exit_code,
        signal=name,
        node=ending.node,
        seconds=ending.seconds,
        detail=detail,
        slurm_id=slurm_id,
        log=str(task.log),
        output=str(task.output) if outcome == "done" else None,
    )


def _judge(task: Task, ending: NodeEnding) -> tuple[JobOutcome, str]:
    if ending.error:
        return "failed", ending.error
    if ending.timed_out:
        return "deadline", f"ended after its {task.deadline:g} s"
    if ending.signal:
        return "crashed", f"ended by {signal_name(ending.signal)}{_last_words(task)}"
    if ending.exit_code not in task.job.answers:
        return "failed", f"exit code {ending.exit_code}{_last_words(task)}"
    if not _appears(task.output):
        return "failed", f"exit code {ending.exit_code}, and no output{_last_words(task)}"
    return "done", ""


def _appears(output: Path) -> bool:
    # The ending was written after the output; a network file system may show it a little earlier.
    for _ in range(20):
        if output.is_file():
            return True
        time.sleep(0.1)
    return False


def _last_words(task: Task) -> str:
    """Return the last line that the command printed, for a person to know what to look for."""
    begin = len(log_head(task.spec()["argv"]).encode())
    try:
        with task.log.open("rb") as log:
            log.seek(max(begin, log.seek(0, 2) - 2000))
            lines = log.read().decode("utf-8", errors="replace").strip().splitlines()
    except OSError:
        return ""
    return f": {lines[-1].strip()[:300]}" if lines else ""
