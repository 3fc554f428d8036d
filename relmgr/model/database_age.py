"""What a database's age says under an ABI crossing. Changed is not regenerated; repacked is not rebuilt."""

from __future__ import annotations

from collections.abc import Iterable

from relmgr.model.audit import DatabaseState, ReleaseFacts, ReleaseRow
from relmgr.model.audit import ReleaseDatabase as Shown
from relmgr.model.databases import DatabaseFact
from relmgr.model.ticket import ScannedFile


def scan_of(fact: DatabaseFact, scans: Iterable[ScannedFile]) -> ScannedFile | None:
    """Return the scan of the same content, if there is one that could be read."""
    return next((s for s in scans if fact.oid in s.content_ids and s.provider_rows is not None), None)


def stale_rows(scan: ScannedFile, release: ReleaseFacts) -> int | None:
    """Return how many rows of a scan take arguments otherwise than the release's number says; None: cannot tell."""
    now = release.abi.convention if release.abi else "unknown"
    known = {name: rows for name, rows in scan.conventions.items() if name in ("memref-descriptor", "bare-pointer")}
    stale = sum(rows for name, rows in known.items() if name != now)
    undecided = scan.unknown + scan.corrupt
    if now == "unknown" or (undecided and not stale):
        return None
    return stale


def database_state(fact: DatabaseFact, release: ReleaseFacts, scans: Iterable[ScannedFile] = ()) -> DatabaseState:
    """Return what is known of one database of a release; a scan of the same content decides over its age."""
    scan = scan_of(fact, scans)
    stale = stale_rows(scan, release) if scan else None
    if stale is not None:
        return "stale" if stale else "fresh"
    if release.abi is None or release.abi.convention == "unknown" or release.state.gaps:
        return "unknown"
    if release.crossing is None:
        return "no-crossing"
    if fact.introduced is None or fact.after_crossing is None:
        return "unknown"
    if not fact.after_crossing:
        # A bump that was reverted leaves the older kernels right again.
        return "fits" if fact.built_under == release.abi.convention else "suspected"
    return "repacked" if fact.introduced.repacked_from else "changed-since"


def release_row(release: ReleaseFacts, scans: Iterable[ScannedFile] = ()) -> ReleaseRow:
    """Return the compatibility table's row of one release."""
    pin = release.state.pin
    return ReleaseRow(
        release=release.tag,
        pin=pin.ref if pin else None,
        number=release.abi.number if release.abi else None,
        convention=release.abi.convention if release.abi else "unknown",
        databases=tuple(Shown(path=f.path, state=database_state(f, release, scans)) for f in release.databases),
    )
