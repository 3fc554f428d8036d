"""Pull requests recorded in a file: a JSON list as the forge's API, its command line, or relmgr itself writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from relmgr.errors import UserError
from relmgr.model.notes import PullText
from relmgr.sources.json_files import read_json

MAX_PULLS_FILE = 64 * 1024 * 1024
MAX_BODY = 65_536


def read_recorded_pulls(file: Path) -> tuple[PullText, ...]:
    """Return the pull requests in a file; `UserError` for anything that is no list of them."""
    data = read_json(file, MAX_PULLS_FILE, _NEXT)
    if not isinstance(data, list):
        raise UserError("not a list of pull requests", where=str(file), next_step=_NEXT)
    return tuple(_pull(item, index, file) for index, item in enumerate(data))


_NEXT = "write a JSON list of objects with number, title, body and labels"


def _pull(item: Any, index: int, file: Path) -> PullText:
    number = item.get("number") if isinstance(item, dict) else None
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise UserError(f"entry {index} has no number", where=str(file), next_step=_NEXT)
    body, labels = item.get("body"), item.get("labels")
    author = item.get("author", item.get("user"))
    return PullText(
        number=number,
        title=str(item.get("title") or ""),
        body=body[:MAX_BODY] if isinstance(body, str) else None,
        labels=tuple(name for label in labels if (name := _name(label, "name"))) if isinstance(labels, list) else (),
        author=_name(author, "login"),
    )


def _name(value: Any, key: str) -> str | None:
    found = value.get(key) if isinstance(value, dict) else value
    return found if isinstance(found, str) else None
