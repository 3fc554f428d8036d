"""Commands in comments, from the event to what stands on the forge: who may, once, answered in one comment (B5, M8)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_pin import run
from tests.support.event_world import SLUG, SMOKE, World, build_world
from tests.support.github_standin import StandIn, Trouble

INPUTS = ["arch", "pull_request", "head_sha", "request"]


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
    made = build_world(tmp_path, standin, SMOKE)
    standin.repos[SLUG].permissions["dev"] = "write"
    standin.repos[SLUG].workflows["smoke.yml"] = {"inputs": INPUTS, "run_name": "request"}
    return made


def give(world: World, body: str, author: str = "dev") -> tuple[int, str]:
    """Comment, run the workflow that this starts, and return its exit code and the answer."""
    event = world.comment(world.say(body, author))
    code, _, err = run("gate", "check", *event, *world.options(), "--post")
    assert err == ""
    (answer,) = world.answers()[-1:] or [""]
    return code, answer


def test_explain_answers_with_the_page_in_force_on_the_base_branch(world: World) -> None:
    override = "\n[policies.override.on-hold.params]\nlabels = ['PARKED']\n"
    world.pair.file.write_text(world.pair.file.read_text() + override)
    code, answer = give(world, "/relmgr explain on-hold", "stranger")
    assert code == 0
    lines = answer.splitlines()
    assert lines[0].startswith("<!-- relmgr:comment=answer/")
    assert "`/relmgr explain on-hold`" in answer
    assert "As in force on `trunk`:" in answer
    assert "##### on-hold (block)" in answer
    assert "PARKED" in answer


def test_order_answers_and_keeps_its_own_comment(world: World) -> None:
    world.standin.repos[SLUG].threads[7]["body"] = "Depends-On: acme/forge#9"
    world.standin.add_pull("acme/forge", 9)
    code, answer = give(world, "/relmgr order", "stranger")
    assert code == 0
    assert "**this one**" in answer
    (sticky,) = [body for body in world.standin.bodies(SLUG, 7) if body.startswith("<!-- relmgr:comment=order -->")]
    assert "acme/forge#9" in sticky
    # Others' threads are theirs to ask in.
    assert world.standin.bodies("acme/forge", 9) == []
    world.standin.repos[SLUG].threads[7]["body"] = "No order."
    code, answer = give(world, "/relmgr order", "stranger")
    assert "No declaration orders this pull request" in answer
    assert not any(body.startswith("<!-- relmgr:comment=order -->") for body in world.standin.bodies(SLUG, 7))


def test_ticket_files_what_the_pins_move_needs_once(world: World) -> None:
    code, answer = give(world, "/relmgr ticket")
    (issue,) = world.standin.issues(SLUG)
    assert "gfx90a" in issue["title"]
    assert f"/{SLUG}/issues/{issue['number']})" in answer
    assert "(created)" in answer
    assert code == 1  # other policies still block
    (gate,) = [body for body in world.standin.bodies(SLUG, 7) if body.startswith("<!-- relmgr:comment=gate -->")]
    passed = next(line for line in gate.splitlines() if line.startswith("Passed: "))
    assert "abi-bump-has-regeneration-ticket" in passed
    _, answer = give(world, "/relmgr ticket")
    assert len(world.standin.issues(SLUG)) == 1
    assert "(unchanged)" in answer


def test_a_strangers_copy_of_a_ticket_is_none(world: World) -> None:
    standin = world.standin
    body = "<!-- relmgr:ticket acme/gadget,gadget-3.0,gfx90a,none -->"
    standin.repos[SLUG].threads[40] = standin.add_pull(SLUG, 40) | {"kind": "issue", "body": body, "author": "dev"}
    del standin.repos[SLUG].threads[40]["head_sha"]
    code, answer = give(world, "/relmgr ticket")
    assert [issue["author"] for issue in standin.issues(SLUG)] == ["dev", standin.viewer]
    assert (code, "(created)" in answer) == (1, True)


def test_ticket_needs_a_move_that_crosses(world: World) -> None:
    gadget = world.pair.gadget
    gadget.git("checkout", "-q", "-b", "other")
    head = gadget.commit("Words", {"a.txt": "a"}, at="2030-02-02T01:00:00+01:00")
    gadget.git("update-ref", "refs/pull/7/head", head)
    gadget.git("checkout", "-q", "trunk")
    world.standin.repos[SLUG].threads[7]["head_sha"] = head
    _, answer = give(world, "/relmgr ticket")
    assert world.standin.issues(SLUG) == []
    assert "No ticket is needed: this pull request moves no pin across the kernel ABI." in answer


def test_order_of_one_that_is_closed(world: World) -> None:
    world.standin.repos[SLUG].threads[7]["state"] = "closed"
    code, answer = give(world, "/relmgr order")
    assert (code, "This pull request is closed: it waits for nothing." in answer) == (0, True)


def test_a_command_that_fails_is_answered_with_why_and_the_others_go_on(world: World) -> None:
    world.standin.repos[SLUG].threads[7]["head_sha"] = "e" * 40
    code, answer = give(world, "/relmgr recheck\n/relmgr explain on-hold")
    assert code == 3
    assert "**Could not be done:**" in answer
    assert "the forge eeeeeeeeeeee" in answer
    assert "##### on-hold (block)" in answer


def test_ticket_needs_permission(world: World) -> None:
    world.standin.repos[SLUG].permissions["dev"] = "read"
    code, answer = give(world, "/relmgr ticket")
    assert (code, world.standin.issues(SLUG)) == (0, [])
    assert "needs the permission 'write' on the repository, you have 'read'" in answer


def test_a_waiver_counts_at_once_and_at_every_later_judgement(world: World) -> None:
    body = "/relmgr waive approvals-and-checks until 2099-12-31 the lab is closed"
    _, answer = give(world, body, "lead")
    assert "`approvals-and-checks` is lifted here until the end of 2099-12-31 (Europe/Berlin)" in answer
    (gate,) = [body for body in world.standin.bodies(SLUG, 7) if body.startswith("<!-- relmgr:comment=gate -->")]
    assert "the lab is closed" in gate
    assert any("the lab is closed" in line for line in gate_now(world))


def gate_now(world: World) -> list[str]:
    """Return what `gate check` says now, without any event."""
    _, out, err = run("gate", "check", f"{SLUG}#7", "--github", *world.options())
    assert err == ""
    return out.splitlines()


def test_a_waiver_of_somebody_who_may_not_is_refused_and_counts_nowhere(world: World) -> None:
    code, answer = give(world, "/relmgr waive approvals-and-checks until 2099-12-31 because I say so")
    assert code == 0
    assert "only for the project's owners: lead" in answer
    assert not any("because I say so" in line for line in gate_now(world))


@pytest.mark.parametrize("action", ["edited", "deleted"])
def test_a_waiver_that_is_taken_back_is_judged_without_and_told(world: World, action: str) -> None:
    before = "/relmgr waive approvals-and-checks until 2099-12-31 the lab is closed"
    entry = world.say(before, "lead")
    run("gate", "check", *world.comment(entry), *world.options(), "--post")
    if action == "edited":
        entry["body"] = "Never mind."
        event = world.comment(entry, action, before)
    else:
        event = world.comment(entry, action)
        world.standin.repos[SLUG].comments[7].remove(entry)
    code, _, err = run("gate", "check", *event, *world.options(), "--post")
    assert (code, err) == (1, "")
    (answer,) = world.answers()
    assert "It does not count: it does not stand there any more." in answer
    assert not any("the lab is closed" in body for body in world.standin.bodies(SLUG, 7) if "=gate" in body)


def test_several_commands_have_one_answer_and_a_mistake_stops_none(world: World) -> None:
    code, answer = give(world, "Hello.\n\n/relmgr recheck\n/relmgr retest\n/relmgr explain on-hlod\n/relmgr order\n")
    assert (code, len(world.answers())) == (1, 1)
    order = ["/relmgr recheck", "/relmgr retest", "did you mean on-hold?", "/relmgr order"]
    found = [answer.index(text) for text in order]
    assert found == sorted(found)
    assert "Commands, each at the start of a line: `/relmgr recheck`" in answer
    # Asked again by a retried job: nothing is written, nobody is told.
    writes = len(world.standin.writes())
    run("gate", "check", "--event", str(world.folder / "event.json"), *world.options(), "--post")
    assert len(world.standin.writes()) == writes


def test_m8_an_edit_runs_only_what_it_adds_and_keeps_what_was_said(world: World) -> None:
    entry = world.say("/relmgr smoke gfx90a")
    run("gate", "check", *world.comment(entry), *world.options(), "--post")
    before, entry["body"] = entry["body"], "/relmgr smoke gfx90a\n/relmgr explain on-hold"
    run("gate", "check", *world.comment(entry, "edited", before), *world.options(), "--post")
    (answer,) = world.answers()
    assert "smoke.yml" in answer
    assert "`/relmgr explain on-hold`" in answer
    assert len(world.standin.repos[SLUG].runs) == 1
    # And an edit by somebody else is not its author's word.
    before, entry["body"] = entry["body"], "/relmgr smoke gfx942"
    entry["edited_by"] = "mallory"
    code, out, _ = run("gate", "check", *world.comment(entry, "edited", before), *world.options(), "--post")
    assert (code, len(world.standin.repos[SLUG].runs)) == (0, 1)
    assert "asks for nothing new" in out


def test_smoke_starts_the_default_branchs_workflow_once(world: World) -> None:
    entry = world.say("/relmgr smoke gfx90a")
    event = world.comment(entry)
    for _ in range(3):
        code, _, err = run("gate", "check", *event, *world.options(), "--post")
        assert (code, err) == (0, "")
    (started,) = world.standin.repos[SLUG].runs
    assert started["inputs"] | {"request": ""} == {
        "arch": "gfx90a",
        "pull_request": "7",
        "head_sha": world.head,
        "request": "",
    }
    (answer,) = world.answers()
    assert f"[smoke.yml]({world.standin.url}/{SLUG}/actions/runs/{started['id']}) was started for `gfx90a`" in answer


def test_smoke_without_a_workflow_says_what_to_run_and_where_to_hand_it_in(world: World) -> None:
    text = world.pair.file.read_text().replace('smoke_workflow = "smoke.yml"', "")
    world.pair.file.write_text(text)
    code, answer = give(world, "/relmgr smoke gfx90a")
    assert (code, world.standin.repos[SLUG].runs) == (0, [])
    assert "relmgr smoke run --arch gfx90a" in answer
    assert "relmgr gate check acme/gadget#7 --smoke-report" in answer


def test_smoke_refuses_a_head_that_its_author_has_not_seen(world: World) -> None:
    entry = world.say("/relmgr smoke gfx90a")
    entry["at"] = "2030-01-31T10:00:00Z"
    code, _, _ = run("gate", "check", *world.comment(entry), *world.options(), "--post")
    assert (code, world.standin.repos[SLUG].runs) == (0, [])
    assert "the head was pushed after this comment was written" in world.answers()[0]


@pytest.mark.parametrize(
    ("spoilt", "why"),
    [("inputs", "Unexpected inputs provided"), ("file", "Not Found"), ("token", "Resource not accessible")],
)
def test_a_workflow_that_github_does_not_start_is_said_and_can_be_asked_for_again(
    world: World, spoilt: str, why: str
) -> None:
    good = world.standin.repos[SLUG].workflows["smoke.yml"]
    if spoilt == "inputs":
        world.standin.repos[SLUG].workflows["smoke.yml"] = {"inputs": ["arch"]}
    elif spoilt == "file":
        world.standin.repos[SLUG].workflows = {}
    else:
        world.standin.troubles.append(Trouble("forbidden", "POST", "dispatches", times=1))
    code, answer = give(world, "/relmgr smoke gfx90a")
    assert code == 3
    assert "could not be started" in answer
    assert why in answer
    world.standin.repos[SLUG].workflows["smoke.yml"] = good
    run("gate", "check", "--event", str(world.folder / "event.json"), *world.options(), "--post")
    assert len(world.standin.repos[SLUG].runs) == 1
    assert "was started" in world.answers()[0]
    # GitHub answers so to inputs that the workflow does not know; its description leaves it out.
    if spoilt == "inputs":
        (undescribed,) = world.standin.mistakes
        assert undescribed.endswith("dispatches does not answer 422")
        world.standin.mistakes.clear()


def test_where_the_answer_cannot_be_written_nothing_is_started(world: World) -> None:
    world.standin.troubles.append(Trouble("forbidden", "POST", "comments", times=9))
    code, _ = give(world, "/relmgr smoke gfx90a")
    assert (code, world.standin.repos[SLUG].runs, world.answers()) == (3, [], [])


@pytest.mark.parametrize(
    ("author", "body", "said"),
    [
        ("helper[bot]", "/relmgr recheck", "a bot's comment is neither obeyed nor answered"),
        ("dev", "please /relmgr recheck", "asks for nothing new"),
        ("dev", "> /relmgr recheck", "asks for nothing new"),
        ("dev", "```\n/relmgr recheck\n```", "asks for nothing new"),
        ("dev", "nothing", "the comment holds no command"),
        ("dev", "<!-- relmgr:comment=answer/1 -->\n/relmgr recheck", "the comment is relmgr's own"),
    ],
)
def test_b5_who_asks_for_nothing_is_not_answered(world: World, author: str, body: str, said: str) -> None:
    event = world.comment(world.say(body, author))
    code, out, err = run("gate", "check", *event, *world.options(), "--post")
    assert (code, err) == (0, "")
    assert said in out
    assert world.standin.writes() == []


@pytest.mark.parametrize(("permission", "code"), [("write", 1), ("admin", 1), ("read", 0), ("triage", 0)])
def test_recheck_judges_for_who_may(world: World, permission: str, code: int) -> None:
    world.standin.repos[SLUG].permissions["dev"] = permission
    found, answer = give(world, "/relmgr recheck")
    assert found == code
    judged = [body for body in world.standin.bodies(SLUG, 7) if body.startswith("<!-- relmgr:comment=gate -->")]
    assert len(judged) == code
    assert ("Judged again" in answer) is bool(code)


HOSTILE = [
    "/relmgr retest @everyone <script>alert(1)</script> acme/forge#1 https://evil.example/x",
    "/relmgr explain `x`\n/relmgr waive ](javascript:1) until 2099-01-01 --> <!-- relmgr:part=x -->",
    "/relmgr \u202eretest\n::error::x\n/relmgr smoke $(id)",
    "/relmgr waive on-hold until 2099-01-01 ::stop-commands::x <!-- relmgr:run=smoke-1 started x -->",
]


@pytest.mark.parametrize("body", HOSTILE)
def test_n6_what_a_stranger_writes_is_inert_in_the_answer_the_log_and_the_summary(
    world: World, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(world.folder / "summary.md"))
    event = world.comment(world.say(body, "stranger"))
    code, out, _ = run("gate", "check", *event, *world.options(), "--post")
    assert code == 0
    (answer,) = world.answers()
    for text in (answer, (world.folder / "summary.md").read_text()):
        lines = text.splitlines()
        assert not any(line.startswith(("/relmgr", "::", "<script")) for line in lines)
        assert "<!-- relmgr:part=x -->" not in text
        assert "<!-- relmgr:run=smoke-1" not in text
        assert "\u202e" not in text
    depth = 0
    for line in out.splitlines():
        depth += line.startswith("::stop-commands::")
        assert not line.startswith("::error") or depth


def test_json_is_one_document_of_what_was_asked(world: World) -> None:
    event = world.comment(world.say("/relmgr explain on-hold"))
    code, out, err = run("gate", "check", *event, *world.options(), "--post", "--format", "json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert (document["kind"], [part["start"] for part in document["parts"]]) == ("answer", [None])
    event = world.comment(world.say("/relmgr recheck"))
    world.standin.troubles.append(Trouble("forbidden", "POST", "comments", times=9))
    code, out, err = run("gate", "check", *event, *world.options(), "--post", "--format", "json")
    assert (code, json.loads(out)["decision"]) == (3, "block")
    assert "not-posted  comment acme/gadget#7" in err
