"""A worker: one process with one device, told by JSON lines what to do; every step it takes it tells first.

Run as `python -m relmgr.smoke.worker BACKEND`. Jobs come on standard input, answers go to standard output; whatever
else a library prints goes to standard error. It ends with its input. Standard library and `smoke` only: see problem.py.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import resource
import signal
import sys
import time
from pathlib import Path
from typing import IO, Any

from relmgr.smoke.backends.device import CompileFailed, Device, DeviceFailed, Unavailable
from relmgr.smoke.kernels.judge import judge, prepare
from relmgr.smoke.kernels.problem import Dimensions, Problem
from relmgr.smoke.kernels.tensors import GUARD_BYTES

Job = dict[str, Any]
NO_DEVICE = "--no-device"
_PR_SET_PDEATHSIG = 1
_ALIGNMENT = 256
# Room behind the tensors: what a stray write reaches is then memory of this launch, not somebody else's.
_SLACK = 1 << 16


def open_backend(name: str) -> Device:
    """Import one back end. Raises `Unavailable`."""
    device: Device
    # One stream is all that is used; CUDA opens a context with one channel a good deal sooner than with eight.
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "1")
    if name == "cuda":
        from relmgr.smoke.backends.cuda import Cuda

        device = Cuda()
    elif name == "hip":
        from relmgr.smoke.backends.hip import Hip

        device = Hip()
    else:
        from relmgr.smoke.backends.cpu import Cpu

        device = Cpu()
    return device


class Worker:
    """Carries out jobs on `device` and answers on `out`."""

    def __init__(self, device: Device, out: IO[str]) -> None:
        self.device, self.out = device, out
        self.facts: dict[str, Any] | None = None
        self.binaries: dict[str, bytes] = {}
        self.arena, self.arena_bytes = 0, 0

    def tell(self, event: str, **facts: Any) -> None:
        """Write one answer, at once."""
        self.out.write(json.dumps({"event": event, **facts}) + "\n")
        self.out.flush()

    def do(self, job: Job) -> bool:
        """Carry out one job; return False when this process is of no more use."""
        try:
            if job["do"] == "compile":
                binary = self.device.compile(job["source"], job["kernels"], job["arch"])
                Path(job["to"]).write_bytes(binary)
                self.tell("done", id=job["id"])
            elif job["do"] == "describe":
                self.tell("done", id=job["id"], device=self.facts)
            elif job["do"] == "toolchain":
                self.tell("done", id=job["id"], toolchain=self.device.toolchain())
            else:
                self.tell("done", id=job["id"], **self.run_case(job))
        except Unavailable as error:
            self.tell("unavailable", id=job["id"], what=error.what, next_step=error.next_step)
        except CompileFailed as error:
            self.tell("compile-failed", id=job["id"], what=str(error))
        except DeviceFailed as error:
            self.tell("done", id=job["id"], outcome=error.outcome, error_norm=None, detail=error.detail, seconds=None)
            return not error.poisoned
        return True

    def run_case(self, job: Job) -> dict[str, Any]:
        """Launch one kernel on fresh data and judge it; return outcome, error norm, detail, seconds of the launch."""
        dimensions, *rest = job["problem"]
        problem = Problem(Dimensions(*dimensions), *rest)
        trial = prepare(problem, random.Random(job["seed"]))  # noqa: S311 - data, no secret
        starts, end = [], 0
        for image in trial.images:
            starts.append(end)
            end += -(-len(image) // _ALIGNMENT) * _ALIGNMENT
        base = self._memory(end + _SLACK)
        for start, image in zip(starts, trial.images, strict=True):
            self.device.upload(base + start, image)
        kernel = self.device.load(self._binary(job["module"]), job["symbol"])
        arguments = bytearray.fromhex(job["template"])
        for offset, tensor in job["pointers"]:
            arguments[offset : offset + 8] = (base + starts[tensor] + GUARD_BYTES).to_bytes(8, "little")
        self.tell("launch", id=job["id"])
        begun = time.perf_counter()
        self.device.launch(kernel, bytes(arguments), job["blocks"], job["block"], job["limit"])
        seconds = time.perf_counter() - begun
        after = [
            self.device.download(base + start, len(image)) for start, image in zip(starts, trial.images, strict=True)
        ]
        self.tell("landed", id=job["id"])
        found = judge(trial, after)
        return {
            "outcome": found.outcome,
            "error_norm": found.error_norm,
            "detail": found.detail and f"{found.detail} (seed {job['seed']})",
            "seconds": seconds,
        }

    def _memory(self, size: int) -> int:
        """Return memory of at least `size` bytes, the same as last time where that suffices."""
        if size > self.arena_bytes:
            self.arena, self.arena_bytes = self.device.allocate(size), size
        return self.arena

    def _binary(self, path: str) -> bytes:
        if path not in self.binaries:
            self.binaries[path] = Path(path).read_bytes()
        return self.binaries[path]


def main(backend: str, *options: str) -> None:
    """Open the device (unless told not to) and serve jobs until the input ends, or the device is of no more use."""
    # Answers keep the pipe for themselves: what a library prints must not look like one.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _die_with_parent()
    worker = _open(backend, out, with_device=NO_DEVICE not in options)
    if worker is not None:
        for line in sys.stdin:
            if not worker.do(json.loads(line)):
                break
    out.flush()
    # No tidying: after a device error every further call fails, and a context takes long to close.
    os._exit(0)


def _open(backend: str, out: IO[str], *, with_device: bool) -> Worker | None:
    """Return a worker with its device open, or tell why there is none."""
    trouble: dict[str, str]
    try:
        worker = Worker(open_backend(backend), out)
        if with_device:
            worker.facts = worker.device.describe()
        return worker
    except Unavailable as error:
        trouble = {"event": "unavailable", "what": error.what, "next_step": error.next_step}
    except DeviceFailed as error:
        next_step = "see whether another program holds the device, then run again"
        trouble = {"event": "unavailable", "what": f"the device does not open: {error.detail}", "next_step": next_step}
    out.write(json.dumps(trouble) + "\n")
    return None


def _die_with_parent() -> None:
    """Ask Linux to end this process with the one that started it: a kernel that hangs never reads the closed input."""
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
