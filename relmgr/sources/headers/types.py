"""C types of a header: parsed from declarators, written in one normal form."""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

MAX_DECLARATOR_DEPTH = 60
_WRAPPERS = {
    "parenthesized_declarator",
    "abstract_parenthesized_declarator",
    "attributed_declarator",
    "init_declarator",
}
_NAMES = {"identifier", "type_identifier", "field_identifier", "primitive_type"}
_INTEGER_WORDS = {"signed", "unsigned", "short", "long", "char", "int", "double", "__int128"}


class NotReadError(Exception):
    """A declaration of a form that is not read here."""


@dataclass(frozen=True)
class CType:
    """A type: `parts` leads from the declared name to `base`, as `*`, `[size text]` or `(parameters)`."""

    base: str
    parts: tuple[str, ...] = ()

    def __str__(self) -> str:
        inner = ""
        for part in self.parts:
            # An array of pointers is `*[5]`, a pointer to an array `(*)[5]`.
            if part == "*":
                inner = "*" + inner
            elif inner.startswith("*"):
                inner = f"({inner}){part}"
            else:
                inner += part
        return f"{self.base} {inner}" if inner.startswith("(") else f"{self.base}{inner}"

    @property
    def is_function(self) -> bool:
        """Tell whether the declared name is a function."""
        return bool(self.parts) and self.parts[0].startswith("(")

    @property
    def bare(self) -> str:
        """The base without qualifiers."""
        return " ".join(word for word in self.base.split() if word not in ("const", "volatile"))


def text_of(node: Node) -> str:
    """Return a node's source text with single blanks."""
    return " ".join((node.text or b"").decode("utf-8", "replace").split())


def base_of(node: Node, tag: str | None = None) -> str:
    """Return the base type of a declaration, parameter or field; `tag` names a struct, union or enum body in it."""
    specifier = node.child_by_field_name("type")
    if specifier is None:
        raise NotReadError
    qualifiers = sorted({text_of(c) for c in node.children if c.type == "type_qualifier"} & {"const", "volatile"})
    name = specifier.child_by_field_name("name")
    if specifier.type in ("struct_specifier", "union_specifier", "enum_specifier"):
        word = tag or (text_of(name) if name else None)
    else:
        word = canonical(text_of(specifier))
    if word is None:
        raise NotReadError
    return " ".join([*qualifiers, word])


def canonical(text: str) -> str:
    """Return one spelling of a type's words: `unsigned long int` and `long unsigned` are `unsigned long`."""
    words = [word for word in text.split() if word not in ("struct", "union", "enum")]
    if not set(words) <= _INTEGER_WORDS:
        return {"_Bool": "bool"}.get(" ".join(words), " ".join(words))
    sign = "unsigned " if "unsigned" in words else ""
    if "char" in words:
        return f"{sign or ('signed ' if 'signed' in words else '')}char"
    if "double" in words:
        return "long double" if "long" in words else "double"
    for word in ("__int128", "short"):
        if word in words:
            return sign + word
    longs = words.count("long")
    return sign + ("long long" if longs > 1 else "long" if longs else "int")


def declared(base: str, declarator: Node | None, depth: int = 0) -> tuple[str, CType]:
    """Return (name, type) of one declarator over `base`; the name is '' for an abstract one.

    Raises `NotReadError` for forms that are no plain C declarator, or nested beyond reason.
    """
    parts: list[str] = []
    node = declarator
    while node is not None and node.type not in _NAMES:
        depth += 1
        if depth > MAX_DECLARATOR_DEPTH:
            raise NotReadError
        kind = node.type
        if kind.endswith("pointer_declarator"):
            parts.insert(0, "*")
        elif kind.endswith("array_declarator"):
            size = node.child_by_field_name("size")
            parts.insert(0, f"[{text_of(size) if size else ''}]")
        elif kind.endswith("function_declarator"):
            parameters = node.child_by_field_name("parameters")
            parts.insert(0, f"({', '.join(_parameters(parameters, depth))})" if parameters else "()")
        elif kind not in _WRAPPERS:
            raise NotReadError
        node = _inner(node)
    return (text_of(node) if node is not None else ""), CType(base, tuple(parts))


def parameters_of(declarator: Node) -> tuple[str, ...]:
    """Return the parameter types of the function that `declarator` declares: those nearest to its name."""
    node: Node | None = declarator
    found: Node | None = None
    for _ in range(MAX_DECLARATOR_DEPTH):
        if node is None or node.type in _NAMES:
            break
        if node.type.endswith("function_declarator"):
            found = node.child_by_field_name("parameters")
        node = _inner(node)
    return tuple(_parameters(found, 0)) if found is not None else ()


def _inner(node: Node) -> Node | None:
    inner = node.child_by_field_name("declarator")
    if inner is not None or node.type not in _WRAPPERS:
        return inner
    return next((c for c in node.named_children if c.type in _NAMES or c.type.endswith("declarator")), None)


def _parameters(node: Node, depth: int) -> list[str]:
    found = []
    for child in node.named_children:
        if child.type == "variadic_parameter":
            found.append("...")
        elif child.type == "parameter_declaration":
            _, type_ = declared(base_of(child), child.child_by_field_name("declarator"), depth + 1)
            found.append(str(_decayed(type_)))
        elif child.type != "comment":
            raise NotReadError
    return [] if found == ["void"] else found


def _decayed(type_: CType) -> CType:
    """A parameter's type as the callee gets it: arrays and functions are pointers, a value's own `const` is nothing."""
    if not type_.parts:
        return CType(type_.bare)
    if type_.parts[0].startswith("["):
        return CType(type_.base, ("*", *type_.parts[1:]))
    return CType(type_.base, ("*", *type_.parts)) if type_.is_function else type_
