"""An NVIDIA device for tests, where there is one."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest


def need_nvidia_device() -> None:
    """Skip without a device and its bindings; CI has neither, so this never fails there."""
    if not Path("/dev/nvidiactl").exists() and not Path("/dev/nvidia0").exists():
        pytest.skip("no NVIDIA device on this machine")
    if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.bindings") is None:
        pytest.skip("cuda-bindings is not installed")


def nvrtc_library() -> str:
    """Return the path of NVRTC's library, as cuda-bindings finds it."""
    from cuda.pathfinder import load_nvidia_dynamic_lib

    return str(load_nvidia_dynamic_lib("nvrtc").abs_path)
