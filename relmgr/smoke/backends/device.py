"""What every back end does for a worker, and the ways in which it can fail. Standard library only (see problem.py)."""

from __future__ import annotations

import ctypes
from typing import Any, Protocol

# CUDA and HIP number these alike. https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html (CUresult)
_INVALID_VALUE, _OUT_OF_RESOURCES = 1, 701
_BAD_ADDRESS = {700, 714, 716, 717, 718}
NOT_READY = 600
_LONGEST_PARAMETERS = 4096
OUT_OF_MEMORY = 2


class Unavailable(Exception):
    """The back end cannot be used here: `what` is the matter, `next_step` what to install or do."""

    def __init__(self, what: str, next_step: str) -> None:
        super().__init__(what)
        self.what, self.next_step = what, next_step


class CompileFailed(Exception):
    """The compiler said no; the text is its log."""


class DeviceFailed(Exception):
    """A call to the device failed. `outcome` names what that means; `poisoned`: nothing works in this process again."""

    def __init__(self, outcome: str, detail: str, *, poisoned: bool = True) -> None:
        super().__init__(detail)
        self.outcome, self.detail, self.poisoned = outcome, detail, poisoned


class Device(Protocol):
    """A device with memory, modules and launches. Addresses are plain integers."""

    def describe(self) -> dict[str, Any]:
        """Open the device; return the fields of `DeviceInfo`. Raises `Unavailable`."""

    def toolchain(self) -> str:
        """Return what compiles and its version. Raises `Unavailable`."""

    def compile(self, source: str, kernels: list[dict[str, Any]], arch: str) -> bytes:
        """Return a binary with every kernel of `source`. Raises `CompileFailed` and `Unavailable`."""

    def allocate(self, size: int) -> int:
        """Return the address of `size` bytes. Raises `DeviceFailed`."""

    def upload(self, address: int, data: bytes) -> None:
        """Copy to the device."""

    def download(self, address: int, size: int) -> bytes:
        """Copy from the device."""

    def load(self, binary: bytes, symbol: str) -> Any:
        """Return the kernel `symbol` of a module. Raises `DeviceFailed`."""

    def launch(self, kernel: Any, arguments: bytes, blocks: int, block: int, limit: float) -> None:
        """Launch, and wait until it has ended or `limit` seconds are over. Raises `DeviceFailed`."""


def packed_launch(arguments: bytes, end_marker: int) -> tuple[ctypes.Array[ctypes.c_void_p], list[Any]]:
    """Return the `extra` array of a packed launch, and what must be kept alive until it is over.

    A runtime may read as many bytes as the kernel has parameters, however few it is told there are: zeros follow.
    """
    buffer = ctypes.create_string_buffer(arguments, len(arguments) + _LONGEST_PARAMETERS)
    size = ctypes.c_size_t(len(arguments))
    places = (ctypes.addressof(buffer), ctypes.addressof(size))
    # LAUNCH_PARAM_BUFFER_POINTER and LAUNCH_PARAM_BUFFER_SIZE are 1 and 2 in cuda.h and in HIP; the end marks differ.
    extra = (ctypes.c_void_p * 5)(1, places[0], 2, places[1], end_marker)
    return extra, [buffer, size]


def launch_failure(code: int, name: str, *, at_launch: bool) -> DeviceFailed:
    """Return what an error code of a launch, or of the wait after it, means."""
    when = "at launch" if at_launch else "after the launch"
    detail = f"{name} ({code}) {when}"
    if at_launch and code in (_INVALID_VALUE, _OUT_OF_RESOURCES):
        # Neither is sticky: the device never saw this launch.
        return DeviceFailed("launch-refused", detail, poisoned=False)
    return DeviceFailed("illegal-address" if code in _BAD_ADDRESS else "error", detail)
