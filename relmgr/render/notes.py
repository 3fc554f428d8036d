"""Notes in each of their forms: for a terminal, Markdown, a changelog's section, a forge's release, a page."""

from __future__ import annotations

from typing import Literal

from relmgr.model.notes import NoteEntry, Notes
from relmgr.model.notes_settings import NotesSettings
from relmgr.render.engine import SHIPPED, Words
from relmgr.render.foreign import code, fragment, md, plain

Form = Literal["text", "markdown", "rocm", "github", "html"]
TEMPLATES: dict[Form, str] = {
    "text": "notes/show.txt.j2",
    "markdown": "notes/show.md.j2",
    "rocm": "notes/section.md.j2",
    "github": "notes/github.md.j2",
    "html": "notes/show.html.j2",
}
# What GitHub takes as the body of a release, in characters.
LONGEST_RELEASE = 125_000
MOST_PROVIDER_ENTRIES = 200
_ISSUES = "known issues"


def render_notes(
    notes: Notes,
    settings: NotesSettings,
    form: Form,
    *,
    forge: str,
    title: str | None = None,
    words: Words = SHIPPED,
) -> str:
    """Return the notes in `form`. `title` replaces the section's title."""
    headings = {heading.lower(): heading for heading in settings.headings}
    text = words.render(
        TEMPLATES[form],
        d=notes,
        title=title or notes.title or notes.to,
        forge=forge,
        headings=settings.headings,
        issues_heading=headings.get(_ISSUES, "Known issues"),
        most=MOST_PROVIDER_ENTRIES,
        defuse=md,
        plain=plain,
        code=code,
        text_of=_text_of,
    )
    return _fit(text, notes) if form == "github" else text


def _text_of(entry: NoteEntry) -> str:
    return fragment(entry.text) if entry.is_markdown else md(entry.text)


def _fit(text: str, notes: Notes) -> str:
    """Return a release's body cut at a line where it is too long for the forge; every line stands on its own."""
    if len(text) <= LONGEST_RELEASE:
        return text
    end = f"\n\nCut here: the rest does not fit. Full list: {notes.compare}\n"
    kept = text[: LONGEST_RELEASE - len(end)]
    return kept[: kept.rfind("\n")].rstrip() + end
