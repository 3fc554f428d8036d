"""The lines of a C header without a preprocessor: comments off, directives read, `#if` parts kept and named.

A header is read as C sees it: parts for `__cplusplus` and `#if 0` are left out; every other conditional part is kept,
with its condition, because nobody here knows the build's settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from relmgr.errors import SourceError
from relmgr.model.abi import Macro
from relmgr.sources.headers.c_integers import Constants, compute_integer

MAX_HEADER = 4 * 1024 * 1024
MAX_NESTING = 200
MAX_CONDITION = 200
MAX_BRANCHES = 8

# Every alternative ends by itself, also at the end of the text: nothing here can backtrack over the file.
_COMMENT_OR_STRING = re.compile(
    r"//(?:\\\n|[^\n])*|/\*[\s\S]*?(?:\*/|\Z)|\"(?:\\[\s\S]|[^\"\\\n])*\"?|'(?:\\[\s\S]|[^'\\\n])*'?"
)
_DIRECTIVE = re.compile(r"\s*#\s*(\w+)\s*(.*)", re.DOTALL)
_DEFINE = re.compile(r"([A-Za-z_]\w*)(\([^)]*\))?\s*(.*)", re.DOTALL)
_NOT_DEFINED = re.compile(r"!\s*defined\s*\(?\s*([A-Za-z_]\w*)\s*\)?$")
_DEFINED = re.compile(r"defined\s*\(?\s*([A-Za-z_]\w*)\s*\)?$")


@dataclass
class HeaderLines:
    """What the lines hold: `code` keeps the line count; `conditions` has one entry per line, None outside any `#if`."""

    code: str
    macros: list[Macro]
    conditions: list[str | None]
    notes: list[str]


@dataclass
class _Part:
    """One open `#if`: the condition of the present branch, whether C sees it, and whether a branch surely was taken.

    `earlier` holds the first undecided conditions of the branches before.
    """

    condition: str | None
    seen: bool
    taken: bool
    line: int
    earlier: list[str] = field(default_factory=list)


def read_lines(data: bytes, where: str) -> HeaderLines:
    """Read a header's bytes. Raises `SourceError` when it is too large, no text, or nested beyond reason."""
    if len(data) > MAX_HEADER:
        raise SourceError(f"a header of {len(data)} bytes; at most {MAX_HEADER} are read", where=where)
    if b"\0" in data:
        raise SourceError("not a text file", where=where, next_step="is it the right path?")
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return _Walk(_without_comments(text).split("\n"), where).read()


def number_of(lines: HeaderLines, name: str) -> tuple[int | None, str]:
    """Return the number that macro `name` stands for, and why there is none ('' when there is one).

    Definitions under different conditions must agree. The reason is 'absent' when the macro is not defined at all.
    """
    found = {macro.value for macro in lines.macros if macro.name == name}
    if not found:
        return None, "absent"
    constants = Constants(macro_texts(lines.macros))
    values = {constants.compute(text) for text in found}
    if len(values) > 1:
        return None, f"defined differently under #if: {', '.join(sorted(found))}"
    value = values.pop()
    return (value, "") if value is not None else (None, f"not a number: {found.pop()[:40] or 'empty'}")


def macro_texts(macros: Iterable[Macro]) -> dict[str, str]:
    """Return name to text of the macros that are defined to one text only."""
    texts: dict[str, str] = {}
    doubtful = set()
    for macro in macros:
        if texts.setdefault(macro.name, macro.value) != macro.value:
            doubtful.add(macro.name)
    return {name: text for name, text in texts.items() if name not in doubtful}


def _without_comments(text: str) -> str:
    """Blank out comments, keeping line breaks; string and character literals stay."""
    return _COMMENT_OR_STRING.sub(
        lambda m: m[0] if m[0][0] in "\"'" else " " + "\n" * m[0].count("\n"),
        text,
    )


class _Walk:
    """One pass over the lines."""

    def __init__(self, lines: list[str], where: str) -> None:
        self._lines, self._where = lines, where
        self._open: list[_Part] = []
        self._macros: list[Macro] = []
        self._notes: list[str] = []
        self._guard = _include_guard(lines)
        self._seen = True
        self._condition: str | None = None

    def read(self) -> HeaderLines:
        code: list[str] = []
        conditions: list[str | None] = []
        at = 0
        while at < len(self._lines):
            line, end = self._lines[at], at + 1
            directive = line.lstrip().startswith("#")
            while directive and line.endswith("\\") and end < len(self._lines):
                line, end = f"{line[:-1]} {self._lines[end]}", end + 1
            if directive:
                self._directive(line, at + 1)
                self._seen = all(part.seen for part in self._open)
                self._condition = " && ".join(part.condition for part in self._open if part.condition) or None
            conditions += [self._condition] * (end - at)
            code += [""] * (end - at) if directive or not self._seen else [line]
            at = end
        self._notes += [f"line {part.line}: #if without #endif" for part in self._open]
        return HeaderLines("\n".join(code), self._macros, conditions, self._notes)

    def _directive(self, line: str, number: int) -> None:
        match = _DIRECTIVE.match(line)
        if match is None:
            return
        word, rest = match[1], " ".join(match[2].split())
        if word in ("if", "ifdef", "ifndef"):
            self._open_part(_as_condition(word, rest), number)
        elif word in ("elif", "else", "endif"):
            self._next_part(word, rest, number)
        elif word == "define" and self._seen:
            self._define(rest, number)
        elif word == "pragma" and rest.startswith("pack") and self._seen:
            self._notes.append(f"line {number}: #pragma {rest}")

    def _open_part(self, condition: str, number: int) -> None:
        if len(self._open) >= MAX_NESTING:
            raise SourceError(f"#if nested more than {MAX_NESTING} deep", where=f"{self._where}:{number}")
        if number == self._guard[0]:
            self._open.append(_Part(None, seen=True, taken=True, line=number))
            return
        decided = _decided(condition)
        part = _Part(None, seen=decided is not False, taken=decided is True, line=number)
        if decided is None:
            part.condition = condition[:MAX_CONDITION]
            part.earlier.append(part.condition)
        self._open.append(part)

    def _next_part(self, word: str, rest: str, number: int) -> None:
        if not self._open:
            self._notes.append(f"line {number}: #{word} without #if")
        elif word == "endif":
            self._open.pop()
        else:
            part = self._open[-1]
            decided = _decided(rest) if word == "elif" else True
            part.seen = not part.taken and decided is not False
            part.taken = part.taken or (decided is True and not part.earlier)
            texts = [f"!({text})" for text in part.earlier]
            if decided is None:
                texts.append(rest[:MAX_CONDITION])
                part.earlier += [rest[:MAX_CONDITION]][: MAX_BRANCHES - len(part.earlier)]
            part.condition = " && ".join(texts) or None

    def _define(self, rest: str, number: int) -> None:
        match = _DEFINE.match(rest)
        if match is None:
            self._notes.append(f"line {number}: a #define that cannot be read")
        elif match[1] != self._guard[1]:
            self._macros.append(
                Macro(
                    name=match[1],
                    value=f"{match[2] or ''}{' ' if match[2] else ''}{match[3]}".strip(),
                    condition=self._condition,
                )
            )


def _include_guard(lines: list[str]) -> tuple[int, str]:
    """Return (line, macro) of the include guard, (0, '') for none: the first two directives are its test and define."""
    found = [
        (at, match) for at, line in enumerate(lines, 1) if (match := _DIRECTIVE.match(line)) and match[1] != "pragma"
    ][:2]
    if len(found) < 2:
        return 0, ""
    (line, first), (_, second) = found
    test = _NOT_DEFINED.match(_as_condition(first[1], first[2].strip())) if first[1] in ("if", "ifndef") else None
    if test is None or second[1] != "define" or second[2].strip() != test[1]:
        return 0, ""
    return line, test[1]


def _as_condition(word: str, rest: str) -> str:
    if word == "if":
        return rest
    return f"{'!' if word == 'ifndef' else ''}defined({rest})"


def _decided(condition: str) -> bool | None:
    """Tell what C makes of a condition that needs no build settings: `__cplusplus` and bare numbers; else None."""
    if (number := compute_integer(condition, lambda name: None)) is not None:
        return number != 0
    for pattern, outcome in ((_DEFINED, False), (_NOT_DEFINED, True)):
        if (match := pattern.match(condition)) and match[1] == "__cplusplus":
            return outcome
    return False if condition == "__cplusplus" else None
