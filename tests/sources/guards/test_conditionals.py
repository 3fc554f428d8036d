"""Directives and their tree, as a compiler reads them; conditions in three-valued logic."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import pcpp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relmgr.sources.guards.conditionals import (
    MAX_NESTING,
    Chain,
    Directive,
    Malformed,
    chains,
    code_text,
    mask_raw_strings,
    parse_conditionals,
    read_directives,
)
from relmgr.sources.guards.expressions import (
    DEFINED,
    UNDEFINED,
    Definition,
    Fuel,
    OutOfFuel,
    State,
    evaluate,
    parse_definition,
    tokens_of,
)


def names(text: str) -> list[tuple[str, str, int, int]]:
    return [(d.name, d.argument, d.line, d.end_line) for d in read_directives(text)]


def test_a_chain_has_a_line_range_for_each_branch() -> None:
    text = "int a;\n#if A\nint b;\nint c;\n#elif B\n#else\nint d;\n#endif\nint e;\n"
    (chain,) = chains(parse_conditionals(text).items)
    assert [(b.directive.name, b.directive.line, b.end_line) for b in chain.branches] == [
        ("if", 2, 4),
        ("elif", 5, 5),
        ("else", 6, 7),
    ]
    assert chain.endif is not None
    assert chain.endif.line == 8


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  #  if  A /* x */ > 1 // y\n", [("if", "A   > 1", 1, 1)]),
        ("#if A && \\\n    B\nx\n", [("if", "A &&     B", 1, 2)]),
        ("#if A && \\  \r\n    B\r\nx\r\n", [("if", "A &&     B", 1, 2)]),
        ("#if A /* one\n two */ && B\n#endif", [("if", "A   && B", 1, 2), ("endif", "", 3, 3)]),
        ("/* one\n#if HIDDEN\n*/ #if SEEN\n", [("if", "SEEN", 3, 3)]),
        ("// slashes \\\n#if HIDDEN\n#if SEEN\n", [("if", "SEEN", 3, 3)]),
        ('char* a = "/*";\n#if SEEN\nchar* b = "*/";\n', [("if", "SEEN", 2, 2)]),
        ("char a = '\"';\n#if SEEN\n", [("if", "SEEN", 2, 2)]),
        ("int a = 1'000'000;\n#if SEEN\nint b = 2'0;\n", [("if", "SEEN", 2, 2)]),
        ("auto a = u8'\"';\n#if SEEN\n", [("if", "SEEN", 2, 2)]),
        ('auto a = R"x(\n#if HIDDEN\n)" )x";\n#if SEEN\n', [("if", "SEEN", 4, 4)]),
        ('auto a = LR"(\n/* \n#if HIDDEN\n)";\n#if SEEN\n', [("if", "SEEN", 5, 5)]),
        ('auto a = NOTR"(";\n#if SEEN\n', [("if", "SEEN", 2, 2)]),
        ('char* a = "one \\\n#if HIDDEN\n";\n#if SEEN\n', [("if", "SEEN", 4, 4)]),
        ("#error don't\n#if SEEN\n", [("error", "don't", 1, 1), ("if", "SEEN", 2, 2)]),
        ("\xef\xbb\xbf#if SEEN\n", [("if", "SEEN", 1, 1)]),
        ("%: if SEEN\n", [("if", "SEEN", 1, 1)]),
        ("int a; #if HIDDEN\n#\n# 12\n", []),
        ("#e\\\nndif\n", [("endif", "", 1, 2)]),
        ("", []),
    ],
)
def test_directives_are_those_a_compiler_sees(text: str, expected: list[tuple[str, str, int, int]]) -> None:
    assert names(text) == expected


def test_a_directive_split_or_shared_by_a_comment_says_so() -> None:
    split, shared, plain = read_directives("#el\\\nif A\n/* a\nb */ #if B\n  #  if C\n")
    assert split.name_at == -1
    assert (shared.line, shared.first_line, shared.shares_line) == (4, 3, True)
    assert (plain.shares_line, plain.name_at) == (False, len("#el\\\nif A\n/* a\nb */ #if B\n  #  "))


@pytest.mark.parametrize("text", ["int a; /* never\n#if A\n", 'auto a = R"x(\n never\n#if A\n'])
def test_what_never_ends_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        list(read_directives(text))
    assert parse_conditionals(text).faults


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("#endif\n", "line 1: #endif without #if"),
        ("#else\n", "line 1: #else without #if"),
        ("\n#ifdef A\n", "line 2: #ifdef without #endif"),
        ("#if A\n#else\n#else\n#endif\n", "line 3: #else after #else"),
        ("#if A\n#else\n#elif B\n#endif\n", "line 3: #elif after #else"),
        ("#if A\n" * (MAX_NESTING + 1), f"line {MAX_NESTING + 1}: more than {MAX_NESTING} nested conditionals"),
    ],
)
def test_unbalanced_conditionals_are_named(text: str, fault: str) -> None:
    assert fault in parse_conditionals(text).faults


def test_an_open_branch_ends_with_the_file() -> None:
    (chain,) = parse_conditionals("#if A\nint a;\nint b;").items
    assert isinstance(chain, Chain)
    assert chain.branches[0].end_line == 3
    assert chain.endif is None


def test_hostile_text_is_read_in_linear_time() -> None:
    """Openings that never close, quotes and continuations by the hundred thousand."""
    for text in (
        '"\n' * 200_000,
        "'" * 300_000,
        "\\\n" * 200_000,
        'R"(' + 'R"x(' * 100_000,
        "/*" * 200_000,
        "#" * 400_000,
    ):
        assert isinstance(parse_conditionals(text).faults, tuple)


def test_code_text_has_no_comments_and_keeps_strings() -> None:
    assert code_text('a /* X */ b // X\n"X" c\n') == 'a   b \n"X" c\n'


def test_masked_raw_strings_differ_when_their_texts_do() -> None:
    one, other = mask_raw_strings('f(R"(\n#if A\n)");\n'), mask_raw_strings('f(R"(\n#if B\n)");\n')
    assert one != other
    assert one.count("\n") == 1
    assert "#if" not in one


def known(**macros: str | None) -> Any:
    """A lookup: text is what `#define NAME` is followed by, None is undefined; other names are unknown."""
    table: dict[str, State] = {}
    for name, text in macros.items():
        if text is None:
            table[name] = UNDEFINED
        elif text == DEFINED:
            table[name] = DEFINED
        else:
            parsed = parse_definition(name + text)
            assert parsed is not None
            table[name] = parsed[1]
    return table.get


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("V >= 6", True),
        ("V>=7", False),
        ("V != 5", True),
        ("V == 0x6 && 6 == 06", True),
        ("!defined(V) || V != 6", False),
        ("!defined V || V != 5", True),
        ("defined(NOT)", False),
        ("defined(NOT) && NOT >= 2", False),
        ("NOT", False),
        ("NOT >= 1", False),
        ("X", None),
        ("defined(X)", None),
        ("defined(X) || V >= 6", True),
        ("V < 6 && X", False),
        ("X && V < 6", False),
        ("V >= 6 && X", None),
        ("X || !X", None),
        ("X ? 1 : 1", True),
        ("X ? 1 : 2", None),
        ("V >= 6 ? 0 : X", False),
        ("SOME", None),
        ("defined(SOME)", True),
        ("OBJ", True),
        ("AT_LEAST(6)", True),
        ("AT_LEAST(7)", False),
        ("AT_LEAST ( (3, 6) )", None),
        ("AT_LEAST", False),
        ("AT_LEAST(X)", None),
        ("SELF", None),
        ("PASTE(V, 1)", None),
        ("X(V, (1)) || V", True),
        ("__has_include(<a/b.h>) && V < 6", False),
        ("true", True),
        ("not false and V", True),
        ("V bitand 4", True),
        ("-7 / 2 == -3 && -7 % 2 == -1", True),
        ("1 / 0", None),
        ("0 && 1 / 0", False),
        ("1 << 64", None),
        ("-1 < 0u", False),
        ("18446744073709551615u == -1", True),
        ("0x7fffffffffffffff + 1 < 0", True),
        ("1'000 == 1000", True),
        ("'a' == 97", None),
        ("2 + 3 * 4 == 14 && (2 + 3) * 4 == 20", True),
        ("1 ? 2 ? 0 : 1 : 1", False),
        ("~0 == -1 && !0 && +1", True),
        ("", None),
        ("V >=", None),
        ("(V", None),
        ("V)", None),
        ("V 6", None),
        ("defined(", None),
        ("defined", None),
        ("1.5", None),
        ("09", None),
        ('"text"', None),
        ("=", None),
        ("(" * 5000 + "1" + ")" * 5000, None),
        ("!" * 5000 + "1", True),
        ("1 " + "? 1 : 1" * 3000, None),
    ],
)
def test_conditions(condition: str, expected: bool | None) -> None:
    lookup = known(
        V=" 6",
        NOT=None,
        SOME=DEFINED,
        OBJ=" (V >= 6)",
        AT_LEAST="(n) (V >= (n))",
        SELF=" SELF + 1",
        PASTE="(a, b) a##b",
    )
    assert evaluate(condition, lookup, Fuel()) is expected


def test_a_macro_bomb_runs_out_of_fuel() -> None:
    macros = {f"A{i}": Definition((f"A{i + 1}", "+", f"A{i + 1}")) for i in range(60)}
    with pytest.raises(OutOfFuel):
        evaluate("A0", lambda name: macros.get(name), Fuel())


def test_definitions() -> None:
    assert parse_definition("A") == ("A", Definition(()))
    assert parse_definition("A (1)") == ("A", Definition(("(", "1", ")")))
    assert parse_definition("A(x, y) x<=y") == ("A", Definition(("x", "<=", "y"), ("x", "y")))
    assert parse_definition("A() 1") == ("A", Definition(("1",), ()))
    assert parse_definition("A(x") is None
    assert parse_definition("1") is None


_OPERATORS = ["||", "&&", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "|", "&", "^"]
_atoms = st.one_of(st.integers(0, 9).map(str), st.sampled_from(["V", "W", "defined(V)", "defined(N)", "N"]))
_expressions = st.recursive(
    _atoms,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(_OPERATORS), inner).map(" ".join),
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"!({text})"),
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(_expressions)
def test_known_conditions_have_the_value_that_pcpp_gives(condition: str) -> None:
    reader = pcpp.Preprocessor()
    reader.line_directive = None
    reader.define("V 6")
    reader.define("W (V - 4)")
    reader.parse(f"#if {condition}\nyes\n#else\nno\n#endif\n")
    out = io.StringIO()
    with contextlib.redirect_stderr(io.StringIO()):
        reader.write(out)
    assert evaluate(condition, known(V=" 6", W=" (V - 4)", N=None), Fuel()) is (out.getvalue().split() == ["yes"])


def test_tokens() -> None:
    assert tokens_of("A>=0x1F&&!defined(B_2)||'\\''") == [
        "A", ">=", "0x1F", "&&", "!", "defined", "(", "B_2", ")", "||", "'\\''",
    ]  # fmt: skip


def test_items_outside_conditionals_keep_their_order() -> None:
    items = parse_conditionals('#define A 1\n#include "b.h"\n#if C\n#endif\n#undef A\n').items
    assert [item.name if isinstance(item, Directive) else "chain" for item in items] == [
        "define",
        "include",
        "chain",
        "undef",
    ]
