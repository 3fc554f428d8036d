"""`relmgr pin bump --pull-request` and `--github`, against the stand-in: one open attempt, and live facts."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_pin import run
from tests.cli.test_pin_bump import CMAKE, archive_of, bump, cget, failed, options, pair
from tests.support import github_shapes as shapes
from tests.support import github_standin
from tests.support.archive_server import ArchiveServer
from tests.support.github_standin import Repo, StandIn
from tests.support.invented import Invented

__all__ = ["cget", "pair"]


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    companions = [
        (r"GET /commits/([0-9a-f]+)/pulls", _pulls_of_commit),
        (r"GET /git/commits/([0-9a-f]+)", _git_commit),
    ]
    monkeypatch.setattr(github_standin, "ROUTES", [*github_standin.ROUTES, *companions])
    with StandIn().running() as running:
        running.add_repo("acme/gadget", "trunk")
        running.add_repo("acme/forge", "trunk")
        monkeypatch.setenv("GITHUB_API_URL", running.url)
        monkeypatch.setenv("GITHUB_TOKEN", "planted-token-0123456789")
        yield running
        assert running.mistakes == []


TREES: dict[str, str] = {}


def _pulls_of_commit(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    whole = github_standin._get_repo(s, repo, (), {}, None)[1]
    return 200, [
        shapes.pull(s.url, repo.slug, entry, whole)
        for entry in repo.threads.values()
        if entry["kind"] == "pull" and parts[0] in (entry["head_sha"], entry.get("merge_commit"))
    ]


def _git_commit(s: StandIn, repo: Repo, parts: Any, query: Any, body: Any) -> tuple[int, Any]:
    if parts[0] not in TREES:
        return 404, {"message": "Not Found"}
    at, url = {"date": "2030-01-01T00:00:00Z", "name": "dev", "email": "dev@example.org"}, f"{s.url}/x"
    unsigned = {"verified": False, "reason": "unsigned", "signature": None, "payload": None, "verified_at": None}
    return 200, {
        "sha": parts[0],
        "node_id": "C_1",
        "url": url,
        "html_url": url,
        "author": at,
        "committer": at,
        "message": "words",
        "tree": {"sha": TREES[parts[0]], "url": url},
        "parents": [],
        "verification": unsigned,
    }


@pytest.fixture
def pushing(pair: Invented, standin: StandIn, tmp_path: Path) -> Invented:
    pair.gadget.git("init", "-q", "--bare", str(tmp_path / "origin.git"))
    pair.gadget.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    return pair


def pulls(standin: StandIn) -> list[dict[str, Any]]:
    return [entry for entry in standin.repos["acme/gadget"].threads.values() if entry["kind"] == "pull"]


def opened(pair: Invented, *more: str) -> tuple[int, str, str]:
    return run("pin", "bump", *options(pair), "--pull-request", *(more or ("--to", "trunk")))


def test_it_is_pushed_and_opened_once_and_its_successor_supersedes_it(pushing: Invented, standin: StandIn) -> None:
    code, out, err = opened(pushing)
    assert (code, err) == (0, "")
    (one,) = pulls(standin)
    old, new = pushing.forge_at[42], pushing.forge_at[50]
    assert (one["title"], one["base"]) == (f"Bump forge to {str(new)[:12]} (kernel ABI 42 -> 50)", "trunk")
    assert f"https://github.com/acme/forge/compare/{old}...{new}" in one["body"]
    assert "gfx90a" in one["body"]
    writes = len(standin.writes())
    code, out, _ = opened(pushing)
    assert (code, len(standin.writes())) == (0, writes)
    assert "unchanged" in out
    pushing.forge.commit("more", {"x.txt": "x"}, at="2030-02-04T01:00:00+01:00")
    code, _, _ = opened(pushing)
    assert (code, [entry["state"] for entry in pulls(standin)]) == (0, ["closed", "open"])
    assert standin.bodies("acme/gadget", 1)[-1].endswith(f"Superseded by {standin.url}/acme/gadget/pull/2.")


def test_a_dry_run_shows_the_actions_writes_nothing_and_asks_nobody(pushing: Invented, standin: StandIn) -> None:
    before = pushing.gadget.git("for-each-ref")
    code, out, err = opened(pushing, "--to", "trunk", "--dry-run")
    assert (code, err) == (0, "")
    assert "planned" in out
    assert f"acme/gadget:relmgr/bump-forge-{str(pushing.forge_at[50])[:12]}" in out
    assert "This branch is relmgr's" in out
    assert standin.calls == []
    assert pushing.gadget.git("for-each-ref") == before
    assert pushing.gadget.git("ls-remote", "origin") == ""


@pytest.mark.parametrize("more", [["--dry-run"], ["--pull-request", "--dry-run", "--apply"]])
def test_a_dry_run_of_nothing_or_beside_apply_is_refused(pair: Invented, more: list[str]) -> None:
    code, _, err = bump(pair, "--to", "trunk", *more)
    assert code == 2
    assert "--dry-run" in err


def test_what_is_refused_is_neither_pushed_nor_posted(pushing: Invented, standin: StandIn) -> None:
    for more in ((), ("--dry-run",)):
        code, out, _ = opened(pushing, "--to", str(pushing.forge_at[41]), *more)
        assert code == 1
        assert "planned" not in out
    assert standin.writes() == []
    assert pushing.gadget.git("ls-remote", "origin") == ""


def test_p11_one_that_a_person_closed_stays_closed(pushing: Invented, standin: StandIn) -> None:
    opened(pushing)
    pulls(standin)[0]["state"] = "closed"
    writes = len(standin.writes())
    code, out, _ = opened(pushing)
    assert (code, [entry["state"] for entry in pulls(standin)]) == (0, ["closed"])
    assert len(standin.writes()) == writes
    assert "reopen it by hand" in out


def test_p11_after_a_revert_it_is_not_proposed_again_and_with_a_reason_by_a_pull_request_of_its_own(
    pushing: Invented, standin: StandIn
) -> None:
    opened(pushing)
    pulls(standin)[0] |= {"state": "merged", "merged_at": "2030-02-02T01:00:00Z"}
    old, new = str(pushing.forge_at[42]), str(pushing.forge_at[50])
    sites = {ref: {"forge.pin": f"# the pin\n{ref}", "deps.cmake": CMAKE.replace("{ref}", ref)} for ref in (old, new)}
    merged = pushing.gadget.commit("Bump forge (#1)", {**sites[new]}, at="2030-02-02T01:00:00+01:00")
    words = f'Revert "Bump forge (#1)" (#2)\n\nThis reverts commit {merged}.'
    revert = pushing.gadget.commit(words, {**sites[old]}, at="2030-02-03T01:00:00+01:00")
    writes = len(standin.writes())
    code, out, _ = opened(pushing)
    assert (code, len(standin.writes())) == (1, writes)
    assert "reverted-pin-not-reproposed" in out
    code, _, err = opened(pushing, "--to", "trunk", "--allow-reverted", "cured in the consumer")
    assert (code, err) == (0, "")
    again = pulls(standin)[-1]
    assert [entry["state"] for entry in pulls(standin)] == ["merged", "open"]
    assert again["head"] == f"relmgr/bump-forge-{new[:12]}-after-{revert[:12]}"
    assert "cured in the consumer" in again["body"]
    assert "reverted-pin-not-reproposed" in again["body"]


def test_two_bases_have_one_open_attempt_each(pushing: Invented, standin: StandIn) -> None:
    pushing.gadget.git("branch", "stable/1.0", "trunk")
    calendar = pushing.file.with_name("trains.yaml")
    options(pushing)
    calendar.write_text(calendar.read_text().replace("gadget-2.0", "gadget-1.0"))
    rules = "".join(
        f'\n[policies.override.{policy}]\ndisabled = "not what this test is about"\n'
        for policy in (
            "databases-fresh-at-release",
            "backport-targets-open-branch",
            "abi-bump-leaves-time-to-regenerate",
        )
    )
    pushing.file.write_text(pushing.file.read_text() + rules)
    assert opened(pushing)[0] == 0
    assert opened(pushing, "--to", "trunk", "--base", "stable/1.0")[0] == 0
    assert [(entry["base"], entry["state"]) for entry in pulls(standin)] == [("trunk", "open"), ("stable/1.0", "open")]


# -- with the forge's facts --------------------------------------------------------------------------------------------


def companion(pair: Invented, standin: StandIn, **facts: Any) -> str:
    """Make a commit of the provider that only a pull request's head holds, on the forge as `facts` say."""
    pair.forge.git("checkout", "-q", "--detach")
    head = pair.forge.commit("companion", {"x.txt": "x"}, at="2030-01-09T10:00:00+01:00")
    pair.forge.git("update-ref", "refs/pull/3/head", head)
    pair.forge.git("checkout", "-q", "trunk")
    standin.add_pull("acme/forge", 3, head_sha=head, **facts)
    return head


def told(plan: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(
        one for one in plan["steps"][0]["findings"] if one["check"] == "pin-not-a-companion-head"
    )
    return found


def test_p12_before_the_merge_the_open_companion_is_named(pair: Invented, standin: StandIn) -> None:
    head = companion(pair, standin)
    code, plan, _ = bump(pair, "--to", head, "--github")
    assert code == 1
    assert "pin-not-a-companion-head" in failed(plan)
    assert told(plan)["remedy"] == "acme/forge#3 is still open: merge it, then pin its commit on trunk"


def test_p12_one_that_was_closed_without_a_merge_offers_nothing(pair: Invented, standin: StandIn) -> None:
    head = companion(pair, standin, state="closed")
    _, plan, _ = bump(pair, "--to", head, "--github")
    assert "acme/forge#3 was closed without a merge" in told(plan)["remedy"]


@pytest.mark.parametrize("tree", ["same", "other", "untold"])
def test_p12_after_the_merge_the_squash_is_offered_when_the_trees_are_equal(
    pair: Invented, standin: StandIn, monkeypatch: pytest.MonkeyPatch, tree: str
) -> None:
    squash = "5" * 40
    head = companion(pair, standin, state="merged", merged_at="2030-01-10T10:00:00Z", merge_commit=squash)
    trees = {head: "a" * 40, squash: "a" * 40 if tree == "same" else "b" * 40}
    monkeypatch.setitem(globals(), "TREES", {} if tree == "untold" else trees)
    # The clone was not fetched since: only the forge knows.
    code, plan, _ = bump(pair, "--to", head, "--github")
    assert code == 1
    words = {
        "same": f"pin {squash}: acme/forge#3 was merged as that, with the same tree; fetch the provider's clone first",
        "other": f"acme/forge#3 was merged as {squash}, with another tree: look at what differs before you pin that",
        "untold": f"acme/forge#3 was merged as {squash}, with a tree that could not be compared: look at what differs "
        "before you pin that",
    }
    assert told(plan)["remedy"] == words[tree]
    assert told(plan)["evidence"]["squash"] == squash


def test_p12_a_head_that_the_clone_never_fetched_is_known_by_the_forge(pair: Invented, standin: StandIn) -> None:
    head = "7" * 40
    standin.add_pull("acme/forge", 3, head_sha=head)
    code, plan, _ = bump(pair, "--to", head, "--github")
    assert code == 1
    assert told(plan)["remedy"] == "acme/forge#3 is still open: merge it, then pin its commit on trunk"


def test_p12_a_forge_that_does_not_answer_leaves_the_refusal_and_is_named(pair: Invented, standin: StandIn) -> None:
    head = companion(pair, standin)
    del standin.repos["acme/forge"]
    code, plan, err = bump(pair, "--to", head, "--github")
    assert (code, err) == (1, "")
    assert "404" in told(plan)["evidence"]["not_read"]


def test_with_github_a_crossing_without_a_ticket_is_refused_and_with_one_it_is_not(
    pair: Invented, standin: StandIn
) -> None:
    code, plan, _ = bump(pair, "--to", "trunk", "--github", "--apply")
    assert (code, failed(plan)) == (1, ["abi-bump-has-regeneration-ticket"])
    assert "relmgr/" not in pair.gadget.git("for-each-ref")
    # The ticket is made from the branch that the plan alone may commit, and is then found.
    assert bump(pair, "--to", "trunk", "--apply")[0] == 0
    ticket = ["kdb", "ticket", *options(pair), "--ref", plan["branch"], "--train", "2.0", "--post"]
    code, out, err = run(*ticket)
    assert (code, err) == (0, ""), out
    assert [issue["state"] for issue in standin.issues("acme/gadget")] == ["open"]
    code, plan, _ = bump(pair, "--to", "trunk", "--github", "--apply")
    assert (code, failed(plan)) == (0, [])


@pytest.mark.parametrize("more", [["--at", "2030-02-10"], ["--tickets", "{file}"]])
def test_what_contradicts_github_is_refused(pair: Invented, tmp_path: Path, more: list[str]) -> None:
    file = tmp_path / "tickets.json"
    file.write_text(json.dumps([]))
    code, _, err = bump(pair, "--to", "trunk", "--github", *(part.format(file=file) for part in more))
    assert code == 2
    assert "--github" in err


@pytest.mark.parametrize(
    ("change", "outcome"), [("", "passed"), ("bytes", "failed"), ("tree", "failed"), ("gone", "unknown")]
)
def test_p1_the_gate_reads_the_archive_of_a_pull_requests_pin_from_the_forge(
    cget: Invented, standin: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, outcome: str
) -> None:
    new = cget.forge.git("rev-parse", "trunk")
    good = archive_of(tmp_path, cget.forge.path, "trunk").read_bytes()
    other = archive_of(tmp_path, cget.forge.path, "trunk", extra=b"other").read_bytes()
    served = {"": good, "bytes": gzip.compress(gzip.decompress(good), 1, mtime=1), "tree": other, "gone": 404}[change]
    digest = hashlib.sha256(good).hexdigest()
    cget.gadget.git("checkout", "-q", "-b", "work")
    line = f"oldacme/forge@{new} -H sha256:{digest} -DNEW_SWITCH=On\n"
    head = cget.gadget.commit("Bump", {"requirements.txt": line}, at="2030-02-06T01:00:00+01:00")
    cget.gadget.git("update-ref", "refs/pull/7/head", head)
    cget.gadget.git("checkout", "-q", "trunk")
    standin.add_pull("acme/gadget", 7, head_sha=head)
    with ArchiveServer({f"/oldacme/forge/archive/{new}.tar.gz": served}).running() as server:
        monkeypatch.setenv("GITHUB_SERVER_URL", server.url)
        _, out, err = run("gate", "check", "acme/gadget#7", *options(cget), "--github", "--format", "json")
    assert err == ""
    told = next(one for one in json.loads(out)["verdicts"] if one["policy"] == "pin-digest-matches")
    assert told["outcome"] == outcome
    said = {"bytes": "other bytes and the same tree", "tree": "the tag was moved"}.get(change, "")
    assert said in told["evidence"].get("statement", "")
