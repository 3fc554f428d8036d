"""Lists that say an order: an introduction ("Depends on:") with references below it, and check boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from relmgr.gate.markdown_text import Block, Line
from relmgr.gate.marks import spoken
from relmgr.gate.order_shapes import CUE, INTRODUCTIONS, TODO, WISH, Says
from relmgr.gate.prose_order import ProseReader, Sentence
from relmgr.gate.references import Reference, mark_references
from relmgr.model.pull_request import PullRequestRef

_INTRODUCTION = 120
_LEAD = 40


class ListReader:
    """Reads list items by the line that introduces their list; a box that is ticked is done and says nothing."""

    def __init__(self, prose: ProseReader) -> None:
        self.prose = prose
        self._says: Says | Literal["sequence"] | None = None
        self._sequence: list[PullRequestRef] = []
        self._at: Sentence | None = None
        self._own = False

    def end(self) -> None:
        """End the list; a merge order in which this pull request has no place is reported."""
        if self._at is not None and not self._own:
            self.prose.report(self._at.text, self._at.line, "an order in which this pull request has no place")
        self._says, self._sequence, self._at, self._own = None, [], None, False

    def read(self, lines: Sequence[Line], block: Block) -> bool:
        """Read a block that belongs to a list or introduces one; tell whether that was all there is to it."""
        text = " ".join(line.text for line in lines)
        if block.item is None:
            self._introduce(text, block)
            return False
        if block.checked:
            return True
        return self._item(Sentence(text, lines[0].number), block)

    def _introduce(self, text: str, block: Block) -> None:
        self.end()
        said = spoken(text)
        ends = block.kind == "heading" or said.endswith(":")
        if not ends or len(said) > _INTRODUCTION or WISH.search(said) or any(self.prose.references.find(text, ())):
            return
        self._says = next((says for says, pattern in INTRODUCTIONS if pattern.search(said)), None)

    def _item(self, sentence: Sentence, block: Block) -> bool:
        if self._says is None and block.checked is None:
            return False
        found = list(self.prose.references.find(sentence.text, block.links))
        if self._says == "sequence":
            return self._next(sentence, [one.ref for one in found])
        if not found:
            return False
        marked = mark_references(sentence.text, found)
        if block.checked is False and self._says is None and TODO.search(marked) and not CUE.search(marked):
            self._suggest(sentence, found[:1], "after")
            return True
        if self._says in (None, "nothing") or CUE.search(marked) or found[0].start > _LEAD:
            return self._says == "nothing"
        self._suggest(
            sentence, found, "before" if self._says == "before" else "paired" if self._says == "paired" else "after"
        )
        return True

    def _suggest(self, sentence: Sentence, found: Sequence[Reference], says: Says) -> None:
        for one in found:
            if one.ref is None:
                self.prose.report(sentence.text, sentence.line, f"{one.text}: {one.why}")
            else:
                self.prose.suggest(one.ref, says, sentence)

    def _next(self, sentence: Sentence, refs: list[PullRequestRef | None]) -> bool:
        """Read the next item of a merge order; those before this one are first, those after it follow."""
        own = self.prose.this
        ref = refs[0] if refs else own if sentence.text.lower().lstrip("*").startswith("this") else None
        if ref is None:
            return False
        if ref == own and not self._own:
            self._own = True
            for index, one in enumerate(reversed(self._sequence)):
                via = self._sequence[len(self._sequence) - index] if index else None
                self.prose.suggest(one, "after", self._at or sentence, via)
        elif ref != own and self._own:
            last = self._sequence[-1]
            self.prose.suggest(ref, "before", sentence, None if last == own else last)
        self._at = self._at or sentence
        self._sequence.append(ref)
        return True
