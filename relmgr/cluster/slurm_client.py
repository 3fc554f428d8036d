"""Slurm's commands: each one an argument list, each with a limit, each failure with the command's own words."""

from __future__ import annotations

import math
import re
import subprocess
from collections.abc import Sequence
from typing import NamedTuple

from relmgr.errors import SourceError
from relmgr.model.cluster import Placement

_MARGIN_SECONDS = 120
_INSTALL = "run this where Slurm's commands are (Debian: slurm-client)"


class Queued(NamedTuple):
    """What Slurm says of a job: its state in long form, its node ("" before it has one) and the reason it waits."""

    state: str
    node: str
    reason: str


class NoAnswer(SourceError):
    """A command of Slurm's that did not end in time: nothing is known."""


def call(argv: Sequence[str], seconds: float) -> str:
    """Run one of Slurm's commands and return what it printed. Raises `SourceError`, also after `seconds`."""
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=seconds
        )
    except FileNotFoundError:
        raise SourceError(f"{argv[0]} is not installed", where="Slurm", next_step=_INSTALL) from None
    except subprocess.TimeoutExpired:
        raise NoAnswer(
            f"no answer in {seconds:g} s", where=argv[0], next_step="see whether slurmctld is up; raise call_seconds"
        ) from None
    if done.returncode != 0:
        words = "; ".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-3:])
        raise SourceError(words or f"exit code {done.returncode}", where=argv[0], next_step="see what Slurm says")
    return done.stdout


def read_queue(run_name: str, seconds: float) -> dict[str, Queued]:
    """Return what Slurm knows of a run's jobs, ended ones for some minutes too; an array's task is `<id>_<index>`."""
    # By the run's name: asked for an id that it has forgotten, squeue would fail for all.
    text = call(["squeue", "-h", "-r", "-t", "all", f"--name={run_name}", "-o", "%i|%T|%N|%r"], seconds)
    found = {}
    for line in text.splitlines():
        slurm_id, _, rest = line.partition("|")
        state, _, rest = rest.partition("|")
        node, _, reason = rest.partition("|")
        found[slurm_id.strip()] = Queued(state.strip(), node.strip(), reason.strip())
    return found


def cancel(slurm_ids: Sequence[str], seconds: float) -> None:
    """Take jobs back, whatever they are doing. Raises `SourceError`."""
    if slurm_ids:
        call(["scancel", "--quiet", *slurm_ids], seconds)


def cancel_run(run_name: str, seconds: float) -> None:
    """Take back whatever a run has in the queue, also what it does not know of. Raises `SourceError`."""
    call(["scancel", "--quiet", f"--name={run_name}"], seconds)


def why_no_node(placement: Placement, avoid: Sequence[str], deadline: float, seconds: float) -> str | None:
    """Return None when Slurm would place such a job now or later, else what it says and which nodes there are.

    Slurm's own scheduler is asked with the very options the job will have; nothing is submitted. Raises `SourceError`
    where Slurm does not answer.
    """
    options = placement_options(placement) | {"time": time_limit(deadline)}
    flags = [f"--{name}={value}" for name, value in options.items()]
    flags += [f"--exclude={','.join(avoid)}"] if avoid else []
    try:
        call(["sbatch", "--test-only", *flags, "--wrap=true"], seconds)
    except NoAnswer:
        raise
    except SourceError as error:
        # A controller that is away refuses too, but it cannot list its nodes either.
        nodes = describe_nodes(placement.partition, seconds)
        asked = " ".join(flags)
        said = re.sub(r"^\s*(?:sbatch: )?(?:error: |allocation failure: )?", "", error.what)
        return f"Slurm has no node for {asked}: {said}. Nodes: {nodes or 'none'}"
    return None


def time_limit(deadline: float) -> int:
    """Return Slurm's own limit, in minutes: behind ours, which is kept on the node and where the run began."""
    return math.ceil((deadline + _MARGIN_SECONDS) / 60)


def placement_options(placement: Placement) -> dict[str, str | int]:
    """Return the placement as options of sbatch."""
    memory = f"{round(placement.memory_gb * 1024)}M" if placement.memory_gb else None
    options = {
        "partition": placement.partition,
        "account": placement.account,
        "qos": placement.qos,
        "constraint": placement.constraint,
        "gres": placement.gres,
        "cpus-per-task": placement.cpus,
        "mem": memory,
    }
    return {name: value for name, value in options.items() if value is not None}


def describe_nodes(partition: str | None, seconds: float) -> str:
    """Return name, state, features and devices of the partition's nodes (default: all), for people."""
    flags = [f"--partition={partition}"] if partition else []
    lines = call(["sinfo", "-h", "-N", *flags, "-o", "%N|%T|%f|%G"], seconds).splitlines()
    shown = [", ".join(line.split("|")[1:]) for line in dict.fromkeys(lines)]
    names = [line.partition("|")[0] for line in dict.fromkeys(lines)]
    listed = [f"{name} ({what})" for name, what in zip(names, shown, strict=True)]
    more = f" and {len(listed) - 20} more" if len(listed) > 20 else ""
    return f"{'; '.join(listed[:20])}{more}"
