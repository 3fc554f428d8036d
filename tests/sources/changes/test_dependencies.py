"""What became of the pull requests that are waited for: real repositories, every state."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from relmgr.model.base import Outcome
from relmgr.model.facts import Dependency, PinMove
from relmgr.model.pins import PinSide
from relmgr.model.project import Project
from relmgr.model.trains import Train
from relmgr.sources.changes.dependencies import pinned_companions, read_dependency
from tests.gate.snapshots import consumer_snapshot
from tests.support.repositories import TestRepository, new_repository

AT = datetime.fromisoformat("2024-03-01T12:00:00-08:00")
MERGED = "2024-02-01T12:00:00-08:00"
TRAIN = Train.model_validate({"name": "lib-2.4", "base_branch": "main"})


@pytest.fixture
def compiler(tmp_path: Path) -> TestRepository:
    repository = new_repository(tmp_path / "compiler", "main")
    repository.commit("Start (#1)", {"a": "1"}, at="2024-01-01T12:00:00-08:00")
    return repository


def project(compiler: TestRepository | None) -> Project:
    return Project.model_validate(
        {
            "name": "acme",
            "repositories": {
                "library": {"slug": "acme/library", "default_branch": "main"},
                "compiler": {
                    "slug": "acme/compiler",
                    "default_branch": "main",
                    "path": compiler.path if compiler else None,
                },
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


def dependency(compiler: TestRepository | None, number: int = 2, **options: Any) -> Dependency:
    fields: dict[str, Any] = {"subject": "library", "declared_by": "d", "train": None, "at": AT}
    return read_dependency(project(compiler), "compiler", number, **(fields | options))


def judged(found: Dependency) -> Outcome:
    from relmgr.gate.engine import judge
    from relmgr.gate.policies import shipped_rules

    rule = next(rule for rule in shipped_rules() if rule.policy.id == "companion-merges-first")
    return judge(consumer_snapshot(dependencies=(found,)), rule).outcome


def test_merged_on_the_branch(compiler: TestRepository) -> None:
    compiler.commit("Work (#2)", {"b": "2"}, at=MERGED)
    found = dependency(compiler)
    assert (found.state, found.landed, found.base, found.companion) == ("merged", True, "main", True)
    assert judged(found) is Outcome.PASSED


def test_merged_later_than_asked_was_open_then(compiler: TestRepository) -> None:
    compiler.commit("Work (#2)", {"b": "2"}, at="2024-03-02T12:00:00-08:00")
    found = dependency(compiler)
    assert found.state == "open"
    assert judged(found) is Outcome.PENDING


def test_merged_into_another_branch_than_the_one_needed(compiler: TestRepository) -> None:
    """M7: on main, and the subject goes to a release branch."""
    compiler.git("branch", "release/2.4")
    compiler.commit("Work (#2)", {"b": "2"}, at=MERGED)
    found = dependency(compiler, train=TRAIN)
    assert (found.state, found.needs, found.base, found.landed) == ("merged", "release/2.4", "main", False)
    assert judged(found) is Outcome.FAILED


def test_a_longer_version_is_not_the_branch_needed(compiler: TestRepository) -> None:
    """T7."""
    compiler.git("branch", "release/2.40")
    compiler.commit("Work (#2)", {"b": "2"}, at=MERGED)
    assert dependency(compiler, train=TRAIN).needs == "main"


@pytest.mark.parametrize("has_clone", [True, False])
def test_what_no_clone_shows_is_unknown_and_never_merged(compiler: TestRepository, has_clone: bool) -> None:
    """M6: only a merge that was seen is one."""
    found = dependency(compiler if has_clone else None, number=9)
    assert (found.state, found.landed) == (None, None)
    assert judged(found) is Outcome.UNKNOWN


def pin_to(commit: str) -> PinMove:
    side = PinSide(
        site="requirements.txt", repository=None, ref=commit, ref_kind="sha", resolved=commit, digest=None, options=()
    )
    return PinMove(
        pin="compiler",
        group=None,
        contract=None,
        provider="acme/compiler",
        kinds=("ref",),
        old=None,
        new=side,
        abi=None,
    )


def topic_head(compiler: TestRepository) -> str:
    compiler.git("checkout", "-q", "-b", "topic")
    head = compiler.commit("Work", {"b": "2"}, at="2024-01-20T12:00:00-08:00")
    compiler.git("update-ref", "refs/pull/2/head", head)
    compiler.git("checkout", "-q", "main")
    compiler.git("branch", "-q", "-D", "topic")
    return head


def test_a_pin_on_an_open_companions_head(compiler: TestRepository) -> None:
    """P12, before the merge: refused until it is merged."""
    head = topic_head(compiler)
    (found,) = pinned_companions(project(compiler), [pin_to(head)], AT)
    assert (found.pull, found.state, found.pinned, found.squash) == ("acme/compiler#2", None, True, None)
    assert judged(found) is Outcome.PENDING


def test_a_pin_on_a_head_that_was_squashed(compiler: TestRepository) -> None:
    """P12, after the merge: the squash commit with the same tree is offered."""
    head = topic_head(compiler)
    squash = compiler.commit("Work (#2)", {"b": "2"}, at=MERGED)
    (found,) = pinned_companions(project(compiler), [pin_to(head)], AT)
    assert (found.state, found.landed, found.squash) == ("merged", False, squash)
    assert judged(found) is Outcome.FAILED


def test_a_pin_on_a_branch_names_no_companion(compiler: TestRepository) -> None:
    commit = compiler.commit("Work (#2)", {"b": "2"}, at=MERGED)
    compiler.git("update-ref", "refs/pull/2/head", commit)
    assert pinned_companions(project(compiler), [pin_to(commit)], AT) == ()
