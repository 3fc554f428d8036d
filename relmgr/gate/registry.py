"""The checks by name. A check is a pure function of a snapshot and its parameters; its types say what it needs.

    @check("pin-sites-agree")
    def pin_sites_agree(snapshot: Snapshot, params: NoParams) -> Result[SitesEvidence]: ...

Other packages add checks through the entry point group `relmgr.checks`: each entry names a module, which registers its
checks when it is imported.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from relmgr.errors import UserError
from relmgr.model.base import Noun, Outcome
from relmgr.model.snapshot import Snapshot

E = TypeVar("E", bound=Noun)
F = TypeVar("F", bound=Callable[..., Any])

TOPICS = (
    "abi",
    "backports",
    "changelog",
    "databases",
    "edits",
    "order",
    "pins",
    "releases",
    "reviews",
    "smoke",
    "trains",
)
ENTRY_POINTS = "relmgr.checks"


class NoParams(Noun):
    """The parameters of a check that takes none."""


@dataclass(frozen=True)
class Result(Generic[E]):
    """What a check found: an outcome, what it saw and wanted, and what it could not read (each with the reason)."""

    outcome: Outcome
    evidence: E
    unread: tuple[str, ...] = ()


_WEIGHT = (Outcome.FAILED, Outcome.UNKNOWN, Outcome.PENDING, Outcome.PASSED, Outcome.SKIPPED)


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome that weighs most; what certainly fails weighs more than what could not be told."""
    return min(outcomes, key=_WEIGHT.index, default=Outcome.PASSED)


@dataclass(frozen=True)
class Check:
    """A registered check."""

    name: str
    function: Callable[[Snapshot, Any], Result[Any]]
    params: type[Noun]
    evidence: type[Noun]


_CHECKS: dict[str, Check] = {}


def check(name: str) -> Callable[[F], F]:
    """Register the decorated function as the check `name`; its parameter and result types are read from it."""

    def register(function: F) -> F:
        hints = typing.get_type_hints(function)
        (evidence,) = typing.get_args(hints["return"])
        if name in _CHECKS and _CHECKS[name].function is not function:
            raise UserError(f"two checks are called {name!r}", where=function.__module__, next_step="rename one")
        _CHECKS[name] = Check(name, function, hints["params"], evidence)
        return function

    return register


def all_checks() -> dict[str, Check]:
    """Return every check by name: the shipped ones and those of installed extensions."""
    _load()
    return dict(sorted(_CHECKS.items()))


@lru_cache(maxsize=1)
def _load() -> None:
    for topic in TOPICS:
        import_module(f"relmgr.gate.checks.{topic}")
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            entry.load()
        except Exception as error:
            raise UserError(
                f"the extension {entry.name!r} does not load: {error}",
                where=entry.value,
                next_step="correct or uninstall it: a gate without its checks is not a gate",
            ) from error
