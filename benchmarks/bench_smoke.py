"""Smoke runs against their floor, in the same run: `python benchmarks/bench_smoke.py [--backend cuda] [--repeat 5]`.

The floor does the same cells with the same judging in one process with one device context, from a ready binary: its
interpreter start and context are counted, isolation, static gate, plan and report are not there. Kernels come from the
compile cache in both. Bounds: 64 matching cells at most 1.5 times the floor; with 8 faults among them under 4 times the
run of 64; the static gate under 1 ms a kernel.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
CONVENTIONS = {5: "memref-descriptor", 6: "bare-pointer"}
FAULTS = 8


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--child", choices=["floor", "faults"])
    parser.add_argument("--jobs")
    arguments = parser.parse_args()
    if arguments.child == "floor":
        run_floor(arguments.backend, Path(arguments.jobs))
    elif arguments.child == "faults":
        run_with_faults(arguments.backend)
    else:
        compare(arguments.backend, arguments.repeat)


def run_floor(backend: str, jobs: Path) -> None:
    """One process, one context: every cell of `jobs`, one after the other."""
    from relmgr.smoke.worker import Worker, open_backend

    told = io.StringIO()
    worker = Worker(open_backend(backend), told)
    worker.facts = worker.device.describe()
    for job in json.loads(jobs.read_text()):
        worker.do(job)
    answers = [json.loads(line) for line in told.getvalue().splitlines()]
    outcomes = [answer["outcome"] for answer in answers if answer["event"] == "done"]
    assert set(outcomes) == {"right"}, outcomes
    os._exit(0)


def run_with_faults(backend: str) -> None:
    """The 64 matching cells with 8 that end in a fault among them, through the pool."""
    from relmgr.smoke.start import start_workers

    with start_workers(backend) as started:
        from relmgr.smoke.build import build_kernels, describe
        from relmgr.smoke.run import manner_of, run_subjects, subjects_of
        from relmgr.workflows.smoke import read_binary

        pool = started.pool
        info = describe(pool)
        plan = make_plan(info, faults=FAULTS)
        build = build_kernels(pool, plan, info.arch, info.toolchain, read_binary)
        results = run_subjects(pool, subjects_of(plan, build), manner_of(plan)).values()
    assert all(result.as_expected for result in results), [r for r in results if not r.as_expected]
    caught = [result for result in results if result.case.outcome == "illegal-address"]
    assert len(caught) == FAULTS


def make_plan(info, *, faults: int = 0):
    """Return the 64 matching cells in main forms, and the first `faults` mismatches that end in a bad address."""
    from relmgr.smoke.choose import packing_for
    from relmgr.smoke.plan import Selection, plan_matrix

    whole = plan_matrix(
        Selection(main_forms=True),
        CONVENTIONS,
        6,
        info.backend,
        info.runtime,
        packing=packing_for(info),
        launch_mismatches=True,
    )
    bad = [cell for cell in whole.cells if not cell.matching and cell.expected == ("illegal-address",)]
    right = [cell for cell in whole.cells if cell.matching]
    assert len(right) == 64
    return whole.model_copy(update={"cells": (*right, *bad[:faults])})


def compare(asked: str, repeat: int) -> None:
    """Time floor, run and run with faults in turn, and print medians and ratios."""
    from relmgr.smoke.build import build_kernels, describe
    from relmgr.smoke.run import case_task, gate_subject, manner_of, subjects_of
    from relmgr.smoke.start import start_workers
    from relmgr.workflows.smoke import read_binary

    with tempfile.TemporaryDirectory() as folder:
        with start_workers(asked) as started:
            backend, why, pool = started.backend, started.choice, started.pool
            info = describe(pool)
            plan = make_plan(info)
            build = build_kernels(pool, plan, info.arch, info.toolchain, read_binary)
        module, jobs = Path(folder) / "module", Path(folder) / "jobs.json"
        module.write_bytes(build.binary)
        subjects, manner = subjects_of(plan, build), manner_of(plan)
        tasks = [case_task(subject, gate_subject(subject)[0], module, manner) for subject in subjects]
        jobs.write_text(json.dumps([task.job for task in tasks]))
        this = [sys.executable, __file__, "--backend", backend]
        relmgr = [sys.executable, "-m", "relmgr", "smoke", "run", "--backend", backend]
        commands = {
            "floor: 64 cells, one process": [*this, "--child", "floor", "--jobs", str(jobs)],
            "relmgr smoke run, 64 cells": [*relmgr, "--main-forms", "--matching-only", "--quiet"],
            "the same with one worker": [*relmgr, "--main-forms", "--matching-only", "--quiet", "--workers", "1"],
            f"the same with {FAULTS} faults, through the pool": [*this, "--child", "faults"],
        }
        with tempfile.TemporaryDirectory() as empty:
            cold = timed(commands["relmgr smoke run, 64 cells"], XDG_CACHE_HOME=empty, CUDA_CACHE_PATH=empty)
        for command in commands.values():
            timed(command)
        times = {name: [] for name in commands}
        for _ in range(repeat):
            for name, command in commands.items():
                times[name].append(timed(command))
    begun = time.perf_counter()
    for _ in range(20):
        for subject in subjects:
            gate_subject(subject)
    gate = (time.perf_counter() - begun) / (20 * len(plan.cells))
    begun = time.perf_counter()
    for _ in range(20):
        read_binary(build.binary)
    reading = (time.perf_counter() - begun) / (20 * len(build.kernels))
    print(f"{info.device}, {info.arch}, driver {info.driver}, {info.toolchain}")
    print(f"back end {backend} ({why}); {repeat} runs each, medians")
    for name, values in times.items():
        spread = f"{min(values):.2f} to {max(values):.2f}"
        print(f"{statistics.median(values):6.2f} s  {name}  ({spread})")
    floor, run, _, faults = (statistics.median(values) for values in times.values())
    print(f"{cold:6.2f} s  relmgr smoke run, 64 cells, empty compile cache (once)")
    print(f"{run / floor:6.2f}    run / floor (bound 1.5)")
    print(f"{faults / run:6.2f}    with {FAULTS} faults / run (bound 4)")
    print(f"{1000 * gate:6.3f} ms static gate a cell, packing included (bound 1)")
    print(f"{1000 * reading:6.3f} ms to read one kernel's layout")


def timed(command: list[str], **variables: str) -> float:
    """Return the seconds a command takes; it must end well."""
    environment = (
        os.environ | variables | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    )
    begun = time.perf_counter()
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    seconds = time.perf_counter() - begun
    if run.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {run.returncode}:\n{run.stdout}{run.stderr}")
    return seconds


if __name__ == "__main__":
    main()
