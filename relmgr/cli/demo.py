"""`relmgr demo`: the 2022 story, offline."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path

import click

from relmgr.cli.paths import FOLDER
from relmgr.errors import EXIT_OK, run_to_exit_code

SHOWN_LINES = 14


@click.command()
@click.option("--out", type=FOLDER, default=Path("relmgr-demo"), show_default=True)
def demo(out: Path) -> int:
    """Tell the 2022 story on repositories rebuilt at run time: offline, in seconds, with relmgr's own commands."""
    from relmgr.workflows.demo import ToldChapter, rebuild, tell, write_report

    click.echo(f"Rebuilding MIOpen and rocMLIR, as far as the recorded tables tell, in {out}/ ...")
    repositories = rebuild(out)
    chapters: list[ToldChapter] = []
    for chapter in tell(out, repositories, _run):
        chapters.append(chapter)
        lines = chapter.text.rstrip().splitlines()
        click.echo(f"\n{len(chapters)}. {click.style(chapter.title, bold=True)}\n   {chapter.why}")
        click.echo(f"   $ relmgr {chapter.command}\n")
        click.echo("\n".join(f"   {line}" for line in lines[:SHOWN_LINES]))
        if len(lines) > SHOWN_LINES:
            click.echo(f"   ... {len(lines) - SHOWN_LINES} more lines in the report")
    click.echo(f"\nThe whole story: {write_report(out, chapters)}")
    return EXIT_OK


def _run(args: list[str]) -> tuple[int, str]:
    """Run one relmgr command in this process and return its exit code and what it printed."""
    from relmgr.cli import root

    said = io.StringIO()
    with redirect_stdout(said):
        code = run_to_exit_code(lambda **options: root.main(args=args, prog_name="relmgr", **options))
    return code, said.getvalue()
