"""The `cpu` back end: kernels as functions of this process, their arguments in a buffer that ends at a guard page.

With a C compiler the portable source is compiled as it is for a device. Without one Python reads the packed buffer by
the kernel's layout (`emulated`): that proves packing and harness, and nothing about a compiler.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from relmgr.smoke.backends.device import CompileFailed, Device, DeviceFailed
from relmgr.smoke.kernels.emulation import EMULATION_MAGIC, emulate

COMPILERS = ("cc", "gcc", "clang")
COMPILE_SECONDS = 120
_PROT_NONE = 0
_FLAGS = ("-shared", "-fPIC", "-O1", "-w", "-x", "c")


class Cpu(Device):
    """This machine's processor; `compiler` is the program to use (None: emulate)."""

    def __init__(self) -> None:
        self.compiler = find_compiler()
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.maps: list[mmap.mmap] = []
        self.libraries: dict[bytes, ctypes.CDLL | dict[str, Any]] = {}
        self.buffer = self.end = 0

    def describe(self) -> dict[str, Any]:
        """Return the processor; there is nothing to open."""
        return {
            "backend": "cpu",
            "device": _processor(),
            "arch": platform.machine(),
            "driver": None,
            "double": None,
            "emulated": self.compiler is None,
            "runtime": "host",
            "toolchain": self.toolchain(),
        }

    def toolchain(self) -> str:
        """Return the compiler's first line about itself."""
        if self.compiler is None:
            return f"emulation, Python {platform.python_version()}"
        run = subprocess.run([self.compiler, "--version"], capture_output=True, text=True, timeout=30)
        return f"{run.stdout.partition(chr(10))[0].strip()} {' '.join(_FLAGS)}"

    def compile(self, source: str, kernels: list[dict[str, Any]], arch: str) -> bytes:
        """Return a shared library, or for the emulation what it must know of each kernel."""
        if self.compiler is None:
            return EMULATION_MAGIC + json.dumps({kernel["name"]: kernel for kernel in kernels}).encode()
        with tempfile.TemporaryDirectory(prefix="relmgr-smoke-") as folder:
            text, library = Path(folder) / "kernels.c", Path(folder) / "kernels.so"
            text.write_text(source, encoding="ascii")
            command = [self.compiler, *_FLAGS, str(text), "-o", str(library)]
            run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=COMPILE_SECONDS)
            if run.returncode:
                raise CompileFailed(run.stderr[-2000:])
            return library.read_bytes()

    def allocate(self, size: int) -> int:
        """Return zeroed memory of its own pages."""
        try:
            area = mmap.mmap(-1, size)
        except (OSError, OverflowError, ValueError) as error:
            raise DeviceFailed("error", f"out of memory: {size} bytes ({error})", poisoned=False) from None
        self.maps.append(area)
        return ctypes.addressof(ctypes.c_char.from_buffer(area))

    def upload(self, address: int, data: bytes) -> None:
        """Copy to memory."""
        ctypes.memmove(address, data, len(data))

    def download(self, address: int, size: int) -> bytes:
        """Copy from memory."""
        return ctypes.string_at(address, size)

    def load(self, binary: bytes, symbol: str) -> Any:
        """Return a function of the library, or the emulation of one."""
        library = self.libraries.get(binary)
        if library is None:
            library = self.libraries[binary] = _open(binary)
        if isinstance(library, dict):
            if symbol not in library:
                raise DeviceFailed("error", f"no kernel {symbol!r} in the module", poisoned=False)
            return library[symbol]
        try:
            return getattr(library, symbol)
        except AttributeError:
            raise DeviceFailed("error", f"no kernel {symbol!r} in the module", poisoned=False) from None

    def launch(self, kernel: Any, arguments: bytes, blocks: int, block: int, limit: float) -> None:
        """Call the kernel with `arguments` right before a page that may not be read. Whoever started us limits time."""
        at = self._before_guard_page(arguments)
        if isinstance(kernel, dict):
            emulate(kernel, at)
        else:
            kernel(ctypes.c_void_p(at), ctypes.c_longlong(blocks * block))

    def _before_guard_page(self, arguments: bytes) -> int:
        if not self.end:
            page = mmap.PAGESIZE
            start = self.allocate(2 * page)
            if self.libc.mprotect(ctypes.c_void_p(start + page), ctypes.c_size_t(page), _PROT_NONE):
                raise DeviceFailed("error", f"no guard page: {os.strerror(ctypes.get_errno())}")
            self.end = start + page
        at = self.end - len(arguments)
        ctypes.memmove(at, arguments, len(arguments))
        return at


def find_compiler() -> str | None:
    """Return the path of a C compiler; RELMGR_SMOKE_CC names another (empty: none, the emulation is taken)."""
    chosen = os.environ.get("RELMGR_SMOKE_CC")
    if chosen is not None:
        return shutil.which(chosen) if chosen else None
    return next((path for name in COMPILERS if (path := shutil.which(name))), None)


def _open(binary: bytes) -> ctypes.CDLL | dict[str, Any]:
    """Open a module: never the caller's file, which may change or lie where nothing may be executed."""
    if binary.startswith(EMULATION_MAGIC):
        kernels: dict[str, Any] = json.loads(binary[len(EMULATION_MAGIC) :])
        return kernels
    with os.fdopen(os.memfd_create("relmgr-smoke"), "wb") as file:
        file.write(binary)
        file.flush()
        try:
            return ctypes.CDLL(f"/proc/self/fd/{file.fileno()}")
        except OSError as error:
            raise DeviceFailed("error", f"the module does not load: {error}", poisoned=False) from None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
