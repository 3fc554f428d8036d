"""A record of what relmgr did on the forge: one JSON line an action, kept on this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

from relmgr.errors import redact
from relmgr.model.actions import Done

# The older half goes to `.1` then: a record must not fill a disk.
LONGEST_LOG = 10_000_000


def log_file() -> Path:
    """Return the record's path: `RELMGR_ACTION_LOG`, else relmgr's state folder by the XDG rules."""
    named = os.environ.get("RELMGR_ACTION_LOG")
    base = os.environ.get("XDG_STATE_HOME", "")
    state = Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "state"
    return Path(named) if named else state / "relmgr" / "actions.jsonl"


def record_to(file: Path) -> Callable[[Done], None]:
    """Return what appends an action to the record. A record that cannot be written keeps nothing from being posted."""

    def record(done: Done) -> None:
        at = datetime.now(timezone.utc).isoformat(timespec="seconds")
        line = redact(json.dumps({"at": at} | done.model_dump(mode="json"), ensure_ascii=False))
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            if file.is_file() and file.stat().st_size > LONGEST_LOG:
                file.replace(file.with_suffix(".1"))
            with file.open("a", encoding="utf-8") as out:
                out.write(line + "\n")
        except OSError:
            return

    return record
