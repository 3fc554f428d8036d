"""Where a command's document goes, and in which form."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from relmgr.errors import UserError


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

        `view` holds further names for the template. With `--out` the text goes to that file; with `--quiet` nothing is
        printed.
        """
        from relmgr.render.engine import render, to_json

        if self.is_json:
            text = to_json(document)
        else:
            text = render(f"{template}.{'md' if self.format_ == 'markdown' else 'txt'}.j2", d=document, **view)
        self.write(text)

    def write(self, text: str | bytes) -> None:
        """Write a text that is ready to the file of `--out`, else to standard output; bytes stay as they are."""
        if self.out is not None:
            write_file(self.out, text)
        elif not self.quiet:
            click.echo(text, nl=False)


def write_file(file: Path, text: str | bytes) -> None:
    """Write a file the user asked for, or say why it cannot be written."""
    try:
        file.write_bytes(text.encode() if isinstance(text, str) else text)
    except OSError as error:
        raise UserError(f"cannot write: {error.strerror}", where=str(file), next_step="give another file") from None
