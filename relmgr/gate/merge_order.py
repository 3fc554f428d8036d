"""The merge order over the pull requests of all repositories (M5-M7), and the declared order against what happened.

The graph is over pull requests, never over repositories. A pull request that was merged frees those behind it only
when its commit is on the branch that they build against; one closed without a merge keeps blocking until the text that
names it is edited.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from relmgr.gate.order_graph import components, group, shortest_cycle, steps
from relmgr.model.audit import OrderFact
from relmgr.model.base import Outcome
from relmgr.model.order import (
    MergeEvent,
    OrderCycle,
    OrderDeclarations,
    OrderEdge,
    OrderPlan,
    OrderSuggestion,
    Reason,
    SpokenOrder,
    Wait,
    WaitsFor,
    WayOut,
)
from relmgr.model.project import Project, Repository
from relmgr.model.pull_request import PullRequest, PullRequestRef

Key = tuple[str, int]
Declared = Mapping[PullRequestRef, OrderDeclarations]
_NOTES = {
    "closed": "closed without a merge: only an edit of the text that names it releases",
    "unread": "was not read",
}


def key_of(ref: PullRequestRef | PullRequest) -> Key:
    """Return a pull request's key: letter case in repository names does not matter."""
    return (ref.repository.lower(), ref.number)


def needed_branch(project: Project, pull: PullRequest, other: PullRequest) -> str | None:
    """Return the branch that `other` must be on for `pull` to build against it, None when that cannot be told.

    In one repository that is the base of `pull`. Across repositories it is the default branch where `pull` goes to its
    own default branch, else the release branch of the same train.
    """
    if pull.repository.lower() == other.repository.lower():
        return pull.base
    mine, theirs = _repository(project, pull.repository), _repository(project, other.repository)
    if mine is None or theirs is None:
        return None
    if pull.base == mine.default_branch:
        return theirs.default_branch
    train = _train(mine, pull.base)
    held = other.merged_into or other.base
    return held if train is not None and _train(theirs, held) == train else None


def standing(project: Project, pull: PullRequest, other: PullRequest | None) -> tuple[Reason | None, str]:
    """Return why `pull` still waits for `other` (None: it no longer does), with what was seen (M6, M7)."""
    if other is None:
        return "unread", _NOTES["unread"]
    if other.state == "open":
        return "open", ""
    if other.state == "closed":
        return "closed", _NOTES["closed"]
    held, needed = other.merged_into or other.base, needed_branch(project, pull, other)
    if needed is None:
        return "elsewhere", f"merged into {held}; which branch {pull.base} builds against is not known"
    return (None, "") if held == needed else ("elsewhere", f"merged into {held}, needed on {needed}")


def _repository(project: Project, slug: str) -> Repository | None:
    name = project.repository_named(slug)
    return project.repositories[name] if name else None


def _train(repository: Repository, branch: str) -> str | None:
    match = re.match(repository.release_branches, branch)
    return match["train"] if match and "train" in match.re.groupindex else None


def declared_edges(declared: Declared, *, spoken: bool = False) -> list[OrderEdge]:
    """Return the edges that bodies declare; with `spoken` also those that prose only suggests."""
    edges = []
    for own, said in declared.items():
        edges += [OrderEdge(before=one.ref, after=own, source=one.source) for one in said.depends_on]
        for before, after, source in _spoken_edges(own, said) if spoken else ():
            edges.append(OrderEdge(before=before, after=after, source=source, declared=False))
    return edges


def _spoken_edges(own: PullRequestRef, said: OrderDeclarations) -> Iterator[tuple[PullRequestRef, PullRequestRef, str]]:
    """Yield what prose wants merged before what, and the sentence."""
    for suggestion in said.suggestions:
        first, other = suggestion.via or own, suggestion.ref
        if other is not None and suggestion.direction == "this-after-other":
            yield other, first, suggestion.sentence
        elif other is not None and suggestion.direction == "this-before-other":
            yield first, other, suggestion.sentence


def _keys_of(own: Key, said: OrderDeclarations, spoken: bool) -> Iterator[tuple[Key, Key, str]]:
    """Yield the edges of one body by keys: before, after, and where that stands."""
    for one in said.depends_on:
        yield (one.repository.lower(), one.number), own, one.source
    if spoken and said.suggestions:
        for before, after, source in _spoken_edges(PullRequestRef(repository=own[0], number=own[1]), said):
            yield key_of(before), key_of(after), source


def plan_order(
    project: Project,
    pulls: Iterable[PullRequest],
    declared: Declared,
    *,
    only: Iterable[PullRequestRef] = (),
    spoken: bool = False,
) -> OrderPlan:
    """Return the plan for the open ones of `pulls`, by what each declares; the same in any order.

    `only` limits it to those pull requests, what they wait for and what merges together with them. With `spoken`
    suggestions count like declarations.
    """
    graph = _Graph(project, {key_of(pull): pull for pull in pulls}, declared, spoken)
    return graph.plan({key_of(ref) for ref in only})


class _Edge(NamedTuple):
    before: Key
    source: str


class _Graph:
    """Open pull requests as numbers, sorted by name, with what each waits for."""

    def __init__(self, project: Project, pulls: dict[Key, PullRequest], declared: Declared, spoken: bool) -> None:
        self.project, self.pulls = project, pulls
        self.declared = {key_of(ref): said for ref, said in declared.items()}
        self.open = sorted(key for key, pull in pulls.items() if pull.state == "open")
        self.number = {key: index for index, key in enumerate(self.open)}
        self.edges: list[list[_Edge]] = [[] for _ in self.open]
        for own, said in self.declared.items():
            for before, after, source in _keys_of(own, said, spoken):
                index = self.number.get(after)
                if index is not None and before != after:
                    self.edges[index].append(_Edge(before, source))
        for index, waited in enumerate(self.edges):
            # The order of the input must not show: of two lines for one edge the first by its text counts.
            by_text = sorted(waited, key=lambda edge: (edge.before, edge.source), reverse=True)
            self.edges[index] = list({edge.before: edge for edge in by_text}.values())[::-1]
        self.groups = group(len(self.open), self._pairs(spoken))

    def _pairs(self, spoken: bool) -> Iterable[tuple[int, int]]:
        for key, said in self.declared.items():
            others = [key_of(one.ref) for one in said.paired_with]
            if spoken:
                others += [key_of(s.ref) for s in said.suggestions if s.direction == "paired" and s.ref is not None]
            for other in others:
                if key in self.number and other in self.number:
                    yield self.number[key], self.number[other]

    def plan(self, only: set[Key]) -> OrderPlan:
        waits = [self._waits_for(index) for index in range(len(self.open))]
        members: dict[int, list[int]] = {}
        for index, head in enumerate(self.groups):
            members.setdefault(head, []).append(index)
        between = [self._between_groups(members.get(index, [])) for index in range(len(self.open))]
        cycles = [found for found in components(between) if len(found) > 1]
        hard = {self.groups[i] for i, waited in enumerate(waits) for one in waited if one.reason not in _SOFT}
        hard |= {head for found in cycles for head in found}
        step, stuck = steps(between, hard)
        chosen = self._closure(only, members)
        return self._document(waits, members, between, cycles, step, stuck, chosen)

    def _between_groups(self, members: Sequence[int]) -> list[int]:
        """Return the groups that a group waits for; an order inside a set is kept by its one step."""
        targets = {
            self.groups[self.number[edge.before]]
            for index in members
            for edge in self.edges[index]
            if edge.before in self.number
        }
        return sorted(targets - {self.groups[index] for index in members})

    def _waits_for(self, index: int) -> list[WaitsFor]:
        own = self.pulls[self.open[index]]
        waits = []
        for edge in self.edges[index]:
            reason, note = standing(self.project, own, self.pulls.get(edge.before))
            if reason is not None:
                what = self._name(edge.before)
                waits.append(WaitsFor(what=what, reason=reason, declared_by=edge.source, note=note))
        said = self.declared.get(self.open[index])
        for event in said.merge_after if said else ():
            waits.append(WaitsFor(what=_event(event), reason="event", declared_by=event.source))
        if own.draft:
            waits.append(WaitsFor(what="its author", reason="draft", declared_by="", note="it is a draft"))
        return waits

    def _name(self, key: Key) -> str:
        pull = self.pulls.get(key)
        if pull is not None:
            return f"{pull.repository}#{pull.number}"
        name = self.project.repository_named(key[0])
        return f"{self.project.repositories[name].slug if name else key[0]}#{key[1]}"

    def _closure(self, only: set[Key], members: dict[int, list[int]]) -> set[int]:
        """Return the open pull requests to show: all, or those asked for with all that they wait for."""
        if not only:
            return set(range(len(self.open)))
        todo = [self.number[key] for key in sorted(only) if key in self.number]
        chosen: set[int] = set()
        while todo:
            index = todo.pop()
            if index not in chosen:
                chosen.add(index)
                todo += members[self.groups[index]]
                todo += [self.number[edge.before] for edge in self.edges[index] if edge.before in self.number]
        return chosen

    def _document(
        self,
        waits: list[list[WaitsFor]],
        members: dict[int, list[int]],
        between: list[list[int]],
        cycles: list[list[int]],
        step: list[int],
        stuck: set[int],
        chosen: set[int],
    ) -> OrderPlan:
        names = [self._name(key) for key in self.open]
        waited_for = {target for index in chosen for target in between[self.groups[index]]}
        free = {
            index
            for index in chosen
            if not waits[index]
            and not between[self.groups[index]]
            and self.groups[index] not in waited_for
            and len(members[self.groups[index]]) == 1
            and not self.edges[index]
        }
        placed = sorted(i for i in chosen - free if self.groups[i] not in stuck)
        rows: dict[int, list[str]] = {}
        for index in placed:
            rows.setdefault(step[self.groups[index]], []).append(names[index])
        in_cycle = {head for found in cycles for head in found}
        held = {self.groups[index] for index in chosen if waits[index]}
        return OrderPlan(
            order=tuple(tuple(rows[at]) for at in sorted(rows)),
            now=tuple(names[i] for i in placed if step[self.groups[i]] == 0 and self.groups[i] not in held),
            waits=tuple(
                Wait(
                    pull=names[index],
                    waits_for=tuple(_in_cycle(waits[index], self.groups[index] in in_cycle)),
                    stuck=self.groups[index] in stuck,
                )
                for index in sorted(chosen)
                if waits[index]
            ),
            cycles=tuple(
                self._cycle(found, members, between)
                for found in sorted(cycles)
                if any(index in chosen for head in found for index in members[head])
            ),
            together=tuple(
                tuple(names[i] for i in members[head])
                for head in sorted(members)
                if len(members[head]) > 1 and members[head][0] in chosen
            ),
            unordered=tuple(names[index] for index in sorted(free)),
            spoken=tuple(
                said for index in sorted(chosen) if (said := self._spoken(names[index], self.open[index])) is not None
            ),
        )

    def _spoken(self, name: str, key: Key) -> SpokenOrder | None:
        """Return what a body only speaks of, without what the other one's body declares already."""
        said = self.declared.get(key)
        if said is None:
            return None
        new = tuple(one for one in said.suggestions if not self._is_declared(key, one))
        return (
            SpokenOrder(pull=name, suggestions=new, not_understood=said.not_understood)
            if new or said.not_understood
            else None
        )

    def _is_declared(self, key: Key, said: OrderSuggestion) -> bool:
        first, other = key_of(said.via) if said.via else key, key_of(said.ref) if said.ref else None
        if other is None or said.direction == "paired":
            return False
        before, after = (other, first) if said.direction == "this-after-other" else (first, other)
        declared = self.declared.get(after)
        return declared is not None and any(key_of(one.ref) == before for one in declared.depends_on)

    def _cycle(self, found: list[int], members: dict[int, list[int]], between: list[list[int]]) -> OrderCycle:
        heads = shortest_cycle(between, found)
        ways, path = [], []
        for head, following in zip(heads, [*heads[1:], heads[0]], strict=True):
            index, edge = self._edge_between(members[head], following)
            path.append(self._name(self.open[index]))
            target = self._name(edge.before)
            ways.append(WayOut(pull=path[-1], line=edge.source, then=f"{path[-1]} no longer waits for {target}"))
        everyone = sorted(index for head in found for index in members[head])
        return OrderCycle(
            members=tuple(self._name(self.open[index]) for index in everyone), path=tuple(path), ways_out=tuple(ways)
        )

    def _edge_between(self, members: Sequence[int], target: int) -> tuple[int, _Edge]:
        for index in members:
            for edge in self.edges[index]:
                if edge.before in self.number and self.groups[self.number[edge.before]] == target:
                    return index, edge
        raise AssertionError("groups without an edge between them")


_SOFT: frozenset[Reason] = frozenset({"open", "event", "draft"})


def _in_cycle(waits: Sequence[WaitsFor], cyclic: bool) -> list[WaitsFor]:
    """Return the waits, those of a cycle marked as such where they are for an open pull request."""
    return [w.model_copy(update={"note": "in a cycle"}) if cyclic and w.reason == "open" else w for w in waits]


def _event(event: MergeEvent) -> str:
    if event.kind == "cut":
        return f"the cut of {event.train}"
    if event.kind == "date":
        return f"{event.day}"
    return f"the pin {event.pin or ''} at {event.ref} or later".replace("  ", " ")


def compare_order(
    edges: Iterable[OrderEdge], merged_at: Mapping[PullRequestRef, datetime | None]
) -> tuple[OrderFact, ...]:
    """Return each edge against what happened (P13): passed when kept, failed when violated, unknown otherwise.

    A time that is missing or None is not known, and stays so. A pull request merged at the same moment as the one it
    waits for kept the order.
    """
    times = {key_of(ref): at for ref, at in merged_at.items()}
    facts = []
    for edge in edges:
        before, after = times.get(key_of(edge.before)), times.get(key_of(edge.after))
        outcome = Outcome.UNKNOWN
        if before is not None and after is not None:
            outcome = Outcome.PASSED if before <= after else Outcome.FAILED
        facts.append(
            OrderFact(
                before=str(edge.before),
                after=str(edge.after),
                declared_in=edge.source,
                before_merged_at=before,
                after_merged_at=after,
                outcome=outcome,
            )
        )
    return tuple(facts)
