"""Write files that are not there yet: all of them, or none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from relmgr.errors import UserError


def write_new(files: Mapping[Path, str]) -> None:
    """Write every file with its text. Nothing is written when one of them is there already (`UserError`)."""
    there = [file for file in files if file.exists()]
    if there:
        raise UserError("is there already", where=str(there[0]), next_step="choose another name, or remove it first")
    for file, text in files.items():
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("x", encoding="utf-8") as out:
                out.write(text)
        except OSError as error:
            raise UserError(f"cannot be written: {error.strerror}", where=str(file)) from None
