"""Guards on an invented contract: macro `ACME_ABI`, so that nothing known of a real project can help."""

from __future__ import annotations

from pathlib import Path

import pytest

from relmgr.model.guards import Guard
from relmgr.sources.git.clone import Clone
from relmgr.sources.guards.branches import GuardAnalysis, GuardSources, find_guards, glob_pattern, read_guard_sources
from tests.support.repositories import new_repository


def guards_of(
    files: dict[str, str],
    number: int | None = 6,
    numbers: dict[str, int | None] | None = None,
    others: dict[str, str] | None = None,
    absent: int | None = None,
) -> tuple[Guard, ...]:
    analysis = GuardAnalysis(GuardSources(files, others or {}), "ACME_ABI", ("ACME_OLD",), absent)
    found = find_guards(analysis, number, {"v1": 5, "v2": 6} if numbers is None else numbers)
    assert analysis.gaps == {}
    return found


def rows(guards: tuple[Guard, ...]) -> list[tuple[int, int, str, str, bool | None, tuple[str, ...]]]:
    return [(g.line, g.end_line, g.condition, g.macro, g.live, g.dead_for) for g in guards]


def states(text: str, number: int | None = 6, **more: dict[str, str]) -> list[tuple[int, bool | None]]:
    return [(g.line, g.live) for g in guards_of({"a.cpp": text}, number, **more)]


def test_every_branch_of_a_guard_has_its_range_and_state() -> None:
    text = "#if ACME_ABI >= 7\na\n#elif ACME_ABI >= 6 \\\n   && 1 // six\nb\nb\n#else\nc\n#endif\n"
    assert rows(guards_of({"a.cpp": text})) == [
        (1, 2, "ACME_ABI >= 7", "ACME_ABI", False, ("v1", "v2")),
        (3, 6, "ACME_ABI >= 6 && 1", "ACME_ABI", True, ("v1",)),
        (7, 8, "!(ACME_ABI >= 7) && !(ACME_ABI >= 6 && 1)", "ACME_ABI", False, ("v2",)),
    ]


@pytest.mark.parametrize(
    ("opening", "at_5", "at_6"),
    [
        ("#ifdef ACME_ABI", True, True),
        ("#ifndef ACME_ABI", False, False),
        ("#if defined(ACME_ABI) && ACME_ABI >= 6", False, True),
        ("#if !defined(ACME_ABI) || ACME_ABI != 5", False, True),
        ("#if ACME_ABI == 5", True, False),
        ("#if OTHER && ACME_ABI == 5", None, False),
        ("#if ACME_ABI == 5 || OTHER", True, None),
        ("#if ACME_OLD", None, None),
    ],
)
def test_forms_of_condition(opening: str, at_5: bool | None, at_6: bool | None) -> None:
    text = f"{opening}\nx\n#endif\n"
    assert states(text, 5) == [(1, at_5)]
    assert states(text, 6) == [(1, at_6)]


def test_an_unknown_number_kills_nothing() -> None:
    text = "#if ACME_ABI >= 6\n#else\n#endif\n#if 0 && ACME_ABI\n#endif\n"
    found = guards_of({"a.cpp": text}, None, {"v0": None, "v1": 5})
    assert [(g.line, g.live, g.dead_for) for g in found] == [(1, None, ("v1",)), (2, None, ()), (4, False, ("v1",))]


def test_other_conditionals_are_not_guards() -> None:
    text = "#if OTHER\n#endif\n// #if ACME_ABI\n#if NOT_ACME_ABI\n#endif\nint x = ACME_ABI;\n"
    assert states(text) == []


def test_a_guard_inside_unknown_code_is_judged_as_if_that_code_is_compiled() -> None:
    text = "#if OTHER\n#if ACME_ABI >= 6\n#else\n#endif\n#endif\n"
    assert states(text) == [(2, True), (3, False)]


def test_a_guard_inside_a_dead_branch_is_dead() -> None:
    text = "#if ACME_ABI < 6\n#if ACME_ABI >= 2\n#else\n#endif\n#endif\n"
    assert states(text) == [(1, False), (2, False), (3, False)]


def test_a_chain_becomes_a_guard_where_the_macro_enters() -> None:
    text = "#if OTHER\n#elif ACME_ABI >= 6\n#elif THIRD\n#else\n#endif\n"
    assert states(text, 6) == [(2, None), (3, False), (4, False)]
    assert states(text, 5) == [(2, False), (3, None), (4, None)]


def test_a_derived_macro_is_followed() -> None:
    text = "#if ACME_ABI >= 6\n#define NEW 1\n#else\n#define NEW 0\n#endif\nx\n#if NEW\ny\n#else\nz\n#endif\n"
    assert rows(guards_of({"a.cpp": text}))[2:] == [
        (7, 8, "NEW", "NEW", True, ("v1",)),
        (9, 10, "!(NEW)", "NEW", False, ("v2",)),
    ]


def test_derivation_through_a_body_a_function_and_a_second_macro() -> None:
    text = (
        "#define IS_NEW (ACME_ABI >= 6)\n#define AT_LEAST(n) (ACME_ABI >= (n))\n"
        "#if IS_NEW\n#define DEEPER\n#endif\n#if AT_LEAST(6)\n#endif\n#ifdef DEEPER\n#else\n#endif\n"
    )
    assert states(text, 6) == [(3, True), (6, True), (8, True), (9, False)]
    assert states(text, 5) == [(3, False), (6, False), (8, False), (9, True)]


def test_a_body_is_expanded_where_it_is_used() -> None:
    text = "#define LATE INNER\n#define INNER ACME_ABI >= 6\n#if LATE\n#endif\n"
    assert states(text) == [(3, True)]


def test_a_macro_that_a_guard_undefines_is_followed_from_there_on() -> None:
    undefine = "#if !defined(ACME_ABI) || ACME_ABI != 5\n#undef HAVE\n#endif\n"
    text = f"#ifdef HAVE\n{undefine}#endif\n#ifdef HAVE\n#else\n#endif\n"
    assert states(text, 5) == [(2, False), (6, None), (7, None)]
    assert states(text, 6) == [(2, True), (6, False), (7, True)]


def test_what_another_condition_decides_stays_unknown() -> None:
    text = (
        "#ifdef HAVE\n#if ACME_ABI != 5\n#ifndef KEEP\n#undef HAVE\n#endif\n#endif\n#endif\n#ifdef HAVE\n#endif\n"
        "#if OTHER\n#define D 1\n#elif ACME_ABI >= 6\n#define D 2\n#else\n#define D 2\n#endif\n#if D == 2\n#endif\n"
    )
    assert dict(states(text, 6))[8] is None
    assert dict(states(text, 6))[17] is None


def test_a_redefinition_changes_what_follows() -> None:
    text = "#define NEW (ACME_ABI >= 6)\n#if NEW\n#endif\n#undef NEW\n#define NEW 0\n#if NEW\n#endif\n"
    assert states(text) == [(2, True)]


HEADER = "#ifndef ACME_H\n#define ACME_H\n#if ACME_ABI >= 6\n#define NEW 1\n#else\n#define NEW 0\n#endif\n#endif\n"


@pytest.mark.parametrize(
    ("header", "include"),
    [
        ("src/abi.hpp", '#include "abi.hpp"'),
        ("src/include/acme/abi.hpp", "#include <acme/abi.hpp>"),
        ("src/include/acme/abi.hpp", '#  include "../src/include/acme/abi.hpp" // why'),
    ],
)
def test_a_derived_macro_comes_through_a_project_header(header: str, include: str) -> None:
    found = guards_of({header: HEADER, "src/use.cpp": f"{include}\n{include}\n#if NEW\n#else\n#endif\n"})
    assert [(g.line, g.live) for g in found if g.file == "src/use.cpp"] == [(3, True), (4, False)]
    assert [(g.line, g.macro) for g in found if g.file == header] == [(3, "ACME_ABI"), (5, "ACME_ABI")]


def test_a_derived_macro_comes_through_two_headers_and_pragma_once() -> None:
    files = {
        "a.h": "#pragma once\n#if ACME_ABI >= 6\n#define NEW\n#endif\n",
        "b.h": "#pragma once\n#include <a.h>\n",
        "c.cpp": '#include "b.h"\n#include "a.h"\n#ifndef NEW\n#endif\n',
    }
    assert [(g.file, g.line, g.live) for g in guards_of(files)] == [("a.h", 2, True), ("c.cpp", 3, False)]


def test_a_derived_macro_whose_header_is_not_found_is_unknown() -> None:
    """Two headers fit the include, so which one is meant cannot be told."""
    files = {"x/abi.hpp": HEADER, "y/abi.hpp": HEADER, "z/use.cpp": "#include <abi.hpp>\n#if NEW\n#endif\n"}
    files["x/own.cpp"] = '#include "abi.hpp"\n'
    found = [(g.file, g.line, g.live, g.dead_for) for g in guards_of(files) if g.file == "z/use.cpp"]
    assert found == [("z/use.cpp", 2, None, ())]


def test_a_name_that_a_source_file_derives_for_itself_is_free_elsewhere() -> None:
    files = {"a.cpp": "#if ACME_ABI >= 6\n#define NEW\n#endif\n", "b.cpp": "#ifdef NEW\n#endif\n"}
    assert [(g.file, g.line) for g in guards_of(files)] == [("a.cpp", 1)]


def test_a_derived_macro_that_a_build_file_may_pass_is_unknown_until_defined() -> None:
    text = "#if ACME_ABI >= 6\n#define NEW\n#endif\n#ifdef NEW\n#endif\n"
    assert states(text, 5) == [(1, False), (4, False)]
    assert states(text, 5, others={"CMakeLists.txt": "add_definitions(-DNEW)\n"}) == [(1, False), (4, None)]
    assert states(text, 6, others={"CMakeLists.txt": "add_definitions(-DNEW)\n"}) == [(1, True), (4, True)]


def test_the_number_of_a_header_without_the_macro_stands_for_undefined_too() -> None:
    text = "#ifdef ACME_ABI\n#endif\n#if !defined(ACME_ABI) || ACME_ABI < 2\n#endif\n"
    found = guards_of({"a.cpp": text}, 1, {"v1": 1}, absent=1)
    assert [(g.line, g.live, g.dead_for) for g in found] == [(1, None, ()), (3, True, ())]


def test_strings_and_raw_strings_hide_nothing_and_open_nothing() -> None:
    text = 'auto k = R"k(\n#if ACME_ABI\n)k";\n#if ACME_ABI >= 6\nx\n#endif\n'
    assert states(text) == [(4, True)]


def test_an_unbalanced_file_is_a_gap_and_its_guards_are_still_shown() -> None:
    analysis = GuardAnalysis(GuardSources({"a.cpp": "#if ACME_ABI\nx\n"}), "ACME_ABI")
    assert [(g.line, g.end_line) for g in find_guards(analysis, 6, {})] == [(1, 2)]
    assert analysis.gaps == {"a.cpp": "line 1: #if without #endif"}


def test_a_file_past_its_bounds_is_a_gap() -> None:
    """K3's kind: a hostile file ends in a named gap; the others are still read."""
    bomb = "".join(f"#define A{i} A{i + 1} A{i + 1}\n" for i in range(60)) + "#if A0 && ACME_ABI\n#endif\n"
    circle = '#include "circle.h"\n' * 2 + "#if ACME_ABI\n#endif\n"
    files = {"bomb.cpp": bomb, "circle.h": circle, "good.cpp": "#if ACME_ABI\n#endif\n"}
    analysis = GuardAnalysis(GuardSources(files), "ACME_ABI")
    assert [g.file for g in find_guards(analysis, 6, {})] == ["good.cpp"]
    assert set(analysis.gaps) == {"bomb.cpp", "circle.h"}


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("src/**/*.cpp", "src/a.cpp", True),
        ("src/**/*.cpp", "src/x/y/a.cpp", True),
        ("src/**/*.cpp", "test/a.cpp", False),
        ("src/*.cpp", "src/x/a.cpp", False),
        ("src/**", "src/x/a.cpp", True),
        ("src/a?.c+", "src/ab.c+", True),
        ("src/a.cpp", "src/axcpp", False),
    ],
)
def test_globs(glob: str, path: str, matches: bool) -> None:
    assert bool(glob_pattern("", glob).match(path)) is matches
    assert bool(glob_pattern("projects/acme/", glob).match(f"projects/acme/{path}")) is matches


def test_sources_are_read_at_a_ref_below_the_root_folder(tmp_path: Path) -> None:
    repository = new_repository(tmp_path / "consumer")
    commit = repository.commit(
        "files",
        {
            "projects/acme/src/a.cpp": b"// caf\xe9\r\n#if ACME_ABI\r\n#endif",
            "projects/acme/CMakeLists.txt": "set(X 1)\n",
            "projects/other/src/b.cpp": "#if ACME_ABI\n#endif\n",
            "projects/acme/src/big.cpp": b"//" + b"x" * (2 * 1024 * 1024),
        },
    )
    (repository.path / "projects/acme/src/link.cpp").symlink_to("a.cpp")
    repository.commit("a link")
    sources = read_guard_sources(Clone.open(repository.path), commit, ["src/**/*.cpp"], "projects/acme")
    assert dict(sources.files) == {"projects/acme/src/a.cpp": "// caf\xe9\r\n#if ACME_ABI\r\n#endif"}
    assert dict(sources.others) == {"projects/acme/CMakeLists.txt": "set(X 1)\n"}
    assert sources.gaps == ("projects/acme/src/big.cpp: larger than 2 MiB",)
    head = read_guard_sources(Clone.open(repository.path), repository.git("rev-parse", "HEAD"), ["**/link.cpp"])
    assert head.files == {}
