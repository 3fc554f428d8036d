"""The removal of dead branches: what it leaves, that git applies it, and that the proof can fail."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relmgr.errors import SourceError
from relmgr.sources.guards.branches import GuardAnalysis, GuardSources
from relmgr.sources.guards.patch import Removal, plan_removal, render_diff
from relmgr.sources.guards.proof import case_of, compare, prove, worlds
from tests.support.repositories import new_repository
from tests.support.services import need

Files = dict[str, str]


def analyse(files: Files, others: Files | None = None, absent: int | None = None) -> GuardAnalysis:
    return GuardAnalysis(GuardSources(files, others or {}), "ACME_ABI", (), absent)


def cleaned(text: str, numbers: list[int], others: Files | None = None) -> str:
    """Return what the proven patch makes of one file."""
    analysis = analyse({"a.cpp": text}, others)
    removal = plan_removal(analysis, numbers)
    if not removal.edits:
        return text
    assert prove(analysis, removal, numbers) > 0
    return removal.edits["a.cpp"].after


@pytest.mark.parametrize(
    ("text", "numbers", "expected"),
    [
        ("a\n#if ACME_ABI >= 6\nb\n#else\nc\n#endif\nd\n", [6], "a\nb\nd\n"),
        ("a\n#if ACME_ABI >= 6\nb\n#else\nc\n#endif // note\nd\n", [4, 5], "a\nc\nd\n"),
        ("#if ACME_ABI >= 6\nb\n#else\nc\n#endif\n", [5, 6], "#if ACME_ABI >= 6\nb\n#else\nc\n#endif\n"),
        ("a\n#if ACME_ABI < 6\nb\n#endif\nd\n", [6, 7], "a\nd\n"),
        ("#if ACME_ABI == 1\na\n#elif ACME_ABI == 5\nb\n#elif ACME_ABI == 6\nc\n#endif\n", [5, 6],
         "#if ACME_ABI == 5\nb\n#else\nc\n#endif\n".replace("#else", "#elif ACME_ABI == 6")),
        ("#if OTHER\na\n#elif ACME_ABI >= 6 // new\nb\n#else\nc\n#endif\n", [6], "#if OTHER\na\n#else\nb\n#endif\n"),
        ("#if OTHER\na\n#elif ACME_ABI >= 6\nb\n#else\nc\n#endif\n", [5], "#if OTHER\na\n#else\nc\n#endif\n"),
        ("#if OTHER\na\n#elif ACME_ABI \\\n  >= 6\nb\n#endif\n", [6, 7], "#if OTHER\na\n#else\nb\n#endif\n"),
        ("# if ACME_ABI < 5\na\n#  elif OTHER /* keep */\nb\n# endif\n", [6], "#  if OTHER /* keep */\nb\n# endif\n"),
        ("#if OTHER\n#if ACME_ABI >= 6\nb\n#else\nc\n#endif\n#endif\n", [6], "#if OTHER\nb\n#endif\n"),
        ("#if ACME_ABI >= 6\n#if ACME_ABI >= 7\na\n#endif\nb\n#endif\n", [6], "b\n"),
        ("#if OTHER && ACME_ABI < 6\na\n#else\nb\n#endif\n", [6], "b\n"),
        ("#if OTHER && ACME_ABI >= 6\na\n#else\nb\n#endif\n", [6], "#if OTHER && ACME_ABI >= 6\na\n#else\nb\n#endif\n"),
        ("#if !defined(ACME_ABI) || ACME_ABI != 5\n#error old\n#else\n#include <b>\n#endif\n", [5], "#include <b>\n"),
        ("#if 0\na\n#endif\n#if ACME_ABI\nb\n#endif\n", [5], "#if 0\na\n#endif\nb\n"),
        ("#if ACME_ABI >= 6\nb\n#else\n#if NESTED\nc\n#endif\n#endif", [6], "b\n"),
    ],
)  # fmt: skip
def test_what_is_left(text: str, numbers: list[int], expected: str) -> None:
    assert cleaned(text, numbers) == expected


DERIVED = "#if ACME_ABI >= 6\n#define NEW 1\n#else\n#define NEW 0\n#endif\n"


def test_a_derived_macro_goes_with_its_last_use() -> None:
    assert cleaned(DERIVED + "a\n#if NEW\nb\n#else\nc\n#endif // NEW\n", [6]) == "a\nb\n"


@pytest.mark.parametrize("use", ["int x = NEW;\n", "#define OTHER NEW\nint y = OTHER;\n", 'char* o = "-D NEW";\n'])
def test_a_derived_macro_that_something_else_uses_stays(use: str) -> None:
    assert cleaned(DERIVED + "#if NEW\nb\n#endif\n" + use, [6]) == "#define NEW 1\nb\n" + use


def test_a_derived_macro_that_another_file_uses_stays() -> None:
    expected = "#define NEW 1\nb\n"
    assert cleaned(DERIVED + "#if NEW\nb\n#endif\n", [6], {"tests/t.cpp": "int z = NEW;\n"}) == expected


def test_a_derived_macro_that_nothing_tested_stays() -> None:
    assert cleaned(DERIVED, [6]) == "#define NEW 1\n"


def test_macros_derived_from_each_other_go_together() -> None:
    text = "#define IS_NEW (ACME_ABI >= 6)\n#if IS_NEW\n#define NEW\n#endif\n#ifdef NEW\nb\n#else\nc\n#endif\n"
    assert cleaned(text, [6]) == "b\n"


@pytest.mark.parametrize(
    ("opens", "closes"),
    [("#pragma once\n", ""), ("#ifndef H\n#define H\n", "#endif\n"), ("#if !defined(H)\n#define H 1\n", "#endif\n")],
)
def test_a_header_and_its_user_are_changed_together(opens: str, closes: str) -> None:
    files = {
        "inc/abi.hpp": f"{opens}{DERIVED}int h;\n{closes}",
        "a.cpp": '#include "inc/abi.hpp"\n#if NEW\nb\n#else\nc\n#endif\n',
    }
    analysis = analyse(files)
    removal = plan_removal(analysis, [6])
    assert prove(analysis, removal, [6]) > 0
    assert {path: edit.after for path, edit in removal.edits.items()} == {
        "inc/abi.hpp": f"{opens}int h;\n{closes}",
        "a.cpp": '#include "inc/abi.hpp"\nb\n',
    }
    assert removal.macros == ("NEW",)


def test_a_number_that_stands_for_a_missing_macro_is_proven_for_both() -> None:
    text = "#ifdef ACME_ABI\na\n#endif\n#if defined(ACME_ABI) && ACME_ABI >= 2\nb\n#endif\n"
    analysis = analyse({"a.cpp": text}, absent=1)
    removal = plan_removal(analysis, [1])
    assert removal.edits["a.cpp"].after == "#ifdef ACME_ABI\na\n#endif\n"
    assert prove(analysis, removal, [1]) == 2


def test_directives_that_share_a_line_with_a_comment_are_left() -> None:
    text = "/* a\n*/ #if ACME_ABI >= 6\nb\n#else\nc\n#endif\n#el\\\nse\n"
    assert cleaned(text.replace("#el\\\nse\n", ""), [6]) == text.replace("#el\\\nse\n", "")
    split = "#if ACME_ABI >= 6\nb\n#el\\\nse\nc\n#endif\n"
    assert cleaned(split, [6]) == split


def test_an_unbalanced_file_is_left() -> None:
    assert cleaned("#if ACME_ABI >= 6\nb\n#else\nc\n", [6]) == "#if ACME_ABI >= 6\nb\n#else\nc\n"


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.cpp", b"a\r\n#if ACME_ABI >= 6\r\nb  \r\n#else\r\nc\r\n#endif\r\nd\r\n", b"a\r\nb  \r\nd\r\n"),
        ("a.cpp", b"a\r\n#if ACME_ABI < 6\n#elif X\r\nb\n#else\nc\n#endif", b"a\r\n#if X\r\nb\n#else\nc\n#endif"),
        ("a.cpp", b"caf\xe9 \x85 \xc3\x85\n#if ACME_ABI >= 6\nb\n#else\nc\n#endif", b"caf\xe9 \x85 \xc3\x85\nb\n"),
        ("a.cpp", b"\xef\xbb\xbf#if ACME_ABI >= 6\nb\n\f\n#endif\n\x0b tail ", b"b\n\f\n\x0b tail "),
        ("sub dir/\xe9 \"q\".cpp", b"#if X\n#elif ACME_ABI >= 6\nb\n#endif", b"#if X\n#else\nb\n#endif"),
        ("a b.cpp", b"#if ACME_ABI < 6\nb\n#endif\n", b""),
        ("a.cpp", b"1\n2\n3\n4\n#if ACME_ABI < 6\n#endif\n5\n6\n7\n8\n9\n10\n#if ACME_ABI\n11\n#endif\n",
         b"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n"),
    ],
)  # fmt: skip
def test_git_applies_the_diff_and_every_other_byte_stays(
    tmp_path: Path, name: str, data: bytes, expected: bytes
) -> None:
    """P2: line ends, blanks, encodings and a missing final newline survive."""
    repository = new_repository(tmp_path / "consumer")
    repository.git("config", "core.autocrlf", "false")
    repository.commit("a file", {name: data})
    analysis = analyse({name: data.decode("latin-1")})
    removal = plan_removal(analysis, [6])
    assert prove(analysis, removal, [6]) > 0
    patch = tmp_path / "a.patch"
    patch.write_bytes(render_diff(removal).encode("latin-1"))
    repository.git("apply", "--check", "--index", str(patch))
    repository.git("apply", str(patch))
    assert (repository.path / name).read_bytes() == expected


# -- the proof -------------------------------------------------------------------------------------------------------


def tampered(text: str, numbers: list[int], drop: int) -> tuple[GuardAnalysis, Removal]:
    """Return a plan that also drops the 1-based line `drop`."""
    analysis = analyse({"a.cpp": text})
    removal = plan_removal(analysis, numbers)
    removal.edits["a.cpp"].drop(drop, drop)
    return analysis, removal


SAMPLE = (
    "#include <acme.h>\n#if ACME_ABI >= 6\n#define NEW 1\n#else\n#define NEW 0\n#endif\nint a = NEW;\n"
    "#if OTHER > 3\nint b;\n#elif NEW\nint c;\n#endif\n#if has_it(x)\nint d;\n#endif\n#pragma acme on\n"
    "#define LEFT 1\n#warning it's old\n"
)


def test_the_sample_is_proven() -> None:
    analysis = analyse({"a.cpp": SAMPLE})
    removal = plan_removal(analysis, [6])
    assert "#elif" not in removal.edits["a.cpp"].after
    assert prove(analysis, removal, [6]) > 4


@pytest.mark.parametrize("line", [1, 3, 7, 9, 11, 14, 16, 17, 18])
def test_a_plan_that_loses_anything_else_is_refused(line: int) -> None:
    """An include, a definition in use, plain code, code behind any unknown condition, a pragma, a macro left over."""
    analysis, removal = tampered(SAMPLE, [6], line)
    with pytest.raises(SourceError, match=r"patch refused.*a\.cpp differs with"):
        prove(analysis, removal, [6])


def test_a_plan_for_other_numbers_is_refused() -> None:
    analysis = analyse({"a.cpp": SAMPLE})
    with pytest.raises(SourceError, match="ACME_ABI=5"):
        prove(analysis, plan_removal(analysis, [6]), [5, 6])


def test_a_bomb_for_the_preprocessor_ends_in_a_refusal() -> None:
    """K3's kind: the expansion would take 2^40 tokens; the process that tries is limited."""
    bomb = "".join(f"#define A{i} A{i + 1} A{i + 1}\n" for i in range(40)) + "A0\n"
    analysis = analyse({"a.cpp": bomb + "#if ACME_ABI >= 6\nb\n#else\nc\n#endif\n"})
    with pytest.raises(SourceError, match="patch refused"):
        prove(analysis, plan_removal(analysis, [6]), [6], seconds=1)


def test_worlds_are_all_when_few_and_bounded_when_many() -> None:
    assert worlds({}) == [{}]
    assert worlds({"A": ["1"], "B": ["2", "3"]}) == [
        {},
        {"A": "1"},
        {"A": "1", "B": "2"},
        {"A": "1", "B": "3"},
        {"B": "2"},
        {"B": "3"},
    ]
    many = worlds({f"N{i}": ["1", "2"] for i in range(30)})
    assert len(many) < 300
    assert {} in many
    assert {"N7": "2"} in many


# -- any file --------------------------------------------------------------------------------------------------------

_conditions = st.sampled_from(
    ["ACME_ABI >= 6", "ACME_ABI != 5", "defined(ACME_ABI)", "!defined(ACME_ABI) || ACME_ABI < 7", "NEW", "!NEW", "X",
     "X && ACME_ABI == 6", "X || NEW", "defined(NEW) && NEW", "Y > 2", "ACME_ABI == 5 || Y", "IS(6)"]
)  # fmt: skip
_lines = st.sampled_from(
    ["int a;", "f(NEW);", "#define NEW 1", "#define NEW 0", "#undef NEW", "#define IS(n) (ACME_ABI == n)", "#undef X",
     "#define X 1", "/* a", "c */", '"s', "// e", "#include <y.h>"]
)  # fmt: skip


def _chain(bodies: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    elifs = st.lists(st.tuples(_conditions, bodies), max_size=2)
    return st.builds(
        lambda first, body, more, last: (
            (f"#if {first}\n{body}" + "".join(f"#elif {c}\n{b}" for c, b in more) + (f"#else\n{last}" if last else ""))
            + "#endif\n"
        ),
        _conditions,
        bodies,
        elifs,
        st.one_of(st.none(), bodies),
    )


_texts = st.recursive(
    st.lists(_lines, max_size=3).map(lambda lines: "".join(f"{line}\n" for line in lines)),
    lambda inner: st.lists(st.one_of(inner, _chain(inner)), max_size=4).map("".join),
    max_leaves=12,
)


@pytest.mark.parametrize("numbers", [[6], [5], [5, 6]])
@settings(max_examples=60, deadline=None, derandomize=True)
@given(text=_texts)
def test_whatever_is_planned_is_equivalent(numbers: list[int], text: str) -> None:
    analysis = analyse({"a.cpp": text})
    removal = plan_removal(analysis, numbers)
    if removal.edits:
        case = case_of(analysis, removal, "a.cpp", numbers)
        assert compare(case, time.monotonic() + 60)[1] is None
        dropped = [line for line in removal.edits["a.cpp"].after.splitlines() if line not in text.splitlines()]
        assert all(line.startswith(("#if", "#else")) for line in dropped)


@pytest.mark.slow
def test_the_diff_of_any_plan_applies(tmp_path: Path) -> None:
    repository = new_repository(tmp_path / "consumer")

    @settings(max_examples=100, deadline=None, derandomize=True)
    @given(text=_texts, crlf=st.booleans(), cut=st.booleans())
    def check(text: str, crlf: bool, cut: bool) -> None:
        text = text.replace("\n", "\r\n") if crlf else text
        text = text[:-1] if cut else text
        removal = plan_removal(analyse({"a.cpp": text}), [6])
        if not removal.edits:
            return
        (repository.path / "a.cpp").write_bytes(text.encode("latin-1"))
        run = subprocess.run(
            ["git", "-C", str(repository.path), "apply", "-"],
            input=render_diff(removal).encode("latin-1"),
            capture_output=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        assert (repository.path / "a.cpp").read_bytes() == removal.edits["a.cpp"].after.encode("latin-1")

    check()


@pytest.mark.slow
def test_a_compilers_preprocessor_agrees(tmp_path: Path) -> None:
    """A second judge, which shares no code with us or with pcpp."""
    cpp = need("cpp")

    def preprocess(text: str, *macros: str) -> list[str]:
        run = subprocess.run(
            [cpp, "-P", "-w", "-nostdinc", *macros], input=text, capture_output=True, text=True, check=False
        )
        return run.stdout.split()

    @settings(max_examples=150, deadline=None, derandomize=True)
    @given(text=_texts, number=st.sampled_from([5, 6, 7]))
    def check(text: str, number: int) -> None:
        text = text.replace("#include <y.h>\n", "include_y\n")
        removal = plan_removal(analyse({"a.cpp": text}), [number])
        if removal.edits:
            for macros in ([], ["-DX=1"], ["-DY=3"], ["-DX=1", "-DY=3"]):
                sides = [
                    preprocess(side, f"-DACME_ABI={number}", *macros) for side in (text, removal.edits["a.cpp"].after)
                ]
                assert sides[0] == sides[1]

    check()
