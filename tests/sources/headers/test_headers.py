"""The header reader: real shapes, layouts as a C compiler has them, hostile input."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from random import Random

import pytest

from relmgr.errors import SourceError
from relmgr.model.abi import Header
from relmgr.sources.headers.c_integers import compute_integer
from relmgr.sources.headers.header import read_header
from relmgr.sources.headers.lines import number_of, read_lines
from tests.support import headers
from tests.support.services import need


def read(text: str) -> Header:
    return read_header(text.encode(), "x.h")


def signatures(header: Header) -> list[str]:
    return [function.signature() for function in header.functions]


def number(text: str, name: str = "V") -> tuple[int | None, str]:
    return number_of(read_lines(text.encode(), "x.h"), name)


# -- the real shapes ------------------------------------------------------------------------------------------------


def test_version_6_is_read_whole() -> None:
    header = read(headers.VERSION_6)
    assert signatures(header) == [
        "MiirHandle miirCreateHandle(const char*)",
        "int miirGetWorkspaceSize(MiirHandle)",
        "int miirGetKernelCount(MiirHandle)",
        "MiirStatus miirLowerTuningParams(MiirHandle)",
        "MiirStatus miirLowerBin(MiirHandle)",
        "MiirStatus miirBufferGet(MiirHandle, char*, size_t*)",
        "MiirStatus miirGetExecutionDims(MiirHandle, size_t*, size_t*)",
        "MiirStatus miirDestroyHandle(MiirHandle)",
    ]
    assert [(e.name, e.values) for e in header.enums] == [
        (
            "MiirStatus",
            {"MIIR_SUCCESS": 0, "MIIR_INVALID_PARAM": 1, "MIIR_INVALID_MODULE": 2, "MIIR_BUILD_FAILURE": 3},
        )
    ]
    assert [(t.name, t.type) for t in header.typedefs] == [("MiirHandle", "void*")]
    assert [(m.name, m.value) for m in header.macros] == [("MIIR_VERSION_FLAT", "6")]
    (struct,) = header.structs
    assert (struct.name, struct.size, struct.alignment) == ("StridedMemRef5D", 64, 8)
    assert [(f.name, f.offset, f.size) for f in struct.fields] == [
        ("basePtr", 0, 8),
        ("data", 8, 8),
        ("offset", 16, 4),
        ("sizes", 20, 20),
        ("strides", 40, 20),
    ]
    assert header.notes == ()


def test_the_cpp_ancestor_without_a_macro() -> None:
    header = read(headers.NO_MACRO)
    assert signatures(header) == [
        "MlirHandle CreateMlirHandle(const char*)",
        "void MlirLowerCpp(MlirHandle)",
        "void MlirGenIgemmBin(MlirHandle, char**, size_t*)",
        "void DestroyMlirHandle(MlirHandle)",
    ]
    assert header.unread == ()
    assert header.macros == ()


def test_cpp_names_references_and_using() -> None:
    header = read(
        "namespace a::b {\nusing Handle = void *;\nstd::string name(const std::string &key, Handle h);\n"
        "inline namespace v1 { int f(int &x); }\n}\n"
    )
    assert signatures(header) == ["std::string name(const std::string*, Handle)", "int f(int*)"]
    assert [(t.name, t.type) for t in header.typedefs] == [("Handle", "void*")]
    assert header.notes == ("C++: namespaces and references are read as plain C",)


def test_enum_with_negative_values() -> None:
    (enum,) = read(headers.VERSION_0).enums
    assert enum.values == {"MlirmiopenSuccess": 0, "MlirmiopenInvalidParam": -1, "MlirmiopenBuildFailure": -3}


def test_a_dialect_header_with_export_macros_and_handles() -> None:
    header = read(headers.dialect(4, functions="DEFINE_C_API_STRUCT(MlirThing, const void);\nMlirThing f(void);"))
    assert signatures(header) == [
        "void mlirGetKernelAttrs(MlirModule, uint32_t*)",
        "bool mlirGetBinary(MlirModule, int*, char*)",
        "MlirThing f(void)",
    ]
    assert header.calls == ("MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(MIGraphX, migraphx)",)
    assert [(s.name, s.size, s.fields[0].type) for s in header.structs] == [("MlirThing", 8, "const void*")]
    assert header.unread == ()


# -- the number -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#define V 5", 5),
        ("  #  define\tV\t(5u)  // five", 5),
        ("#define V \\\n  0x10", 16),
        ("#define A 2\n#define V (A << 1 | 1)", 5),
        ("#ifndef V\n#define V 7\n#endif", 7),
        ("#if X\n#define V 3\n#else\n#define V 3\n#endif", 3),
        ("#if 0\n#define V 1\n#else\n#define V 2\n#endif", 2),
        ("#if 1\n#define V 1\n#else\n#define V 2\n#endif", 1),
        ("#ifdef __cplusplus\n#define V 8\n#else\n#define V 9\n#endif", 9),
        ("#define V 6\r\nint f();\r\n", 6),
        ("/* #define V 1\n#define V 2 */\n#define V 3", 3),
        ("// say \\\n#define V 1\n#define V 4", 4),
        ('#define S "/*"\n#define V 4\n#define T "*/"', 4),
        ("\xa9\xff #x\n#define V 5", 5),
    ],
)
def test_the_number_is_found(text: str, expected: int) -> None:
    assert number(text) == (expected, "")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("#define VV 5\n// #define V 5", "absent"),
        ("#if 0\n#define V 5\n#endif", "absent"),
        ("#if X\n#define V 5\n#else\n#define V 6\n#endif", "defined differently under #if: 5, 6"),
        ("#define V", "not a number: empty"),
        ("#define V OTHER", "not a number: OTHER"),
        ('#define V "5"', 'not a number: "5"'),
        ("#define V W\n#define W V", "not a number: W"),
        ("#define V 5.0", "not a number: 5.0"),
    ],
)
def test_where_there_is_no_number_the_reason_is_named(text: str, reason: str) -> None:
    assert number(text) == (None, reason)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("010", 8),
        ("1 ? 2 : 3", 2),
        ("!0 && ~0", 1),
        ("'A'", 65),
        ("089", None),
        ("1 / 0", None),
        ("1 << 1000000000", None),
        ("9" * 1000, None),
        ("(" * 1500, None),
        ("-" * 1500 + "1", None),
        ("1 +", None),
        ("__import__('os')", None),
    ],
)
def test_integer_expressions(text: str, value: int | None) -> None:
    assert compute_integer(text, lambda name: None) == value


# -- forms ----------------------------------------------------------------------------------------------------------


def test_types_have_one_spelling() -> None:
    header = read(
        "long unsigned int f(const struct A *a, char const *b, int c[3], void (*d)(int, char *), const int e, ...);\n"
        "int (*g(void))[2];\nstatic inline int h(int x) { return x; }\nunsigned k(signed char, long long int);\n"
    )
    assert signatures(header) == [
        "unsigned long f(const A*, const char*, int*, void (*)(int, char*), int, ...)",
        "int (*)[2] g(void)",
        "int h(int)",
        "unsigned int k(signed char, long long)",
    ]


def test_conditional_parts_are_kept_with_their_condition() -> None:
    header = read(
        "#ifndef G\n#define G\nint a(void);\n#if V >= 6\nint b(int);\n#elif defined(OLD)\nint b(long);\n"
        "#else\nint c(void);\n#endif\nint d(void);\n#endif\n"
    )
    assert [(f.signature(), f.condition) for f in header.functions] == [
        ("int a(void)", None),
        ("int b(int)", "V >= 6"),
        ("int b(long)", "!(V >= 6) && defined(OLD)"),
        ("int c(void)", "!(V >= 6) && !(defined(OLD))"),
        ("int d(void)", None),
    ]
    assert header.macros == ()


def test_what_cannot_be_read_is_named_and_the_rest_is_read() -> None:
    header = read("int a(void);\nstruct bad { int (x; };\ntemplate <class T> struct Box { T t; };\nint z(void);\n")
    assert {"int a(void)", "int z(void)"} <= set(signatures(header))
    assert any(note.startswith("line 2: not read: struct bad") for note in header.notes)
    assert header.unread


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("struct S { int a : 3; int b; };", "bit-field a"),
        ("struct S { Foreign f; };", "field f: type Foreign is not declared here"),
        ("struct S {\n#if X\nint a;\n#endif\nint b; };", "fields under #if"),
        ("#pragma pack(push, 1)\nstruct S { char a; int b; };", "#pragma pack in this header"),
        ("struct __attribute__((packed)) S { char a; int b; };", "attributes that change the layout are not computed"),
        ("struct S { int a[N]; };", "field a: array length N cannot be computed"),
        ("struct S { struct S s; };", "field s: S contains itself"),
        ("struct S { };", "no fields: 0 bytes in C, 1 in C++"),
        (
            "#if X\ntypedef int T;\n#else\ntypedef long T;\n#endif\nstruct S { T a; };",
            "field a: type T (declared more than once)",
        ),
        (
            "#if X\nenum { N = 1 };\n#else\nenum { N = 2 };\n#endif\nstruct S { int a[N]; };",
            "field a: array length N cannot be computed",
        ),
        ("struct S { char a[1 << 62][1 << 20]; };", "field a: larger than any object"),
    ],
)
def test_a_layout_that_cannot_be_computed_says_why(text: str, reason: str) -> None:
    (struct,) = read(text).structs
    assert (struct.size, struct.alignment, struct.unknown) == (None, None, reason)


def test_a_struct_declared_twice_has_no_layout() -> None:
    structs = read("struct S { int a; };\nstruct S { long a; };\nstruct T { struct S s; };").structs
    assert [(s.name, s.size, s.fields[0].type) for s in structs] == [
        ("S", None, "int"),
        ("S", None, "long"),
        ("T", None, "S"),
    ]


# -- against a compiler ---------------------------------------------------------------------------------------------

LAYOUTS = """\
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#define RANK 5
enum Small { S_A, S_B = RANK, S_C = S_B | 8 };
enum Wide { W_A = -1, W_B = 0x80000000 };
typedef enum Small small_t;
typedef int32_t row_t[3];
typedef void (*callback_t)(int);
struct Descriptor { void *base, *data; int32_t offset; int32_t sizes[RANK]; int32_t strides[RANK]; };
struct Wide64 { void *base; int64_t offset, sizes[RANK]; int64_t strides[sizeof(int) + 1]; };
struct Mixed { char a; short b; char c; long d; float e; double f; bool g; long double h; char i; };
struct Nested { char tag; struct Descriptor one; struct { char x; int64_t y; } in; union { char b[9]; int w; } u; };
struct Arrays { small_t kind; enum Wide wide; row_t rows[2][2]; callback_t call; int *grid[2][3]; uint8_t tail[3]; };
union Either { char text[13]; double number; struct Descriptor *pointer; };
struct Flexible { uint16_t count; uint32_t items[]; };
typedef struct Tagged { wchar_t w; size_t s; unsigned char c; } Tagged;
struct Last { Tagged t; union Either e; int8_t z; };
"""


def test_layouts_are_those_of_a_c_compiler(tmp_path: Path) -> None:
    compiler = need("gcc")
    header = read(LAYOUTS)
    named = [struct for struct in header.structs if "." not in struct.name]
    assert len(named) == 9
    lines = []
    for struct in named:
        type_ = f"{struct.kind} {struct.name}"
        lines.append(f'printf("{struct.name} %zu %zu\\n", sizeof({type_}), _Alignof({type_}));')
        for field in struct.fields:
            measured = f"sizeof((({type_} *)0)->{field.name})" if field.type != "uint32_t[]" else "(size_t)0"
            lines.append(
                f'printf("{struct.name}.{field.name} %zu %zu\\n", offsetof({type_}, {field.name}), {measured});'
            )
    program = tmp_path / "layout.c"
    program.write_text(f"#include <stdio.h>\n{LAYOUTS}\nint main(void) {{ {' '.join(lines)} return 0; }}\n")
    subprocess.run([compiler, "-std=gnu11", "-m64", "-o", tmp_path / "layout", program], check=True)
    said = subprocess.run([tmp_path / "layout"], check=True, capture_output=True, text=True).stdout.splitlines()
    ours = []
    for struct in named:
        ours.append(f"{struct.name} {struct.size} {struct.alignment}")
        ours += [f"{struct.name}.{field.name} {field.offset} {field.size}" for field in struct.fields]
    assert ours == said


def test_enum_values_are_those_of_a_c_compiler(tmp_path: Path) -> None:
    compiler = need("gcc")
    text = (
        "enum E { A = 'z', B, C = -B / 2, D = (C << 2) % 7, F = ~D ^ 0x1F, G = sizeof(long) * 3, H = A > B ? 1 : 2 };"
    )
    (enum,) = read(text).enums
    program = tmp_path / "enum.c"
    # A shift of a negative number is what gcc says it is: arithmetic.
    prints = " ".join(f'printf("{name} %d\\n", (int){name});' for name in enum.values)
    program.write_text(f"#include <stdio.h>\n{text}\nint main(void) {{ {prints} return 0; }}\n")
    subprocess.run([compiler, "-w", "-o", tmp_path / "enum", program], check=True)
    said = subprocess.run([tmp_path / "enum"], check=True, capture_output=True, text=True).stdout.splitlines()
    assert [f"{name} {value}" for name, value in enum.values.items()] == said


# -- hostile input (K3) ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"a" * (4 * 1024 * 1024 + 1), "at most 4194304 are read"),
        (b"\x7fELF\0\0", "not a text file"),
        (b"#if A\n" * 300, "#if nested more than 200 deep"),
        (b"int f(void);\n" * 60_000, "more than 50000 declarations"),
    ],
)
def test_k3_input_beyond_reason_is_refused_by_name(data: bytes, what: str) -> None:
    with pytest.raises(SourceError, match=re.escape(what)):
        read_header(data, "x.h")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        "{" * 100_000,
        "int a" + "[" * 50_000,
        "int " + "*" * 50_000 + "a;",
        "int " + "(" * 5_000 + "a" + ")" * 5_000 + ";",
        "struct A { " * 3_000,
        "enum E { A = " + "1+" * 50_000 + "1 };",
        "".join(f"#define A{n} A{n + 1}+A{n + 1}\n" for n in range(5_000)) + "enum { X = A0 };",
        "".join(f"typedef T{n + 1} T{n};\n" for n in range(3_000)) + "struct S { T0 a; };",
        "#elif A\n" * 10_000,
        "#if A\n" + "#elif A\n" * 50_000,
        '"' + '\\"' * 100_000,
        "/*" * 100_000,
        "A " * 50_000,
        ";" + " " * 100_000 + "A",
        "".join(f"struct S{n} {{ struct S{n + 1} a; }};\n" for n in range(2_000)),
        "#endif\n#else\n#define\n#define (x)\n#\n",
        "",
    ],
    ids=range(18),
)
def test_k3_hostile_text_ends_in_a_result(text: str) -> None:
    assert isinstance(read(text), Header)


def test_the_time_limit_is_a_named_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from relmgr.sources.headers import header as reader

    monkeypatch.setattr(reader, "MAX_SECONDS", 0.0)
    with pytest.raises(SourceError, match="not read within 0 seconds"):
        read("int + f(;\n" * 20_000)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [20220929, 20230123])
def test_random_layouts_are_those_of_a_c_compiler(tmp_path: Path, seed: int) -> None:
    compiler = need("gcc")
    print(f"seed {seed}")
    random = Random(seed)
    bases = ["char", "short", "int32_t", "long", "unsigned char", "float", "double", "long double", "bool", "void *"]
    declared: list[tuple[str, str]] = []
    lines: list[str] = []
    for index in range(300):
        kind, name = random.choice(["struct", "struct", "union"]), f"R{index}"
        fields = []
        for field in range(random.randint(1, 6)):
            earlier = [f"{k} {n}" for k, n in declared[-20:]]
            base = random.choice(bases + earlier[: len(bases)])
            fields.append(f"{base} f{field}{random.choice(['', '', '[3]', '[2][N]'])};")
        declared.append((kind, name))
        lines.append(f"{kind} {name} {{ {' '.join(fields)} }};")
    text = "#include <stdbool.h>\n#include <stdint.h>\n#define N (1 << 1)\n" + "\n".join(lines) + "\n"
    prints = "".join(f'printf("{n} %zu %zu\\n", sizeof({k} {n}), _Alignof({k} {n}));\n' for k, n in declared)
    program = tmp_path / "random.c"
    program.write_text(f"#include <stdio.h>\n{text}int main(void) {{\n{prints}return 0; }}\n")
    subprocess.run([compiler, "-std=gnu11", "-m64", "-o", tmp_path / "random", program], check=True)
    said = subprocess.run([tmp_path / "random"], check=True, capture_output=True, text=True).stdout.splitlines()
    assert [f"{s.name} {s.size} {s.alignment}" for s in read(text).structs] == said
