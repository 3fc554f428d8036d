"""The graph under a merge order: groups, cycles and steps over plain numbers. Linear in nodes and edges.

Ours, and not a library's, because sets that merge together, cycles and steps are wanted from one pass, in one stable
order, and need no more than what stands here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

Edges = Sequence[Sequence[int]]


def group(count: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """Return the group of each of `count` nodes: nodes that pairs join share the smallest of them as group."""
    parent = list(range(count))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for one, other in pairs:
        low, high = sorted((root(one), root(other)))
        parent[high] = low
    return [root(node) for node in range(count)]


def components(edges: Edges) -> list[list[int]]:
    """Return the strongly connected components of the graph (Tarjan, without recursion), each sorted."""
    count = len(edges)
    index, low = [-1] * count, [0] * count
    on_stack = [False] * count
    stack: list[int] = []
    found: list[list[int]] = []
    clock = 0
    for start in range(count):
        if index[start] >= 0:
            continue
        work = [(start, 0)]
        while work:
            node, at = work.pop()
            if at == 0:
                index[node] = low[node] = clock
                clock += 1
                stack.append(node)
                on_stack[node] = True
            for position in range(at, len(edges[node])):
                target = edges[node][position]
                if index[target] < 0:
                    work += [(node, position + 1), (target, 0)]
                    break
                if on_stack[target]:
                    low[node] = min(low[node], index[target])
            else:
                if low[node] == index[node]:
                    found.append(_pop_until(node, stack, on_stack))
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
    return found


def _pop_until(node: int, stack: list[int], on_stack: list[bool]) -> list[int]:
    members = []
    while True:
        member = stack.pop()
        on_stack[member] = False
        members.append(member)
        if member == node:
            return sorted(members)


def steps(edges: Edges, stuck: Iterable[int]) -> tuple[list[int], set[int]]:
    """Return the step of each node (from 0; -1 for a stuck one) and all stuck nodes.

    `edges[node]` are those it waits for. A node that waits for a stuck one, or is in a cycle, is stuck too.
    """
    count = len(edges)
    waiting = [len(targets) for targets in edges]
    freed: list[list[int]] = [[] for _ in range(count)]
    for node, targets in enumerate(edges):
        for target in targets:
            freed[target].append(node)
    blocked = set(stuck)
    step = [-1] * count
    ready = deque(node for node in range(count) if not waiting[node] and node not in blocked)
    for node in ready:
        step[node] = 0
    while ready:
        node = ready.popleft()
        for other in freed[node]:
            waiting[other] -= 1
            if not waiting[other] and other not in blocked:
                step[other] = step[node] + 1
                ready.append(other)
    return step, {node for node in range(count) if step[node] < 0}


def shortest_cycle(edges: Edges, members: Sequence[int]) -> list[int]:
    """Return one shortest way round from the smallest member of a component back to it."""
    start, inside = members[0], set(members)
    came: dict[int, int] = {}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for target in edges[node]:
            if target == start:
                path = [node]
                while path[-1] != start:
                    path.append(came[path[-1]])
                return path[::-1]
            if target in inside and target not in came:
                came[target] = node
                queue.append(target)
    return [start]
