"""Read AMDGPU code objects: target, version, and every kernel's explicit arguments."""

from __future__ import annotations

from relmgr.model.code_object import CodeObject, UnreadableCodeObject


def read_code_object(data: bytes | memoryview) -> CodeObject:
    """Return what one AMDGPU code object (ELF) holds.

    Raises `UnreadableCodeObject`, and nothing else, for anything truncated, corrupt, hostile or of another kind.
    """
    raise UnreadableCodeObject("the reader is being written")
