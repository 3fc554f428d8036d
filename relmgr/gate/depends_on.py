"""What a pull request's body declares about the order of merging (faults M1-M4).

Trailers decide: `Depends-On: owner/repo#n`, `Merge-After: cut TRAIN | pin>=REF | date DAY`, and `Paired-With:` for what
has to land together. Prose is only suggested, and look-alikes that were not read are reported, never dropped.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher
from typing import Literal, TypeVar

from relmgr.errors import UserError
from relmgr.gate.markdown_text import MAX_BODY, MAX_NESTING, Block, Line, read_visible
from relmgr.gate.marks import CODE, STRUCK, spoken
from relmgr.gate.order_lists import ListReader
from relmgr.gate.prose_order import ProseReader, split_sentences
from relmgr.gate.references import Reference, ReferenceReader
from relmgr.model.order import DeclaredPull, MergeEvent, OrderDeclarations, OrderSuggestion
from relmgr.model.project import Project
from relmgr.model.pull_request import PullRequestRef
from relmgr.model.times import parse_date

_TRAILER = re.compile(
    r"(?:[-*+•–] ?)?(?P<name>depends[-_ ]?on|merge[-_ ]?after|paired[-_ ]?with) ?:(?P<value>.*)", re.I | re.S
)
_LOOKALIKE = re.compile(r"\b(?:depends?-(?:up)?on|merge-after|paired-with)\b", re.I)
_KEY = re.compile(r"(?P<key>[A-Za-z][A-Za-z_ -]{5,20}) ?:")
_BETWEEN = re.compile(r"[ ,;&+]*(?:(?:and|also|plus) ?)?(?:(?:the )?(?:prs?|pull requests?) ?)?", re.I)
_NONE = re.compile(r"(?:none|nothing|no|n/a|-+|<!--.*)?\.?", re.I)
_CUT = re.compile(r"(?:the )?cut (?:of )?(?P<train>[A-Za-z0-9](?=[\w.-]*\d)[\w.-]{0,60}|\d)", re.I)
_DAY = re.compile(r"(?:(?:date|day) )?(?P<day>\d{4}-\d\d?-\d\d?)", re.I)
_PIN = re.compile(r"pin(?: (?P<pin>[\w.-]{1,60}))? ?(?:(?:>=|=>|≥) ?| )(?P<ref>[0-9A-Za-z][\w./-]{0,99})", re.I)
_PARENTHESIS = re.compile(r" \([^()]*\)")
_EVENT_FORMS = "write cut TRAIN, pin>=REF or date YYYY-MM-DD"
_KEYS = ("depends-on", "merge-after", "paired-with")

T = TypeVar("T")
Trailer = Literal["depends-on", "merge-after", "paired-with"]


def parse_declarations(body: str | None, project: Project, this: PullRequestRef) -> OrderDeclarations:
    """Return what `body` declares and speaks of for the pull request `this`; any text is read, none raises.

    Repositories are named by their present `owner/name` where the project knows them. Text beyond 65,536 characters is
    not read, which is one of `not_understood`.
    """
    visible = read_visible(body)
    reader = _BodyReader(project, this)
    for block in visible.blocks:
        reader.read_block(block)
    reader.end_trailer()
    reader.lists.end()
    if visible.too_deep is not None:
        reader.report("...", visible.too_deep, f"nested more than {MAX_NESTING // 2} levels deep: not read")
    if visible.cut:
        line = (body or "")[:MAX_BODY].count("\n") + 1
        reader.report("...", line, f"the text after character {MAX_BODY:,} was not read")
    return reader.declarations()


class _BodyReader:
    """Collects what one body declares, block by block."""

    def __init__(self, project: Project, this: PullRequestRef) -> None:
        self.project = project
        self.references = ReferenceReader(project, this)
        self.prose = ProseReader(self.references)
        self.lists = ListReader(self.prose)
        self.depends_on: list[DeclaredPull] = []
        self.paired_with: list[DeclaredPull] = []
        self.merge_after: list[MergeEvent] = []
        # A trailer without a value: what it names may stand in the lines or the list below it.
        self._waiting: tuple[Trailer, Line] | None = None

    def report(self, text: str, line: int, why: str) -> None:
        self.prose.report(text, line, why)

    def declarations(self) -> OrderDeclarations:
        """Return everything read, each thing once, in the order of the text."""
        declared = {(one.ref, "this-after-other") for one in self.depends_on}
        declared |= {(one.ref, "paired") for one in self.paired_with}
        days = {_event_key(event) for event in self.merge_after}
        suggestions = [
            s
            for s in self.prose.found.suggestions
            if (s.via is not None or (s.ref, s.direction) not in declared)
            and not (s.event is not None and _event_key(s.event) in days)
        ]
        return OrderDeclarations(
            depends_on=tuple(_once(self.depends_on, lambda one: (one.repository.lower(), one.number))),
            paired_with=tuple(_once(self.paired_with, lambda one: (one.repository.lower(), one.number))),
            merge_after=tuple(_once(self.merge_after, _event_key)),
            suggestions=tuple(_once(suggestions, _suggestion_key)),
            not_understood=tuple(_once(self.prose.found.not_understood, lambda one: (one.text, one.line, one.why))),
        )

    def read_block(self, block: Block) -> None:
        """Read one block: its trailers, then the sentences of what is left."""
        if self._waiting and block.item is None:
            self.end_trailer()
        self.prose.start_block()
        prose: list[Line] = []
        lines = deque(block.lines)
        while lines:
            line = lines.popleft()
            trailer = _TRAILER.match(line.text)
            if trailer is None and self._waiting and self._continue_trailer(line, block.links):
                continue
            if trailer is None:
                prose.append(line)
                continue
            self._read_prose(prose, block)
            prose = []
            self.end_trailer()
            value = trailer["value"].strip()
            while value.endswith(",") and lines and not _TRAILER.match(lines[0].text):
                value = f"{value} {lines.popleft().text}"
            self._read_trailer(_name(trailer["name"]), value, line, block.links)
        self._read_prose(prose, block)

    def _read_trailer(self, name: Trailer, value: str, line: Line, links: tuple[str, ...]) -> None:
        value = " ".join(value.split())
        if not value:
            self._waiting = (name, line)
        elif _NONE.fullmatch(value.replace(STRUCK, "").strip()):
            return
        elif name == "merge-after":
            self._read_events(value, line)
        else:
            self._read_pulls(name, value, line, links)

    def _continue_trailer(self, line: Line, links: tuple[str, ...]) -> bool:
        """Read a line below an empty trailer when it holds its value; tell whether it does."""
        assert self._waiting
        name, head = self._waiting
        if name == "merge-after":
            events = [_event(part, self.project, line.text) for part in _parts(line.text)]
            if not events or any(event is None for event in events):
                return False
            self._read_events(line.text, line)
        else:
            found = list(self.references.find(line.text, links))
            if not found or not _BETWEEN.fullmatch(line.text[: found[0].start]):
                return False
            self._read_pulls(name, line.text, Line(f"{head.text} {line.text}", line.number), links)
        self._waiting = (name, Line(head.text, 0))
        return True

    def end_trailer(self) -> None:
        """Close a trailer that waits for its value; one that got none is reported."""
        if self._waiting and self._waiting[1].number > 0:
            self.report(self._waiting[1].text, self._waiting[1].number, "nothing stands after the colon")
        self._waiting = None

    def _read_pulls(self, name: Trailer, value: str, line: Line, links: tuple[str, ...]) -> None:
        at, listed, read = 0, True, 0
        source = spoken(line.text)[:300]
        for found in self.references.find(value, links):
            listed = listed and _BETWEEN.fullmatch(value, at, found.start) is not None
            at = found.end
            why = _why_not(found, listed)
            read += 1
            if why:
                self.report(source, line.number, f"{found.text}: {why}")
            elif found.ref is not None and found.ref != self.references.this:
                declared = DeclaredPull(repository=found.ref.repository, number=found.ref.number, source=source)
                (self.depends_on if name == "depends-on" else self.paired_with).append(declared)
        if not read:
            hidden = CODE in value
            self.report(source, line.number, "what it names is code" if hidden else "it names no pull request")

    def _read_events(self, value: str, line: Line) -> None:
        source = spoken(line.text)[:300]
        for part in _parts(value):
            event = _event(part, self.project, source)
            if isinstance(event, MergeEvent):
                self.merge_after.append(event)
            else:
                self.report(source, line.number, f"{part[:80]!r} is no event: {event or _EVENT_FORMS}")

    def _read_prose(self, lines: Sequence[Line], block: Block) -> None:
        if not lines or self.lists.read(lines, block):
            return
        for sentence in split_sentences(lines):
            if not self.prose.read(sentence, block.links):
                self._look_alike(sentence.text, sentence.line, block.links)

    def _look_alike(self, text: str, line: int, links: tuple[str, ...]) -> None:
        """Report what only resembles a trailer (M4)."""
        if _LOOKALIKE.search(text):
            self.report(text, line, "a trailer stands at the start of a line, with a colon after its name")
            return
        key = _KEY.match(text)
        if key and _resembles(key["key"]) and any(self.references.find(text, links)):
            self.report(text, line, f"did you mean {_resembles(key['key'])}?")


def _name(name: str) -> Trailer:
    folded = re.sub(r"[-_ ]", "", name.lower())
    return "depends-on" if folded == "dependson" else "merge-after" if folded == "mergeafter" else "paired-with"


def _why_not(found: Reference, listed: bool) -> str:
    if found.why:
        return found.why
    if not listed:
        return "stands behind other words: write one trailer for each"
    return "write it as owner/repo#number" if found.bare else ""


def _resembles(key: str) -> str | None:
    folded = re.sub(r"[_ ]+", "-", key.strip().lower())
    for name in _KEYS:
        if SequenceMatcher(None, folded, name).ratio() >= 0.75:
            return "-".join(part.capitalize() for part in name.split("-"))
    return None


def _parts(value: str) -> list[str]:
    shown = _PARENTHESIS.sub("", " ".join(spoken(value)[:1000].split()))
    return [part for part in (p.strip(" .") for p in re.split(r"[,;]| and ", shown)) if part]


def _event(text: str, project: Project, source: str) -> MergeEvent | str | None:
    """Return the event that `text` names, why it is none, or None when it has no such form."""
    if cut := _CUT.fullmatch(text):
        return MergeEvent(kind="cut", train=cut["train"], source=source)
    if day := _DAY.fullmatch(text):
        try:
            return MergeEvent(kind="date", day=parse_date(day["day"]), source=source)
        except UserError as error:
            return error.what
    if pin := _PIN.fullmatch(text):
        known = [one.name for one in project.pins]
        if pin["pin"] is not None and pin["pin"] not in known:
            return f"no pin {pin['pin']!r}; known: {', '.join(known)}"
        if pin["pin"] is None and pin["ref"] in known:
            return "say which ref the pin has to reach"
        if pin["pin"] is None and len(known) > 1:
            return f"say which pin: {', '.join(known)}"
        return MergeEvent(kind="pin", pin=pin["pin"] or known[0], ref=pin["ref"], source=source)
    return None


def _event_key(event: MergeEvent) -> tuple[object, ...]:
    return (event.kind, event.train, event.day, event.pin, event.ref)


def _suggestion_key(one: OrderSuggestion) -> tuple[object, ...]:
    event = None if one.event is None else _event_key(one.event)
    return (one.repository, one.number, one.direction, one.via, event)


def _once(found: Iterable[T], key: Callable[[T], object]) -> list[T]:
    """Return each thing once, the first of its key."""
    kept: dict[object, T] = {}
    for one in found:
        kept.setdefault(key(one), one)
    return list(kept.values())
