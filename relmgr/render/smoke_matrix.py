"""Lay smoke results, or a plan without any, out as tables: rows of a kernel and its arguments, columns of the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from relmgr.model.base import Noun
from relmgr.model.smoke import CellResult, CheckedCell, SmokeCell

State = Literal["good", "bad", "planned", "absent"]
MAX_NAMED_ENDS = 2
_UNITS = {"f32": "1e-5", "f16": "1e-2", "bf16": "1e-2", "i8": "exact"}


class MatrixCell(Noun):
    """One cell: a word or two, how good it is, and all that is known of it."""

    text: str
    state: State
    hint: str = ""


class MatrixRow(Noun):
    """A row: what it is about, and its cells by column."""

    head: tuple[str, ...]
    cells: tuple[MatrixCell, ...]


class Matrix(Noun):
    """A table with the names of its head columns and of the varying ones."""

    head: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[MatrixRow, ...]


Shown = Mapping[str, MatrixCell]


class WorstError(Noun):
    """The worst relative error among the right results of one element type, and its bound."""

    dtype: str
    error: float
    bound: str


def show_plan(cells: Iterable[SmokeCell]) -> Shown:
    """Return what each planned cell must end in."""
    shown = {}
    for cell in cells:
        ends = " or ".join(cell.expected) if len(cell.expected) <= MAX_NAMED_ENDS else "anything but right"
        shown[cell.key] = MatrixCell(
            text="right" if cell.matching else ends, state="planned", hint=f"{cell.key}: {ends}"
        )
    return shown


def show_check(answers: Iterable[CheckedCell]) -> Shown:
    """Return what the static gate said to each cell."""
    words = {
        (True, "same"): "same",
        (True, "differs"): "DIFFERS",
        (False, "differs"): "refused",
        (False, "same"): "SAME",
    }
    return {
        answer.cell.key: MatrixCell(
            text=words[answer.cell.matching, answer.static],
            state="good" if answer.as_expected else "bad",
            hint=f"{answer.cell.key}: {'; '.join(answer.reasons) or answer.allowed or answer.static}",
        )
        for answer in answers
    }


def show_results(results: Iterable[CellResult]) -> Shown:
    """Return what each cell ended in."""
    return {result.cell.key: _show_result(result) for result in results}


def _show_result(result: CellResult) -> MatrixCell:
    cell, case = result.cell, result.case
    words: list[str] = [case.outcome]
    if not cell.matching:
        words = ["refused" if case.static == "differs" else "NOT refused", *([case.outcome] if case.launched else [])]
    text = ", ".join(words)
    error = "" if case.error_norm is None else f", relative error {case.error_norm:.2g}"
    hint = f"{cell.key}: {text}{error}{f'; {case.detail}' if case.detail else ''}"
    return MatrixCell(text=text, state="good" if result.as_expected else "bad", hint=hint)


def matching_matrix(cells: Sequence[SmokeCell], shown: Shown) -> Matrix:
    """Return the matching cells in main forms: one row a kernel and direction, one column a type and layout."""
    chosen = [cell for cell in cells if cell.matching and cell.main_form]
    columns = list(dict.fromkeys((cell.dtype, cell.layout) for cell in chosen))
    return Matrix(
        head=("kernel and arguments", "packing", "direction"),
        columns=tuple(f"{dtype} {layout}" for dtype, layout in columns),
        rows=_rows(
            [
                (cell, (cell.kernel_label, cell.packing, direction_label(cell)), (cell.dtype, cell.layout))
                for cell in chosen
            ],
            columns,
            shown,
        ),
    )


def forms_matrix(cells: Sequence[SmokeCell], shown: Shown) -> Matrix:
    """Return the matching cells in other descriptor forms: one row a kernel, one column a direction."""
    chosen = [cell for cell in cells if cell.matching and not cell.main_form]
    columns = list(dict.fromkeys(direction_label(cell) for cell in chosen))
    return Matrix(
        head=("kernel and arguments", "packing"),
        columns=tuple(columns),
        rows=_rows(
            [(cell, (cell.kernel_label, cell.packing), direction_label(cell)) for cell in chosen], columns, shown
        ),
    )


def mismatch_matrix(cells: Sequence[SmokeCell], shown: Shown) -> Matrix:
    """Return the mismatches: one row for each kernel with wrong arguments, one column for each direction."""
    chosen = [cell for cell in cells if not cell.matching]
    columns = list(dict.fromkeys(direction_label(cell) for cell in chosen))
    return Matrix(
        head=("kernel", "arguments"),
        columns=tuple(columns),
        rows=_rows(
            [(cell, (cell.kernel_label, _wrong_arguments(cell)), direction_label(cell)) for cell in chosen],
            columns,
            shown,
        ),
    )


def worst_errors(results: Iterable[CellResult]) -> tuple[WorstError, ...]:
    """Return the worst relative error of each element type among results that are right."""
    worst: dict[str, float] = {}
    for result in results:
        if result.case.outcome == "right" and result.case.error_norm is not None:
            worst[result.cell.dtype] = max(worst.get(result.cell.dtype, 0.0), result.case.error_norm)
    return tuple(WorstError(dtype=dtype, error=error, bound=_UNITS[dtype]) for dtype, error in worst.items())


def direction_label(cell: SmokeCell) -> str:
    """Return the direction, and whether there is a workspace."""
    return f"{cell.direction} + workspace" if cell.kernel.tensors == 4 else cell.direction


def _wrong_arguments(cell: SmokeCell) -> str:
    missing = "" if cell.arguments.tensors == cell.kernel.tensors else f", {cell.arguments.tensors} tensors"
    return f"{cell.arguments_label}{missing}"


def _rows(
    placed: Sequence[tuple[SmokeCell, tuple[str, ...], object]], columns: Sequence[object], shown: Shown
) -> tuple[MatrixRow, ...]:
    rows: dict[tuple[str, ...], dict[object, MatrixCell]] = {}
    for cell, head, column in placed:
        rows.setdefault(head, {})[column] = shown[cell.key]
    absent = MatrixCell(text="", state="absent")
    return tuple(
        MatrixRow(head=head, cells=tuple(cells.get(column, absent) for column in columns))
        for head, cells in rows.items()
    )
