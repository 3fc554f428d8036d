"""`--post` as a person runs it: gate, order, ticket, checklist, bump; and what it never tells."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_pin import run
from tests.support.github_standin import StandIn, Trouble
from tests.support.graph import build_graph_repository
from tests.support.invented import Invented, invent, pointer

TOKEN = "planted-token-0123456789"


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    with StandIn().running() as running:
        running.add_repo("acme/gadget", "trunk")
        running.add_repo("acme/forge", "trunk")
        monkeypatch.setenv("GITHUB_API_URL", running.url)
        monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
        yield running
        assert running.mistakes == []


@pytest.fixture
def pair(tmp_path: Path, standin: StandIn) -> Invented:
    made = invent(tmp_path)
    files = {"forge.pin": f"{made.forge_at[42]}\n", "kernels/gfx90a68.kdb": pointer("a")}
    made.gadget.commit("pin it", files, at="2030-02-01T01:00:00+01:00")
    made.gadget.git("checkout", "-q", "-b", "work")
    head = made.gadget.commit("Bump", {"forge.pin": f"{made.forge_at[50]}\n"}, at="2030-02-02T01:00:00+01:00")
    made.gadget.git("update-ref", "refs/pull/7/head", head)
    made.gadget.git("checkout", "-q", "trunk")
    standin.add_pull("acme/gadget", 7, head_sha=head, title="Bump forge")
    return made


def options(pair: Invented) -> list[str]:
    return ["--project", str(pair.file), "--repo", f"gadget={pair.gadget.path}", "--repo", f"forge={pair.forge.path}"]


def test_gate_check_posts_a_comment_and_a_check_once(pair: Invented, standin: StandIn) -> None:
    code, out, err = run("gate", "check", "acme/gadget#7", *options(pair), "--post")
    assert (code, err) == (1, "")
    assert "created" in out
    (body,) = standin.bodies("acme/gadget", 7)
    assert "**crosses the kernel ABI**: kernel ABI 42 (memref descriptors) -> 50 (bare pointers)" in body
    (check,) = standin.repos["acme/gadget"].checks
    assert (check["name"], check["conclusion"]) == ("relmgr", "failure")
    writes = len(standin.writes())
    code, out, _ = run("gate", "check", "acme/gadget#7", *options(pair), "--post")
    assert (code, len(standin.writes())) == (1, writes)
    assert "unchanged" in out
    record = (Path.home() / ".local" / "state" / "relmgr" / "actions.jsonl").read_text()
    kept = [json.loads(line) for line in record.splitlines()]
    assert [(one["kind"], one["outcome"]) for one in kept] == [
        ("comment", "created"),
        ("check", "created"),
        ("comment", "unchanged"),
        ("check", "unchanged"),
    ]


def test_a_dry_run_shows_the_words_and_asks_nobody(pair: Invented, standin: StandIn) -> None:
    code, out, _ = run("gate", "check", "acme/gadget#7", "--base", "trunk", *options(pair), "--post", "--dry-run")
    assert code == 1
    assert "planned" in out
    assert "**Do not merge yet: " in out
    assert standin.calls == []


def test_json_stays_one_document(pair: Invented, standin: StandIn) -> None:
    _, out, err = run("gate", "check", "acme/gadget#7", *options(pair), "--post", "--format", "json")
    assert json.loads(out)["subject"] == "acme/gadget#7"
    assert err == ""


def test_what_could_not_be_posted_ends_in_3_and_is_said(pair: Invented, standin: StandIn) -> None:
    standin.troubles.append(Trouble("forbidden", "POST", "comments", times=9))
    code, out, _ = run("gate", "check", "acme/gadget#7", *options(pair), "--post")
    assert code == 3
    assert "not posted" in out
    assert "Resource not accessible by integration" in out
    assert len(standin.repos["acme/gadget"].checks) == 1


def test_b7_the_token_is_nowhere(pair: Invented, standin: StandIn) -> None:
    standin.troubles.append(Trouble("forbidden", "POST", "comments", times=9))
    _, out, err = run("gate", "check", "acme/gadget#7", *options(pair), "--post")
    assert standin.authorizations == {f"token {TOKEN}"}
    assert TOKEN not in out + err
    assert TOKEN not in json.dumps([*standin.repos["acme/gadget"].checks, *standin.bodies("acme/gadget", 7)])
    home = Path.home()
    assert [file for file in home.rglob("*") if file.is_file() and TOKEN.encode() in file.read_bytes()] == []


@pytest.mark.parametrize("more", [["--at", "2030-02-03"], ["--assume", "merged:acme/forge#1"]])
def test_what_is_not_so_now_is_not_posted(pair: Invented, standin: StandIn, more: list[str]) -> None:
    code, _, err = run("gate", "check", "acme/gadget#7", *options(pair), "--post", *more)
    assert code == 2
    assert "--post says what is so now" in err
    assert standin.calls == []


def test_order_plan_asks_the_forge_and_comments_on_both(pair: Invented, standin: StandIn) -> None:
    standin.repos["acme/gadget"].threads[7]["body"] = "Depends-On: acme/forge#9"
    standin.add_pull("acme/forge", 9)
    standin.add_pull("acme/forge", 10)
    code, out, err = run("order", "plan", *options(pair), "--post")
    assert (code, err) == (0, "")
    assert "created" in out
    (waiting,), (first,) = standin.bodies("acme/gadget", 7), standin.bodies("acme/forge", 9)
    assert "acme/forge#9 is still open" in waiting
    assert "1. **this one** (may merge now)" in first
    assert standin.bodies("acme/forge", 10) == []


def test_an_order_of_half_the_repositories_is_refused(pair: Invented, standin: StandIn) -> None:
    del standin.repos["acme/forge"]
    code, _, err = run("order", "plan", *options(pair))
    assert code == 3
    assert "Could not resolve to a Repository with the name 'acme/forge'" in err


# -- MIOpen's recorded history ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def miopen(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"miopen={build_graph_repository(tmp_path_factory.mktemp('graph') / 'MIOpen').path}"


def test_tickets_are_filed_once_and_found_again(miopen: str, standin: StandIn) -> None:
    standin.add_repo("ROCm/MIOpen")
    given = ["kdb", "ticket", "--repo", miopen, "--train", "5.4"]
    code, out, err = run(*given, "--post")
    assert (code, err) == (0, "")
    filed = standin.issues("ROCm/MIOpen")
    tickets = json.loads(run(*given, "--format", "json")[1])["tickets"]
    assert len(filed) == len(tickets) > 0
    assert [issue["title"] for issue in filed] == [ticket["title"] for ticket in tickets]
    assert out.count("created  issue") == len(tickets)
    writes = len(standin.writes())
    code, out, err = run(*given, "--post")
    assert (code, err) == (0, "")
    assert len(standin.writes()) == writes
    assert out.count("unchanged  issue") == len(tickets)


def planned(standin: StandIn, miopen: str, folder: Path, **facts: str) -> tuple[list[str], str]:
    """Let a person plan one rebuild in an issue of theirs; return the command that knows it, and the arch."""
    standin.add_repo("ROCm/MIOpen")
    arch = json.loads(run("kdb", "ticket", "--repo", miopen, "--train", "5.4", "--format", "json")[1])["tickets"][0][
        "arch"
    ]
    mine = {"kind": "issue", "title": "Rebuild kdb", "body": "By hand.", "state": "open", "author": "dev", "labels": []}
    standin.repos["ROCm/MIOpen"].threads[41] = mine | {"number": 41, "at": "2030-02-01T10:00:00Z"}
    plan = {
        "consumer": "ROCm/MIOpen",
        "train": "rocm-5.4",
        "arch": arch,
        "url": "https://github.com/ROCm/MIOpen/issues/41",
    }
    (folder / "plans.json").write_text(json.dumps([plan | facts]))
    given = ["kdb", "ticket", "--repo", miopen, "--train", "5.4", "--existing", str(folder / "plans.json"), "--post"]
    return given, arch


def test_an_issue_that_a_person_filed_gets_one_comment_edited_in_place_and_none_beside_it(
    miopen: str, standin: StandIn, tmp_path: Path
) -> None:
    given, arch = planned(standin, miopen, tmp_path)
    code, _, err = run(*given)
    assert (code, err) == (0, "")
    (comment,) = standin.bodies("ROCm/MIOpen", 41)
    assert comment.startswith(f"<!-- relmgr:comment=ticket/rocm-5.4,{arch} -->\n")
    assert "src/kernels/" in comment
    # The block of a ticket is relmgr's own: in a comment nothing reads it.
    assert "relmgr:ticket" not in comment
    assert standin.repos["ROCm/MIOpen"].threads[41]["body"] == "By hand."
    ours = [issue for issue in standin.issues("ROCm/MIOpen") if issue["author"] == "relmgr[bot]"]
    assert ours
    assert all(f",{arch}," not in issue["body"] for issue in ours)
    writes = len(standin.writes())
    assert run(*given)[0] == 0
    assert len(standin.writes()) == writes
    standin.repos["ROCm/MIOpen"].comments[41][0]["body"] = f"<!-- relmgr:comment=ticket/rocm-5.4,{arch} -->\nold"
    assert run(*given)[0] == 0
    assert standin.bodies("ROCm/MIOpen", 41) == [comment]


def test_a_plan_whose_issue_was_closed_since_no_longer_counts(miopen: str, standin: StandIn, tmp_path: Path) -> None:
    given, arch = planned(standin, miopen, tmp_path)
    standin.repos["ROCm/MIOpen"].threads[41]["state"] = "closed"
    assert run(*given)[0] == 0
    assert standin.bodies("ROCm/MIOpen", 41) == []
    assert any(f",{arch}," in issue["body"] for issue in standin.issues("ROCm/MIOpen"))


@pytest.mark.parametrize("url", ["", "https://github.com/other/MIOpen/issues/41", "https://github.com/ROCm/MIOpen"])
def test_a_plan_without_an_issue_to_comment_on_is_refused(
    miopen: str, standin: StandIn, tmp_path: Path, url: str
) -> None:
    given, _ = planned(standin, miopen, tmp_path, url=url)
    code, _, err = run(*given)
    assert code == 2
    assert "no issue of ROCm/MIOpen" in err
    assert standin.writes() == []


def test_a_checklist_becomes_an_issue_that_people_tick(miopen: str, standin: StandIn) -> None:
    standin.add_repo("ROCm/MIOpen")
    given = ["cut", "checklist", "5.4", "--repo", miopen, "--post"]
    code, _, err = run(*given)
    assert (code, err) == (0, "")
    (issue,) = standin.issues("ROCm/MIOpen")
    assert issue["title"] == "Cut of rocm-5.4"
    by_hand = next(line for line in issue["body"].split("\n") if "state=by-hand" in line)
    issue["body"] = issue["body"].replace(by_hand, by_hand.replace("- [ ]", "- [x]") + "\n  Asked, and done.")
    writes = len(standin.writes())
    assert run(*given)[0] == 0
    assert len(standin.writes()) == writes
    assert by_hand.replace("- [ ]", "- [x]") + "\n  Asked, and done." in issue["body"]


# -- in GitHub Actions ------------------------------------------------------------------------------------------------


PULL = {"number": 7, "head": {"repo": {"full_name": "acme/gadget"}}, "user": None}


def event(tmp_path: Path, **payload: object) -> str:
    file = tmp_path / "event.json"
    file.write_text(json.dumps({"repository": {"full_name": "acme/gadget"}} | payload))
    return str(file)


def test_an_event_is_judged_with_a_summary_and_annotations(
    pair: Invented, standin: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_EVENT_NAME", "pull_request_target")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    standin.repos["acme/gadget"].threads[7]["title"] = "::error::not ours"
    file = event(tmp_path, action="synchronize", pull_request=PULL)
    code, out, err = run("gate", "check", "--event", file, *options(pair))
    assert (code, err) == (1, "")
    assert "**Do not merge yet: " in (tmp_path / "summary.md").read_text()
    lines = out.splitlines()
    assert lines[0].startswith("::stop-commands::")
    end = lines.index(f"::{lines[0].removeprefix('::stop-commands::')}::")
    assert any("::error::not ours" in line for line in lines[:end])
    assert lines[end + 1].startswith(
        "::warning file=forge.pin,line=1,endLine=1,title=this pin crosses the kernel ABI::"
    )
    assert standin.writes() == []


def test_an_event_that_concerns_nothing_ends_well(pair: Invented, standin: StandIn, tmp_path: Path) -> None:
    file = event(tmp_path, action="assigned", pull_request=PULL)
    code, out, _ = run("gate", "check", "--event", file, *options(pair))
    assert code == 0
    assert "assigned changes nothing to judge by" in out
    assert standin.calls == []
