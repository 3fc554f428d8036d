"""What is concluded from a job's signs and from Slurm's words, by a clock that the test moves."""

from __future__ import annotations

import pytest

from relmgr.cluster.slurm_client import Queued
from relmgr.cluster.slurm_watch import SETTLE_SECONDS, End, Watch
from relmgr.model.cluster import ClusterSettings

SETTINGS = ClusterSettings(queue_seconds=1000, start_seconds=120, lost_seconds=20)
PENDING = Queued("PENDING", "", "Resources")
RUNNING = Queued("RUNNING", "node-1", "None")
BEATS = [b'{"count": %d, "node": "node-2"}' % n for n in range(9)]


def watch() -> Watch:
    return Watch(SETTINGS, deadline=600, now=0.0)


def test_waiting_has_a_limit() -> None:
    it = watch()
    assert it.judge(999, b"", PENDING) is None
    assert it.judge(1001, b"", PENDING) == End(
        "not-started", "not started after 1000 s; Slurm says PENDING (Resources)"
    )


def test_waiting_has_a_limit_where_slurm_never_answers() -> None:
    it = watch()
    assert it.judge(999, b"", None) is None
    end = it.judge(1001, b"", None)
    assert end == End("not-started", "not started after 1000 s; Slurm does not answer, and last said not asked yet")


def test_a_first_sign_may_take_longer_than_the_next() -> None:
    it = watch()
    assert it.judge(500, b"", RUNNING) is None
    assert it.judge(619, b"", RUNNING) is None
    assert it.judge(621, b"", RUNNING) == End("lost", "no sign of life for 120 s; Slurm says RUNNING")
    assert it.node == "node-1"


def test_silence_is_counted_from_the_last_new_sign() -> None:
    it = watch()
    assert it.judge(10, BEATS[0], RUNNING) is None
    assert it.judge(29, BEATS[1], RUNNING) is None
    assert it.judge(48, BEATS[1], RUNNING) is None
    assert it.judge(50, BEATS[1], RUNNING) == End("lost", "no sign of life for 20 s; Slurm says RUNNING")
    # Slurm's own name for the node, which is the one it can be told to keep from.
    assert it.node == "node-1"


def test_signs_count_while_slurm_does_not_answer() -> None:
    it = watch()
    assert it.judge(10, b"", RUNNING) is None
    for step in range(8):
        assert it.judge(30 + 15 * step, BEATS[step], None) is None
    end = it.judge(200, BEATS[7], None)
    assert end == End("lost", "no sign of life for 20 s; Slurm does not answer, and last said RUNNING")


def test_the_node_is_known_by_its_sign_where_slurm_does_not_answer() -> None:
    it = watch()
    assert it.judge(10, BEATS[0], None) is None
    assert it.node == "node-2"


def test_a_suspended_job_cannot_speak() -> None:
    it, held = watch(), Queued("SUSPENDED", "node-1", "None")
    assert it.judge(10, BEATS[0], RUNNING) is None
    assert it.judge(300, BEATS[0], held) is None
    assert it.judge(319, BEATS[0], RUNNING) is None
    assert it.judge(321, BEATS[0], RUNNING) == End("lost", "no sign of life for 20 s; Slurm says RUNNING")
    assert it.judge(631, BEATS[0], held) == End("deadline", "ended from here after its 600 s; Slurm says SUSPENDED")


def test_the_deadline_is_kept_here_too() -> None:
    it = watch()
    now = 0.0
    for now in range(0, 620, 10):
        assert it.judge(now, b"%d" % now, RUNNING) is None
    assert it.judge(621, b"last", RUNNING) == End("deadline", "ended from here after its 600 s; Slurm says RUNNING")


@pytest.mark.parametrize(
    ("state", "reason", "end"),
    [
        ("CANCELLED", "None", End("cancelled", "cancelled on the cluster")),
        ("NODE_FAIL", "NodeDown", End("lost", "its node failed (NodeDown)")),
        ("PREEMPTED", "", End("lost", "preempted by another job")),
        ("TIMEOUT", "TimeLimit", End("deadline", "ended by Slurm's time limit (TimeLimit)")),
        ("OUT_OF_MEMORY", "OutOfMemory", End("crashed", "out of memory (OutOfMemory)")),
        ("FAILED", "NonZeroExitCode", End("crashed", "its batch script failed (NonZeroExitCode)")),
        ("COMPLETED", "None", End("crashed", "it ended without saying how")),
        # It ran, and longer ago than Slurm remembers.
        ("UNKNOWN", "", End("lost", "Slurm does not know it any more")),
    ],
)
def test_an_end_that_only_slurm_tells(state: str, reason: str, end: End) -> None:
    it = watch()
    assert it.judge(10, BEATS[0], RUNNING) is None
    # What the job wrote last may not be seen yet.
    assert it.judge(12, BEATS[0], Queued(state, "node-1", reason)) is None
    assert it.judge(12 + SETTLE_SECONDS, BEATS[0], Queued(state, "node-1", reason)) == end


def test_a_job_that_slurm_forgets_for_a_moment_goes_on() -> None:
    it = watch()
    assert it.judge(1, b"", Queued("UNKNOWN", "", "")) is None
    assert it.judge(5, b"", PENDING) is None
    assert it.judge(7, b"", Queued("UNKNOWN", "", "")) is None


def test_a_waiting_task_of_an_array_that_is_cancelled_leaves_no_trace() -> None:
    it, gone = watch(), Queued("UNKNOWN", "", "")
    assert it.judge(1, b"", PENDING) is None
    assert it.judge(2, b"", gone) is None
    assert it.judge(2 + SETTLE_SECONDS, b"", gone) == End("cancelled", "it left the queue without a sign of having run")


def test_a_job_that_would_never_start() -> None:
    end = watch().judge(1, b"", Queued("PENDING", "", "PartitionTimeLimit"))
    assert end == End("not-started", "it would never start; Slurm says PENDING (PartitionTimeLimit)")


@pytest.mark.parametrize("beat", [b"", b"{", b"[]", b"null", b'{"node": 3}', b"\xff\xfe", b'{"count"'])
def test_a_sign_that_is_half_written_is_a_sign(beat: bytes) -> None:
    it = watch()
    assert it.judge(1, beat, RUNNING) is None
    assert it.node == "node-1"
