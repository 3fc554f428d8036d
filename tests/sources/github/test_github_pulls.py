"""Pull requests in bulk: every page, every odd fact, few calls; our queries against GitHub's published schema."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

import pytest

from relmgr.errors import SourceError
from relmgr.model.pull_request import PullRequestRef
from relmgr.sources.github.auth import Credentials
from relmgr.sources.github.client import GitHub
from relmgr.sources.github.pulls import read_open_pulls, read_pull, read_pulls
from relmgr.sources.github.queries import OPEN_PULLS, compare_query, list_query, pulls_query
from relmgr.sources.github.waits import Clock
from tests.support.github_schema import graphql_schema_file
from tests.support.github_standin import StandIn, Trouble
from tests.support.services import missing, need_module


@pytest.fixture
def standin() -> Iterator[StandIn]:
    with StandIn().running() as running:
        running.add_repo("acme/gadget")
        running.add_repo("acme/forge")
        yield running
        assert running.mistakes == []


def door(standin: StandIn) -> GitHub:
    return GitHub(Credentials(token="planted-token-0123"), standin.url, clock=Clock(sleep=lambda seconds: None))


def ref(number: int, slug: str = "acme/gadget") -> PullRequestRef:
    return PullRequestRef(repository=slug, number=number)


@pytest.mark.parametrize(
    "query",
    [
        OPEN_PULLS,
        pulls_query(3),
        list_query(["labels", "reviews", "files", "contexts", "comments"]),
        list_query(["files"]),
        compare_query(2),
    ],
)
def test_the_queries_are_valid_by_githubs_published_schema(query: str) -> None:
    graphql = need_module("graphql")
    if not graphql_schema_file().is_file():
        missing("npm package @octokit/graphql-schema is not installed")
    schema = graphql.build_schema(graphql_schema_file().read_text(encoding="utf-8"), assume_valid=True)
    assert graphql.validate(schema, graphql.parse(query)) == []


def test_one_pull_request_with_all_its_facts(standin: StandIn) -> None:
    standin.add_pull(
        "acme/gadget",
        7,
        title="Bump",
        body=None,
        author=None,
        draft=True,
        labels=["on-hold"],
        force_pushed="2030-02-03T10:00:00Z",
        mergeable=["CONFLICTING"],
        files=[("forge.pin", "MODIFIED"), ("old.txt", "DELETED")],
        reviews=[
            {"author": "mallory", "state": "APPROVED", "at": "2030-02-02T10:00:00Z", "commit": "1" * 40},
            {"author": None, "state": "CHANGES_REQUESTED", "at": "2030-02-02T11:00:00Z"},
            {"author": "helper[bot]", "state": "PENDING"},
        ],
        checks=[
            {"name": "build", "status": "COMPLETED", "conclusion": "TIMED_OUT", "completedAt": "2030-02-02T12:00:00Z"},
            {"name": "slow", "status": "IN_PROGRESS"},
            {"__typename": "StatusContext", "context": "ci", "state": "ERROR", "createdAt": "2030-02-02T12:00:00Z"},
            {"__typename": "StatusContext", "context": "cd", "state": "EXPECTED", "createdAt": "2030-02-02T12:00:00Z"},
        ],
    )
    pull = read_pull(door(standin), ref(7))
    assert (pull.title, pull.body, pull.author, pull.draft, pull.state) == ("Bump", "", "ghost", True, "open")
    assert (pull.labels, pull.mergeable, pull.base) == (("on-hold",), False, "develop")
    assert pull.last_push_at == datetime(2030, 2, 3, 10, tzinfo=timezone.utc)
    assert [(file.path, file.status, file.patch) for file in pull.files or ()] == [
        ("forge.pin", "modified", None),
        ("old.txt", "removed", None),
    ]
    assert [(review.author, review.state) for review in pull.reviews or ()] == [
        ("mallory", "approved"),
        ("ghost", "changes-requested"),
        ("helper[bot]", "pending"),
    ]
    assert [(check.name, check.status, check.conclusion) for check in pull.checks or ()] == [
        ("build", "completed", "timed-out"),
        ("slow", "in-progress", None),
        ("ci", "completed", "failure"),
        ("cd", "pending", None),
    ]


def test_m8_what_was_edited_after_it_was_opened_is_told(standin: StandIn) -> None:
    edits = [
        ("BaseRefChangedEvent", "2030-02-02T10:00:00Z", "dev"),
        ("ConvertToDraftEvent", "2030-02-04T10:00:00Z", None),
        ("HeadRefForcePushedEvent", "2030-02-03T10:00:00Z", "helper[bot]"),
    ]
    standin.add_pull("acme/gadget", 7, edits=edits, edited_at="2030-02-05T10:00:00Z")
    standin.add_pull("acme/gadget", 8)
    edited, fresh = read_open_pulls(door(standin), ["acme/gadget"]).of("acme/gadget")
    assert [(one.kind, one.at.day, one.by) for one in edited.edits or ()] == [
        ("base", 2, "dev"),
        ("push", 3, "helper[bot]"),
        ("draft", 4, None),
        ("body", 5, "dev"),
    ]
    assert edited.last_push_at == datetime(2030, 2, 3, 10, tzinfo=timezone.utc)
    assert fresh.edits == ()


def test_m11_all_pages_of_pulls_files_labels_reviews_and_checks_are_read(standin: StandIn) -> None:
    for number in range(1, 121):
        standin.add_pull("acme/gadget", number)
    standin.add_pull(
        "acme/gadget",
        121,
        files=[(f"{number}.c", "ADDED") for number in range(250)],
        labels=[f"label {number}" for number in range(101)],
        reviews=[{"author": "dev", "state": "COMMENTED", "at": "2030-02-02T10:00:00Z"}] * 201,
        checks=[{"name": f"check {number}", "status": "QUEUED"} for number in range(130)],
    )
    standin.add_pull("acme/gadget", 122, files=[(f"{number}.h", "ADDED") for number in range(300)])
    pulls = read_open_pulls(door(standin), ["acme/gadget"]).of("acme/gadget")
    assert [pull.number for pull in pulls] == list(range(1, 123))
    large, other = pulls[120], pulls[121]
    assert [file.path for file in large.files or ()] == [f"{number}.c" for number in range(250)]
    assert (len(large.labels or ()), len(large.reviews or ()), len(large.checks or ())) == (101, 201, 130)
    assert [file.path for file in other.files or ()] == [f"{number}.h" for number in range(300)]
    # Three pages of pull requests, two rounds of further pages.
    assert len(standin.calls) == 5


def test_a_hundred_open_pulls_of_two_repositories_cost_two_calls(standin: StandIn) -> None:
    for slug in ("acme/gadget", "acme/forge"):
        for number in range(1, 51):
            standin.add_pull(slug, number)
    pulls = read_open_pulls(door(standin), ["acme/gadget", "acme/forge"])
    assert (len(pulls.found), pulls.gaps) == (100, {})
    assert len(standin.calls) == 2


def test_a_repository_that_cannot_be_read_is_a_gap_and_the_other_is_read(standin: StandIn) -> None:
    standin.add_pull("acme/forge", 1)
    pulls = read_open_pulls(door(standin), ["acme/nothing", "acme/forge"])
    assert [str(one) for one in pulls.found] == ["acme/forge#1"]
    assert "Could not resolve to a Repository" in pulls.gaps["acme/nothing"]


def test_a_page_too_large_for_github_is_asked_in_smaller_ones(standin: StandIn) -> None:
    for number in range(1, 41):
        standin.add_pull("acme/gadget", number)
    standin.troubles.append(Trouble("502", "POST", "graphql", times=5))
    assert len(read_open_pulls(door(standin), ["acme/gadget"]).found) == 40


def test_a_renamed_repository_keeps_its_configured_name(standin: StandIn) -> None:
    standin.renamed["oldacme/gadget"] = "acme/gadget"
    standin.add_pull("acme/gadget", 7)
    github = door(standin)
    assert [str(one) for one in read_open_pulls(github, ["oldacme/gadget"]).found] == ["oldacme/gadget#7"]
    calls = len(standin.calls)
    assert github.canonical("oldacme/gadget") == "acme/gadget"
    assert len(standin.calls) == calls


def test_single_pulls_of_both_repositories_are_one_query_and_missing_ones_gaps(standin: StandIn) -> None:
    standin.add_pull("acme/gadget", 7, state="merged", merged_at="2030-02-05T10:00:00Z", merge_commit="c" * 40)
    standin.add_pull("acme/forge", 9, state="closed")
    pulls = read_pulls(door(standin), [ref(7), ref(9, "acme/forge"), ref(404), ref(7)])
    assert [(str(one), pull.state) for one, pull in pulls.found.items()] == [
        ("acme/gadget#7", "merged"),
        ("acme/forge#9", "closed"),
    ]
    assert pulls.found[ref(7)].merge_commit == "c" * 40
    assert pulls.gaps == {"acme/gadget#404": "there is no such pull request"}
    assert len(standin.calls) == 1


def test_m10_whether_it_can_merge_is_asked_again_until_known(standin: StandIn) -> None:
    standin.add_pull("acme/gadget", 7, mergeable=["UNKNOWN", "UNKNOWN", "MERGEABLE"])
    assert read_pull(door(standin), ref(7)).mergeable is True
    assert len(standin.calls) == 3


def test_m10_waiting_for_it_is_bounded(standin: StandIn) -> None:
    standin.add_pull("acme/gadget", 7, mergeable=["UNKNOWN"])
    assert read_pull(door(standin), ref(7)).mergeable is None
    assert len(standin.calls) == 4


def test_m9_two_pulls_with_one_head_stay_two(standin: StandIn) -> None:
    for number in (7, 8):
        standin.add_pull("acme/gadget", number, head_sha="a" * 40, title=f"Change {number}")
    found = read_open_pulls(door(standin), ["acme/gadget"]).of("acme/gadget")
    assert [(pull.number, pull.head_commit, pull.title) for pull in found] == [
        (7, "a" * 40, "Change 7"),
        (8, "a" * 40, "Change 8"),
    ]


def test_a_pull_that_is_not_there_is_a_source_error(standin: StandIn) -> None:
    with pytest.raises(SourceError, match="no such pull request"):
        read_pull(door(standin), ref(404))


def test_comments_of_deleted_accounts_and_without_words(standin: StandIn) -> None:
    standin.add_pull("acme/gadget", 7)
    standin.add_comment("acme/gadget", 7, None, "")
    (comment,) = read_pull(door(standin), ref(7)).comments or ()
    assert (comment.author, comment.body) == ("ghost", "")
