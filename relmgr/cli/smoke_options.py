"""Options that `relmgr smoke plan` and `relmgr smoke run` share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from relmgr.cli.paths import FILE
from relmgr.errors import UserError

if TYPE_CHECKING:
    from relmgr.smoke.plan import Selection
    from relmgr.workflows.smoke_provider import Library

F = TypeVar("F", bound=Callable[..., Any])

_DIRECTIONS = ["fwd", "bwd-data", "wrw", "wrw-workspace"]


@dataclass(frozen=True)
class Matrix:
    """The back end and the cells that the options choose; an empty tuple means every one."""

    backend: str
    arch: str | None
    abi: int | None
    dtypes: tuple[str, ...]
    directions: tuple[str, ...]
    layouts: tuple[str, ...]
    main_forms: bool
    matching_only: bool
    launch_mismatches: bool

    def selection(self) -> Selection:
        """Return the chosen cells; raises `UserError` when nothing is left."""
        from relmgr.smoke.plan import check_selection

        return check_selection(
            self.dtypes,
            self.directions,
            self.layouts,
            main_forms=self.main_forms,
            mismatches=not self.matching_only,
        )


def gathered(name: str, into: type[Any], *options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Return a decorator that adds `options`; the command gets them as one object of the dataclass `into`."""

    def add(command: F) -> F:
        @functools.wraps(command)
        def with_object(**given: Any) -> Any:
            noun = into(**{field.name: given.pop(field.name) for field in fields(into)})
            return command(**{name: noun}, **given)

        wrapped = cast(F, with_object)
        for option in reversed(options):
            wrapped = option(wrapped)
        return wrapped

    return add


matrix_options = gathered(
    "matrix",
    Matrix,
    click.option("--backend", type=click.Choice(["auto", "hip", "cuda", "cpu"]), default="auto", show_default=True),
    click.option("--arch", metavar="ARCH", help="What the device must be, such as gfx90a or sm_90."),
    click.option("--abi", type=int, metavar="N", help="Number under test (default: the pin's, else the newest)."),
    click.option("--dtype", "dtypes", multiple=True, type=click.Choice(["f32", "f16", "bf16", "i8"])),
    click.option("--direction", "directions", multiple=True, type=click.Choice(_DIRECTIONS)),
    click.option("--layout", "layouts", multiple=True, type=click.Choice(["NCHW", "NHWC"])),
    click.option("--main-forms", is_flag=True, help="Only the argument forms that provider and consumer use."),
    click.option("--matching-only", is_flag=True, help="Leave the deliberate mismatches out."),
    click.option("--launch-mismatches", is_flag=True, help="Launch refused cells too, each in a process of its own."),
)


def library_options(command: F) -> F:
    """Add the options that name a provider's built library; the command gets it as `library`, or None."""

    @functools.wraps(command)
    def with_library(
        *, miir_lib: Path | None, miir_header: Path | None, miir_link: tuple[str, ...], **given: Any
    ) -> Any:
        return command(library=_library(miir_lib, miir_header, miir_link), **given)

    wrapped = cast(F, with_library)
    for option in reversed(
        (
            click.option("--miir-lib", type=FILE, help="Take kernels that this library of the provider generates."),
            click.option("--miir-header", type=FILE, help="The header installed with it, or with its generator."),
            click.option(
                "--miir-link", multiple=True, metavar="ARG", help="For a static archive: as -lz, for its link."
            ),
        )
    ):
        wrapped = option(wrapped)
    return wrapped


def _library(file: Path | None, header: Path | None, link_with: tuple[str, ...]) -> Library | None:
    if header is None:
        if file is None:
            return None
        raise UserError("--miir-lib needs --miir-header", next_step="give the Miir.h that is installed with it")
    from relmgr.workflows.smoke_provider import Library

    return Library(file=file, header=header, link_with=link_with)
