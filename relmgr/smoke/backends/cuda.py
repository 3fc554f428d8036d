"""The `cuda` back end: NVRTC, the driver's modules, packed launches. The only place that imports cuda."""

from __future__ import annotations

import ctypes
import re
import time
from pathlib import Path
from typing import Any

from relmgr.smoke.backends.device import (
    NOT_READY,
    OUT_OF_MEMORY,
    CompileFailed,
    Device,
    DeviceFailed,
    Unavailable,
    launch_failure,
    packed_launch,
)

# CU_LAUNCH_PARAM_END of cuda.h.
_END = 0
_INSTALL = "pip install cuda-bindings (with NVIDIA's driver), or use --backend cpu"
_MAJOR, _MINOR = 75, 76


class Cuda(Device):
    """The first CUDA device."""

    def __init__(self) -> None:
        try:
            from cuda.bindings import driver, nvrtc
        except ImportError as error:
            raise Unavailable(f"cuda-bindings cannot be imported: {error}", _INSTALL) from None
        self.cu, self.nvrtc = driver, nvrtc
        self.modules: dict[bytes, Any] = {}
        self.stream: Any = None

    def describe(self) -> dict[str, Any]:
        """Open the device and its primary context."""
        try:
            code, *_ = self.cu.cuInit(0)
        except RuntimeError as error:
            raise Unavailable(f"no CUDA driver: {error}", _INSTALL) from None
        if int(code):
            raise Unavailable(f"the CUDA driver finds no device: {self._name(code)}", _INSTALL)
        device = self._call("cuDeviceGet", 0)
        context = self._call("cuDevicePrimaryCtxRetain", device)
        self._call("cuCtxSetCurrent", context)
        self.stream = self._call("cuStreamCreate", 1)
        attribute = self.cu.CUdevice_attribute
        major, minor = (self._call("cuDeviceGetAttribute", attribute(which), device) for which in (_MAJOR, _MINOR))
        name = self._call("cuDeviceGetName", 128, device)
        return {
            "backend": "cuda",
            "device": name.split(b"\0", 1)[0].decode(errors="replace"),
            "arch": f"sm_{major}{minor}",
            "driver": self._driver(),
            "double": None,
            "emulated": False,
            "runtime": "cuda",
            "toolchain": self.toolchain(),
        }

    def toolchain(self) -> str:
        """Return NVRTC's version."""
        try:
            _, major, minor = self.nvrtc.nvrtcVersion()
        except RuntimeError as error:
            raise Unavailable(f"no NVRTC: {error}", "pip install nvidia-cuda-nvrtc") from None
        return f"NVRTC {major}.{minor}"

    def compile(self, source: str, kernels: list[dict[str, Any]], arch: str) -> bytes:
        """Return a cubin."""
        nvrtc = self.nvrtc
        options = [f"--gpu-architecture={arch}".encode(), b"--std=c++17"]
        _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"smoke.cu", 0, None, None)
        (code,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if int(code):
            _, size = nvrtc.nvrtcGetProgramLogSize(program)
            log = bytearray(size)
            nvrtc.nvrtcGetProgramLog(program, log)
            raise CompileFailed(f"{code.name}: {log.rstrip(bytes(1)).decode(errors='replace')[-2000:]}")
        _, size = nvrtc.nvrtcGetCUBINSize(program)
        binary = bytearray(size)
        nvrtc.nvrtcGetCUBIN(program, binary)
        return bytes(binary)

    def allocate(self, size: int) -> int:
        """Return device memory."""
        return int(self._call("cuMemAlloc", size))

    def upload(self, address: int, data: bytes) -> None:
        """Copy to the device."""
        self._call("cuMemcpyHtoD", address, data, len(data))

    def download(self, address: int, size: int) -> bytes:
        """Copy from the device."""
        data = bytearray(size)
        self._call("cuMemcpyDtoH", data, address, size)
        return bytes(data)

    def load(self, binary: bytes, symbol: str) -> Any:
        """Return a function of a module; a module is loaded once."""
        if binary not in self.modules:
            self.modules[binary] = self._call("cuModuleLoadData", binary)
        return self._call("cuModuleGetFunction", self.modules[binary], symbol.encode())

    def launch(self, kernel: Any, arguments: bytes, blocks: int, block: int, limit: float) -> None:
        """Launch with one packed buffer, never with an array of pointers, and poll until it has ended."""
        cu = self.cu
        extra, _alive = packed_launch(arguments, _END)
        at = ctypes.addressof(extra)
        (code,) = cu.cuLaunchKernel(kernel, blocks, 1, 1, block, 1, 1, 0, self.stream, 0, at)
        if int(code):
            raise launch_failure(int(code), code.name, at_launch=True)
        until = time.monotonic() + limit
        while int(code := cu.cuStreamQuery(self.stream)[0]) == NOT_READY:
            if time.monotonic() > until:
                raise DeviceFailed("hang", f"not ended after {limit:g} s")
            time.sleep(0.0002)
        if int(code):
            raise launch_failure(int(code), code.name, at_launch=False)

    def _call(self, name: str, *arguments: Any) -> Any:
        """Call the driver; return its one value, or raise what its code means."""
        code, *values = getattr(self.cu, name)(*arguments)
        if int(code):
            memory = int(code) == OUT_OF_MEMORY
            what = "out of device memory: " if memory else ""
            raise DeviceFailed("error", f"{what}{name}: {self._name(code)} ({int(code)})", poisoned=not memory)
        return values[0] if values else None

    def _name(self, code: Any) -> str:
        return str(getattr(code, "name", code))

    def _driver(self) -> str:
        version = self._call("cuDriverGetVersion")
        supported = f"CUDA {version // 1000}.{version % 1000 // 10}"
        try:
            text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return supported
        match = re.search(r"\b(\d+\.\d+(?:\.\d+)?)\b", text)
        return f"{match[1]} ({supported})" if match else supported
