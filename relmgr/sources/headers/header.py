"""Read a C header without a preprocessor: functions, enums, structs with their layout, typedefs, macros."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Literal

import tree_sitter_c
from tree_sitter import Language, Node, Parser, Tree

from relmgr.errors import SourceError
from relmgr.model.abi import Enum, Function, Header, Typedef
from relmgr.sources.headers.c_integers import Constants
from relmgr.sources.headers.c_view import as_c, unmarked
from relmgr.sources.headers.layout import Layout, Record
from relmgr.sources.headers.lines import HeaderLines, macro_texts, read_lines
from relmgr.sources.headers.types import CType, NotReadError, base_of, declared, parameters_of, text_of

MAX_SECONDS = 10.0
MAX_NOTES = 30
MAX_DECLARATIONS = 50_000
# The parser asks for the text again for every node that is read, so a large chunk costs a copy each time.
_CHUNK = 512

_BLOCKS = {"translation_unit", "linkage_specification", "declaration_list"}
_RECORDS = {"struct_specifier", "union_specifier"}
_DECLARATIONS = {"declaration", "type_definition", "function_definition", "enum_specifier", *_RECORDS}
_SILENT = {"comment", ";", "string_literal", "extern", "{", "}"}


def read_header(data: bytes, path: str) -> Header:
    """Return the surface of a header's bytes; `path` names it in errors and in the result.

    Only what stands in this file is known: included headers are not read. Raises `SourceError` for what is no text,
    too large (4 MiB, 50,000 declarations) or takes too long; a single declaration that cannot be read is in `unread`.
    """
    lines = read_lines(data, path)
    code, notes = as_c(lines.code)
    tree = _parse(code.encode(), path)
    return _Reader(lines, path, notes).read(tree.root_node)


def _parse(code: bytes, path: str) -> Tree:
    """Parse C within `MAX_SECONDS`: error recovery on hostile text is slow."""
    end = time.monotonic() + MAX_SECONDS
    try:
        return Parser(Language(tree_sitter_c.language())).parse(
            lambda offset, _: code[offset : offset + _CHUNK],
            progress_callback=lambda *_: time.monotonic() > end,  # true stops
        )
    except ValueError:
        raise SourceError(
            f"not read within {MAX_SECONDS:g} seconds", where=path, next_step="is it really a header?"
        ) from None


class _Reader:
    """One pass over the declarations, then the layout of what they declare."""

    def __init__(self, lines: HeaderLines, path: str, notes: list[str]) -> None:
        self._lines, self._path, self._notes = lines, path, [*lines.notes, *notes]
        self._layout = Layout()
        self._layout.constants = Constants(macro_texts(lines.macros), self._layout.sizeof_text)
        self._functions: list[Function] = []
        self._enums: list[Enum] = []
        self._typedefs: list[Typedef] = []
        self._calls: list[str] = []
        self._unread: list[str] = []

    def read(self, root: Node) -> Header:
        for count, node in enumerate(_top_level(root)):
            if count >= MAX_DECLARATIONS:
                raise SourceError(f"more than {MAX_DECLARATIONS} declarations", where=self._path)
            self._read_one(node)
        if any("#pragma pack" in note for note in self._lines.notes):
            for record in self._layout.records.values():
                record.refused = record.refused or "#pragma pack in this header"
        more = len(self._notes) - MAX_NOTES
        return Header(
            path=self._path,
            macros=tuple(self._lines.macros),
            functions=tuple(self._functions),
            enums=tuple(self._enums),
            structs=tuple(self._layout.struct(name) for name in self._layout.records),
            typedefs=tuple(self._typedefs),
            calls=tuple(self._calls),
            unread=tuple(self._unread),
            notes=(*self._notes[:MAX_NOTES], *([f"and {more} more"] if more > 0 else [])),
        )

    def _read_one(self, node: Node) -> None:
        if node.type == "expression_statement" and not node.has_error:
            self._calls.append(unmarked(text_of(node)).rstrip(" ;"))
            return
        try:
            if node.type not in _DECLARATIONS or (node.has_error and node.type != "function_definition"):
                raise NotReadError
            if node.type in _RECORDS or node.type == "enum_specifier":
                self._body(node, None)
            elif node.type == "type_definition":
                self._typedef(node)
            else:
                self._declaration(node)
        except NotReadError:
            text = unmarked(text_of(node))
            self._unread.append(text[:200])
            self._notes.append(f"line {node.start_point.row + 1}: not read: {text[:80]}")

    # -- what a declaration declares --------------------------------------------------------------------------------

    def _condition(self, node: Node) -> str | None:
        return self._lines.conditions[min(node.start_point.row, len(self._lines.conditions) - 1)]

    def _declaration(self, node: Node) -> None:
        base = self._base(node, None)
        for declarator in node.children_by_field_name("declarator"):
            name, type_ = declared(base, declarator)
            if type_.is_function:
                returns = unmarked(str(CType(type_.base, type_.parts[1:])))
                parameters = tuple(unmarked(text) for text in parameters_of(declarator))
                self._functions.append(
                    Function(
                        name=unmarked(name), returns=returns, parameters=parameters, condition=self._condition(node)
                    )
                )
            else:
                self._notes.append(f"line {node.start_point.row + 1}: variable {name} is not compared")

    def _typedef(self, node: Node) -> None:
        declarators = node.children_by_field_name("declarator")
        plain = next((text_of(d) for d in declarators if d.type in ("type_identifier", "primitive_type")), None)
        base = self._base(node, plain)
        for declarator in declarators:
            name, type_ = declared(base, declarator)
            # `typedef struct A A;` names nothing new.
            if type_ != CType(name):
                if self._layout.typedefs.setdefault(name, type_) != type_:
                    self._layout.typedefs[name] = CType(f"{name} (declared more than once)")
                self._typedefs.append(
                    Typedef(name=unmarked(name), type=unmarked(str(type_)), condition=self._condition(node))
                )

    def _base(self, node: Node, fallback: str | None) -> str:
        """Return the base type of a declaration, taking in the struct, union or enum body it may hold."""
        specifier = node.child_by_field_name("type")
        if specifier is not None and specifier.child_by_field_name("body") is not None:
            return base_of(node, self._body(specifier, fallback))
        return base_of(node, None)

    def _body(self, specifier: Node, fallback: str | None, depth: int = 0) -> str:
        """Read a struct, union or enum with a body; return its tag, or `fallback` for one without."""
        name = specifier.child_by_field_name("name")
        tag = text_of(name) if name is not None else fallback
        body = specifier.child_by_field_name("body")
        if specifier.type == "enum_specifier":
            return self._enum(specifier, body, tag)
        if body is None:
            return tag or "(anonymous)"
        if tag is None or depth > 20:
            raise NotReadError
        kind: Literal["struct", "union"] = "union" if specifier.type == "union_specifier" else "struct"
        record = Record(unmarked(tag), kind, condition=self._condition(specifier))
        rows = self._lines.conditions[specifier.start_point.row : specifier.end_point.row + 1]
        if any(row != record.condition for row in rows):
            record.refused = "fields under #if"
        if any(word in text_of(specifier) for word in ("__attribute__", "alignas", "_Alignas", "__declspec")):
            record.refused = "attributes that change the layout are not computed"
        key, records = tag, self._layout.records
        if tag in records:
            record.refused = records[tag].refused = "declared more than once"
            key = f"{tag} ({len(records)})"
        records[key] = record
        for child in body.named_children:
            self._field(record, tag, child, depth)
        return tag

    def _field(self, record: Record, tag: str, node: Node, depth: int) -> None:
        if node.type == "comment":
            return
        if node.type != "field_declaration" or node.has_error:
            record.refused = record.refused or f"not read: {text_of(node)[:60]}"
            return
        declarators = node.children_by_field_name("declarator")
        specifier = node.child_by_field_name("type")
        inner = f"{tag}.{text_of(declarators[0])}" if declarators else f"{tag}.({len(record.fields)})"
        base = (
            base_of(node)
            if specifier is None or specifier.child_by_field_name("body") is None
            else base_of(node, self._body(specifier, inner, depth + 1))
        )
        if any(child.type == "bitfield_clause" for child in node.children):
            record.refused = record.refused or f"bit-field {text_of(declarators[0]) if declarators else ''}".rstrip()
        for declarator in declarators or (None,):
            name, type_ = declared(base, declarator)
            record.fields.append((name, type_))

    def _enum(self, specifier: Node, body: Node | None, tag: str | None) -> str:
        if body is None:
            return tag or "(anonymous)"
        values: dict[str, int | None] = {}
        following: int | None = 0
        for node in body.named_children:
            if node.type != "enumerator":
                continue
            name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
            if value is not None:
                following = self._layout.constants.compute(text_of(value))
            if name is not None:
                values[text_of(name)] = following
                self._layout.constants.define(text_of(name), following)
            following = None if following is None else following + 1
        tag = tag or f"(enum of {next(iter(values), 'nothing')})"
        self._layout.enums[tag] = list(values.values())
        self._enums.append(Enum(name=unmarked(tag), values=values, condition=self._condition(specifier)))
        return tag


def _top_level(root: Node) -> Iterator[Node]:
    """Yield the declarations in order, out of `extern "C"` blocks and out of what the parser could not place."""
    stack = [root]
    while stack:
        node = stack.pop()
        holds_more = node.type == "ERROR" and any(child.type in _DECLARATIONS for child in node.children)
        if node.type in _BLOCKS or holds_more:
            stack += reversed(node.children)
        elif node.type not in _SILENT:
            yield node
