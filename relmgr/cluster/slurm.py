"""Run jobs on a Slurm cluster: submitted as arrays, followed by their own signs of life and by limits kept here.

Slurm is asked too, but nothing waits for its answer: a controller that is away, accounting that does not exist, a node
that died without a word all end in a named outcome.
"""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from relmgr.cluster.folder import RunFolder, Task
from relmgr.cluster.jobs import judge_ending
from relmgr.cluster.slurm_client import Queued, cancel, cancel_run, read_queue, why_no_node
from relmgr.cluster.slurm_submit import Submission, submit
from relmgr.cluster.slurm_watch import Watch
from relmgr.errors import SourceError, UserError
from relmgr.model.cluster import Attempt, ClusterSettings, Job


@dataclass
class _Running:
    task: Task
    slurm_id: str
    watch: Watch


class SlurmRunner:
    """Attempts as jobs of Slurm's, under one name a run, so that a later process finds them again."""

    def __init__(self, settings: ClusterSettings, hidden: Sequence[str] = ()) -> None:
        """`hidden` are environment variables that jobs do not get, besides those that are named like secrets."""
        self.settings, self.hidden = settings, tuple(hidden)
        self.running: list[_Running] = []
        self.unsent: list[tuple[Task, Attempt]] = []
        self.queue: dict[str, Queued] = {}

    def open(self, run: RunFolder) -> None:
        """See that there is a Slurm to talk to. Raises `UserError` and `SourceError`."""
        if importlib.util.find_spec("submitit") is None:
            raise UserError("submitit is not installed", next_step="pip install 'relmgr[slurm]'")
        if shutil.which("sbatch") is None:
            next_step = "run this where Slurm's commands are (Debian: slurm-client)"
            raise SourceError("sbatch is not installed", where="Slurm", next_step=next_step)
        self.run = run
        self.queue = read_queue(run.name, self.settings.call_seconds)

    def refuse(self, tasks: Sequence[Task]) -> Mapping[Job, str]:
        """Return the jobs for which Slurm has no node; each kind of placement is asked for once."""
        refused = {}
        for (arch, avoid), group in _grouped(tasks).items():
            placement = self.settings.placement(arch)
            deadline = max(task.deadline for task in group)
            try:
                why = why_no_node(placement, avoid, deadline, self.settings.call_seconds)
            except SourceError:
                # Away for a while: submitting will tell, and the jobs that run go on.
                continue
            if why is not None:
                refused.update(dict.fromkeys((task.job for task in group), why))
        return refused

    def start(self, tasks: Sequence[Task]) -> None:
        """Submit the attempts, one array for each arch."""
        for (arch, _), group in _grouped(tasks).items():
            try:
                ids = self._submit(group, arch)
            except SourceError as error:
                why = f"{error.where}: {error.what}"
                self.unsent += [(t, Attempt(number=t.number, outcome="not-started", detail=why)) for t in group]
                continue
            for task, slurm_id in zip(group, ids, strict=True):
                task.note_submitted(slurm_id)
                self._watch(task, slurm_id)

    def adopt(self, task: Task) -> bool:
        """Take up an attempt that ended, or that Slurm still knows."""
        slurm_id = task.submitted()
        if slurm_id is None or (task.ending() is None and slurm_id not in self.queue):
            return False
        self._watch(task, slurm_id)
        return True

    def wait(self) -> Iterator[tuple[Task, Attempt]]:
        """Look at everything once, after a pause, and yield what ended; jobs given up are taken back."""
        self._take_back_strays()
        unsent, self.unsent = self.unsent, []
        yield from unsent
        if unsent or not self.running:
            return
        time.sleep(self.settings.poll_seconds)
        queue = self._ask()
        ended = []
        for each in list(self.running):
            attempt = self._look(each, queue)
            if attempt is not None:
                self.running.remove(each)
                ended.append((each, attempt))
        self._take_back([each.slurm_id for each, attempt in ended if attempt.exit_code is None])
        yield from ((each.task, attempt) for each, attempt in ended)

    def close(self) -> None:
        """Take back what still runs, and what was submitted although no answer came."""
        with contextlib.suppress(SourceError):
            cancel_run(self.run.name, self.settings.call_seconds)

    def _take_back_strays(self) -> None:
        """Take back what an earlier process of this run submitted and nobody follows."""
        known = {each.slurm_id for each in self.running}
        self._take_back([slurm_id for slurm_id in self.queue if slurm_id not in known])
        self.queue = {}

    def _submit(self, group: Sequence[Task], arch: str | None) -> list[str]:
        settings = self.settings
        where = Submission(self.run.path / "slurm", self.run.name, settings.python, self.hidden)
        return submit(group, settings.placement(arch), where, settings.call_seconds + len(group))

    def _watch(self, task: Task, slurm_id: str) -> None:
        self.running.append(_Running(task, slurm_id, Watch(self.settings, task.deadline, time.monotonic())))

    def _ask(self) -> Mapping[str, Queued] | None:
        """Return what Slurm says of the run's jobs, None where it does not answer."""
        try:
            return read_queue(self.run.name, self.settings.call_seconds)
        except SourceError:
            return None

    def _look(self, each: _Running, queue: Mapping[str, Queued] | None) -> Attempt | None:
        task = each.task
        ending = task.ending()
        if ending is not None:
            return judge_ending(task, ending, each.slurm_id)
        queued = None if queue is None else queue.get(each.slurm_id, Queued("UNKNOWN", "", ""))
        verdict = each.watch.judge(time.monotonic(), task.beat(), queued)
        if verdict is None:
            return None
        return Attempt(
            number=task.number,
            outcome=verdict.outcome,
            node=each.watch.node,
            detail=f"{verdict.detail}{self._batch_words(each)}",
            slurm_id=each.slurm_id,
            log=str(task.log) if task.log.exists() else None,
        )

    def _batch_words(self, each: _Running) -> str:
        """Return the last line that the batch script itself printed, where the task never began."""
        # https://github.com/facebookincubator/submitit/blob/main/submitit/core/utils.py, JobPaths
        file = self.run.path / "slurm" / f"{each.slurm_id}_0_log.out"
        if each.task.log.exists() or not file.exists():
            return ""
        with file.open("rb") as log:
            log.seek(max(0, log.seek(0, 2) - 2000))
            lines = log.read().decode("utf-8", errors="replace").strip().splitlines()
        return f": {lines[-1].strip()[:300]}" if lines else ""

    def _take_back(self, slurm_ids: Sequence[str]) -> None:
        # It may have ended, or its controller may be away: what matters was written down.
        with contextlib.suppress(SourceError):
            cancel(slurm_ids, self.settings.call_seconds)


def _grouped(tasks: Sequence[Task]) -> dict[tuple[str | None, tuple[str, ...]], list[Task]]:
    """Return the tasks by arch and by the nodes they keep from."""
    groups: dict[tuple[str | None, tuple[str, ...]], list[Task]] = defaultdict(list)
    for task in tasks:
        groups[task.job.arch, task.avoid].append(task)
    return groups
