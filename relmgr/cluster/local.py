"""Run jobs on this machine: a pool of processes, each task with a limit; what kills one leaves its neighbours alone."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, TimeoutError, wait
from pathlib import Path

from pebble import ProcessExpired, ProcessPool

from relmgr.cluster.folder import RunFolder, Task
from relmgr.cluster.jobs import judge_ending
from relmgr.cluster.task import run_task
from relmgr.model.cluster import Attempt, ClusterSettings, Job, signal_name

# The task ends its command at the limit; this much later the pool ends the task.
_GRACE_SECONDS = 10.0


class LocalRunner:
    """At most `settings.workers` attempts at once, in worker processes."""

    def __init__(self, settings: ClusterSettings) -> None:
        self.settings = settings
        self.tasks: dict[Future[None], Task] = {}

    def open(self, run: RunFolder) -> None:
        """Make the pool; a fresh interpreter for each worker, as the calling process may have threads."""
        self.pool = ProcessPool(self.settings.workers, context=multiprocessing.get_context("spawn"))

    def refuse(self, tasks: Sequence[Task]) -> Mapping[Job, str]:
        """Refuse nothing: whether this machine's device is of the job's arch, the job itself finds out."""
        return {}

    def start(self, tasks: Sequence[Task]) -> None:
        """Give the attempts to the pool."""
        for task in tasks:
            future = self.pool.schedule(run_task, args=(task.spec(),), timeout=task.deadline + _GRACE_SECONDS)
            self.tasks[future] = task

    def adopt(self, task: Task) -> bool:
        """Take up no attempt, except one that had ended: what this machine runs ends with the process that began it."""
        if task.ending() is None:
            return False
        done: Future[None] = Future()
        done.set_result(None)
        self.tasks[done] = task
        return True

    def wait(self) -> Iterator[tuple[Task, Attempt]]:
        """Wait for the next attempts to end."""
        ended, _ = wait(self.tasks, timeout=self.settings.poll_seconds, return_when=FIRST_COMPLETED)
        for future in ended:
            task = self.tasks.pop(future)
            yield task, _conclude(task, future)

    def close(self) -> None:
        """End the pool; a task that still runs ends its command first."""
        for future in self.tasks:
            future.cancel()
        if self.tasks:
            self.pool.stop()  # type: ignore[no-untyped-call]
        else:
            self.pool.close()  # type: ignore[no-untyped-call]
        with contextlib.suppress(TimeoutError):
            self.pool.join(_GRACE_SECONDS)


def _conclude(task: Task, future: Future[None]) -> Attempt:
    error = future.exception()
    ending = task.ending()
    if ending is not None:
        return judge_ending(task, ending)
    _end_orphan(task)
    log = str(task.log)
    if isinstance(error, TimeoutError):
        return Attempt(number=task.number, outcome="deadline", detail="its worker did not end in time", log=log)
    if isinstance(error, ProcessExpired):
        code = error.exitcode
        how = signal_name(-code) if code < 0 else f"exit code {code}"
        return Attempt(number=task.number, outcome="crashed", detail=f"its worker ended by {how}", log=log)
    return Attempt(number=task.number, outcome="failed", detail=f"{error or 'it left no ending'}", log=log)


def _end_orphan(task: Task) -> None:
    """End the command of a worker that was killed: it was told by its last sign, and is known by its command line."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        pid = int(json.loads(task.beat())["command"])
        argv = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
        if argv == [part.encode() for part in task.spec()["argv"]]:
            os.killpg(pid, signal.SIGKILL)
