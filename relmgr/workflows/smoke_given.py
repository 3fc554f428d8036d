"""`relmgr smoke run` on a kernel that is at hand already: in a code object, or in a kernel database's row."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from time import monotonic

from relmgr.errors import SourceError, UserError
from relmgr.model.base import Noun
from relmgr.model.code_object import Kernel
from relmgr.model.kernel_db import Problem as Options
from relmgr.model.project import Contract, PinConfig, Project
from relmgr.model.smoke import SmokeRun
from relmgr.smoke.build import describe, read_kernels
from relmgr.smoke.choose import packing_for
from relmgr.smoke.given import given_subjects, kernel_layout, read_problem
from relmgr.smoke.plan import representatives
from relmgr.smoke.report import Binding, make_report
from relmgr.smoke.run import Manner, run_subjects
from relmgr.smoke.start import Started
from relmgr.sources.databases.kernel_args import parse_options, parse_problem
from relmgr.sources.databases.rows import Unreadable, md5_of, read_rows, require_table, unpack
from relmgr.sources.databases.sqlite_readonly import open_readonly
from relmgr.workflows.smoke import read_binary

MAX_MODULE_BYTES = 256 << 20


class Given(Noun):
    """A module with the name of one of its kernels (None: its only one) and the options it was compiled from."""

    module: bytes
    kernel: str | None
    options: str


def read_code_object_file(file: Path, kernel: str | None, options: str) -> Given:
    """Return the kernel called `kernel` in `file`, compiled from `options`."""
    try:
        with file.open("rb") as stream:
            module = stream.read(MAX_MODULE_BYTES + 1)
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(file), next_step="check the path") from None
    if len(module) > MAX_MODULE_BYTES:
        raise UserError(f"more than {MAX_MODULE_BYTES} bytes", where=str(file), next_step="give one code object")
    return Given(module=module, kernel=kernel, options=options)


def read_database_row(file: Path, row_id: int) -> Given:
    """Return the kernel in one row of a database. Raises `SourceError` for a row that is not there or corrupt."""
    with open_readonly(file) as database:
        require_table(database.connection, str(file))
        (row,) = read_rows(database.connection, [row_id])
    if row.broken is not None:
        raise SourceError(f"row {row_id}: {row.broken}", where=str(file), next_step="choose another row")
    try:
        module = unpack(row)
    except Unreadable as error:
        raise SourceError(f"row {row_id}: {error}", where=str(file), next_step="choose another row") from None
    if md5_of(module) != row.kernel_hash.lower():
        raise SourceError(f"row {row_id}: its md5 is not its kernel_hash", where=str(file), next_step="choose another")
    return Given(module=module, kernel=row.kernel_name.split(".", 1)[0], options=row.kernel_args)


def run_given(
    started: Started,
    project: Project,
    pin: PinConfig,
    binding: Binding,
    given: Given,
    size: tuple[int, int],
    manner: Manner,
    *,
    own_number: bool,
) -> SmokeRun:
    """Launch one kernel with the arguments it must take, refuse those of the other convention; judge it.

    It must take those of the number under test; with `own_number` those that its own layout says.
    """
    contract = project.contracts[pin.contract] if pin.contract else None
    conventions = contract.conventions if contract else {}
    info = describe(started.pool)
    kernel = choose_kernel(read_kernels(given.module, info.arch, read_binary), given.kernel)
    convention, layout = kernel_layout(kernel)
    numbers = representatives(conventions, binding.abi)
    if own_number and convention in numbers:
        binding = binding.model_copy(update={"abi": numbers[convention]})
    problem = read_problem(problem_options(contract, given), layout.tensors)
    subjects = given_subjects(
        kernel,
        given.module,
        problem,
        size,
        numbers,
        info.runtime,
        packing_for(info),
        promised=conventions[binding.abi],
    )
    done = run_subjects(started.pool, subjects, manner._replace(rounded=info.runtime != "cuda"))
    results = tuple(done[subject.cell.key] for subject in subjects)
    return SmokeRun(
        report=make_report(info, binding, results, datetime.now(timezone.utc).replace(microsecond=0)),
        results=results,
        choice=started.choice,
        seconds=round(monotonic() - started.at, 3),
    )


def choose_kernel(kernels: Mapping[str, Kernel], name: str | None) -> Kernel:
    """Return the kernel called `name`, or the only one. Raises `UserError` with the names there are."""
    if name is None and len(kernels) == 1:
        return next(iter(kernels.values()))
    if name is None or name not in kernels:
        there = ", ".join(sorted(kernels)[:10]) or "none"
        what = "several kernels" if name is None else f"no kernel {name!r}"
        raise UserError(f"{what} in the module", next_step=f"name one with --kernel: {there}")
    return kernels[name]


def problem_options(contract: Contract | None, given: Given) -> Options:
    """Return the convolution that the options tell. Raises `UserError` when they are none of a provider's row."""
    options = parse_options(given.options)
    if options is None:
        what = "the options are no `--name value` list with an operation"
        raise UserError(what, next_step="give them as a row's kernel_args has them")
    return parse_problem(options, given.kernel or "", contract.solvers if contract else {})
