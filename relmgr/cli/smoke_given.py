"""Options of `relmgr smoke run` alone: what its report is bound to, a kernel that is at hand, and files to write."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from relmgr.cli.output import words_in_force, write_file
from relmgr.cli.paths import FILE, NEW_FILE
from relmgr.cli.smoke_options import gathered
from relmgr.errors import UserError

if TYPE_CHECKING:
    from relmgr.model.smoke import SmokeRun
    from relmgr.workflows.smoke_given import Given


@dataclass(frozen=True)
class Bound:
    """What the report is to be bound to; None for what the pin and the clones tell."""

    ref: str | None
    pinned: str | None
    head: str | None


@dataclass(frozen=True)
class GivenKernel:
    """A kernel to launch instead of the matrix, as the options name it; all None for the matrix."""

    code_object: Path | None
    kernel: str | None
    problem: str | None
    kdb: Path | None
    row: int | None
    blocks: int | None
    block: int | None

    def read(self) -> tuple[Given, tuple[int, int]] | None:
        """Return the kernel and its launch's size; None for the matrix. Raises `UserError` for half of an order."""
        if self.code_object is None and self.kdb is None:
            return None
        from relmgr.workflows.smoke_given import read_code_object_file, read_database_row

        if self.blocks is None or self.block is None:
            raise UserError("a launch needs --blocks and --block", next_step="give both, as the provider tells them")
        size = (self.blocks, self.block)
        if self.kdb is not None:
            if self.row is None or self.code_object is not None:
                raise UserError(
                    "--kdb needs --row, and no --code-object", next_step="choose a row with `relmgr kdb scan`"
                )
            return read_database_row(self.kdb, self.row), size
        if self.code_object is None or self.problem is None:
            raise UserError("--code-object needs --options", next_step="give those that the kernel was compiled from")
        return read_code_object_file(self.code_object, self.kernel, self.problem), size


@dataclass(frozen=True)
class ReportFiles:
    """The files that get the report too."""

    json_file: Path | None
    junit: Path | None
    html: Path | None

    def write(self, done: SmokeRun) -> None:
        """Write those that were asked for."""
        if self.json_file is not None:
            from relmgr.render.engine import to_json

            write_file(self.json_file, to_json(done.report))
        if self.junit is not None:
            from relmgr.render.junit import render_junit

            write_file(self.junit, render_junit(done))
        if self.html is not None:
            from relmgr.workflows.smoke import run_view

            write_file(self.html, words_in_force().render("smoke/run.html.j2", d=done.report, **run_view(done)))


bound_options = gathered(
    "bound",
    Bound,
    click.option("--ref", metavar="REF", help="Consumer's ref whose pin is under test (default: the default branch)."),
    click.option("--pinned", metavar="REF", help="Provider's ref that the report is bound to (default: the pin's)."),
    click.option("--head", metavar="COMMIT", help="Consumer's commit that the report is bound to (default: of --ref)."),
)

given_options = gathered(
    "given",
    GivenKernel,
    click.option("--code-object", type=FILE, help="Launch a kernel of this file instead of the matrix."),
    click.option("--kernel", metavar="NAME", help="With --code-object: which kernel (default: its only one)."),
    click.option("--options", "problem", metavar="TEXT", help="With --code-object: the options it was compiled from."),
    click.option("--kdb", type=FILE, help="Launch the kernel of a database's row instead of the matrix."),
    click.option("--row", type=int, metavar="ID", help="With --kdb: which row."),
    click.option("--blocks", type=click.IntRange(1), metavar="N", help="Blocks of that launch; no file tells them."),
    click.option("--block", type=click.IntRange(1, 1024), metavar="N", help="Threads of each block."),
)

file_options = gathered(
    "files",
    ReportFiles,
    click.option("--json", "json_file", type=NEW_FILE, help="Also write the report, as JSON."),
    click.option("--junit", type=NEW_FILE, help="Also write JUnit XML."),
    click.option("--html", type=NEW_FILE, help="Also write the matrix as one HTML page."),
)
