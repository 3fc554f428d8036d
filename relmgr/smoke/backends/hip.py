"""The `hip` back end: HIP's runtime and hiprtc through hip-python. The only place that imports hip.

hip-python finds no runtime at its first call, not at its import; and a compiler that is given an arch it does not know
may end the process. Both happen in a worker.
"""

from __future__ import annotations

import ctypes
from typing import Any

from relmgr.smoke.backends.device import Unavailable
from relmgr.smoke.backends.driver import Answer, Binding, DriverDevice

_INSTALL_RUNTIME = "install ROCm's HIP runtime (libamdhip64.so), or use --backend cuda or cpu"
_INSTALL_PACKAGE = "pip install hip-python (Linux, x86-64), or use --backend cuda or cpu"
_NO_DEVICE = "HIP finds no device"
_FIND_DEVICE = "run on a machine with an AMD GPU and its driver, or use --backend cuda or cpu"
# A test double of the runtime says its name here; AMD's library has no such function.
_DOUBLE_NAME = "relmgr_test_double"
_DOUBLE_RUNTIMES = {"cuda": "cuda", "host": "host"}


class Hip(DriverDevice):
    """The first HIP device."""

    compiler_name = "hiprtc"
    arch_option = "--offload-arch={}"
    standard_option = b"-std=c++17"
    source_name = b"smoke.hip"
    binary_word = "Code"
    # HIP_LAUNCH_PARAM_END: 3, where CUDA's is 0.
    launch_end = 3

    def __init__(self) -> None:
        try:
            from hip import hip, hiprtc
        except ImportError as error:
            raise Unavailable(f"hip-python cannot be imported: {error}", _INSTALL_PACKAGE) from None
        super().__init__(Binding(hip, "hip", _INSTALL_RUNTIME), Binding(hiprtc, "hiprtc", _INSTALL_RUNTIME))
        # hip-python frees nothing, but its pointers are objects: each is kept for as long as its address is used.
        self.pointers: dict[int, Any] = {}

    def describe(self) -> dict[str, Any]:
        """Open the device; a library without a device says so in HIP's own words."""
        lacks = "HIP's runtime does not load"
        if not self.first("GetDeviceCount", nothing=lacks, no_device=_NO_DEVICE, next_step=_FIND_DEVICE):
            raise Unavailable(_NO_DEVICE, _FIND_DEVICE)
        self.call("SetDevice", 0)
        self.stream = self.call("StreamCreate")
        properties = self._properties()
        double, runtime = _test_double()
        return {
            "backend": "hip",
            "device": _text(properties.name),
            "arch": _text(properties.gcnArchName).partition(":")[0],
            "driver": f"HIP {_version(self.call('RuntimeGetVersion'))}",
            "double": double,
            "emulated": False,
            "runtime": runtime,
            "toolchain": self.toolchain(),
        }

    def allocate(self, size: int) -> int:
        """Return device memory."""
        pointer = self.call("Malloc", size)
        address = int(pointer.as_c_void_p().value)
        self.pointers[address] = pointer
        return address

    def upload(self, address: int, data: bytes) -> None:
        """Copy to the device."""
        self.call("Memcpy", address, data, len(data), self.driver.module.hipMemcpyKind.hipMemcpyHostToDevice)

    def download(self, address: int, size: int) -> bytes:
        """Copy from the device."""
        data = bytearray(size)
        self.call("Memcpy", data, address, size, self.driver.module.hipMemcpyKind.hipMemcpyDeviceToHost)
        return bytes(data)

    def start(self, kernel: Any, blocks: int, block: int, extra: ctypes.Array[ctypes.c_void_p]) -> Answer:
        """Launch; hip-python takes the list itself."""
        return self.ask("ModuleLaunchKernel", kernel, blocks, 1, 1, block, 1, 1, 0, self.stream, None, extra)

    def _properties(self) -> Any:
        """Return the device's properties; hip-python before 10 fills an object that it is given."""
        try:
            return self.call("GetDeviceProperties", 0)
        except TypeError:
            properties = self.driver.module.hipDeviceProp_t()
            self.call("GetDeviceProperties", properties, 0)
            return properties


def _test_double() -> tuple[str | None, str]:
    """Return the name of the test double that serves as the runtime, and how it treats buffers; None for AMD's."""
    try:
        tell = getattr(ctypes.CDLL("libamdhip64.so"), _DOUBLE_NAME)
    except (OSError, AttributeError):
        return None, "amd"
    tell.restype = ctypes.c_char_p
    kind, _, name = tell().decode().partition(":")
    return name, _DOUBLE_RUNTIMES.get(kind, "amd")


def _text(value: Any) -> str:
    data = value if isinstance(value, bytes) else str(value).encode()
    return data.split(b"\0", 1)[0].decode(errors="replace")


def _version(number: int) -> str:
    """Return HIP's version: major * 10,000,000 + minor * 100,000 + patch."""
    return f"{number // 10_000_000}.{number // 100_000 % 100}"
