"""Read what a database's file name says: kind, arch, number of compute units, packing. The one place that does.

The base of a name is the arch, optional target features, and the number of compute units: decimal after an underscore
up to 64 (`gfx906_60`), above that hexadecimal and glued on (`gfx90878`: gfx908 with 120).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from relmgr.model.kernel_db import DatabaseKind, DatabaseName

# https://llvm.org/docs/AMDGPUUsage.html#processors
_PROCESSORS = (
    "600 601 602 700 701 702 703 704 705 801 802 803 805 810 900 902 904 906 908 909 90a 90c 940 941 942 950 "
    "1010 1011 1012 1013 1030 1031 1032 1033 1034 1035 1036 1100 1101 1102 1103 1150 1151 1152 1153 1200 1201 1250"
)
KNOWN_ARCHS = tuple(f"gfx{number}" for number in _PROCESSORS.split())

_SUFFIXES: tuple[tuple[str, DatabaseKind, bool], ...] = (
    (".kdb", "kdb", False),
    (".ukdb", "ukdb", True),
    (".fdb.txt", "find-db", False),
    (".ufdb.txt", "find-db", True),
    (".udb.txt", "perf-db", True),
    (".udb", "perf-db", True),
    (".db", "perf-db", False),
)
_MOST_GLUED_TO_DECIMAL = 64
_FEATURES = r"(?P<features>(?:_(?:no)?sramecc)?(?:_xnack)?)"
_UNITS = re.compile(_FEATURES + r"(?:_(?P<decimal>[1-9][0-9]?)|(?P<hex>[1-9a-f][0-9a-f]{1,3}))?")
_UNKNOWN = re.compile(rf"(?P<arch>gfx[0-9a-f]+){_FEATURES}(?:_(?P<decimal>[1-9][0-9]?))?")


def parse_database_name(path: str, archs: Iterable[str] = KNOWN_ARCHS) -> DatabaseName:
    """Return what the last part of `path` says; `kind` is `other` when it names no database.

    An arch must be one of `archs` exactly, the longest that leaves a valid number of compute units: `gfx90a` is never
    read as `gfx90` with something glued on, nor the reverse.
    """
    name = re.split(r"[/\\]", path)[-1]
    rest, dvc = (name[:-4], True) if name.endswith(".dvc") else (name, False)
    rest, packed = (rest[:-4], True) if rest.endswith(".bz2") else (rest, False)
    for suffix, kind, user in _SUFFIXES:
        if rest.endswith(suffix) and len(rest) > len(suffix):
            base = rest[: -len(suffix)]
            # After the base may follow the back end, and in user files a version: gfx906_60.HIP.2_18_0.ufdb.txt.
            arch, units, known = _split(base.partition(".")[0], tuple(archs))
            return DatabaseName(
                kind=kind,
                arch=arch,
                cu_count=units,
                base=base,
                packing="bz2" if packed else None,
                known_arch=known,
                user=user,
                dvc=dvc,
            )
    return DatabaseName(kind="other", arch=None, cu_count=None, base=name, known_arch=False)


@lru_cache(maxsize=1024)
def _split(base: str, archs: tuple[str, ...]) -> tuple[str | None, int | None, bool]:
    """Return (arch, compute units, whether the arch is known) of a base name."""
    for arch in sorted(archs, key=len, reverse=True):
        if base.startswith(arch) and (match := _UNITS.fullmatch(base, len(arch))):
            units = int(match["decimal"]) if match["decimal"] else int(match["hex"], 16) if match["hex"] else None
            # Each number has one spelling only; the other would be a different, longer arch.
            if units is None or bool(match["decimal"]) == (units <= _MOST_GLUED_TO_DECIMAL):
                return arch, units, True
    if (match := _UNKNOWN.fullmatch(base)) and match["arch"] not in archs:
        return match["arch"], int(match["decimal"]) if match["decimal"] else None, False
    if base.startswith("gfx"):
        return base, None, False
    return None, None, False
