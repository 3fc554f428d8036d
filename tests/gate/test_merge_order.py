"""The merge order over all repositories (M5-M7), and the declared order against what happened (P13)."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relmgr.gate.depends_on import parse_declarations
from relmgr.gate.merge_order import compare_order, declared_edges, plan_order
from relmgr.model.base import Outcome
from relmgr.model.order import DeclaredPull, OrderDeclarations, OrderPlan
from relmgr.model.pull_request import PullRequest, PullRequestRef
from relmgr.settings import load_project

PROJECT = load_project("miopen-rocmlir")
SLUGS = {"A": "ROCm/MIOpen", "B": "ROCm/rocMLIR"}


def pull(name: str, body: str = "", state: str = "open", base: str = "develop", **more: object) -> PullRequest:
    letter, _, number = name.partition("#")
    data = {"repository": SLUGS[letter], "number": int(number), "body": body, "state": state, "base": base, **more}
    return PullRequest.model_validate(data)


def plan(*pulls: PullRequest, only: Iterable[str] = (), spoken: bool = False) -> OrderPlan:
    declared = {p.ref: parse_declarations(p.body, PROJECT, p.ref) for p in pulls}
    refs = [pull(name).ref for name in only]
    return plan_order(PROJECT, pulls, declared, only=refs, spoken=spoken)


def short(names: Iterable[str]) -> list[str]:
    return [name.replace("ROCm/MIOpen", "A").replace("ROCm/rocMLIR", "B") for name in names]


def steps(found: OrderPlan) -> list[list[str]]:
    return [short(step) for step in found.order]


def waits(found: OrderPlan) -> dict[str, list[tuple[str, str]]]:
    return {short([w.pull])[0]: [(short([o.what])[0], o.reason) for o in w.waits_for] for w in found.waits}


def test_m5_the_graph_is_over_pull_requests_not_repositories() -> None:
    found = plan(pull("A#1", "Depends-On: ROCm/rocMLIR#2"), pull("B#2", "Depends-On: ROCm/MIOpen#3"), pull("A#3"))
    assert steps(found) == [["A#3"], ["B#2"], ["A#1"]]
    assert short(found.now) == ["A#3"]
    assert found.cycles == ()


def test_nothing_orders_these() -> None:
    found = plan(pull("A#1"), pull("A#2", "Depends-On: #3"), pull("A#3"), pull("A#4", state="merged"))
    assert (steps(found), short(found.unordered)) == ([["A#3"], ["A#2"]], ["A#1"])


def test_m5_a_cycle_blocks_its_members_and_what_waits_for_them() -> None:
    found = plan(
        pull("A#1", "Depends-On: #2"),
        pull("A#2", "Depends-On: ROCm/rocMLIR#3"),
        pull("B#3", "Depends-On: ROCm/MIOpen#1"),
        pull("B#4", "Depends-On: #3"),
        pull("B#5", "Depends-On: #6"),
        pull("B#6"),
    )
    (cycle,) = found.cycles
    assert short(cycle.members) == short(cycle.path) == ["A#1", "A#2", "B#3"]
    assert [(short([way.pull])[0], way.line) for way in cycle.ways_out] == [
        ("A#1", "Depends-On: #2"),
        ("A#2", "Depends-On: ROCm/rocMLIR#3"),
        ("B#3", "Depends-On: ROCm/MIOpen#1"),
    ]
    assert steps(found) == [["B#6"], ["B#5"]]
    assert {short([w.pull])[0]: w.stuck for w in found.waits} == {
        "A#1": True,
        "A#2": True,
        "B#3": True,
        "B#4": True,
        "B#5": False,
    }


def test_m6_closed_without_a_merge_keeps_blocking() -> None:
    found = plan(pull("A#1", "Depends-On: #2"), pull("A#2", state="closed"))
    assert waits(found) == {"A#1": [("A#2", "closed")]}
    assert found.waits[0].stuck
    assert (found.order, found.now, found.unordered) == ((), (), ())
    assert plan(pull("A#1"), pull("A#2", state="closed")).waits == ()


def test_m6_merged_into_the_needed_branch_frees() -> None:
    found = plan(pull("A#1", "Depends-On: ROCm/rocMLIR#2"), pull("B#2", state="merged"))
    assert (short(found.now), found.waits) == (["A#1"], ())


@pytest.mark.parametrize(
    ("base", "other", "free"),
    [
        ("develop", pull("A#2", state="merged", base="main"), False),
        ("develop", pull("A#2", state="merged", base="main", merged_into="develop"), True),
        ("develop", pull("A#2", state="merged", base="develop", merged_into="topic"), False),
        ("release/rocm-rel-5.3", pull("A#2", state="merged"), False),
        ("release/rocm-rel-5.3", pull("A#2", state="merged", base="release/rocm-rel-5.3"), True),
        ("release/rocm-rel-5.3", pull("B#2", state="merged", base="release/rocm-5.3"), True),
        ("release/rocm-rel-5.3", pull("B#2", state="merged", base="release/rocm-5.30"), False),
        ("release/rocm-rel-5.3", pull("B#2", state="merged"), False),
        ("topic", pull("B#2", state="merged"), False),
    ],
)
def test_m7_merged_elsewhere_does_not_count(base: str, other: PullRequest, free: bool) -> None:
    found = plan(pull("A#1", f"Depends-On: {other.ref}", base=base), other)
    assert [one.reason for w in found.waits for one in w.waits_for] == ([] if free else ["elsewhere"])
    assert bool(found.now) is free


def test_what_was_not_read_is_unknown_and_blocks() -> None:
    found = plan(pull("A#1", "Depends-On: #2, other/place#3"))
    assert waits(found) == {"A#1": [("other/place#3", "unread"), ("A#2", "unread")]}
    assert found.waits[0].stuck


def test_sets_merge_in_one_step() -> None:
    found = plan(
        pull("A#1", "Paired-With: ROCm/rocMLIR#2"),
        pull("B#2", "Depends-On: #3"),
        pull("B#3"),
        pull("A#4", "Depends-On: #1"),
    )
    assert steps(found) == [["B#3"], ["A#1", "B#2"], ["A#4"]]
    assert [short(one) for one in found.together] == [["A#1", "B#2"]]
    assert short(found.now) == ["B#3"]


def test_a_set_may_hold_an_order_of_its_own_and_be_in_a_cycle() -> None:
    inner = plan(pull("A#1", "Paired-With: #2\nDepends-On: #2"), pull("A#2"))
    assert (steps(inner), inner.cycles) == ([["A#1", "A#2"]], ())
    outer = plan(pull("A#1", "Paired-With: #2"), pull("A#2", "Depends-On: #3"), pull("A#3", "Depends-On: #1"))
    assert [short(cycle.members) for cycle in outer.cycles] == [["A#1", "A#2", "A#3"]]


def test_events_and_drafts_hold_what_may_merge_now() -> None:
    found = plan(
        pull("A#1", "Merge-After: cut rocm-5.3"), pull("A#2", draft=True), pull("A#3", "Depends-On: #1"), pull("A#4")
    )
    assert waits(found) == {
        "A#1": [("the cut of rocm-5.3", "event")],
        "A#2": [("its author", "draft")],
        "A#3": [("A#1", "open")],
    }
    assert (steps(found), found.now) == ([["A#1", "A#2"], ["A#3"]], ())
    assert not any(w.stuck for w in found.waits)


def test_prose_counts_only_when_asked() -> None:
    pulls = (pull("A#1", "Requires #2 to land first"), pull("A#2"))
    assert short(plan(*pulls).unordered) == ["A#1", "A#2"]
    assert [short([one.pull]) for one in plan(*pulls).spoken] == [["A#1"]]
    assert steps(plan(*pulls, spoken=True)) == [["A#2"], ["A#1"]]


def test_only_some_with_what_they_wait_for() -> None:
    pulls = (pull("A#1", "Depends-On: #2"), pull("A#2"), pull("A#3", "Depends-On: #1"), pull("A#4"))
    assert steps(plan(*pulls, only=["A#1"])) == [["A#2"], ["A#1"]]


def _graph(
    edges: set[tuple[int, int]], count: int
) -> tuple[list[PullRequest], dict[PullRequestRef, OrderDeclarations]]:
    """Return pull requests 1.. over both repositories; an edge (a, b) says that a waits for b."""
    pulls = [pull(f"{'AB'[n % 2]}#{n + 1}") for n in range(count)]
    waited: dict[int, list[int]] = {}
    for after, before in sorted(edges):
        waited.setdefault(after, []).append(before)
    declared = {
        pulls[after].ref: OrderDeclarations(
            depends_on=tuple(
                DeclaredPull(
                    repository=pulls[b].repository, number=pulls[b].number, source=f"Depends-On: {pulls[b].ref}"
                )
                for b in found
            )
        )
        for after, found in waited.items()
    }
    return pulls, declared


def _reach(edges: set[tuple[int, int]], count: int) -> list[set[int]]:
    """Return what each node reaches, by brute force."""
    reach = [{b for a, b in edges if a == n} for n in range(count)]
    for _ in range(count):
        reach = [found.union(*(reach[b] for b in found)) for found in reach]
    return reach


_GRAPHS = st.integers(2, 9).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda e: e[0] != e[1]), max_size=14),
    )
)


@settings(max_examples=300, deadline=None)
@given(_GRAPHS, st.randoms(use_true_random=False))
def test_m5_every_edge_is_kept_and_cycles_are_the_components(
    graph: tuple[int, set[tuple[int, int]]], draw: random.Random
) -> None:
    count, edges = graph
    pulls, declared = _graph(edges, count)
    found = plan_order(PROJECT, pulls, declared)
    names = [str(p.ref) for p in pulls]
    reach = _reach(edges, count)

    components = {
        frozenset(m for m in range(count) if m in reach[n] and n in reach[m]) for n in range(count) if n in reach[n]
    }
    assert {frozenset(cycle.members) for cycle in found.cycles} == {frozenset(names[m] for m in c) for c in components}
    for cycle in found.cycles:
        for one, other in pairwise([*cycle.path, cycle.path[0]]):
            assert (names.index(one), names.index(other)) in edges

    step = {name: at for at, row in enumerate(found.order) for name in row}
    stuck = {names[n] for n in range(count) if any(m in reach[m] for m in reach[n] | {n})}
    assert {w.pull for w in found.waits if w.stuck} == stuck
    for after, before in edges:
        if names[after] not in stuck:
            assert step[names[before]] < step[names[after]]
    touched = {names[n] for edge in edges for n in edge}
    assert set(step) == touched - stuck
    assert set(found.unordered) == set(names) - touched
    assert set(found.now) == {n for n in step if not any(a == names.index(n) for a, _ in edges)}

    again, pairs = list(pulls), list(declared.items())
    draw.shuffle(again)
    draw.shuffle(pairs)
    assert plan_order(PROJECT, again, dict(pairs)) == found


def _story(data: Path) -> dict[PullRequestRef, datetime | None]:
    times: dict[PullRequestRef, datetime | None] = {}
    with (data / "pull_requests_2022.tsv").open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream, delimiter="\t"):
            ref = PullRequestRef(repository=row["repository"], number=int(row["number"]))
            times[ref] = datetime.fromisoformat(row["merged_at"]) if "T" in row["merged_at"] else None
    return times


def test_p13_the_chain_of_2022_against_what_happened(data: Path) -> None:
    times = _story(data)
    first = PullRequestRef(repository="ROCm/rocMLIR", number=725)
    body = "This blocks MIOpen#1673, which blocks #690, which blocks MIOpen#1630."
    edges = declared_edges({first: parse_declarations(body, PROJECT, first)}, spoken=True)
    found = compare_order(edges, times)
    assert [(f.before, f.after, f.outcome) for f in found] == [
        ("ROCm/rocMLIR#725", "ROCm/MIOpen#1673", Outcome.UNKNOWN),
        ("ROCm/MIOpen#1673", "ROCm/rocMLIR#690", Outcome.UNKNOWN),
        ("ROCm/rocMLIR#690", "ROCm/MIOpen#1630", Outcome.UNKNOWN),
    ]
    # What the ends of the chain say needs no date of 690: 1630 was merged five weeks before 1673.
    across = edges[0].model_copy(update={"before": edges[0].after, "after": edges[2].after})
    (violated,) = compare_order([across], times)
    assert (violated.before, violated.after, violated.outcome) == (
        "ROCm/MIOpen#1673",
        "ROCm/MIOpen#1630",
        Outcome.FAILED,
    )
    assert str(violated.before_merged_at) == "2022-09-29 21:08:38-07:00"
    (kept,) = compare_order([across.model_copy(update={"before": across.after, "after": across.before})], times)
    assert kept.outcome is Outcome.PASSED
