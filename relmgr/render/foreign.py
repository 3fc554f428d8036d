"""Text of strangers inside ours (N6), defused once for every template: a title, a branch, a path, a reason, a name.

`plain` is for a terminal, `md` for words in Markdown, `code` for a name in Markdown, `prose` for a sentence of ours
that quotes strangers, `fragment` for a line of a change log. What one of them returned is not defused again.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime
from typing import Any

from relmgr.errors import redact

LONGEST_NAME = 200
_GAP = "\u200b"
_CODE = re.compile(r"(?P<mark>`+)(?!`)(?P<code>.+?)(?<!`)(?P=mark)(?!`)")
_OPENING = re.compile(r"(\\*)([`|\[\]])")
_LINK = re.compile(r"(?<!!)\[(?P<label>[^][\n]*)\]\((?P<target>https?://[^\s()<>]+)\)")
_ADDRESS = re.compile(r"https?://[\w.:/?#=&%~+,@!-]+")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MARKS = re.compile(r"[\\`*_{}\[\]|~#]")
# At the start of a line these begin a list, a heading's underline or a rule.
_LEADING = re.compile(r"^(?:[-+](?=\s|$)|[-=](?=[-=\s]*$)|\d{1,9}(?=[.)](?:\s|$)))")
_REFERENCE = re.compile(r"#(?=\d)")
_GH = re.compile(r"\bGH-(?=\d)", re.IGNORECASE)
_WWW = re.compile(r"\bwww\.", re.IGNORECASE)
# GitHub sets what stands between two of them as mathematics, also where a backslash stands before one:
# https://docs.github.com/en/get-started/writing-on-github/working-with-advanced-formatting/writing-mathematical-expressions
_DOLLAR = "<span>$</span>"
# A forge makes a link of a bare commit id.
_SHA = re.compile(r"\b(?=[0-9a-f]*\d)([0-9a-f]{3})(?=[0-9a-f]{4,61}\b)")


class Markdown(str):
    """Markdown that is ready: what stood in it was defused already."""

    __slots__ = ()


def plain(value: Any) -> str:
    """Return a stranger's text for a terminal: one line, no control characters, no credentials."""
    return " ".join("".join(c if c.isprintable() else " " for c in redact(text_of(value))).split())


def md(value: Any) -> Markdown:
    """Return a stranger's text for Markdown: one line, nothing in it is markup, HTML, a mention or a link.

    The forge makes links of addresses, commit ids, `#1` and `GH-1`, tells the other thread that it was mentioned, and
    sets what stands between two dollar signs as mathematics.
    """
    if isinstance(value, Markdown):
        return value
    return Markdown(value) if isinstance(value, int | float) else Markdown(_defused(plain(value)))


def code(value: Any) -> Markdown:
    """Return a name as one code span: no mention, link, markup or HTML in it takes effect.

    Control and format characters are dropped, blanks collapsed, what is longer than `LONGEST_NAME` is cut; backticks
    are kept by a longer fence around them.
    """
    if isinstance(value, Markdown):
        return value
    shown = "".join(c if not unicodedata.category(c).startswith("C") else " " for c in redact(text_of(value)))
    line = " ".join(shown.split())
    line = line if len(line) <= LONGEST_NAME else f"{line[:LONGEST_NAME]}..."
    if not line:
        return Markdown("(empty)")
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return Markdown(f"{fence}{pad}{line}{pad}{fence}")


def prose(value: Any) -> Markdown:
    """Return a sentence of ours for Markdown: commands in backticks stay code, what it quotes is defused."""
    if isinstance(value, Markdown):
        return value
    return _with_spans(plain(value), [_CODE], lambda text: _defused(text, ids=True))


def url(value: Any) -> Markdown:
    """Return an address that ends where it ends, for the place of a link's target; anything else as code."""
    text = redact(text_of(value))
    return Markdown(text) if _ADDRESS.fullmatch(text) else code(text)


def fragment(value: Any) -> Markdown:
    """Return one line of a change log: its emphasis, code and web links stay; mentions, references, HTML do not."""
    return _with_spans(plain(value), [_CODE, _LINK], _around)


def cell(value: Any) -> str:
    """Return what stands in a cell of a Markdown table; it cannot break out of it."""
    if not isinstance(value, Markdown | int | float):
        return _defused(plain(value), leading=False)
    # In a table the bar ends the cell inside code too; elsewhere it was escaped already.
    return re.sub(r"(?<!\\)\|", r"\\|", str(value))


def text_of(value: Any) -> str:
    """Return a value as text: `-` for none, a time as its calendar day."""
    if value is None:
        return "-"
    return value.date().isoformat() if isinstance(value, datetime) else str(value)


def _defused(text: str, *, ids: bool = False, leading: bool = True) -> str:
    """Return a text without markup; with `ids` commit ids stay whole, to be copied; `leading`: it may start a line."""
    for mark, instead in _ENTITIES.items():
        text = text.replace(mark, instead)
    text = _MARKS.sub(r"\\\g<0>", text)
    if leading:
        text = _LEADING.sub(lambda m: m[0] + "\\" if m[0].isdigit() else f"\\{m[0]}", text)
    return _unlinked(text.replace("@", f"@{_GAP}"), ids=ids)


def _around(text: str) -> str:
    """Return a change log's text outside code: emphasis stays, and so do marks that are escaped already."""
    text = _OPENING.sub(lambda m: m[0] if len(m[1]) % 2 else f"{m[1]}\\{m[2]}", text)
    for mark, instead in _ENTITIES.items():
        text = text.replace(mark, instead)
    return _unlinked(text.replace("@", f"@{_GAP}"))


def _with_spans(text: str, kinds: list[re.Pattern[str]], around: Any) -> Markdown:
    """Return a text whose code spans and links stay as they are, and the rest defused by `around`."""
    made, end = [], 0
    for match in sorted((m for kind in kinds for m in kind.finditer(text)), key=lambda m: m.start()):
        if match.start() >= end and not _is_escaped(text, match.start()):
            made += [around(text[end : match.start()]), _span(match, around)]
            end = match.end()
    return Markdown("".join([*made, around(text[end:])]))


def _is_escaped(text: str, at: int) -> bool:
    """Tell whether the mark at this place is escaped: an odd number of backslashes stands before it."""
    first = at
    while first and text[first - 1] == "\\":
        first -= 1
    return (at - first) % 2 == 1


def _span(match: re.Match[str], around: Any) -> str:
    if match.re is _CODE:
        return match[0]
    return f"[{around(match['label'])}]({match['target'].replace('|', '%7C').replace('$', '%24')})"


def _unlinked(text: str, *, ids: bool = False) -> str:
    text = _REFERENCE.sub(f"#{_GAP}", text.replace("$", _DOLLAR).replace("://", f":{_GAP}//"))
    text = _WWW.sub(f"www{_GAP}.", _GH.sub(f"\\g<0>{_GAP}", text))
    return text if ids else _SHA.sub(f"\\1{_GAP}", text)
