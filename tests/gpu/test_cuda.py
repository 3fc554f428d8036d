"""The smoke matrix on an NVIDIA device, through the cuda back end and through the hip back end's forwarding double."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.doubles import build_hip_double
from tests.support.nvidia import need_nvidia_device, nvrtc_library

pytestmark = pytest.mark.gpu

# What the H200 showed for each mismatch (kernel, arguments, packing), in every direction.
SEEN = {
    ("expanded", "bare", "exact"): "illegal-address",
    ("expanded+sizes", "bare", "exact"): "no-op",
    ("expanded", "bare", "padded"): "wrong-result",
    ("bare", "expanded", "exact"): "launch-refused",
    ("by-value", "expanded", "exact"): "illegal-address",
    ("bare", "bare", "exact"): "illegal-address",
}
BOUNDS = {"f32": 1e-5, "f16": 1e-2, "bf16": 1e-2, "i8": 0.0}


def run_matrix(backend: str, environment: dict[str, str], tmp_path: Path) -> dict[str, Any]:
    """Run the whole matrix, mismatches launched too; return the report."""
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "relmgr", "smoke", "run", "--backend", backend, "--launch-mismatches"]
    run = subprocess.run(
        [*command, "--json", str(report)], env=os.environ | environment, capture_output=True, text=True, timeout=110
    )
    print(run.stdout, run.stderr)
    assert run.returncode == 0
    return json.loads(report.read_text())


def check_matrix(report: dict[str, Any]) -> None:
    """Check every cell by what is written here, not by the plan."""
    mismatches = [case for case in report["cases"] if case["static"] == "differs"]
    right = [case for case in report["cases"] if case["static"] == "same"]
    assert (len(right), len(mismatches)) == (80, 29)
    for case in right:
        assert case["outcome"] == "right"
        assert case["error_norm"] <= BOUNDS[case["dtype"]]
    for case in mismatches:
        kind = (case["kernel_form"], case["argument_form"], case["packing"])
        if kind == ("expanded", "expanded", "exact"):
            wanted = "launch-refused" if case["index_bits"] == 32 else "illegal-address"
        else:
            wanted = SEEN[kind]
        assert case["launched"]
        assert case["outcome"] == wanted, case


@pytest.mark.parametrize("repetition", [1, 2, 3])
def test_every_cell_on_cuda(repetition: int, tmp_path: Path) -> None:
    need_nvidia_device()
    report = run_matrix("cuda", {}, tmp_path)
    assert (report["backend"], report["double"], report["emulated"]) == ("cuda", None, False)
    check_matrix(report)


def test_every_cell_through_hip_python_and_the_forwarding_double(tmp_path: Path) -> None:
    need_nvidia_device()
    environment = build_hip_double("cuda", tmp_path / "double") | {"RELMGR_DOUBLE_NVRTC": nvrtc_library()}
    report = run_matrix("hip", environment, tmp_path)
    assert (report["backend"], report["double"]) == ("hip", "cuda-forwarding")
    assert report["arch"].startswith("sm_")
    check_matrix(report)


def test_auto_takes_the_device_that_is_there(tmp_path: Path) -> None:
    need_nvidia_device()
    run = subprocess.run(
        [sys.executable, "-m", "relmgr", "smoke", "plan", "--direction", "fwd"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "back end cuda (an NVIDIA device is here" in run.stdout


def test_out_of_device_memory_is_named(tmp_path: Path) -> None:
    need_nvidia_device()
    from relmgr.smoke.backends.cuda import Cuda
    from relmgr.smoke.backends.device import DeviceFailed

    device = Cuda()
    device.describe()
    with pytest.raises(
        DeviceFailed, match=r"out of device memory: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY \(2\)"
    ) as caught:
        device.allocate(1 << 50)
    assert not caught.value.poisoned


def test_a_kernel_that_never_ends_is_a_hang_and_is_ended(tmp_path: Path) -> None:
    need_nvidia_device()
    from relmgr.smoke.backends.cuda import Cuda
    from relmgr.smoke.outcomes import name_ending
    from relmgr.smoke.pool import Pool, Task

    device = Cuda()
    arch = device.describe()["arch"]
    source = 'extern "C" __global__ void forever(volatile int *p, int *q, int *r) { while (*p != 12345678) ; }'
    module = tmp_path / "forever.cubin"
    module.write_bytes(device.compile(source, [], arch))
    job = {
        "do": "case",
        "id": "forever",
        "module": str(module),
        "symbol": "forever",
        "problem": [[2, 3, 4, 5, 7, 8, 3, 2, 2, 1, 1, 0, 1, 2], "fwd", "f32", "NCHW", 3],
        "template": "00" * 24,
        "pointers": [[0, 0], [8, 1], [16, 2]],
        "blocks": 1,
        "block": 1,
        "seed": 1,
        "limit": 1.0,
    }
    with Pool("cuda") as pool:
        (ending,) = pool.run([Task(job, exclusive=True, limit=1.0)])
    assert name_ending(ending)[0] == "hang"
