"""What a reader of a Markdown body sees: lines of text with their place, and nothing that is quoted, struck or code.

The block structure is markdown-it-py's. Inline marks are read here in one linear pass, because full inline parsers are
quadratic on hostile text and most of what they find (emphasis, images) says nothing about an order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, blockquote
from markdown_it.token import Token

from relmgr.gate.inline_text import HtmlState, normalize_label, show_html, show_inline
from relmgr.gate.marks import BREAK, strip_marks

# GitHub ends a body here; everything after it is cut, with a finding.
MAX_BODY = 65_536
MAX_NESTING = 60
# Quotes within quotes are all hidden, and each level scans the lines below it again.
MAX_QUOTES = 4

Kind = Literal["paragraph", "heading", "cell", "html"]
_TASK = re.compile(r"\[([ xX])\]\s+")


@dataclass(frozen=True)
class Line:
    """One visible line; `number` counts from 1 in the body."""

    text: str
    number: int


@dataclass(frozen=True)
class Block:
    """A paragraph, heading, cell or raw HTML as shown. `links` are the targets that marks in the text point to.

    `item` tells a list item's first block: its list and its nesting. `checked` is the state of its check box, if any.
    """

    kind: Kind
    lines: tuple[Line, ...]
    links: tuple[str, ...]
    item: tuple[int, int] | None = None
    checked: bool | None = None


@dataclass(frozen=True)
class Visible:
    """The blocks of a body; `cut` when it was longer than `MAX_BODY`, `too_deep` the first line nested too deeply."""

    blocks: tuple[Block, ...]
    cut: bool = False
    too_deep: int | None = None


def read_visible(body: str | None) -> Visible:
    """Return what GitHub shows of a Markdown body (M1), in time linear in its length."""
    text = body or ""
    cut = len(text) > MAX_BODY
    text = strip_marks(text[:MAX_BODY])
    env: dict[str, object] = {}
    tokens = _parser().parse(text, env)
    deep = [t.map[0] + 1 for t in tokens if t.nesting == 1 and t.level + 1 >= MAX_NESTING and t.map]
    return Visible(tuple(_blocks(tokens, _targets(env))), cut, deep[0] if deep else None)


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    alternatives = ["paragraph", "reference", "blockquote", "list", "table"]
    parser.block.ruler.at("blockquote", _shallow(blockquote), {"alt": alternatives})
    return parser


def _shallow(rule: Callable[[StateBlock, int, int, bool], bool]) -> Callable[[StateBlock, int, int, bool], bool]:
    """Return the block quote rule that opens no quote deeper than `MAX_QUOTES`."""

    def quote(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        depth = state.env.get("quotes", 0)
        if depth >= MAX_QUOTES:
            return False
        state.env["quotes"] = depth + 1
        try:
            return rule(state, start, end, silent)
        finally:
            state.env["quotes"] = depth

    return quote


def _targets(env: dict[str, object]) -> dict[str, str]:
    """Return the targets of reference links, by normalised label."""
    references = env.get("references")
    if not isinstance(references, dict):
        return {}
    return {normalize_label(label): str(value.get("href", "")) for label, value in references.items()}


def _blocks(tokens: list[Token], targets: dict[str, str]) -> Iterator[Block]:
    quotes = 0
    lists: list[int] = []
    opened = 0
    first_of_item = False
    html = HtmlState()
    parent = ""
    for token in tokens:
        if token.type == "blockquote_open":
            quotes += 1
        elif token.type == "blockquote_close":
            quotes -= 1
        elif token.type in ("bullet_list_open", "ordered_list_open"):
            opened += 1
            lists.append(opened)
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            lists.pop()
        elif token.type == "list_item_open":
            first_of_item = True
        elif token.type in ("paragraph_open", "heading_open", "th_open", "td_open"):
            parent = token.type
        elif token.type in ("inline", "html_block", "fence", "code_block"):
            item = (lists[-1], len(lists)) if first_of_item and lists else None
            first_of_item = False
            block = None if quotes else _block(token, parent, item, targets, html)
            if block is not None:
                yield block


def _block(
    token: Token, parent: str, item: tuple[int, int] | None, targets: dict[str, str], html: HtmlState
) -> Block | None:
    start = (token.map[0] if token.map else 0) + 1
    if token.type == "html_block":
        shown = show_html(token.content, html)
        return _made("html", shown.text, shown.links, start, None, None)
    if token.type != "inline":
        return None
    content, checked = token.content, None
    if item is not None and (task := _TASK.match(content)):
        checked = task[1] != " "
        content = content[task.end() :]
    shown = show_inline(content, targets, html)
    kind: Kind = "heading" if parent == "heading_open" else "cell" if parent in ("th_open", "td_open") else "paragraph"
    return _made(kind, shown.text, shown.links, start, item, checked)


def _made(
    kind: Kind, text: str, links: tuple[str, ...], start: int, item: tuple[int, int] | None, checked: bool | None
) -> Block | None:
    lines = tuple(
        Line(part.strip(), start + n)
        for n, line in enumerate(text.split("\n"))
        for part in line.split(BREAK)
        if part.strip()
    )
    return Block(kind, lines, links, item, checked) if lines else None
