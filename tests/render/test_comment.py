"""B3: a text is cut at a block, with what is open closed, and says so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relmgr.render.comment import CUT, fit_body, length

LIMIT = 2000


def test_what_fits_is_left_alone() -> None:
    text = "a\r\n```\nopen"
    assert fit_body(text) == text
    assert fit_body("x" * 65_536) == "x" * 65_536


def test_it_is_cut_between_blocks() -> None:
    text = "\n\n".join(f"Paragraph {n} of words.\nSecond line." for n in range(200))
    cut = fit_body(text, LIMIT)
    assert cut.endswith(CUT)
    assert cut.removesuffix(CUT).endswith("Second line.")
    assert LIMIT - 500 < len(cut) <= LIMIT


@pytest.mark.parametrize("fence", ["```", "~~~~", "`````text"])
def test_an_open_fence_is_closed(fence: str) -> None:
    mark = fence.removesuffix("text")
    cut = fit_body(f"Log:\n\n{fence}\n" + "line\n\n" * 1000 + mark, LIMIT)
    lines = cut.removesuffix(CUT).split("\n")
    assert lines[-1] == mark
    assert lines.count(mark) + lines.count(fence) >= 2
    assert len(cut) <= LIMIT


def test_folded_parts_and_html_comments_are_closed() -> None:
    cut = fit_body("<details><summary>All</summary>\n\n" + "- item\n\n" * 1000 + "</details>", LIMIT)
    assert cut.removesuffix(CUT).endswith("</details>")
    assert fit_body("<!-- " + "word\n" * 1000, LIMIT).removesuffix(CUT).endswith("-->")


def test_characters_beyond_the_basic_plane_count_twice() -> None:
    assert length("a\U0001f600") == 3
    assert length(fit_body("\U0001f600" * 40_000)) <= 65_536


def test_one_line_longer_than_all_is_cut_inside() -> None:
    cut = fit_body("x" * 5000, LIMIT)
    assert cut.endswith(CUT)
    assert len(cut) > LIMIT // 2


def test_closing_a_thousand_open_parts_still_fits() -> None:
    for text in ("<details>\n" * 3000, "`" * 900 + "\n" + "x\n" * 3000):
        assert length(fit_body(text, LIMIT)) <= LIMIT


@given(st.text(alphabet="ab \n`~<>-!\U0001f600", max_size=3000).map(lambda text: text * 3))
def test_the_result_always_fits(text: str) -> None:
    assert length(fit_body(text, LIMIT)) <= LIMIT
