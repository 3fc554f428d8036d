"""What a body declares: trailers, and what a reader does not see (M1-M4)."""

from __future__ import annotations

import json
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relmgr.gate.depends_on import parse_declarations
from relmgr.gate.markdown_text import MAX_BODY
from relmgr.model.order import OrderDeclarations
from relmgr.model.pull_request import PullRequestRef
from relmgr.settings import load_project

PROJECT = load_project("miopen-rocmlir")
THIS = PullRequestRef(repository="ROCm/MIOpen", number=1630)


def read(body: str | None) -> OrderDeclarations:
    return parse_declarations(body, PROJECT, THIS)


def declared(body: str | None) -> list[str]:
    return [str(one.ref) for one in read(body).depends_on]


HIDDEN = {
    "fence of backticks": "```\nDepends-On: #5\n```",
    "fence of tildes": "~~~text\nDepends-On: #5\n~~~",
    "unclosed fence": "text\n\n```\nDepends-On: #5\n\nmore",
    "fence in a list": "- a\n  ```\n  Depends-On: #5\n  ```",
    "indented code": "text\n\n    Depends-On: #5\n",
    "inline code": "`Depends-On: #5`",
    "inline code of two ticks": "`` Depends-On: #5 ` ``",
    "comment": "<!-- Depends-On: #5 -->",
    "comment over blank lines": "<!--\n\nDepends-On: #5\n\n-->",
    "unclosed comment": "<!--\nDepends-On: #5\n\nmore",
    "comment in a line": "text <!--\nDepends-On: #5\n--> text",
    "comment left open inside a division": "<div>\n<!-- x\n\nDepends-On: #5\n",
    "quote": "> Depends-On: #5",
    "lazy quote": "> text\nDepends-On: #5",
    "quote in a quote": "> > Depends-On: #5",
    "strike-through": "~~Depends-On: #5~~",
    "strike-through of one": "~Depends-On: #5~",
    "struck number": "Depends-On: ~~#5~~",
    "struck by HTML": "<del>Depends-On: #5</del>",
    "quoted by HTML": "<blockquote>\n\nDepends-On: #5\n\n</blockquote>",
    "code by HTML": "<pre>\nDepends-On: #5\n</pre>",
    "link target": "[x]: https://github.com/ROCm/MIOpen/pull/5\n",
    "image text": "![Depends-On: #5](x.png)",
}


@pytest.mark.parametrize("body", HIDDEN.values(), ids=HIDDEN)
def test_m1_what_is_not_shown_declares_nothing(body: str) -> None:
    found = read(body)
    assert found.depends_on == found.suggestions == ()


SHOWN = {
    "details": "<details>\n<summary>More</summary>\n\nDepends-On: #5\n\n</details>",
    "details without a blank line": "<details>\nDepends-On: #5\n</details>",
    "after a fence": "```\ncode\n```\nDepends-On: #5",
    "after a comment": "<!-- template -->\n\nDepends-On: #5",
    "after a quote": "> quoted\n\nDepends-On: #5",
    "unclosed strike-through": "~~ text\nDepends-On: #5",
    "unclosed ticks": "``text` and\nDepends-On: #5",
    "bold": "**Depends-On:** #5",
    "heading": "### Depends-On: #5",
    "bullet": "- Depends-On: #5",
    "check box": "- [ ] Depends-On: #5",
    "escaped": "Depends-On: \\#5",
    "entity": "Depends-On: &#35;5",
    "after a hidden half": "`code` ~~struck~~\nDepends-On: #5",
}


@pytest.mark.parametrize("body", SHOWN.values(), ids=SHOWN)
def test_m1_what_is_shown_declares(body: str) -> None:
    assert declared(body) == ["ROCm/MIOpen#5"]


FORMS = {
    "Depends-On: #690": "ROCm/MIOpen#690",
    "Depends-On: gh-690": "ROCm/MIOpen#690",
    "Depends-On: ROCm/rocMLIR#690": "ROCm/rocMLIR#690",
    "Depends-On: rocm/ROCMLIR#690": "ROCm/rocMLIR#690",
    "Depends-On: ROCmSoftwarePlatform/llvm-project-mlir#690": "ROCm/rocMLIR#690",
    "Depends-On: rocMLIR#690": "ROCm/rocMLIR#690",
    "Depends-On: MLIR PR #690": "ROCm/rocMLIR#690",
    "Depends-On: someone/else#690": "someone/else#690",
    "Depends-On: https://github.com/ROCm/rocMLIR/pull/690": "ROCm/rocMLIR#690",
    "Depends-On: https://github.com/ROCm/rocMLIR/pull/690/files": "ROCm/rocMLIR#690",
    "Depends-On: https://github.com/ROCm/rocMLIR/pull/690?w=1": "ROCm/rocMLIR#690",
    "Depends-On: https://github.com/ROCm/rocMLIR/pull/690#issuecomment-1": "ROCm/rocMLIR#690",
    "Depends-On: http://www.github.com/ROCm/rocMLIR/pull/690": "ROCm/rocMLIR#690",
    "Depends-On: <https://github.com/ROCm/rocMLIR/pull/690>": "ROCm/rocMLIR#690",
    "Depends-On: [the compiler](https://github.com/ROCm/rocMLIR/pull/690)": "ROCm/rocMLIR#690",
    "Depends-On: [the compiler][c]\n\n[c]: https://github.com/ROCm/rocMLIR/pull/690": "ROCm/rocMLIR#690",
    'Depends-On: <a href="https://github.com/ROCm/rocMLIR/pull/690">it</a>': "ROCm/rocMLIR#690",
    "DEPENDS-ON: ROCm/rocMLIR#690": "ROCm/rocMLIR#690",
    "depends-on:ROCm/rocMLIR#690": "ROCm/rocMLIR#690",
    "Depends-On: ROCm/rocMLIR#690 (the new header)": "ROCm/rocMLIR#690",
    "text\r\nDepends-On: ROCm/rocMLIR#690\r\n": "ROCm/rocMLIR#690",
}


@pytest.mark.parametrize(("body", "name"), FORMS.items())
def test_m2_every_form_is_read(body: str, name: str) -> None:
    assert declared(body) == [name]
    assert read(body).not_understood == ()


def test_m2_lists_are_read() -> None:
    names = ["ROCm/MIOpen#5", "ROCm/MIOpen#6", "ROCm/rocMLIR#7"]
    assert declared("Depends-On: #5, #6 and ROCm/rocMLIR#7") == names
    assert declared("Depends-On: #5,\n#6, ROCm/rocMLIR#7") == names
    assert declared("Depends-On:\n- #5\n- #6\n- ROCm/rocMLIR#7\n") == names
    assert declared("Depends-On: #5\nDepends-On: #6\n\nDepends-On: ROCm/rocMLIR#7") == names


@pytest.mark.parametrize("body", [None, "", "\n", "\ufffd\x00", "Depends-On: none", "Depends-On: n/a"])
def test_m2_nothing_is_nothing(body: str | None) -> None:
    assert read(body) == OrderDeclarations()


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("https://github.com.evil.example/ROCm/MIOpen/pull/5", "is not github.com"),
        ("https://user@github.com/ROCm/MIOpen/pull/5", "is not github.com"),
        ("https://evil.example/?u=https://github.com/ROCm/MIOpen/pull/5", "names no pull request"),
        ("[#5](https://evil.example/x)", "leads elsewhere"),
        ("https://github.com/ROCm/MIOpen/issues/5", "an issue, not a pull request"),
        ("issue #5", "a number of issues"),
        ("`#5`", "what it names is code"),
        ("the header change", "names no pull request"),
        ("#0", "no name of a pull request"),
        ("PR 5", "write it as owner/repo#number"),
        ("", "nothing stands after the colon"),
        ("other#5", "no repository of this project"),
    ],
)
def test_m4_a_value_that_was_not_read_is_reported(value: str, why: str) -> None:
    found = read(f"Depends-On: {value}")
    assert found.depends_on == ()
    assert [why in one.why for one in found.not_understood] == [True]


@pytest.mark.parametrize(
    "body",
    [
        "Depens-On: #5",
        "text; depends-on of another",
        "Merge-After the cut",
        "Depends-Upon #5 maybe?",
        "Dependson #5",
    ],
)
def test_m4_look_alikes_are_reported(body: str) -> None:
    found = read(body)
    assert found.depends_on == found.merge_after == ()
    assert len(found.not_understood) == 1


def test_m4_references_behind_other_words_are_reported() -> None:
    found = read("Depends-On: #5 (was in #4)")
    assert [str(one.ref) for one in found.depends_on] == ["ROCm/MIOpen#5"]
    assert [one.why for one in found.not_understood] == ["#4: stands behind other words: write one trailer for each"]


def test_m4_the_line_is_named() -> None:
    assert [one.line for one in read("one\n\ntwo <!-- a\nb --> x\n\nDepends-On: what").not_understood] == [6]


def test_m3_self_and_duplicates() -> None:
    assert declared("Depends-On: #1630, ROCmSoftwarePlatform/MIOpen#1630") == []
    twice = "Depends-On: #5\nDepends-On: https://github.com/ROCm/MIOpen/pull/5\nDepends-On: rocm/miopen#5"
    assert declared(twice) == ["ROCm/MIOpen#5"]
    assert declared("Depends-On: other/x#5, Other/X#5") == ["other/x#5"]


@pytest.mark.parametrize(
    "body", ["This no longer depends on #5.", "It does not depend on #5", "No longer Depends-On: #5"]
)
def test_m3_no_longer_is_no_declaration(body: str) -> None:
    assert read(body) == OrderDeclarations()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("cut rocm-5.3", ("cut", "rocm-5.3", None, None, None)),
        ("the cut of rocm-5.3 (asked for in review)", ("cut", "rocm-5.3", None, None, None)),
        ("cut 5.3", ("cut", "5.3", None, None, None)),
        ("date 2022-08-20", ("date", None, date(2022, 8, 20), None, None)),
        ("2022-08-20", ("date", None, date(2022, 8, 20), None, None)),
        ("pin>=rocm-5.4.0", ("pin", None, None, "rocmlir", "rocm-5.4.0")),
        ("pin rocm-5.4.0", ("pin", None, None, "rocmlir", "rocm-5.4.0")),
        ("pin rocmlir >= 11f2e26f193d", ("pin", None, None, "rocmlir", "11f2e26f193d")),
    ],
)
def test_merge_after(value: str, expected: tuple[object, ...]) -> None:
    found = read(f"Merge-After: {value}")
    (event,) = found.merge_after
    assert (event.kind, event.train, event.day, event.pin, event.ref) == expected
    assert found.not_understood == ()


@pytest.mark.parametrize(
    "value", ["the moon", "2022-02-30", "pin other>=x1", "pin rocmlir", "cut soon", "#5", "cut rocm-5.3 please"]
)
def test_m4_an_unknown_event_is_reported(value: str) -> None:
    found = read(f"Merge-After: {value}")
    assert found.merge_after == ()
    assert len(found.not_understood) == 1


def test_several_events_stand_in_one_line() -> None:
    found = read("Merge-After: cut rocm-5.3, date 2022-08-20 and pin>=rocm-5.3.0")
    assert [event.kind for event in found.merge_after] == ["cut", "date", "pin"]


def test_sets_are_declared() -> None:
    assert [str(one.ref) for one in read("Paired-With: ROCm/rocMLIR#690").paired_with] == ["ROCm/rocMLIR#690"]


def test_a_longer_body_is_cut_with_a_finding() -> None:
    found = read("a" * (MAX_BODY - 20) + "\n\nDepends-On: #5\n" + "b" * 50 + "\n\nDepends-On: #6\n")
    assert [str(one.ref) for one in found.depends_on] == ["ROCm/MIOpen#5"]
    assert [one.why for one in found.not_understood] == ["the text after character 65,536 was not read"]
    assert read("a" * MAX_BODY).not_understood == ()


def test_deep_nesting_is_reported_not_dropped() -> None:
    body = "\n".join("  " * depth + "- a" for depth in range(40)) + "\n" + "  " * 40 + "- Depends-On: #5"
    assert any("not read" in one.why for one in read(body).not_understood) or declared(body) == ["ROCm/MIOpen#5"]


def test_what_a_stranger_writes_is_no_mark_of_ours() -> None:
    found = read("Depends-On: \ue0000\ue001x\ue002 \ue01099\ue011 &#xe000;0&#xe001;")
    assert found.depends_on == ()


_PIECES = st.sampled_from(
    [
        "#5",
        "Depends-On:",
        "Merge-After:",
        "`",
        "```",
        "~~~",
        "~~",
        "<!--",
        "-->",
        "> ",
        "- [ ] ",
        "\n",
        "\n\n",
        "    ",
        "[",
        "](",
        ")",
        "<del>",
        "</del>",
        "<pre>",
        "**",
        "_",
        "\\",
        "&#35;",
        "depends on",
        "blocks",
        "ROCm/rocMLIR#6",
        "this",
        "before",
        "after",
        "5.3",
        "branch",
        "https://github.com/ROCm/MIOpen/pull/7",
        "a",
        ", ",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=300), st.lists(_PIECES, max_size=40).map("".join)))
def test_m1_no_text_crashes_the_reader(body: str) -> None:
    found = read(body)
    assert found == read(body)
    assert json.loads(found.model_dump_json())["depends_on"] == [one.model_dump() for one in found.depends_on]
    assert all(one.ref != THIS for one in found.depends_on)


@settings(max_examples=200, deadline=None)
@given(st.lists(_PIECES, max_size=30).map("".join), st.sampled_from(["```", "~~~~", "`````"]))
def test_m1_no_code_block_ever_declares(inside: str, fence: str) -> None:
    code = "\n".join(line for line in inside.split("\n") if not line.lstrip().startswith(fence[0]))
    for body in (
        f"{fence}\n{code}\n{fence}\n",
        f"{fence}\n{code}",
        *(["    " + code.replace("\n", "\n    ")] if code else []),
    ):
        found = read(body)
        assert found.depends_on == found.merge_after == found.paired_with == ()
