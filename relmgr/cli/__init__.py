"""The command line: one thin module per command group, imported only when its command is called."""

from __future__ import annotations

import importlib

import click

from relmgr import __version__

# Command name -> module, and the line shown by `relmgr --help`: so that help imports no group.
COMMANDS = {
    "pin": ("relmgr.cli.pin:group", "The compiler pin: now, over history, and its safety checks."),
    "abi": ("relmgr.cli.abi:group", "The kernel ABI number, header differences, guards, code objects."),
    "config": ("relmgr.cli.config:group", "Check a project's settings."),
    "schema": ("relmgr.cli.config:schema", "Print the JSON Schema of a document."),
}


class LazyGroup(click.Group):
    """A group that knows its commands' names and help lines, and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the command names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command list without importing the commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="relmgr")
def root() -> None:
    """Keep a pinned kernel compiler honest.

    relmgr reads the repositories of a GPU library and of the compiler it pins, tells what a pin move does to the kernel
    ABI and to shipped kernel databases, and holds merges, cuts and releases to written policy.
    """
