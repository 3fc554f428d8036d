"""Where a pinned commit stands in the provider's history: read once, for `pin check`, bumps and the gate."""

from __future__ import annotations

from relmgr.model.facts import PinAncestry
from relmgr.sources.git.clone import NamedRef
from relmgr.sources.provider.refs import ProviderRefs

SHOWN = 5


def place_pin(pin: str, old: str | None, new: str, refs: ProviderRefs, named: NamedRef | None = None) -> PinAncestry:
    """Return where the ref `new` of the pin called `pin` leads, seen from the ref `old` (None: there was none).

    `named` is what `new` means, where that is known already. A remote shows its tips only: then a branch that holds the
    commit is told where one is seen, and "none" is not. Raises `SourceError` when the provider cannot be asked.
    """
    named = named or refs.name_ref(new)
    if named is None or named.commit is None:
        note = f"{new} is not in {refs.where}"
        tag = named.tag_object if named else None
        return PinAncestry(pin=pin, forward=None, branches=None, tag_object=tag, note=note)
    reach = refs.reachability(named.commit)
    branches = tuple(name.split("/", 2)[2] for name in reach.branches[:SHOWN])
    return PinAncestry(
        pin=pin,
        forward=_is_forward(refs, old, named.commit),
        branches=branches if branches or reach.complete else None,
        tags=tuple(name.removeprefix("refs/tags/") for name in reach.tags[:SHOWN]),
        pulls=reach.pulls[:SHOWN],
        tag_object=named.tag_object,
        commit=named.commit,
    )


def _is_forward(refs: ProviderRefs, old: str | None, new: str) -> bool | None:
    before = refs.clone.resolve(old) if refs.clone and old else None
    return refs.clone.is_ancestor(before, new) if refs.clone and before else None
