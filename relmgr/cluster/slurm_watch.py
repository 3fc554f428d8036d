"""Follow one attempt on Slurm by what is seen of it, and say when it has ended without an ending. Pure: time is given.

Signs of life are compared by their content, never by a node's clock.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from relmgr.cluster.slurm_client import Queued
from relmgr.model.cluster import ClusterSettings, JobOutcome

# After Slurm calls a job ended, so long may a network file system take to show what the job wrote last.
SETTLE_SECONDS = 5.0

_GOING = {"RUNNING", "COMPLETING", "STAGE_OUT", "SIGNALING", "SUSPENDED", "STOPPED", "RESIZING"}
# A job that waits for one of these waits for ever. sbatch takes it all the same, also when it only tests.
_HOPELESS = {
    "PartitionTimeLimit",
    "PartitionNodeLimit",
    "PartitionConfig",
    "BadConstraints",
    "InvalidAccount",
    "InvalidQOS",
    "DependencyNeverSatisfied",
}
_HELD = {"SUSPENDED", "STOPPED"}
_ENDED: dict[str, tuple[JobOutcome, str]] = {
    "CANCELLED": ("cancelled", "cancelled on the cluster"),
    "NODE_FAIL": ("lost", "its node failed"),
    "BOOT_FAIL": ("lost", "its node did not boot"),
    "PREEMPTED": ("lost", "preempted by another job"),
    "REVOKED": ("lost", "revoked by another cluster"),
    "TIMEOUT": ("deadline", "ended by Slurm's time limit"),
    "DEADLINE": ("deadline", "ended by Slurm's deadline"),
    "OUT_OF_MEMORY": ("crashed", "out of memory"),
    "FAILED": ("crashed", "its batch script failed"),
    "COMPLETED": ("crashed", "it ended without saying how"),
    "UNKNOWN": ("lost", "Slurm does not know it any more"),
}


class End(NamedTuple):
    """An end that the attempt itself did not tell."""

    outcome: JobOutcome
    detail: str


class Watch:
    """One attempt since `now`; times are of this machine's monotonic clock, in seconds."""

    def __init__(self, settings: ClusterSettings, deadline: float, now: float) -> None:
        self.settings, self.deadline = settings, deadline
        self.submitted_at = now
        self.running_since: float | None = None
        self.ended_since: float | None = None
        self.last_beat = b""
        self.last_sign = now
        self.node: str | None = None
        self.said = Queued("not asked yet", "", "")

    def judge(self, now: float, beat: bytes, queued: Queued | None) -> End | None:
        """Return how the attempt ended, None while there is hope.

        `beat` is its last sign of life, `queued` what Slurm says of it now, None where Slurm does not answer.
        """
        self._look(now, beat, queued)
        if queued is not None and queued.state in _ENDED:
            return self._ended(now, queued)
        self.ended_since = None
        if self.running_since is None:
            return self._waiting(now, queued)
        if now - self.running_since > self.deadline + self.settings.lost_seconds:
            return End("deadline", f"ended from here after its {self.deadline:g} s; {self._slurm(queued)}")
        # Before the first sign an interpreter starts, from a network file system perhaps.
        patience = self.settings.lost_seconds if self.last_beat else self.settings.start_seconds
        if now - self.last_sign > patience:
            return End("lost", f"no sign of life for {patience:g} s; {self._slurm(queued)}")
        return None

    def _look(self, now: float, beat: bytes, queued: Queued | None) -> None:
        if queued is not None:
            self.said = queued
            self.node = queued.node or self.node
        running = queued is not None and queued.state in _GOING
        if self.running_since is None and (running or beat):
            self.running_since = self.last_sign = now
        if queued is not None and queued.state in _HELD:
            # It cannot speak; its deadline still counts.
            self.last_sign = now
        if beat != self.last_beat and beat:
            self.last_beat, self.last_sign = beat, now
            self.node = _node_of(beat) or self.node

    def _waiting(self, now: float, queued: Queued | None) -> End | None:
        if queued is not None and queued.state == "PENDING" and queued.reason in _HOPELESS:
            return End("not-started", f"it would never start; {self._slurm(queued)}")
        if now - self.submitted_at <= self.settings.queue_seconds:
            return None
        return End("not-started", f"not started after {self.settings.queue_seconds:g} s; {self._slurm(queued)}")

    def _ended(self, now: float, queued: Queued) -> End | None:
        if self.ended_since is None:
            self.ended_since = now
        if now - self.ended_since < SETTLE_SECONDS:
            return None
        outcome, why = _ENDED[queued.state]
        if queued.state == "UNKNOWN" and self.running_since is None:
            # Of a waiting task of an array that is cancelled, Slurm keeps nothing.
            outcome, why = "cancelled", "it left the queue without a sign of having run"
        reason = f" ({queued.reason})" if queued.reason not in ("", "None") else ""
        return End(outcome, f"{why}{reason}")

    def _slurm(self, queued: Queued | None) -> str:
        if queued is None:
            return f"Slurm does not answer, and last said {self.said.state}"
        reason = f" ({queued.reason})" if queued.reason not in ("", "None") else ""
        return f"Slurm says {queued.state}{reason}"


def _node_of(beat: bytes) -> str | None:
    try:
        node = json.loads(beat)["node"]
    except (ValueError, KeyError, TypeError):
        # Read while it was written.
        return None
    return node if isinstance(node, str) else None
