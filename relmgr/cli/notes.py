"""`relmgr notes`: what a range brings, for people who upgrade or go back."""

from __future__ import annotations

from relmgr.cli import lazy_group

group = lazy_group(
    "notes",
    "Release notes of a range of the consumer, over both repositories.",
    {
        "show": ("relmgr.cli.notes_show:show", "The notes of FROM..TO, of a release tag, or of a train."),
        "write": (
            "relmgr.cli.notes_write:write",
            "Insert or update the section in the change log: a plan, or --apply.",
        ),
        "check": (
            "relmgr.cli.notes_show:check",
            "What changed and is not told; a pull request's entry as it will read.",
        ),
    },
)
