"""The ledger: a shipped table of provider refs whose number is known, for when no provider can be read."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import get_args

from relmgr.errors import UserError
from relmgr.model.base import Confidence, Convention

COLUMNS = ("ref", "number", "convention", "confidence", "source")
MAX_LEDGER = 4 * 1024 * 1024


@dataclass(frozen=True)
class LedgerEntry:
    """One row; `number` is None where the table says `-`."""

    ref: str
    number: int | None
    convention: Convention
    confidence: Confidence
    source: str


@lru_cache(maxsize=16)
def read_ledger(file: Path) -> dict[str, LedgerEntry]:
    """Return the ledger's entries by ref. Raises `UserError`, with the line, for a table that is not as described."""
    try:
        if file.stat().st_size > MAX_LEDGER:
            raise UserError("too large for a ledger", where=str(file), next_step="is it the right file?")
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot be read: {error}", where=str(file), next_step="correct `ledger`") from None
    rows = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    if not rows or tuple(rows[0]) != COLUMNS:
        raise UserError("not a ledger", where=f"{file}:1", next_step=f"the columns are {', '.join(COLUMNS)}")
    entries = [_entry(row, f"{file}:{line}") for line, row in enumerate(rows[1:], 2) if row]
    return {entry.ref: entry for entry in entries}


def _entry(row: list[str], where: str) -> LedgerEntry:
    if len(row) != len(COLUMNS):
        raise UserError(f"{len(row)} columns", where=where, next_step=f"write {', '.join(COLUMNS)}, parted by tabs")
    ref, number, convention, confidence, source = row
    if number != "-" and not (number.isascii() and number.isdigit()):
        raise UserError(f"{number!r} is no number", where=where, next_step="write digits, or - for unknown")
    for text, allowed in ((convention, get_args(Convention)), (confidence, get_args(Confidence))):
        if text not in allowed:
            raise UserError(f"{text!r} is not accepted", where=where, next_step=f"write one of {', '.join(allowed)}")
    return LedgerEntry(
        ref,
        None if number == "-" else int(number),
        next(value for value in get_args(Convention) if value == convention),
        "read" if confidence == "read" else "inferred",
        source,
    )
