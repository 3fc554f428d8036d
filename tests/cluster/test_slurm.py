"""Jobs on a real Slurm: what a cluster does to them ends in a named outcome, and in time."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from relmgr.cluster.jobs import run_jobs
from relmgr.cluster.slurm import SlurmRunner
from relmgr.errors import SourceError
from relmgr.model.cluster import Attempt, ClusterSettings, Job, JobReport
from tests.cluster.conftest import SEGFAULT, WRITE_WHERE, python_job, settings, wait_for_file
from tests.support.slurm import Slurm


def run(jobs: list[Job], folder: Path, chosen: ClusterSettings) -> tuple[JobReport, ...]:
    return run_jobs(jobs, chosen, SlurmRunner(chosen), folder)


def output_of(report: JobReport) -> object:
    assert report.last.output is not None, report.why
    return json.loads(Path(report.last.output).read_text())


def test_each_arch_runs_on_its_node_with_its_gpu(slurm: Slurm, tmp_path: Path) -> None:
    archs = {"gfx908": "mi100-0", "gfx90a": "mi200-0", "gfx942": "mi300-0"}
    jobs = [python_job(f"{arch}-{n}", WRITE_WHERE, arch) for arch in archs for n in range(2)]
    reports = run(jobs, tmp_path / "run", settings())
    assert [(r.name, r.outcome, r.last.node) for r in reports] == [
        (f"{arch}-{n}", "done", node) for arch, node in archs.items() for n in range(2)
    ]
    # Each got a GPU of its own: two on one node have different ones.
    for n in (0, 2, 4):
        first, second = output_of(reports[n]), output_of(reports[n + 1])
        assert {first[1], second[1]} <= set("01234567")
        assert first[1] != second[1]


def test_a_segfault_ends_that_task_alone_and_is_tried_again(slurm: Slurm, tmp_path: Path) -> None:
    bad = python_job("bad", f"print('about to fall', flush=True); {SEGFAULT}", "gfx90a")
    once = python_job("once", f"mark = output.parents[1] / 'mark'\nif not mark.exists(): mark.touch(); {SEGFAULT}")
    once = once.model_copy(update={"argv": (*once.argv[:2], once.argv[2] + "\n" + WRITE_WHERE, once.argv[3])})
    good = python_job("good", WRITE_WHERE, "gfx90a")
    reports = {r.name: r for r in run([bad, once, good], tmp_path / "run", settings(retries=1))}
    assert [a.outcome for a in reports["bad"].attempts] == ["crashed", "crashed"]
    assert reports["bad"].last.signal == "SIGSEGV"
    assert reports["bad"].last.detail == "ended by SIGSEGV: about to fall"
    assert [a.outcome for a in reports["once"].attempts] == ["crashed", "done"]
    assert [a.outcome for a in reports["good"].attempts] == ["done"]
    # One log a task, which begins with what a person can run by hand.
    log = Path(str(reports["bad"].last.log)).read_text().splitlines()
    assert log[0].startswith(f"$ {sys.executable} -c ")
    assert log[-1] == "about to fall"


def test_a_lost_node_is_told_by_silence_and_the_job_goes_to_another(slurm: Slurm, tmp_path: Path) -> None:
    chosen = settings(retries=1, lost_seconds=20, poll_seconds=0.5)
    stay = "first = output.parent.name == '1'\nif first: time.sleep(600)\n"
    told: list[tuple[str, Attempt, dict[str, str]]] = []
    jobs = [python_job("any", stay + WRITE_WHERE), python_job("neighbour", WRITE_WHERE, "gfx942")]
    cutter = threading.Thread(target=_cut_when_it_runs, args=(slurm, tmp_path / "run" / "jobs" / "any" / "1" / "beat"))
    cutter.start()
    reports = run_jobs(
        jobs,
        chosen,
        SlurmRunner(chosen),
        tmp_path / "run",
        lambda job, attempt: told.append((job.name, attempt, slurm.states())),
    )
    cutter.join()
    first, second = reports[0].attempts
    assert (first.outcome, second.outcome) == ("lost", "done")
    assert first.node not in (None, second.node)
    # Slurm has not noticed yet: it was our limit.
    assert first.detail == "no sign of life for 20 s; Slurm says RUNNING"
    states = next(states for name, attempt, states in told if name == "any" and attempt.outcome == "lost")
    assert not states[str(first.node)].startswith("down")
    assert reports[1].outcome == "done"


def _cut_when_it_runs(slurm: Slurm, beat: Path) -> None:
    sign = json.loads(wait_for_file(beat))
    slurm.cut_node(sign["node"], sign["pid"])


def test_a_lost_node_that_was_the_only_one_of_its_arch(slurm: Slurm, tmp_path: Path) -> None:
    beat = tmp_path / "run" / "jobs" / "only" / "1" / "beat"
    cutter = threading.Thread(target=_cut_when_it_runs, args=(slurm, beat))
    cutter.start()
    report = run([python_job("only", "time.sleep(600)", "gfx90a")], tmp_path / "run", settings(lost_seconds=3))[0]
    cutter.join()
    assert [a.outcome for a in report.attempts] == ["lost", "no-node"]
    assert "--exclude=mi200-0" in report.last.detail


def test_an_absent_arch_is_said_before_anything_is_submitted(slurm: Slurm, tmp_path: Path) -> None:
    chosen = settings(archs={"gfx1100": {"constraint": "gfx1100"}, "gfx90a": {"constraint": "gfx90a"}})
    jobs = [python_job("absent", WRITE_WHERE, "gfx1100"), python_job("present", WRITE_WHERE, "gfx90a")]
    absent, present = run(jobs, tmp_path / "run", chosen)
    assert absent.outcome == "no-node"
    assert absent.last.slurm_id is None
    asked, _, nodes = absent.last.detail.partition(". Nodes: ")
    assert asked == (
        "Slurm has no node for --partition=main --constraint=gfx1100 --time=12: Invalid feature specification"
    )
    assert nodes.startswith("mi100-0 (")
    assert "gfx908,mi100, gpu:gfx908:4" in nodes
    assert present.outcome == "done"


def test_a_longer_limit_than_the_partition_allows(slurm: Slurm, tmp_path: Path) -> None:
    # Submitted, such a job would wait for ever.
    report = run([python_job("long", WRITE_WHERE)], tmp_path / "run", settings(deadline_seconds=7200))[0]
    assert [a.outcome for a in report.attempts] == ["not-started"]
    assert re.fullmatch(r"it would never start; Slurm says PENDING \(Partition\w+\)", report.last.detail)


def test_more_gpus_than_there_are_and_a_drained_node(slurm: Slurm, tmp_path: Path) -> None:
    chosen = settings(archs={"gfx90a": {"constraint": "gfx90a", "gres": "gpu:gfx90a:9"}})
    report = run([python_job("greedy", WRITE_WHERE, "gfx90a")], tmp_path / "greedy", chosen)[0]
    assert (report.outcome, "is not available" in report.why) == ("no-node", True)
    slurm.call("scontrol", "update", "nodename=mi200-0", "state=drain", "reason=repair")
    try:
        report = run([python_job("drained", WRITE_WHERE, "gfx90a")], tmp_path / "drained", settings())[0]
    finally:
        slurm.call("scontrol", "update", "nodename=mi200-0", "state=resume")
    assert report.outcome == "no-node"
    assert "mi200-0 (drained" in report.why


def test_a_job_that_somebody_cancels_is_not_tried_again(slurm: Slurm, tmp_path: Path) -> None:
    job = python_job("taken", "time.sleep(600)", "gfx908")
    submitted = tmp_path / "run" / "jobs" / "taken" / "1" / "submitted.json"

    def cancel_it() -> None:
        slurm_id = json.loads(wait_for_file(submitted))["slurm_id"]
        wait_for_file(submitted.with_name("beat"))
        slurm.call("scancel", slurm_id)

    canceller = threading.Thread(target=cancel_it)
    canceller.start()
    report = run([job], tmp_path / "run", settings(retries=3))[0]
    canceller.join()
    assert [(a.outcome, a.detail) for a in report.attempts] == [("cancelled", "cancelled on the cluster")]
    pid = json.loads(submitted.with_name("beat").read_text())["pid"]
    assert not Path(f"/proc/{pid}").exists()


def test_a_job_that_does_not_end_is_ended_at_its_own_limit(slurm: Slurm, tmp_path: Path) -> None:
    report = run([python_job("endless", "time.sleep(600)")], tmp_path / "run", settings(deadline_seconds=2))[0]
    assert [(a.outcome, a.detail) for a in report.attempts] == [("deadline", "ended after its 2 s")]


def test_a_job_that_never_starts_is_taken_back(slurm: Slurm, tmp_path: Path) -> None:
    # Slurm accepts jobs for a partition that is down; they wait for ever.
    chosen = settings(partition="closed", queue_seconds=2)
    report = run([python_job("waits", WRITE_WHERE)], tmp_path / "run", chosen)[0]
    assert report.outcome == "not-started"
    assert report.last.detail == "not started after 2 s; Slurm says PENDING (PartitionDown)"
    queue = slurm.call("squeue", "-h", "-t", "pending", "-o", "%i")
    assert queue.strip() == ""


def test_exit_codes_and_missing_output(slurm: Slurm, tmp_path: Path) -> None:
    jobs = [
        python_job("usage", "print('bad option'); sys.exit(2)"),
        python_job("finding", WRITE_WHERE + "; sys.exit(1)", answers=(0, 1)),
        python_job("silent", "pass"),
        Job(name="absent", argv=("/no/such/program",)),
    ]
    usage, finding, silent, absent = run(jobs, tmp_path / "run", settings())
    assert (usage.outcome, usage.why) == ("failed", f"failed on {usage.last.node} (exit code 2: bad option)")
    assert (finding.outcome, finding.last.exit_code) == ("done", 1)
    assert (silent.outcome, silent.last.detail) == ("failed", "exit code 0, and no output")
    assert (absent.outcome, absent.last.detail) == ("failed", "No such file or directory: /no/such/program")


def test_nodes_without_relmgr_say_so(slurm: Slurm, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho no module of that name >&2\nexit 1\n")
    python.chmod(0o755)
    report = run([python_job("a", WRITE_WHERE)], tmp_path / "run", settings(python=str(python), retries=0))[0]
    assert report.outcome == "crashed"
    assert report.last.detail == "its batch script failed (NonZeroExitCode): no module of that name"


PARENT = """
import sys
from pathlib import Path
from tests.cluster.test_slurm import resumable, run, settings
run(resumable(Path(sys.argv[1])), Path(sys.argv[1]) / "run", settings())
"""


def resumable(folder: Path) -> list[Job]:
    """Jobs that note every time they run; `long` ends when the file `go` is there."""
    note = f"(Path({str(folder)!r}) / ('ran-' + output.parents[1].name)).open('a').write('x')\n"
    wait = f"while not Path({str(folder / 'go')!r}).exists(): time.sleep(0.1)\n"
    return [
        python_job("quick", note + WRITE_WHERE, "gfx90a"),
        python_job("long", note + wait + WRITE_WHERE, "gfx90a"),
        python_job("lost", note + "if output.parent.name == '1': time.sleep(600)\n" + WRITE_WHERE, "gfx908"),
    ]


def test_resume_after_a_kill_runs_only_what_is_missing(slurm: Slurm, tmp_path: Path) -> None:
    runs = tmp_path / "run" / "jobs"
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)], env=dict(os.environ))
    wait_for_file(runs / "quick" / "1" / "verdict.json")
    wait_for_file(tmp_path / "ran-long")
    wait_for_file(tmp_path / "ran-lost")
    parent.kill()
    parent.wait()
    # Meanwhile one job vanishes; the other goes on, and is taken up again.
    slurm.call("scancel", json.loads((runs / "lost" / "1" / "submitted.json").read_text())["slurm_id"])
    (tmp_path / "go").touch()
    reports = {r.name: r for r in run(resumable(tmp_path), tmp_path / "run", settings())}
    assert {name: [a.outcome for a in r.attempts] for name, r in reports.items()} == {
        "quick": ["done"],
        "long": ["done"],
        "lost": ["cancelled"],
    }
    again = {r.name: r for r in run(resumable(tmp_path), tmp_path / "run", settings())}
    assert {name: (r.outcome, r.last.number) for name, r in again.items()} == {
        "quick": ("done", 1),
        "long": ("done", 1),
        "lost": ("done", 2),
    }
    assert {f.name: len(f.read_text()) for f in tmp_path.glob("ran-*")} == {
        "ran-quick": 1,
        "ran-long": 1,
        "ran-lost": 2,
    }


def test_interrupting_takes_the_jobs_back(slurm: Slurm, tmp_path: Path) -> None:
    jobs = [python_job("long", "time.sleep(600)")]
    threading.Thread(
        target=lambda: (wait_for_file(tmp_path / "run/jobs/long/1/beat"), os.kill(os.getpid(), signal.SIGINT))
    ).start()
    with pytest.raises(KeyboardInterrupt):
        run(jobs, tmp_path / "run", settings())
    assert slurm.call("squeue", "-h", "-t", "pending,running", "-o", "%i").strip() == ""


def test_a_controller_that_is_away_is_said(slurm: Slurm, tmp_path: Path) -> None:
    slurm.controller.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(SourceError, match=r"squeue: no answer in 1 s"):
            run([python_job("a", WRITE_WHERE)], tmp_path / "run", settings(call_seconds=1))
    finally:
        slurm.controller.send_signal(signal.SIGCONT)


def test_jobs_that_run_end_well_while_the_controller_is_away(slurm: Slurm, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job = python_job("patient", f"while not Path({str(go)!r}).exists(): time.sleep(0.1)\n{WRITE_WHERE}")

    def stop_it() -> None:
        wait_for_file(tmp_path / "run/jobs/patient/1/beat")
        slurm.controller.send_signal(signal.SIGSTOP)
        time.sleep(2)
        go.touch()

    stopper = threading.Thread(target=stop_it)
    stopper.start()
    try:
        report = run([job], tmp_path / "run", settings(call_seconds=1))[0]
        stopper.join()
    finally:
        slurm.controller.send_signal(signal.SIGCONT)
    assert report.outcome == "done"


def test_a_crash_while_the_controller_is_away_costs_that_job_alone(slurm: Slurm, tmp_path: Path) -> None:
    wait = f"while not Path({str(tmp_path / 'go')!r}).exists(): time.sleep(0.1)\n"
    jobs = [python_job("falls", wait + SEGFAULT), python_job("good", wait + "time.sleep(5)\n" + WRITE_WHERE)]

    def stop_it() -> None:
        for job in jobs:
            wait_for_file(tmp_path / "run/jobs" / job.name / "1/beat")
        slurm.controller.send_signal(signal.SIGSTOP)
        (tmp_path / "go").touch()

    stopper = threading.Thread(target=stop_it)
    stopper.start()
    try:
        falls, good = run(jobs, tmp_path / "run", settings(call_seconds=1))
        stopper.join()
    finally:
        slurm.controller.send_signal(signal.SIGCONT)
    assert [(a.outcome, a.detail) for a in falls.attempts] == [
        ("crashed", "ended by SIGSEGV"),
        ("not-started", "sbatch: no answer in 2 s"),
    ]
    assert good.outcome == "done"


def test_secrets_do_not_travel(slurm: Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELMGR_SMOKE_SECRET", "quiet")
    monkeypatch.setenv("GITHUB_TOKEN", "quiet")
    monkeypatch.setenv("HOUSE_HMAC", "quiet")
    monkeypatch.setenv("ORDINARY", "loud")
    names = ["RELMGR_SMOKE_SECRET", "GITHUB_TOKEN", "HOUSE_HMAC", "ORDINARY"]
    code = f"output.write_text(json.dumps([os.environ.get(name) for name in {names}]))"
    runner = SlurmRunner(settings(), hidden=["HOUSE_HMAC"])
    report = run_jobs([python_job("env", code)], settings(), runner, tmp_path / "run")[0]
    assert output_of(report) == [None, None, None, "loud"]
