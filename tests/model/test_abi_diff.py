"""What a difference between two headers means for the number."""

from __future__ import annotations

import pytest

from relmgr.model.abi import AbiDiff, AbiVersion
from relmgr.model.abi_diff import compare_headers
from relmgr.sources.headers.header import read_header
from tests.support import headers

STRUCT_64 = headers.VERSION_5B.replace("int32_t offset", "int64_t offset")


def version(ref: str, number: int | None) -> AbiVersion:
    return AbiVersion(
        provider="p/p", ref=ref, macro="V", number=number, convention="unknown", confidence="read", source="a header"
    )


def compared(old: str, new: str, numbers: tuple[int | None, int | None] = (5, 5)) -> AbiDiff:
    return compare_headers(
        version("A", numbers[0]),
        version("B", numbers[1]),
        (read_header(old.encode(), "x.h"), read_header(new.encode(), "x.h")),
        number_macros={"MIIR_VERSION_FLAT", "MLIRMIOPEN_VERSION_FLAT"},
        kernel_structs=("StridedMemRef5D",),
    )


@pytest.mark.parametrize(
    ("old", "new", "numbers", "statement"),
    [
        (headers.VERSION_5A, headers.VERSION_5B, (5, 5), "API changed, number did not"),
        (headers.VERSION_5B, headers.VERSION_5C, (5, 5), "API changed, number did not"),
        (headers.VERSION_5B, headers.VERSION_5B, (5, 5), "unchanged: number and surface are the same"),
        (
            headers.miir(5),
            headers.miir(6, comment="// words alone"),
            (5, 6),
            "number raised, surface unchanged in the header: confirm by what the compiler emits",
        ),
        (
            headers.miir(6),
            headers.miir(5),
            (6, 5),
            "number lowered, surface unchanged in the header: confirm by what the compiler emits",
        ),
        (
            headers.VERSION_5C,
            headers.VERSION_6,
            (5, 6),
            "number raised, API changed; kernel-facing struct StridedMemRef5D unchanged in the header: "
            "confirm by what the compiler emits",
        ),
        (
            headers.VERSION_5B,
            STRUCT_64,
            (5, 5),
            "kernel-facing struct StridedMemRef5D changed, number did not: kernels and callers may part; "
            "API changed, number did not",
        ),
        (headers.VERSION_5B, STRUCT_64.replace("FLAT 5", "FLAT 6"), (5, 6), "number raised, API changed"),
        (
            headers.NO_MACRO,
            headers.VERSION_0,
            (None, 0),
            "number unknown at A, API changed",
        ),
        (
            headers.NO_MACRO,
            headers.NO_MACRO,
            (None, None),
            "number unknown on both sides, surface unchanged in the header",
        ),
    ],
)
def test_statements(old: str, new: str, numbers: tuple[int | None, int | None], statement: str) -> None:
    assert compared(old, new, numbers).statement == statement


def test_functions_that_went_and_came_at_version_5() -> None:
    functions = compared(headers.VERSION_5A, headers.VERSION_5B).functions
    assert functions is not None
    assert functions.added == ("MiirHandle miirCreateHandleWithModule(MlirModule, const char*)",)
    assert functions.removed == (
        "const char* miirGenIgemmCflags(MiirHandle)",
        "const char* miirGenIgemmHeader(MiirHandle)",
        "const char* miirGenIgemmSource(MiirHandle)",
        "MiirStatus miirLowerCpp(MiirHandle)",
    )
    assert functions.changed == ()


def test_a_changed_parameter_is_one_change() -> None:
    diff = compared(headers.dialect(4), headers.dialect(5, size="size_t"), (4, 5))
    assert diff.functions is not None
    assert [(c.name, c.old, c.new) for c in diff.functions.changed] == [
        (
            "mlirGetBinary",
            "bool mlirGetBinary(MlirModule, int*, char*)",
            "bool mlirGetBinary(MlirModule, size_t*, char*)",
        )
    ]


def test_a_parameters_name_or_a_comment_is_no_change() -> None:
    diff = compared("int f(int a); /* old */\n", "int f(int b); // new\n")
    assert diff.statement == "unchanged: number and surface are the same"


def test_a_struct_is_shown_with_both_layouts() -> None:
    (change,) = compared(headers.VERSION_5B, STRUCT_64).structs or ()
    assert change.old is not None
    assert change.new is not None
    assert (change.name, change.kernel_facing) == ("StridedMemRef5D", True)
    assert (change.old.size, change.new.size) == (64, 64)
    assert [field.offset for field in change.old.fields] == [0, 8, 16, 20, 40]
    assert [field.offset for field in change.new.fields] == [0, 8, 16, 24, 44]


def test_a_constant_that_moves_an_array_is_seen_in_the_layout() -> None:
    text = "#define RANK {}\nstruct StridedMemRef5D {{ void *p; int sizes[RANK]; }};\n"
    diff = compared(text.format(4), text.format(5))
    (change,) = diff.structs or ()
    assert (change.old and change.old.size, change.new and change.new.size) == (24, 32)
    assert [(m.name, m.old, m.new) for m in diff.macros or ()] == [("RANK", "4", "5")]


def test_enums_macros_and_typedefs() -> None:
    diff = compared(
        "enum S { OK, BAD };\n#define LIMIT 4\ntypedef void *H;\nDECLARE(a);\n",
        "enum S { OK, WORSE, BAD };\n#define LIMIT 8\ntypedef struct I *H;\nDECLARE(b);\n",
    )
    assert [(e.name, e.old, e.new) for e in diff.enums or ()] == [
        ("S", {"OK": 0, "BAD": 1}, {"OK": 0, "WORSE": 1, "BAD": 2})
    ]
    assert [(m.name, m.old, m.new) for m in diff.macros or ()] == [
        ("DECLARE(a)", "used", None),
        ("DECLARE(b)", None, "used"),
        ("LIMIT", "4", "8"),
    ]
    assert [(t.name, t.old, t.new) for t in diff.typedefs or ()] == [("H", "void*", "I*")]


def test_a_function_moved_under_a_condition_is_a_change() -> None:
    diff = compared("int f(int);\n", "#if X\nint f(int);\n#else\nint f(long);\n#endif\n")
    assert diff.functions is not None
    assert [(c.old, c.new) for c in diff.functions.changed] == [
        ("int f(int)", "int f(int) [#if X] | int f(long) [#if !(X)]")
    ]


def test_what_could_not_be_read_and_differs_is_never_called_unchanged() -> None:
    diff = compared("template <class T> struct Box { T t; };\n", "template <class T> struct Box { T t, u; };\n")
    assert diff.statement == (
        "number unchanged, surface unknown; 2 declarations that differ could not be read: compare them by hand"
    )


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("enum {{ A = {} }};\nenum {{ Z }};\n", "1", "2"),
        ("#if X\nenum E {{ A = {} }};\n#else\nenum E {{ A }};\n#endif\n", "1", "2"),
        ("#if X\ntypedef {} T;\n#else\ntypedef long T;\n#endif\n", "int", "short"),
        ("#if X\nstruct S {{ {} a; }};\n#else\nstruct S {{ long a; }};\n#endif\n", "int", "short"),
        ("struct S {{ {} a; }};\nstruct S {{ long a; }};\n", "int", "short"),
        ("#if X\n#define L {}\n#else\n#define L 0\n#endif\n", "1", "2"),
        ("#if X\nint f({});\n#else\nint f(void);\n#endif\n", "int", "short"),
    ],
)
def test_a_change_in_one_of_two_declarations_is_not_lost(text: str, old: str, new: str) -> None:
    assert compared(text.format(old), text.format(new)).statement == "API changed, number did not"
