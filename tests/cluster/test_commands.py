"""`smoke run --cluster` and `kdb scan --cluster` as a person runs them, on this machine and on a real Slurm."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.conftest import wait_for_file
from tests.support.databases import fwd_row, other_row, write_database, wrw_row
from tests.support.slurm import Slurm

ROOT = Path(__file__).parents[2]
POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'5b' * 32}\nsize 536465408\n"
# The processor has no arch of AMD's: these names stand for where the jobs go.
CLUSTER = """
[cluster]
partition = "main"
deadline_seconds = 600
poll_seconds = 0.3
shards = 2

[cluster.archs.gfx908]
constraint = "gfx908"
gres = "gpu:gfx908:1"

[cluster.archs.gfx942]
constraint = "mi300"
gres = "gpu:gfx942:1"
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def project(tmp_path: Path) -> str:
    """A project file with a cluster."""
    text = (ROOT / "policies" / "projects" / "miopen-rocmlir.toml").read_text()
    text = text.replace('"../', f'"{ROOT / "policies"}/') + CLUSTER
    (tmp_path / "relmgr.toml").write_text(text)
    return "relmgr.toml"


@pytest.fixture
def databases(tmp_path: Path) -> list[str]:
    """Three databases and a pointer to one."""
    folder = tmp_path / "dbs"
    folder.mkdir()
    write_database(folder / "gfx90868.kdb", [fwd_row("bare"), other_row()])
    write_database(folder / "gfx90a68.kdb", [fwd_row("descriptor32"), fwd_row("descriptor32", in_h=57)])
    write_database(folder / "gfx90a6e.kdb", [wrw_row("bare"), wrw_row("descriptor32", in_h=57)])
    (folder / "gfx906_60.kdb").write_text(POINTER)
    return ["dbs"]


def relmgr(*args: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "relmgr", *args]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    return subprocess.run(argv, capture_output=True, text=True, env=environment, timeout=100)


def scan_alone(databases: list[str]) -> Any:
    done = relmgr("kdb", "scan", *databases, "--abi", "6", "--format", "json", "--no-cache")
    return json.loads(done.stdout)


@pytest.mark.parametrize("cluster", ["local", "slurm"])
def test_a_scan_in_jobs_says_what_a_scan_says(
    cluster: str, project: str, databases: list[str], request: pytest.FixtureRequest
) -> None:
    if cluster == "slurm":
        request.getfixturevalue("slurm")
    done = relmgr("kdb", "scan", "--cluster", cluster, *databases, "--abi", "6", "--format", "json", "--no-cache")
    assert (done.returncode, done.stderr) == (1, "")
    assert json.loads(done.stdout) == scan_alone(databases)
    assert json.loads(done.stdout)["totals"] == {
        "files": 4, "ok": 3, "pointers": 1, "unreadable": 0, "rows": 6, "mlir_rows": 5, "stale": 3, "corrupt": 0,
        "unknown": 0,
    }  # fmt: skip


def test_a_scan_whose_job_is_cancelled_never_counts_as_fresh(
    slurm: Slurm, project: str, databases: list[str], tmp_path: Path
) -> None:
    # Nothing starts before the cancelled one is gone.
    slurm.call("scontrol", "update", "partition=main", "state=down")
    jobs = tmp_path / "run" / "jobs"

    def cancel_one() -> None:
        slurm_id = json.loads(wait_for_file(jobs / "scan-001" / "1" / "submitted.json"))["slurm_id"]
        slurm.call("scancel", slurm_id)
        slurm.call("scontrol", "update", "partition=main", "state=up")

    canceller = threading.Thread(target=cancel_one)
    canceller.start()
    scan = ("kdb", "scan", "--cluster", "slurm", *databases, "--abi", "6", "--resume", "run")
    done = relmgr(*scan, "--format", "json")
    canceller.join()
    document = json.loads(done.stdout)
    missing = [file for file in document["files"] if file["findings"] and "not scanned" in file["findings"][-1]["why"]]
    assert {(file["state"], file["rows"], file["stale"]) for file in missing} == {("unreadable", None, None)}
    assert document["totals"]["unreadable"] == len(missing) > 0
    assert (
        missing[0]["findings"][-1]["why"]
        == "not scanned: job scan-001 cancelled (it left the queue without a sign of having run)"
    )
    assert "job scan-001, attempt 1: cancelled: it left the queue without a sign of having run\n" in done.stderr
    assert "With --resume run only what is missing runs." in done.stderr
    again = relmgr(*scan, "--format", "json")
    assert (again.returncode, json.loads(again.stdout)) == (1, scan_alone(databases))
    assert not (jobs / "scan-000" / "2").exists()
    assert (jobs / "scan-001" / "2").exists()


def test_a_scan_is_not_taken_up_again_when_a_database_changed(project: str, databases: list[str]) -> None:
    scan = ("kdb", "scan", "--cluster", "local", *databases, "--abi", "6", "--resume", "run")
    assert relmgr(*scan).returncode == 1
    os.utime("dbs/gfx90868.kdb", (1, 1))
    done = relmgr(*scan)
    assert (done.returncode, "it has other jobs" in done.stderr) == (2, True)


def test_jobs_get_the_project_that_was_found(project: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from relmgr.settings import load_project
    from relmgr.workflows.cluster import project_arguments

    own, shipped = str(tmp_path / "relmgr.toml"), load_project("migraphx-rocmlir")
    pin = shipped.pin()
    assert project_arguments(load_project(None), pin, None) == ("--project", own, "--pin", "rocmlir")
    assert project_arguments(shipped, pin, "migraphx-rocmlir")[1] == "migraphx-rocmlir"
    assert project_arguments(shipped, pin, "relmgr.toml")[1] == own
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    # Found by the clone that the working folder is.
    assert project_arguments(shipped, pin, None)[1] == "migraphx-rocmlir"
    assert project_arguments(shipped, pin, "../relmgr.toml")[1] == f"{tmp_path}/elsewhere/../relmgr.toml"


def test_resume_without_cluster_is_a_mistake(project: str, databases: list[str]) -> None:
    done = relmgr("kdb", "scan", *databases, "--resume", "run")
    assert (done.returncode, "--resume goes with --cluster" in done.stderr) == (2, True)


def crashing(tmp_path: Path, when: str, then: str = "kill -SEGV $$") -> None:
    """Put a Python before the jobs' that falls where the shell condition `when` holds, in an attempt's folder."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nif {when}; then {then}; fi\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    file = tmp_path / "relmgr.toml"
    file.write_text(file.read_text().replace("[cluster]\n", f'[cluster]\npython = "{python}"\nlost_seconds = 5\n'))


def test_a_scan_that_segfaults_names_its_files(
    slurm: Slurm, project: str, databases: list[str], tmp_path: Path
) -> None:
    crashing(tmp_path, 'case "$*" in *gfx90a6e*--format*|*--format*gfx90a6e*) true;; *) false;; esac')
    done = relmgr("kdb", "scan", "--cluster", "slurm", *databases, "--abi", "6", "--resume", "run", "--format", "json")
    files = {Path(file["path"]).name: file for file in json.loads(done.stdout)["files"]}
    fallen = {name for name, file in files.items() if file["findings"] and "SIGSEGV" in file["findings"][-1]["why"]}
    assert "gfx90a6e.kdb" in fallen
    assert len(fallen) == 2
    assert {(files[name]["state"], files[name]["stale"]) for name in fallen} == {("unreadable", None)}
    why = files["gfx90a6e.kdb"]["findings"][-1]["why"]
    assert why.startswith("not scanned: job scan-00")
    assert why.count("crashed on") == 2  # tried again, as the rule says
    alone = {Path(file["path"]).name: file for file in scan_alone(databases)["files"]}
    assert {name: file for name, file in files.items() if name not in fallen} == {
        name: file for name, file in alone.items() if name not in fallen
    }


def test_a_scan_whose_node_is_lost_goes_to_another(
    slurm: Slurm, project: str, databases: list[str], tmp_path: Path
) -> None:
    crashing(tmp_path, 'case "$PWD" in */scan-000/1) true;; *) false;; esac', "sleep 600")

    def cut_it() -> None:
        sign = json.loads(wait_for_file(tmp_path / "run/jobs/scan-000/1/beat"))
        slurm.cut_node(sign["node"], sign["pid"])

    cutter = threading.Thread(target=cut_it)
    cutter.start()
    done = relmgr("kdb", "scan", "--cluster", "slurm", *databases, "--abi", "6", "--resume", "run", "--format", "json")
    cutter.join()
    assert (done.returncode, json.loads(done.stdout)) == (1, scan_alone(databases))
    assert "job scan-000, attempt 1: lost on mi" in done.stderr
    assert "no sign of life for 5 s; Slurm says RUNNING" in done.stderr


def test_a_scan_for_which_there_is_no_node(slurm: Slurm, project: str, databases: list[str], tmp_path: Path) -> None:
    file = tmp_path / "relmgr.toml"
    file.write_text(file.read_text().replace("[cluster]\n", '[cluster]\nconstraint = "gfx1100"\n'))
    done = relmgr("kdb", "scan", "--cluster", "slurm", *databases, "--abi", "6", "--format", "json")
    totals = json.loads(done.stdout)["totals"]
    assert (done.returncode, totals["unreadable"], totals["stale"]) == (3, 4, None)
    assert "no-node: Slurm has no node for --partition=main --constraint=gfx1100" in done.stderr


SMOKE = ("smoke", "run", "--backend", "cpu", "--dtype", "f32", "--layout", "NCHW", "--main-forms")


def test_smoke_on_every_arch_of_the_cluster(slurm: Slurm, project: str, tmp_path: Path) -> None:
    done = relmgr(
        *SMOKE, "--cluster", "slurm", "--resume", "run", "--pinned", "f" * 40, "--json", "report.json",
        "--format", "json", env={"RELMGR_SMOKE_SECRET": "a secret of sixteen and more"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert [(job["name"], job["outcome"], job["attempts"][0]["node"]) for job in document["jobs"]] == [
        ("gfx908-0", "done", "mi100-0"),
        ("gfx908-1", "done", "mi100-0"),
        ("gfx942-0", "done", "mi300-0"),
        ("gfx942-1", "done", "mi300-0"),
    ]
    alone = json.loads(relmgr(*SMOKE, "--format", "json").stdout)
    for arch in ("gfx908", "gfx942"):
        report = json.loads(Path(f"report-{arch}.json").read_text())
        assert (report["verdict"], report["pin"], report["emulated"]) == ("passed", "f" * 40, alone["emulated"])
        assert report["signature"] is not None
        # The cells of all jobs are the cells of one run.
        assert sorted(map(cell_of, report["cases"])) == sorted(map(cell_of, alone["cases"]))
    folder = tmp_path / "run" / "jobs" / "gfx908-0" / "1"
    assert {"log", "output.json", "junit.xml", "matrix.html"} <= {file.name for file in folder.iterdir()}
    assert "a secret of sixteen" not in (tmp_path / "run" / "plan.json").read_text()


def cell_of(case: dict[str, object]) -> str:
    return json.dumps({key: value for key, value in case.items() if key not in ("seconds", "error_norm")})


def test_smoke_without_an_answer_does_not_pass(slurm: Slurm, project: str, tmp_path: Path) -> None:
    slurm.call("scontrol", "update", "nodename=mi300-0", "state=drain", "reason=repair")
    try:
        done = relmgr(*SMOKE, "--cluster", "slurm", "--resume", "run")
    finally:
        slurm.call("scontrol", "update", "nodename=mi300-0", "state=resume")
    assert done.returncode == 3
    assert done.stdout.startswith("Look at what follows: failed on 2 archs in 4 jobs, on Slurm; no answer for 1.\n")
    assert f"\n{platform.machine()} of a gfx908 node  cpu " in done.stdout
    assert "job gfx942-1, attempt 1: no-node, for the same reason\n" in done.stderr
    _, _, missing = done.stdout.partition("\nNo answer for gfx942:\n- ")
    why = "no-node (Slurm has no node for --partition=main --constraint=mi300 --gres=gpu:gfx942:1 --time=12: "
    assert missing.startswith(f"gfx942-0, gfx942-1: {why}")
    slurm.wait_idle()
    assert relmgr(*SMOKE, "--cluster", "slurm", "--resume", "run").returncode == 0
    assert not (tmp_path / "run" / "jobs" / "gfx908-0" / "2").exists()


def test_smoke_that_segfaults_once_is_tried_again_and_says_so(project: str, tmp_path: Path) -> None:
    crashing(tmp_path, 'case "$PWD" in */here-1/1) true;; *) false;; esac')
    done = relmgr(*SMOKE, "--cluster", "local", "--resume", "run")
    assert done.returncode == 0
    node = json.loads((tmp_path / "run/jobs/here-1/1/verdict.json").read_text())["node"]
    assert done.stderr == f"job here-1, attempt 1: crashed on {node}: ended by SIGSEGV\n"
    assert done.stdout.startswith("Nothing to do: passed on 1 arch in 2 jobs, on this machine.\n")
    assert done.stdout.endswith(
        f"\nTried again:\n- here-1: crashed on {node} (ended by SIGSEGV); then done on {node}\n"
        "\nLog, report and matrix of each job: run/jobs/. With --resume run only what is missing runs.\n"
    )


def test_smoke_that_keeps_falling_fails_with_all_it_knows(project: str, tmp_path: Path) -> None:
    crashing(tmp_path, 'case "$PWD" in */here-1/*) true;; *) false;; esac')
    done = relmgr(*SMOKE, "--cluster", "local", "--resume", "run", "--format", "markdown", "--json", "r.json")
    assert done.returncode == 3
    first = "**Look at what follows: failed** on 1 arch in 2 jobs, on this machine; no answer for 1.\n"
    assert done.stdout.startswith(first)
    assert "\n### No answer for this machine\n\n- here-1: crashed on " in done.stdout
    report = json.loads(Path("r.json").read_text())
    # Every cell of the other job is right, and still this proves nothing whole.
    assert {case["outcome"] for case in report["cases"]} == {"right", "layout-refused"}
    assert report["verdict"] == "failed"


def test_smoke_that_is_killed_is_taken_up_again(slurm: Slurm, project: str, tmp_path: Path) -> None:
    slurm.call("scontrol", "update", "partition=main", "state=down")
    argv = [sys.executable, "-m", "relmgr", *SMOKE, "--cluster", "slurm", "--resume", "run", "--arch", "gfx908"]
    first = subprocess.Popen(argv, env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        submitted = wait_for_file(tmp_path / "run/jobs/gfx908-1/1/submitted.json")
        first.send_signal(signal.SIGKILL)
        first.wait()
    finally:
        slurm.call("scontrol", "update", "partition=main", "state=up")
    done = relmgr(*SMOKE, "--cluster", "slurm", "--resume", "run", "--arch", "gfx908", "--format", "json")
    document = json.loads(done.stdout)
    assert [(job["name"], job["outcome"], len(job["attempts"])) for job in document["jobs"]] == [
        ("gfx908-0", "done", 1),
        ("gfx908-1", "done", 1),
    ]
    # The very job that the first process had submitted.
    assert document["jobs"][1]["attempts"][0]["slurm_id"] == json.loads(submitted)["slurm_id"]


def test_an_arch_that_is_not_placed_is_a_mistake_of_the_configuration(project: str) -> None:
    done = relmgr(*SMOKE, "--cluster", "slurm", "--arch", "gfx1100")
    assert done.returncode == 2
    assert "no placement for gfx1100; known: gfx908, gfx942" in done.stderr
    assert "add [cluster.archs.NAME]" in done.stderr


def test_options_of_a_single_process_are_refused(project: str) -> None:
    done = relmgr(*SMOKE, "--cluster", "local", "--html", "page.html")
    assert (done.returncode, "--html does not go with --cluster" in done.stderr) == (2, True)
