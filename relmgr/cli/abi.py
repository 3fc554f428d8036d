"""`relmgr abi`: the kernel ABI number and everything it is read from."""

from __future__ import annotations

from relmgr.cli import lazy_group

group = lazy_group(
    "abi",
    "The kernel ABI number, header differences, guards, code objects.",
    {
        "show": ("relmgr.cli.abi_header:show", "The number and convention at a provider ref."),
        "diff": ("relmgr.cli.abi_header:diff", "What changed in the provider's header between two refs."),
        "guards": ("relmgr.cli.abi_guards:guards", "The consumer's guards on the number; dead branches."),
        "inspect": ("relmgr.cli.abi_inspect:inspect", "Argument layouts of code objects."),
    },
)
