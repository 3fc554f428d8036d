"""Build the kernels of a plan in a worker, and read how each takes its arguments by the binary that came out."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from relmgr.errors import SourceError, UserError
from relmgr.model.base import Noun
from relmgr.model.code_object import CodeObject, Kernel, UnreadableCodeObject
from relmgr.model.smoke import DeviceInfo, SmokeCell, SmokePlan
from relmgr.smoke.cache import cache_key, read_cached, write_cached
from relmgr.smoke.host_table import HOST_ARCH
from relmgr.smoke.kernels.problem import DEFAULT, Problem
from relmgr.smoke.kernels.source import Variant, write_source
from relmgr.smoke.pool import Ending, Pool

COMPILE_SECONDS = 300.0

ReadBinary = Callable[[bytes], CodeObject]


class Build(Noun):
    """The kernels of a plan as one binary module, and how each takes its arguments by that binary."""

    binary: bytes
    kernels: dict[str, Kernel]
    cached: bool


def describe(pool: Pool) -> DeviceInfo:
    """Return what the pool's workers run on. Raises `SourceError` where they cannot open it."""
    answer = _answer_of(pool.ask({"do": "describe", "id": "describe"}, COMPILE_SECONDS), pool.backend)
    return DeviceInfo.model_validate(answer["device"])


def toolchain(pool: Pool) -> str:
    """Return what compiles for this back end, without a device. Raises `SourceError`."""
    answer = _answer_of(pool.ask({"do": "toolchain", "id": "toolchain"}, COMPILE_SECONDS), pool.backend)
    return str(answer["toolchain"])


def build_kernels(pool: Pool, plan: SmokePlan, arch: str, tools: str, read_binary: ReadBinary) -> Build:
    """Return all kernels of `plan` compiled for `arch`, from the cache where they were before.

    The compiler runs in a worker: one that aborts ends that, not this. Raises `SourceError`.
    """
    variants = list(dict.fromkeys(variant_of(cell) for cell in plan.cells))
    source = write_source(variants)
    key = cache_key(plan.backend, arch, tools, source)
    binary = read_cached(key)
    if binary is not None:
        return Build(binary=binary, kernels=read_kernels(binary, arch, read_binary), cached=True)
    with tempfile.TemporaryDirectory(prefix="relmgr-smoke-") as folder:
        file = Path(folder) / "module"
        job: dict[str, Any] = {"do": "compile", "id": "compile", "source": source, "arch": arch, "to": str(file)}
        job["kernels"] = [_spec(variant) for variant in variants]
        _answer_of(pool.ask(job, COMPILE_SECONDS), f"compiling for {arch} with {tools}")
        binary = file.read_bytes()
    kernels = read_kernels(binary, arch, read_binary)
    write_cached(key, binary)
    return Build(binary=binary, kernels=kernels, cached=False)


def variant_of(cell: SmokeCell) -> Variant:
    """Return the kernel that a cell launches."""
    problem = Problem(DEFAULT, cell.direction, cell.dtype, cell.layout, cell.kernel.tensors)
    return Variant(problem, cell.kernel.form, cell.kernel.index_bits, cell.reads_sizes)


def read_kernels(binary: bytes, arch: str, read_binary: ReadBinary) -> dict[str, Kernel]:
    """Return the kernels of a module for `arch`, by symbol. Raises `SourceError` for another arch's, or no module."""
    try:
        found = read_binary(binary)
    except UnreadableCodeObject as error:
        raise SourceError(f"the module cannot be read: {error.what}", next_step="give a whole code object") from None
    if found.arch not in (arch, HOST_ARCH):
        raise SourceError(f"a module for {found.arch}, not for {arch}", next_step="use one that is for this device")
    return {kernel.symbol: kernel for kernel in found.kernels}


def _spec(variant: Variant) -> dict[str, Any]:
    """Return what the emulation must know of a kernel."""
    layout = {"form": variant.form, "index_bits": variant.index_bits, "tensors": variant.problem.tensors}
    return {"name": variant.name, "problem": variant.problem, "dynamic": variant.dynamic, **layout}


def _answer_of(ending: Ending, doing: str) -> dict[str, Any]:
    """Return a job's answer, or raise why there is none."""
    answer = ending.answer
    if answer is None:
        raise SourceError(ending.why(), where=doing, next_step="see that the toolchain knows this device; run it again")
    if answer["event"] == "unavailable":
        raise SourceError(answer["what"], where=doing, next_step=answer["next_step"])
    if answer["event"] == "compile-failed":
        raise UserError(
            f"the compiler refused the smoke kernels: {answer['what']}",
            where=doing,
            next_step="check --arch, or update the compiler",
        )
    if "outcome" in answer:
        raise SourceError(answer["detail"], where=doing, next_step="see whether another program holds the device")
    return answer
