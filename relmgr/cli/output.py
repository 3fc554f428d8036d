"""Print one document in the asked form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from relmgr.errors import UserError


def emit(
    document: Any, *, template: str, format_: str, out: Path | None = None, quiet: bool = False, **view: Any
) -> None:
    """Print `document` as JSON, or through `templates/<template>.<txt|md>.j2`, where it is called `d`.

    `view` holds further names for the template. With `out` the text goes to that file; with `quiet` nothing is printed.
    """
    from relmgr.render.engine import render, to_json

    if format_ == "json":
        text = to_json(document)
    else:
        text = render(f"{template}.{'md' if format_ == 'markdown' else 'txt'}.j2", d=document, **view)
    if out is not None:
        write_text(out, text)
    elif not quiet:
        click.echo(text, nl=False)


def write_text(file: Path, text: str) -> None:
    """Write a file the user asked for, or say why it cannot be written."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write: {error.strerror}", where=str(file), next_step="give another file") from None
