"""Where a command's document goes, and in which form."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from relmgr.errors import UserError

if TYPE_CHECKING:
    from relmgr.model.project import Project
    from relmgr.render.engine import Words

_PROJECT = "relmgr.project"


@dataclass(frozen=True)
class Output:
    """What `--format`, `--out` and `--quiet` say."""

    format_: str
    out: Path | None = None
    quiet: bool = False

    @property
    def is_json(self) -> bool:
        """True when nothing but JSON may stand on standard output."""
        return self.format_ == "json"

    def emit(self, document: Any, *, template: str, **view: Any) -> None:
        """Print `document` as JSON, or through `templates/<template>.<txt|md>.j2`, where it is called `d`.

        `view` holds further names for the template. The loaded project's own templates come first. With `--out` the
        text goes to that file; with `--quiet` nothing is printed.
        """
        from relmgr.render.engine import to_json

        if self.is_json:
            text = to_json(document)
        else:
            form = "md" if self.format_ == "markdown" else "txt"
            text = words_in_force().render(f"{template}.{form}.j2", d=document, **view)
        self.write(text)

    def write(self, text: str | bytes) -> None:
        """Write a text that is ready to the file of `--out`, else to standard output; bytes stay as they are."""
        if self.out is not None:
            write_file(self.out, text)
        elif not self.quiet:
            click.echo(text, nl=False)


def remember(project: Project) -> None:
    """Keep the project that this call of a command works on, in click's own context of the call.

    Templates of its own that will not do are refused here: before anything is read, and not when a text is due.
    """
    if project.templates is not None:
        from relmgr.render.engine import words_of

        words_of(project)
    click.get_current_context().meta[_PROJECT] = project


def words_in_force() -> Words:
    """Return the templates of the call's project, the shipped ones where a command needs no project."""
    from relmgr.render.engine import SHIPPED, words_of

    context = click.get_current_context(silent=True)
    project: Project | None = context.meta.get(_PROJECT) if context else None
    return SHIPPED if project is None else words_of(project)


def write_file(file: Path, text: str | bytes) -> None:
    """Write a file the user asked for, or say why it cannot be written."""
    try:
        file.write_bytes(text.encode() if isinstance(text, str) else text)
    except OSError as error:
        raise UserError(f"cannot write: {error.strerror}", where=str(file), next_step="give another file") from None
