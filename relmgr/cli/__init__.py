"""The command line: one thin module per command group, imported only when its command is called."""

from __future__ import annotations

import importlib
import re
from typing import Any

import click

from relmgr import __version__
from relmgr.errors import UserError

# Command name -> module, and the line shown by `--help`: so that help imports no command.
Commands = dict[str, tuple[str, str]]

COMMANDS: Commands = {
    "demo": ("relmgr.cli.demo:demo", "The 2022 story, offline: see what relmgr does."),
    "status": ("relmgr.cli.status:status", "Where things stand: pin, ABI, databases; or all releases."),
    "audit": ("relmgr.cli.audit:audit", "Replay the whole history: every hazard, every stale release."),
    "pin": ("relmgr.cli.pin:group", "The compiler pin: now, over history, and its safety checks."),
    "abi": ("relmgr.cli.abi:group", "The kernel ABI number, header differences, guards, code objects."),
    "kdb": ("relmgr.cli.kdb:group", "Kernel databases: scan, compare, prune, extract; tuning databases."),
    "order": ("relmgr.cli.order:group", "The merge order across repositories; what a pull request declares."),
    "gate": ("relmgr.cli.gate:group", "May it merge? If not: why, until when, what to do next."),
    "policy": ("relmgr.cli.policy:group", "Add a policy, and run the cases of policies."),
    "train": ("relmgr.cli.trains:group", "Release trains: cuts, freezes, first tags; calendar against repository."),
    "cut": ("relmgr.cli.cut:group", "Cut a release branch: plan, checklist, and cutting it in all repositories."),
    "backport": ("relmgr.cli.backport:backport", "Take a change to a release branch; reverts that branches lack."),
    "smoke": ("relmgr.cli.smoke:group", "Small kernels under the ABI, on this machine's device."),
    "notes": ("relmgr.cli.notes:group", "Release notes of a range, and the change log's section."),
    "config": ("relmgr.cli.config:group", "A project file to begin with; what a project's settings mean."),
    "schema": ("relmgr.cli.config:schema", "Print the JSON Schema of a document."),
}


_OPTION = re.compile(r"--[a-z][a-z-]*")


class LazyGroup(click.Group):
    """A group that knows its commands' names and help lines, and imports one when it is called."""

    def __init__(self, *args: Any, lazy: Commands, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the command names."""
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        if cmd_name not in self.lazy:
            return None
        module, _, attribute = self.lazy[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command list without importing the commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self.lazy.items()])


def lazy_group(name: str, help_text: str, commands: Commands) -> LazyGroup:
    """Return the group `name` whose `commands` are imported one by one, when called."""
    return LazyGroup(name=name, help=help_text, lazy=commands)


class Root(LazyGroup):
    """The command itself."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse an option whose value is empty: `--ref "$UNSET"` would silently mean the default."""
        ours = args[: args.index("--")] if "--" in args else args
        for option, value in zip(ours, [*ours[1:], None], strict=True):
            name = option.removesuffix("=") if option.endswith("=") else option
            if _OPTION.fullmatch(name) and (option != name or value == ""):
                raise UserError(f"{name} has an empty value", next_step="give it one, or leave the option out")
        return super().parse_args(ctx, args)


@click.command(cls=Root, lazy=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="relmgr")
def root() -> None:
    """Keep a pinned kernel compiler honest.

    relmgr reads the repositories of a GPU library and of the compiler it pins, tells what a pin move does to the kernel
    ABI and to shipped kernel databases, and holds merges, cuts and releases to written policy.
    """
