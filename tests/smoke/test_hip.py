"""The hip back end where there is no AMD device: against a test double in host memory, and Debian's own hiprtc.

The double is named in every report; nothing here says how AMD's runtime treats a wrong buffer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.doubles import build_hip_double
from tests.support.services import need_module

DEBIAN_RUNTIME = Path("/usr/lib/x86_64-linux-gnu/libamdhip64.so.5")


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    need_module("hip")
    return build_hip_double("host", tmp_path_factory.mktemp("double"))


@pytest.fixture
def debian(tmp_path: Path) -> dict[str, str]:
    """Debian's ROCm 5.2: hiprtc lies inside libamdhip64, and hip-python looks for it under its own name."""
    need_module("hip")
    if not DEBIAN_RUNTIME.exists():
        if os.environ.get("RELMGR_CI"):
            pytest.fail("Debian's libamdhip64-dev is not installed")
        pytest.skip("Debian's libamdhip64-dev is not installed")
    (tmp_path / "libhiprtc.so").symlink_to(DEBIAN_RUNTIME)
    (tmp_path / "libamdhip64.so").symlink_to(DEBIAN_RUNTIME)
    return {"LD_LIBRARY_PATH": str(tmp_path)}


def smoke(environment: dict[str, str], *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "relmgr", "smoke", *(str(argument) for argument in arguments)]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=110)


def run(environment: dict[str, str], *arguments: object) -> dict[str, Any]:
    done = smoke(environment, "run", "--backend", "hip", "--format", "json", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_the_whole_matrix_through_hip_python(double: dict[str, str]) -> None:
    report = run(double, "--launch-mismatches", "--dtype", "f32", "--dtype", "bf16")
    assert (report["backend"], report["double"], report["arch"]) == ("hip", "host-memory", "gfx90a")
    right = [case for case in report["cases"] if case["static"] == "same"]
    wrong = [case for case in report["cases"] if case["static"] == "differs"]
    # 32 in main forms and 2 more forms in 4 directions: MIOpen hands over no descriptors with a wide index.
    assert (len(right), len(wrong)) == (40, 29)
    assert {(case["outcome"], case["packing"]) for case in right} == {("right", "miopen")}
    for case in wrong:
        assert case["outcome"] == ("wrong-result" if case["packing"] == "padded" else "illegal-address"), case


def test_the_report_names_the_double_and_what_it_proves(double: dict[str, str]) -> None:
    done = smoke(double, "run", "--backend", "hip", "--dtype", "f32", "--direction", "fwd")
    assert (
        "Test double: host-memory stands in for the device's runtime. Packing checked; nothing about an AMD device."
        in (done.stdout)
    )


def test_the_bytes_miopen_hands_over_are_allowed_and_named(double: dict[str, str]) -> None:
    report = run(double, "--dtype", "f32", "--direction", "fwd", "--layout", "NCHW", "--main-forms", "--matching-only")
    details = {case["kernel_abi"]: case["detail"] for case in report["cases"]}
    assert details == {
        5: "112 bytes more: 1 unused tensor slot and 48 zero bytes for hidden arguments",
        6: "56 bytes more: 1 unused tensor slot and 48 zero bytes for hidden arguments",
    }


def test_no_device(double: dict[str, str]) -> None:
    done = smoke(double | {"RELMGR_DOUBLE_NO_DEVICE": "1"}, "run", "--backend", "hip")
    assert done.returncode == 3
    assert done.stderr.startswith(
        "relmgr: hip: HIP finds no device: hipErrorNoDevice (100)\n  next: run on a machine with"
    )


def test_no_rocm(tmp_path: Path) -> None:
    """hip-python imports without ROCm and fails at its first call; what is said names what to install."""
    need_module("hip")
    (tmp_path / "libamdhip64.so").write_text("not a library")
    done = smoke({"LD_LIBRARY_PATH": str(tmp_path)}, "run", "--backend", "hip")
    assert done.returncode == 3
    assert "HIP's runtime does not load" in done.stderr or "HIP finds no device" in done.stderr
    assert "next: " in done.stderr
    assert "Traceback" not in done.stderr


def test_a_compiler_that_aborts_ends_its_worker_alone(double: dict[str, str]) -> None:
    done = smoke(double | {"RELMGR_DOUBLE_ABORT": "1"}, "run", "--backend", "hip")
    assert done.returncode == 3
    assert "compiling for gfx90a with hiprtc 6.0: the process ended by signal SIGABRT" in done.stderr


def test_an_arch_the_compiler_does_not_know(double: dict[str, str]) -> None:
    done = smoke(double, "plan", "--backend", "hip", "--build", "--arch", "gfx1")
    assert done.returncode == 2
    assert "the compiler refused the smoke kernels" in done.stderr
    assert "unknown target gfx1" in done.stderr


def test_another_arch_than_the_devices(double: dict[str, str]) -> None:
    done = smoke(double, "run", "--backend", "hip", "--arch", "gfx942")
    assert (done.returncode, "this device is gfx90a, not gfx942" in done.stderr) == (2, True)


def test_out_of_device_memory_is_named(double: dict[str, str]) -> None:
    code = (
        "from relmgr.smoke.backends.hip import Hip; from relmgr.smoke.backends.device import DeviceFailed\n"
        "hip = Hip(); hip.describe()\n"
        "try: hip.allocate(1 << 50)\n"
        "except DeviceFailed as error: print(error.outcome, error.detail, error.poisoned)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | double, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "error out of device memory: hipMalloc: hipErrorOutOfMemory (2) False\n"


@pytest.mark.parametrize("arch", ["gfx90a", "gfx908"])
def test_debians_hiprtc_builds_what_the_static_gate_lets_pass(debian: dict[str, str], arch: str) -> None:
    """AMD's own compiler, without a device: real code objects of the smoke kernels, checked before any launch."""
    some = ["--dtype", "f32", "--layout", "NCHW"]
    done = smoke(debian, "plan", "--backend", "hip", "--build", "--arch", arch, "--format", "json", *some)
    assert done.returncode == 0, done.stderr
    checked = json.loads(done.stdout)
    assert (checked["arch"], checked["passed"], len(checked["cells"])) == (arch, True, 45)
    assert checked["toolchain"].startswith("hiprtc ")


def test_debians_hiprtc_aborts_on_a_newer_arch_and_is_contained(debian: dict[str, str]) -> None:
    done = smoke(debian, "plan", "--backend", "hip", "--build", "--arch", "gfx942", "--dtype", "f32")
    assert done.returncode == 3
    assert "compiling for gfx942 with hiprtc" in done.stderr
    assert "the process ended by signal SIG" in done.stderr


def test_debians_runtime_without_a_device(debian: dict[str, str]) -> None:
    if Path("/dev/kfd").exists():
        pytest.skip("this machine has an AMD device")
    done = smoke(debian, "run", "--backend", "hip")
    assert done.returncode == 3
    assert "HIP finds no device: hipErrorNoDevice (100)" in done.stderr
