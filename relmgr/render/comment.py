"""Fit a text into what GitHub takes: cut at a block, with fences closed, and say that it was cut."""

from __future__ import annotations

import re

# https://docs.github.com/en/rest/issues/comments: bodies end there; GitHub counts characters.
LONGEST_BODY = 65_536
LONGEST_SUMMARY = 65_535
_FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})(?P<rest>[^\n]*)$")
_HTML = re.compile(r"<(?P<end>/?)(?P<name>details|blockquote|table)\b[^>]*>", re.IGNORECASE)
CUT = "\n\n*(Cut here: the rest does not fit into one comment.)*\n"
# Room for the note, and for closing what is open.
_ROOM = 400


def fit_body(text: str, limit: int = LONGEST_BODY) -> str:
    """Return `text`, or its longest beginning of whole blocks that fits `limit` characters, closed and marked as cut.

    A single block longer than the limit is cut at a line, or, where one line is too long, inside it. Lengths are
    counted in UTF-16 units, of which GitHub's count is never more.
    """
    if length(text) <= limit:
        return text
    kept: list[str] = []
    size, last_block, fence = 0, 0, ""
    for line in text.split("\n"):
        size += length(line) + 1
        if size > limit - _ROOM:
            break
        kept.append(line)
        fence = _fence_after(line, fence)
        if not line.strip() and not fence:
            last_block = len(kept)
    if not kept:
        return _begin(text, limit - _ROOM) + CUT
    # A block as long as the whole comment is cut inside rather than dropped.
    whole = kept[:last_block] if last_block > len(kept) // 2 else kept
    cut = _closed("\n".join(whole).rstrip()) + CUT
    # Closing what a hostile text opens can take more than the room that was kept: then less of it is shown.
    return cut if length(cut) <= limit else fit_body(text[: len(text) // 2] + CUT, limit)


def length(text: str) -> int:
    """Return the length of a text in UTF-16 units."""
    return len(text) + sum(ord(char) > 0xFFFF for char in text)


def _begin(text: str, limit: int) -> str:
    begin = text[:limit]
    while length(begin) > limit:
        begin = begin[: -(length(begin) - limit)]
    return begin


def _fence_after(line: str, fence: str) -> str:
    """Return the fence that is open after a line, '' for none."""
    match = _FENCE.match(line)
    if match is None:
        return fence
    mark = match["fence"]
    if not fence:
        return "" if mark[0] == "`" and "`" in match["rest"] else mark
    closes = mark[0] == fence[0] and len(mark) >= len(fence) and not match["rest"].strip()
    return "" if closes else fence


def _closed(text: str) -> str:
    """Return the text with an open fence, HTML comment and folded parts closed."""
    fence = ""
    for line in text.split("\n"):
        fence = _fence_after(line, fence)
    if fence:
        text += f"\n{fence}"
    if text.rfind("<!--") > text.rfind("-->"):
        text += " -->"
    still: list[str] = []
    for tag in _HTML.finditer(text):
        name = tag["name"].lower()
        if not tag["end"]:
            still.append(name)
        elif name in still:
            still.remove(name)
    return text + "".join(f"\n\n</{name}>" for name in reversed(still))
