"""`relmgr kdb prune`: plan, write, swap."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

from relmgr.errors import SourceError, UserError
from relmgr.model.kernel_db import FileScan, PrunePlan
from relmgr.sinks.kernel_db import NEW, write_pruned
from relmgr.sources.databases.files import is_packed, sha256_of
from relmgr.sources.databases.scan import ScanRules, scan_file
from relmgr.workflows.kdb import Target


def prune_database(path: Path, out: Path | None, target: Target, rules: ScanRules, *, apply: bool) -> PrunePlan:
    """Plan, or with `apply` write, the database at `path` without its stale rows.

    `out` None: the new database takes the old one's place, and the old one is kept under another name.
    """
    # A link stays a link: what is swapped is the file behind it. Any other path is shown as it was given.
    path = path.resolve() if path.is_symlink() else path
    sha256 = sha256_of(path)
    scan = scan_file(path, replace(rules, most_stale_rows=sys.maxsize))
    plan = plan_prune(scan, path, out, target)
    if not apply or plan.removed == 0:
        return plan
    new = out or path.with_name(f"{path.name}{NEW}{'.bz2' if is_packed(path) else ''}")
    written = write_pruned(
        path, new, [row.id for row in scan.stale_rows], sha256, swap_abi=plan.abi if out is None else None
    )
    kept = str(written.kept_old) if written.kept_old else None
    done = {"applied": True, "verified": True, "size_after": written.size, "kept_old": kept}
    return plan.model_copy(update=done)


def plan_prune(scan: FileScan, path: Path, out: Path | None, target: Target) -> PrunePlan:
    """Return what a prune would remove, or raise when the database cannot be judged."""
    if target.abi is None or target.convention == "unknown":
        what = target.source if target.abi is None else f"no convention is declared for ABI {target.abi}"
        raise UserError(f"cannot tell which rows are stale: {what}", next_step="give --abi N, with a known convention")
    if scan.state != "ok":
        why = "; ".join(finding.why for finding in scan.findings) or scan.state
        next_step = "name a kernel database that `relmgr kdb scan` can read"
        raise SourceError(f"cannot be pruned: {why}", where=str(path), next_step=next_step)
    trouble = tuple(finding for finding in scan.findings if finding.kind in ("corrupt-row", "unknown-row", "more-rows"))
    rows, removed = scan.rows or 0, len(scan.stale_rows)
    return PrunePlan(
        path=str(path),
        out=str(out or path),
        abi=target.abi,
        convention=target.convention,
        swap=out is None,
        applied=False,
        rows=rows,
        removed=removed,
        remaining=rows - removed,
        removed_by_solver=dict(sorted(Counter(row.solver or "?" for row in scan.stale_rows).items())),
        kept_for_trouble=trouble,
        size_before=scan.bytes or 0,
    )
