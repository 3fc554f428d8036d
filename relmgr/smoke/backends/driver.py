"""What `cuda` and `hip` do alike: compile at run time, load modules, launch packed buffers, and name what went wrong.

HIP's interface copies CUDA's: `cuModuleLoadData` is `hipModuleLoadData`, `nvrtcCompileProgram` is
`hiprtcCompileProgram`, and the codes that matter have the same numbers. So a back end hands over its binding's two
modules with what their functions' names begin with, and writes down only the calls that differ. No binding is imported
here, and nothing beyond the standard library (see problem.py).
"""

from __future__ import annotations

import ctypes
import re
import time
from typing import Any, NamedTuple

from relmgr.smoke.backends.device import CompileFailed, Device, DeviceFailed, Unavailable

# CUDA and HIP number these alike. https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html (CUresult)
_INVALID_VALUE, _OUT_OF_MEMORY, _NOT_READY, _OUT_OF_RESOURCES = 1, 2, 600, 701
_BAD_ADDRESS = {700, 714, 716, 717, 718}
_LONGEST_PARAMETERS = 4096
_LONGEST_LOG = 2000
_POLL_SECONDS = 0.0002


class Binding(NamedTuple):
    """One half of a binding: its module, how its functions begin, and what to install where its library is missing."""

    module: Any
    prefix: str
    install: str


class Answer(NamedTuple):
    """What a call of the driver came back with: a code, its name, and the one value (None where there is none)."""

    code: int
    name: str
    value: Any


class DriverDevice(Device):
    """The first device of a driver, whose calls go through `driver` and whose kernels `compiler` builds."""

    # What a subclass says of its compiler: name in words, options, the name of a source, what its binary is called.
    compiler_name: str
    arch_option: str
    standard_option: bytes
    source_name: bytes
    binary_word: str
    # LAUNCH_PARAM_END: the mark that closes the list of a packed launch.
    launch_end: int

    def __init__(self, driver: Binding, compiler: Binding) -> None:
        self.driver, self.compiler = driver, compiler
        self.modules: dict[bytes, Any] = {}
        self.stream: Any = None

    def toolchain(self) -> str:
        """Return the compiler's version."""
        code, *version = self._compiler("Version")
        return self.compiler_name if int(code) else f"{self.compiler_name} {version[0]}.{version[1]}"

    def compile(self, source: str, kernels: list[dict[str, Any]], arch: str) -> bytes:
        """Return a cubin or a code object."""
        options = [self.arch_option.format(arch).encode(), self.standard_option]
        _, program = self._compiler("CreateProgram", source.encode(), self.source_name, 0, None, None)
        (code,) = self._compiler("CompileProgram", program, len(options), options)
        if int(code):
            log = self._product(program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
            raise CompileFailed(f"{_name(code)}: {log[-_LONGEST_LOG:]}")
        return self._product(program, self.binary_word)

    def load(self, binary: bytes, symbol: str) -> Any:
        """Return a function of a module; a module is loaded once."""
        if binary not in self.modules:
            self.modules[binary] = self.call("ModuleLoadData", binary)
        return self.call("ModuleGetFunction", self.modules[binary], symbol.encode())

    def launch(self, kernel: Any, arguments: bytes, blocks: int, block: int, limit: float) -> None:
        """Launch with one packed buffer, never with an array of pointers, and poll until it has ended."""
        extra, _alive = packed_launch(arguments, self.launch_end)
        answer = self.start(kernel, blocks, block, extra)
        if answer.code:
            raise launch_failure(answer, at_launch=True)
        until = time.monotonic() + limit
        while (answer := self.ask("StreamQuery", self.stream)).code == _NOT_READY:
            if time.monotonic() > until:
                raise DeviceFailed("hang", f"not ended after {limit:g} s")
            time.sleep(_POLL_SECONDS)
        if answer.code:
            raise launch_failure(answer, at_launch=False)

    def start(self, kernel: Any, blocks: int, block: int, extra: ctypes.Array[ctypes.c_void_p]) -> Answer:
        """Ask the driver for one launch on `stream`, without shared memory, with `extra` as its arguments."""
        raise NotImplementedError

    def first(self, name: str, *arguments: Any, nothing: str, no_device: str, next_step: str) -> Any:
        """Make the first call; whatever fails in it means that there is nothing to work with. Raises `Unavailable`."""
        try:
            answer = self.ask(name, *arguments)
        except DeviceFailed as error:
            raise Unavailable(f"{nothing}: {error.detail}", self.driver.install) from None
        if answer.code:
            raise Unavailable(f"{no_device}: {answer.name} ({answer.code})", next_step)
        return answer.value

    def call(self, name: str, *arguments: Any) -> Any:
        """Call the driver; return its one value, or raise what its code means."""
        code, word, value = self.ask(name, *arguments)
        if code:
            memory = code == _OUT_OF_MEMORY
            what = "out of device memory: " if memory else ""
            raise DeviceFailed("error", f"{what}{self.driver.prefix}{name}: {word} ({code})", poisoned=not memory)
        return value

    def ask(self, name: str, *arguments: Any) -> Answer:
        """Call the driver; return what it says. Raises `DeviceFailed` where its library lacks this function."""
        module, prefix, _ = self.driver
        try:
            code, *values = getattr(module, prefix + name)(*arguments)
        except RuntimeError as error:
            raise DeviceFailed("error", f"{prefix}{name}: {error}") from None
        except ValueError as error:
            # Both bindings raise for a code that their release does not know.
            number = re.match(r"(\d+) is not a valid", str(error))
            if number is None:
                raise
            return Answer(int(number[1]), "unknown to the binding", None)
        return Answer(int(code), _name(code), values[0] if values else None)

    def _compiler(self, name: str, *arguments: Any) -> Any:
        """Call the compiler; return all that it answers. A library that is not there is noticed here."""
        module, prefix, install = self.compiler
        try:
            return getattr(module, prefix + name)(*arguments)
        except RuntimeError as error:
            raise Unavailable(f"no {self.compiler_name}: {error}", install) from None

    def _product(self, program: Any, what: str) -> bytes:
        """Return the log or the binary of a program."""
        _, size = self._compiler(f"Get{what}Size", program)
        data = bytearray(size)
        self._compiler(f"Get{what}", program, data)
        return bytes(data)


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


def launch_failure(answer: Answer, *, at_launch: bool) -> DeviceFailed:
    """Return what the answer to a launch, or to the wait after it, means."""
    when = "at launch" if at_launch else "after the launch"
    detail = f"{answer.name} ({answer.code}) {when}"
    if at_launch and answer.code in (_INVALID_VALUE, _OUT_OF_RESOURCES):
        # Neither is sticky: the device never saw this launch.
        return DeviceFailed("launch-refused", detail, poisoned=False)
    return DeviceFailed("illegal-address" if answer.code in _BAD_ADDRESS else "error", detail)


def _name(code: Any) -> str:
    return str(getattr(code, "name", code))
