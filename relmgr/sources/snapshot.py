"""Take a snapshot of one pull request from local clones. What a clone cannot tell is a named gap, never a guess.

A merged pull request is judged by its final text and diff, with the calendar and the day that is asked about; what it
said or held on that day, only the forge knows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from relmgr.errors import RelmgrError
from relmgr.model.abi_diff import compare_headers
from relmgr.model.facts import ChangelogFact, GuardAt, GuardFact, PinMove, Surface
from relmgr.model.project import Contract, PinConfig, Project, Repository
from relmgr.model.snapshot import FORGE_NOT_ASKED, NO_REPORT, Role, Snapshot
from relmgr.model.trains import Calendar, next_train_to_cut, supported_numbers, train_of_branch
from relmgr.sources.changes.change import Change, added_lines, changed_files, commit_before
from relmgr.sources.changes.pins import ChangedPins
from relmgr.sources.changes.rules import PolicyReader, read_policy_edits, read_waivers
from relmgr.sources.git.clone import Clone
from relmgr.sources.guards.branches import GuardAnalysis, find_guards, glob_pattern, read_guard_sources
from relmgr.sources.headers.header import read_header
from relmgr.sources.provider.abi import AbiReader
from relmgr.sources.trains import read_train_state

FORGE = f"{FORGE_NOT_ASKED}; a clone does not hold this"
FORGE_FACTS = ("labels", "reviews", "checks", "pushed_at", "tickets")
# What an open pull request is there to collect: one that is planned waits for it, and nothing is wrong yet.
COLLECTED = {
    "reviews": "people review it once it is open",
    "checks": "checks run once it is open",
    "pushed_at": "it is pushed when it is opened",
    "tickets": "file the tickets with `relmgr kdb ticket --ref BRANCH`, or hand them in (--tickets)",
    "smoke": "run `relmgr smoke run` on its branch and hand the signed report to the gate",
}


@dataclass
class Taking:
    """A snapshot being taken: what is read so far, and the gaps."""

    project: Project
    name: str
    clone: Clone
    change: Change
    at: datetime
    facts: dict[str, Any] = field(default_factory=dict)
    gaps: dict[str, str] = field(default_factory=dict)

    @property
    def repository(self) -> Repository:
        """The subject's repository."""
        return self.project.repositories[self.name]

    def read(self, fact: str, value: Any) -> None:
        """Keep a fact; None is left to its gap."""
        if value is not None:
            self.facts[fact] = value


def take_snapshot(
    project: Project,
    name: str,
    clone: Clone,
    change: Change,
    *,
    at: datetime,
    taken_at: datetime,
    calendar: Calendar | None,
    calendar_gap: str | None,
    read_policy: PolicyReader,
) -> Snapshot:
    """Return the facts about `change` in the repository configured as `name`, judged at `at`."""
    taking = Taking(project, name, clone, change, at)
    planned = change.number is None
    if planned:
        taking.read("labels", ())
    else:
        taking.gaps |= dict.fromkeys(FORGE_FACTS, FORGE) | {"smoke": NO_REPORT}
    _read_text_facts(taking)
    _read_trains(taking, calendar, calendar_gap)
    _read_rules(taking, read_policy)
    _read_pins(taking)
    _read_surfaces(taking)
    repository = taking.repository
    final = change.merged_at is not None
    return Snapshot(
        subject=change.name_in(repository.slug),
        basis="final-text" if final else "live",
        at=at,
        taken_at=taken_at,
        zone=project.zone,
        owners=project.owners,
        repository=name,
        role=role_of(project, name),
        default_branch=repository.default_branch,
        title=change.title,
        head=change.head,
        merged_at=change.merged_at if final and change.merged_at and change.merged_at <= at else None,
        sources=_sources(taking),
        gaps=taking.gaps,
        later=COLLECTED if planned else {},
        **taking.facts,
    )


def _sources(taking: Taking) -> tuple[str, ...]:
    said = [f"clone of {taking.repository.slug}"]
    if taking.change.namesakes:
        others = ", ".join(sha[:12] for sha in taking.change.namesakes)
        said.append(f"{taking.change.head[:12]} was taken for #{taking.change.number}; so named too: {others}")
    return tuple(said)


def role_of(project: Project, name: str) -> Role:
    """Return what a repository is at the pins; one that is both counts as the consumer, who moves pins."""
    if any(pin.consumer == name for pin in project.pins):
        return "consumer"
    return "provider" if any(pin.provider == name for pin in project.pins) else "other"


def _read_text_facts(taking: Taking) -> None:
    change, clone, repository = taking.change, taking.clone, taking.repository
    files = changed_files(clone, change)
    taking.read("changed_files", files)
    taking.read("base", change.base)
    if change.base is None:
        taking.gaps["base"] = "the clone does not tell the branch it goes to (give --base BRANCH)"
    path = f"{repository.root}/{repository.changelog}".lstrip("/")
    added = added_lines(clone, change, path) if path in files else ()
    taking.read("changelog", ChangelogFact(path=repository.changelog, added=added))


def _read_trains(taking: Taking, calendar: Calendar | None, gap: str | None) -> None:
    change, repository = taking.change, taking.repository
    if calendar is None:
        taking.gaps |= dict.fromkeys(("trains", "train_state"), gap or "no calendar was read")
        return
    taking.read("trains", calendar.trains)
    base = change.base or repository.default_branch
    own = train_of_branch(calendar.trains, taking.name, repository, base)
    taking.read("train", own.name if own else None)
    train = own or next_train_to_cut(calendar.trains, base, taking.at)
    if train is None:
        taking.gaps["train_state"] = f"no train of the calendar concerns {base}"
        return
    taking.read("train_state", read_train_state(taking.clone, taking.name, repository, train, taking.at))


def _read_rules(taking: Taking, read_policy: PolicyReader) -> None:
    """Read exceptions from the base branch as it was then, and rules that the change itself touches."""
    base = taking.change.base or taking.repository.default_branch
    try:
        tip = commit_before(taking.clone, base, taking.at)
        taking.read("waivers", read_waivers(taking.clone, taking.project, tip, taking.change))
    except RelmgrError as error:
        taking.gaps["waivers"] = _said(error)
    files = taking.facts["changed_files"]
    taking.read("policy_edits", read_policy_edits(taking.clone, taking.project, taking.change, files, read_policy))


def _read_pins(taking: Taking) -> None:
    if role_of(taking.project, taking.name) != "consumer":
        taking.facts |= {"pin_moves": (), "pins": (), "pin_digests": (), "guards": ()}
        return
    pins = ChangedPins(taking.clone, taking.project, taking.name, taking.change)
    moves = pins.moves()
    taking.read("pin_moves", moves)
    taking.read("pins", pins.after())
    taking.read("pin_groups", _groups(taking.project))
    if moves is not None:
        taking.read("pin_digests", pins.digests(moves))
        taking.read("pin_ancestry", pins.ancestry(moves))
        taking.read("reverted_pins", pins.reverted() if any(move.moves for move in moves) else ())
        _read_guards(taking, pins, moves)
    taking.gaps |= pins.gaps


def _groups(project: Project) -> dict[str, tuple[str, ...]]:
    groups: dict[str, tuple[str, ...]] = {}
    for pin in project.pins:
        if pin.group:
            groups[pin.group] = (*groups.get(pin.group, ()), pin.name)
    return groups


def _read_guards(taking: Taking, pins: ChangedPins, moves: tuple[PinMove, ...]) -> None:
    """Read the guards of each contract that a move concerns, or whose guard files the change touches."""
    facts = []
    try:
        for pin in pins.configs:
            contract = taking.project.contract(pin)
            moved = any(move.pin == pin.name and move.moves for move in moves)
            touched = contract is not None and _touches(taking, contract.guard_files)
            if contract is not None and contract.guard_files and (moved or touched):
                facts.append(_guard_fact(taking, pin, contract, pins, touched))
    except RelmgrError as error:
        taking.gaps["guards"] = _said(error)
        return
    taking.read("guards", tuple(facts))


def _touches(taking: Taking, globs: Iterable[str]) -> bool:
    root = taking.repository.root.strip("/")
    patterns = [glob_pattern(f"{root}/" if root else "", glob) for glob in globs]
    return any(pattern.match(path) for pattern in patterns for path in taking.facts["changed_files"])


def _guard_fact(taking: Taking, pin: PinConfig, contract: Contract, pins: ChangedPins, touched: bool) -> GuardFact:
    before, after = (
        pins.readers[pin.name].at(
            state.pin.repository, state.pin.ref, state.pin.ref if state.pin.ref_kind == "sha" else None
        )
        if state.pin
        else None
        for state in pins.states[pin.name]
    )
    known = {found.number for found in (before, after) if found and found.number is not None}
    numbers = tuple(sorted(known | set(contract.conventions)))
    new = _guards_at(taking, taking.change.head, contract, numbers)
    return GuardFact(
        contract=pin.contract or "",
        macro=contract.macro,
        pinned=before.number if before else None,
        numbers=numbers,
        supported=supported_numbers(taking.facts.get("trains"), pin.contract or ""),
        before=_guards_at(taking, taking.change.parent, contract, numbers) if touched else new,
        after=new,
    )


def _guards_at(taking: Taking, commit: str, contract: Contract, numbers: tuple[int, ...]) -> tuple[GuardAt, ...]:
    """Return every branch of a guard; one whose fate at a number is not certain counts as compiled there."""
    sources = read_guard_sources(taking.clone, commit, contract.guard_files, taking.repository.root)
    analysis = GuardAnalysis(sources, contract.macro, contract.former_macros, contract.number_without_macro)
    found = find_guards(analysis, None, {str(number): number for number in numbers})
    return tuple(
        GuardAt(
            file=guard.file,
            line=guard.line,
            condition=guard.condition,
            live_at=tuple(number for number in numbers if str(number) not in guard.dead_for),
        )
        for guard in found
    )


def _read_surfaces(taking: Taking) -> None:
    """Compare a provider's header on both sides of its own change; a consumer's change has no surface."""
    surfaces = []
    for pin in taking.project.pins:
        contract = taking.project.contract(pin)
        if pin.provider != taking.name or contract is None or not _touches(taking, contract.headers):
            continue
        try:
            surfaces.append(_surface(taking, pin, contract))
        except RelmgrError as error:
            taking.gaps["surfaces"] = _said(error)
            return
    taking.read("surfaces", tuple({surface.contract: surface for surface in surfaces}.values()))


def _surface(taking: Taking, pin: PinConfig, contract: Contract) -> Surface:
    reader, sides = AbiReader(taking.project, pin), (taking.change.parent, taking.change.head)
    old, new = (reader.at(None, side, side) for side in sides)
    texts = [reader.header(None, side, side) for side in sides]
    before, after = (read_header(text.data, text.path) for text in texts)
    diff = compare_headers(
        old,
        new,
        (before, after),
        number_macros={contract.macro, *contract.former_macros},
        kernel_structs=contract.kernel_structs,
    )
    return Surface(contract=pin.contract or "", diff=diff)


def _said(error: RelmgrError) -> str:
    return " ".join(str(error).split())
