"""An answer and the workflow that it starts: once, wherever the process ends, and never twice where nobody can tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from relmgr.model.actions import Done
from relmgr.model.answer import Answer, AnswerPart, StartWorkflow
from relmgr.model.pull_request import PullRequestRef
from relmgr.render.answer import parts_of, runs_of
from relmgr.sinks.github import GitHubSink
from relmgr.sources.github.auth import Credentials
from relmgr.sources.github.client import Answer as Response
from relmgr.sources.github.client import GitHub
from relmgr.sources.github.waits import Clock
from tests.support.github_standin import Kind, StandIn, Trouble

SLUG = "acme/gadget"
START = StartWorkflow(
    workflow="smoke.yml",
    inputs={"arch": "gfx90a", "request": "relmgr-5-smoke-a"},
    request="relmgr-5-smoke-a",
    words={"asked": "Asked.", "started": "Started: {run}", "unknown": "Cannot tell: {run}", "refused": "Not: {why}"},
)


def answer(*parts: AnswerPart, **more: Any) -> Answer:
    """Return an answer to comment 5; by default one that starts the workflow."""
    given = parts or (AnswerPart(key="smoke-a", body="Smoke.", start=START),)
    thread = PullRequestRef(repository=SLUG, number=7)
    return Answer.model_validate({"thread": thread, "comment": 5, "head": "To you:", "parts": given} | more)


def fresh(run_name: str | None = "request") -> StandIn:
    standin = StandIn()
    standin.add_repo(SLUG)
    standin.add_pull(SLUG, 7)
    standin.repos[SLUG].workflows["smoke.yml"] = {"inputs": ["arch", "request"], "run_name": run_name}
    return standin


@pytest.fixture
def standin() -> Iterator[StandIn]:
    with fresh().running() as running:
        yield running
        assert running.mistakes == []


def door(standin: StandIn, door_type: type[GitHub] = GitHub, **more: Any) -> GitHub:
    clock = Clock(sleep=lambda seconds: None)
    return door_type(Credentials(token="planted-token-0123"), standin.url, clock=clock, **more)


def post(standin: StandIn, action: Answer | None = None) -> Done:
    (done,) = GitHubSink(door(standin)).apply((action or answer(),)).done
    return done


def test_it_is_recorded_before_it_is_sent_and_its_page_after(standin: StandIn) -> None:
    assert post(standin).outcome == "created"
    (run,) = standin.repos[SLUG].runs
    (body,) = standin.bodies(SLUG, 7)
    page = f"{standin.url}/{SLUG}/actions/runs/{run['id']}"
    assert f"Started: {page}" in body
    assert {key: run.state for key, run in runs_of(body).items()} == {"smoke-a": "started"}
    verbs = [(verb, path.rsplit("/", 1)[-1]) for verb, path in standin.writes()]
    assert [verb for verb, _ in verbs] == ["POST", "POST", "PATCH"]
    assert [path for _, path in verbs[:2]] == ["comments", "dispatches"]
    assert post(standin).outcome == "unchanged"
    assert len(standin.writes()) == 3


@pytest.mark.parametrize("kind", ["502", "502-done", "dropped-done"])
def test_no_word_from_github_is_followed_by_a_look(standin: StandIn, kind: Kind) -> None:
    standin.troubles.append(Trouble(kind, "POST", "dispatches", times=1))
    assert post(standin).outcome == "created"
    assert len(standin.repos[SLUG].runs) == 1
    assert "Started: " in standin.bodies(SLUG, 7)[0]


class CutOff(GitHub):
    """A door whose process is interrupted at one call, before the request is sent or after it was done."""

    at = 0
    after = False

    def _once(self, *args: Any) -> Response:
        if len(self.calls) + 1 == self.at:
            if self.after:
                super()._once(*args)
            raise KeyboardInterrupt
        return super()._once(*args)


def interrupt(standin: StandIn, at: int, after: bool) -> None:
    github = door(standin, CutOff)
    assert isinstance(github, CutOff)
    github.at, github.after = at, after
    with pytest.raises(KeyboardInterrupt):
        GitHubSink(github).apply((answer(),))


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("run_name", ["request", None], ids=["named", "unnamed"])
def test_interrupted_at_any_call_and_run_again(after: bool, run_name: str | None) -> None:
    with fresh(run_name).running() as standin:
        post(standin)
        count = len(standin.calls)
    said = set()
    for at in range(1, count + 1):
        with fresh(run_name).running() as standin:
            interrupt(standin, at, after)
            post(standin)
            assert len(standin.repos[SLUG].runs) == 1
            (body,) = standin.bodies(SLUG, 7)
            said |= {run.state for run in runs_of(body).values()}
            writes = len(standin.writes())
            post(standin)
            assert len(standin.writes()) == writes
    # Only a workflow that does not carry the request in its name leaves a doubt, and then it is not started again.
    assert said == ({"started"} if run_name else {"started", "unknown"})


class Overtaken(GitHub):
    """A door whose process stands still before one call, while another does all of it."""

    at = 0
    standin: StandIn

    def _once(self, *args: Any) -> Response:
        if len(self.calls) + 1 == self.at:
            self.at = 0
            post(self.standin)
        return super()._once(*args)


@pytest.mark.parametrize("run_name", ["request", None], ids=["named", "unnamed"])
def test_two_at_once_start_it_once(run_name: str | None) -> None:
    with fresh(run_name).running() as standin:
        post(standin)
        verbs = [f"{verb} {path.rsplit('/', 1)[-1]}" for verb, path in standin.calls]
    # From there on it is recorded.
    for at in range(1, verbs.index("POST comments") + 2):
        with fresh(run_name).running() as standin:
            github = door(standin, Overtaken)
            assert isinstance(github, Overtaken)
            github.at, github.standin = at, standin
            GitHubSink(github).apply((answer(),))
            assert len(standin.repos[SLUG].runs) == 1, at
            assert len(standin.bodies(SLUG, 7)) == 1, at
            assert standin.mistakes == []


def test_a_start_that_is_recorded_is_given_time(standin: StandIn) -> None:
    standin.troubles.append(Trouble("secondary", "POST", "dispatches", times=9))
    post(standin)
    (entry,) = standin.repos[SLUG].comments[7]
    assert runs_of(entry["body"])["smoke-a"].state == "asked"

    def finish(seconds: float) -> None:
        entry["body"] = re.sub(r"=smoke-a asked \S+ -->", "=smoke-a started https://x.example/1 -->", entry["body"])

    standin.troubles.clear()
    github = GitHub(Credentials(token="planted-token-0123"), standin.url, clock=Clock(sleep=finish))
    GitHubSink(github).apply((answer(),))
    assert standin.repos[SLUG].runs == []


def test_a_run_that_others_asked_for_is_no_doubt(standin: StandIn) -> None:
    other = StartWorkflow.model_validate(
        START.model_dump() | {"request": "relmgr-6-smoke-a", "inputs": {"request": "relmgr-6-smoke-a"}}
    )
    interrupted = answer().model_copy(update={"comment": 6})
    post(standin, interrupted.model_copy(update={"parts": (AnswerPart(key="smoke-a", body="x", start=other),)}))
    standin.troubles.append(Trouble("502", "POST", "dispatches", times=1))
    post(standin)
    assert len(standin.repos[SLUG].runs) == 2


def test_runs_that_cannot_be_listed_leave_a_doubt_and_no_second_start(standin: StandIn) -> None:
    standin.troubles += [
        Trouble("502-done", "POST", "dispatches", times=1),
        Trouble("forbidden", "GET", "runs", times=99),
    ]
    post(standin)
    assert len(standin.repos[SLUG].runs) == 1
    assert f"Cannot tell: {standin.url}/{SLUG}/actions/workflows/smoke.yml" in standin.bodies(SLUG, 7)[0]


def test_a_refusal_is_told_defused_and_leaves_no_record(standin: StandIn) -> None:
    standin.repos[SLUG].workflows = {}
    done = post(standin)
    assert (done.outcome, done.why) == ("not-posted", "smoke.yml: GitHub refused: 404 Not Found")
    (body,) = standin.bodies(SLUG, 7)
    assert "Not: GitHub refused: 404 Not Found" in body
    assert runs_of(body) == {}


def test_what_is_not_said_anew_stays_and_what_is_gone_goes(standin: StandIn) -> None:
    one, two = AnswerPart(key="order", body="First."), AnswerPart(key="explain", body="Second.")
    post(standin, answer(one, two, foot="Commands."))
    post(standin, answer(one.model_copy(update={"body": None}), two.model_copy(update={"body": "Anew."})))
    (body,) = standin.bodies(SLUG, 7)
    assert parts_of(body) == {"order": "First.", "explain": "Anew."}
    assert post(standin, answer(two.model_copy(update={"body": None}))).outcome == "updated"
    assert parts_of(standin.bodies(SLUG, 7)[0]) == {"explain": "Anew."}


def test_b1_a_strangers_copy_of_the_answer_is_neither_read_nor_touched(standin: StandIn) -> None:
    forged = "<!-- relmgr:comment=answer/5 -->\n<!-- relmgr:run=smoke-a started https://evil.example -->\nx"
    standin.add_comment(SLUG, 7, "mallory", forged)
    post(standin)
    assert standin.bodies(SLUG, 7)[0] == forged
    assert len(standin.repos[SLUG].runs) == 1
