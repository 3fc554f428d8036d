"""The merge order of 10,000 open pull requests with 30,000 edges, and the reader on the longest bodies.

The floor of a plan is the bare order of the same graph by the standard library's graphlib, with ready nodes taken by
name; the plan also finds cycles, sets, waits and reasons. Run it with `python benchmarks/bench_order.py`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from graphlib import TopologicalSorter

from relmgr.gate.depends_on import parse_declarations
from relmgr.gate.markdown_text import MAX_BODY
from relmgr.gate.merge_order import plan_order
from relmgr.model.order import DeclaredPull, OrderDeclarations
from relmgr.model.pull_request import PullRequest, PullRequestRef
from relmgr.settings import load_project

PULLS, EDGES, SEED = 10_000, 30_000, 20220823
HOSTILE = {
    "unclosed brackets": "[",
    "brackets and targets": "[a](b",
    "nested quotes": "> > > - - - ",
    "emphasis": "*a **b _c __d ",
    "strike-through": "~~a ~b ",
    "backticks": "`a``b```",
    "tags": "<a b='<",
    "list items": "- #1\n",
    "dependencies in prose": "depends on #1, #2 which blocks #3 ",
    "trailers": "Depends-On: #12\n",
    "lazy lines below quotes": ">" * 1000 + "\n" + "a\n" * 40_000,
}


def timed(label: str, work: Callable[[], object]) -> float:
    """Print and return the best of three runs, in seconds."""
    best = min(_once(work) for _ in range(3))
    print(f"  {label:32} {best:8.3f} s")
    return best


def _once(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def plans() -> None:
    """Time the plan against graphlib on one random graph without cycles, then on one with them."""
    project = load_project("miopen-rocmlir")
    slugs = [repository.slug for repository in project.repositories.values()]
    draw = random.Random(SEED)
    refs = [PullRequestRef(repository=slugs[n % len(slugs)], number=n + 1) for n in range(PULLS)]
    pulls = [PullRequest(repository=r.repository, number=r.number, state="open", base="develop") for r in refs]
    for name, cyclic in (("without cycles", False), ("with cycles", True)):
        edges: set[tuple[int, int]] = set()
        while len(edges) < EDGES:
            one, other = draw.sample(range(PULLS), 2)
            edges.add((one, other) if cyclic else (max(one, other), min(one, other)))
        waited: dict[int, list[int]] = {}
        for after, before in sorted(edges):
            waited.setdefault(after, []).append(before)
        declared = {
            refs[after]: OrderDeclarations(
                depends_on=tuple(
                    DeclaredPull(repository=refs[b].repository, number=refs[b].number, source=f"Depends-On: {refs[b]}")
                    for b in found
                )
            )
            for after, found in waited.items()
        }
        print(f"{PULLS} pull requests, {EDGES} edges, {name} (seed {SEED})")
        ours = timed("plan", lambda declared=declared: plan_order(project, pulls, declared))
        if not cyclic:
            peer = timed("graphlib, order only", lambda waited=waited: list(TopologicalSorter(waited).static_order()))
            print(f"  ratio to graphlib: {ours / peer:.1f}")
        try:
            import networkx
        except ImportError:
            print("  networkx: not installed")
            continue
        graph = networkx.DiGraph(sorted(edges))
        peer = timed("networkx, components only", lambda g=graph: list(networkx.strongly_connected_components(g)))
        print(f"  ratio to networkx: {ours / peer:.1f}")


def bodies() -> None:
    """Time the reader on hostile bodies of the greatest length."""
    project = load_project("miopen-rocmlir")
    this = PullRequestRef(repository=project.repositories[project.pins[0].consumer].slug, number=1)
    print(f"bodies of {MAX_BODY} characters")
    for name, piece in HOSTILE.items():
        body = (piece * (MAX_BODY // len(piece) + 1))[:MAX_BODY]
        timed(name, lambda body=body: parse_declarations(body, project, this))


if __name__ == "__main__":
    plans()
    bodies()
