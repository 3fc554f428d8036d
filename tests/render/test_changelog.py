"""A change log's section: inserted in its place, updated byte-stable, what people wrote kept (N5)."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from relmgr.errors import UserError
from relmgr.render.changelog import find_section, section_text, write_section

OLD = """\
# Change log

Full documentation is elsewhere.

## Gadget-2.1.0 for Plant 5.7.0
### Added
- by hand
- by hand, with ```
- and more

## Gadget 2.0.0 for Plant 5.5.0
### Fixed
- old
"""
FRESH = """\
## Gadget 2.0.5 for Plant 5.6.0

### Added

* a gauge ([#1](https://example.org/pull/1))
* a lever ([#2](https://example.org/pull/2)) <!-- heading guessed -->

### Resolved issues

* a leak ([#3](https://example.org/pull/3))
"""


def written(old: str = OLD, fresh: str = FRESH) -> str:
    merged = write_section(old, fresh, "a..b")
    assert merged.action in ("insert", "update", "unchanged")
    return merged.text


def test_n5_a_section_goes_between_its_neighbours_and_nothing_else_changes() -> None:
    text = written()
    start = text.index("## Gadget 2.0.5")
    end = text.index("## Gadget 2.0.0")
    assert text[:start] + text[end:] == OLD
    assert text[start:end].startswith(FRESH)
    assert text[start:end].splitlines()[-2].startswith("<!-- relmgr:notes a..b lines=")


def test_n5_twice_gives_the_same_bytes() -> None:
    again = write_section(written(), FRESH, "a..b")
    assert (again.action, again.text) == ("unchanged", written())


@pytest.mark.parametrize(
    ("old", "before"),
    [("", ""), ("# Change log\n", "# Change log\n\n"), ("# Change log", "# Change log\n\n"), ("text\n\n", "text\n\n")],
)
def test_a_first_section_goes_to_the_end(old: str, before: str) -> None:
    text = written(old)
    assert text.startswith(before + FRESH)
    assert text.endswith(" -->\n")
    assert written(text) == text


def test_a_newer_release_goes_to_the_top_and_an_older_one_to_the_end() -> None:
    newer = written(fresh=FRESH.replace("5.6.0", "5.14.0"))
    assert newer.index("Plant 5.14.0") < newer.index("Plant 5.7.0")
    older = written(fresh=FRESH.replace("5.6.0", "5.1.0"))
    assert older.index("Plant 5.1.0") > older.index("Plant 5.5.0")


def test_an_unreleased_section_stays_on_top() -> None:
    old = OLD.replace("## Gadget-2.1.0", "## Unreleased\n\n- soon\n\n## Gadget-2.1.0")
    assert written(old, FRESH.replace("5.6.0", "5.9.0")).index("Unreleased") < written(old).index("5.7.0")


def test_n5_crlf_and_a_missing_last_newline_stay() -> None:
    old = OLD.rstrip("\n").replace("\n", "\r\n")
    text = written(old)
    assert text.count("\n") == text.count("\r\n")
    assert text.startswith(old[: old.index("## Gadget 2.0.0")])
    again = write_section(text, FRESH, "a..b")
    assert again.text == text


def test_n5_a_published_section_written_by_hand_is_not_touched() -> None:
    merged = write_section(OLD, FRESH.replace("5.6.0", "5.7.0"), "a..b")
    assert (merged.action, merged.text) == ("by-hand", OLD)


def test_adopt_adds_what_a_section_by_hand_lacks_and_keeps_its_lines() -> None:
    fresh = FRESH.replace("2.0.5 for Plant 5.6.0", "2.1.0 for Plant 5.7.0")
    merged = write_section(OLD, fresh, "a..b", adopt=True)
    section = section_text(merged.text, "Gadget 2.1.0 for Plant 5.7.0")
    assert section is not None
    for line in ("- by hand", "- by hand, with ```", "- and more"):
        assert line in section.splitlines()
    assert "* a lever" in section
    assert "## Gadget-2.1.0 for Plant 5.7.0" in merged.text
    assert write_section(merged.text, fresh, "a..b").text == merged.text


def test_n5_a_paragraph_by_hand_survives_new_facts() -> None:
    by_hand = "Read this before you upgrade: the gauge was calibrated anew.\n\nSecond paragraph.\n"
    edited = written().replace("### Added\n", f"{by_hand}\n### Added\n", 1)
    edited = edited.replace("* a leak", "* a leak") + "trailing words\n"
    assert write_section(edited, FRESH, "a..b").text == edited
    more = FRESH.replace("* a leak", "* a second leak ([#4](https://example.org/pull/4))\n* a leak")
    text = write_section(edited, more, "a..b").text
    assert by_hand in text
    assert "* a second leak" in text
    assert write_section(text, more, "a..b").text == text


def test_n5_a_reworded_entry_stays_reworded_and_a_deleted_one_deleted() -> None:
    edited = (
        written()
        .replace("* a gauge (", "* a *calibrated* gauge (")
        .replace("* a leak ([#3](https://example.org/pull/3))\n", "")
    )
    text = write_section(edited, FRESH, "a..b").text
    assert "* a *calibrated* gauge (" in text
    assert "* a gauge (" not in text
    assert "a leak" not in text
    # Facts changed: the reworded entry's line would read otherwise by now, and is still the person's.
    moved = FRESH.replace("* a gauge (", "* a gauge, guessed (")
    assert "a gauge, guessed" not in write_section(text, moved, "a..b").text


def test_a_line_of_ours_follows_the_facts() -> None:
    confirmed = FRESH.replace(" <!-- heading guessed -->", "")
    text = write_section(written(), confirmed, "a..b").text
    assert "heading guessed" not in text
    assert text.count("a lever") == 1
    assert text.index("a gauge") < text.index("a lever") < text.index("### Resolved issues")
    gone = write_section(text, FRESH.split("### Resolved")[0], "a..b").text
    assert "### Resolved issues" not in gone
    assert "a lever" in gone
    assert written(gone, FRESH.split("### Resolved")[0]) == gone


def test_a_new_heading_takes_its_place() -> None:
    fresh = FRESH.replace(
        "### Resolved issues", "### Changed\n\n* a dial ([#5](https://example.org/pull/5))\n\n### Resolved issues"
    )
    text = write_section(written(), fresh, "a..b").text
    section = text[text.index("## Gadget 2.0.5") : text.index("<!-- relmgr")]
    assert section.rstrip("\n") + "\n" == fresh


def test_headings_inside_code_are_none() -> None:
    old = "# Log\n\n```\n## Gadget 9 for Plant 5.6.0\n```\n\n## Gadget 1 for Plant 5.5.0\n- x\n"
    assert find_section(old.splitlines(), "## Gadget 9 for Plant 5.6.0") is None
    assert written(old).index("Plant 5.6.0\n\n### Added") > old.index("```\n\n## Gadget 1") - 4


def test_an_open_code_fence_is_refused_and_named() -> None:
    with pytest.raises(UserError, match="line 3 opens a code fence that nothing closes"):
        write_section("# Log\n\n~~~~\n```\n~~~\n", FRESH, "a..b")


@pytest.mark.parametrize(
    ("heading", "found"),
    [
        ("## Gadget 2.1.0 for Plant 5.7.0", True),
        ("## Gadget-2.1.0 for Plant 5.7.0", True),
        ("## Gadget 2.2.0 for Plant 5.7.0", True),
        ("## Gadget 2.1.0 for Plant 5.70.0", False),
        ("## Gadget 5.7.0 for Plant 5.8.0", False),
        ("## Widget 2.1.0 for Plant 5.7.0", False),
    ],
)
def test_a_section_is_found_by_its_release(heading: str, found: bool) -> None:
    assert (find_section(OLD.splitlines(), heading) is not None) == found


def test_a_forged_marker_in_an_entry_is_text() -> None:
    fresh = FRESH.replace("* a gauge (", "* &lt;!-- relmgr:notes x lines= --&gt; (")
    text = written(fresh=fresh)
    assert written(text, fresh) == text
    assert "&lt;!-- relmgr:notes" in text


_LINES = st.lists(
    st.sampled_from(
        ["", "text", "- item", "### Added", "### Changed", "* a gauge ([#1](https://example.org/pull/1))", "```"]
    ),
    max_size=12,
)


@given(_LINES, st.sampled_from(["\n", "\r\n"]), st.integers(min_value=0, max_value=14), _LINES)
def test_n5_any_edit_survives_and_writing_settles_at_once(
    before: list[str], eol: str, at: int, edit: list[str]
) -> None:
    old = eol.join(["# Log", "", *before, ""])
    assume(before.count("```") % 2 == 0 and edit.count("```") % 2 == 0)
    text = write_section(old, FRESH, "a..b").text
    lines = text.split(eol)
    start = next(n for n, line in enumerate(lines) if line.startswith("## Gadget 2.0.5")) + 1
    place = min(start + at, len(lines) - 1)
    edited = eol.join([*lines[:place], *edit, *lines[place:]])
    once = write_section(edited, FRESH, "a..b").text
    assert write_section(once, FRESH, "a..b").text == once
    kept = [line for line in edit if line in ("text", "- item")]
    assert all(once.split(eol).count(line) >= kept.count(line) for line in kept)
