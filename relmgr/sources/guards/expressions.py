"""The value of a preprocessor condition in three-valued logic: true, false, or unknown.

Macros are expanded with what is known of them: a definition, known to be undefined, or unknown. An unknown macro makes
unknown only what depends on it: `0 && X` is false. Arithmetic is that of a compiler's 64-bit integers. Work is bounded
by `Fuel`; whatever is malformed or too deep is unknown, never an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

MAX_PARENTHESES = 64
MAX_CONDITION = 20_000

UNDEFINED: Literal["undefined"] = "undefined"
DEFINED: Literal["defined"] = "defined"


@dataclass(frozen=True)
class Definition:
    """A macro's body as tokens; `parameters` is None for an object-like macro."""

    body: tuple[str, ...]
    parameters: tuple[str, ...] | None = None


# What is known of a name: its definition, that it has one (but not which), that it has none, or nothing (None).
State: TypeAlias = "Definition | Literal['undefined', 'defined'] | None"
Lookup = Callable[[str], State]
Value: TypeAlias = tuple[int, bool] | None
"""A 64-bit integer and whether it is unsigned; None is unknown."""


class OutOfFuel(ValueError):
    """The work for one file went past its bound."""


class Fuel:
    """A bound on the tokens that one analysis may handle."""

    def __init__(self, tokens: int = 2_000_000) -> None:
        self.left = tokens

    def burn(self, tokens: int) -> None:
        """Take `tokens` off; raises `OutOfFuel` below zero."""
        self.left -= tokens
        if self.left < 0:
            raise OutOfFuel("macro expansion goes past its bound")


_TOKEN = re.compile(
    r"[A-Za-z_$]\w*"
    r"|\.?[0-9](?:[eEpP][+-]|'[0-9A-Za-z_]|[0-9A-Za-z_.])*"
    r'|"(?:[^"\\]|\\.)*"?'
    r"|'(?:[^'\\]|\\.)*'?"
    r"|<<=|>>=|<=>|\.\.\.|<<|>>|<=|>=|==|!=|&&|\|\||##|->|::|\S",
    re.DOTALL,
)
_IDENTIFIER = re.compile(r"[A-Za-z_$]\w*\Z")
_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)([uUlLzZ]{0,3})\Z")
_SPELLED = {"and": "&&", "or": "||", "not": "!", "bitand": "&", "bitor": "|", "xor": "^", "compl": "~", "not_eq": "!="}
_UNKNOWN = "\0unknown"
_PRECEDENCE = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip


def tokens_of(text: str) -> list[str]:
    """Split preprocessor text into tokens, without blanks."""
    return _TOKEN.findall(text)


def identifiers(tokens: list[str] | tuple[str, ...]) -> list[str]:
    """Return the names among `tokens`, in order, without `defined` and the spelled operators."""
    return [t for t in tokens if _IDENTIFIER.match(t) and t != "defined" and t not in _SPELLED]


def parse_definition(argument: str) -> tuple[str, Definition] | None:
    """Return the name and definition that `#define argument` gives, None when it is malformed."""
    named = re.match(r"([A-Za-z_$]\w*)(\()?", argument)
    if named is None:
        return None
    rest = argument[named.end() :]
    if not named.group(2):
        return named.group(1), Definition(tuple(tokens_of(rest)))
    inside, closed, body = rest.partition(")")
    if not closed:
        return None
    parameters = tuple(p.strip() for p in inside.split(",")) if inside.strip() else ()
    return named.group(1), Definition(tuple(tokens_of(body)), parameters)


def evaluate(condition: str, lookup: Lookup, fuel: Fuel) -> bool | None:
    """Return whether `condition` holds with what `lookup` knows of macros; None when that cannot be told.

    Raises `OutOfFuel` when `fuel` is used up.
    """
    tokens = tokens_of(condition) if len(condition) <= MAX_CONDITION * 8 else []
    if not tokens or len(tokens) > MAX_CONDITION:
        return None
    try:
        parser = _Parser(_expand(tokens, lookup, fuel))
        value = parser.ternary(0)
    except (_Unreadable, IndexError):
        return None
    if parser.position != len(parser.tokens) or value is None:
        return None
    return value[0] != 0


class _Unreadable(ValueError):
    pass


def _expand(tokens: list[str], lookup: Lookup, fuel: Fuel) -> list[str]:
    """Return `tokens` with macros expanded and `defined` answered; names that stay are 0 or unknown."""
    out: list[str] = []
    # A stack, its top the next word; each carries the macros it came from, which it may not expand again.
    stack: list[tuple[str, frozenset[str]]] = [(t, frozenset()) for t in reversed(tokens)]
    while stack:
        fuel.burn(1)
        word, hidden = stack.pop()
        if word == "defined":
            out.append(_defined(stack, lookup))
        elif not _IDENTIFIER.match(word):
            out.append(word)
        elif word in _SPELLED:
            out.append(_SPELLED[word])
        else:
            state = None if word in ("true", "false") else lookup(word)
            if state == UNDEFINED:
                out.append("0")
            elif isinstance(state, Definition) and word in hidden:
                out.append(_UNKNOWN)
            elif isinstance(state, Definition):
                _push(stack, word, hidden, state, out, fuel)
            else:
                out.append({"true": "1", "false": "0"}.get(word, _UNKNOWN))
                if out[-1] == _UNKNOWN and stack and stack[-1][0] == "(":
                    _arguments(stack)
    return out


def _defined(stack: list[tuple[str, frozenset[str]]], lookup: Lookup) -> str:
    word = stack.pop()[0]
    if word == "(":
        word = stack.pop()[0]
        if stack.pop()[0] != ")":
            raise _Unreadable
    if not _IDENTIFIER.match(word):
        raise _Unreadable
    state = lookup(word)
    return _UNKNOWN if state is None else "0" if state == UNDEFINED else "1"


def _push(
    stack: list[tuple[str, frozenset[str]]],
    name: str,
    hidden: frozenset[str],
    definition: Definition,
    out: list[str],
    fuel: Fuel,
) -> None:
    """Put the expansion of `name` on the stack, so that it is read again together with what follows."""
    body: list[str] = list(definition.body)
    if definition.parameters is not None:
        if not stack or stack[-1][0] != "(":
            out.append("0")
            return
        arguments = _arguments(stack)
        if "#" in body or "##" in body or "..." in definition.parameters:
            out.append(_UNKNOWN)
            return
        if len(arguments) != len(definition.parameters) and not (arguments == [[]] and not definition.parameters):
            raise _Unreadable
        given = dict(zip(definition.parameters, arguments, strict=False))
        fuel.burn(sum(len(given.get(t, "1")) for t in body))
        body = [part for t in body for part in given.get(t, [t])]
    elif "##" in body:
        out.append(_UNKNOWN)
        return
    fuel.burn(len(body))
    inner = hidden | {name}
    stack.extend((t, inner) for t in reversed(body))


def _arguments(stack: list[tuple[str, frozenset[str]]]) -> list[list[str]]:
    """Take a parenthesised argument list off the stack, whose top is its `(`."""
    stack.pop()
    depth = 1
    arguments: list[list[str]] = [[]]
    while stack:
        word = stack.pop()[0]
        depth += (word == "(") - (word == ")")
        if depth == 0:
            return arguments
        if word == "," and depth == 1:
            arguments.append([])
        else:
            arguments[-1].append(word)
    raise _Unreadable


class _Parser:
    """Precedence climbing over expanded tokens; both sides of `&&`, `||` and `?:` are always read."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.position = tokens, 0

    def _peek(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def _take(self) -> str:
        token = self.tokens[self.position]
        self.position += 1
        return token

    def ternary(self, depth: int) -> Value:
        if depth > MAX_PARENTHESES:
            raise _Unreadable
        condition = self._binary(1, depth)
        if self._peek() != "?":
            return condition
        self._take()
        yes = self.ternary(depth + 1)
        if self._take() != ":":
            raise _Unreadable
        no = self.ternary(depth + 1)
        if condition is None:
            return yes if yes == no else None
        return yes if condition[0] else no

    def _binary(self, least: int, depth: int) -> Value:
        left = self._unary(depth)
        while (precedence := _PRECEDENCE.get(self._peek(), 0)) >= least:
            operator = self._take()
            left = _apply(operator, left, self._binary(precedence + 1, depth))
        return left

    def _unary(self, depth: int) -> Value:
        signs = []
        while self._peek() in ("!", "~", "-", "+") and self._peek():
            signs.append(self._take())
        word = self._take()
        if word == "(":
            value = self.ternary(depth + 1)
            if self._take() != ")":
                raise _Unreadable
        else:
            value = _number(word)
        for sign in reversed(signs):
            value = _signed(sign, value)
        return value


def _number(token: str) -> Value:
    if token == _UNKNOWN or token.startswith("'"):
        return None
    match = _INTEGER.match(token.replace("'", ""))
    if match is None:
        raise _Unreadable
    digits, suffix = match.group(1).lower(), match.group(2).lower()
    if len(digits) > 70:
        raise _Unreadable
    octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
    try:
        number = int(digits, 8) if octal else int(digits, 0)
    except ValueError:
        raise _Unreadable from None
    return _wrap(number, "u" in suffix or number >= 1 << 63)


def _wrap(number: int, unsigned: bool) -> Value:
    number &= (1 << 64) - 1
    return number - (1 << 64) if not unsigned and number >> 63 else number, unsigned


def _signed(sign: str, value: Value) -> Value:
    if value is None:
        return None
    number, unsigned = value
    if sign == "!":
        return int(number == 0), False
    return _wrap({"-": -number, "~": ~number, "+": number}[sign], unsigned)


def _apply(operator: str, left: Value, right: Value) -> Value:
    if operator in ("&&", "||"):
        decides = operator == "||"
        truths = [None if side is None else side[0] != 0 for side in (left, right)]
        if decides in truths:
            return int(decides), False
        return None if None in truths else (int(not decides), False)
    if left is None or right is None:
        return None
    if operator in ("<<", ">>"):
        if not 0 <= right[0] < 64:
            return None
        return _wrap(left[0] << right[0] if operator == "<<" else left[0] >> right[0], left[1])
    unsigned = left[1] or right[1]
    a, b = (side[0] & ((1 << 64) - 1) if unsigned else side[0] for side in (left, right))
    if operator in _COMPARE:
        return int(_COMPARE[operator](a, b)), False
    if operator in ("/", "%") and b == 0:
        return None
    return _wrap(_ARITHMETIC[operator](a, b), unsigned)


def _divide(a: int, b: int) -> int:
    """Divide as C does: towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divide,
    "%": lambda a, b: a - b * _divide(a, b),
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
}
