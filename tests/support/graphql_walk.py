"""Answer a GraphQL query from plain Python values: enough of the language for our own queries, and no more.

Whether a query is valid GraphQL, and what GitHub's schema says about it, other tests ask.
"""

from __future__ import annotations

import json
import re
from typing import Any

_TOKEN = re.compile(r'\s*(?:#[^\n]*|,|(\.\.\.|[{}()\[\]:!$=@]|"(?:[^"\\]|\\.)*"|-?\d+|\w+))')


class Walk:
    """One query with its variables; values are dicts, lists, scalars, or functions of the field's arguments."""

    def __init__(self, query: str, variables: dict[str, Any]) -> None:
        self._tokens = [m[1] for m in _TOKEN.finditer(query) if m[1]]
        self._at = 0
        self._variables = variables
        self._fragments: dict[str, list[Any]] = {}
        self._operation: list[Any] = []
        while self._at < len(self._tokens):
            self._definition()

    def answer(self, root: Any) -> Any:
        """Return the data of the query's only operation."""
        return self._select(root, self._operation)

    def _definition(self) -> None:
        word = self._next()
        if word == "fragment":
            name = self._next()
            assert self._next() == "on"
            self._next()
            self._fragments[name] = self._selection()
            return
        if word == "{":
            self._at -= 1
        while self._peek() != "{":
            self._next()
        self._operation = self._selection()

    def _selection(self) -> list[Any]:
        assert self._next() == "{"
        fields: list[Any] = []
        while self._peek() != "}":
            fields.append(self._field())
        self._next()
        return fields

    def _field(self) -> Any:
        name = self._next()
        if name == "...":
            if self._peek() == "on":
                self._next()
                return ("on", self._next(), self._selection())
            return ("spread", self._next())
        alias = name
        if self._peek() == ":":
            self._next()
            name = self._next()
        arguments = {}
        if self._peek() == "(":
            self._next()
            while self._peek() != ")":
                key = self._next()
                assert self._next() == ":"
                arguments[key] = self._value()
            self._next()
        return ("field", alias, name, arguments, self._selection() if self._peek() == "{" else None)

    def _value(self) -> Any:
        word = self._next()
        if word == "$":
            return self._variables.get(self._next())
        if word == "[":
            items = []
            while self._peek() != "]":
                items.append(self._value())
            self._next()
            return items
        if word == "{":
            found = {}
            while self._peek() != "}":
                key = self._next()
                assert self._next() == ":"
                found[key] = self._value()
            self._next()
            return found
        return json.loads(word) if word[0] in '"-0123456789' else word

    def _select(self, value: Any, fields: list[Any] | None) -> Any:
        if value is None or fields is None:
            return value
        if isinstance(value, list):
            return [self._select(item, fields) for item in value]
        found: dict[str, Any] = {}
        for field in fields:
            if field[0] == "spread":
                found |= self._select(value, self._fragments[field[1]])
            elif field[0] == "on":
                if value["__typename"] == field[1]:
                    found |= self._select(value, field[2])
            else:
                _, alias, name, arguments, inner = field
                child = value[name]
                found[alias] = self._select(child(**arguments) if callable(child) else child, inner)
        return found

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]
