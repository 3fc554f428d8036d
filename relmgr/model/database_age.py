"""What a database's age says under an ABI crossing. Changed is not regenerated; repacked is not rebuilt."""

from __future__ import annotations

from collections.abc import Mapping

from relmgr.model.audit import DatabaseState, ReleaseFacts, ReleaseRow, ScannedDatabase
from relmgr.model.audit import ReleaseDatabase as Shown
from relmgr.model.databases import DatabaseFact


def database_state(
    fact: DatabaseFact, release: ReleaseFacts, scans: Mapping[str, ScannedDatabase] | None = None
) -> DatabaseState:
    """Return what is known of one database of a release; a scan of the same content decides over its age."""
    scan = (scans or {}).get(fact.oid)
    if scan is not None and scan.stale is not None:
        return "stale" if scan.stale else "fresh"
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


def release_row(release: ReleaseFacts, scans: Mapping[str, ScannedDatabase] | None = None) -> ReleaseRow:
    """Return the compatibility table's row of one release."""
    pin = release.state.pin
    return ReleaseRow(
        release=release.tag,
        pin=pin.ref if pin else None,
        number=release.abi.number if release.abi else None,
        convention=release.abi.convention if release.abi else "unknown",
        databases=tuple(Shown(path=f.path, state=database_state(f, release, scans)) for f in release.databases),
    )
