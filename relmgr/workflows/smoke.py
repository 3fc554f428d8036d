"""`relmgr smoke`: plan the matrix, check it against built kernels, run it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from relmgr.errors import UserError
from relmgr.model.base import Noun
from relmgr.model.code_object import CodeObject
from relmgr.model.project import PinConfig, Project
from relmgr.model.smoke import CellResult, DeviceInfo, SmokeCell, SmokeCheck, SmokePlan, SmokeRun
from relmgr.render.smoke_matrix import (
    Matrix,
    MatrixCell,
    forms_matrix,
    matching_matrix,
    mismatch_matrix,
    show_results,
    worst_errors,
)
from relmgr.smoke.build import build_kernels, describe, toolchain
from relmgr.smoke.choose import assumed_runtime, choose_backend, packing_for
from relmgr.smoke.journal import Journal
from relmgr.smoke.layouts import read_module
from relmgr.smoke.plan import Selection, plan_matrix
from relmgr.smoke.pool import Pool
from relmgr.smoke.report import Binding, make_report
from relmgr.smoke.run import check_subjects, manner_of, run_subjects, subjects_of
from relmgr.smoke.signing import sign_with_key, sign_with_secret
from relmgr.smoke.start import Started
from relmgr.sources.code_objects.code_object import read_amdgpu
from relmgr.sources.code_objects.cubin import read_cuda
from relmgr.sources.code_objects.elf import MACHINE_CUDA, read_elf
from relmgr.workflows.locate import consumer_clone, default_ref


class SmokeOptions(Noun):
    """What to run: `arch` that the device must be, `limit` seconds a launch, `journal` of a run to take up again."""

    arch: str | None = None
    selection: Selection = Selection()
    launch_mismatches: bool = False
    limit: float = 10.0
    journal: Path | None = None


def plan_smoke(
    project: Project, pin: PinConfig, asked: str, abi: int | None, options: SmokeOptions
) -> tuple[SmokePlan, str]:
    """Return the matrix for the back end that would be taken, and why that one; opens no device."""
    backend, choice = choose_backend(asked)
    number = number_under_test(project, pin, abi)
    conventions = project.contracts[pin.contract].conventions if pin.contract else {}
    plan = plan_matrix(
        options.selection,
        conventions,
        number,
        backend,
        assumed_runtime(backend),
        arch=options.arch,
        packing="miopen" if backend == "hip" else "exact",
        launch_mismatches=options.launch_mismatches,
    )
    return plan, choice


def check_smoke(project: Project, pin: PinConfig, asked: str, abi: int | None, options: SmokeOptions) -> SmokeCheck:
    """Build the kernels for `options.arch` without a device, and return what the static gate says to every cell."""
    plan, _ = plan_smoke(project, pin, asked, abi, options)
    if options.arch is None:
        raise UserError("--build needs --arch", next_step="name one, such as --arch gfx90a")
    with Pool(plan.backend, open_device=False) as pool:
        tools = toolchain(pool)
        build = build_kernels(pool, plan, options.arch, tools, read_binary)
    answers = check_subjects(subjects_of(plan, build))
    return SmokeCheck(
        backend=plan.backend,
        arch=options.arch,
        toolchain=tools,
        abi=plan.abi,
        cells=answers,
        left_out=plan.left_out,
        passed=all(answer.as_expected for answer in answers),
    )


def run_smoke(
    started: Started,
    project: Project,
    pin: PinConfig,
    binding: Binding,
    options: SmokeOptions,
    on_result: Callable[[CellResult, int], None] = lambda result, total: None,
) -> SmokeRun:
    """Build the kernels, launch the matrix, and return the unsigned report with its results."""
    pool = started.pool
    info = _describe(pool, options.arch)
    plan = _plan(project, pin, binding, options, info)
    build = build_kernels(pool, plan, info.arch, info.toolchain, read_binary)
    journal = Journal(options.journal, info, binding) if options.journal else None
    done = journal.finished(plan) if journal else {}

    def told(result: CellResult) -> None:
        if journal:
            journal.add(result)
        on_result(result, len(plan.cells))

    rest = plan.model_copy(update={"cells": tuple(cell for cell in plan.cells if cell.key not in done)})
    done |= run_subjects(pool, subjects_of(rest, build), manner_of(plan, options.limit), told)
    results = tuple(done[cell.key] for cell in plan.cells)
    return SmokeRun(
        report=make_report(info, binding, results, datetime.now(timezone.utc).replace(microsecond=0)),
        results=results,
        left_out=plan.left_out,
        choice=started.choice,
        seconds=round(time.monotonic() - started.at, 3),
        compile_cached=build.cached,
    )


def bind_report(
    project: Project, pin: PinConfig, abi: int | None, ref: str | None, pinned: str | None, head: str | None
) -> Binding:
    """Return what a report is about: from the options, and what they leave open from the consumer's clone, if any."""
    if project.repositories[pin.consumer].path is None and ref is None:
        return Binding(pin=pinned or "none", abi=number_under_test(project, pin, abi), head=head)
    from relmgr.sources.pins.history import pin_state
    from relmgr.sources.provider.abi import AbiReader

    clone = consumer_clone(project, pin)
    commit = clone.require(ref) if ref is not None else clone.resolve(default_ref(clone, project, pin))
    live = pin_state(clone, project, pin, commit).pin if commit else None
    if abi is None and pinned is None and live is not None:
        abi = AbiReader(project, pin).at(live.repository, live.ref).number
    return Binding(
        pin=pinned or (live.ref if live else "none"), abi=number_under_test(project, pin, abi), head=head or commit
    )


def number_under_test(project: Project, pin: PinConfig, abi: int | None) -> int:
    """Return `abi`, or the newest number whose convention the contract tells."""
    conventions = project.contracts[pin.contract].conventions if pin.contract else {}
    if abi is not None:
        return abi
    if not conventions:
        raise UserError(f"pin {pin.name!r} has no contract with `conventions`", next_step="declare them in the project")
    return max(conventions)


def sign_run(project: Project, run: SmokeRun, key: Path | None) -> SmokeRun:
    """Return the run with its report signed: with `key`, else with the secret of the environment, else not at all."""
    secret = os.environ.get(project.smoke.secret_variable)
    if key is not None:
        return run.model_copy(update={"report": sign_with_key(run.report, key)})
    return run.model_copy(update={"report": sign_with_secret(run.report, secret)}) if secret else run


def run_view(run: SmokeRun) -> dict[str, Any]:
    """Return the names that the templates of a run use."""
    return {
        "run": run,
        **matrices([result.cell for result in run.results], show_results(run.results)),
        "worst": worst_errors(run.results),
        "bad": [result for result in run.results if not result.as_expected],
    }


def matrices(cells: Sequence[SmokeCell], shown: Mapping[str, MatrixCell]) -> dict[str, Matrix]:
    """Return the tables that the templates print."""
    return {
        "matching": matching_matrix(cells, shown),
        "forms": forms_matrix(cells, shown),
        "mismatches": mismatch_matrix(cells, shown),
    }


def read_binary(data: bytes) -> CodeObject:
    """Return the kernels of a compiled smoke module, whatever compiled it."""
    return read_module(data, _read_device)


def _read_device(data: bytes) -> CodeObject:
    elf = read_elf(data)
    return read_cuda(elf) if elf.machine == MACHINE_CUDA else read_amdgpu(elf)


def _describe(pool: Pool, arch: str | None) -> DeviceInfo:
    info = describe(pool)
    if arch is not None and arch != info.arch:
        raise UserError(
            f"this device is {info.arch}, not {arch}", next_step=f"leave --arch out, or run on a machine with {arch}"
        )
    return info


def _plan(project: Project, pin: PinConfig, binding: Binding, options: SmokeOptions, info: DeviceInfo) -> SmokePlan:
    conventions = project.contracts[pin.contract].conventions if pin.contract else {}
    return plan_matrix(
        options.selection,
        conventions,
        binding.abi,
        info.backend,
        info.runtime,
        arch=info.arch,
        packing=packing_for(info),
        launch_mismatches=options.launch_mismatches,
    )
