"""Orders that a body only speaks of: suggestions to its author, never obeyed. The shapes are in `order_shapes`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from relmgr.gate.markdown_text import Line
from relmgr.gate.marks import REF_END, REF_OPEN, spoken
from relmgr.gate.order_events import find_events
from relmgr.gate.order_shapes import (
    CHAIN,
    CONDITION,
    CUE,
    LAST,
    LINKS,
    LIST,
    PAST,
    PRONOUNS,
    SHAPES,
    SUBJECT,
    WISH,
    WORDS,
    Says,
    Shape,
)
from relmgr.gate.references import ReferenceReader, mark_references
from relmgr.model.order import Direction, NotUnderstood, OrderSuggestion
from relmgr.model.pull_request import PullRequestRef

_END = re.compile(r"[.!?]+[\"')\]]*\s+")
_ABBREVIATION = re.compile(r"(?:\be\.g|\bi\.e|\betc|\bvs|\bcf|\bapprox|\bincl)$", re.I)
_INDEX = re.compile(f"{REF_OPEN}(\\d+){REF_END}")
_GOES_ON = re.compile(
    r"(?:,|:|-|\b(?:to|on|by|for|of|in|and|or|the|a|an|that|which|until|till|after|before|once|when|with|from|at|is|be|not"
    r"|blocks?|requires?|needs?|depends?|prs?|must|should|as|this|than))$",
    re.I,
)
_OPENS = re.compile(
    r"(?:depends?|requires?|needs?|blocks?|blocked|must|should|do|don't|please|this|these|once|after|merge|land|paired"
    r"|stacked|prerequisite|companion|note|see|fixes|closes|also|not)\b",
    re.I,
)
_SHORT = 50
_QUOTE = 300
# No sentence is longer; what is gets read in pieces, so that no shape sees more.
_LONGEST = 2000
_DIRECTIONS: dict[Says, Direction] = {
    "after": "this-after-other",
    "before": "this-before-other",
    "paired": "paired",
}


@dataclass(frozen=True)
class Sentence:
    """One sentence of visible text, in one line, and the line it begins on."""

    text: str
    line: int


@dataclass
class Findings:
    """What was read so far."""

    suggestions: list[OrderSuggestion] = field(default_factory=list)
    not_understood: list[NotUnderstood] = field(default_factory=list)


def split_sentences(lines: Sequence[Line]) -> list[Sentence]:
    """Return the sentences of consecutive lines; one broken over lines is put together again."""
    sentences: list[Sentence] = []
    pieces: list[Line] = []
    for line in lines:
        if pieces and not _continues(pieces[-1].text, line.text):
            sentences += _sentences(pieces)
            pieces = []
        pieces.append(line)
    return [*sentences, *_sentences(pieces)]


def _continues(before: str, after: str) -> bool:
    if _GOES_ON.search(before[-12:]) or not after[:1].isupper():
        return True
    return len(before) >= _SHORT and not _OPENS.match(after)


def _sentences(pieces: Sequence[Line]) -> Iterator[Sentence]:
    starts, texts, at = [], [], 0
    for piece in pieces:
        starts.append(at)
        texts.append(" ".join(piece.text.split()))
        at += len(texts[-1]) + 1
    text, begin = " ".join(texts), 0
    for end in (
        *(m.end() for m in _END.finditer(text) if not _ABBREVIATION.search(text, max(0, m.start() - 8), m.start())),
        len(text),
    ):
        while begin < end:
            stop = end if end - begin <= _LONGEST else text.rfind(" ", begin, begin + _LONGEST) + 1 or begin + _LONGEST
            stop = stop if stop > begin else begin + _LONGEST
            if sentence := text[begin:stop].strip():
                yield Sentence(sentence, pieces[bisect_right(starts, begin) - 1].number)
            begin = stop


class ProseReader:
    """Reads the sentences of one pull request's body."""

    def __init__(self, references: ReferenceReader) -> None:
        self.references, self.this = references, references.this
        self.found = Findings()
        # The last sentences before this one in the block, whose references a pronoun may mean.
        self._before: list[tuple[str, tuple[str, ...]]] = []

    def start_block(self) -> None:
        """Forget what pronouns could mean: they do not reach over blocks."""
        self._before = []

    def read(self, sentence: Sentence, links: tuple[str, ...]) -> bool:
        """Read one sentence; tell whether it said anything about an order."""
        if not WORDS.search(sentence.text):
            self._before.append((sentence.text, links))
            return False
        reading = _Reading(self, sentence, links)
        before = len(self.found.suggestions) + len(self.found.not_understood)
        self._before.append((sentence.text, links))
        if WISH.search(sentence.text):
            return True
        reading.read()
        return len(self.found.suggestions) + len(self.found.not_understood) > before or reading.settled

    def antecedents(self) -> list[PullRequestRef]:
        """Return what "that" may mean: the pull requests of the nearest sentence before that names any."""
        for text, links in self._before[-2:-5:-1]:
            named = [r.ref for r in self.references.find(text, links) if r.ref is not None and r.ref != self.this]
            if named:
                return named
        return []

    def suggest(self, other: PullRequestRef, says: Says, sentence: Sentence, via: PullRequestRef | None = None) -> None:
        """Suggest an order between this pull request (or `via`) and another one."""
        first = via or self.this
        if other == first:
            return
        after, before = (first, other) if says == "after" else (other, first)
        self.found.suggestions.append(
            OrderSuggestion(
                repository=other.repository,
                number=other.number,
                direction=_DIRECTIONS[says],
                sentence=quote(sentence.text),
                via=via,
                trailer=f"Paired-With: {other}" if says == "paired" else f"Depends-On: {before}",
                belongs_in=first if says == "paired" else after,
            )
        )

    def report(self, text: str, line: int, why: str) -> None:
        """Report a look-alike."""
        self.found.not_understood.append(NotUnderstood(text=quote(text), line=line, why=why))


class _Reading:
    """One sentence being read: its references as marks, and what is settled about each."""

    def __init__(self, reader: ProseReader, sentence: Sentence, links: tuple[str, ...]) -> None:
        self.reader, self.sentence = reader, sentence
        self.references = list(reader.references.find(sentence.text, links))
        marked = spoken(mark_references(sentence.text, self.references))
        unmarked = _INDEX.sub(lambda m: "this" if self._ref(int(m[1])) == reader.this else m[0], marked)
        self._lists: list[list[int]] = []
        self.text = LIST.sub(self._as_list, unmarked)
        self.done: dict[int, Says] = {i: "nothing" for i, r in enumerate(self.references) if r.ref == reader.this}

    @property
    def settled(self) -> bool:
        """Whether every reference was given a meaning, if only that of saying nothing."""
        return bool(self.references) and all(index in self.done for index in range(len(self.references)))

    def read(self) -> None:
        events = list(self._events())
        if not self.references and not events:
            self._pronouns()
            return
        if self.text.endswith("?"):
            self._leftovers("a question")
            return
        self._chains()
        for shape in SHAPES:
            self._apply(shape)
        self._pronouns()
        for shape in LAST:
            self._apply(shape)
        if not events:
            self._leftovers("looks like an order, not understood")

    def _ref(self, index: int) -> PullRequestRef | None:
        return self.references[index].ref

    def _as_list(self, match: re.Match[str]) -> str:
        self._lists.append([int(m[1]) for m in _INDEX.finditer(match[0])])
        return f"{REF_OPEN}{len(self._lists) - 1}{REF_END}"

    def _indices(self, text: str) -> list[int]:
        """Return the references that the marks in a piece of `self.text` stand for."""
        return [index for m in _INDEX.finditer(text) for index in self._lists[int(m[1])]]

    def _events(self) -> Iterator[str]:
        for event, cue in find_events(self.text, self.reader.references.project):
            said = event.model_copy(update={"source": quote(self.sentence.text)})
            self.reader.found.suggestions.append(
                OrderSuggestion(
                    repository=None,
                    number=None,
                    direction="this-after-event",
                    sentence=quote(self.sentence.text),
                    event=said,
                    trailer=said.trailer(),
                    belongs_in=self.reader.this,
                )
            )
            yield cue

    def _chains(self) -> None:
        """Read `A before B before C` and `A -> B -> C` where this one is among them."""
        for match in CHAIN.finditer(self.text):
            links = [link[0] for link in LINKS.finditer(match[0])]
            if self._skips(match.start()):
                continue
            places = [self._indices(link) for link in links]
            if [] in places:
                own = places.index([])
                self._sequence(places[own + 1 :], "before")
                self._sequence(places[own - 1 :: -1] if own else [], "after")

    def _sequence(self, places: list[list[int]], says: Says) -> None:
        """Read what stands on one side of this one, from the nearest on."""
        via: PullRequestRef | None = None
        for indices in places:
            fresh = [index for index in indices if index not in self.done]
            self._settle(fresh, says, via)
            via = self._ref(indices[-1]) if indices else None
            if via is None:
                return

    def _apply(self, shape: Shape) -> None:
        for match in shape.pattern.finditer(self.text):
            fresh = [i for i in self._indices(match["refs"]) if i not in self.done]
            if not fresh or (shape.says != "nothing" and self._skips(match.start())):
                continue
            via = None
            if shape.says != "nothing" and not shape.about_this:
                subject = SUBJECT.search(self.text[max(0, match.start() - 80) : match.start()])
                if subject is not None:
                    index = self._indices(subject[1])[-1]
                    via = self._ref(index)
                    if index not in self.done or via is None or not subject[2]:
                        self._others([index, *fresh])
                        continue
            self._settle(fresh, shape.says, via)

    def _settle(self, indices: list[int], says: Says, via: PullRequestRef | None) -> None:
        for index in indices:
            self.done[index] = says
            reference = self.references[index]
            if says == "nothing":
                continue
            if reference.ref is None:
                self.reader.report(self.sentence.text, self.sentence.line, f"{reference.text}: {reference.why}")
            else:
                self.reader.suggest(reference.ref, says, self.sentence, via)

    def _others(self, indices: list[int]) -> None:
        for index in indices:
            self.done[index] = "nothing"
        self.reader.report(
            self.sentence.text, self.sentence.line, "an order between other pull requests: declare it in theirs"
        )

    def _skips(self, start: int) -> bool:
        """Tell whether what stands before a shape takes its meaning away: the past, or a condition."""
        before = self.text[max(0, start - 100) : start]
        return bool(PAST.search(before) or CONDITION.search(before))

    def _pronouns(self) -> None:
        for shape in PRONOUNS:
            for match in shape.pattern.finditer(self.text):
                if self._skips(match.start()):
                    continue
                own = [i for i in self._indices(self.text[: match.start()]) if i not in self.done]
                if own:
                    self._settle(own, shape.says, None)
                elif not self.references:
                    antecedents = self.reader.antecedents()
                    if not antecedents:
                        self.reader.report(self.sentence.text, self.sentence.line, "which pull request is meant?")
                    for ref in antecedents:
                        self._replace_pair(ref)
                        self.reader.suggest(ref, shape.says, self.sentence)
                return

    def _replace_pair(self, ref: PullRequestRef) -> None:
        """Take back a pairing that the pronoun's sentence now gives an order."""
        suggestions = self.reader.found.suggestions
        for at in range(len(suggestions) - 1, max(-1, len(suggestions) - 9), -1):
            one = suggestions[at]
            if (one.direction, one.repository, one.number) == ("paired", ref.repository, ref.number):
                del suggestions[at]

    def _leftovers(self, why: str) -> None:
        left = [r for i, r in enumerate(self.references) if i not in self.done and r.ref != self.reader.this]
        if left and CUE.search(self.text):
            reasons = [f"{r.text}: {r.why}" for r in left if r.why]
            self.reader.report(self.sentence.text, self.sentence.line, "; ".join(reasons[:3]) or why)


def quote(text: str) -> str:
    """Return a sentence as it reads, at most 300 characters."""
    said = spoken(text[: 4 * _QUOTE])
    return said if len(said) <= _QUOTE else f"{said[: _QUOTE - 3]}..."
