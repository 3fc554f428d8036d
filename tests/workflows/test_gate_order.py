"""Declarations become facts: dependencies, events, suggestions."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from relmgr.gate.decide import report
from relmgr.gate.policies import shipped_rules
from relmgr.model.base import Outcome
from relmgr.model.order import DeclaredPull, MergeEvent, NotUnderstood, OrderDeclarations, OrderSuggestion
from relmgr.model.project import Project
from relmgr.model.pull_request import PullRequestRef
from relmgr.model.snapshot import Snapshot
from relmgr.sources.git.clone import Clone
from relmgr.workflows.gate_order import with_order
from tests.gate.snapshots import consumer_snapshot
from tests.support.repositories import TestRepository, new_repository

AT = datetime.fromisoformat("2024-03-01T12:00:00-08:00")


@pytest.fixture
def library(tmp_path: Path) -> TestRepository:
    return new_repository(tmp_path / "library", "main")


@pytest.fixture
def compiler(tmp_path: Path) -> TestRepository:
    repository = new_repository(tmp_path / "compiler", "main")
    repository.commit("Start (#1)", {"a": "1"}, at="2024-01-01T12:00:00-08:00")
    repository.commit("Work (#12)", {"b": "2"}, at="2024-02-01T12:00:00-08:00")
    return repository


def facts(library: TestRepository, compiler: TestRepository, **declared: Any) -> Snapshot:
    project = Project.model_validate(
        {
            "name": "example",
            "repositories": {
                "library": {"slug": "example/library", "default_branch": "main", "path": library.path},
                "compiler": {"slug": "example/compiler", "default_branch": "main", "path": compiler.path},
            },
            "pins": [
                {
                    "name": "compiler",
                    "consumer": "library",
                    "provider": "compiler",
                    "sites": [{"kind": "cget", "path": "requirements.txt"}],
                }
            ],
        }
    )
    if not (library.path / "requirements.txt").exists():
        library.commit("Start", {"requirements.txt": f"example/compiler@{compiler.git('rev-parse', 'HEAD~1')}\n"})
    snapshot = consumer_snapshot(pin_moves=(), dependencies=None, cycles=None, merge_after=None, suggestions=None)
    return with_order(project, snapshot, OrderDeclarations(**declared), Clone.open(library.path))


def outcomes(snapshot: Snapshot) -> dict[str, Outcome]:
    return {verdict.policy: verdict.outcome for verdict in report(snapshot, shipped_rules()).verdicts}


def test_what_declares_nothing_waits_for_nothing(library: TestRepository, compiler: TestRepository) -> None:
    snapshot = facts(library, compiler)
    assert (snapshot.dependencies, snapshot.cycles, snapshot.merge_after) == ((), (), ())
    assert outcomes(snapshot)["no-dependency-cycle"] is Outcome.PASSED


def test_a_trailer_is_a_companion_when_it_names_the_other_end(
    library: TestRepository, compiler: TestRepository
) -> None:
    named = DeclaredPull(repository="example/compiler", number=12, source="Depends-On: example/compiler#12")
    snapshot = facts(library, compiler, depends_on=(named,))
    (found,) = snapshot.dependencies or ()
    assert (found.companion, found.state, found.landed) == (True, "merged", True)
    assert outcomes(snapshot)["companion-merges-first"] is Outcome.PASSED
    # With a dependency there could be a cycle, and nobody read the other descriptions.
    assert outcomes(snapshot)["no-dependency-cycle"] is Outcome.UNKNOWN


def test_a_repository_that_is_not_configured_is_unknown(library: TestRepository, compiler: TestRepository) -> None:
    named = DeclaredPull(repository="other/thing", number=1, source="Depends-On: other/thing#1")
    assert outcomes(facts(library, compiler, depends_on=(named,)))["dependencies-merged"] is Outcome.UNKNOWN


def test_events_are_judged(library: TestRepository, compiler: TestRepository) -> None:
    cut = MergeEvent(kind="cut", train="lib-2.5", source="Merge-After: cut lib-2.5")
    assert outcomes(facts(library, compiler, merge_after=(cut,)))["merge-after-event"] is Outcome.PENDING
    day = MergeEvent(kind="date", day=date(2024, 3, 1), source="Merge-After: date 2024-03-01")
    assert outcomes(facts(library, compiler, merge_after=(day,)))["merge-after-event"] is Outcome.PASSED


def test_a_pin_is_waited_for(library: TestRepository, compiler: TestRepository) -> None:
    new = compiler.git("rev-parse", "HEAD")
    event = MergeEvent(kind="pin", ref=new, source=f"Merge-After: pin {new}")
    assert outcomes(facts(library, compiler, merge_after=(event,)))["merge-after-event"] is Outcome.PENDING
    library.commit("Move", {"requirements.txt": f"example/compiler@{new}\n"}, at="2024-02-10T12:00:00-08:00")
    assert outcomes(facts(library, compiler, merge_after=(event,)))["merge-after-event"] is Outcome.PASSED


def test_a_pin_at_a_ref_that_nobody_has_is_unknown(library: TestRepository, compiler: TestRepository) -> None:
    event = MergeEvent(kind="pin", ref="v9", source="Merge-After: pin v9")
    assert outcomes(facts(library, compiler, merge_after=(event,)))["merge-after-event"] is Outcome.UNKNOWN


def test_prose_is_suggested_and_never_obeyed(library: TestRepository, compiler: TestRepository) -> None:
    spoken = OrderSuggestion(
        repository="example/compiler",
        number=12,
        direction="this-after-other",
        sentence="needs the compiler's change first",
        trailer="Depends-On: example/compiler#12",
        belongs_in=PullRequestRef(repository="example/library", number=70),
    )
    other = spoken.model_copy(update={"belongs_in": PullRequestRef(repository="example/compiler", number=12)})
    snapshot = facts(library, compiler, suggestions=(spoken, other))
    assert snapshot.dependencies == ()
    assert [one.belongs_in for one in snapshot.suggestions or ()] == [None, "example/compiler#12"]


def test_a_look_alike_is_told_to_its_author(library: TestRepository, compiler: TestRepository) -> None:
    """M4."""
    text = NotUnderstood(text="Depends-On: the other one", line=3, why="names no pull request")
    verdicts = report(facts(library, compiler, not_understood=(text,)), shipped_rules()).verdicts
    told = next(verdict for verdict in verdicts if verdict.policy == "order-spoken-of")
    assert "Depends-On: the other one" in told.evidence["statement"]
    assert "was not understood" in told.evidence["statement"]
