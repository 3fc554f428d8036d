"""Several consumers of one provider, at a release: one library serves them all."""

from __future__ import annotations

from collections.abc import Callable

from relmgr.gate.registry import NoParams, Result, check
from relmgr.model.base import Noun, Outcome
from relmgr.model.facts import ConsumerPin
from relmgr.model.snapshot import Snapshot


class ConsumersEvidence(Noun):
    """Every consumer's pin, and the providers over whom they differ."""

    consumers: tuple[ConsumerPin, ...]
    providers: tuple[str, ...]


@check("consumers-same-convention-at-release")
def consumers_same_convention(snapshot: Snapshot, params: NoParams) -> Result[ConsumersEvidence]:
    """All consumers of a provider build against one kernel convention."""
    return _same(snapshot, "convention", lambda one: None if one.convention == "unknown" else one.convention)


@check("consumers-same-commit-at-release")
def consumers_same_commit(snapshot: Snapshot, params: NoParams) -> Result[ConsumersEvidence]:
    """All consumers of a provider pin one commit."""
    return _same(snapshot, "commit", lambda one: one.commit)


def _same(snapshot: Snapshot, what: str, value: Callable[[ConsumerPin], str | None]) -> Result[ConsumersEvidence]:
    consumers = snapshot.consumers or ()
    by_provider: dict[str, set[str]] = {}
    for one in consumers:
        by_provider.setdefault(one.provider, set()).update({value(one) or ""} - {""})
    differ = tuple(sorted(provider for provider, values in by_provider.items() if len(values) > 1))
    unread = tuple(
        f"consumers: the {what} at the pin {f'{one.ref} of ' if one.ref else 'of '}{one.consumer}"
        + (f" ({one.note})" if one.note else "")
        for one in consumers
        if not value(one)
    )
    outcome = Outcome.FAILED if differ else Outcome.UNKNOWN if unread else Outcome.PASSED
    evidence = ConsumersEvidence(consumers=consumers, providers=differ)
    return Result(outcome, evidence, unread if outcome is Outcome.UNKNOWN else ())
