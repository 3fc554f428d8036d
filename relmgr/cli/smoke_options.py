"""Options that `relmgr smoke plan` and `relmgr smoke run` share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from relmgr.errors import UserError

if TYPE_CHECKING:
    from relmgr.workflows.smoke_provider import Library

F = TypeVar("F", bound=Callable[..., Any])

_DIRECTIONS = ["fwd", "bwd-data", "wrw", "wrw-workspace"]


def matrix_options(command: F) -> F:
    """Add the options that choose back end and cells."""
    for option in reversed(
        (
            click.option(
                "--backend", type=click.Choice(["auto", "hip", "cuda", "cpu"]), default="auto", show_default=True
            ),
            click.option("--arch", metavar="ARCH", help="What the device must be, such as gfx90a or sm_90."),
            click.option(
                "--abi", type=int, metavar="N", help="Number under test (default: the pin's, else the newest)."
            ),
            click.option("--dtype", "dtypes", multiple=True, type=click.Choice(["f32", "f16", "bf16", "i8"])),
            click.option("--direction", "directions", multiple=True, type=click.Choice(_DIRECTIONS)),
            click.option("--layout", "layouts", multiple=True, type=click.Choice(["NCHW", "NHWC"])),
            click.option("--main-forms", is_flag=True, help="Only the argument forms that provider and consumer use."),
            click.option("--matching-only", is_flag=True, help="Leave the deliberate mismatches out."),
            click.option(
                "--launch-mismatches", is_flag=True, help="Launch refused cells too, each in a process of its own."
            ),
        )
    ):
        command = option(command)
    return command


def library_options(command: F) -> F:
    """Add the options that name a provider's built library, as `the_library` takes them."""
    file = click.Path(dir_okay=False, path_type=Path)
    for option in reversed(
        (
            click.option("--miir-lib", type=file, help="Take kernels that this library of the provider generates."),
            click.option("--miir-header", type=file, help="The header installed with it, or with its generator."),
            click.option(
                "--miir-link", multiple=True, metavar="ARG", help="For a static archive: as -lz, for its link."
            ),
        )
    ):
        command = option(command)
    return command


def the_library(file: Path | None, header: Path | None, link_with: tuple[str, ...]) -> Library | None:
    """Return the provider's library that is to generate the kernels, or None."""
    if header is None:
        if file is None:
            return None
        raise UserError("--miir-lib needs --miir-header", next_step="give the Miir.h that is installed with it")
    from relmgr.workflows.smoke_provider import Library

    return Library(file=file, header=header, link_with=link_with)
