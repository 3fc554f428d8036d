"""Workers: whatever a kernel does to its process, the parent and the neighbours go on, and the outcome has a name."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from relmgr.smoke import pool as pools
from relmgr.smoke.outcomes import name_ending
from relmgr.smoke.pool import Ending, Pool, Task
from tests.support.services import need

PROBLEM: list[Any] = [[2, 3, 4, 5, 7, 8, 3, 2, 2, 1, 1, 0, 1, 2], "fwd", "f32", "NCHW", 3]

# What kernels can do, in the shape of a smoke kernel for the host.
BAD_KERNELS = """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct args { float *fil, *inp, *out; };
void nothing(struct args *a, long long n) {}
void bad_address(struct args *a, long long n) { *(volatile int *)8 = 1; }
void past_the_arguments(struct args *a, long long n) { *(volatile int *)(a + 1); }
void aborts(struct args *a, long long n) { abort(); }
void leaves(struct args *a, long long n) { exit(0); }
void leaves_at_once(struct args *a, long long n) { _exit(7); }
void forever(struct args *a, long long n) { for (;;) pause(); }
void deaf(struct args *a, long long n) { signal(SIGTERM, SIG_IGN); for (;;) ; }
void chatters(struct args *a, long long n) {
  puts("{\\"event\\": \\"done\\", \\"outcome\\": \\"right\\"}");
  fflush(stdout);
}
void zeros(struct args *a, long long n) { memset(a->out, 0, n * 4); }
void floods(struct args *a, long long n) {
  for (int i = 0; i < 100000; ++i) fputs("words and words and words\\n", stderr);
  abort();
}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bad")
    (folder / "bad.c").write_text(BAD_KERNELS)
    subprocess.run([need("cc", "gcc"), "-shared", "-fPIC", "-O0", "bad.c", "-o", "bad.so"], cwd=folder, check=True)
    return folder / "bad.so"


def task(module: Path, symbol: str, *, exclusive: bool = False, limit: float = 20.0) -> Task:
    job = {
        "do": "case",
        "id": symbol,
        "module": str(module),
        "symbol": symbol,
        "problem": PROBLEM,
        "template": "00" * 24,
        "pointers": [[0, 0], [8, 1], [16, 2]],
        "blocks": 12,
        "block": 60,
        "seed": 3,
        "limit": limit,
    }
    return Task(job, exclusive=exclusive, limit=limit)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize(
    ("symbol", "outcome", "detail"),
    [
        ("nothing", "no-op", "nothing was written"),
        ("zeros", "wrong-result", "relative error 1, more than 1e-05"),
        ("bad_address", "illegal-address", "signal SIGSEGV in the kernel"),
        ("past_the_arguments", "illegal-address", "signal SIGSEGV in the kernel"),
        ("aborts", "host-crash", "the process ended by signal SIGABRT"),
        ("leaves", "host-crash", "the process ended by exit code 0, no answer"),
        ("leaves_at_once", "host-crash", "the process ended by exit code 7, no answer"),
        ("chatters", "no-op", "nothing was written"),
        ("floods", "host-crash", "the process ended by signal SIGABRT: words and words and words"),
        ("absent", "error", "no kernel 'absent' in the module"),
    ],
)
def test_each_end_has_a_name(module: Path, symbol: str, outcome: str, detail: str, exclusive: bool) -> None:
    with Pool("cpu", size=1, spares=1) as pool:
        (ending,) = pool.run([task(module, symbol, exclusive=exclusive)])
    found, words = name_ending(ending)
    assert found == outcome
    assert words.startswith(detail)


@pytest.mark.parametrize("symbol", ["forever", "deaf"])
def test_a_kernel_that_never_ends_is_a_hang(module: Path, symbol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "GRACE_SECONDS", 0.1)
    with Pool("cpu", size=1, spares=0) as pool:
        endings = {e.task.job["id"]: e for e in pool.run([task(module, symbol, limit=0.3), task(module, "nothing")])}
    assert name_ending(endings[symbol])[0] == "hang"
    assert name_ending(endings["nothing"])[0] == "no-op"


def test_neighbours_of_a_crash_are_unharmed(module: Path) -> None:
    """Twelve launches that end their worker among thirty that do not: each has its own outcome."""
    bad = ["bad_address", "aborts", "leaves"]
    tasks = [task(module, bad[i // 3 % 3] if i % 3 == 0 else "nothing") for i in range(36)]
    for number, one in enumerate(tasks):
        one.job["id"] = str(number)
    with Pool("cpu", size=2, spares=2) as pool:
        endings = list(pool.run(tasks))
        replaced = pool.replaced
    outcomes = {int(e.task.job["id"]): name_ending(e)[0] for e in endings}
    assert sorted(outcomes) == list(range(36))
    wanted = {"bad_address": "illegal-address", "aborts": "host-crash", "leaves": "host-crash", "nothing": "no-op"}
    assert outcomes == {i: wanted[one.job["symbol"]] for i, one in enumerate(tasks)}
    assert replaced == 12


def test_right_cases_share_a_process_and_exclusive_ones_do_not(module: Path) -> None:
    with Pool("cpu", size=1, spares=0) as pool:
        list(pool.run([task(module, "nothing") for _ in range(5)]))
        assert pool.replaced == 0
        list(pool.run([task(module, "nothing", exclusive=True) for _ in range(5)]))
        assert pool.replaced == 5


def test_a_wrong_result_retires_its_worker(module: Path) -> None:
    """What else it wrote nobody knows."""
    with Pool("cpu", size=1, spares=0) as pool:
        list(pool.run([task(module, "zeros"), task(module, "nothing")]))
        assert pool.replaced == 1


def test_silence_is_no_outcome(module: Path) -> None:
    """An end before the launch says nothing about the kernel, whatever the exit code."""
    for ending in (
        Ending(task(module, "x"), None, "before-launch", exit_code=0),
        Ending(task(module, "x"), None, "before-launch", died_by=signal.SIGSEGV),
        Ending(task(module, "x"), None, "before-launch", timed_out=True, died_by=signal.SIGKILL, seconds=9.0),
        Ending(task(module, "x"), None, "after-launch", timed_out=True, died_by=signal.SIGKILL, seconds=9.0),
        Ending(task(module, "x"), {"event": "done", "id": "x"}, "after-launch"),
        Ending(task(module, "x"), {"event": "done", "id": "x", "outcome": "splendid"}, "after-launch"),
    ):
        assert name_ending(ending)[0] == "error"
    crashed = Ending(task(module, "x"), None, "after-launch", died_by=signal.SIGSEGV)
    assert name_ending(crashed)[0] == "host-crash"


def test_a_worker_that_is_killed_from_outside_is_told(module: Path) -> None:
    with Pool("cpu", size=1, spares=0) as pool:
        pool.warm()
        os.kill(pool.idle[0].process.pid, signal.SIGKILL)
        (ending,) = pool.run([task(module, "nothing")])
    outcome, detail = name_ending(ending)
    assert outcome == "error"
    assert detail == "before the launch the process ended by signal SIGKILL"


@pytest.mark.parametrize(
    ("kept", "detail"), [(100, "the module does not load: "), (700, "before the launch the process")]
)
def test_a_truncated_module_is_named(tmp_path: Path, module: Path, kept: int, detail: str) -> None:
    """K3: refused by the loader, or the end of the worker that loads it."""
    (tmp_path / "cut.so").write_bytes(module.read_bytes()[:kept])
    with Pool("cpu", size=1, spares=0) as pool:
        (ending,) = pool.run([task(tmp_path / "cut.so", "nothing")])
    outcome, words = name_ending(ending)
    assert outcome == "error"
    assert words.startswith(detail)


def test_no_worker_outlives_the_pool(module: Path) -> None:
    with Pool("cpu", size=2, spares=2) as pool:
        list(pool.run([task(module, "nothing", exclusive=True) for _ in range(4)]))
        pids = [worker.process.pid for worker in [*pool.idle, *pool.busy]]
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any(Path(f"/proc/{pid}").exists() for pid in pids):
        time.sleep(0.05)
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
