"""`relmgr config` and `relmgr schema`: settings, and the shape of every document."""

from __future__ import annotations

from pathlib import Path

import click

from relmgr.cli.options import Chosen, output_options, project_options
from relmgr.cli.output import Output, words_in_force
from relmgr.cli.paths import NEW_FILE
from relmgr.errors import EXIT_OK, UserError


@click.group(name="config")
def group() -> None:
    """A project file to begin with; what a project's settings mean."""


@group.command()
@project_options
@output_options
def check(chosen: Chosen, output: Output) -> int:
    """Load the project and all that it names, and say what it means; a mistake ends with file, line, next step."""
    from relmgr.workflows.config import check_project

    loaded = chosen.load()
    check_project(loaded)
    output.emit(loaded, template="config/check", own=words_in_force().own)
    return EXIT_OK


@group.command()
@click.argument("file", type=NEW_FILE, required=False, metavar="[FILE]", default=Path("relmgr.toml"))
@click.option("--from", "shipped", metavar="NAME", help="Begin with a shipped project, and what it names beside it.")
@click.option("--apply", "apply_", is_flag=True, help="Write it; without it only say what.")
@output_options
def new(file: Path, shipped: str | None, apply_: bool, output: Output) -> int:
    """Write a project file, FILE or relmgr.toml, ready to be filled in; what is there is never written over."""
    from relmgr.workflows.config import new_project

    document = new_project(file, shipped, apply=apply_)
    output.emit(document, template="config/new")
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
