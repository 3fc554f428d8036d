"""Which processor a code object is for: the note's target in any of its spellings, or the ELF header's flags."""

from __future__ import annotations

import re

from relmgr.model.code_object import UnreadableCodeObject

_FEATURES = r"(?P<features>(?::(?:sramecc|xnack)[+-])*)"
# `amdgcn-amd-amdhsa--gfx90a`, `amdgcn-amd-amdhsa-unknown-gfx90a`, each with features or without.
_BY_PROCESSOR = re.compile(rf"(?:amdgcn|amdgpu[0-9a-f.]*)-amd-amdhsa-(?:unknown)?-(?P<arch>gfx[0-9a-z-]+){_FEATURES}")
# `amdgpu9.0a-amd-amdhsa...`: the instruction set's version stands in the triple; a family (`amdgpu9.4`) is generic.
_BY_SUBARCH = re.compile(
    rf"amdgpu(?P<major>[0-9]{{1,2}})(?:\.(?P<minor>[0-9a-f]{{1,2}}))?-amd-amdhsa(?:-(?:unknown)?)?-?{_FEATURES}"
)

# Processors by the low byte of e_flags: needed where the note names no target, that is up to code object v3.
# https://llvm.org/docs/AMDGPUUsage.html#amdgpu-ef-amdgpu-mach-table
_NUMBERED = (
    "600 601 700 701 702 703 704 - 801 802 803 810 900 902 904 906 908 909 90c 1010 1011 1012 1030 1031 1032 1033 "
    "602 705 805 1035 1034 90a 940 1100 1013 1150 1103 1036 1101 1102 1200"
)
_PROCESSORS = {0x20 + i: f"gfx{name}" for i, name in enumerate(_NUMBERED.split()) if name != "-"}
_XNACK, _SRAMECC = 0x100, 0x200
_FEATURE_STATES = {2: "-", 3: "+"}


def parse_target(text: str) -> tuple[str, str]:
    """Return target id and arch of a note's target text; raises `UnreadableCodeObject` for another spelling."""
    if match := _BY_PROCESSOR.fullmatch(text):
        arch = match["arch"]
    elif match := _BY_SUBARCH.fullmatch(text):
        major, minor = match["major"], match["minor"] or ""
        arch = f"gfx{major}{minor}" if len(minor) == 2 else f"gfx{major}{'-' + minor if minor else ''}-generic"
    else:
        raise UnreadableCodeObject(f"a target not understood: {ascii(text)[:80]}")
    return arch + match["features"], arch


def target_from_flags(flags: int, code_object_version: int) -> tuple[str, str]:
    """Return target id and arch from the ELF header's e_flags; raises `UnreadableCodeObject` for a processor unknown.

    Up to v3 a set bit means the feature is on; since v4 two bits tell unsupported, any, off, on.
    """
    arch = _PROCESSORS.get(flags & 0xFF)
    if arch is None:
        raise UnreadableCodeObject(f"no target in the metadata, and processor 0x{flags & 0xFF:x} is unknown")
    if code_object_version <= 3:
        states = {"sramecc": "+" if flags & _SRAMECC else "", "xnack": "+" if flags & _XNACK else ""}
    else:
        states = {
            "sramecc": _FEATURE_STATES.get(flags >> 10 & 3, ""),
            "xnack": _FEATURE_STATES.get(flags >> 8 & 3, ""),
        }
    return arch + "".join(f":{name}{state}" for name, state in states.items() if state), arch
