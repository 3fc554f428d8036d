"""How long judging takes: all policies on one snapshot, against the floor of rendering their texts alone.

    python benchmarks/bench_gate.py

The aim is under 20 ms for all policies on one snapshot. The floor is what no engine could do without: calling every
check that applies, and rendering the texts of those that fail.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from relmgr.gate.applies import applies_to
from relmgr.gate.decide import report
from relmgr.gate.policies import load_rules, shipped_rules
from relmgr.settings import load_project
from relmgr.sources.recorded import read_recorded, shipped_snapshots
from tests.gate.snapshots import consumer_snapshot

ROUNDS = 200


def median_ms(call: Callable[[], object]) -> float:
    """Return the median of many calls, in milliseconds."""
    call()
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        call()
        times.append((time.perf_counter() - begun) * 1000)
    return statistics.median(times)


def main() -> None:
    """Print one line per snapshot."""
    begun = time.perf_counter()
    rules = shipped_rules()
    print(f"load {len(rules)} policies with their cases' presence: {(time.perf_counter() - begun) * 1000:.0f} ms, once")
    print(f"overrides of a project over loaded policies: {median_ms(lambda: load_rules(load_project())):.1f} ms")
    snapshots = {"in order, all apply": consumer_snapshot()}
    snapshots |= {name: read_recorded(name) for name in shipped_snapshots()}
    for name, snapshot in snapshots.items():
        usable = [
            rule
            for rule in rules
            if applies_to(snapshot, rule.policy.applies_to).answer
            and not any(snapshot.gap(fact) for fact in rule.policy.requires)
        ]
        floor = median_ms(lambda: [rule.check.function(snapshot, rule.params) for rule in usable])  # noqa: B023
        whole = median_ms(lambda: report(snapshot, rules))  # noqa: B023
        print(
            f"{name:34} {whole:6.2f} ms for {len(rules)} policies; checks alone {floor:5.2f} ms ({whole / floor:.1f}x)"
        )


if __name__ == "__main__":
    main()
