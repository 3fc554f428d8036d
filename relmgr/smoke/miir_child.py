"""Ask a compiler library for one kernel, in a process of its own. Standard library only; run by `miir.py`.

The calls are those that the consumer makes for each kernel that it has not cached: a handle from an option string, the
count of kernels, the binary in two steps (size, content), the size of the launch.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path
from typing import Any

SUCCESS = 0
MAX_BINARY_BYTES = 256 << 20


def generate(library: Path, options: str, declared: list[str], to: Path) -> dict[str, Any]:
    """Write the binary for `options` to `to`; return the declared functions that are missing, count and launch size."""
    try:
        lib = ctypes.CDLL(str(library), mode=os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as error:
        return {"error": f"the library does not load: {error}", "missing": []}
    missing = [name for name in declared if not hasattr(lib, name)]
    try:
        return {"missing": missing, **_generate(lib, options, to)}
    except AttributeError as error:
        return {"error": f"the library has no such function: {error}", "missing": missing}


def _generate(lib: ctypes.CDLL, options: str, to: Path) -> dict[str, Any]:
    lib.miirCreateHandle.restype = ctypes.c_void_p
    handle = ctypes.c_void_p(lib.miirCreateHandle(ctypes.c_char_p(options.encode())))
    if not handle.value:
        return {"error": "miirCreateHandle returned no handle for these options"}
    count = lib.miirGetKernelCount(handle)
    if status := lib.miirLowerBin(handle):
        return {"error": f"miirLowerBin returned status {status}", "count": count}
    size = ctypes.c_size_t(0)
    if status := lib.miirBufferGet(handle, None, ctypes.byref(size)):
        return {"error": f"miirBufferGet returned status {status} for the size", "count": count}
    if not 0 < size.value <= MAX_BINARY_BYTES:
        return {"error": f"a binary of {size.value} bytes", "count": count}
    buffer = ctypes.create_string_buffer(size.value)
    if status := lib.miirBufferGet(handle, buffer, ctypes.byref(size)):
        return {"error": f"miirBufferGet returned status {status} for the content", "count": count}
    threads, block = ctypes.c_size_t(0), ctypes.c_size_t(0)
    if status := lib.miirGetExecutionDims(handle, ctypes.byref(threads), ctypes.byref(block)):
        return {"error": f"miirGetExecutionDims returned status {status}", "count": count}
    to.write_bytes(buffer.raw[: size.value])
    lib.miirDestroyHandle(handle)
    return {"count": count, "threads": threads.value, "block": block.value}


def main() -> None:
    """Read one request from standard input; write one answer to where standard output led at the start."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    job = json.load(sys.stdin)
    answer = generate(Path(job["library"]), job["options"], job["declared"], Path(job["to"]))
    out.write(json.dumps(answer) + "\n")
    out.flush()
    os._exit(SUCCESS)


if __name__ == "__main__":
    main()
