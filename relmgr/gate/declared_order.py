"""What pull requests declared about their order, against what happened (P13). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from relmgr.gate.depends_on import parse_declarations
from relmgr.gate.merge_order import compare_order, declared_edges
from relmgr.model.audit import OrderFact
from relmgr.model.order import OrderEdge
from relmgr.model.project import Project
from relmgr.model.pull_request import PullRequest, PullRequestRef


def order_facts(project: Project, pulls: Iterable[PullRequest]) -> tuple[OrderFact, ...]:
    """Return each order that a body declares or speaks of, kept, violated or not known.

    Where the merge time of one in between is not known, the two around it are compared with each other.
    """
    present = [pull.model_copy(update={"repository": _current(project, pull.repository)}) for pull in pulls]
    edges = declared_edges({p.ref: parse_declarations(p.body, project, p.ref) for p in present}, spoken=True)
    merged = {pull.ref: pull.merged_at for pull in present}
    return compare_order(_once([*edges, *_across_gaps(edges, merged)]), merged)


def _once(edges: Iterable[OrderEdge]) -> list[OrderEdge]:
    """Return each order once, with every place that says it."""
    found: dict[tuple[PullRequestRef, PullRequestRef], OrderEdge] = {}
    for edge in edges:
        known = found.get((edge.before, edge.after))
        if known is not None and edge.source != known.source:
            edge = known.model_copy(update={"source": f"{known.source} / {edge.source}"})
        found[edge.before, edge.after] = edge
    return list(found.values())


def _across_gaps(edges: Sequence[OrderEdge], merged: Mapping[PullRequestRef, datetime | None]) -> Iterator[OrderEdge]:
    """Yield the orders that follow through pull requests whose merge time is not known."""
    later: dict[PullRequestRef, list[OrderEdge]] = {}
    for edge in edges:
        later.setdefault(edge.before, []).append(edge)
    for start in [ref for ref in later if merged.get(ref) is not None]:
        seen = {start}
        waiting = [(edge.after, str(edge.after)) for edge in later[start] if merged.get(edge.after) is None]
        while waiting:
            through, path = waiting.pop()
            if through in seen:
                continue
            seen.add(through)
            for edge in later.get(through, ()):
                if merged.get(edge.after) is not None and edge.after != start:
                    source = f"{start} before {path} before {edge.after}"
                    yield OrderEdge(before=start, after=edge.after, source=source, declared=False)
                elif merged.get(edge.after) is None:
                    waiting.append((edge.after, f"{path} before {edge.after}"))


def _current(project: Project, slug: str) -> str:
    name = project.repository_named(slug)
    return project.repositories[name].slug if name else slug
