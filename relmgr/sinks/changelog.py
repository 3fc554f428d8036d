"""Write a change log in one step, and only over the text that the plan was made from."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from relmgr.errors import UserError


def write_changelog(file: Path, text: str, *, expected: str | None) -> None:
    """Replace `file` with `text` (UTF-8, line ends as they stand in it), keeping its mode.

    `expected` is what the file held when the change was planned, None for a file that was not there. Raises `UserError`
    when it holds something else by now, and when it cannot be written; then nothing has changed.
    """
    target = file.resolve()
    now = target.read_bytes() if target.exists() else None
    if now != (None if expected is None else expected.encode()):
        raise UserError("changed while the notes were made", where=str(file), next_step="run it again")
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "wb") as out:
            out.write(text.encode())
            out.flush()
            os.fsync(out.fileno())
        Path(temporary).chmod(target.stat().st_mode & 0o7777 if now is not None else 0o644)
        Path(temporary).replace(target)
    except OSError as error:
        with suppress(OSError):
            if temporary:
                Path(temporary).unlink()
        raise UserError(f"cannot be written: {error.strerror}", where=str(file)) from None
