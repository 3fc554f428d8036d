"""Snapshots in files: recorded ones, shipped ones, and a gap where one cannot be read."""

from __future__ import annotations

from pathlib import Path

from relmgr.model.snapshot import Snapshot
from relmgr.resources import shipped
from relmgr.settings import validate
from relmgr.sources.json_files import read_json

MAX_SNAPSHOT = 16 * 1024 * 1024


def shipped_snapshots() -> dict[str, Path]:
    """Return the shipped recorded snapshots, name to file."""
    return {path.stem: path for path in sorted((shipped("policies") / "snapshots").glob("*.json"))}


def read_recorded(name_or_file: str) -> Snapshot:
    """Return the snapshot in a JSON file, or the shipped one of that name; `UserError` for anything else."""
    file = shipped_snapshots().get(name_or_file, Path(name_or_file))
    known = ", ".join(shipped_snapshots())
    next_step = f"give a file that --record wrote, or one of: {known}"
    return validate(Snapshot, read_json(file, MAX_SNAPSHOT, next_step), {}, file)
