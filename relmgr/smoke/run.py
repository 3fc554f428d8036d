"""Run a smoke plan: build the kernels, ask the static gate, launch what it lets pass, name what became of each cell."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from relmgr.errors import SourceError, UserError
from relmgr.model.base import Noun
from relmgr.model.code_object import CodeObject, Kernel, UnreadableCodeObject
from relmgr.model.kernargs import PackedArguments, TensorShape
from relmgr.model.smoke import CellResult, CheckedCell, DeviceInfo, SmokeCell, SmokePlan
from relmgr.model.smoke_report import CaseOutcome, SmokeCase
from relmgr.smoke.cache import cache_key, read_cached, write_cached
from relmgr.smoke.host_table import HOST_ARCH
from relmgr.smoke.kernargs import pack_arguments
from relmgr.smoke.kernels.problem import DEFAULT, Problem, strides
from relmgr.smoke.kernels.source import Variant, write_source
from relmgr.smoke.outcomes import name_ending
from relmgr.smoke.pool import Ending, Pool, Task
from relmgr.smoke.static_gate import GateAnswer, compare_layouts

BLOCK = 64
COMPILE_SECONDS = 300.0

ReadBinary = Callable[[bytes], CodeObject]
OnResult = Callable[[CellResult], None]


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
        return Build(binary=binary, kernels=_kernels(binary, arch, read_binary), cached=True)
    with tempfile.TemporaryDirectory(prefix="relmgr-smoke-") as folder:
        file = Path(folder) / "module"
        job: dict[str, Any] = {"do": "compile", "id": "compile", "source": source, "arch": arch, "to": str(file)}
        job["kernels"] = [_spec(variant) for variant in variants]
        _answer_of(pool.ask(job, COMPILE_SECONDS), f"compiling for {arch} with {tools}")
        binary = file.read_bytes()
    kernels = _kernels(binary, arch, read_binary)
    write_cached(key, binary)
    return Build(binary=binary, kernels=kernels, cached=False)


def run_plan(
    pool: Pool, plan: SmokePlan, build: Build, limit: float = 10.0, on_result: OnResult = lambda result: None
) -> tuple[CellResult, ...]:
    """Return the results of all cells, in the plan's order; `on_result` is told each as it comes.

    `limit` in seconds is for one launch.
    """
    results: dict[str, CellResult] = {}

    def told(cell: SmokeCell, case: SmokeCase) -> None:
        results[cell.key] = CellResult(cell=cell, case=case)
        on_result(results[cell.key])

    with tempfile.TemporaryDirectory(prefix="relmgr-smoke-") as folder:
        module = Path(folder) / "module"
        module.write_bytes(build.binary)
        tasks, gates = [], {}
        for cell in plan.cells:
            packed, gate = gate_cell(cell, build.kernels)
            if gate.static == "same" or (plan.launch_mismatches and not cell.matching):
                gates[cell.key] = (cell, gate)
                tasks.append(case_task(cell, packed, str(module), limit, rounded=plan.runtime != "cuda"))
            else:
                told(cell, _refused(cell, gate))
        for ending in pool.run(tasks):
            cell, gate = gates[ending.task.job["id"]]
            told(cell, _case(cell, gate, ending))
    return tuple(results[cell.key] for cell in plan.cells)


def check_plan(plan: SmokePlan, build: Build) -> tuple[CheckedCell, ...]:
    """Return the static gate's answer for every cell; nothing is launched."""
    answers = [(cell, gate_cell(cell, build.kernels)[1]) for cell in plan.cells]
    return tuple(
        CheckedCell(cell=cell, static=gate.static, reasons=gate.reasons, allowed=gate.allowed) for cell, gate in answers
    )


def gate_cell(cell: SmokeCell, kernels: Mapping[str, Kernel]) -> tuple[PackedArguments, GateAnswer]:
    """Return a cell's launch buffer, and whether the kernel's binary agrees with it."""
    kernel = kernels.get(variant_of(cell).name)
    if kernel is None:
        raise SourceError(f"no kernel {variant_of(cell).name!r} in what the compiler made", next_step="report this")
    shapes = problem_of(cell, cell.arguments.tensors).shapes()
    nouns = [TensorShape(sizes=shape, strides=strides(shape)) for shape in shapes]
    length = kernel.explicit_bytes if cell.cut or cell.packing == "padded" else None
    packed = pack_arguments(cell.arguments, nouns, cell.packing, length=length)
    return packed, compare_layouts(kernel, packed)


def variant_of(cell: SmokeCell) -> Variant:
    """Return the kernel that a cell launches."""
    return Variant(problem_of(cell, cell.kernel.tensors), cell.kernel.form, cell.kernel.index_bits, cell.reads_sizes)


def problem_of(cell: SmokeCell, tensors: int) -> Problem:
    """Return the convolution that a cell computes."""
    return Problem(DEFAULT, cell.direction, cell.dtype, cell.layout, tensors)


def _spec(variant: Variant) -> dict[str, Any]:
    """Return what the emulation must know of a kernel."""
    layout = {"form": variant.form, "index_bits": variant.index_bits, "tensors": variant.problem.tensors}
    return {"name": variant.name, "problem": variant.problem, "dynamic": variant.dynamic, **layout}


def _kernels(binary: bytes, arch: str, read_binary: ReadBinary) -> dict[str, Kernel]:
    try:
        found = read_binary(binary)
    except UnreadableCodeObject as error:
        raise SourceError(f"the compiled module cannot be read: {error.what}", next_step="report this") from None
    if found.arch not in (arch, HOST_ARCH):
        raise SourceError(f"a module for {found.arch}, not for {arch}", next_step="use a compiler for this device")
    return {kernel.symbol: kernel for kernel in found.kernels}


def case_task(cell: SmokeCell, packed: PackedArguments, module: str, limit: float, *, rounded: bool) -> Task:
    """Return the job that launches a cell, on data of its own; `limit` in seconds."""
    buffer = packed.handed_over(rounded=rounded)
    problem = problem_of(cell, cell.kernel.tensors)
    job = {
        "do": "case",
        "id": cell.key,
        "module": module,
        "symbol": variant_of(cell).name,
        "problem": problem,
        "template": buffer.hex(),
        "pointers": [(slot.offset, slot.tensor) for slot in packed.pointers if slot.offset + 8 <= len(buffer)],
        "blocks": -(-problem.threads() // BLOCK),
        "block": BLOCK,
        "seed": secrets.randbits(48),
        "limit": limit,
    }
    return Task(job, exclusive=not cell.matching, limit=limit)


def _refused(cell: SmokeCell, gate: GateAnswer) -> SmokeCase:
    return _smoke_case(cell, gate, "layout-refused", launched=False, detail="; ".join(gate.reasons))


def _case(cell: SmokeCell, gate: GateAnswer, ending: Ending) -> SmokeCase:
    outcome, detail = name_ending(ending)
    answer = ending.answer or {}
    launched = outcome != "error" or ending.phase != "before-launch"
    return _smoke_case(
        cell,
        gate,
        outcome,
        launched=launched,
        detail=detail or gate.allowed,
        error_norm=answer.get("error_norm"),
        seconds=answer.get("seconds") or ending.seconds,
    )


def _smoke_case(
    cell: SmokeCell,
    gate: GateAnswer,
    outcome: CaseOutcome,
    *,
    launched: bool,
    detail: str | None,
    error_norm: float | None = None,
    seconds: float = 0.0,
) -> SmokeCase:
    return SmokeCase(
        kernel_abi=cell.kernel_abi,
        argument_abi=cell.argument_abi,
        kernel_form=cell.kernel_form,
        argument_form=cell.arguments.form,
        index_bits=cell.kernel.index_bits or cell.arguments.index_bits,
        tensors=cell.kernel.tensors,
        packing=cell.packing,
        dtype=cell.dtype,
        direction=cell.direction,
        layout=cell.layout,
        static=gate.static,
        launched=launched,
        outcome=outcome,
        error_norm=error_norm,
        seconds=round(seconds, 6),
        expected=cell.expected,
        detail=detail or None,
    )


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
