"""`relmgr abi show` and `relmgr abi diff`: the provider's header at a ref, and between two."""

from __future__ import annotations

import click

from relmgr.cli.options import Chosen, output_options, pin_option, project_options
from relmgr.cli.output import Output
from relmgr.errors import EXIT_OK, EXIT_SOURCE, UserError

github_option = click.option(
    "--github", is_flag=True, help="Where no clone answers, ask GitHub (read only; token from GITHUB_TOKEN)."
)


@click.command()
@project_options
@pin_option
@click.option("--ref", metavar="REF", help="Provider's branch, tag or commit (default: what the consumer pins).")
@github_option
@output_options
def show(
    chosen: Chosen,
    pin_name: str | None,
    ref: str | None,
    github: bool,
    output: Output,
) -> int:
    """The number and convention at a provider's ref, and where they come from.

    Exit code 3 when nothing at all could be read.
    """
    from relmgr.workflows.abi import show_abi
    from relmgr.workflows.locate import named_pin

    loaded = chosen.load()
    pin = named_pin(loaded, pin_name)
    document = show_abi(loaded, pin, ref, github=github)
    output.emit(document, template="abi/show", provider=pin.provider)
    return EXIT_OK if document.confidence else EXIT_SOURCE


@click.command()
@project_options
@pin_option
@click.argument("refs", metavar="A..B")
@github_option
@output_options
def diff(
    chosen: Chosen,
    pin_name: str | None,
    refs: str,
    github: bool,
    output: Output,
) -> int:
    """What changed in the provider's header between the refs A and B, and what that means for the number.

    Exit code 3 when the headers could not be compared.
    """
    from relmgr.workflows.abi import diff_abi
    from relmgr.workflows.locate import named_pin

    old, dots, new = refs.partition("..")
    if not (dots and old and new) or new.startswith("."):
        raise UserError(f"{refs!r} is not A..B", next_step="write two refs of the provider: rocm-5.3.0..rocm-5.4.0")
    loaded = chosen.load()
    pin = named_pin(loaded, pin_name)
    document = diff_abi(loaded, pin, old, new, github=github)
    output.emit(document, template="abi/diff", provider=pin.provider)
    return EXIT_OK if document.functions is not None else EXIT_SOURCE
