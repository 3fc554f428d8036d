"""`relmgr smoke run --miir-lib`: kernels from the provider's own library, checked against its header and launched."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from time import monotonic

from relmgr.errors import SourceError, UserError
from relmgr.model.abi import Header
from relmgr.model.base import Convention, Noun
from relmgr.model.code_object import Kernel, UnreadableCodeObject, classify_signature
from relmgr.model.project import Contract, Generator, PinConfig, Project
from relmgr.model.smoke import DeviceInfo, EmittedKernel, ProviderCheck, SmokeRun
from relmgr.smoke.build import describe
from relmgr.smoke.choose import packing_for
from relmgr.smoke.given import given_subjects
from relmgr.smoke.kernels.problem import DEFAULT, Problem
from relmgr.smoke.miir import Answer, Asked, ask_for, generate_all, generate_by_command, shared_library
from relmgr.smoke.plan import Selection, representatives
from relmgr.smoke.report import Binding, make_report
from relmgr.smoke.run import Manner, Subject, run_subjects
from relmgr.smoke.start import Started
from relmgr.sources.headers.header import read_header
from relmgr.workflows.smoke import read_binary

MAX_HEADER_BYTES = 4 << 20


class Library(Noun):
    """The provider's built library, the header that is installed with it, and what a link of an archive needs.

    Without a `file` the contract's generator command is run in its stead.
    """

    file: Path | None
    header: Path
    link_with: tuple[str, ...] = ()


def run_provider(
    started: Started,
    project: Project,
    pin: PinConfig,
    binding: Binding,
    library: Library,
    selection: Selection,
    manner: Manner,
) -> SmokeRun:
    """Have the library generate the smoke kernels, check them against its header, launch them; judge all of it."""
    info = describe(started.pool)
    check, answers, numbers = _ask(project, pin, library, selection, info.arch)
    subjects = _subjects(answers, check.convention, numbers, info)
    done = run_subjects(started.pool, subjects, manner._replace(rounded=info.runtime != "cuda"))
    results = tuple(done[subject.cell.key] for subject in subjects)
    at = datetime.now(timezone.utc).replace(microsecond=0)
    report = make_report(info, binding.model_copy(update={"abi": check.number}), results, at)
    if not check.agrees:
        report = report.model_copy(update={"verdict": "failed"})
    seconds = round(monotonic() - started.at, 3)
    return SmokeRun(report=report, results=results, choice=started.choice, seconds=seconds, provider=check)


def check_library(
    project: Project, pin: PinConfig, library: Library, selection: Selection, target: str
) -> ProviderCheck:
    """Have the library generate the smoke kernels for `target` and check them against its header; launch nothing."""
    return _ask(project, pin, library, selection, target)[0]


def _ask(
    project: Project, pin: PinConfig, library: Library, selection: Selection, target: str
) -> tuple[ProviderCheck, tuple[Answer, ...], dict[Convention, int]]:
    contract, generator = _generator(project, pin)
    header = _read_header(library.header)
    number = header_number(header, contract, library.header)
    numbers = representatives(contract.conventions, number)
    answers = generate(library, generator, selection, target, [function.name for function in header.functions])
    return check_provider(library, number, contract.convention_of(number), answers), answers, numbers


def generate(
    library: Library, generator: Generator, selection: Selection, arch: str, declared: Sequence[str]
) -> tuple[Answer, ...]:
    """Return what the library emits for every selected direction, type and layout; i8 is asked for forward only."""
    problems = [
        Problem(DEFAULT, direction, dtype, layout, 3)
        for direction in selection.directions
        if direction in generator.operations
        for dtype in selection.dtypes
        if dtype != "i8" or direction == "fwd"
        for layout in selection.layouts
    ]
    requests = [ask_for(generator, problem, arch) for problem in problems]
    if library.file is None:
        if not generator.command:
            raise UserError("the contract's `generator` has no `command`", next_step="give --miir-lib, or declare one")
        return tuple(generate_by_command(generator.command, requests))
    with tempfile.TemporaryDirectory(prefix="relmgr-miir-") as folder:
        opened = shared_library(library.file, library.link_with, Path(folder))
        return tuple(generate_all(opened, requests, declared))


def check_provider(library: Library, number: int, promised: Convention, answers: Sequence[Answer]) -> ProviderCheck:
    """Return whether library and header belong together, by what the library exports and emits."""
    missing = sorted({name for answer in answers for name in answer.missing})
    return ProviderCheck(
        library=str(library.file or "the generator command"),
        header=str(library.header),
        number=number,
        convention=promised,
        missing=tuple(missing),
        emitted=tuple(_emitted(answer) for answer in answers),
    )


def header_number(header: Header, contract: Contract, file: Path) -> int:
    """Return the number that a header declares. Raises `SourceError` where it declares none."""
    for macro in header.macros:
        if macro.name in (contract.macro, *contract.former_macros) and macro.value.isdecimal():
            return int(macro.value)
    raise SourceError(f"no number {contract.macro} in it", where=str(file), next_step="check --miir-header")


def _emitted(answer: Answer) -> EmittedKernel:
    kernel, error = _kernel(answer)
    return EmittedKernel(
        symbol=answer.asked.symbol,
        options=answer.asked.options,
        convention=classify_signature(kernel.signature).convention if kernel else None,
        count=answer.count,
        threads=answer.threads,
        block=answer.block,
        error=error,
    )


def _kernel(answer: Answer) -> tuple[Kernel | None, str | None]:
    """Return the kernel that was asked for, or why it is not there."""
    if answer.module is None:
        return None, answer.error or "no binary"
    try:
        kernels = {kernel.symbol: kernel for kernel in read_binary(answer.module).kernels}
    except UnreadableCodeObject as error:
        return None, f"what was emitted cannot be read: {error.what}"
    if answer.asked.symbol not in kernels:
        return None, f"no kernel {answer.asked.symbol} in what was emitted: {', '.join(sorted(kernels)[:5]) or 'none'}"
    return kernels[answer.asked.symbol], None


def _subjects(
    answers: Sequence[Answer], promised: Convention, numbers: Mapping[Convention, int], info: DeviceInfo
) -> tuple[Subject, ...]:
    """Return the cells of all kernels that can be launched alone and whose launch has a size."""
    subjects: list[Subject] = []
    for answer in answers:
        kernel, _ = _kernel(answer)
        if kernel is None or answer.module is None or not _launchable(answer, kernel):
            continue
        size = (answer.threads // answer.block, answer.block)
        found = given_subjects(
            kernel,
            answer.module,
            _problem(answer.asked),
            size,
            numbers,
            info.runtime,
            packing_for(info),
            promised=promised,
        )
        subjects += found
    return tuple(subjects)


def _launchable(answer: Answer, kernel: Kernel) -> bool:
    tensors = classify_signature(kernel.signature).tensors
    return answer.count == 1 and answer.block > 0 and answer.threads % answer.block == 0 and tensors in (3, 4)


def _problem(asked: Asked) -> Problem:
    return Problem(DEFAULT, asked.direction, asked.dtype, asked.layout, 3)


def _generator(project: Project, pin: PinConfig) -> tuple[Contract, Generator]:
    contract = project.contracts[pin.contract] if pin.contract else None
    if contract is None or contract.generator is None:
        raise UserError(
            f"the contract of pin {pin.name!r} has no `generator`", next_step="declare how kernels are asked for"
        )
    return contract, contract.generator


def _read_header(file: Path) -> Header:
    try:
        with file.open("rb") as stream:
            return read_header(stream.read(MAX_HEADER_BYTES + 1), str(file))
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(file), next_step="check --miir-header") from None
