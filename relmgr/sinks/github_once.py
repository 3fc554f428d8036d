"""Make a thing on GitHub exactly once: a write whose fate is unknown is followed by a look, never by another write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relmgr.sources.github.client import GitHub, Uncertain

LOOKS = 4

Entry = dict[str, Any]


def create_once(github: GitHub, find: Callable[[], Entry | None], create: Callable[[], Entry]) -> Entry:
    """Return what `find` finds, or what `create` makes. Raises `Uncertain` when nobody could tell to the end.

    GitHub may show a thing some time after it failed to say that it made it, so each look waits longer than the last.
    """
    trouble: Uncertain | None = None
    for attempt in range(1, LOOKS + 1):
        if trouble is not None:
            github.pause(attempt)
            if (found := find()) is not None:
                return found
        try:
            return create()
        except Uncertain as error:
            trouble = error
    assert trouble is not None
    github.pause(LOOKS)
    if (found := find()) is not None:
        return found
    raise trouble


def same_text(one: str | None, other: str | None) -> bool:
    """Tell whether two bodies are one: GitHub's forms write CRLF, and it drops blanks at the end."""
    return _normal(one) == _normal(other)


def _normal(text: str | None) -> str:
    return (text or "").replace("\r\n", "\n").rstrip()


def holds_line(text: str | None, line: str) -> bool:
    """Tell whether a body holds a whole line."""
    return line in _normal(text).split("\n")
