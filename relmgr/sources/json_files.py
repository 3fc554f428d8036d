"""A JSON document that a person names: bounded, and refused in words that say what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from relmgr.errors import UserError


def read_json(file: Path, limit: int, next_step: str) -> Any:
    """Return the document in a file of at most `limit` bytes. Raises `UserError` for anything else."""
    try:
        size = file.stat().st_size
        data = file.read_bytes() if size <= limit else b""
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(file), next_step=next_step) from None
    if size > limit:
        raise UserError(f"larger than {limit} bytes", where=str(file), next_step="is it the right file?")
    return parse_json(data, str(file), next_step)


def parse_json(data: bytes, where: str, next_step: str) -> Any:
    """Return the document in a file's bytes. Raises `UserError`, with the line, for anything else."""
    try:
        # Bytes alone would be guessed to be UTF-16 or UTF-32 too.
        return json.loads(data.decode("utf-8"))
    except json.JSONDecodeError as error:
        if not data.strip():
            raise UserError("is empty", where=where, next_step=next_step) from None
        raise UserError(f"not JSON: {error.msg}", where=f"{where}:{error.lineno}", next_step=next_step) from None
    except RecursionError:
        raise UserError("not JSON that can be read: nested too deeply", where=where, next_step=next_step) from None
    except ValueError:
        raise UserError("not JSON: it is no text", where=where, next_step=next_step) from None
