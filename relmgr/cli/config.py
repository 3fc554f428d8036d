"""`relmgr config` and `relmgr schema`: settings, and the shape of every document."""

from __future__ import annotations

import click

from relmgr.cli.options import Chosen, output_options, project_options
from relmgr.cli.output import Output, words_in_force
from relmgr.errors import EXIT_OK, UserError


@click.group(name="config")
def group() -> None:
    """Check a project's settings."""


@group.command()
@project_options
@output_options
def check(chosen: Chosen, output: Output) -> int:
    """Load the project and say what it means; a mistake ends with file, line and the allowed names."""
    from relmgr.gate.policies import load_rules

    loaded = chosen.load()
    load_rules(loaded)
    output.emit(loaded, template="config/check", own=words_in_force().own)
    return EXIT_OK


@click.command()
@click.argument("document", required=False)
def schema(document: str | None) -> int:
    """Print the JSON Schema of DOCUMENT, or the names of all documents."""
    from relmgr.model.documents import DOCUMENTS, document_schema
    from relmgr.render.engine import to_json

    if document is None:
        click.echo("\n".join(sorted(DOCUMENTS)))
        return EXIT_OK
    if document not in DOCUMENTS:
        raise UserError(f"no document {document!r}", next_step=f"use one of: {', '.join(sorted(DOCUMENTS))}")
    click.echo(to_json(document_schema(document)), nl=False)
    return EXIT_OK
