"""Snapshots in files: recorded ones, shipped ones, and a gap where one cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

from relmgr.errors import UserError
from relmgr.model.snapshot import Snapshot
from relmgr.resources import shipped
from relmgr.settings import validate

MAX_SNAPSHOT = 16 * 1024 * 1024


def shipped_snapshots() -> dict[str, Path]:
    """Return the shipped recorded snapshots, name to file."""
    return {path.stem: path for path in sorted((shipped("policies") / "snapshots").glob("*.json"))}


def read_recorded(name_or_file: str) -> Snapshot:
    """Return the snapshot in a JSON file, or the shipped one of that name; `UserError` for anything else."""
    file = shipped_snapshots().get(name_or_file, Path(name_or_file))
    try:
        if file.stat().st_size > MAX_SNAPSHOT:
            raise UserError("too large for a snapshot", where=str(file), next_step="is it the right file?")
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        known = ", ".join(shipped_snapshots()) or "none"
        raise UserError(
            f"cannot be read: {error.strerror}", where=str(file), next_step=f"give a file, or one of: {known}"
        ) from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"not JSON: {error}", where=str(file), next_step="record it again with --record") from None
    return validate(Snapshot, data, {}, file)
