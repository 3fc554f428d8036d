"""Inline Markdown and raw HTML to the text that is shown, in one pass over each, linear in their length."""

from __future__ import annotations

import html as entities
import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from relmgr.gate.marks import BREAK, CODE, LINK_END, LINK_MID, LINK_OPEN, STRUCK

# No `<` inside: every attempt ends at the next one, so a run of unclosed tags stays linear.
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9-]*)((?:[\s/](?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*)?)>")
_HREF = re.compile(r"\shref\s{0,9}=\s{0,9}(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.I)
_AUTOLINK = re.compile(r"<(https?://[^\s<>]{1,2000})>", re.I)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_TICKS = re.compile(r"`+")
_RUN = re.compile(r"\*+|_+|~+")
_PLAIN = re.compile(r"[^\\`*_~<&\[\]!]+")
_SPACE = re.compile(r"\s*")
_ANGLED = re.compile(r"<([^<>\n]*)>")
_BARE = re.compile(r"(?:[^\s()<>]|\([^\s()<>]*\))*")
_TITLE = re.compile(r"\"[^\"]{0,1000}\"|'[^']{0,1000}'|\([^()]{0,1000}\)")
_LABEL = re.compile(r"\[([^\[\]]{0,999})\]")
_ESCAPABLE = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")

_CODE_TAGS = frozenset({"code", "pre", "kbd", "samp", "tt", "var"})
_STRUCK_TAGS = frozenset({"s", "strike", "del", "blockquote", "q"})
_UNSEEN_TAGS = frozenset({"script", "style", "textarea", "title", "template"})
_HIDING = _CODE_TAGS | _STRUCK_TAGS | _UNSEEN_TAGS
# HTML reopens these, and block elements stay open, until they are closed; the others end with their paragraph.
_LASTING = frozenset({"s", "strike", "code", "tt", "pre", "blockquote", "script", "style", "textarea", "template"})
_BREAKS = frozenset({"br", "p", "li", "ul", "ol", "div", "tr", "td", "th", "table", "summary", "details", "hr"})


@dataclass(frozen=True)
class Shown:
    """Visible text with its marks (see `marks`), and the targets of its links."""

    text: str
    links: tuple[str, ...]


class HtmlState:
    """The hiding HTML tags that are open; they reach over Markdown blocks."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()
        self.comment = False

    def open(self, tag: str) -> None:
        """Take note of an opening tag."""
        if tag in _HIDING:
            self._open[tag] += 1

    def close(self, tag: str) -> None:
        """Take note of a closing tag; one that closes nothing is ignored, as browsers do."""
        if self._open[tag] > 0:
            self._open[tag] -= 1

    def end_block(self) -> None:
        """Close what ends with its paragraph."""
        for tag in [tag for tag in self._open if tag not in _LASTING or not self._open[tag]]:
            del self._open[tag]

    @property
    def hides(self) -> str | None:
        """The mark that stands for hidden text, or None where text is visible."""
        if self.comment:
            return STRUCK
        if not self._open:
            return None
        tags = {tag for tag, count in self._open.items() if count}
        return None if not tags else CODE if tags & _CODE_TAGS else STRUCK


@dataclass(frozen=True)
class _Bracket:
    """An opener: its place among the pieces, where its label starts in the source, and what it opens."""

    piece: int
    start: int
    kind: Literal["link", "image", "tag"]


@dataclass
class _Out:
    """Pieces shown so far, with openers of links and of strike-through waiting for their ends."""

    html: HtmlState
    last_comment_end: int
    pieces: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    brackets: list[_Bracket] = field(default_factory=list)
    inactive: int = 0
    strikes: list[tuple[int, int]] = field(default_factory=list)
    waiting: Counter[int] = field(default_factory=Counter)

    def put(self, text: str) -> None:
        hidden = self.html.hides
        if hidden is None:
            self.pieces.append(text)
            return
        if not self.pieces or self.pieces[-1] != hidden:
            self.pieces.append(hidden)
        # Lines are kept, so that what follows still knows its number.
        self.pieces.extend("\n" * text.count("\n"))

    def hide(self, start: int, mark: str) -> None:
        lines = sum(piece.count("\n") for piece in self.pieces[start:])
        self.pieces[start:] = [mark, *("\n" * lines)]
        while self.brackets and self.brackets[-1].piece >= start:
            self.brackets.pop()
        while self.strikes and self.strikes[-1][0] >= start:
            self.waiting[self.strikes.pop()[1]] -= 1

    def open_bracket(self, start: int, kind: Literal["link", "image", "tag"], text: str) -> None:
        if self.html.hides is None:
            self.brackets.append(_Bracket(len(self.pieces), start, kind))
        self.put(text)


def show_html(source: str, state: HtmlState) -> Shown:
    """Return what raw HTML shows: its text without tags, comments, code, quotes and struck text."""
    out = _Out(state, source.rfind("-->"))
    at = _end_of_comment(source, state)
    while at < len(source):
        lt = source.find("<", at)
        if lt != at:
            out.put(entities.unescape(source[at : lt if lt >= 0 else len(source)]))
            at = lt if lt >= 0 else len(source)
            continue
        at = _comment(source, at, out, unclosed_hides=True) or _tag(source, at, out) or _literal(source, at, out)
    return Shown("".join(out.pieces), tuple(out.links))


def _end_of_comment(source: str, state: HtmlState) -> int:
    """Return where raw HTML goes on after a comment that an earlier block left open."""
    if not state.comment:
        return 0
    end = source.find("-->")
    state.comment = end < 0
    return len(source) if end < 0 else end + 3


def show_inline(source: str, targets: dict[str, str], state: HtmlState) -> Shown:
    """Return what the inline Markdown `source` shows; `targets` are those of reference links."""
    out = _Out(state, source.rfind("-->"))
    ticks = _tick_runs(source)
    at = 0
    while at < len(source):
        if plain := _PLAIN.match(source, at):
            out.put(plain[0])
            at = plain.end()
            continue
        char = source[at]
        if char == "\\":
            at = _escape(source, at, out)
        elif char == "`":
            at = _code(source, at, out, ticks)
        elif char in "*_~":
            at = _delimiter(source, at, out)
        elif char == "&":
            at = _entity(source, at, out)
        elif char == "<":
            at = (
                _comment(source, at, out, unclosed_hides=False)
                or _autolink(source, at, out)
                or _tag(source, at, out)
                or _literal(source, at, out)
            )
        elif char == "]":
            at = _close_bracket(source, at, out, targets)
        else:
            at = _open_bracket(source, at, out)
    state.end_block()
    return Shown("".join(out.pieces), tuple(out.links))


def _literal(source: str, at: int, out: _Out) -> int:
    out.put(source[at])
    return at + 1


def _escape(source: str, at: int, out: _Out) -> int:
    if source[at + 1 : at + 2] in _ESCAPABLE and at + 1 < len(source):
        out.put(source[at + 1])
        return at + 2
    return _literal(source, at, out)


def _tick_runs(source: str) -> dict[int, list[int]]:
    """Return where runs of backticks start, by their length: so that an unclosed one is seen at once."""
    runs: dict[int, list[int]] = {}
    for run in _TICKS.finditer(source):
        runs.setdefault(len(run[0]), []).append(run.start())
    return runs


def _code(source: str, at: int, out: _Out, ticks: dict[int, list[int]]) -> int:
    run = _TICKS.match(source, at)
    assert run
    length = len(run[0])
    starts = ticks.get(length, [])
    next_one = bisect_right(starts, run.end() - 1)
    if next_one == len(starts):
        out.put(run[0])
        return run.end()
    end = starts[next_one] + length
    out.put(CODE)
    out.pieces.extend("\n" * source.count("\n", at, end))
    return end


def _entity(source: str, at: int, out: _Out) -> int:
    if entity := _ENTITY.match(source, at):
        text = entities.unescape(entity[0])
        out.put("\ufffd" if any("\ue000" <= c <= "\ue01f" for c in text) else text)
        return entity.end()
    return _literal(source, at, out)


def _delimiter(source: str, at: int, out: _Out) -> int:
    run = _RUN.match(source, at)
    assert run
    before, after = source[at - 1 : at] if at else " ", source[run.end() : run.end() + 1] or " "
    if run[0][0] == "~":
        _strike(run[0], before, after, out)
    elif (before.isspace() and after.isspace()) or (run[0][0] == "_" and before.isalnum() and after.isalnum()):
        out.put(run[0])
    return run.end()


def _strike(run: str, before: str, after: str, out: _Out) -> None:
    """Match `~` and `~~` as GitHub does: an end closes the nearest start of the same length."""
    length = len(run)
    opens = not after.isspace() and (after.isalnum() or before.isspace() or not before.isalnum())
    closes = not before.isspace() and (before.isalnum() or after.isspace() or not after.isalnum())
    if length > 2:
        out.put(run)
    elif out.html.hides is not None:
        return
    elif closes and out.waiting[length]:
        while out.strikes:
            start, size = out.strikes.pop()
            out.waiting[size] -= 1
            if size == length:
                out.hide(start, STRUCK)
                return
    elif opens:
        out.strikes.append((len(out.pieces), length))
        out.waiting[length] += 1
        out.put(run)
    else:
        out.put(run)


def _comment(source: str, at: int, out: _Out, *, unclosed_hides: bool) -> int:
    """Return where the comment at `at` ends, or 0. In raw HTML an unclosed one hides what follows."""
    if not source.startswith("<!--", at):
        return 0
    for short in ("<!-->", "<!--->"):
        if source.startswith(short, at):
            return at + len(short)
    if out.last_comment_end < at + 4:
        out.html.comment = out.html.comment or unclosed_hides
        return len(source) if unclosed_hides else 0
    end = source.find("-->", at + 4)
    out.html.comment = False
    out.pieces.extend("\n" * source.count("\n", at, end))
    return end + 3


def _autolink(source: str, at: int, out: _Out) -> int:
    link = _AUTOLINK.match(source, at)
    if not link:
        return 0
    out.put(f" {link[1]} ")
    return link.end()


def _tag(source: str, at: int, out: _Out) -> int:
    tag = _TAG.match(source, at)
    if not tag:
        return 0
    name = tag[2].lower()
    out.pieces.extend("\n" * tag[0].count("\n"))
    if tag[1]:
        _closing(name, out)
    elif not tag[3].rstrip().endswith("/") or name not in _HIDING:
        _opening(name, tag[3], out)
    return tag.end()


def _opening(name: str, attributes: str, out: _Out) -> None:
    out.html.open(name)
    if name in _BREAKS:
        out.put(BREAK)
    elif name == "a" and (href := _HREF.search(attributes)):
        out.links.append(entities.unescape(next(g for g in href.groups() if g is not None)))
        out.open_bracket(-1, "tag", f"{LINK_OPEN}{len(out.links) - 1}{LINK_MID}")


def _closing(name: str, out: _Out) -> None:
    out.html.close(name)
    if name in _BREAKS:
        out.put(BREAK)
    elif name == "a" and out.brackets and out.brackets[-1].kind == "tag":
        out.brackets.pop()
        out.put(LINK_END)


def _open_bracket(source: str, at: int, out: _Out) -> int:
    image = source[at] == "!"
    if image and source[at + 1 : at + 2] != "[":
        return _literal(source, at, out)
    end = at + 2 if image else at + 1
    out.open_bracket(end, "image" if image else "link", source[at:end])
    return end


def _close_bracket(source: str, at: int, out: _Out, targets: dict[str, str]) -> int:
    if not out.brackets or out.brackets[-1].kind == "tag":
        return _literal(source, at, out)
    opener = out.brackets.pop()
    inside_link = len(out.brackets) < out.inactive
    out.inactive = min(out.inactive, len(out.brackets))
    target, end = _target(source, opener.start, at, targets)
    if target is None or (inside_link and opener.kind == "link"):
        return _literal(source, at, out)
    if opener.kind == "image":
        out.hide(opener.piece, "")
        return end
    out.links.append(target)
    out.pieces[opener.piece] = f"{LINK_OPEN}{len(out.links) - 1}{LINK_MID}"
    out.put(LINK_END)
    # A link holds no link: what was opened before it stays text.
    out.inactive = len(out.brackets)
    return end


def _target(source: str, start: int, at: int, targets: dict[str, str]) -> tuple[str | None, int]:
    """Return the target of the link whose label ends at `at`, and where the link ends."""
    follows = source[at + 1 : at + 2]
    if follows == "(" and (inline := _inline_target(source, at + 2)):
        return inline
    if not targets:
        return None, at + 1
    if follows == "[" and (label := _LABEL.match(source, at + 1)):
        return targets.get(normalize_label(label[1] or source[start : min(at, start + 999)])), label.end()
    return targets.get(normalize_label(source[start:at])) if at - start < 1000 else None, at + 1


def _inline_target(source: str, at: int) -> tuple[str, int] | None:
    at = _skip(source, at)
    angled = _ANGLED.match(source, at)
    found = angled or _BARE.match(source, at)
    if found is None:
        return None
    target = angled[1] if angled else found[0]
    at = _skip(source, found.end())
    if title := _TITLE.match(source, at):
        at = _skip(source, title.end())
    return (entities.unescape(target), at + 1) if source[at : at + 1] == ")" else None


def _skip(source: str, at: int) -> int:
    space = _SPACE.match(source, at)
    return space.end() if space else at


def normalize_label(label: str) -> str:
    """Return a link label as labels are compared: case and blanks do not matter."""
    return " ".join(label.casefold().split())
