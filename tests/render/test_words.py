"""Every template's words, exactly, on real documents; and that all of them speak with one voice."""

from __future__ import annotations

import re
from typing import Any

import pytest
from markdown_it import MarkdownIt

from tests.render.situations import Situation, shown_templates, situations, stem_of

SHOWN = shown_templates()
CASES = [(template, one) for one in situations() for template in SHOWN if stem_of(template) == one.stem]
IDS = [f"{template}-{one.case}" for template, one in CASES]


@pytest.mark.parametrize(("template", "one"), CASES, ids=IDS)
def test_words(template: str, one: Situation, golden: Any) -> None:
    name = template.removesuffix(".j2")
    stem, _, ending = name.rpartition(".")
    golden(f"words/{stem}/{one.case}.{ending}", one.show(template))


@pytest.mark.parametrize("template", SHOWN)
def test_every_template_has_golden_words(template: str) -> None:
    stem = stem_of(template)
    assert any(one.stem == stem for _, one in CASES), (
        f"templates/{template} has no situation: put a document (what --format json prints) into "
        f"tests/render/documents/{stem}/<case>.json and its noun into KINDS of tests/render/situations.py, or build "
        "its view in BUILT there; then run pytest tests/render/test_words.py --update-golden and read what it wrote"
    )


# What only programs read: enumerations' spellings, names of facts. Commands and names in code are not words.
_INTERNAL = re.compile(
    r"\b(memref-descriptor|bare-pointer|changed-since|no-crossing|database-\w+|abi-crossing|branch-pin\S*|digest-drift"
    r"|api-changed\S*|by-hand|half-done|to-create|head-not-squash|this-(after|before)-\w+|pin_\w+|pushed_at|train_state"
    r"|merge_after|changed_files|policy_edits|not-posted|cut-\w+-differs|[a-z-]+-differs|poison)\b"
)


@pytest.mark.parametrize(("template", "one"), CASES, ids=IDS)
def test_one_voice(template: str, one: Situation) -> None:
    text = one.show(template)
    assert "→" not in text, "an arrow is ->"
    assert not re.search(r"[“”]", text), "quotes are straight"
    assert not re.search(r"\d{4}-\d\d-\d\dT\d", text), "a time is 2022-08-09 00:00-07:00: the filter `moment`"
    words = re.sub(r"<!--.*?-->|<style>.*?</style>|`[^`\n]*`", "", text, flags=re.DOTALL)
    # What cites a line to be copied, and a policy's own description, are left aside.
    if not template.startswith(("policy/", "config/project", "gate/explain", "page/demo")):
        assert not _INTERNAL.search(words), f"{_INTERNAL.search(words)}: say it in words (templates/words.j2)"
    assert not re.search(r"\b1 (commits|databases|files|releases|rows|policies|notes|lines|days|checks)\b", words)


@pytest.mark.parametrize(("template", "one"), [c for c in CASES if ".md." in c[0]], ids=lambda v: getattr(v, "case", v))
def test_markdown_begins_with_words(template: str, one: Situation) -> None:
    """The first line says what to do: it is a sentence, or the title under which it stands; never a table."""
    text = one.show(template)
    first = MarkdownIt("gfm-like", {"linkify": False}).parse(text)[0]
    if template != "gate/policies.md.j2":
        assert first.type in ("paragraph_open", "heading_open", "bullet_list_open"), text[:200]
