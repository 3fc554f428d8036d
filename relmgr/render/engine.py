"""Jinja templates to text. Sandboxed, strict about undefined names; the words live in `templates/`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from jinja2 import FileSystemLoader, StrictUndefined, select_autoescape
from jinja2.sandbox import SandboxedEnvironment
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from relmgr.resources import shipped


def to_json(document: Any) -> str:
    """Return `document` (nouns, or lists of them) as indented JSON with a final newline; times in ISO 8601."""
    return json.dumps(to_jsonable_python(document, by_alias=True), indent=2, ensure_ascii=False) + "\n"


def render(template: str, **view: Any) -> str:
    """Render `templates/<template>` with the names in `view`; `.html.j2` templates escape what they print."""
    return environment().get_template(template).render(**view)


@lru_cache(maxsize=1)
def environment() -> SandboxedEnvironment:
    """Return the one template environment."""
    env = SandboxedEnvironment(
        loader=FileSystemLoader(shipped("templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        extensions=["jinja2.ext.do"],
        autoescape=select_autoescape(enabled_extensions=("html.j2",), default=False),
    )
    env.filters.update(
        short=short,
        date=date,
        pr=pr,
        abi_step=abi_step,
        basename=basename,
        megabytes=megabytes,
        finding_line=finding_line,
        table=table,
        md_table=md_table,
        md=md_text,
        plain=plain,
        yesno=lambda v: "yes" if v else "no",
    )
    return env


def short(ref: str | None) -> str:
    """Return a ref for people: 12 digits of a commit, other refs whole, `-` for none."""
    if ref is None:
        return "-"
    return ref[:12] if len(ref) in (40, 64) and all(c in "0123456789abcdef" for c in ref) else ref


def date(value: datetime | None) -> str:
    """Return the calendar date in the value's own offset (the committer's date), `-` for none."""
    return "-" if value is None else value.date().isoformat()


def pr(number: int | None) -> str:
    """Return a pull request's number for people, `-` for none."""
    return "-" if number is None else f"#{number}"


def abi_step(change: Any) -> str:
    """Return the ABI step of a pin change: `5 -> 6 (crossing)`, `5`, `? -> 5`, `-` where no ABI was asked for."""
    if change is None:
        return "-"
    old, new = ("?" if number is None else str(number) for number in (change.old, change.new))
    step = new if old == new else f"{old} -> {new}"
    return f"{step} (crossing)" if change.crossing else step


def basename(path: str) -> str:
    """Return the last part of a path."""
    return path.rpartition("/")[2]


def megabytes(size: int | None) -> str:
    """Return a size in MB (10^6 bytes), `-` for none; small sizes in bytes."""
    if size is None:
        return "-"
    return f"{size / 1e6:.0f} MB" if size >= 1_000_000 else f"{size} B"


def finding_line(finding: Any) -> str:
    """Return one line of an audit finding's evidence: its first facts."""
    evidence = finding.evidence
    for key in ("subject", "ref", "sites", "not_read", "statement", "declared_in"):
        if key in evidence:
            return str(evidence[key])
    return finding.remedy or ""


def table(rows: Iterable[Sequence[Any]], header: Sequence[str]) -> str:
    """Return an aligned plain-text table without trailing blanks; `None` shows as `-`."""
    lines = [[_cell(c) for c in header], *([_cell(c) for c in row] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    rule = ["-" * width for width in widths]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in (lines[0], rule, *lines[1:])
    )


def md_table(rows: Iterable[Sequence[Any]], header: Sequence[str]) -> str:
    """Return a Markdown table; what stands in the cells cannot break out of them."""
    lines = ["| " + " | ".join(header) + " |", "|" + "|".join(" --- " for _ in header) + "|"]
    lines += ["| " + " | ".join(md_text(c) for c in row) + " |" for row in rows]
    return "\n".join(lines)


def plain(value: Any) -> str:
    """Return a stranger's text for a terminal: one line, no control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in _cell(value)).split())


def md_text(value: Any) -> str:
    """Return a stranger's text defused for Markdown: one line, no markup, no mention, no table or HTML break."""
    text = " ".join(_cell(value).split())
    for mark in "\\`*_{}[]<>|~#":
        text = (
            text.replace(mark, "\\" + mark)
            if mark not in "<>"
            else text.replace(mark, "&lt;" if mark == "<" else "&gt;")
        )
    return text.replace("@", "@\u200b")


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, datetime):
        return date(value)
    if isinstance(value, BaseModel):
        raise TypeError("a table cell is text, not a noun")
    return str(value)
