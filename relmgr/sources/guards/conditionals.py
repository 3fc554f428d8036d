"""The preprocessor's view of one C or C++ file: its directives, and the tree of its conditionals.

Nothing is expanded or evaluated here (see `expressions`). Comments, strings, raw strings and line continuations are
read as a compiler reads them, so a `#if` inside a comment or a raw string is none. Text is `str` with one character a
byte (latin-1), so that offsets are byte offsets and nothing is lost. Every pass is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TypeAlias

MAX_NESTING = 100

OPENERS = ("if", "ifdef", "ifndef")
CONTINUERS = ("elif", "elifdef", "elifndef", "else")

_STOP = re.compile(r"//|/\*|\"|'|\\[ \t]*\r?\n|\n")
_LINE_COMMENT = re.compile(r"(?:[^\\\n]|\\[ \t]*\r?\n|\\)*")
_STRING = re.compile(r'"(?:[^"\\\n]|\\(?:\r?\n|[^\r\n]|\r))*"?')
_CHARACTER = re.compile(r"'(?:[^'\\\n]|\\(?:\r?\n|[^\r\n]|\r))*'?")
_RAW_PREFIX = re.compile(r"(?:^|[^A-Za-z0-9_])(?:u8|[uUL])?R$")
_RAW_OPEN = re.compile(r'"([^()\\\s"]{0,16})\(')
_NUMBER_BEFORE = re.compile(r"(?:^|[^A-Za-z0-9_'.])\.?[0-9][A-Za-z0-9_'.]*$")
_NAME = re.compile(r"[A-Za-z_]\w*")
_LOOK_BACK = 64


@dataclass(frozen=True)
class Directive:
    """One directive: `argument` has comments as one blank and continuations spliced.

    `line` (of the `#`) to `end_line`, 1-based, are its physical lines; `first_line` is smaller than `line` when a
    comment begun earlier ends before the `#`. `name_at` is the offset of its name, -1 when a continuation splits it.
    """

    name: str
    argument: str
    line: int
    end_line: int
    first_line: int
    name_at: int
    shares_line: bool


@dataclass
class Branch:
    """One branch of a conditional: its directive and what directives stand in it; `end_line` is its last line."""

    directive: Directive
    end_line: int = 0
    items: list[Item] = field(default_factory=list)


@dataclass
class Chain:
    """One conditional from its `#if` to its `#endif` (None when the file ends first)."""

    branches: list[Branch]
    endif: Directive | None = None


Item: TypeAlias = "Directive | Chain"


@dataclass(frozen=True)
class SourceTree:
    """A file's directives as a tree; `faults` say what is malformed in it, by line."""

    items: tuple[Item, ...]
    faults: tuple[str, ...] = ()


class Malformed(ValueError):
    """A comment or raw string that never ends."""


def parse_conditionals(text: str) -> SourceTree:
    """Return the tree of `text`; what is malformed is named in `faults`, and the rest is still read."""
    top: list[Item] = []
    faults: list[str] = []
    stack: list[Chain] = []
    last_line = text.count("\n") + (0 if text.endswith("\n") or not text else 1)
    try:
        for directive in read_directives(text):
            if directive.name in OPENERS:
                if len(stack) >= MAX_NESTING:
                    faults.append(f"line {directive.line}: more than {MAX_NESTING} nested conditionals")
                    break
                chain = Chain([Branch(directive)])
                (stack[-1].branches[-1].items if stack else top).append(chain)
                stack.append(chain)
            elif directive.name in CONTINUERS or directive.name == "endif":
                if not stack:
                    faults.append(f"line {directive.line}: #{directive.name} without #if")
                    continue
                _continue(stack, directive, faults)
            elif directive.name in ("define", "undef", "include", "pragma"):
                (stack[-1].branches[-1].items if stack else top).append(directive)
    except Malformed as error:
        faults.append(str(error))
    for chain in stack:
        faults.append(f"line {chain.branches[0].directive.line}: #{chain.branches[0].directive.name} without #endif")
        chain.branches[-1].end_line = last_line
    return SourceTree(tuple(top), tuple(faults))


def _continue(stack: list[Chain], directive: Directive, faults: list[str]) -> None:
    chain = stack[-1]
    chain.branches[-1].end_line = directive.first_line - 1
    if directive.name == "endif":
        chain.endif = directive
        stack.pop()
        return
    if chain.branches[-1].directive.name == "else":
        faults.append(f"line {directive.line}: #{directive.name} after #else")
    chain.branches.append(Branch(directive))


def chains(items: tuple[Item, ...] | list[Item]) -> Iterator[Chain]:
    """Yield every conditional below `items`, outer ones before those inside them."""
    for item in items:
        if isinstance(item, Chain):
            yield item
            for branch in item.branches:
                yield from chains(branch.items)


def directives(items: tuple[Item, ...] | list[Item]) -> Iterator[Directive]:
    """Yield every directive below `items` that is no conditional, in the file's order."""
    for item in items:
        if isinstance(item, Directive):
            yield item
        else:
            for branch in item.branches:
                yield from directives(branch.items)


def read_directives(text: str) -> Iterator[Directive]:
    """Yield the directives of `text`; raises `Malformed` where a comment or raw string never ends."""
    position, line = 3 if text.startswith("\xef\xbb\xbf") else 0, 1
    while position < len(text):
        end, pieces = _logical_line(text, position, line)
        lines = text.count("\n", position, end)
        directive = _directive(text, position, pieces, line, line + lines - text.endswith("\n", position, end))
        if directive is not None:
            yield directive
        position, line = end, line + lines


def code_text(text: str) -> str:
    """Return `text` with every comment as a blank and continuations spliced: what can use a macro's name."""
    parts: list[str] = []
    position, line = 0, 1
    while position < len(text):
        end, pieces = _logical_line(text, position, line)
        parts.extend(piece for piece, _ in pieces)
        parts.append("\n")
        line += text.count("\n", position, end)
        position = end
    return "".join(parts)


def mask_raw_strings(text: str) -> str:
    """Return `text` with each raw string as a plain one that holds its digest: for readers that know none."""
    raws: list[tuple[int, int]] = []
    position, line = 0, 1
    while position < len(text):
        end, _ = _logical_line(text, position, line, raws)
        line += text.count("\n", position, end)
        position = end
    parts, kept = [], 0
    for start, stop in raws:
        parts += [text[kept:start], f'"raw {sha256(text[start:stop].encode("latin-1")).hexdigest()}"']
        kept = stop
    return "".join([*parts, text[kept:]])


def _directive(
    text: str, start: int, pieces: list[tuple[str, int]], first_line: int, end_line: int
) -> Directive | None:
    head = next(((piece, at) for piece, at in pieces if piece.strip()), None)
    if head is None:
        return None
    piece, at = head
    blanks = len(piece) - len(piece.lstrip())
    if not piece.startswith(("#", "%:"), blanks):
        return None
    hash_at = at + blanks
    joined = "".join(piece for piece, _ in pieces).strip()
    joined = joined[2:] if joined.startswith("%:") else joined[1:]
    named = _NAME.match(joined.lstrip())
    if named is None:
        return None
    name = named.group()
    return Directive(
        name=name,
        argument=joined.lstrip()[named.end() :].strip(),
        line=first_line + text.count("\n", start, hash_at),
        end_line=end_line,
        first_line=first_line,
        name_at=_offset_of_name(pieces, hash_at, name),
        shares_line=bool(text[start:hash_at].strip(" \t\xef\xbb\xbf")),
    )


def _offset_of_name(pieces: list[tuple[str, int]], hash_at: int, name: str) -> int:
    """Return where `name` stands after the `#`, -1 when a continuation splits it."""
    for piece, at in pieces:
        skip = max(0, hash_at - at)
        rest = piece[skip:].lstrip("#%: \t\f\v")
        if at + len(piece) > hash_at and rest:
            return at + len(piece) - len(rest) if re.match(rf"{name}(?!\w)", rest) else -1
    return -1


def _logical_line(
    text: str, start: int, line: int, raws: list[tuple[int, int]] | None = None
) -> tuple[int, list[tuple[str, int]]]:
    """Return the offset after one logical line, and its text in pieces with their offsets, comments as blanks.

    The spans of its raw strings are added to `raws`.
    """
    pieces: list[tuple[str, int]] = []
    position = kept = start
    while True:
        stop = _STOP.search(text, position)
        if stop is None:
            pieces.append((text[kept:], kept))
            return len(text), pieces
        what, at = stop.group(), stop.start()
        if what in ('"', "'"):
            position, is_raw = _after_literal(text, at, line)
            if is_raw and raws is not None:
                raws.append((at, position))
            continue
        pieces.append((text[kept:at], kept))
        if what == "\n":
            return stop.end(), pieces
        if what == "//":
            comment = _LINE_COMMENT.match(text, stop.end())
            assert comment is not None
            kept = position = comment.end()
        elif what == "/*":
            close = text.find("*/", stop.end())
            if close < 0:
                raise Malformed(f"line {line + text.count(chr(10), start, at)}: a comment never ends")
            pieces.append((" ", at))
            kept = position = close + 2
        else:
            kept = position = stop.end()


def _after_literal(text: str, at: int, line: int) -> tuple[int, bool]:
    """Return the offset after the string or character that opens at `at`, and whether it is a raw string.

    One that never closes ends with its line.
    """
    before = text[max(0, at - _LOOK_BACK) : at]
    if text[at] == "'":
        if _NUMBER_BEFORE.search(before):
            return at + 1, False
        match = _CHARACTER.match(text, at)
    else:
        opening = _RAW_OPEN.match(text, at) if _RAW_PREFIX.search(before) else None
        if opening is not None:
            close = text.find(f'){opening.group(1)}"', opening.end())
            if close < 0:
                raise Malformed(f"near line {line}: a raw string never ends")
            return close + len(opening.group(1)) + 2, True
        match = _STRING.match(text, at)
    assert match is not None
    return match.end(), False
