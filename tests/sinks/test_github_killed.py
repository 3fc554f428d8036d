"""Cut off between any two calls, and run again: one comment, one check, one ticket, one pull request."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from relmgr.sinks.github import GitHubSink
from relmgr.sources.github.auth import Credentials
from relmgr.sources.github.client import Answer, GitHub
from relmgr.sources.github.waits import Clock
from tests.support.github_standin import StandIn
from tests.support.posting_child import SLUG, actions

OLDER = "<!-- relmgr:bump=forge -->\nWords."


def fresh(*, is_app: bool = True) -> StandIn:
    """Return a forge with the pull request that is judged, and an older bump that is to be superseded."""
    standin = StandIn(is_app=is_app, viewer="relmgr[bot]" if is_app else "maintainer")
    standin.add_repo(SLUG)
    standin.add_pull(SLUG, 7, labels=["stale"])
    standin.add_pull(SLUG, 8, head="relmgr/bump-1", body=OLDER, author=standin.viewer)
    return standin


def assert_one_of_everything(standin: StandIn) -> None:
    repo = standin.repos[SLUG]
    assert standin.bodies(SLUG, 7) == ["<!-- relmgr:comment=gate -->\nMay merge."]
    if standin.is_app:
        (run,) = repo.checks
        assert [one["message"] for one in run["annotations"]] == [f"line {n}" for n in range(1, 61)]
        assert run["conclusion"] == "success"
    else:
        assert [(one["state"], one["description"]) for one in repo.statuses] == [("success", "#7: May merge")]
    assert [issue["title"] for issue in standin.issues(SLUG)] == ["Rebuild"]
    bumps = [entry for entry in repo.threads.values() if entry["kind"] == "pull" and entry["head"] == "relmgr/bump-2"]
    assert [(bump["state"], bump["labels"]) for bump in bumps] == [("open", ["pin", "abi"])]
    assert [issue["labels"] for issue in standin.issues(SLUG)] == [["kdb", "abi"]]
    assert repo.threads[7]["labels"] == ["abi"]
    for entry in repo.threads.values():
        given = [event["label"] for event in entry.get("events", []) if event["event"] == "labeled"]
        assert len(given) == len(set(given))
    assert repo.threads[8]["state"] == "closed"
    assert len(standin.bodies(SLUG, 8)) == 1


def door(standin: StandIn) -> GitHub:
    clock = Clock(now=lambda: 0.0, sleep=lambda seconds: None)
    return GitHub(Credentials(token="planted-token-0123"), standin.url, clock=clock)


class CutOff(GitHub):
    """A door whose process is interrupted at one call, before the request is sent or after it was done."""

    def __init__(self, url: str, at: int, after: bool) -> None:
        super().__init__(Credentials(token="planted-token-0123"), url, clock=Clock(sleep=lambda seconds: None))
        self._at, self._after = at, after

    def _once(self, *args: Any) -> Answer:
        if len(self.calls) + 1 == self._at:
            if self._after:
                super()._once(*args)
            raise KeyboardInterrupt
        return super()._once(*args)


@pytest.fixture(scope="module")
def number_of_calls() -> Iterator[int]:
    with fresh().running() as standin:
        assert GitHubSink(door(standin)).apply(actions()).is_whole
        assert_one_of_everything(standin)
        yield len(standin.calls)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_interrupted_at_any_call_and_run_again(number_of_calls: int, after: bool) -> None:
    assert number_of_calls > 12
    for at in range(1, number_of_calls + 1):
        with fresh().running() as standin:
            with pytest.raises(KeyboardInterrupt):
                GitHubSink(CutOff(standin.url, at, after)).apply(actions())
            assert GitHubSink(door(standin)).apply(actions()).is_whole
            assert_one_of_everything(standin)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_an_account_that_is_no_app_interrupted_at_any_call_and_run_again(after: bool) -> None:
    with fresh(is_app=False).running() as standin:
        assert GitHubSink(door(standin)).apply(actions()).is_whole
        assert_one_of_everything(standin)
        calls = len(standin.calls)
    for at in range(1, calls + 1):
        with fresh(is_app=False).running() as standin:
            with pytest.raises(KeyboardInterrupt):
                GitHubSink(CutOff(standin.url, at, after)).apply(actions())
            assert GitHubSink(door(standin)).apply(actions()).is_whole
            assert_one_of_everything(standin)


def test_a_run_with_nothing_to_do_writes_nothing(number_of_calls: int) -> None:
    with fresh().running() as standin:
        GitHubSink(door(standin)).apply(actions())
        writes = len(standin.writes())
        posting = GitHubSink(door(standin)).apply(actions())
        assert [one.outcome for one in posting.done] == ["unchanged"] * 5
        assert len(standin.writes()) == writes


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_killed_at_any_call_and_run_again(number_of_calls: int, after: bool) -> None:
    command = [sys.executable, "-m", "tests.support.posting_child"]
    root = Path(__file__).parents[2]
    for at in range(1, number_of_calls + 1):
        with fresh().running() as standin:
            known = threading.Event()
            pids: list[int] = []

            def kill(number: int, at: int = at, known: threading.Event = known, pids: list[int] = pids) -> None:
                if number == at:
                    known.wait(30)
                    os.kill(pids[0], signal.SIGKILL)

            setattr(standin, "after" if after else "before", kill)
            child = subprocess.Popen([*command, standin.url], cwd=root)
            pids.append(child.pid)
            known.set()
            assert child.wait(60) == -signal.SIGKILL
            standin.before = standin.after = lambda number: None
            assert subprocess.run([*command, standin.url], cwd=root, timeout=60, check=False).returncode == 0
            assert_one_of_everything(standin)
