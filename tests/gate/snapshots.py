"""Snapshots for tests: the case base, with facts of the test's own."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from relmgr.model.snapshot import Snapshot
from relmgr.settings import read_yaml

BASE = Path(__file__).parents[2] / "policies" / "bases"


@lru_cache(maxsize=8)
def _base(name: str) -> Snapshot:
    return Snapshot.model_validate(read_yaml(BASE / f"{name}.yaml")[0])


def consumer_snapshot(**facts: Any) -> Snapshot:
    """Return the snapshot in which every policy passes, with `facts` in place of its own."""
    return _base("consumer").model_copy(update=facts)
