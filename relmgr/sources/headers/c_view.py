"""A header's code as plain C: what C++ and export macros add is taken off, and every line stays where it was."""

from __future__ import annotations

import re

# A letter of no keyboard stands for `::`, so that a qualified name is one word to a C parser.
_COLONS = "\u02d0\u02d0"
_IS_CPP = re.compile(r"\bnamespace\b|\bstd::|\btemplate\s*<|\busing\s+\w")
_NAMESPACE = re.compile(r"\b(?:inline\s+)?namespace(?:\s+[\w:]+)?\s*(?=\{)")
_USING = re.compile(r"\busing\s+(\w+)\s*=\s*([^;{}()]*);")
_REFERENCE = re.compile(r"(?<=[\w>*])(\s*)&{1,2}(?=\s*\w*\s*[,)=])")
# MLIR's way to declare an opaque handle: a struct with one pointer, and its typedef.
# https://github.com/llvm/llvm-project/blob/main/mlir/include/mlir-c/IR.h
_HANDLE = re.compile(r"^[ \t]*DEFINE_C_API_STRUCT\(\s*(\w+)\s*,\s*([\w ]+?)\s*\)\s*;", re.MULTILINE)
_PREFIX = re.compile(
    r'(^[ \t]*|[;{}][ \t]*|"C"[ \t]+)([A-Z][A-Z0-9_]{2,})'
    r"(?=\s+(?:(?:const|unsigned|signed|struct|enum|union|long|short)\s+){0,4}[A-Za-z_][\w\u02d0]*[\s*]+\w+\s*[(;])",
    re.MULTILINE,
)
_MAX_PREFIXES = 3


def as_c(code: str) -> tuple[str, list[str]]:
    """Return `code` for a C parser, line for line, and notes of what was read differently from what stands there.

    Namespaces become plain blocks, references pointers, `a::b` one word (see `unmarked`), export macros before a
    declaration blanks, and `DEFINE_C_API_STRUCT(name, type)` the struct it declares.
    """
    notes = []
    if _IS_CPP.search(code):
        notes.append("C++: namespaces and references are read as plain C")
        code = _NAMESPACE.sub(lambda m: 'extern "C"' + "\n" * m[0].count("\n"), code)
        code = _USING.sub(lambda m: f"typedef {m[2]} {m[1]};", code)
        code = _REFERENCE.sub(r"\1*", code).replace("::", _COLONS)
    code = _HANDLE.sub(
        lambda m: f"typedef struct {m[1]} {{ {' '.join(m[2].split())} *ptr; }} {m[1]};" + "\n" * m[0].count("\n"), code
    )
    for _ in range(_MAX_PREFIXES):
        code, count = _PREFIX.subn(lambda m: m[1] + " " * len(m[2]), code)
        if not count:
            break
    return code, notes


def unmarked(text: str) -> str:
    """Return a name or type of an `as_c` text as it stands in the header."""
    return text.replace(_COLONS, "::")
