"""Lay smoke results, or a plan without any, out as tables: rows of a kernel and its arguments, columns of the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from relmgr.model.base import Noun
from relmgr.model.smoke import CellResult, SmokeCell

State = Literal["good", "bad", "planned", "absent"]
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


class WorstError(Noun):
    """The worst relative error among the right results of one element type, and its bound."""

    dtype: str
    error: float
    bound: str


def matching_matrix(cells: Sequence[SmokeCell], results: Sequence[CellResult] = ()) -> Matrix:
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
            results,
        ),
    )


def forms_matrix(cells: Sequence[SmokeCell], results: Sequence[CellResult] = ()) -> Matrix:
    """Return the matching cells in other descriptor forms: one row a kernel, one column a direction."""
    chosen = [cell for cell in cells if cell.matching and not cell.main_form]
    columns = list(dict.fromkeys(direction_label(cell) for cell in chosen))
    return Matrix(
        head=("kernel and arguments", "packing"),
        columns=tuple(columns),
        rows=_rows(
            [(cell, (cell.kernel_label, cell.packing), direction_label(cell)) for cell in chosen], columns, results
        ),
    )


def mismatch_matrix(cells: Sequence[SmokeCell], results: Sequence[CellResult] = ()) -> Matrix:
    """Return the mismatches: one row for each kernel with wrong arguments, one column for each direction."""
    chosen = [cell for cell in cells if not cell.matching]
    columns = list(dict.fromkeys(direction_label(cell) for cell in chosen))
    return Matrix(
        head=("kernel", "arguments"),
        columns=tuple(columns),
        rows=_rows(
            [(cell, (cell.kernel_label, _wrong_arguments(cell)), direction_label(cell)) for cell in chosen],
            columns,
            results,
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
    placed: Sequence[tuple[SmokeCell, tuple[str, ...], object]],
    columns: Sequence[object],
    results: Sequence[CellResult],
) -> tuple[MatrixRow, ...]:
    by_key = {result.cell.key: result for result in results}
    rows: dict[tuple[str, ...], dict[object, MatrixCell]] = {}
    for cell, head, column in placed:
        rows.setdefault(head, {})[column] = _cell(cell, by_key.get(cell.key))
    absent = MatrixCell(text="", state="absent")
    return tuple(
        MatrixRow(head=head, cells=tuple(cells.get(column, absent) for column in columns))
        for head, cells in rows.items()
    )


def _cell(cell: SmokeCell, result: CellResult | None) -> MatrixCell:
    if result is None:
        ends = " or ".join(cell.expected) if len(cell.expected) < 3 else "anything but right"
        return MatrixCell(text="planned" if cell.matching else ends, state="planned", hint=f"{cell.key}: {ends}")
    case = result.case
    words: list[str] = [case.outcome]
    if not cell.matching:
        refused = case.static == "differs"
        words = ["refused" if refused else "NOT refused", *([case.outcome] if case.launched else [])]
    elif case.static != "same":
        words = ["layout-refused"]
    text = ", ".join(words)
    error = "" if case.error_norm is None else f", relative error {case.error_norm:.2g}"
    hint = f"{cell.key}: {text}{error}{f'; {case.detail}' if case.detail else ''}"
    return MatrixCell(text=text, state="good" if result.as_expected else "bad", hint=hint)
