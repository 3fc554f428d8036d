"""`relmgr order`: the merge order across repositories."""

from __future__ import annotations

from relmgr.cli import lazy_group

group = lazy_group(
    "order",
    "The merge order across repositories, and what a pull request declares about it.",
    {
        "plan": ("relmgr.cli.order_commands:plan", "What may merge now, and what waits for what."),
        "parse": ("relmgr.cli.order_commands:parse", "What one pull request's body declares."),
    },
)
