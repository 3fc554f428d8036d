"""Events of GitHub Actions, each by GitHub's own published payload, through the command line to the forge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_pin import run
from tests.support.event_world import SLUG, World, account, build_world, example, of_repository
from tests.support.github_standin import StandIn, Trouble

QUEUED = "f" * 40


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    with StandIn().running() as running:
        monkeypatch.setenv("GITHUB_API_URL", running.url)
        monkeypatch.setenv("GITHUB_TOKEN", "planted-token-0123456789")
        monkeypatch.setenv("GITHUB_EVENT_NAME", "")
        yield running
        assert running.mistakes == []


@pytest.fixture
def world(tmp_path: Path, standin: StandIn) -> World:
    return build_world(tmp_path, standin)


def pull_event(world: World, name: str, action: str = "synchronize", **facts: Any) -> list[str]:
    payload = of_repository(example("pull_request", action), SLUG)
    payload["number"] = payload["pull_request"]["number"] = 7
    payload["pull_request"]["head"]["repo"] = {"full_name": SLUG}
    payload["pull_request"] |= {"title": "::error::not ours", "body": "::add-mask::x"} | facts
    return world.event(name, payload)


def queue_event(world: World) -> list[str]:
    payload = of_repository(example("merge_group", "checks_requested"), SLUG)
    ref = f"refs/heads/gh-readonly-queue/trunk/pr-7-{'b' * 40}"
    payload["merge_group"] |= {"head_ref": ref, "head_sha": QUEUED, "base_ref": "refs/heads/trunk"}
    return world.event("merge_group", payload)


def comment_event(world: World) -> list[str]:
    world.standin.repos[SLUG].permissions["dev"] = "write"
    return world.comment(world.say("/relmgr recheck"))


EVENTS = {
    "pull_request": lambda world: pull_event(world, "pull_request"),
    "pull_request_target": lambda world: pull_event(world, "pull_request_target"),
    "merge_group": queue_event,
    "issue_comment": comment_event,
}


@pytest.mark.parametrize("name", EVENTS)
def test_each_event_is_judged_with_log_summary_annotations_comment_and_check(
    world: World, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(world.folder / "summary.md"))
    world.standin.repos[SLUG].threads[7]["title"] = "::error::not ours"
    event = EVENTS[name](world)
    code, out, err = run("gate", "check", *event, *world.options(), "--post")
    assert (code, err) == (1, "")
    assert_inert(out)
    annotations = [line for line in out.splitlines() if line.startswith("::warning file=forge.pin,line=1,")]
    assert len(annotations) == 1
    summary = (world.folder / "summary.md").read_text()
    (comment,) = [body for body in world.standin.bodies(SLUG, 7) if body.startswith("<!-- relmgr:comment=gate -->")]
    assert comment.split("\n", 1)[1].strip() in summary
    judged = {check["head_sha"]: check["conclusion"] for check in world.standin.repos[SLUG].checks}
    wanted = {world.head: "failure"} | ({QUEUED: "failure"} if name == "merge_group" else {})
    assert judged == wanted
    writes = len(world.standin.writes())
    assert run("gate", "check", *event, *world.options(), "--post")[0] == 1
    assert len(world.standin.writes()) == writes


def assert_inert(out: str) -> None:
    """Every line of ours that Actions obeys is one we mean; strangers' stand where commands are stopped."""
    token: str | None = None
    for line in out.splitlines():
        if token is None and line.startswith("::stop-commands::"):
            token = line.removeprefix("::stop-commands::")
        elif token is not None and line == f"::{token}::":
            token = None
        elif token is None:
            assert line.startswith("::warning file=forge.pin") or not line.startswith("::"), line
    assert token is None


@pytest.mark.parametrize("name", EVENTS)
def test_without_post_an_event_writes_nothing(world: World, name: str) -> None:
    code, _, err = run("gate", "check", *EVENTS[name](world), *world.options())
    assert (code, err) == (1, "")
    assert world.standin.writes() == []


def test_a_queue_whose_pull_request_may_merge_goes_on(world: World) -> None:
    override = "".join(
        f'\n[policies.override.{policy}]\ndisabled = "not in this test\'s world"\n' for policy in blocking(world)
    )
    world.pair.file.write_text(world.pair.file.read_text() + override)
    code, _, _ = run("gate", "check", *queue_event(world), *world.options(), "--post")
    assert code == 0
    judged = {check["head_sha"]: check["conclusion"] for check in world.standin.repos[SLUG].checks}
    assert judged == {world.head: "success", QUEUED: "success"}


def blocking(world: World) -> list[str]:
    _, out, _ = run("gate", "check", f"{SLUG}#7", "--github", *world.options(), "--format", "json")
    verdicts = json.loads(out)["verdicts"]
    return [v["policy"] for v in verdicts if v["level"] == "block" and v["outcome"] not in ("passed", "skipped")]


# -- whose rules ------------------------------------------------------------------------------------------------------


def test_t3_a_comment_is_judged_by_the_branch_that_the_pull_request_goes_to(world: World) -> None:
    world.pair.gadget.git("branch", "stable/2.0", "trunk")
    world.standin.repos[SLUG].threads[7]["base"] = "stable/2.0"
    code, out, _ = run("gate", "check", *comment_event(world), *world.options(), "--format", "json")
    assert code == 1
    named = {v["policy"]: v["evidence"] for v in json.loads(out)["verdicts"]}
    assert "stable/2.0" in json.dumps(named)


def settled(world: World) -> list[str]:
    """Move the settings into the consumer's own repository, on the base branch; return what names them there."""
    text = world.pair.file.read_text()
    files: dict[str, str | bytes | None] = {
        "relmgr.toml": text + '\n[policies]\nfolders = ["rules"]\n[policies.override.on-hold.params]\nlabels = ["X"]\n',
        "rules/README.md": "None yet.\n",
        "trains.yaml": (world.folder / "trains.yaml").read_text(),
    }
    world.pair.gadget.commit("settings", files, at="2030-02-03T01:00:00+01:00")
    return ["--project", str(world.pair.gadget.path / "relmgr.toml"), *world.options()[2:]]


@pytest.mark.parametrize("name", ["pull_request", "merge_group"])
def test_a_changes_own_settings_are_not_applied_to_itself(world: World, name: str) -> None:
    options = settled(world)
    gadget = world.pair.gadget
    code, before, _ = run("gate", "check", *EVENTS[name](world), *options, "--format", "json")
    assert code == 1
    # As a workflow's checkout of the merge has it: the change lifts what stands in its way, and makes itself an owner.
    mine = (gadget.path / "relmgr.toml").read_text().replace('"lead"', '"lead", "mallory"')
    for policy in blocking(world):
        mine += f'\n[policies.override.{policy}]\ndisabled = "because I would like to merge"\n'
    (gadget.path / "relmgr.toml").write_text(mine)
    (gadget.path / "trains.yaml").write_text("trains: []\n")
    world.say("/relmgr waive approvals-and-checks until 2099-12-31 I am an owner now", "mallory")
    code, after, err = run("gate", "check", *EVENTS[name](world), *options, "--format", "json")
    assert (code, err) == (1, "")
    assert outcomes(after) == outcomes(before)
    assert "I am an owner now" not in after


def lie(world: World, what: str) -> None:
    """Let the change say in the checkout's settings that its repository lies elsewhere, or is another one."""
    file = world.pair.gadget.path / "relmgr.toml"
    text = file.read_text()
    if what == "its clone is elsewhere":
        text = text.replace(f'slug = "{SLUG}"', f'slug = "{SLUG}"\npath = ".git"')
    elif what == "a copy is its clone":
        copied = world.pair.gadget.path / "vendored"
        world.pair.gadget.git("clone", "-q", "--mirror", ".", str(copied))
        text = text.replace(f'slug = "{SLUG}"', f'slug = "{SLUG}"\npath = "vendored"')
    elif what == "another name":
        text = text.replace(f'slug = "{SLUG}"', 'slug = "acme/none"')
    elif what == "another repository":
        world.standin.add_repo("mallory/gadget", "pull/7/head")
        world.standin.add_pull("mallory/gadget", 7, head_sha=world.head, base="pull/7/head")
        text = text.replace(f'slug = "{SLUG}"', f'slug = "mallory/gadget"\naliases = ["{SLUG}"]')
    file.write_text(text)


@pytest.mark.parametrize(
    "what", ["its clone is elsewhere", "a copy is its clone", "another name", "another repository", "a link"]
)
def test_a_change_does_not_choose_whose_settings_judge_it(
    world: World, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled(world)
    gadget = world.pair.gadget
    monkeypatch.chdir(gadget.path)
    given = ["--repo", f"forge={world.pair.forge.path}", "--format", "json"]
    lax = (gadget.path / "relmgr.toml").read_text()
    for policy in blocking(world):
        lax += f'\n[policies.override.{policy}]\ndisabled = "because I would like to merge"\n'
    gadget.git("checkout", "-q", "work")
    files: dict[str, str | bytes | None] = {"relmgr.toml": lax, "trains.yaml": "trains: []\n", "rules/README.md": "-"}
    world.head = gadget.commit("Loosen", files, at="2030-02-04T01:00:00+01:00")
    gadget.git("update-ref", "refs/pull/7/head", world.head)
    world.standin.repos[SLUG].threads[7]["head_sha"] = world.head
    if what == "a link":
        (gadget.path / "relmgr.toml").rename(world.folder / "lax.toml")
        (gadget.path / "relmgr.toml").symlink_to(world.folder / "lax.toml")
    lie(world, what)
    code, after, err = run("gate", "check", *pull_event(world, "pull_request"), *given)
    assert (code, err) == (1, "")
    assert json.loads(after)["subject"] == f"{SLUG}#7"
    assert outcomes(after)["approvals-and-checks"] != "skipped"
    assert "because I would like to merge" not in after


def outcomes(document: str) -> dict[str, str]:
    return {verdict["policy"]: verdict["outcome"] for verdict in json.loads(document)["verdicts"]}


def test_settings_that_only_the_change_brings_are_refused(world: World) -> None:
    file = world.pair.gadget.path / "relmgr.toml"
    file.write_text(world.pair.file.read_text())
    (file.parent / "trains.yaml").write_text((world.folder / "trains.yaml").read_text())
    options = ["--project", str(file), *world.options()[2:]]
    code, _, err = run("gate", "check", *pull_event(world, "pull_request"), *options)
    assert code == 2
    assert "a change is judged by those of its base branch" in err


def test_settings_are_not_taken_where_the_base_is_not_known(world: World) -> None:
    options = settled(world)
    world.standin.troubles.append(Trouble("forbidden", "GET", "pulls/7", times=99))
    code, _, err = run("gate", "check", *pull_event(world, "pull_request"), *options)
    assert code == 3
    assert "fetch the base branch" in err


def test_an_event_of_a_repository_that_the_project_does_not_know_is_no_pass(world: World) -> None:
    event = pull_event(world, "pull_request")
    payload = of_repository(json.loads((world.folder / "event.json").read_text()), "acme/renamed")
    (world.folder / "event.json").write_text(json.dumps(payload))
    code, _, err = run("gate", "check", *event, *world.options())
    assert code == 2
    assert "acme/renamed is no repository of the project gadget-forge" in err


def test_a_pull_request_that_is_sent_elsewhere_in_between_is_judged_by_neither_branch(world: World) -> None:
    options = settled(world)
    world.pair.gadget.git("branch", "stable/2.0", "trunk")
    thread = world.standin.repos[SLUG].threads[7]
    # The first call asks where it goes.
    world.standin.after = lambda number: thread.update(base="stable/2.0") if number == 1 else None
    code, _, err = run("gate", "check", *pull_event(world, "pull_request"), *options)
    assert code == 3
    assert "it goes to stable/2.0 now, no more to trunk" in err


# -- tokens -----------------------------------------------------------------------------------------------------------


def forbid(world: World) -> None:
    world.standin.troubles += [Trouble("forbidden", verb, ".", times=99) for verb in ("PATCH", "DELETE")]
    world.standin.troubles += [Trouble("forbidden", "POST", "/repos/", times=99)]


@pytest.mark.parametrize("whose", ["fork", "deleted fork", "dependabot"])
def test_a_token_that_may_not_write_is_said_and_the_verdict_decides(world: World, whose: str) -> None:
    forbid(world)
    event = pull_event(world, "pull_request")
    payload = json.loads((world.folder / "event.json").read_text())
    if whose == "dependabot":
        payload["pull_request"]["user"] = account("dependabot[bot]")
    else:
        payload["pull_request"]["head"]["repo"] = {"full_name": "mallory/gadget"} if whose == "fork" else None
    (world.folder / "event.json").write_text(json.dumps(payload))
    code, out, err = run("gate", "check", *event, *world.options(), "--post")
    assert (code, err) == (1, "")
    assert "not-posted  comment acme/gadget#7: " in out
    assert "GitHub refused: 403 Resource not accessible by integration" in out
    assert "GitHub gives this event's workflow a token that may not write" in out
    assert_inert(out)


@pytest.mark.parametrize("name", ["pull_request", "pull_request_target", "issue_comment"])
def test_a_token_that_should_be_able_to_write_and_is_not_ends_in_3(world: World, name: str) -> None:
    event = EVENTS[name](world)
    forbid(world)
    code, out, _ = run("gate", "check", *event, *world.options(), "--post")
    assert code == 3
    assert "not-posted" in out


def test_trouble_that_is_not_the_tokens_ends_in_3_for_a_fork_too(world: World) -> None:
    event = pull_event(world, "pull_request")
    payload = json.loads((world.folder / "event.json").read_text())
    payload["pull_request"]["head"]["repo"] = None
    (world.folder / "event.json").write_text(json.dumps(payload))
    world.standin.troubles.append(Trouble("refused", "POST", "comments", times=9))
    assert run("gate", "check", *event, *world.options(), "--post")[0] == 3


@pytest.mark.parametrize("more", [["--at", "2030-01-01"], ["--base", "trunk"], ["--assume", "merged:acme/forge#1"]])
def test_an_event_is_of_now(world: World, more: list[str]) -> None:
    code, _, err = run("gate", "check", *pull_event(world, "pull_request"), *world.options(), *more)
    assert code == 2
    assert "an event is of now" in err
