"""The `hip` back end: hiprtc, HIP's modules, packed launches, through hip-python. The only place that imports hip.

hip-python finds no runtime at its first call, not at its import; and a compiler that is given an arch it does not know
may end the process. Both happen in a worker.
"""

from __future__ import annotations

import ctypes
import re
import time
from collections.abc import Callable
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

# HIP_LAUNCH_PARAM_END: 3, where CUDA's is 0.
_END = 3
_INSTALL_RUNTIME = "install ROCm's HIP runtime (libamdhip64.so), or use --backend cuda or cpu"
_INSTALL_PACKAGE = "pip install hip-python (Linux, x86-64), or use --backend cuda or cpu"
# A test double of the runtime says its name here; AMD's library has no such function.
_DOUBLE_NAME = "relmgr_test_double"
_DOUBLE_RUNTIMES = {"cuda": "cuda", "host": "host"}


class Hip(Device):
    """The first HIP device."""

    def __init__(self) -> None:
        try:
            from hip import hip, hiprtc
        except ImportError as error:
            raise Unavailable(f"hip-python cannot be imported: {error}", _INSTALL_PACKAGE) from None
        self.hip: Any = hip
        self.hiprtc: Any = hiprtc
        self.modules: dict[bytes, Any] = {}
        self.pointers: dict[int, Any] = {}
        self.stream: Any = None

    def describe(self) -> dict[str, Any]:
        """Open the device; a library without a device says so in HIP's own words."""
        count = self._open("hipGetDeviceCount")
        if not count:
            raise Unavailable("HIP finds no device", "run on a machine with an AMD GPU, or use --backend cuda or cpu")
        self._call("hipSetDevice", 0)
        self.stream = self._call("hipStreamCreate")
        properties = self._properties()
        double, runtime = _test_double()
        return {
            "backend": "hip",
            "device": _text(properties.name),
            "arch": _text(properties.gcnArchName).partition(":")[0],
            "driver": f"HIP {_version(self._call('hipRuntimeGetVersion'))}",
            "double": double,
            "emulated": False,
            "runtime": runtime,
            "toolchain": self.toolchain(),
        }

    def toolchain(self) -> str:
        """Return hiprtc's version."""
        try:
            code, major, minor = self.hiprtc.hiprtcVersion()
        except RuntimeError as error:
            raise Unavailable(f"no hiprtc: {error}", _INSTALL_RUNTIME) from None
        return f"hiprtc {major}.{minor}" if not int(code) else "hiprtc"

    def compile(self, source: str, kernels: list[dict[str, Any]], arch: str) -> bytes:
        """Return a code object."""
        hiprtc = self.hiprtc
        options = [f"--offload-arch={arch}".encode(), b"-std=c++17"]
        try:
            _, program = hiprtc.hiprtcCreateProgram(source.encode(), b"smoke.hip", 0, None, None)
        except RuntimeError as error:
            raise Unavailable(f"no hiprtc: {error}", _INSTALL_RUNTIME) from None
        (code,) = hiprtc.hiprtcCompileProgram(program, len(options), options)
        if int(code):
            _, size = hiprtc.hiprtcGetProgramLogSize(program)
            log = bytearray(size)
            hiprtc.hiprtcGetProgramLog(program, log)
            raise CompileFailed(f"{_name(code)}: {log.rstrip(bytes(1)).decode(errors='replace')[-2000:]}")
        _, size = hiprtc.hiprtcGetCodeSize(program)
        binary = bytearray(size)
        hiprtc.hiprtcGetCode(program, binary)
        return bytes(binary)

    def allocate(self, size: int) -> int:
        """Return device memory."""
        pointer = self._call("hipMalloc", size)
        address = int(pointer.as_c_void_p().value)
        self.pointers[address] = pointer
        return address

    def upload(self, address: int, data: bytes) -> None:
        """Copy to the device."""
        self._call("hipMemcpy", address, data, len(data), self.hip.hipMemcpyKind.hipMemcpyHostToDevice)

    def download(self, address: int, size: int) -> bytes:
        """Copy from the device."""
        data = bytearray(size)
        self._call("hipMemcpy", data, address, size, self.hip.hipMemcpyKind.hipMemcpyDeviceToHost)
        return bytes(data)

    def load(self, binary: bytes, symbol: str) -> Any:
        """Return a function of a module; a module is loaded once."""
        if binary not in self.modules:
            self.modules[binary] = self._call("hipModuleLoadData", binary)
        return self._call("hipModuleGetFunction", self.modules[binary], symbol.encode())

    def launch(self, kernel: Any, arguments: bytes, blocks: int, block: int, limit: float) -> None:
        """Launch with one packed buffer, never with an array of pointers, and poll until it has ended."""
        hip = self.hip
        extra, _alive = packed_launch(arguments, _END)
        code = _code(hip.hipModuleLaunchKernel, kernel, blocks, 1, 1, block, 1, 1, 0, self.stream, None, extra)
        if int(code):
            raise launch_failure(int(code), _name(code), at_launch=True)
        until = time.monotonic() + limit
        while int(code := _code(hip.hipStreamQuery, self.stream)) == NOT_READY:
            if time.monotonic() > until:
                raise DeviceFailed("hang", f"not ended after {limit:g} s")
            time.sleep(0.0002)
        if int(code):
            raise launch_failure(int(code), _name(code), at_launch=False)

    def _properties(self) -> Any:
        """Return the device's properties; hip-python before 10 fills an object that it is given."""
        try:
            return self._call("hipGetDeviceProperties", 0)
        except TypeError:
            properties = self.hip.hipDeviceProp_t()
            self._call("hipGetDeviceProperties", properties, 0)
            return properties

    def _open(self, name: str) -> Any:
        """Make the first call; whatever fails in it means that there is nothing to work with."""
        try:
            code, *values = getattr(self.hip, name)()
        except RuntimeError as error:
            raise Unavailable(f"HIP's runtime does not load: {error}", _INSTALL_RUNTIME) from None
        if int(code):
            raise Unavailable(
                f"HIP finds no device: {_name(code)} ({int(code)})",
                "run on a machine with an AMD GPU and its driver, or use --backend cuda or cpu",
            )
        return values[0]

    def _call(self, name: str, *arguments: Any) -> Any:
        """Call the runtime; return its one value, or raise what its code means."""
        try:
            code, *values = getattr(self.hip, name)(*arguments)
        except RuntimeError as error:
            raise DeviceFailed("error", f"{name}: {error}") from None
        if int(code):
            memory = int(code) == OUT_OF_MEMORY
            what = "out of device memory: " if memory else ""
            raise DeviceFailed("error", f"{what}{name}: {_name(code)} ({int(code)})", poisoned=not memory)
        return values[0] if values else None


def _test_double() -> tuple[str | None, str]:
    """Return the name of the test double that serves as the runtime, and how it treats buffers; None for AMD's."""
    try:
        tell = getattr(ctypes.CDLL("libamdhip64.so"), _DOUBLE_NAME)
    except (OSError, AttributeError):
        return None, "amd"
    tell.restype = ctypes.c_char_p
    kind, _, name = tell().decode().partition(":")
    return name, _DOUBLE_RUNTIMES.get(kind, "amd")


def _code(call: Callable[..., Any], *arguments: Any) -> Any:
    """Call the runtime and return its code; hip-python raises for one that its release does not know."""
    try:
        return call(*arguments)[0]
    except ValueError as error:
        number = re.match(r"(\d+) is not a valid", str(error))
        if number is None:
            raise
        raise launch_failure(int(number[1]), "unknown to hip-python", at_launch=False) from None


def _name(code: Any) -> str:
    return str(getattr(code, "name", code))


def _text(value: Any) -> str:
    data = value if isinstance(value, bytes) else str(value).encode()
    return data.split(b"\0", 1)[0].decode(errors="replace")


def _version(number: int) -> str:
    """Return HIP's version: major * 10,000,000 + minor * 100,000 + patch."""
    return f"{number // 10_000_000}.{number // 100_000 % 100}"
