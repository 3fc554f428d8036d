"""What a change does to the pins, read from clones: moves, sites, ancestry at the provider, reverted refs."""

from __future__ import annotations

from relmgr.errors import RelmgrError
from relmgr.model.facts import PinAncestry, PinAt, PinDigest, PinMove, RevertedPin
from relmgr.model.pins import PinChange, PinSide, PinState, SitePin
from relmgr.model.project import PinConfig, Project
from relmgr.sources.changes.change import Change
from relmgr.sources.git.clone import Clone
from relmgr.sources.pins.classify import abi_change, classify
from relmgr.sources.pins.history import one_branch, pin_history, pin_states
from relmgr.sources.pins.reverted import RevertedBump, reverted_bumps
from relmgr.sources.provider.abi import AbiReader
from relmgr.sources.provider.placing import place_pin
from relmgr.sources.provider.refs import ProviderRefs


class ChangedPins:
    """The pins of one consumer on both sides of a change; `gaps` names each fact that could not be read, and why."""

    def __init__(self, clone: Clone, project: Project, consumer: str, change: Change) -> None:
        self._clone, self._project, self._change = clone, project, change
        self.configs = [pin for pin in project.pins if pin.consumer == consumer]
        self.readers = {pin.name: AbiReader(project, pin) for pin in self.configs}
        self.states = {pin.name: pin_states(clone, project, pin, [change.parent, change.head]) for pin in self.configs}
        self.gaps: dict[str, str] = {}

    def moves(self) -> tuple[PinMove, ...] | None:
        """Return what the change does to each pin that it touches; None when a site could not be read."""
        unread = [gap for states in self.states.values() for state in states for gap in state.gaps]
        if unread:
            self.gaps["pin_moves"] = unread[0]
            return None
        return tuple(
            self._move(pin, *self.states[pin.name]) for pin in self.configs if _differs(*self.states[pin.name])
        )

    def _move(self, pin: PinConfig, before: PinState, after: PinState) -> PinMove:
        kinds = classify(before.pin, after.pin, had_before=False)
        if any(change.commit == self._change.head and change.reverts for change in self._history(pin)):
            kinds = (*kinds, "revert")
        return PinMove(
            pin=pin.name,
            group=pin.group,
            contract=pin.contract,
            provider=self._project.repositories[pin.provider].slug,
            kinds=kinds,
            old=_side(before.pin),
            new=_side(after.pin),
            abi=abi_change(self.readers[pin.name], before.pin, after.pin) if pin.contract else None,
        )

    def after(self) -> tuple[PinAt, ...]:
        """Return every pin as the change leaves it, with the kind of each ref where the provider tells it."""
        found = []
        for pin in self.configs:
            state = self.states[pin.name][1]
            sites = tuple(self._with_kind(pin, site) for site in state.sites)
            found.append(PinAt(pin=pin.name, sites=sites, gaps=state.gaps))
        return tuple(found)

    def _with_kind(self, pin: PinConfig, site: SitePin) -> SitePin:
        if site.ref_kind == "sha":
            return site
        try:
            named = ProviderRefs(self._project.repositories[pin.provider]).name_ref(site.ref)
        except RelmgrError:
            return site
        return site.model_copy(update={"ref_kind": named.kind}) if named and named.kind else site

    def ancestry(self, moves: tuple[PinMove, ...]) -> tuple[PinAncestry, ...] | None:
        """Return where each move leads in the provider's history; None, with a gap, when no provider can be asked."""
        found = []
        for move in moves:
            if not move.moves or move.new is None:
                continue
            provider = self._project.pin(move.pin).provider
            repository = self._project.repositories[provider]
            if repository.path is None:
                self.gaps["pin_ancestry"] = f"no clone of {repository.slug} was given (--repo {provider}=PATH)"
                return None
            try:
                found.append(
                    place_pin(move.pin, move.old.ref if move.old else None, move.new.ref, ProviderRefs(repository))
                )
            except RelmgrError as error:
                self.gaps["pin_ancestry"] = str(error).replace("\n", " ")
                return None
        return tuple(found)

    def digests(self, moves: tuple[PinMove, ...]) -> tuple[PinDigest, ...]:
        """Return every digest that a touched pin carries; the archives themselves are not in a clone."""
        return tuple(
            PinDigest(pin=m.pin, ref=m.new.ref, declared=m.new.digest, archive=None, same_tree=None)
            for m in moves
            if m.new and m.new.digest
        )

    def reverted(self) -> tuple[RevertedPin, ...] | None:
        """Return every ref that was pinned and reverted before this change, on its branch's first parents."""
        found: list[RevertedPin] = []
        try:
            for pin in self.configs:
                provider = ProviderRefs(self._project.repositories[pin.provider]).clone
                bumps = reverted_bumps(self._history(pin), provider)
                found += [_reverted(pin.name, one) for one in bumps if one.revert.commit != self._change.head]
        except RelmgrError as error:
            self.gaps["reverted_pins"] = str(error).replace("\n", " ")
            return None
        return tuple(found)

    def _history(self, pin: PinConfig) -> tuple[PinChange, ...]:
        start = self._change.head if self._change.merged_at else self._change.parent
        return pin_history(self._clone, self._project, pin, one_branch(self._clone, start)).changes


def _differs(before: PinState, after: PinState) -> bool:
    if before.pin is None or after.pin is None:
        return before.pin is not after.pin
    return before.pin.model_copy(update={"line": None}) != after.pin.model_copy(update={"line": None})


def _side(site: SitePin | None) -> PinSide | None:
    if site is None:
        return None
    resolved = site.ref if site.ref_kind == "sha" else None
    return PinSide(**site.model_dump(exclude={"line"}), resolved=resolved)


def _reverted(pin: str, one: RevertedBump) -> RevertedPin:
    return RevertedPin(
        pin=pin,
        ref=one.bump.new.ref if one.bump.new else "",
        commit=one.commit,
        reverted_by=one.revert.commit,
        pr=one.revert.pr,
        reverted_at=one.revert.committed_at,
    )
