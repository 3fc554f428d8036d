"""A journal of finished cells: what a run that was cut short need not do again."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from relmgr.errors import UserError
from relmgr.model.smoke import CellResult, DeviceInfo, SmokePlan
from relmgr.model.smoke_report import SmokeCase
from relmgr.smoke.report import Binding

_MAX_BYTES = 64 << 20


class Journal:
    """One line that says what the run is about, then one for each finished cell, written as it ends."""

    def __init__(self, file: Path, info: DeviceInfo, binding: Binding) -> None:
        self.file = file
        self.head = {"device": info.model_dump(), "binding": binding.model_dump()}

    def finished(self, plan: SmokePlan) -> dict[str, CellResult]:
        """Return the results of the plan's cells that need not run again; `error` is no result.

        Starts the journal where there is none. Raises `UserError` when it is about another run.
        """
        if not self.file.exists():
            self._append(self.head)
            return {}
        try:
            if self.file.stat().st_size > _MAX_BYTES:
                raise ValueError("too large")
            head, *lines = self._whole_lines() or [""]
            if json.loads(head) != self.head:
                raise ValueError("another device, pin, number or head")
            found = [json.loads(line) for line in lines]
            cases = {entry["key"]: SmokeCase.model_validate(entry["case"]) for entry in found}
        except (OSError, ValueError, KeyError, TypeError, ValidationError) as error:
            what = str(error).partition("\n")[0]
            raise UserError(
                f"not the journal of this run: {what}",
                where=str(self.file),
                next_step="name another file, or remove it",
            ) from None
        return {
            cell.key: CellResult(cell=cell, case=case) for cell in plan.cells if _counts(case := cases.get(cell.key))
        }

    def _whole_lines(self) -> list[str]:
        """Return the journal's lines; a last one that was cut off while it was written is removed from the file."""
        data = self.file.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if whole != data:
            self.file.write_bytes(whole)
        return whole.decode("utf-8").splitlines()

    def add(self, result: CellResult) -> None:
        """Write one finished cell."""
        self._append({"key": result.cell.key, "case": result.case.model_dump()})

    def _append(self, entry: object) -> None:
        try:
            with self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        except OSError as error:
            where = str(self.file)
            raise UserError(f"cannot write: {error.strerror}", where=where, next_step="name another file") from None


def _counts(case: SmokeCase | None) -> bool:
    return case is not None and case.outcome != "error"
