"""Jinja templates to text. Sandboxed, strict about undefined names; the words live in `templates/`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from jinja2 import FileSystemLoader, StrictUndefined, select_autoescape
from jinja2.sandbox import SandboxedEnvironment
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from relmgr.render.foreign import Markdown, cell, code, md, plain, prose, url
from relmgr.resources import shipped

if TYPE_CHECKING:
    from relmgr.model.project import Project

Env = TypeVar("Env", bound=SandboxedEnvironment)


def to_json(document: Any) -> str:
    """Return `document` (nouns, or lists of them) as indented JSON with a final newline; times in ISO 8601."""
    return json.dumps(to_jsonable_python(document, by_alias=True), indent=2, ensure_ascii=False) + "\n"


class Words:
    """The templates in force: the shipped ones. `own_templates.OwnWords` lays a project's own over them."""

    @property
    def own(self) -> tuple[str, ...]:
        """The names of the templates that are the project's own."""
        return ()

    def render(self, template: str, /, **view: Any) -> str:
        """Render `templates/<template>` with the names in `view`; `.html.j2` templates escape what they print."""
        return environment().get_template(template).render(**view)


SHIPPED = Words()


def words_of(project: Project) -> Words:
    """Return the templates in force for a project. Raises `UserError` for own ones that are not accepted."""
    if project.templates is None:
        return SHIPPED
    # Checking needs Jinja's compiler, which nothing else does.
    from relmgr.render.own_templates import own_words

    return own_words(project.templates)


def render(template: str, /, **view: Any) -> str:
    """Render a shipped template, for what no project words: the demo, scaffolds."""
    return SHIPPED.render(template, **view)


@lru_cache(maxsize=1)
def environment() -> SandboxedEnvironment:
    """Return the environment of the shipped templates."""
    return with_filters(SandboxedEnvironment(loader=shipped_loader(), **OPTIONS))


def shipped_loader() -> FileSystemLoader:
    """Return what finds the shipped templates."""
    return FileSystemLoader(shipped("templates"))


OPTIONS: dict[str, Any] = {
    "undefined": StrictUndefined,
    "trim_blocks": True,
    "lstrip_blocks": True,
    "keep_trailing_newline": True,
    "extensions": ["jinja2.ext.do"],
    "autoescape": select_autoescape(enabled_extensions=("html.j2",), default=False),
}


def with_filters(env: Env) -> Env:
    """Return `env` with relmgr's filters."""
    env.filters.update(
        short=short,
        date=date,
        pr=pr,
        abi_step=abi_step,
        basename=basename,
        megabytes=megabytes,
        subject=subject,
        table=table,
        md_table=md_table,
        md=md,
        code=code,
        prose=prose,
        url=url,
        plain=plain,
        moment=moment,
        counted=counted,
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


def pr(number: int | None) -> Markdown:
    """Return a pull request's number for people, which a forge makes a link of; `-` for none."""
    return Markdown("-" if number is None else f"#{number}")


def subject(text: str, number: int | None) -> str:
    """Return a commit's subject without the pull request's number at its end: that one stands beside it."""
    return text if number is None else text.removesuffix(f"(#{number})").rstrip()


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
    """Return a size in MB (10^6 bytes), small ones in kB or bytes, `-` for none."""
    if size is None:
        return "-"
    if size < 1_000:
        return f"{size} B"
    return f"{size / 1e3:.0f} kB" if size < 1_000_000 else f"{size / 1e6:.0f} MB"


def moment(value: datetime | None) -> str:
    """Return a point in time to the minute, with its offset: `2022-08-09 00:00-07:00`; `-` for none."""
    return "-" if value is None else value.isoformat(sep=" ", timespec="minutes")


def counted(number: int, one: str, many: str = "") -> str:
    """Return how many of something there are: `1 file`, `2 files`; `many` where an s does not make the plural."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def table(rows: Iterable[Sequence[Any]], header: Sequence[str]) -> str:
    """Return an aligned plain-text table without trailing blanks; `None` shows as `-`, cells are one line each."""
    lines = [[plain(_cell(c)) for c in header], *([plain(_cell(c)) for c in row] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    rule = ["-" * width for width in widths]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in (lines[0], rule, *lines[1:])
    )


def md_table(rows: Iterable[Sequence[Any]], header: Sequence[str]) -> str:
    """Return a Markdown table; what stands in the cells cannot break out of them."""
    lines = ["| " + " | ".join(cell(name) for name in header) + " |", "|" + "|".join(" --- " for _ in header) + "|"]
    lines += ["| " + " | ".join(cell(_cell(c)) for c in row) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: Any) -> Any:
    if isinstance(value, BaseModel):
        raise TypeError("a table cell is text, not a noun")
    return value
