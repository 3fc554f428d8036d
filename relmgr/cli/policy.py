"""`relmgr policy`: stubs of a new policy, and the cases of policies."""

from __future__ import annotations

from pathlib import Path

import click

from relmgr.cli.options import output_options
from relmgr.cli.output import Output
from relmgr.cli.paths import FOLDER
from relmgr.errors import EXIT_BLOCKED, EXIT_OK


@click.group(name="policy")
def group() -> None:
    """Add a policy, and run the cases of policies."""


@group.command()
@click.argument("policy_id", metavar="ID")
@click.option("--folder", type=FOLDER, default=Path("policies/rules"), show_default=True, help="Where rules stand.")
@click.option("--cases", type=FOLDER, help="Where cases stand (default: tests/cases for policies/rules, else cases/).")
@click.option("--check", "check_name", default="pin-moves-forward", show_default=True, help="The check it names.")
@click.option("--apply", "apply_", is_flag=True, help="Write the files; without it only say which.")
@output_options
def new(
    policy_id: str,
    folder: Path,
    cases: Path | None,
    check_name: str,
    apply_: bool,
    output: Output,
) -> int:
    """Write a policy's file and its three cases, ready to be filled in."""
    from relmgr.workflows.policies import new_policy

    document = new_policy(policy_id, folder, cases, check_name, apply=apply_)
    output.emit(document, template="policy/new")
    return EXIT_OK


@group.command()
@click.argument("policy_id", metavar="ID", required=False)
@click.option("--folder", type=FOLDER, default=Path("policies/rules"), show_default=True, help="Where rules stand.")
@click.option("--cases", type=FOLDER, help="Where cases stand (default: tests/cases for policies/rules, else cases/).")
@output_options
def test(policy_id: str | None, folder: Path, cases: Path | None, output: Output) -> int:
    """Run the cases of one policy, or of all in the folder; exit code 1 when one is not as expected."""
    from relmgr.workflows.policies import run_cases

    document = run_cases(policy_id, folder, cases)
    output.emit(document, template="policy/test")
    return EXIT_BLOCKED if any(result.problem for result in document) else EXIT_OK
