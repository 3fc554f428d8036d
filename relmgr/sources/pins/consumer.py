"""What a consumer pins at one commit: every site with what its ref is, and the kernel convention behind it."""

from __future__ import annotations

from relmgr.errors import RelmgrError
from relmgr.model.facts import ConsumerPin, PinAt
from relmgr.model.pins import SitePin
from relmgr.model.project import PinConfig, Project
from relmgr.sources.git.clone import Clone, NamedRef
from relmgr.sources.pins.history import pin_state
from relmgr.sources.provider.abi import AbiReader
from relmgr.sources.provider.refs import ProviderRefs


def read_pins_at(clone: Clone, project: Project, consumer: str, commit: str) -> tuple[PinAt, ...]:
    """Return every pin of a consumer at a commit, with the kind of each ref where the provider tells it."""
    found = []
    for pin in (pin for pin in project.pins if pin.consumer == consumer):
        state = pin_state(clone, project, pin, commit)
        sites = tuple(_with_kind(site, _named(project, pin, site)) for site in state.sites)
        found.append(PinAt(pin=pin.name, sites=sites, gaps=state.gaps))
    return tuple(found)


def read_consumer_pin(clone: Clone, project: Project, pin: PinConfig, commit: str) -> ConsumerPin | None:
    """Return what a consumer builds against at a commit, None when it pins nothing there.

    A branch names no commit: it had another tip then, and will have another one tomorrow.
    """
    state, provider = pin_state(clone, project, pin, commit), project.repositories[pin.provider].slug
    live = state.pin
    if live is None:
        return unread_pin(pin, provider, "; ".join(state.gaps)) if state.gaps else None
    named = _named(project, pin, live)
    kind = named.kind if named and named.kind else live.ref_kind
    pinned = live.ref if live.ref_kind == "sha" else None
    if kind != "branch" and named is not None and named.commit:
        pinned = named.commit
    abi = AbiReader(project, pin).at(live.repository, live.ref, pinned)
    note = ""
    if pinned is None:
        note = (
            "a branch, which moves" if kind == "branch" else f"{provider} does not tell it: --repo {pin.provider}=PATH"
        )
    return ConsumerPin(
        consumer=pin.consumer,
        provider=provider,
        ref=live.ref,
        commit=pinned,
        number=abi.number,
        convention=abi.convention,
        note=abi.source if abi.convention == "unknown" else note,
    )


def unread_pin(pin: PinConfig, provider: str, why: str) -> ConsumerPin:
    """Return a consumer whose pin could not be read."""
    return ConsumerPin(
        consumer=pin.consumer, provider=provider, ref=None, commit=None, number=None, convention="unknown", note=why
    )


def _named(project: Project, pin: PinConfig, site: SitePin) -> NamedRef | None:
    try:
        return ProviderRefs(project.repositories[pin.provider]).name_ref(site.ref)
    except RelmgrError:
        return None


def _with_kind(site: SitePin, named: NamedRef | None) -> SitePin:
    if site.ref_kind == "sha" or named is None or not named.kind:
        return site
    return site.model_copy(update={"ref_kind": named.kind})
