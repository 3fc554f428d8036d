"""What must be true before a branch is cut: facts to items, items to a plan. Pure.

What can be told from the repositories is `done` or `open`; what could not be read is `open` and says so; what only a
person can tell is `by-hand`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from relmgr.gate.windows import compare_with_repository
from relmgr.model.base import Outcome
from relmgr.model.checklist import (
    Checklist,
    ChecklistItem,
    CutFacts,
    CutPlan,
    CutStep,
    ItemState,
    PinAtCut,
    RepositoryAtCut,
)
from relmgr.model.databases import DatabaseFact
from relmgr.model.times import local_date
from relmgr.model.trains import Window, last_safe_day

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


def evaluate_checklist(facts: CutFacts) -> Checklist:
    """Return the items of a cut, providers before their consumers, each repository's branch last."""
    items = [*_calendar(facts)]
    for repository in facts.repositories:
        for pin in (pin for pin in facts.pins if pin.consumer == repository.name):
            items += _pin(facts, repository, pin)
        items += _repository(facts, repository)
    return Checklist(release=facts.train.name, items=tuple(items))


def plan_cut(facts: CutFacts, checklist: Checklist) -> CutPlan:
    """Return the steps of a cut in order: one branch a repository, each with what still blocks it."""
    steps: list[CutStep] = []
    for number, repository in enumerate(facts.repositories, 1):
        steps.append(_step(facts, checklist, repository, number))
    return CutPlan(
        release=facts.train.name,
        at=facts.at,
        cut=facts.train.cut,
        zone=facts.train.zone,
        last_safe_day=last_safe_day(facts.train),
        frozen=tuple(window for window in facts.windows if window.contains(facts.at)),
        steps=tuple(steps),
        items=checklist.items,
    )


def _step(facts: CutFacts, checklist: Checklist, repository: RepositoryAtCut, number: int) -> CutStep:
    own = [item for item in checklist.items if _concerns(item, repository) and not item.id.endswith("/release-branch")]
    before = [f"{_slug(name)}/release-branch" for name in repository.consumes]
    waits = [item for item in checklist.items if item.id in before]
    blocked = tuple(item.id for item in (*own, *waits) if item.state == "open")
    exists = repository.state.branch is not None
    name = repository.branch or f"a release branch for {facts.train.version}"
    return CutStep(
        number=number,
        repository=repository.slug,
        action=f"{name} is cut" if exists else f"cut {name} from {repository.read_at or facts.train.base_branch}",
        branch=repository.branch,
        from_ref=None if exists else repository.read_at,
        from_commit=repository.state.cut_commit if exists else repository.commit,
        state="done" if exists else "blocked" if blocked else "ready",
        blocked_by=() if exists else blocked,
        by_hand=() if exists else tuple(item.id for item in own if item.state == "by-hand"),
        owner=_owner(facts),
    )


def _concerns(item: ChecklistItem, repository: RepositoryAtCut) -> bool:
    return item.id.split("/")[0] in ("calendar", _slug(repository.name))


# -- the calendar ---------------------------------------------------------------------------------------------------


def _calendar(facts: CutFacts) -> Iterable[ChecklistItem]:
    train = facts.train
    dated = f"{train.cut} ({train.zone})" if train.cut else "the calendar gives none"
    yield _item(facts, "calendar/cut-date", f"The cut of {train.name} has a day", bool(train.cut), dated)
    yield _agreement(facts)
    for contract in dict.fromkeys(pin.contract for pin in facts.pins if pin.contract):
        number = train.abi.get(contract)
        seen = f"{train.name} ships {number}" if number is not None else f"no number under `abi: {{{contract}: ...}}`"
        text = f"The ABI number of {contract} that {train.name} ships is declared"
        yield _item(facts, f"calendar/abi-declared-{_slug(contract)}", text, number is not None, seen)
    text = f"The freeze of {train.base_branch} before the cut is announced"
    seen = "; ".join(_window_seen(window) for window in facts.windows)
    state: ItemState = "done" if seen else "by-hand"
    yield _item(facts, "calendar/freeze", text, state, seen or "the calendar writes no freeze for this train")


def _window_seen(window: Window) -> str:
    start, end = (at.isoformat(sep=" ", timespec="minutes") for at in (window.start, window.end))
    return f"{window.phase.replace('-', ' ')} from {start} until {end}"


def _agreement(facts: CutFacts) -> ChecklistItem:
    text = "Calendar and repositories agree"
    consumers = {pin.consumer for pin in facts.pins}
    states = [repository.state for repository in facts.repositories]
    found = [
        differ
        for state in states
        for differ in compare_with_repository(facts.train, state, facts.at, consumer=state.repository in consumers)
    ]
    unread = [f"{d.repository} not read: {d.remedy}" for d in found if d.outcome is Outcome.UNKNOWN]
    differ = [
        f"{d.repository}: {d.kind.replace('-', ' ')}, "
        f"calendar {d.calendar or 'nothing'}, repository {d.found or 'nothing'}"
        for d in found
        if d.outcome is Outcome.FAILED
    ]
    seen = "; ".join([*differ, *unread]) or f"{len(states)} repositories read"
    return _item(facts, "calendar/agrees", text, not found and bool(states), seen)


# -- one repository -------------------------------------------------------------------------------------------------


def _repository(facts: CutFacts, repository: RepositoryAtCut) -> Iterable[ChecklistItem]:
    own = _slug(repository.name)
    if any(pin.consumer == repository.name for pin in facts.pins):
        text = f"{repository.slug} has a {repository.changelog} section for {facts.train.version}"
        seen = repository.heading or repository.changelog_gap or f"no such heading at {repository.read_at}"
        yield _item(facts, f"{own}/changelog", text, repository.heading is not None, seen)
        text = f"Pull requests that wait for {facts.train.name} or want an exception are decided"
        yield _item(facts, f"{own}/exceptions", text, "by-hand", None)
    where = f"that is {repository.read_at} {repository.commit[:12]} now" if repository.commit else None
    yield _item(facts, f"{own}/checks-green", "All checks are green at the commit to cut", "by-hand", where)
    state = repository.state
    name = repository.branch or f"a release branch for {facts.train.version}"
    if state.branch:
        seen = f"cut on {state.cut} at {state.cut_commit[:12]}" if state.cut_commit else "; ".join(state.unread)
    else:
        seen = "; ".join(f"not read: {gap}" for gap in state.unread) or "not there yet"
    yield _item(facts, f"{own}/release-branch", f"{repository.slug} has {name}", state.branch is not None, seen)


# -- one pin --------------------------------------------------------------------------------------------------------


def _pin(facts: CutFacts, repository: RepositoryAtCut, pin: PinAtCut) -> Iterable[ChecklistItem]:
    own = f"{_slug(pin.consumer)}/{_slug(pin.pin)}"
    yield _fixed(facts, pin, own)
    yield _sites(facts, pin, own)
    yield _on_branch(facts, pin, own)
    if pin.contract:
        yield _number(facts, pin, own)
        yield _time_left(facts, pin, own)
        yield _tickets(facts, pin, own)
    if pin.databases is None or pin.databases:
        yield _databases(facts, pin, own)


def _fixed(facts: CutFacts, pin: PinAtCut, own: str) -> ChecklistItem:
    """P4: a branch pin is a moving target."""
    text = f"{pin.consumer} pins {pin.provider} by a commit or a tag, not by a branch"
    live = pin.state.pin if pin.state else None
    if live is None:
        return _item(facts, f"{own}/pin-fixed", text, False, _not_read(pin, "no site holds a pin"))
    now = f", now {pin.resolved[:12]}" if pin.resolved and pin.kind != "sha" else ""
    seen = f"{live.repository or pin.provider}@{live.ref} is a {'commit' if pin.kind == 'sha' else pin.kind}{now}"
    if pin.kind is None:
        seen = f"{live.ref} could be a branch: {_not_read(pin, 'the provider was not read')}"
    return _item(facts, f"{own}/pin-fixed", text, pin.kind in ("sha", "tag"), seen)


def _sites(facts: CutFacts, pin: PinAtCut, own: str) -> ChecklistItem:
    text = f"All sites of the pin in {pin.consumer} name one ref"
    if pin.state is None or pin.state.agree is None or not pin.state.sites:
        return _item(facts, f"{own}/sites-agree", text, False, _not_read(pin, "no site holds a pin"))
    seen = "; ".join(f"{site.site}: {site.ref}" for site in pin.state.sites)
    return _item(facts, f"{own}/sites-agree", text, pin.state.agree, seen)


def _on_branch(facts: CutFacts, pin: PinAtCut, own: str) -> ChecklistItem:
    text = f"The pinned commit is on the release branch of {pin.provider}"
    provider = next((r for r in facts.repositories if r.name == pin.provider), None)
    branch = provider.state.branch if provider else None
    if pin.on_provider_branch is None:
        missing = f"{pin.provider} has no release branch for {facts.train.version} yet"
        gap = provider.state.unread if provider else ()
        lacking = gap[0] if gap else f"the pinned commit is not in the clone of {pin.provider}"
        why = _not_read(pin, lacking) if gap or branch or pin.gaps else missing
        return _item(facts, f"{own}/pin-on-release-branch", text, False, why)
    commit = (pin.resolved or "the pinned commit")[:12]
    seen = f"{commit} is {'' if pin.on_provider_branch else 'not '}on {branch}"
    return _item(facts, f"{own}/pin-on-release-branch", text, pin.on_provider_branch, seen)


def _number(facts: CutFacts, pin: PinAtCut, own: str) -> ChecklistItem:
    declared = facts.train.abi.get(pin.contract or "")
    text = f"The ABI number at the pin is the one that {facts.train.name} ships"
    number = pin.abi.number if pin.abi else None
    if number is None:
        why = pin.abi.source if pin.abi else "no pin"
        return _item(facts, f"{own}/abi-number", text, False, _not_read(pin, why))
    says = f"the train ships {declared}" if declared is not None else "the train declares none"
    return _item(facts, f"{own}/abi-number", text, number == declared, f"{number} at the pin, {says}")


def _in_this_train(facts: CutFacts, pin: PinAtCut) -> bool:
    """Tell whether the pin crossed the ABI since the previous train was cut."""
    cut = facts.previous.cut if facts.previous else None
    return pin.crossing is not None and (cut is None or pin.crossing.committed_at.date() >= cut)


def _time_left(facts: CutFacts, pin: PinAtCut, own: str) -> ChecklistItem:
    text = "No ABI crossing came too late to rebuild the databases"
    safe = last_safe_day(facts.train)
    if not pin.crossing_known:
        return _item(facts, f"{own}/time-to-regenerate", text, False, _not_read(pin, "the pin's history was not read"))
    since = f"since the cut of {facts.previous.name}" if facts.previous else "so far"
    if pin.crossing is None or not _in_this_train(facts, pin):
        until = f"; the last safe day is {safe}" if safe and local_date(facts.at, facts.train.timezone) <= safe else ""
        return _item(facts, f"{own}/time-to-regenerate", text, True, f"no crossing {since}{until}")
    seen = f"crossed on {pin.crossing.committed_at.date()} by {pin.crossing.commit[:12]}"
    if safe is None:
        return _item(facts, f"{own}/time-to-regenerate", text, False, f"{seen}; the last safe day is not known")
    on_time = pin.crossing.committed_at.date() <= safe
    return _item(facts, f"{own}/time-to-regenerate", text, on_time, f"{seen}; the last safe day was {safe}")


def _tickets(facts: CutFacts, pin: PinAtCut, own: str) -> ChecklistItem:
    text = "Every affected arch has its regeneration ticket, done"
    key = f"{own}/regeneration-tickets"
    if not pin.crossing_known:
        return _item(facts, key, text, False, _not_read(pin, "the pin's history was not read"))
    if not _in_this_train(facts, pin):
        return _item(facts, key, text, True, "no crossing in this train, none needed")
    archs = sorted({fact.arch for fact in pin.databases or () if fact.arch})
    if facts.tickets is None:
        return _item(facts, key, text, "by-hand", f"{facts.tickets_gap}; archs: {', '.join(archs) or 'not read'}")
    number = pin.abi.number if pin.abi else None
    mine = [t for t in facts.tickets if t.contract == pin.contract and t.number in (None, number)]
    states = {arch: [t.state for t in mine if t.arch == arch] for arch in archs}
    words = "; ".join(f"{arch}: {', '.join(found) or 'none'}" for arch, found in states.items())
    done = bool(archs) and all("done" in found and "open" not in found for found in states.values())
    return _item(facts, key, text, done, words or "no database's arch is known")


def _databases(facts: CutFacts, pin: PinAtCut, own: str) -> ChecklistItem:
    """Changed is not regenerated: only the absence of a crossing is proof without a scan."""
    text = f"The kernel databases of {pin.consumer} were rebuilt after the last ABI crossing"
    key = f"{own}/databases-fresh"
    if pin.databases is None or not pin.crossing_known:
        return _item(facts, key, text, False, _not_read(pin, "the databases were not read"))
    if pin.crossing is None:
        return _item(facts, key, text, True, f"no crossing in this history, {len(pin.databases)} databases")
    when = f"the crossing {pin.crossing.commit[:12]} of {pin.crossing.committed_at.date()}"
    ages = {fact.path: _rebuilt(fact) for fact in pin.databases}
    older = sorted(path for path, rebuilt in ages.items() if rebuilt is False)
    unknown = sorted(path for path, rebuilt in ages.items() if rebuilt is None)
    if older or unknown:
        words = [f"{len(older)} of {len(ages)} are older than {when}: {_some(older)}"] if older else []
        words += [f"age not known: {_some(unknown)}"] if unknown else []
        return _item(facts, key, text, False, "; ".join(words))
    seen = f"all {len(ages)} changed after {when}, which does not prove that they were rebuilt: scan them"
    return _item(facts, key, text, "by-hand", seen)


def _rebuilt(fact: DatabaseFact) -> bool | None:
    """Tell whether a database's content is younger than the crossing; a re-packing is as old as what it packs."""
    if fact.introduced is None or fact.after_crossing is None:
        return None
    packed = [_rebuilt(old) for old in fact.introduced.repacked_from]
    return fact.after_crossing if not packed else None if None in packed else all(packed) and fact.after_crossing


# -- words ----------------------------------------------------------------------------------------------------------


def _item(facts: CutFacts, key: str, text: str, state: ItemState | bool, evidence: str | None) -> ChecklistItem:
    if isinstance(state, bool):
        state = "done" if state else "open"
    owner = None if state == "done" else _owner(facts)
    return ChecklistItem(id=key, text=text, state=state, evidence=evidence, owner=owner)


def _owner(facts: CutFacts) -> str | None:
    return ", ".join(facts.train.owners or facts.owners) or None


def _not_read(pin: PinAtCut, otherwise: str) -> str:
    return f"not read: {'; '.join(pin.gaps) or otherwise}"


def _some(names: list[str], most: int = 4) -> str:
    """Return the first few file names of a list, and how many more there are."""
    shown = ", ".join(name.rsplit("/", 1)[-1] for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def _slug(name: str) -> str:
    return _UNSAFE.sub("-", name)
