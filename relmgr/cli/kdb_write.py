"""`relmgr kdb prune` and `extract`: a plan until `--apply`."""

from __future__ import annotations

from pathlib import Path

import click

from relmgr.cli.kdb_scan import default_jobs, scan_options
from relmgr.cli.options import Chosen, output_options, pin_option, project_options
from relmgr.cli.output import Output
from relmgr.cli.paths import FILE, FOLDER, NEW_FILE
from relmgr.errors import EXIT_OK, EXIT_SOURCE, UserError


@click.command()
@click.argument("file", type=FILE)
@scan_options
@click.option("--out", "new", type=NEW_FILE, metavar="NEW", help="The database to write.")
@click.option("--swap", is_flag=True, help="Put the new database in FILE's place; FILE is kept as FILE.before-abi-N.")
@click.option("--apply", is_flag=True, help="Write it; without this only the plan is shown.")
@project_options
@pin_option
@click.option("--format", "format_", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True)
@click.option("--quiet", is_flag=True, help="Print only errors; the exit code says the rest.")
def prune(
    file: Path,
    abi: int | None,
    deep: bool,
    jobs: int | None,
    new: Path | None,
    swap: bool,
    apply: bool,
    chosen: Chosen,
    pin_name: str | None,
    format_: str,
    quiet: bool,
) -> int:
    """Write FILE without the rows that are stale under ABI N.

    Only rows known to be stale go; corrupt ones and those that could not be judged stay, and are named. The new
    database is built beside, every remaining row compared byte for byte, then renamed. --out writes NEW and leaves FILE
    alone; --swap replaces FILE in one step. Ends with 3 when rows stayed that could not be judged.
    """
    from relmgr.workflows.kdb import scan_rules, target_abi
    from relmgr.workflows.kdb_prune import prune_database
    from relmgr.workflows.locate import named_pin

    if (new is None) != swap:
        raise UserError("say where the new database goes", next_step="give either --out NEW or --swap")
    loaded = chosen.load()
    pin = named_pin(loaded, pin_name)
    target = target_abi(loaded, pin, abi)
    rules = scan_rules(loaded, pin, target, fast=False, deep=deep, jobs=jobs or default_jobs())
    document = prune_database(file, new, target, rules, apply=apply)
    Output(format_, quiet=quiet).emit(document, template="kdb/prune")
    return EXIT_SOURCE if document.kept_for_trouble else EXIT_OK


@click.command()
@click.argument("file", type=FILE)
@click.option("--id", "ids", type=int, multiple=True, metavar="ID", help="A row's id (repeatable).")
@click.option("--name", "pattern", metavar="PATTERN", help="Rows whose kernel name matches this regular expression.")
@click.option("--to", type=FOLDER, required=True, metavar="FOLDER", help="Where the files go.")
@click.option("--apply", is_flag=True, help="Write them; without this only the plan is shown.")
@output_options
def extract(
    file: Path,
    ids: tuple[int, ...],
    pattern: str | None,
    to: Path,
    apply: bool,
    output: Output,
) -> int:
    """Write the code objects of FILE's rows to a folder; `relmgr abi inspect` reads them.

    Without --id and --name all rows. Ends with 3 when an object could not be taken out.
    """
    import re

    from relmgr.sinks.kernel_objects import extract_objects

    if pattern is not None:
        try:
            re.compile(pattern)
        except re.error as error:
            raise UserError(f"--name: not a regular expression: {error}", next_step="correct it") from None
    document = extract_objects(file, to, ids=ids, pattern=pattern, apply=apply)
    output.emit(document, template="kdb/extract")
    return EXIT_SOURCE if any(found.error for found in document.objects) else EXIT_OK
