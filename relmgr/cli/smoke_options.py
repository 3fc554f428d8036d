"""Options that `relmgr smoke plan` and `relmgr smoke run` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

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
