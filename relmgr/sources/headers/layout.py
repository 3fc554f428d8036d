"""Sizes, alignments and offsets of a header's types as a C compiler lays them out on LP64 (System V x86-64)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from relmgr.model.abi import Struct, StructField
from relmgr.sources.headers.c_integers import Constants
from relmgr.sources.headers.types import CType, canonical

MAX_DEPTH = 60
MAX_BYTES = 1 << 62
POINTER = 8

_SIZES = {
    "char": 1,
    "bool": 1,
    "short": 2,
    "int": 4,
    "long": 8,
    "long long": 8,
    "__int128": 16,
    "float": 4,
    "double": 8,
    "long double": 16,
    "_Float16": 2,
    "size_t": 8,
    "ssize_t": 8,
    "ptrdiff_t": 8,
    "intptr_t": 8,
    "uintptr_t": 8,
    "wchar_t": 4,
    **{f"{sign}int{bits}_t": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


class UnknownSizeError(Exception):
    """A size that cannot be computed; the text says why."""


@dataclass
class Record:
    """A struct or union as declared. `refused` says why its layout cannot be computed, '' if it can."""

    name: str
    kind: Literal["struct", "union"]
    fields: list[tuple[str, CType]] = field(default_factory=list)
    refused: str = ""
    condition: str | None = None


class Layout:
    """Sizes over the records, typedefs and enums of one header."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self.typedefs: dict[str, CType] = {}
        self.enums: dict[str, list[int | None]] = {}
        self.constants = Constants({})
        self._done: dict[str, Struct] = {}

    def sizeof_text(self, text: str) -> int | None:
        """Return the bytes of a type given by its words, for `sizeof`; None when unknown."""
        words = text.rstrip("* ")
        try:
            return self.measure(CType(canonical(words), ("*",) * text.count("*")))[0]
        except UnknownSizeError:
            return None

    def struct(self, name: str, depth: int = 0) -> Struct:
        """Return the layout of a record; where it cannot be computed `unknown` says why."""
        if name not in self._done:
            record = self.records[name]
            # Stands in while the record is being measured: a record inside itself has no size.
            self._done[name] = _struct(record, [], None, None, f"{name} contains itself")
            self._done[name] = self._measure_record(record, depth)
        return self._done[name]

    def measure(self, type_: CType, depth: int = 0) -> tuple[int, int]:
        """Return (size, alignment) in bytes, or raise `UnknownSizeError`."""
        if depth > MAX_DEPTH:
            raise UnknownSizeError("nested too deeply")
        count = 1
        for at, part in enumerate(type_.parts):
            if part == "*":
                return _bounded(count * POINTER), POINTER
            if part.startswith("("):
                raise UnknownSizeError("a function has no size")
            if part == "[]" and at == 0:
                count = 0
                continue
            length = self.constants.compute(part[1:-1])
            if length is None or length < 0:
                raise UnknownSizeError(f"array length {part[1:-1] or 'not given'} cannot be computed")
            count = _bounded(count * length)
        size, alignment = self._measure_base(type_.bare, depth)
        return _bounded(count * size), alignment

    def _measure_base(self, name: str, depth: int) -> tuple[int, int]:
        if name in self.typedefs and self.typedefs[name] != CType(name):
            return self.measure(self.typedefs[name], depth + 1)
        if name in self.records:
            struct = self.struct(name, depth + 1)
            if struct.size is None or struct.alignment is None:
                raise UnknownSizeError(struct.unknown or f"{name} has no known size")
            return struct.size, struct.alignment
        if name in self.enums:
            return _enum_size(name, self.enums[name])
        size = _SIZES.get(name.removeprefix("unsigned ").removeprefix("signed "))
        if size is None:
            raise UnknownSizeError(f"type {name}{'' if name.endswith(')') else ' is not declared here'}")
        return size, size

    def _measure_record(self, record: Record, depth: int) -> Struct:
        reason = record.refused or ("" if record.fields else "no fields: 0 bytes in C, 1 in C++")
        fields: list[StructField] = []
        end, alignment = 0, 1
        for name, type_ in record.fields:
            size, offset = None, None
            try:
                size, own = self.measure(type_, depth + 1)
            except UnknownSizeError as error:
                reason = reason or f"field {name}: {error}"
            if not reason and size is not None:
                alignment = max(alignment, own)
                offset = 0 if record.kind == "union" else _rounded(end, own)
                end = max(end, offset + size)
            fields.append(StructField(name=name, type=str(type_), offset=offset, size=size))
        if reason:
            return _struct(record, fields, None, None, reason)
        return _struct(record, fields, _rounded(end, alignment), alignment, None)


def _struct(
    record: Record, fields: list[StructField], size: int | None, alignment: int | None, unknown: str | None
) -> Struct:
    return Struct(
        name=record.name,
        kind=record.kind,
        size=size,
        alignment=alignment,
        fields=tuple(fields),
        unknown=unknown,
        condition=record.condition,
    )


def _rounded(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def _bounded(size: int) -> int:
    if size > MAX_BYTES:
        raise UnknownSizeError("larger than any object")
    return size


def _enum_size(name: str, values: list[int | None]) -> tuple[int, int]:
    known = [value for value in values if value is not None]
    if not known or len(known) != len(values):
        raise UnknownSizeError(f"the values of enum {name} are not known")
    low, high = min(known), max(known)
    size = 4 if (low >= 0 and high < 1 << 32) or (low >= -(1 << 31) and high < 1 << 31) else 8
    return size, size
