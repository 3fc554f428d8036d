"""Choose a back end, and say why: by what this machine shows, without opening a device."""

from __future__ import annotations

import importlib.util
import platform
from pathlib import Path
from typing import TYPE_CHECKING

from relmgr.errors import UserError

if TYPE_CHECKING:
    # Workers are started with this module alone, before the nouns are imported.
    from relmgr.model.kernargs import Packing
    from relmgr.model.smoke import BackendName, DeviceInfo, RuntimeKind

_AMD_DEVICE = "/dev/kfd"
_NVIDIA_DEVICES = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg")
_NEEDS = {
    "hip": ("hip", "pip install hip-python (Linux, x86-64)"),
    "cuda": ("cuda.bindings", "pip install 'relmgr[cuda]' (cuda-bindings)"),
}


def choose_backend(asked: str) -> tuple[BackendName, str]:
    """Return the back end for `asked` (`auto`, `hip`, `cuda` or `cpu`) and the reason in words.

    Raises `UserError` where the asked one lacks its Python package, and says what to install.
    """
    if asked == "cpu":
        return "cpu", "asked for"
    if asked == "hip":
        return "hip", _require("hip")
    if asked == "cuda":
        return "cuda", _require("cuda")
    missing = ""
    if Path(_AMD_DEVICE).exists():
        if _is_installed("hip"):
            return "hip", f"an AMD device is here ({_AMD_DEVICE})"
        missing = f"an AMD device is here, but not hip-python: {_NEEDS['hip'][1]}; "
    device = next((path for path in _NVIDIA_DEVICES if Path(path).exists()), None)
    if device is not None:
        if _is_installed("cuda"):
            return "cuda", f"an NVIDIA device is here ({device})"
        missing += f"an NVIDIA device is here, but not cuda-bindings: {_NEEDS['cuda'][1]}; "
    return "cpu", f"{missing}no device of AMD or NVIDIA that can be used on this {platform.machine()} machine"


def packing_for(info: DeviceInfo) -> Packing:
    """Return what matching launches hand over: what MIOpen does, where the runtime takes it as AMD's does."""
    return "miopen" if info.backend == "hip" and info.runtime != "cuda" else "exact"


def assumed_runtime(backend: BackendName) -> RuntimeKind:
    """Return the runtime that a plan made without a device is for."""
    kinds: dict[BackendName, RuntimeKind] = {"hip": "amd", "cuda": "cuda", "cpu": "host"}
    return kinds[backend]


def _require(backend: str) -> str:
    if not _is_installed(backend):
        package, install = _NEEDS[backend]
        raise UserError(f"the {backend} back end needs the Python package {package}", next_step=install)
    return "asked for"


def _is_installed(backend: str) -> bool:
    try:
        return importlib.util.find_spec(_NEEDS[backend][0]) is not None
    except ImportError:
        return False
