"""Parts of the writing and reading that the flow does not pass, against `emulate`, which nobody here wrote.

What it lacks is left out by name: GraphQL (pull requests are read by REST, the login by /user), commit statuses,
ETags, annotations (dropped), the files of a pull request (a stub), App-only check runs (it lets anyone).
"""

from __future__ import annotations

from typing import Any

import pytest

from relmgr.model.actions import Action, Posting, SetLabels, UpsertComment, UpsertIssue, UpsertPull
from relmgr.model.pull_request import PullRequestRef
from relmgr.sinks.github import GitHubSink
from relmgr.sources.github.auth import Credentials
from relmgr.sources.github.client import GitHub, NotFound
from relmgr.sources.github.facts import is_on_branch, read_ticket_issues
from relmgr.sources.github.pulls import read_pull
from relmgr.sources.github.waits import Clock

CONSUMER, PROVIDER = "ROCm/MIOpen", "ROCm/rocMLIR"


@pytest.fixture
def url(emulate: str) -> str:
    return emulate


def door(url: str, token: str = "planted_relmgr_0123456789") -> GitHub:
    return GitHub(Credentials(token=token), url, clock=Clock(sleep=lambda seconds: None))


def ref(number: int, slug: str = CONSUMER) -> PullRequestRef:
    return PullRequestRef(repository=slug, number=number)


def apply(url: str, *actions: Action) -> Posting:
    posting = GitHubSink(door(url)).apply(actions)
    assert [one.why for one in posting.done if one.outcome == "not-posted"] == []
    return posting


def outcomes(posting: Posting) -> list[str]:
    return [one.outcome for one in posting.done]


def branch_with_a_commit(dev: GitHub, slug: str, branch: str) -> str:
    """Make a branch with one commit on top of main, as a developer does; return the commit."""
    main = dev.get(f"/repos/{slug}/git/ref/heads/main")["object"]["sha"]
    tree = dev.get(f"/repos/{slug}/git/commits/{main}")["tree"]["sha"]
    files = [{"path": f"{branch}.txt", "mode": "100644", "type": "blob", "content": branch}]
    new = dev.send("POST", f"/repos/{slug}/git/trees", {"base_tree": tree, "tree": files})["sha"]
    commit = dev.send("POST", f"/repos/{slug}/git/commits", {"message": branch, "tree": new, "parents": [main]})["sha"]
    dev.send("POST", f"/repos/{slug}/git/refs", {"ref": f"refs/heads/{branch}", "sha": commit})
    return str(commit)


def open_pull(dev: GitHub, slug: str, branch: str, body: str) -> dict[str, Any]:
    branch_with_a_commit(dev, slug, branch)
    words = {"title": f"Change {branch}", "body": body, "head": branch, "base": "main"}
    return dict(dev.send("POST", f"/repos/{slug}/pulls", words))


def test_who_we_are_and_what_is_missing(url: str) -> None:
    assert door(url).login() == "relmgr"
    with pytest.raises(NotFound):
        door(url).get("/repos/ROCm/nothing")


def test_labels_once(url: str) -> None:
    number = open_pull(door(url, "planted_dev_0123456789"), CONSUMER, "labelled", "Words.")["number"]
    labels = SetLabels(thread=ref(number), add=("abi",))
    assert outcomes(apply(url, labels, labels)) == ["updated", "unchanged"]
    assert read_pull(door(url), ref(number)).labels == ("abi",)


def test_a_ticket_is_closed_and_reopened(url: str) -> None:
    mark = "<!-- relmgr:ticket ROCm/MIOpen,g-1,gfx90a,none -->"
    ticket = UpsertIssue(repository=CONSUMER, marker=mark, title="Rebuild", body=f"Words.\n\n{mark}\n", labels=("kdb",))
    done = ticket.model_copy(update={"state": "done"})
    posting = apply(url, ticket, ticket, done, done, ticket)
    assert outcomes(posting) == ["created", "unchanged", "closed", "unchanged", "updated"]
    assert [issue["title"] for issue in read_ticket_issues(door(url), CONSUMER)] == ["Rebuild"]


def test_a_bump_is_opened_updated_and_superseded(url: str) -> None:
    dev = door(url, "planted_dev_0123456789")
    for branch in ("relmgr-bump-1", "relmgr-bump-2"):
        branch_with_a_commit(dev, CONSUMER, branch)
    first = UpsertPull(
        repository=CONSUMER, head="relmgr-bump-1", base="main", family="forge", title="Bump", body="Words."
    )
    second = first.model_copy(update={"head": "relmgr-bump-2", "title": "Bump further"})
    worded = first.model_copy(update={"body": "Other words."})
    posting = apply(url, first, first, worded, second, second)
    assert outcomes(posting) == ["created", "unchanged", "updated", "created", "unchanged"]
    numbers = [int(str(one.url).rsplit("/", 1)[1]) for one in posting.done]
    states = [read_pull(door(url), ref(number)).state for number in (numbers[0], numbers[3])]
    assert states == ["closed", "open"]
    # Turned down by a person it stays down.
    dev.send("PATCH", f"/repos/{CONSUMER}/pulls/{numbers[3]}", {"state": "closed"})
    assert apply(url, second).done[0].why == "it was closed; reopen it by hand to try again"


def test_m11_pages_are_followed(url: str) -> None:
    dev = door(url, "planted_dev_0123456789")
    number = open_pull(dev, CONSUMER, "long-thread", "Words.")["number"]
    for n in range(120):
        dev.send("POST", f"/repos/{CONSUMER}/issues/{number}/comments", {"body": f"comment {n}"})
    thread = door(url).get_all(f"/repos/{CONSUMER}/issues/{number}/comments")
    assert [one["body"] for one in thread] == [f"comment {n}" for n in range(120)]
    assert outcomes(apply(url, UpsertComment(thread=ref(number), key="gate", body="x"))) == ["created"]
    assert outcomes(apply(url, UpsertComment(thread=ref(number), key="gate", body="x"))) == ["unchanged"]


def test_a_commit_that_is_not_on_the_branch(url: str) -> None:
    aside = branch_with_a_commit(door(url, "planted_dev_0123456789"), PROVIDER, "aside")
    assert is_on_branch(door(url), PROVIDER, aside, "main") is False
