"""The text of an answer, and what a later run reads back from it: its parts, and which workflows were started.

Both stand in hidden lines. Only comments of ours are read back, and no text of strangers in them makes such a line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from relmgr.model.answer import Answer, AnswerPart, RunState
from relmgr.render.foreign import md

_PART = re.compile(r"^<!-- relmgr:part=(?P<key>[a-z0-9-]+) -->$", re.MULTILINE)
_RUN = re.compile(
    r"^<!-- relmgr:run=(?P<key>[a-z0-9-]+) (?P<state>asked|started|unknown) (?P<what>\S+) -->$", re.MULTILINE
)
_END = "<!-- relmgr:end -->"


class Run(NamedTuple):
    """A workflow's record in an answer. `what` is the time when it was asked for, why it was refused, or its page."""

    state: RunState
    what: str


def write_answer(answer: Answer, before: str, runs: Mapping[str, Run]) -> str | None:
    """Return the text of an answer, None when nothing is left to say; `before` is what stands there now."""
    kept = parts_of(before)
    said = []
    for part in answer.parts:
        body = kept.get(part.key) if part.body is None else part.body
        if body:
            said.append(f"<!-- relmgr:part={part.key} -->\n{body.strip()}{_of_run(part, runs.get(part.key))}")
    if not said:
        return None
    lines = [f"<!-- relmgr:run={key} {run.state} {run.what} -->" for key, run in runs.items() if run.state != "refused"]
    return "\n\n".join(filter(None, ("\n".join([*lines, answer.head]), *said, f"{_END}\n{answer.foot}".strip()))) + "\n"


def parts_of(text: str) -> dict[str, str]:
    """Return what an answer says, by part."""
    pieces = _PART.split(text.replace("\r\n", "\n").split(_END)[0])
    return {key: body.strip() for key, body in zip(pieces[1::2], pieces[2::2], strict=True)}


def runs_of(text: str) -> dict[str, Run]:
    """Return which workflows an answer says were started, by part."""
    found: dict[str, Run] = {}
    for match in _RUN.finditer(text.replace("\r\n", "\n")):
        state: RunState = match["state"]  # type: ignore[assignment]
        found[match["key"]] = Run(state, match["what"])
    return found


def _of_run(part: AnswerPart, run: Run | None) -> str:
    if part.start is None or run is None:
        return ""
    words = part.start.words[run.state]
    return "\n\n" + words.replace("{run}", run.what).replace("{why}", md(run.what))
