"""Ask the static gate about each cell, launch what it lets pass, and name what became of it."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from relmgr.errors import SourceError
from relmgr.model.code_object import Kernel
from relmgr.model.kernargs import PackedArguments, TensorShape
from relmgr.model.smoke import CellResult, CheckedCell, SmokeCell, SmokePlan
from relmgr.model.smoke_report import CaseOutcome, SmokeCase
from relmgr.smoke.build import Build, variant_of
from relmgr.smoke.kernargs import pack_arguments
from relmgr.smoke.kernels.problem import Problem, strides
from relmgr.smoke.outcomes import name_ending
from relmgr.smoke.pool import Ending, Pool, Task
from relmgr.smoke.static_gate import GateAnswer, compare_layouts

BLOCK = 64

OnResult = Callable[[CellResult], None]


class Subject(NamedTuple):
    """A cell with the kernel that it launches: as its binary `module` tells it, what it computes, and how wide.

    `blocks` and `block` are the launch's dimensions; an `untrusted` kernel gets a process of its own.
    """

    cell: SmokeCell
    kernel: Kernel
    problem: Problem
    module: bytes
    blocks: int
    block: int
    untrusted: bool = False


class Manner(NamedTuple):
    """How launches are made: `limit` seconds each, refused ones too or not, buffers rounded up to 8 or not."""

    limit: float = 10.0
    launch_mismatches: bool = False
    rounded: bool = True


def manner_of(plan: SmokePlan, limit: float = 10.0) -> Manner:
    """Return how the cells of `plan` are launched."""
    return Manner(limit, plan.launch_mismatches, plan.runtime != "cuda")


def subjects_of(plan: SmokePlan, build: Build) -> tuple[Subject, ...]:
    """Return the plan's cells with their kernels, one thread for each element that is written."""
    subjects = []
    for cell in plan.cells:
        variant = variant_of(cell)
        kernel = build.kernels.get(variant.name)
        if kernel is None:
            raise SourceError(f"no kernel {variant.name!r} in what the compiler made", next_step="report this")
        blocks = -(-variant.problem.threads() // BLOCK)
        subjects.append(Subject(cell, kernel, variant.problem, build.binary, blocks, BLOCK))
    return tuple(subjects)


def check_subjects(subjects: Sequence[Subject]) -> tuple[CheckedCell, ...]:
    """Return the static gate's answer for every cell; nothing is launched."""
    answers = [(subject.cell, gate_subject(subject)[1]) for subject in subjects]
    return tuple(
        CheckedCell(cell=cell, static=gate.static, reasons=gate.reasons, allowed=gate.allowed) for cell, gate in answers
    )


def run_subjects(
    pool: Pool, subjects: Sequence[Subject], manner: Manner, on_result: OnResult = lambda result: None
) -> dict[str, CellResult]:
    """Return the results of all cells by key; `on_result` is told each as it comes."""
    results: dict[str, CellResult] = {}

    def told(cell: SmokeCell, case: SmokeCase) -> None:
        results[cell.key] = CellResult(cell=cell, case=case)
        on_result(results[cell.key])

    with tempfile.TemporaryDirectory(prefix="relmgr-smoke-") as folder:
        modules = _write_modules(subjects, Path(folder))
        tasks, gates = [], {}
        for subject in subjects:
            cell = subject.cell
            packed, gate = gate_subject(subject)
            if gate.static == "same" or (manner.launch_mismatches and not cell.matching):
                gates[cell.key] = (cell, gate)
                tasks.append(case_task(subject, packed, modules[subject.module], manner))
            else:
                told(cell, _refused(cell, gate))
        for ending in pool.run(tasks):
            cell, gate = gates[ending.task.job["id"]]
            told(cell, _case(cell, gate, ending))
    return results


def gate_subject(subject: Subject) -> tuple[PackedArguments, GateAnswer]:
    """Return a cell's launch buffer, and whether the kernel's binary agrees with it."""
    cell = subject.cell
    shapes = subject.problem._replace(tensors=cell.arguments.tensors).shapes()
    nouns = [TensorShape(sizes=shape, strides=strides(shape)) for shape in shapes]
    length = subject.kernel.explicit_bytes if cell.cut or cell.packing == "padded" else None
    packed = pack_arguments(cell.arguments, nouns, cell.packing, length=length)
    return packed, compare_layouts(subject.kernel, packed)


def case_task(subject: Subject, packed: PackedArguments, module: Path, manner: Manner) -> Task:
    """Return the job that launches a cell, on data of its own, from the file that holds its `module`."""
    buffer = packed.handed_over(rounded=manner.rounded)
    job = {
        "do": "case",
        "id": subject.cell.key,
        "module": str(module),
        "symbol": subject.kernel.symbol,
        "problem": subject.problem,
        "template": buffer.hex(),
        "pointers": [(slot.offset, slot.tensor) for slot in packed.pointers if slot.offset + 8 <= len(buffer)],
        "blocks": subject.blocks,
        "block": subject.block,
        "seed": secrets.randbits(48),
        "limit": manner.limit,
    }
    return Task(job, exclusive=subject.untrusted or not subject.cell.matching, limit=manner.limit)


def _write_modules(subjects: Sequence[Subject], folder: Path) -> dict[bytes, Path]:
    modules = {}
    for number, module in enumerate(dict.fromkeys(subject.module for subject in subjects)):
        modules[module] = folder / str(number)
        modules[module].write_bytes(module)
    return modules


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
