"""The little of ELF that device binaries need: header, program headers, sections, all bounds checked.

Layout: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html (64-bit, little endian only).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from relmgr.model.code_object import UnreadableCodeObject

Buffer = bytes | memoryview

MAGIC = b"\x7fELF"
MACHINE_CUDA = 190
MACHINE_AMDGPU = 224

SEGMENT_NOTE = 4
SECTION_NOTE = 7
_SECTION_NO_BITS = 8

_HEADER = struct.Struct("<4sBBBBB7xHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<I4xQ16xQ16x")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_EXTENDED_INDEX = 0xFFFF
_MAX_SECTIONS = 1 << 18
_MAX_NAME = 1 << 14


class Segment(NamedTuple):
    """A program header: its kind and its extent in the file."""

    kind: int
    offset: int
    size: int


class Section(NamedTuple):
    """A section header: where its name stands in the name table, its kind and its extent in the file."""

    name_offset: int
    kind: int
    offset: int
    size: int
    link: int


class Elf(NamedTuple):
    """An ELF file whose two header tables lie inside `data`."""

    data: Buffer
    machine: int
    os_abi: int
    abi_version: int
    flags: int
    segment_table: tuple[int, int]
    section_table: tuple[int, int]
    name_table_index: int

    def segments(self) -> list[Segment]:
        """Return the program headers; raises `UnreadableCodeObject` for one that lies outside the file."""
        (offset, count), length = self.segment_table, len(self.data)
        table = self.data[offset : offset + count * _SEGMENT.size]
        found = [Segment(kind, start, size) for kind, start, size in _SEGMENT.iter_unpack(table)]
        for segment in found:
            if segment.offset + segment.size > length and segment.size:
                raise UnreadableCodeObject(_outside("a program segment", segment.offset, segment.size, length))
        return found

    def sections(self) -> Iterator[Section]:
        """Yield the section headers; raises `UnreadableCodeObject` for one that lies outside the file."""
        offset, count = self.section_table
        for name, kind, _, _, start, size, link, _, _, _ in _SECTION.iter_unpack(
            self.data[offset : offset + count * _SECTION.size]
        ):
            if kind == _SECTION_NO_BITS:
                size = 0
            elif start + size > len(self.data) and size and kind:
                raise UnreadableCodeObject(_outside("a section", start, size, len(self.data)))
            yield Section(name, kind, start, size, link)

    def named_sections(self, prefix: bytes) -> Iterator[tuple[bytes, Section]]:
        """Yield name and header of the sections whose name begins with `prefix`."""
        sections = list(self.sections())
        if not sections:
            return
        if self.name_table_index >= len(sections):
            raise UnreadableCodeObject(f"the section name table is number {self.name_table_index} of {len(sections)}")
        table = sections[self.name_table_index]
        names = bytes(self.data[table.offset : table.offset + table.size])
        for section in sections:
            if names.startswith(prefix, section.name_offset):
                end = names.find(b"\0", section.name_offset, section.name_offset + _MAX_NAME)
                if end < 0:
                    raise UnreadableCodeObject(f"a section name without an end in {_MAX_NAME} bytes")
                yield names[section.name_offset : end], section

    def content(self, part: Section | Segment) -> Buffer:
        """Return the bytes of a section or segment."""
        return self.data[part.offset : part.offset + part.size]

    def contents(self, parts: Sequence[Section | Segment]) -> list[Buffer]:
        """Return the bytes of each; raises `UnreadableCodeObject` where they overlap, as then one byte is read often.

        Parts that do not overlap are together no longer than the file.
        """
        if sum([part.size for part in parts]) > len(self.data):
            raise UnreadableCodeObject(f"{len(parts)} parts of the file overlap")
        return [self.content(part) for part in parts]


def read_elf(data: Buffer) -> Elf:
    """Return the headers of a 64-bit little-endian ELF file; raises `UnreadableCodeObject`."""
    if len(data) < _HEADER.size:
        kind = "an ELF file" if bytes(data[:4]) == MAGIC else "a file"
        raise UnreadableCodeObject(f"{kind} of {len(data)} bytes: too short for an ELF header")
    (
        magic, elf_class, order, _, os_abi, abi_version, _, machine, _, _, segments, sections, flags,
        _, segment_size, segment_count, section_size, section_count, names,
    ) = _HEADER.unpack_from(data)  # fmt: skip
    if magic != MAGIC:
        raise UnreadableCodeObject("not an ELF file")
    if (elf_class, order) != (2, 1):
        raise UnreadableCodeObject("not a 64-bit little-endian ELF file")
    if segment_count and segment_size != _SEGMENT.size:
        raise UnreadableCodeObject(f"program headers of {segment_size} bytes, expected {_SEGMENT.size}")
    if sections and section_size != _SECTION.size:
        raise UnreadableCodeObject(f"section headers of {section_size} bytes, expected {_SECTION.size}")
    if sections and (not section_count or names == _EXTENDED_INDEX):
        section_count, names = _extended(data, sections, section_count, names)
    if sections and section_count > _MAX_SECTIONS:
        raise UnreadableCodeObject(f"{section_count} sections, more than {_MAX_SECTIONS}")
    for what, start, size in (
        ("the program header table", segments, segment_count * _SEGMENT.size),
        ("the section header table", sections, section_count * _SECTION.size if sections else 0),
    ):
        if start + size > len(data):
            raise UnreadableCodeObject(_outside(what, start, size, len(data)))
    return Elf(
        data,
        machine,
        os_abi,
        abi_version,
        flags,
        (segments, segment_count),
        (sections, section_count if sections else 0),
        names,
    )


def _extended(data: Buffer, sections: int, count: int, names: int) -> tuple[int, int]:
    """Return section count and name table index of a file with too many sections for its header: the first has them."""
    if sections + _SECTION.size > len(data):
        raise UnreadableCodeObject(_outside("the section header table", sections, _SECTION.size, len(data)))
    first = _SECTION.unpack_from(data, sections)
    return count or first[5], first[6] if names == _EXTENDED_INDEX else names


def _outside(what: str, start: int, size: int, length: int) -> str:
    return f"{what} ends at byte {start + size} of a file of {length} bytes: truncated or corrupt"
