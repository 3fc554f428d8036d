"""Read AMDGPU code objects: target, version, and every kernel's explicit arguments.

A scan of a kernel database spends nearly all its time in bz2; this reader adds `struct` on the headers, msgpack on the
note, and nouns that are shared between kernels of the same layout, and so stays a small fraction of that.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from relmgr.model.code_object import CodeObject, Kernel, UnreadableCodeObject
from relmgr.sources.code_objects.elf import MACHINE_AMDGPU, SECTION_NOTE, SEGMENT_NOTE, Buffer, Elf, read_elf
from relmgr.sources.code_objects.metadata import Metadata, RawKernel, parse_msgpack
from relmgr.sources.code_objects.target import parse_target, target_from_flags

_OS_ABI_HSA = 64
# https://llvm.org/docs/AMDGPUUsage.html#amdgpu-elf-header: e_ident[EI_ABIVERSION] 0 is code object v2, and so on.
_VERSIONS = {0: 2, 1: 3, 2: 4, 3: 5, 4: 6}

_NOTE = struct.Struct("<III")
_MSGPACK_NOTE = (b"AMDGPU\0", 32)
_YAML_NOTE = (b"AMD\0", 10)


def read_code_object(data: Buffer) -> CodeObject:
    """Return what one AMDGPU code object (ELF) holds.

    Raises `UnreadableCodeObject`, and nothing else, for anything truncated, corrupt, hostile or of another kind.
    """
    return read_amdgpu(read_elf(data))


def read_amdgpu(elf: Elf) -> CodeObject:
    """Return what an ELF file for AMDGPU holds; raises `UnreadableCodeObject`."""
    if elf.machine != MACHINE_AMDGPU:
        raise UnreadableCodeObject(f"an ELF file for machine {elf.machine}, not for AMDGPU ({MACHINE_AMDGPU})")
    version = _VERSIONS.get(elf.abi_version) if elf.os_abi == _OS_ABI_HSA else None
    if version is None:
        raise UnreadableCodeObject(f"an AMDGPU file of OS ABI {elf.os_abi}, version {elf.abi_version}: not supported")
    metadata = _read_metadata(elf)
    if metadata.target is not None:
        target, arch = parse_target(metadata.target)
    else:
        target, arch = target_from_flags(elf.flags, version)
    kernels = tuple([_kernel(raw) for raw in metadata.kernels])
    if len({kernel.symbol for kernel in metadata.kernels}) != len(kernels):
        raise UnreadableCodeObject("two kernels of one symbol")
    return CodeObject.model_construct(target=target, arch=arch, code_object_version=version, kernels=kernels)


def _read_metadata(elf: Elf) -> Metadata:
    """Return the one metadata note; none, or several that a loader may choose from, are refused."""
    found: list[Metadata] = []
    for area in _note_areas(elf):
        for name, kind, content in _notes(area):
            if (name, kind) == _MSGPACK_NOTE:
                found.append(parse_msgpack(content))
            elif (name, kind) == _YAML_NOTE:
                # PyYAML is needed for code object v2 alone.
                from relmgr.sources.code_objects.metadata_v2 import parse_yaml

                found.append(parse_yaml(content))
            if len(found) > 1:
                raise UnreadableCodeObject("more than one AMDGPU metadata note")
    if not found:
        raise UnreadableCodeObject("no AMDGPU metadata note")
    return found[0]


def _note_areas(elf: Elf) -> list[Buffer]:
    """Return the note segments, or for a relocatable file, which has none, the note sections.

    Every segment and, at the end of a file, the section table are bounds checked: a truncated file is noticed even
    where its note is whole.
    """
    segments = [segment for segment in elf.segments() if segment.kind == SEGMENT_NOTE]
    return elf.contents(segments or [section for section in elf.sections() if section.kind == SECTION_NOTE])


def _notes(area: Buffer) -> Iterator[tuple[bytes, int, bytes]]:
    """Yield name (with its final zero), type and content of the notes in `area`."""
    at, end = 0, len(area)
    while at + _NOTE.size <= end:
        name_size, size, kind = _NOTE.unpack_from(area, at)
        name_at = at + _NOTE.size
        content_at = name_at + (name_size + 3 & ~3)
        if content_at + size > end:
            raise UnreadableCodeObject(f"a note of {name_size} + {size} bytes in an area of {end}")
        yield bytes(area[name_at : name_at + min(name_size, 8)]), kind, bytes(area[content_at : content_at + size])
        at = content_at + (size + 3 & ~3)


def _kernel(raw: RawKernel) -> Kernel:
    """Return the noun without validating it again: `amdgpu_metadata.checked` has."""
    kernel = Kernel.model_construct(
        name=raw.name,
        symbol=raw.symbol,
        explicit_args=raw.layout.arguments,
        explicit_bytes=raw.layout.explicit_bytes,
        segment_bytes=raw.segment_bytes,
    )
    # The cached property, filled: to build it anew from the nouns takes longer than all the rest here.
    vars(kernel)["signature"] = raw.layout.signature
    return kernel
