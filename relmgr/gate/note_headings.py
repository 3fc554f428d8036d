"""Under which heading a change stands: its description's check boxes, a fragment, a label, or a marked guess. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from relmgr.gate.marks import spoken
from relmgr.model.notes import GroupedBy, PullText
from relmgr.model.notes_settings import NotesSettings

if TYPE_CHECKING:
    from relmgr.gate.markdown_text import Block

MAX_TITLE = 500


class Choice(NamedTuple):
    """A heading and what decided it; `heading` None: the change is to be left out of the notes."""

    heading: str | None
    by: GroupedBy


def choose_heading(title: str, pull: PullText | None, settings: NotesSettings) -> Choice:
    """Return the heading of a change that has no fragment."""
    if pull is not None:
        ticked = read_category(pull.body, settings)
        if ticked:
            chosen = [heading for name in ticked if (heading := settings.heading_of(name))]
            first = next((heading for heading in settings.headings if heading in chosen), None)
            if first or any(settings.leaves_out(name) for name in ticked):
                return Choice(first, "category-block")
        for label in pull.labels:
            if label in settings.labels:
                return Choice(settings.labels[label], "label")
    return Choice(guess_heading(title, settings), "guess")


def read_category(body: str | None, settings: NotesSettings) -> list[str]:
    """Return the names of the ticked boxes below the category block's title, as far as the next heading."""
    # Most notes are made without descriptions: then no Markdown is parsed.
    from relmgr.gate.markdown_text import read_visible

    inside = False
    ticked: list[str] = []
    for block in read_visible(body).blocks if body else ():
        text = " ".join(spoken(line.text) for line in block.lines)
        if _opens(block, text, settings.category_block):
            inside = True
        elif inside and block.kind == "heading":
            break
        elif inside and block.checked:
            ticked.append(re.split(r"\s*[:.(–—]|\s+-\s", text, maxsplit=1)[0].strip("*_ "))
    return ticked


def _opens(block: Block, text: str, title: str) -> bool:
    return block.checked is None and text.strip("*_: ").lower() == title.lower()


def guess_heading(title: str, settings: NotesSettings) -> str:
    """Return the heading that the words of a title suggest."""
    for heading, pattern in settings.compiled_guesses:
        if pattern.search(title[:MAX_TITLE]):
            return heading
    return settings.otherwise


def heading_order(settings: NotesSettings, found: Iterable[str]) -> list[str]:
    """Return the headings to print: the project's in its order, then the others as they came."""
    found = list(dict.fromkeys(found))
    return [h for h in settings.headings if h in found] + [h for h in found if h not in settings.headings]
