"""Jobs on this machine: what kills one leaves the others alone, and a run can be taken up again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from relmgr.cluster.jobs import run_jobs
from relmgr.cluster.local import LocalRunner
from relmgr.errors import UserError
from relmgr.model.cluster import ClusterSettings, Job, JobReport
from tests.cluster.conftest import SEGFAULT, WRITE_WHERE, python_job, settings, wait_for_file


def run(jobs: list[Job], folder: Path, chosen: ClusterSettings | None = None) -> dict[str, JobReport]:
    chosen = chosen or settings()
    return {report.name: report for report in run_jobs(jobs, chosen, LocalRunner(chosen), folder)}


def test_a_segfault_a_hang_and_a_refusal_leave_the_neighbours_alone(tmp_path: Path) -> None:
    jobs = [
        python_job("good-1", WRITE_WHERE),
        python_job("falls", SEGFAULT),
        python_job("hangs", "time.sleep(600)"),
        python_job("refuses", "sys.exit(2)"),
        python_job("good-2", WRITE_WHERE),
    ]
    reports = run(jobs, tmp_path / "run", settings(deadline_seconds=3, retries=1))
    assert {name: [a.outcome for a in r.attempts] for name, r in reports.items()} == {
        "good-1": ["done"],
        "falls": ["crashed", "crashed"],
        "hangs": ["deadline"],
        "refuses": ["failed"],
        "good-2": ["done"],
    }
    assert reports["falls"].why.endswith("(ended by SIGSEGV)")


def test_a_worker_that_is_killed_is_a_crash_of_its_task_alone(tmp_path: Path) -> None:
    # The command kills the worker that watches it.
    jobs = [
        python_job("kills", "time.sleep(2); os.kill(os.getppid(), signal.SIGKILL); time.sleep(600)"),
        python_job("ok", WRITE_WHERE),
    ]
    reports = run(jobs, tmp_path / "run", settings(retries=0, workers=1))
    assert (reports["kills"].outcome, reports["kills"].last.detail) == ("crashed", "its worker ended by SIGKILL")
    assert reports["ok"].outcome == "done"
    wait_until_gone(json.loads((tmp_path / "run/jobs/kills/1/beat").read_text())["command"])


def wait_until_gone(pid: int) -> None:
    """Wait until a process has ended, whoever is to collect it."""
    end = time.monotonic() + 30
    while Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes():
        assert time.monotonic() < end, f"process {pid} goes on"
        time.sleep(0.05)


def test_what_is_tried_again_is_a_rule(tmp_path: Path) -> None:
    job = python_job("sometimes", "if output.parent.name != '3': sys.exit(3)\n" + WRITE_WHERE)
    assert [a.outcome for a in run([job], tmp_path / "a", settings(retries=5))["sometimes"].attempts] == ["failed"]
    again = settings(retries=5, retry=["failed"])
    assert [a.outcome for a in run([job], tmp_path / "b", again)["sometimes"].attempts] == ["failed", "failed", "done"]


def test_a_command_that_leaves_children_behind_takes_them_along(tmp_path: Path) -> None:
    code = "import subprocess; child = subprocess.Popen(['sleep', '600']); output.write_text(str(child.pid))"
    report = run([python_job("parent", code)], tmp_path / "run")["parent"]
    wait_until_gone(int(Path(str(report.last.output)).read_text()))


PARENT = """
import sys
from pathlib import Path
from tests.cluster.test_local import resumable, run
if __name__ == "__main__":
    run(resumable(Path(sys.argv[1])), Path(sys.argv[1]) / "run")
"""


def resumable(folder: Path) -> list[Job]:
    """Jobs that note every time they run; the second one stays at its first attempt."""
    note = f"(Path({str(folder)!r}) / ('ran-' + output.parents[1].name)).open('a').write('x')\n"
    stay = "if output.parent.name == '1': time.sleep(600)\n"
    return [python_job("quick", note + WRITE_WHERE), python_job("long", note + stay + WRITE_WHERE)]


def test_resume_after_a_kill_runs_only_what_is_missing(tmp_path: Path) -> None:
    runs = tmp_path / "run" / "jobs"
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    parent = subprocess.Popen([sys.executable, str(script), str(tmp_path)], env=environment)
    wait_for_file(runs / "quick" / "1" / "verdict.json")
    wait_for_file(tmp_path / "ran-long")
    beat = json.loads((runs / "long" / "1" / "beat").read_text())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    reports = run(resumable(tmp_path), tmp_path / "run")
    assert {name: (r.outcome, r.last.number) for name, r in reports.items()} == {
        "quick": ("done", 1),
        "long": ("done", 2),
    }
    assert {f.name: f.read_text() for f in tmp_path.glob("ran-*")} == {"ran-quick": "x", "ran-long": "xx"}
    # What was left of the first run has noticed that nobody waits for it.
    wait_until_gone(beat["pid"])
    wait_until_gone(beat["command"])


def test_an_output_that_is_gone_is_made_again(tmp_path: Path) -> None:
    jobs = [python_job("a", WRITE_WHERE), python_job("b", WRITE_WHERE)]
    first = run(jobs, tmp_path / "run")
    Path(str(first["a"].last.output)).unlink()
    second = run(jobs, tmp_path / "run")
    assert (second["a"].last.number, second["b"].last.number) == (2, 1)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"exit_code": "x"}', "\x00" * 40])
def test_files_that_make_no_sense_are_no_ending_and_no_verdict(tmp_path: Path, text: str) -> None:
    jobs = [python_job("a", WRITE_WHERE)]
    assert run(jobs, tmp_path / "run")["a"].last.number == 1
    for name in ("verdict.json", "ending.json", "submitted.json", "beat"):
        (tmp_path / "run/jobs/a/1" / name).write_text(text)
    assert run(jobs, tmp_path / "run")["a"].last.number == 2


def test_a_run_whose_folder_was_moved_is_taken_up_again(tmp_path: Path) -> None:
    jobs = [python_job("a", WRITE_WHERE)]
    run(jobs, tmp_path / "run")
    (tmp_path / "run").rename(tmp_path / "moved")
    assert run(jobs, tmp_path / "moved")["a"].last.output == str(tmp_path / "moved/jobs/a/1/output.json")


def test_a_folder_of_other_jobs_is_refused(tmp_path: Path) -> None:
    run([python_job("a", WRITE_WHERE)], tmp_path / "run")
    with pytest.raises(UserError, match="it has other jobs"):
        run([python_job("a", WRITE_WHERE + "  ")], tmp_path / "run")
    (tmp_path / "run" / "plan.json").write_text("{")
    with pytest.raises(UserError, match="not the folder of a run"):
        run([python_job("a", WRITE_WHERE)], tmp_path / "run")


def test_two_runs_in_one_folder_are_refused(tmp_path: Path) -> None:
    from relmgr.cluster.folder import opened_folder

    jobs = [python_job("a", WRITE_WHERE)]
    with opened_folder(tmp_path / "run", jobs), pytest.raises(UserError, match="another relmgr works in this folder"):
        run(jobs, tmp_path / "run")
