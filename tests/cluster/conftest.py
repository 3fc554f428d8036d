"""A real Slurm for the tests that need one, started once, and small jobs for it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from relmgr.model.cluster import OUTPUT, ClusterSettings, Job
from tests.support.services import need_module
from tests.support.slurm import NODES, Slurm, start_slurm


@pytest.fixture(scope="session")
def _slurm() -> Iterator[Slurm]:
    need_module("submitit")
    slurm = start_slurm()
    yield slurm
    slurm.stop()


@pytest.fixture
def slurm(_slurm: Slurm, monkeypatch: pytest.MonkeyPatch) -> Slurm:
    """A cluster whose three nodes are idle, and which this process' Slurm commands talk to."""
    monkeypatch.setenv("SLURM_CONF", str(_slurm.configuration))
    _slurm.wait_idle()
    return _slurm


def settings(**changes: object) -> ClusterSettings:
    """Return settings in which the three archs have their nodes, one GPU a job."""
    archs = {arch: {"constraint": arch, "gres": f"gpu:{arch}:1"} for arch, _ in NODES.values()}
    given = {"partition": "main", "archs": archs, "poll_seconds": 0.3, "deadline_seconds": 600, **changes}
    return ClusterSettings.model_validate(given)


def python_job(name: str, code: str, arch: str | None = None, answers: tuple[int, ...] = (0,)) -> Job:
    """Return a job of a few Python lines, which write to `output`."""
    start = "import json, os, signal, sys, time; from pathlib import Path; output = Path(sys.argv[1])\n"
    return Job(name=name, argv=(sys.executable, "-c", start + code, OUTPUT), arch=arch, answers=answers)


def wait_for_file(file: Path, seconds: float = 60) -> str:
    """Return a file's text once it is there."""
    import time

    end = time.monotonic() + seconds
    while not (file.exists() and file.read_text().strip()):
        if time.monotonic() > end:
            raise AssertionError(f"{file} did not appear; there is {sorted(map(str, file.parent.parent.rglob('*')))}")
        time.sleep(0.05)
    return file.read_text()


WRITE_WHERE = "output.write_text(json.dumps([os.environ.get('SLURMD_NODENAME'), os.environ.get('SLURM_JOB_GPUS')]))"
SEGFAULT = "os.kill(os.getpid(), signal.SIGSEGV)"
