"""Submit attempts through submitit, in a process of its own: a call that hangs can be ended with all it started.

`submit` is for the caller. `python -m relmgr.cluster.slurm_submit` is that process: it reads a request on standard
input and answers with the ids. Results are never read through submitit: without accounting it waits for ever for a job
that crashed, and what it reads is a pickle from a shared folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypedDict

from relmgr.cluster.folder import Task
from relmgr.cluster.slurm_client import placement_options, time_limit
from relmgr.cluster.task import TaskSpec
from relmgr.errors import SourceError
from relmgr.model.cluster import Placement

_SECRET = re.compile(r"SECRET|TOKEN|PASSWORD|PASSWD|CREDENTIAL|PRIVATE", re.IGNORECASE)


class Request(TypedDict):
    """What the submitting process is told."""

    folder: str
    python: str | None
    parameters: dict[str, object]
    tasks: list[TaskSpec]


class Submission(NamedTuple):
    """What all submissions of a run share; `hidden` are environment variables that do not travel."""

    folder: Path
    run_name: str
    python: str | None = None
    hidden: tuple[str, ...] = ()


def submit(tasks: Sequence[Task], placement: Placement, shared: Submission, seconds: float) -> list[str]:
    """Submit attempts that one placement fits, as one array, and return their ids in Slurm. Raises `SourceError`."""
    request: Request = {
        "folder": str(shared.folder),
        "python": shared.python,
        "parameters": _parameters(tasks, placement, shared.run_name),
        "tasks": [task.spec() for task in tasks],
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "relmgr.cluster.slurm_submit"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(shared.hidden, own_path=shared.python is None),
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        out, err = process.communicate(json.dumps(request), timeout=seconds)
    except subprocess.TimeoutExpired:
        raise SourceError(f"no answer in {seconds:g} s", where="sbatch", next_step="see whether Slurm is up") from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    if process.returncode != 0:
        words = "; ".join(err.strip().splitlines()[-2:]) or f"exit code {process.returncode}"
        raise SourceError(words, where="sbatch", next_step="see what Slurm says")
    ids = json.loads(out.strip().splitlines()[-1])
    return [str(each) for each in ids]


def _parameters(tasks: Sequence[Task], placement: Placement, run_name: str) -> dict[str, object]:
    """Return the array's parameters in submitit's words."""
    # What Slurm would do about a lost node on its own, some minutes later, is done here, by rule.
    extra: dict[str, object] = {**placement_options(placement), "no-requeue": True}
    return {
        "job_name": run_name,
        "time": time_limit(max(task.deadline for task in tasks)),
        "use_srun": False,
        "stderr_to_stdout": True,
        "exclude": ",".join(tasks[0].avoid) or None,
        "additional_parameters": extra,
    }


def _environment(hidden: Sequence[str], *, own_path: bool) -> dict[str, str]:
    """Return this environment without secrets: Slurm keeps it with the job, for others to read.

    `own_path`: the nodes' Python is this one, and finds this very package.
    """
    here = str(Path(__file__).resolve().parents[2])
    kept = {name: value for name, value in os.environ.items() if name not in hidden and not _SECRET.search(name)}
    if own_path:
        kept["PYTHONPATH"] = os.pathsep.join(filter(None, [here, kept.get("PYTHONPATH", "")]))
    return kept


def answer(request: Request) -> list[str]:
    """Submit what a request names, through submitit, and return the ids."""
    import submitit

    from relmgr.cluster.task import run_task

    executor = submitit.SlurmExecutor(folder=request["folder"], python=request["python"])
    executor.update_parameters(**request["parameters"])
    with executor.batch():
        jobs = [executor.submit(run_task, spec) for spec in request["tasks"]]
    return [job.job_id for job in jobs]


if __name__ == "__main__":
    print(json.dumps(answer(json.load(sys.stdin))))
