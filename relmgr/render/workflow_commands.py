"""Lines that GitHub Actions reads as commands: annotations, and a way to print strangers' text without it being one.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

from collections.abc import Iterable

from relmgr.model.actions import Annotation

# Actions shows ten of a kind in one step.
MOST = 10
_LEVELS = {"notice": "notice", "warning": "warning", "failure": "error"}


def annotation_lines(annotations: Iterable[Annotation]) -> str:
    """Return a command line for each annotation, the first `MOST` of them."""
    lines = [
        f"::{_LEVELS[one.level]} file={_property(one.path)},line={one.line},endLine={one.end_line},"
        f"title={_property(one.title)}::{_data(one.message)}\n"
        for one in annotations
    ]
    return "".join(lines[:MOST])


def inert(text: str, token: str) -> str:
    """Return the text between two lines that keep Actions from reading commands in it; `token` must be random."""
    return f"::stop-commands::{token}\n{text.rstrip()}\n::{token}::\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
