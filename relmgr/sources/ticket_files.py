"""Read what a person hands to `kdb ticket`: scans, databases to scan, and lists of tickets that are there already."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from relmgr.errors import SourceError, UserError
from relmgr.model.base import Convention
from relmgr.model.kernel_db import FileScan, KdbScan
from relmgr.model.ticket import ExistingTicket, ScannedFile, TicketState
from relmgr.model.ticket_block import NotATicket, parse_block
from relmgr.sources.databases.scan import ScanRules, scan_file
from relmgr.sources.json_files import read_json

MAX_SCAN_BYTES = 512 << 20
MAX_TICKETS_BYTES = 64 << 20
_CHUNK = 1 << 20
_SCAN = "write one with `relmgr kdb scan FILE... --format json --out SCAN.json`"


def read_scan(file: Path, convention: Convention) -> tuple[ScannedFile, ...]:
    """Return the files of a `kdb scan --format json` document, with stale rows counted under `convention`."""
    try:
        scan = KdbScan.model_validate(read_json(file, MAX_SCAN_BYTES, _SCAN))
    except ValidationError as error:
        mistake = error.errors()[0]
        name = ".".join(str(part) for part in mistake["loc"])
        raise UserError(
            f"not a scan: {name}: {mistake['msg']}",
            where=str(file),
            next_step=_SCAN,
        ) from None
    judged = scan.convention == convention
    # Under a number without a declared convention every row was counted as unknown; its own convention still tells.
    return tuple(_scanned(one, judged, scan.abi is None or scan.convention != "unknown") for one in scan.files)


def scan_databases(paths: Sequence[Path], rules: ScanRules) -> tuple[ScannedFile, ...]:
    """Scan database files, and take the digests by which git, Git LFS and DVC would name their bytes."""
    found = []
    for path in paths:
        scan = _scanned(scan_file(path, rules), True, rules.convention != "unknown")
        found.append(scan.model_copy(update={"content_ids": content_ids(path)}))
    return tuple(found)


def content_ids(path: Path) -> tuple[str, ...]:
    """Return sha256 (Git LFS), md5 (DVC) and git's blob id of a file's bytes, in hex."""
    try:
        with path.open("rb") as file:
            digests = [hashlib.sha256(), hashlib.md5(usedforsecurity=False), hashlib.sha1(usedforsecurity=False)]
            digests[2].update(b"blob %d\0" % path.stat().st_size)
            while chunk := file.read(_CHUNK):
                for digest in digests:
                    digest.update(chunk)
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", where=str(path)) from None
    return tuple(digest.hexdigest() for digest in digests)


def _scanned(scan: FileScan, judged: bool, target_known: bool) -> ScannedFile:
    stale = Counter(row.solver or "?" for row in scan.stale_rows)
    all_listed = judged and scan.stale is not None and scan.stale == len(scan.stale_rows)
    readable = scan.state == "ok"
    unknown = scan.unknown if target_known else scan.conventions.get("unknown", 0)
    # `other` rows are not the provider's.
    conventions = {name: rows for name, rows in scan.conventions.items() if name != "other"}
    return ScannedFile(
        path=scan.path,
        size=scan.bytes,
        state=scan.state,
        provider_rows=scan.mlir_rows if readable else None,
        conventions=conventions,
        solvers=scan.counts.solvers,
        stale_solvers=dict(stale) if all_listed else None,
        unknown=unknown or 0,
        corrupt=scan.corrupt or 0,
        note="" if readable else "; ".join(finding.why for finding in scan.findings[:3]),
    )


def read_existing(file: Path) -> tuple[tuple[ExistingTicket, ...], tuple[str, ...]]:
    """Return the tickets that a list holds, and why some of its entries could not be read.

    The list is a `kdb ticket` document, issues as GitHub gives them (`body`, `state`, `state_reason`, `html_url`), or
    written by hand: `{consumer, train, arch, state, url}` for a rebuild that is planned without relmgr.
    """
    document = read_json(file, MAX_TICKETS_BYTES, "give a JSON list of objects")
    entries = document.get("tickets") if isinstance(document, dict) else document
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UserError("not a list of tickets", where=str(file), next_step="give a JSON list of objects")
    found, gaps = [], []
    for number, entry in enumerate(entries, 1):
        try:
            ticket = _existing(entry)
        except (NotATicket, ValidationError) as error:
            why = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
            gaps.append(f"{entry.get('html_url') or entry.get('url') or f'ticket {number} of {file.name}'}: {why}")
            continue
        if ticket is not None:
            found.append(ticket)
    return tuple(found), tuple(gaps)


def _existing(entry: dict[str, Any]) -> ExistingTicket | None:
    """Return one entry as a ticket, None for an issue that is no regeneration ticket."""
    body = entry.get("body")
    data = parse_block(body) if isinstance(body, str) else None
    # GitHub's `url` is that of its API; `html_url` is the page for people.
    url = entry.get("html_url") or entry.get("url")
    state = _state(entry)
    if data is not None:
        key = data.key
        return ExistingTicket(
            consumer=key.consumer, train=key.train, arch=key.arch, state=state, url=url, body=body, data=data
        )
    if {"consumer", "train", "arch"} <= set(entry):
        fields = {name: entry[name] for name in ("consumer", "train", "arch")}
        return ExistingTicket(**fields, state=state, url=url, body=body if isinstance(body, str) else None)
    return None


def _state(entry: dict[str, Any]) -> TicketState:
    state = entry.get("state", "open")
    if state == "closed":
        return "withdrawn" if entry.get("state_reason") == "not_planned" else "done"
    if state in ("open", "done", "withdrawn"):
        return state  # type: ignore[no-any-return]
    raise NotATicket(f"its state {str(state)[:40]!r} is not open, closed, done or withdrawn")


def check_values(pairs: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Return `NAME=VALUE` pairs as a mapping; a value must be one plain shell word."""
    names, found = list(known), {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or name not in names:
            allowed = ", ".join(names) or "none: the project has no recipe"
            raise UserError(f"--fill {pair!r}: not NAME=VALUE of the recipe", next_step=f"names: {allowed}")
        if not re.fullmatch(r"[A-Za-z0-9._,:/+][A-Za-z0-9._,:/+-]*", value):
            raise UserError(f"--fill {pair!r}: the value is not one plain word", next_step="use letters and digits")
        found[name] = value
    return found
