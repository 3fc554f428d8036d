"""Stored cuts in files: read, checked for edits, and held while one is applied."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from relmgr.errors import UserError
from relmgr.model.cut_apply import MAX_PLAN_BYTES, StoredCut
from relmgr.settings import validate
from relmgr.sources.json_files import parse_json

_AGAIN = "store it again: relmgr cut plan RELEASE --save FILE"


@contextmanager
def hold_stored_cut(file: Path) -> Iterator[StoredCut]:
    """Yield the plan in `file` while no other process can hold it; raise `UserError` for what is no plan.

    The lock is on the file as it is: nothing is written.
    """
    try:
        handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(file), next_step=_AGAIN) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError("another process is applying this plan", where=str(file), next_step="wait for it") from None
        with os.fdopen(os.dup(handle), "rb") as stream:
            yield parse_stored_cut(stream.read(MAX_PLAN_BYTES + 1), str(file))
    finally:
        os.close(handle)


def parse_stored_cut(data: bytes, where: str) -> StoredCut:
    """Return the plan in a file's bytes; `UserError` for anything else, and for an edited plan."""
    if len(data) > MAX_PLAN_BYTES:
        raise UserError("too large for a stored plan", where=where, next_step="is it the right file?")
    found = parse_json(data, where, _AGAIN)
    if isinstance(found, dict) and {"steps", "items"} <= set(found):
        raise UserError("this is the report of `cut plan`, not a stored plan", where=where, next_step=_AGAIN)
    plan = validate(StoredCut, found, {}, where)
    if plan.digest != plan.computed_digest():
        raise UserError("the plan was edited after it was stored", where=where, next_step=_AGAIN)
    return plan
