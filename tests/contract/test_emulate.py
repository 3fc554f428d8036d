"""The whole flow against a GitHub that nobody here wrote: the npm package `emulate`, release 0.11.2.

What it lacks is left out by name: GraphQL (pull requests are read by REST, the login by /user), commit statuses,
ETags, annotations (dropped), the files of a pull request (a stub), App-only check runs (it lets anyone, and names no
app beside a run: none is known again, so each gate makes another).
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from relmgr.gate.decide import report
from relmgr.gate.policies import load_rules
from relmgr.model.actions import Action, Posting, SetLabels, UpsertComment, UpsertIssue, UpsertPull
from relmgr.model.base import Outcome
from relmgr.model.facts import Dependency
from relmgr.model.project import Project
from relmgr.model.pull_request import PullRequestRef
from relmgr.settings import load_project
from relmgr.sinks.github import GitHubSink
from relmgr.sources.github.auth import Credentials
from relmgr.sources.github.client import GitHub, NotFound
from relmgr.sources.github.facts import is_on_branch, read_ticket_issues
from relmgr.sources.github.pulls import read_comments, read_pull
from relmgr.sources.github.waits import Clock
from relmgr.workflows.forge import ask_forge, with_forge
from relmgr.workflows.post import post_gate
from tests.gate.snapshots import consumer_snapshot
from tests.support.github_schema import node_modules
from tests.support.services import missing, need

RELEASE = "0.11.2"
SEED = {
    "tokens": {"planted_relmgr": {"login": "relmgr"}, "planted_dev": {"login": "dev"}},
    "github": {
        "users": [{"login": "relmgr"}, {"login": "dev"}],
        "orgs": [{"login": "ROCm", "members": [{"login": n, "role": "admin"} for n in ("relmgr", "dev")]}],
        "repos": [
            {"owner": "ROCm", "name": "MIOpen", "auto_init": True},
            {"owner": "ROCm", "name": "rocMLIR", "auto_init": True},
        ],
    },
}
CONSUMER, PROVIDER = "ROCm/MIOpen", "ROCm/rocMLIR"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    node = need("node", "nodejs")
    package = node_modules() / "emulate"
    if not (package / "package.json").is_file():
        missing(f"npm package emulate@{RELEASE} is not installed (npm install, or set RELMGR_NODE_MODULES)")
    found = json.loads((package / "package.json").read_text(encoding="utf-8"))["version"]
    if found != RELEASE:
        missing(f"emulate {found} is installed, {RELEASE} is wanted")
    folder = tmp_path_factory.mktemp("emulate")
    (folder / "seed.json").write_text(json.dumps(SEED), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    start = [node, str(package / "dist" / "index.js"), "start", "-s", "github", "-p", str(port), "--base-url", base]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [*start, "--seed", str(folder / "seed.json")], stdout=log, stderr=log, cwd=folder, start_new_session=True
        )
    try:
        for _ in range(200):
            try:
                urllib.request.urlopen(f"{base}/repos/{CONSUMER}", timeout=5).close()
                break
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        else:
            pytest.fail(f"emulate did not start: {(folder / 'log').read_text(errors='replace')[-500:]}")
        yield base
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(20)


def door(url: str, token: str = "planted_relmgr") -> GitHub:
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


def test_the_whole_flow(url: str) -> None:
    dev = door(url, "planted_dev")
    companion = open_pull(dev, PROVIDER, "abi", "The new calling convention.")
    waiting = open_pull(dev, CONSUMER, "uses-abi", f"Depends-On: {PROVIDER}#{companion['number']}")
    number = waiting["number"]
    dev.send("POST", f"/repos/{CONSUMER}/issues/{number}/comments", {"body": "<!-- relmgr:comment=gate -->\nfaked"})

    # Gate, comment, check; again: silence.
    first, posting = gate(url, number, companion["number"])
    assert (first["companion-merges-first"], outcomes(posting)) == (Outcome.PENDING, ["created", "created"])
    assert outcomes(gate(url, number, companion["number"])[1]) == ["unchanged", "created"]
    assert "companion-merges-first** (pending)" in comment_of(url, number)

    # The description and the title are edited: judged by what stands there now, in the same comment.
    dev.send(
        "PATCH", f"/repos/{CONSUMER}/pulls/{number}", {"title": "[WIP] Change", "body": waiting["body"] + "\n\nMore."}
    )
    held, posting = gate(url, number, companion["number"])
    assert (held["on-hold"], outcomes(posting)) == (Outcome.PENDING, ["updated", "created"])
    dev.send("PATCH", f"/repos/{CONSUMER}/pulls/{number}", {"title": "Change"})

    # The companion is merged, by squash: its commit is looked for on the branch; the comment follows in its place.
    dev.send("PUT", f"/repos/{PROVIDER}/pulls/{companion['number']}/merge", {"merge_method": "squash"})
    free, posting = gate(url, number, companion["number"])
    assert (free["companion-merges-first"], outcomes(posting)) == (Outcome.PASSED, ["updated", "created"])
    assert "companion-merges-first** (pending)" not in comment_of(url, number)
    head = dev.get(f"/repos/{CONSUMER}/pulls/{number}")["head"]["sha"]
    runs = list(dev.get_all(f"/repos/{CONSUMER}/commits/{head}/check-runs", "check_runs"))
    assert {run["name"] for run in runs} == {"relmgr"}

    # Labels, once.
    labels = SetLabels(thread=ref(number), add=("abi",))
    assert outcomes(apply(url, labels, labels)) == ["updated", "unchanged"]
    assert [one["name"] for one in dev.get_all(f"/repos/{CONSUMER}/issues/{number}/labels")] == ["abi"]


def gate(url: str, number: int, companion: int) -> tuple[dict[str, Outcome], Posting]:
    """Judge the pull request with the forge's facts over those of a clone, and post what comes of it."""
    project, github = project_on_main(), door(url)
    forge = ask_forge(project, github, ref(number))
    waits = Dependency(
        pull=f"{PROVIDER}#{companion}", companion=True, declared_by="Depends-On", state=None, needs="main"
    )
    base = consumer_snapshot()
    facts = {
        "subject": f"{CONSUMER}#{number}",
        "repository": "miopen",
        "head": forge.pulls.found[ref(number)].head_commit,
        "dependencies": (waits,),
        "at": base.taken_at,
    }
    snapshot = with_forge(project, base.model_copy(update=facts), forge)
    document = report(snapshot, load_rules(project, "main"))
    posting = post_gate(GitHubSink(github), snapshot, document)
    assert [one.why for one in posting.done if one.outcome == "not-posted"] == []
    return {verdict.policy: verdict.outcome for verdict in document.verdicts}, posting


def project_on_main() -> Project:
    """Return the shipped project with the default branch that the emulator gives its repositories."""
    project = load_project("miopen-rocmlir")
    moved = {name: one.model_copy(update={"default_branch": "main"}) for name, one in project.repositories.items()}
    return project.model_copy(update={"repositories": moved})


def comment_of(url: str, number: int) -> str:
    """Return our one comment."""
    (mine,) = [one.body for one in read_comments(door(url), ref(number)) if one.author == "relmgr"]
    return mine


def test_a_ticket_and_a_checklist_live_their_lives(url: str) -> None:
    mark = "<!-- relmgr:ticket ROCm/MIOpen,g-1,gfx90a,none -->"
    ticket = UpsertIssue(repository=CONSUMER, marker=mark, title="Rebuild", body=f"Words.\n\n{mark}\n", labels=("kdb",))
    done = ticket.model_copy(update={"state": "done"})
    assert outcomes(apply(url, ticket, ticket, done, done, ticket)) == [
        "created",
        "unchanged",
        "closed",
        "unchanged",
        "updated",
    ]
    assert [issue["title"] for issue in read_ticket_issues(door(url), CONSUMER)] == ["Rebuild"]
    head = "# Cut of g-1 <!-- relmgr:checklist=g-1 -->"
    body = f"{head}\n\n- [ ] **Notes written** <!-- relmgr:item=miopen/notes state=by-hand -->\n"
    listed = UpsertIssue(repository=CONSUMER, marker=head, title="Cut of g-1", body=body, state=None, keep_hands=True)
    (made,) = apply(url, listed).done
    number = str(made.url).rsplit("/", 1)[1]
    ticked = body.replace("[ ]", "[x]") + "\nIn the usual place.\n"
    door(url, "planted_dev").send("PATCH", f"/repos/{CONSUMER}/issues/{number}", {"body": ticked})
    assert outcomes(apply(url, listed)) == ["unchanged"]
    assert door(url).get(f"/repos/{CONSUMER}/issues/{number}")["body"] == ticked


def test_a_bump_is_opened_updated_and_superseded(url: str) -> None:
    dev = door(url, "planted_dev")
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
    dev = door(url, "planted_dev")
    number = open_pull(dev, CONSUMER, "long-thread", "Words.")["number"]
    for n in range(120):
        dev.send("POST", f"/repos/{CONSUMER}/issues/{number}/comments", {"body": f"comment {n}"})
    assert [one.body for one in read_comments(door(url), ref(number))] == [f"comment {n}" for n in range(120)]
    assert outcomes(apply(url, UpsertComment(thread=ref(number), key="gate", body="x"))) == ["created"]
    assert outcomes(apply(url, UpsertComment(thread=ref(number), key="gate", body="x"))) == ["unchanged"]


def test_a_commit_that_is_not_on_the_branch(url: str) -> None:
    aside = branch_with_a_commit(door(url, "planted_dev"), PROVIDER, "aside")
    assert is_on_branch(door(url), PROVIDER, aside, "main") is False
