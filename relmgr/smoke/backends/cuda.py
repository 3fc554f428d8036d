"""The `cuda` back end: CUDA's driver and NVRTC through cuda-bindings. The only place that imports cuda."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

from relmgr.smoke.backends.device import Unavailable
from relmgr.smoke.backends.driver import Answer, Binding, DriverDevice

_INSTALL = "pip install cuda-bindings (with NVIDIA's driver), or use --backend cpu"
# CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR of cuda.h.
_MAJOR, _MINOR = 75, 76


class Cuda(DriverDevice):
    """The first CUDA device."""

    compiler_name = "NVRTC"
    arch_option = "--gpu-architecture={}"
    standard_option = b"--std=c++17"
    source_name = b"smoke.cu"
    binary_word = "CUBIN"
    launch_end = 0

    def __init__(self) -> None:
        try:
            from cuda.bindings import driver, nvrtc
        except ImportError as error:
            raise Unavailable(f"cuda-bindings cannot be imported: {error}", _INSTALL) from None
        super().__init__(Binding(driver, "cu", _INSTALL), Binding(nvrtc, "nvrtc", "pip install nvidia-cuda-nvrtc"))

    def describe(self) -> dict[str, Any]:
        """Open the device and its primary context."""
        lacks = "the CUDA driver finds no device"
        self.first("Init", 0, nothing="no CUDA driver", no_device=lacks, next_step=_INSTALL)
        device = self.call("DeviceGet", 0)
        self.call("CtxSetCurrent", self.call("DevicePrimaryCtxRetain", device))
        self.stream = self.call("StreamCreate", 1)
        attribute = self.driver.module.CUdevice_attribute
        major, minor = (self.call("DeviceGetAttribute", attribute(which), device) for which in (_MAJOR, _MINOR))
        return {
            "backend": "cuda",
            "device": self.call("DeviceGetName", 128, device).split(b"\0", 1)[0].decode(errors="replace"),
            "arch": f"sm_{major}{minor}",
            "driver": _driver_version(self.call("DriverGetVersion")),
            "double": None,
            "emulated": False,
            "runtime": "cuda",
            "toolchain": self.toolchain(),
        }

    def allocate(self, size: int) -> int:
        """Return device memory."""
        return int(self.call("MemAlloc", size))

    def upload(self, address: int, data: bytes) -> None:
        """Copy to the device."""
        self.call("MemcpyHtoD", address, data, len(data))

    def download(self, address: int, size: int) -> bytes:
        """Copy from the device."""
        data = bytearray(size)
        self.call("MemcpyDtoH", data, address, size)
        return bytes(data)

    def start(self, kernel: Any, blocks: int, block: int, extra: ctypes.Array[ctypes.c_void_p]) -> Answer:
        """Launch; cuda-bindings takes the list by its address."""
        at = ctypes.addressof(extra)
        return self.ask("LaunchKernel", kernel, blocks, 1, 1, block, 1, 1, 0, self.stream, 0, at)


def _driver_version(number: int) -> str:
    """Return the version of NVIDIA's driver where Linux tells it, and of CUDA (major * 1000 + minor * 10)."""
    supported = f"CUDA {number // 1000}.{number % 1000 // 10}"
    try:
        text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return supported
    match = re.search(r"\b(\d+\.\d+(?:\.\d+)?)\b", text)
    return f"{match[1]} ({supported})" if match else supported
