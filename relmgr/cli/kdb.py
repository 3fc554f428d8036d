"""`relmgr kdb`: what is in kernel databases and caches, what changed, and taking stale rows out."""

from __future__ import annotations

from relmgr.cli import lazy_group

group = lazy_group(
    "kdb",
    "Kernel databases: scan, compare, prune, extract; tuning databases.",
    {
        "scan": ("relmgr.cli.kdb_scan:scan", "Rows by convention, stale rows under an ABI, corrupt rows, pointers."),
        "diff": ("relmgr.cli.kdb_scan:diff", "What changed between two databases; changed kernel arguments."),
        "tuning": ("relmgr.cli.kdb_scan:tuning", "Solvers named in find-dbs and perf-dbs; entries of removed ones."),
        "prune": ("relmgr.cli.kdb_write:prune", "A database without its stale rows (a plan until --apply)."),
        "extract": ("relmgr.cli.kdb_write:extract", "Code objects of rows, as files (a plan until --apply)."),
        "ticket": ("relmgr.cli.kdb_ticket:ticket", "Tickets that get stale databases rebuilt, one an arch."),
    },
)
