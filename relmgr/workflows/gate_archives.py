"""The archives behind the digests of a subject's pins, read from the forge: the same tree, or a moved tag."""

from __future__ import annotations

from relmgr.errors import RelmgrError
from relmgr.model.facts import PinDigest
from relmgr.model.pins import PinSide
from relmgr.model.project import Project
from relmgr.model.snapshot import Snapshot
from relmgr.sources.pins.archive import ArchiveSource, differing_paths
from relmgr.sources.provider.refs import ProviderRefs


def with_archives(project: Project, snapshot: Snapshot, archives: ArchiveSource) -> Snapshot:
    """Return the snapshot with the digest of each archive that a touched pin names (P1); one not read stays unread."""
    sides = {move.pin: move.new for move in snapshot.pin_moves or ()}
    found = tuple(_compared(project, one, sides.get(one.pin), archives) for one in snapshot.pin_digests or ())
    return snapshot.model_copy(update={"pin_digests": found}) if found else snapshot


def _compared(project: Project, known: PinDigest, side: PinSide | None, archives: ArchiveSource) -> PinDigest:
    provider = project.repositories[project.pin(known.pin).provider]
    if known.archive is not None or side is None:
        return known
    try:
        archive = archives.read(side.repository or provider.slug, known.ref)
        clone = ProviderRefs(provider).clone
        commit = clone.resolve(known.ref) if clone else None
        same = not differing_paths(archive, clone, commit) if clone and commit else None
    except RelmgrError:
        return known
    return known.model_copy(update={"archive": archive.digest, "same_tree": same})
