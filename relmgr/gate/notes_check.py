"""What changed and is not told (N7). Pure.

A line tells of a change when it names its pull request or commit, or has most of its words. The pin, the kernel ABI and
the kernel databases are told by naming them. What no line tells of is missing.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from relmgr.model.notes import MissingNote, NoteEntry, Notes
from relmgr.model.notes_settings import NotesSettings

_NUMBER = re.compile(r"#(\d{1,9})\b|/(?:pull|issues)/(\d{1,9})\b")
_SHA = re.compile(r"\b[0-9a-f]{7,40}\b")
_WORD = re.compile(r"[a-z][a-z0-9_]+|\d[\w.]+")
_DATABASE = re.compile(r"\bkdbs?\b|kernel databases?|\.kdb\b", re.IGNORECASE)
_ABI = re.compile(r"\bABI\b|bare pointer|memref", re.IGNORECASE)
# Words that make no two lines alike.
_COMMON = re.compile(
    r"the|and|for|with|from|into|when|are|was|not|all|use[ds]?|using|add(?:s|ed)?|fix(?:es|ed)?|updated?|support(?:ed)?"
    r"|changed?|new|removed?|nfc|docs?|tests?|tuning"
)
ENOUGH = 0.6


def find_missing(notes: Notes, section: str | None, names: Iterable[str], title: str) -> list[MissingNote]:
    """Return what the text of a section does not tell of `notes`; `names` are the provider's."""
    if section is None:
        what = f'the change log has no section "{title}"'
        return [MissingNote(component="section", level="error", detail=what, remedy="run `relmgr notes write --apply`")]
    return [*_components(notes, section, names), *_changes(notes, section)]


def _components(notes: Notes, section: str, names: Iterable[str]) -> Iterator[MissingNote]:
    abi = notes.abi
    if (abi.crossing or abi.crossed_by) and not (_ABI.search(section) or (abi.macro and abi.macro in section)):
        moved = ", ".join(f"#{m.pr}" if m.pr else m.commit[:12] for m in abi.crossed_by) or "the pin"
        yield MissingNote(
            component="kernel-abi",
            level="error",
            detail=f"{moved} changed the kernel ABI ({abi.old.number} -> {abi.new.number}), and no line says so",
            remedy="say who must rebuild or delete what, on upgrade and on downgrade",
        )
    if abi.moves and not any(re.search(rf"\b{re.escape(name)}\b", section, re.IGNORECASE) for name in names if name):
        yield MissingNote(
            component="provider",
            level="error",
            detail=f"the pin of {abi.provider} moved, and no line names it",
            remedy="add a line on what the new pin brings",
        )
    changed = notes.databases.changed()
    if changed and not _DATABASE.search(section):
        yield MissingNote(
            component="kernel-databases",
            level="error",
            detail=f"{len(changed)} kernel database{'s' if len(changed) > 1 else ''} changed, and no line says so",
            remedy="say which, and whether they were rebuilt",
        )


def _changes(notes: Notes, section: str) -> Iterator[MissingNote]:
    told = Told(section.splitlines())
    for heading, entry in notes.entries():
        if not told.tells(entry):
            yield MissingNote(
                component="change",
                level="warning",
                detail=f"{_name(entry)} is in no line: {entry.text}",
                remedy=f"add it under {heading}, or mark it as not for the notes",
            )


class Told:
    """The lines of a section, read once: the numbers and commits they name, and their words."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._numbers: set[int] = set()
        self._shas: set[str] = set()
        self._sizes: list[int] = []
        self._with: dict[str, list[int]] = defaultdict(list)
        for number, line in enumerate(lines):
            self._numbers |= {int(a or b) for a, b in _NUMBER.findall(line)}
            self._shas |= set(_SHA.findall(line))
            words = _words(line)
            self._sizes.append(len(words))
            for word in words:
                self._with[word].append(number)

    def tells(self, entry: NoteEntry) -> bool:
        """Tell whether a line names the change, or has most of its words."""
        if entry.pr in self._numbers or self._numbers & set(entry.picks):
            return True
        if any(commit.startswith(sha) for sha in self._shas for commit in entry.commits):
            return True
        mine = _words(entry.text)
        common = Counter(number for word in mine for number in self._with.get(word, ()))
        return any(_alike(len(mine), self._sizes[number], both) for number, both in common.items())


def _alike(mine: int, theirs: int, both: int) -> bool:
    """Tell whether two lines with so many words, and so many in common, say the same."""
    smaller = min(mine, theirs)
    return mine == theirs == both or (smaller > 2 and both / smaller >= ENOUGH)


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.lower()) if not _COMMON.fullmatch(word)}


def _name(entry: NoteEntry) -> str:
    return f"#{entry.pr}" if entry.pr else entry.commits[0][:12]


def check_pull_request(
    notes: Notes, settings: NotesSettings, pull_known: bool, added: Iterable[str]
) -> list[MissingNote]:
    """Return what one pull request lacks: a decided heading, and a line for each component that it changes."""
    lines = list(added)
    text = "\n".join((*lines, *(entry.text for _, entry in notes.entries())))
    missing = list(_components(notes, text, (notes.abi.provider.rpartition("/")[2],)))
    guessed = [entry for _, entry in notes.entries() if entry.grouped_by == "guess"]
    if guessed and not lines:
        seen = "its description ticks no box" if pull_known else "its description was not read"
        missing.append(
            MissingNote(
                component="pull-request",
                level="error",
                detail=f"nothing decides its heading: {seen}, and it brings no fragment and no line of the change log",
                remedy=f'tick one box below "{settings.category_block}": {", ".join(settings.headings)}',
            )
        )
    return missing
