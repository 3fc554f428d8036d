"""N6: whatever strangers write into a document, no template lets it be markup, a mention, a link or a control code."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Mapping
from typing import Any

import pytest
from markdown_it import MarkdownIt
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from relmgr.render.changelog import section_text
from relmgr.render.foreign import code, fragment, md, prose
from relmgr.render.notes import render_notes
from relmgr.settings import load_project
from tests.render.situations import Situation, shown_templates, situations, stem_of

HOSTILE = (
    "BEGIN @mallory **bold** ![p](https://evil.example/p) <img src=x onerror=e> `t` | ``` &#64;mallory other/repo#4242 "
    "GH-4242 $EVIL^2$ $$EVIL$$ $`EVIL`$ www.evil.example\r\n# EVIL\n- EVIL\n\x1b[31mEVIL \u202eEND"
)
# Git's ids, names that the project's settings or our code give, addresses that we build, shell commands that are
# quoted where they are made, and texts that were rendered before.
OURS = frozenset(
    {
        "commit", "old_commit", "from_commit", "base_commit", "cut_commit", "sha", "head", "squash", "revert",
        "original", "as_commit", "first_bad", "candidates", "reverts", "reverted_by", "digest", "oid", "moved_by",
        "merge_base", "rebump_of", "parents", "result", "tip", "policy", "check", "checks", "id", "requires",
        "case", "kind", "key", "state", "form", "outcome", "verdict", "component", "grouped_by", "storage",
        "algorithm", "consumer", "provider", "repository", "repositories", "contract", "pin", "train", "release",
        "zone", "tool", "heading", "user_caches", "pull", "what", "members", "order", "now", "together",
        "unordered", "cycles", "branches", "compare", "compare_url", "url", "details_url", "block", "body",
        "preview", "diff", "command", "by_hand", "finish", "undo", "file", "number", "convention", "at", "commits",
        "bound", "until", "since", "cut", "backend", "dtype", "packing", "direction", "layout", "kernel_form",
        "argument_form", "entries",
    }
)  # fmt: skip
# Names that are a stranger's elsewhere.
OURS_HERE = frozenset({("GateReport", "subject"), ("WhatIf", "subject"), ("OrderCycle", "path")})
SHOWN = shown_templates()
# A project's own settings, scaffolds for its maintainers, and pages of texts that were rendered before.
TRUSTED = ("config/", "policy/rule", "policy/case", "page/demo", "gate/explain", "gate/policies")
CASES = [
    (template, one)
    for one in situations()
    for template in SHOWN
    if stem_of(template) == one.stem and not template.startswith(TRUSTED)
]
IDS = [f"{template}-{one.case}" for template, one in CASES]


def poisoned(value: Any, wanted: Any = str, name: str = "") -> Any:
    """Return `value` with strangers' words in every text that is not ours; `wanted` is the field's annotation."""
    if name in OURS and not _holds_nouns(value):
        return value
    if isinstance(value, str):
        return HOSTILE if _is_free(wanted) else value
    return _inside(value, wanted, name)


def _inside(value: Any, wanted: Any, name: str) -> Any:
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        kind = type(value).__name__
        reached = {n: f for n, f in fields.items() if (kind, n) not in OURS_HERE}
        return value.model_copy(update={n: poisoned(getattr(value, n), _plain(f), n) for n, f in reached.items()})
    if isinstance(value, tuple | list):
        parts = typing.get_args(_of(wanted, tuple, list)) or (str,)
        return type(value)(poisoned(one, parts[0], "") for one in value)
    if isinstance(value, Mapping):
        parts = typing.get_args(_of(wanted, dict)) or (str, object)
        return {key: poisoned(one, parts[-1], str(key)) for key, one in value.items()}
    return value


def _holds_nouns(value: Any) -> bool:
    return isinstance(value, BaseModel) or (isinstance(value, tuple | list) and any(_holds_nouns(one) for one in value))


def _plain(field: FieldInfo) -> Any:
    """Return a field's annotation; a text with a pattern is no free text."""
    return typing.Literal if field.metadata and _is_free(field.annotation) else field.annotation


def _options(wanted: Any) -> tuple[Any, ...]:
    is_union = typing.get_origin(wanted) in (typing.Union, types.UnionType)
    return typing.get_args(wanted) if is_union else (wanted,)


def _of(wanted: Any, *kinds: type) -> Any:
    return next((one for one in _options(wanted) if typing.get_origin(one) in kinds), None)


def _is_free(wanted: Any) -> bool:
    return any(one in (str, object, Any) for one in _options(wanted))


def _changed(view: dict[str, Any]) -> dict[str, Any]:
    return {
        name: poisoned(value, object) if isinstance(value, BaseModel | list | tuple) else value
        for name, value in view.items()
    }


@pytest.mark.parametrize(("template", "one"), CASES, ids=IDS)
def test_n6_strangers_words_take_no_effect(template: str, one: Situation) -> None:
    text = one.show(template, _changed)
    if template.endswith(".html.j2"):
        assert "<img" not in text
        return
    assert not [c for c in text if not c.isprintable() and c not in "\n\u200b"], "a control character"
    assert not re.search(r"^\W*EVIL", text, re.MULTILINE), "a stranger began a line"
    if ".md." in template:
        _check_markdown(text)


def test_the_check_sees_what_takes_effect() -> None:
    """What goes through as it is, is found."""
    for text in (
        HOSTILE,
        f"x {HOSTILE.splitlines()[0]}",
        "| a |\n| --- |\n| x | y |\n",
        "other/repo#4242",
        "a @mallory",
        "a $x^2$ b",
        "a \\$x^2\\$ b",
    ):
        with pytest.raises(AssertionError):
            _check_markdown(text)


def test_there_are_strangers_in_most_documents() -> None:
    reached = {stem_of(template) for template, one in CASES if "BEGIN" in one.show(template, _changed)}
    assert len(reached) > 30, sorted({stem_of(template) for template, _ in CASES} - reached)


# A dollar sign in an element of its own opens and closes nothing.
_SPAN = re.compile(r"<span>\$</span>")


def _outside_code(text: str) -> str:
    return re.sub(r"(?<!\\)(`+)(?!`).+?(?<!`)\1(?!`)", "", text)


def _check_markdown(text: str) -> None:
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(text)
    for token in tokens:
        assert "EVIL" not in token.content or token.type in ("inline", "fence"), token
        assert token.type != "html_block" or "mallory" not in token.content, token
        children = token.children or []
        said = "".join(
            child.content if child.type == "text" or child.type == "text_special" else "\n" for child in children
        )
        assert not re.search(r"@mallory|#4242|GH-4242|://evil|www\.evil", said), said
        assert not re.search(r"\$\S.*\$", _SPAN.sub("", _outside_code(token.content))), f"mathematics: {token.content}"
        for child in children:
            assert child.type not in ("image", "html_inline") or "mallory" not in child.content + str(child.attrs), (
                child
            )
            assert child.type != "link_open" or "evil" not in str(child.attrs), child
            assert child.type != "image", child
        assert not re.search(r"\bbold\b", _strong(children)), "a stranger's words are bold"
    _check_tables(text)


def _strong(children: list[Any]) -> str:
    """Return what is bold although a stranger alone made it so: text that is nothing but the hostile word."""
    pairs = zip(children, children[1:], children[2:], strict=False)
    return " ".join(b.content for a, b, c in pairs if (a.type, c.type) == ("strong_open", "strong_close"))[:4]


def _check_tables(text: str) -> None:
    width = None
    for line in text.splitlines():
        if not line.startswith("|"):
            width = None
            continue
        bars = len(re.findall(r"(?<!\\)\|", line))
        width = width or bars
        assert bars == width, line


@pytest.mark.parametrize(
    ("show", "text", "shown"),
    [
        (md, "$x$", "<span>$</span>x<span>$</span>"),
        (prose, "run `echo $x$`, $y$", "run `echo $x$`, <span>$</span>y<span>$</span>"),
        (fragment, "*$$x$$* `$y$`", "*<span>$</span><span>$</span>x<span>$</span><span>$</span>* `$y$`"),
        (fragment, "[$x$](https://x.org/$y$)", "[<span>$</span>x<span>$</span>](https://x.org/%24y%24)"),
        (code, "$x$", "`$x$`"),
    ],
)
def test_dollar_signs_set_no_mathematics_and_stay_in_code(show: Any, text: str, shown: str) -> None:
    assert show(text) == shown


def test_a_tag_in_a_sections_title_is_no_markup_and_the_section_is_found_again() -> None:
    title = "gadget_2.0_$x$<b>"
    notes = next(one for one in situations() if one.stem == "notes/section").view()["d"]
    section = render_notes(notes, load_project().notes, "rocm", forge="github.com", title=title)
    assert section.splitlines()[0] == r"## gadget\_2.0\_<span>$</span>x<span>$</span>&lt;b&gt;"
    by_hand = "# Log\n\n## gadget_3\n\n* A\n\n## gadget\\_2_0\n\n* B\n"
    assert section_text(by_hand, "gadget_2_0") == "\n* B"
