"""The kernel ABI number at a provider's ref, and what a header says: its surface and how two of them differ."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from relmgr.model.base import Confidence, Convention, Noun


class AbiVersion(Noun):
    """The ABI number of `provider` at `ref`, and the evidence it comes from.

    `number` is None when no evidence gives one; then `source` says what was tried. `confidence` tells a header that was
    read (even one without the macro) from an inference; it is None where nothing was found at all.
    """

    provider: str
    ref: str
    macro: str | None
    number: int | None
    convention: Convention
    confidence: Confidence | None
    source: str


class Macro(Noun):
    """One `#define`; `value` is its text with single blanks, '' for none. `condition` is the `#if` around it."""

    name: str
    value: str
    condition: str | None = None


class Function(Noun):
    """One declared function. Types are normalised: no parameter names, no `struct` keywords, `T*` without blanks."""

    name: str
    returns: str
    parameters: tuple[str, ...]
    condition: str | None = None

    def signature(self) -> str:
        """Return the declaration as one line."""
        return f"{self.returns} {self.name}({', '.join(self.parameters) or 'void'})"


class Enum(Noun):
    """One enumeration; `values` maps each constant to its number, None where it could not be computed."""

    name: str
    values: dict[str, int | None]
    condition: str | None = None


class StructField(Noun):
    """One field; `offset` and `size` in bytes on LP64, None where unknown."""

    name: str
    type: str
    offset: int | None
    size: int | None


class Struct(Noun):
    """One struct or union as laid out by a C compiler on LP64; `unknown` says why a size could not be computed."""

    name: str
    kind: Literal["struct", "union"]
    size: int | None
    alignment: int | None
    fields: tuple[StructField, ...]
    unknown: str | None = None
    condition: str | None = None


class Typedef(Noun):
    """A name for another type; typedefs of a struct, union or enum body stand with those."""

    name: str
    type: str
    condition: str | None = None


class Header(Noun):
    """The surface of one header, in the order of the file.

    `calls` are macro calls that stand alone, as text; `unread` the declarations that could not be read, as text;
    `notes` says in words, with lines, what was not read or read differently.
    """

    path: str
    macros: tuple[Macro, ...]
    functions: tuple[Function, ...]
    enums: tuple[Enum, ...]
    structs: tuple[Struct, ...]
    typedefs: tuple[Typedef, ...]
    calls: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    notes: tuple[str, ...]


class NumberPair(Noun):
    """The number on both sides; None is unknown."""

    old: int | None
    new: int | None


class Change(Noun):
    """One thing that differs, as text on both sides; None where it does not exist."""

    name: str
    old: str | None
    new: str | None


class FunctionChanges(Noun):
    """Functions by what became of them; added and removed ones as signatures."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[Change, ...]


class StructChange(Noun):
    """A struct that differs, with its layout on both sides; None where it does not exist."""

    name: str
    old: Struct | None
    new: Struct | None
    kernel_facing: bool


class EnumChange(Noun):
    """An enumeration that differs, with its constants on both sides; None where it does not exist."""

    name: str
    old: dict[str, int | None] | None
    new: dict[str, int | None] | None


class AbiDiff(Noun):
    """How the provider's header differs between two refs; the lists are None when a side could not be read."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    from_: str = Field(alias="from")
    to: str
    number: NumberPair
    functions: FunctionChanges | None
    structs: tuple[StructChange, ...] | None
    enums: tuple[EnumChange, ...] | None
    macros: tuple[Change, ...] | None
    typedefs: tuple[Change, ...] | None
    statement: str
    notes: tuple[str, ...] = Field(default=(), description="what was not read, and where each side comes from")
