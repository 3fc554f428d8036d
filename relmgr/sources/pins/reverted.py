"""Bumps that were taken back (P11): read once, for new bumps and for the gate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from relmgr.model.pins import PinChange
from relmgr.sources.git.clone import Clone


class RevertedBump(NamedTuple):
    """A bump and the commit that took it back; `commit` is what its ref means at the provider, None: not told."""

    bump: PinChange
    revert: PinChange
    commit: str | None


def reverted_bumps(changes: Iterable[PinChange], provider: Clone | None) -> list[RevertedBump]:
    """Return every bump of a pin's history that was reverted, in the order of the reverts."""
    by_commit = {change.commit: change for change in changes}
    pairs = [(by_commit[one.reverts], one) for one in by_commit.values() if one.reverts in by_commit]
    return [
        RevertedBump(bump, revert, provider.resolve(bump.new.ref) if provider else None)
        for bump, revert in pairs
        if bump.new is not None
    ]
