"""The sink that writes nothing: it shows the same actions."""

from __future__ import annotations

from collections.abc import Iterable

from relmgr.model.actions import Action, Done, Posting


class DryRun:
    """Plans every action, applies none."""

    def apply(self, actions: Iterable[Action]) -> Posting:
        """Return what would be applied."""
        wanted = tuple(actions)
        done = tuple(Done(kind=action.kind, target=action.target, outcome="planned") for action in wanted)
        return Posting(dry_run=True, actions=wanted, done=done)
