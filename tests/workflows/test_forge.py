"""The gate with the forge's facts: live, over many pull requests, in few calls; what the forge does not tell blocks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from relmgr.errors import SourceError
from relmgr.gate.decide import report
from relmgr.gate.policies import load_rules
from relmgr.model.base import Outcome
from relmgr.model.facts import Dependency
from relmgr.model.project import Project
from relmgr.model.snapshot import Snapshot
from relmgr.settings import load_project
from relmgr.sources.github.auth import Credentials
from relmgr.sources.github.cache import ResponseCache
from relmgr.sources.github.client import GitHub
from relmgr.sources.github.facts import ref_of
from relmgr.sources.github.waits import Clock
from relmgr.workflows.forge import ask_forge, snapshot_on, with_forge
from relmgr.workflows.gate import Calendars, judge
from tests.gate.snapshots import consumer_snapshot
from tests.support.github_standin import StandIn, Trouble
from tests.support.invented import Invented, invent

CALENDARS = Calendars(None, "no calendar was read")


@pytest.fixture
def standin() -> Iterator[StandIn]:
    with StandIn().running() as running:
        yield running
        assert running.mistakes == []


@pytest.fixture
def pair(tmp_path: Path, standin: StandIn) -> Invented:
    made = invent(tmp_path)
    made.gadget.commit("pin it", {"forge.pin": f"{made.forge_at[42]}\n"}, at="2030-02-01T01:00:00+01:00")
    made.gadget.git("checkout", "-q", "-b", "work")
    head = made.gadget.commit("Bump", {"forge.pin": f"{made.forge_at[50]}\n"}, at="2030-02-02T01:00:00+01:00")
    made.gadget.git("update-ref", "refs/pull/7/head", head)
    made.gadget.git("checkout", "-q", "trunk")
    standin.add_repo("acme/gadget", "trunk")
    standin.add_repo("acme/forge", "trunk")
    standin.add_pull("acme/gadget", 7, head_sha=head, title="Bump forge")
    return made


def door(standin: StandIn, cache: Path | None = None) -> GitHub:
    kept = ResponseCache(cache, "x") if cache else None
    clock = Clock(sleep=lambda seconds: None)
    return GitHub(Credentials(token="planted-token-0123"), standin.url, cache=kept, clock=clock)


def take(pair: Invented, standin: StandIn, subject: str = "acme/gadget#7") -> Snapshot:
    ref = ref_of(subject)
    return snapshot_on(pair.project(), ask_forge(pair.project(), door(standin), ref), ref, None, CALENDARS)


def outcomes(project: Project, snapshot: Snapshot) -> dict[str, Outcome]:
    return {verdict.policy: verdict.outcome for verdict in judge(project, snapshot, recorded=False).verdicts}


def test_a_live_pull_request_has_the_forges_facts_and_its_own_check_is_no_reason(
    pair: Invented, standin: StandIn
) -> None:
    standin.repos["acme/gadget"].threads[7] |= {
        "labels": ["ON_HOLD"],
        "reviews": [{"author": "mallory", "state": "APPROVED", "at": "2030-02-05T10:00:00Z"}],
        "checks": [
            {"name": "relmgr", "status": "IN_PROGRESS"},
            {"name": "build", "status": "COMPLETED", "conclusion": "SUCCESS", "completedAt": "2030-02-05T10:00:00Z"},
        ],
    }
    snapshot = take(pair, standin)
    assert (snapshot.title, snapshot.base, snapshot.labels) == ("Bump forge", "trunk", ("ON_HOLD",))
    assert [(check.name, check.conclusion) for check in snapshot.checks or ()] == [("build", "success")]
    assert (snapshot.tickets, snapshot.cycles, snapshot.dependencies) == ((), (), ())
    found = outcomes(pair.project(), snapshot)
    assert found["on-hold"] is Outcome.PENDING
    assert found["approvals-and-checks"] is Outcome.PASSED


def test_a_commit_that_bears_the_number_of_an_open_pull_request_is_not_taken_for_it(
    pair: Invented, standin: StandIn
) -> None:
    # Anybody's commit may say `(#7)`, once it is merged by a rebase; it would be judged in the place of the change.
    pair.gadget.commit("Harmless words (#7)", {"words.txt": "-"}, at="2030-02-03T01:00:00+01:00")
    snapshot = take(pair, standin)
    assert (snapshot.basis, snapshot.merged_at) == ("live", None)
    assert snapshot.changed_files == ("forge.pin",)
    standin.repos["acme/gadget"].threads[7]["state"] = "closed"
    assert take(pair, standin).changed_files == ("forge.pin",)


def test_a_dependency_that_the_forge_calls_open_is_not_merged_by_a_commit_that_bears_its_number(
    pair: Invented, standin: StandIn
) -> None:
    pair.forge.commit("Of a former forge (#9)", {"words.txt": "-"}, at="2030-02-03T01:00:00+01:00")
    standin.repos["acme/gadget"].threads[7]["body"] = "Depends-On: acme/forge#9"
    standin.add_pull("acme/forge", 9)
    (found,) = take(pair, standin).dependencies or ()
    assert (found.state, found.landed, found.merged_at) == ("open", None, None)


def test_a_description_that_declares_thousands_is_neither_followed_nor_passed(pair: Invented, standin: StandIn) -> None:
    body = "\n".join(f"Depends-On: acme/forge#{number}" for number in range(100, 1600))
    standin.repos["acme/gadget"].threads[7]["body"] = body
    snapshot = take(pair, standin)
    assert len(standin.calls) <= 10
    found = outcomes(pair.project(), snapshot)
    assert {found[one] for one in ("companion-merges-first", "dependencies-merged", "no-dependency-cycle")} == {
        Outcome.UNKNOWN
    }


GOOD = {"author": "lead", "state": "APPROVED", "at": "2030-02-05T10:00:00Z"}


@pytest.mark.parametrize(
    ("review", "wanted"),
    [
        (GOOD, Outcome.PASSED),
        # Anybody may approve on a public forge; a commit's date is its author's to choose.
        (GOOD | {"author": "mallory", "can_push": False}, Outcome.PENDING),
        (GOOD | {"commit": "b" * 40}, Outcome.PENDING),
        (GOOD | {"at": "2030-01-31T10:00:00Z"}, Outcome.PENDING),
        (GOOD | {"state": "CHANGES_REQUESTED"}, Outcome.FAILED),
    ],
    ids=["approved", "by a stranger", "of another commit", "before the last push", "changes requested"],
)
def test_an_approval_is_of_this_head_and_by_somebody_who_may_push(
    pair: Invented, standin: StandIn, review: dict[str, Any], wanted: Outcome
) -> None:
    checks = [{"name": "build", "status": "COMPLETED", "conclusion": "SUCCESS", "completedAt": "2030-02-05T10:00:00Z"}]
    standin.repos["acme/gadget"].threads[7] |= {"checks": checks, "reviews": [review]}
    assert outcomes(pair.project(), take(pair, standin))["approvals-and-checks"] is wanted


def test_a_strangers_review_takes_nothing_away(pair: Invented, standin: StandIn) -> None:
    checks = [{"name": "build", "status": "COMPLETED", "conclusion": "SUCCESS", "completedAt": "2030-02-05T10:00:00Z"}]
    no = {"author": "mallory", "state": "CHANGES_REQUESTED", "at": "2030-02-06T10:00:00Z", "can_push": False}
    standin.repos["acme/gadget"].threads[7] |= {"checks": checks, "reviews": [GOOD, no]}
    assert outcomes(pair.project(), take(pair, standin))["approvals-and-checks"] is Outcome.PASSED


def test_a_clone_older_than_the_last_push_is_refused(pair: Invented, standin: StandIn) -> None:
    standin.repos["acme/gadget"].threads[7]["head_sha"] = "e" * 40
    with pytest.raises(SourceError, match="the forge eeeeeeeeeeee") as error:
        take(pair, standin)
    assert "git fetch origin +pull/7/head:refs/pull/7/head" in str(error.value)


def test_a_forge_that_does_not_answer_is_a_named_gap_and_blocks(pair: Invented, standin: StandIn) -> None:
    standin.troubles.append(Trouble("502", "POST", "graphql", times=999))
    snapshot = take(pair, standin)
    assert "GitHub does not answer (502 Server Error)" in snapshot.gaps["reviews"]
    assert judge(pair.project(), snapshot, recorded=False).decision == "block"


def depends(pair: Invented, standin: StandIn, **facts: Any) -> Dependency:
    standin.repos["acme/gadget"].threads[7]["body"] = "Depends-On: acme/forge#9"
    standin.add_pull("acme/forge", 9, **facts)
    standin.repos["acme/forge"].on_branch["trunk"] = {"c" * 40}
    (found,) = take(pair, standin).dependencies or ()
    return found


@pytest.mark.parametrize(
    ("facts", "state", "landed"),
    [
        ({}, "open", None),
        ({"state": "closed"}, "closed", None),
        ({"state": "merged", "merge_commit": "c" * 40, "merged_at": "2030-02-03T10:00:00Z"}, "merged", True),
        (
            {"state": "merged", "merge_commit": "d" * 40, "merged_at": "2030-02-03T10:00:00Z", "base": "stable/1"},
            "merged",
            False,
        ),
    ],
)
def test_m6_m7_a_companion_counts_when_its_commit_is_on_the_branch_that_is_needed(
    pair: Invented, standin: StandIn, facts: dict[str, Any], state: str, landed: bool | None
) -> None:
    found = depends(pair, standin, **facts)
    assert (found.state, found.landed, found.needs) == (state, landed, "trunk")


def test_m8_an_edited_description_is_what_counts_not_the_commits_words(pair: Invented, standin: StandIn) -> None:
    assert depends(pair, standin).state == "open"
    standin.repos["acme/gadget"].threads[7]["body"] = "No order."
    assert take(pair, standin).dependencies == ()


def test_m5_a_circle_over_both_repositories_is_found(pair: Invented, standin: StandIn) -> None:
    depends(pair, standin, body="Depends-On: acme/gadget#8")
    standin.add_pull("acme/gadget", 8, body="Depends-On: https://github.com/acme/gadget/pull/7")
    assert take(pair, standin).cycles == (("acme/gadget#7", "acme/forge#9", "acme/gadget#8"),)


def test_a_description_that_cannot_be_read_leaves_circles_unknown(pair: Invented, standin: StandIn) -> None:
    standin.repos["acme/gadget"].threads[7]["body"] = "Depends-On: acme/forge#404"
    snapshot = take(pair, standin)
    assert snapshot.cycles is None
    assert "cycles" in snapshot.gaps


# -- many -------------------------------------------------------------------------------------------------------------


def hundred(standin: StandIn) -> dict[str, Snapshot]:
    """Return snapshots, from clones, of a hundred open pull requests; every tenth waits for one of five merged ones."""
    repos = {"miopen": "ROCm/MIOpen", "rocmlir": "ROCm/rocMLIR"}
    snapshots, base = {}, consumer_snapshot()
    for slug in repos.values():
        standin.add_repo(slug)
        standin.repos[slug].on_branch["develop"] = {f"{number:040}" for number in range(901, 906)}
    for number in range(901, 906):
        merged = {"state": "merged", "merge_commit": f"{number:040}", "merged_at": "2022-08-01T00:00:00Z"}
        standin.add_pull("ROCm/rocMLIR", number, **merged)
    for name, slug in repos.items():
        for number in range(1, 51):
            named = (f"ROCm/rocMLIR#{900 + number // 10}",) if number % 10 == 0 else ()
            body = "".join(f"Depends-On: {pull}\n" for pull in named)
            entry = standin.add_pull(slug, number, body=body)
            standin.add_comment(slug, number, "mallory", "/relmgr waive on-hold until 2099-12-31 I say so")
            waits = tuple(
                Dependency(pull=pull, companion=True, declared_by="Depends-On", state=None, needs="develop")
                for pull in named
            )
            facts = {
                "subject": f"{slug}#{number}",
                "repository": name,
                "head": entry["head_sha"],
                "at": base.taken_at,
                "dependencies": waits,
            }
            snapshots[f"{slug}#{number}"] = consumer_snapshot(**facts)
    return snapshots


def judge_all(standin: StandIn, snapshots: dict[str, Snapshot], cache: Path) -> tuple[int, list[str]]:
    """Return the calls that judging all of them cost, and the decisions."""
    project, github = load_project(), door(standin, cache)
    forge = ask_forge(project, github)
    taken = [with_forge(project, snapshot, forge) for snapshot in snapshots.values()]
    # What was asked for is there: nothing is left to a gap.
    assert [one.landed for snapshot in taken for one in snapshot.dependencies or ()] == [True] * 10
    assert all(snapshot.reviews is not None for snapshot in taken)
    assert all(snapshot.tickets == () for snapshot in taken if snapshot.repository == "miopen")
    decisions = [report(snapshot, load_rules(project, "develop")).decision for snapshot in taken]
    return len(github.calls), decisions


def test_a_hundred_open_pulls_cost_at_most_ten_calls_cold_and_six_warm(standin: StandIn, tmp_path: Path) -> None:
    snapshots = hundred(standin)
    cold, decisions = judge_all(standin, snapshots, tmp_path)
    assert len(decisions) == 100
    assert cold <= 10
    warm, again = judge_all(standin, snapshots, tmp_path)
    assert again == decisions
    assert warm <= 6


def test_where_graphql_compares_no_commits_each_is_compared_once_by_rest(standin: StandIn, tmp_path: Path) -> None:
    snapshots = hundred(standin)
    with_compare, decisions = judge_all(standin, snapshots, tmp_path)
    standin.compares_commits = False
    calls, again = judge_all(standin, snapshots, tmp_path)
    assert again == decisions
    asked = [path.split("?")[0].rsplit("...")[-1] for _, path in standin.calls if "/compare/" in path]
    assert asked == [f"{number:040}" for number in range(901, 906)]
    assert calls == with_compare + 5
