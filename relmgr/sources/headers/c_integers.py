"""Integer constant expressions of C headers, computed without a compiler and without `eval`."""

from __future__ import annotations

import re
from collections.abc import Callable

Lookup = Callable[[str], "int | None"]

_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)(?P<suffix>[uUlL]{0,3})(?![\w.])|'(?P<char>\\?[^'\\])'"
    r"|(?P<sizeof>sizeof)\s*\((?P<type>[^()]*)\)|(?P<name>[A-Za-z_]\w*)|(?P<operator><<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>?:()]))"
)
_BINDING = {"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7}
_BINDING |= {"<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10}
_ESCAPES = {"\\n": 10, "\\t": 9, "\\r": 13, "\\0": 0, "\\\\": 92, "\\'": 39, '\\"': 34}
MAX_TEXT = 2000
MAX_DEPTH = 40
MAX_CHAIN = 8
MAX_MAGNITUDE = 1 << 128


class Constants:
    """Named constants given by their texts, computed when asked, each once; a cycle or a long chain has no value."""

    def __init__(self, texts: dict[str, str], sizeof: Lookup | None = None) -> None:
        self._texts, self._sizeof, self._depth = texts, sizeof, 0
        self._values: dict[str, int | None] = {}

    def define(self, name: str, value: int | None) -> None:
        """Give a name its value; a name that gets two values has none."""
        self._values[name] = value if self._values.get(name, value) == value else None

    def get(self, name: str) -> int | None:
        """Return the value of a name, None when it has none."""
        if name not in self._values:
            self._values[name] = None
            if name in self._texts:
                self._values[name] = self.compute(self._texts[name])
        return self._values[name]

    def compute(self, text: str) -> int | None:
        """Return the value of an expression over these names."""
        if self._depth >= MAX_CHAIN:
            return None
        self._depth += 1
        try:
            return compute_integer(text, self.get, self._sizeof)
        finally:
            self._depth -= 1


class _NotConstantError(Exception):
    """The text is no integer constant that can be computed here."""


def compute_integer(text: str, lookup: Lookup, sizeof: Lookup | None = None) -> int | None:
    """Return the value of a C integer constant expression, or None when it is none or cannot be computed.

    `lookup` gives the value of a macro or constant, `sizeof` the bytes of a type. Arithmetic is exact up to 128 bits;
    text, nesting and shifts are bounded.
    """
    if len(text) > MAX_TEXT:
        return None
    try:
        reader = _Reader(_tokens(text), lookup, sizeof)
        value = reader.expression(0, 0)
    except _NotConstantError:
        return None
    return value if reader.at_end() else None


def _tokens(text: str) -> list[re.Match[str]]:
    found, position, text = [], 0, text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _NotConstantError
        found.append(match)
        position = match.end()
    return found


class _Reader:
    """Precedence climbing over the tokens."""

    def __init__(self, tokens: list[re.Match[str]], lookup: Lookup, sizeof: Lookup | None) -> None:
        self._tokens, self._lookup, self._sizeof, self._next = tokens, lookup, sizeof, 0

    def at_end(self) -> bool:
        return self._next == len(self._tokens)

    def _operator(self) -> str | None:
        return None if self.at_end() else self._tokens[self._next]["operator"]

    def expression(self, binding: int, depth: int) -> int:
        if depth > MAX_DEPTH:
            raise _NotConstantError
        value = self._operand(depth)
        while (operator := self._operator()) in _BINDING and _BINDING[operator] > binding:
            self._next += 1
            value = _apply(operator, value, self.expression(_BINDING[operator], depth + 1))
        if operator == "?" and binding == 0:
            self._next += 1
            yes = self.expression(0, depth + 1)
            self._expect(":")
            no = self.expression(0, depth + 1)
            return yes if value else no
        return value

    def _expect(self, operator: str) -> None:
        if self._operator() != operator:
            raise _NotConstantError
        self._next += 1

    def _operand(self, depth: int) -> int:
        if self.at_end() or depth > MAX_DEPTH:
            raise _NotConstantError
        token = self._tokens[self._next]
        self._next += 1
        if token["number"]:
            return _number(token["number"])
        if token["char"]:
            return _ESCAPES.get(token["char"], ord(token["char"][-1]))
        if token["sizeof"]:
            return _known(self._sizeof(token["type"].strip()) if self._sizeof else None)
        if token["name"]:
            return _known(self._lookup(token["name"]))
        if token["operator"] == "(":
            value = self.expression(0, depth + 1)
            self._expect(")")
            return value
        operand = self._operand(depth + 1)
        match token["operator"]:
            case "-":
                return -operand
            case "+":
                return operand
            case "~":
                return ~operand
            case "!":
                return int(not operand)
        raise _NotConstantError


def _number(text: str) -> int:
    if text[:2] in ("0x", "0X", "0b", "0B"):
        return _known(int(text, 0))
    # A leading zero means octal; `089` is no number at all.
    if text.startswith("0") and set(text) & set("89"):
        raise _NotConstantError
    return _known(int(text, 8 if text.startswith("0") else 10))


def _known(value: int | None) -> int:
    if value is None or abs(value) >= MAX_MAGNITUDE:
        raise _NotConstantError
    return value


def _apply(operator: str, left: int, right: int) -> int:
    if operator in ("/", "%"):
        if right == 0:
            raise _NotConstantError
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)  # C rounds towards zero
        return quotient if operator == "/" else left - quotient * right
    if operator in ("<<", ">>"):
        if not 0 <= right < 64:
            raise _NotConstantError
        return _known(left << right if operator == "<<" else left >> right)
    return _known(_SIMPLE[operator](left, right))


_SIMPLE: dict[str, Callable[[int, int], int]] = {
    "||": lambda a, b: int(bool(a or b)),
    "&&": lambda a, b: int(bool(a and b)),
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b),
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}
