"""Worker processes, some in use and some in reserve: whatever a job does to its process, it does to that one alone.

Every job ends in an answer of its own, in a signal or an exit code that is read, or at a deadline. Nothing is concluded
from silence: a worker that ends without an answer has crashed, whatever its exit code.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

from relmgr.smoke.worker import NO_DEVICE

Phase = Literal["start", "before-launch", "launched", "after-launch"]

# Opening a device, compiling, and judging a result have limits of their own; a launch has the job's.
START_SECONDS = 90.0
JUDGE_SECONDS = 60.0
# A worker limits its own launch where it can; this long after that it is ended from outside.
GRACE_SECONDS = 1.0
MAX_ANSWER_BYTES = 1 << 20
MAX_STILLBORN = 3
_STDERR_TAIL = 400
# After these the next job finds the worker as the last one did; after anything else it goes.
_HARMLESS = (None, "right", "no-op", "launch-refused")


@dataclass
class Task:
    """A job for a worker. `exclusive`: its worker serves no other job after it. `limit` in seconds for the launch."""

    job: dict[str, Any]
    exclusive: bool = False
    limit: float = 10.0


@dataclass(frozen=True)
class Ending:
    """How a job ended: its `answer`, or without one the `phase` it had reached, and what ended the process."""

    task: Task
    answer: dict[str, Any] | None
    phase: Phase
    died_by: int | None = None
    exit_code: int | None = None
    timed_out: bool = False
    last_words: str = ""
    seconds: float = 0.0

    def why(self) -> str:
        """Return in words how a worker ended without an answer."""
        if self.timed_out:
            return f"killed after {self.seconds:.1f} s without an end"
        how = (
            f"signal {signal.Signals(self.died_by).name}" if self.died_by else f"exit code {self.exit_code}, no answer"
        )
        return f"the process ended by {how}{': ' + self.last_words if self.last_words else ''}"


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    pending: bytearray = field(default_factory=bytearray)
    task: Task | None = None
    phase: Phase = "start"
    served: bool = False
    trouble: dict[str, Any] | None = None
    begun: float = 0.0
    deadline: float = 0.0


class Pool:
    """`size` workers that go on from task to task, and as many as `spares` beside them, each for one exclusive task.

    While exclusive tasks are left, up to `spares` more stand ready with their device open.
    """

    def __init__(self, backend: str, *, size: int = 2, spares: int = 2, open_device: bool = True) -> None:
        self.backend, self.size, self.spares = backend, max(1, size), spares
        self.arguments = [backend] if open_device else [backend, NO_DEVICE]
        self.selector = selectors.DefaultSelector()
        self.idle: list[_Worker] = []
        self.busy: list[_Worker] = []
        self.ending: list[subprocess.Popen[bytes]] = []
        self.replaced = self.stillborn = 0

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        for process in self.ending:
            process.wait()
        self.selector.close()

    def stop(self) -> None:
        """End all workers, without waiting for it: leaving the context does."""
        for worker in [*self.idle, *self.busy]:
            self._end(worker)
        self.idle, self.busy = [], []

    def warm(self) -> None:
        """Start the first workers, without waiting: they open their device while the rest is made ready."""
        for _ in range(self.size):
            self._start()

    def ask(self, job: dict[str, Any], seconds: float) -> Ending:
        """Do one job that launches nothing, and return how it ended."""
        return next(self.run([Task(job, limit=seconds)]))

    def run(self, tasks: Iterable[Task]) -> Iterator[Ending]:
        """Do all `tasks`, several at once; yield each one's ending as it comes."""
        shared: deque[Task] = deque()
        alone: deque[Task] = deque()
        for task in tasks:
            (alone if task.exclusive else shared).append(task)
        lanes = self.spares or self.size
        while shared or alone or self.busy:
            at_work = Counter(worker.task.exclusive for worker in self.busy if worker.task)
            for _ in range(min(len(shared), self.size - at_work[False])):
                self._give(self._take(fresh=False), shared.popleft())
            for _ in range(min(len(alone), lanes - at_work[True])):
                self._give(self._take(fresh=True), alone.popleft())
            self._refill(len(alone))
            yield from self._wait()

    def _take(self, *, fresh: bool) -> _Worker:
        """Return an idle worker, the likeliest to be ready: the first that started; a `fresh` one has served nobody.

        Exclusive tasks get fresh ones: where a launch hands over too few bytes, CUDA leaves in their place what an
        earlier launch of that process passed, which on an H200 made a missing pointer one of another tensor.
        """
        suited = [worker for worker in self.idle if not (fresh and worker.served)]
        chosen = suited[0] if suited else self._start()
        self.idle.remove(chosen)
        return chosen

    def _refill(self, alone: int) -> None:
        # Reserves are for tasks whose worker goes afterwards: opening a device costs the others time.
        ready = sum(not worker.served for worker in self.idle)
        for _ in range(min(self.spares, alone) - ready if self.stillborn < MAX_STILLBORN else 0):
            self._start()

    def _start(self) -> _Worker:
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with its worker
        process = subprocess.Popen(
            [sys.executable, "-m", "relmgr.smoke.worker", *self.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=worker_environment(),
            start_new_session=True,
        )
        assert process.stdout is not None
        # It opens its device by itself, so that one in reserve is ready when it is needed.
        worker = _Worker(process, errors)
        self.selector.register(process.stdout, selectors.EVENT_READ, worker)
        self.idle.append(worker)
        return worker

    def _give(self, worker: _Worker, task: Task) -> None:
        worker.task, worker.phase, worker.begun = task, "before-launch", time.monotonic()
        worker.deadline = worker.begun + START_SECONDS + task.limit
        self.busy.append(worker)
        self._send(worker, task.job)

    def _send(self, worker: _Worker, job: dict[str, Any]) -> None:
        assert worker.process.stdin is not None
        # A broken pipe: it has ended, and its closed output says so where endings are read.
        with contextlib.suppress(BrokenPipeError):
            worker.process.stdin.write(json.dumps(job).encode() + b"\n")
            worker.process.stdin.flush()

    def _wait(self) -> Iterator[Ending]:
        """Read what the workers say until the next deadline; yield the jobs that ended."""
        self.ending = [process for process in self.ending if process.poll() is None]
        now = time.monotonic()
        until = min((worker.deadline for worker in self.busy), default=now)
        for key, _ in self.selector.select(max(0.0, until - now)):
            worker: _Worker = key.data
            chunk = os.read(key.fd, 65536)
            worker.pending += chunk
            ending = self._read_answers(worker)
            if ending is None and (not chunk or len(worker.pending) > MAX_ANSWER_BYTES):
                ending = self._ended(worker)
            if ending is not None:
                yield ending
        now = time.monotonic()
        for worker in [worker for worker in self.busy if worker.deadline <= now]:
            ending = self._ended(worker, timed_out=True)
            assert ending is not None
            yield ending

    def _read_answers(self, worker: _Worker) -> Ending | None:
        """Follow a worker's steps; return its job's ending when the answer is among them."""
        *lines, rest = worker.pending.split(b"\n")
        worker.pending = bytearray(rest)
        for line in lines:
            answer = json.loads(line)
            task = worker.task
            if task is None:
                # Nothing but trouble is told without a job; the job that it is given, or was about to be, gets it.
                worker.trouble = answer
            elif answer["event"] == "launch":
                worker.phase, worker.deadline = "launched", time.monotonic() + task.limit + GRACE_SECONDS
            elif answer["event"] == "landed":
                worker.phase, worker.deadline = "after-launch", time.monotonic() + JUDGE_SECONDS
            else:
                return self._answered(worker, answer)
        return None

    def _answered(self, worker: _Worker, answer: dict[str, Any]) -> Ending:
        task = worker.task
        assert task is not None
        ending = Ending(task, answer, worker.phase, seconds=time.monotonic() - worker.begun)
        self.busy.remove(worker)
        if task.exclusive or answer.get("outcome") not in _HARMLESS:
            self.replaced += 1
            self._end(worker)
        else:
            worker.task, worker.phase, worker.served = None, "start", True
            self.idle.insert(0, worker)
        return ending

    def _ended(self, worker: _Worker, *, timed_out: bool = False) -> Ending | None:
        """Read how a worker ended that gave no answer; None where it had no job."""
        task, phase = worker.task, worker.phase
        if timed_out:
            _kill(worker.process)
        code = _exit_code(worker.process)
        words = _last_words(worker.errors)
        self.replaced += 1
        (self.busy if worker in self.busy else self.idle).remove(worker)
        self._end(worker)
        if task is None:
            self.stillborn += 1
            return None
        return Ending(
            task,
            worker.trouble,
            phase,
            died_by=-code if code < 0 else None,
            exit_code=code if code >= 0 else None,
            timed_out=timed_out,
            last_words=words,
            seconds=time.monotonic() - worker.begun,
        )

    def _end(self, worker: _Worker) -> None:
        assert worker.process.stdin is not None
        assert worker.process.stdout is not None
        self.selector.unregister(worker.process.stdout)
        _kill(worker.process)
        # A device's driver tidies up after it for a while: nobody waits for that until the end.
        self.ending.append(worker.process)
        with contextlib.suppress(BrokenPipeError):
            worker.process.stdin.close()
        worker.process.stdout.close()
        worker.errors.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a worker and what it started (a compiler): it leads a session of its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _exit_code(process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait(timeout=GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        # Its output is closed and it lives on: it is of no use to anybody.
        _kill(process)
        return process.wait()


def _last_words(errors: IO[bytes]) -> str:
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - _STDERR_TAIL))
    lines = errors.read().decode("utf-8", errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else ""


def worker_environment() -> dict[str, str]:
    """Return an environment in which a child finds this very package, wherever it was imported from."""
    here = str(Path(__file__).resolve().parents[2])
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH", "")]))}
