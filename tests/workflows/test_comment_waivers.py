"""Waivers given in comments: whose word counts, from when, until when, and how one is taken back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from relmgr.gate.comment_waivers import given_waivers
from relmgr.gate.waivers import waiver_state
from relmgr.model.project import CommandSettings, Project
from relmgr.model.snapshot import Snapshot
from relmgr.model.verdict import Verdict
from relmgr.sources.github.auth import Credentials
from relmgr.sources.github.client import GitHub
from relmgr.sources.github.facts import ref_of
from relmgr.sources.github.pulls import MOST_COMMENTS
from relmgr.sources.github.waits import Clock
from relmgr.workflows.comment_waivers import MOST_ASKED
from relmgr.workflows.forge import ask_forge, snapshot_on
from relmgr.workflows.gate import Calendars, judge
from tests.support.github_standin import StandIn, Trouble
from tests.support.invented import Invented, invent

WAIVE = "/relmgr waive on-hold until 2099-12-31 the lab is closed"


@pytest.fixture
def standin() -> Iterator[StandIn]:
    with StandIn().running() as running:
        yield running
        assert running.mistakes == []


@pytest.fixture
def pair(tmp_path: Path, standin: StandIn) -> Invented:
    made = invent(tmp_path)
    made.gadget.commit("begin", {"a.txt": "a"}, at="2030-02-01T01:00:00+01:00")
    made.gadget.git("checkout", "-q", "-b", "work")
    head = made.gadget.commit("more", {"a.txt": "b"}, at="2030-02-02T01:00:00+01:00")
    made.gadget.git("update-ref", "refs/pull/7/head", head)
    made.gadget.git("checkout", "-q", "trunk")
    standin.add_repo("acme/gadget", "trunk")
    standin.add_repo("acme/forge", "trunk")
    standin.add_pull("acme/gadget", 7, head_sha=head, labels=["ON_HOLD"])
    return made


def project(pair: Invented, **commands: Any) -> Project:
    update = {"owners": ("lead",), "commands": CommandSettings.model_validate(commands)}
    return pair.project().model_copy(update=update)


def say(standin: StandIn, body: str = WAIVE, author: str | None = "lead", **facts: Any) -> dict[str, Any]:
    entry = standin.add_comment("acme/gadget", 7, author, body)
    entry |= facts
    return entry


def door(standin: StandIn) -> GitHub:
    return GitHub(Credentials(token="planted-token-0123"), standin.url, clock=Clock(sleep=lambda seconds: None))


def take(project: Project, standin: StandIn) -> Snapshot:
    ref = ref_of("acme/gadget#7")
    return snapshot_on(project, ask_forge(project, door(standin), ref), ref, None, Calendars(None, "none"))


def held(project: Project, snapshot: Snapshot) -> Verdict:
    report = judge(project, snapshot, recorded=False)
    (found,) = [verdict for verdict in report.verdicts if verdict.policy == "on-hold"]
    return found


def is_waived(pair: Invented, standin: StandIn, **commands: Any) -> bool:
    chosen = project(pair, **commands)
    return held(chosen, take(chosen, standin)).is_waived


def test_an_owners_waiver_counts_and_the_verdict_says_whose_it_is_until_when_why_and_where(
    pair: Invented, standin: StandIn
) -> None:
    assert not is_waived(pair, standin)
    entry = say(standin, at="2022-02-01T11:00:00Z")
    chosen = project(pair)
    snapshot = take(chosen, standin)
    verdict = held(chosen, snapshot)
    assert verdict.is_waived
    assert verdict.evidence["waiver"] == {
        "state": "in force",
        "policy": "on-hold",
        "subject": "acme/gadget#7",
        "until": "2099-12-31",
        "by": "lead",
        "reason": "the lab is closed",
        "source": "command",
        "given_at": "2022-02-01T11:00:00Z",
        "url": f"https://github.com/acme/gadget/pull/7#issuecomment-{entry['id']}",
    }
    assert not standin.writes()
    # Replayed: not before it was given, and not after its last day in the project's zone.
    (waiver,) = snapshot.waivers or ()
    before = snapshot.model_copy(update={"at": waiver.given_at.replace(hour=10)})  # type: ignore[union-attr]
    assert waiver_state(before, waiver) == "not yet given"
    short = waiver.model_copy(update={"until": date(2022, 2, 1)})
    last = waiver.given_at.replace(hour=22, minute=59)  # type: ignore[union-attr]
    assert waiver_state(snapshot.model_copy(update={"at": last}), short) == "in force"
    assert waiver_state(snapshot.model_copy(update={"at": last.replace(hour=23)}), short) == "expired"


@pytest.mark.parametrize(
    ("said", "counts"),
    [
        ({}, True),
        ({"edited_at": "2022-03-01T10:00:00Z"}, True),
        ({"edited_at": "2022-03-01T10:00:00Z", "edited_by": "mallory"}, False),
        ({"edited_at": "2022-03-01T10:00:00Z", "edited_by": None}, False),
        ({"hidden": True}, False),
        ({"author": "mallory"}, False),
        ({"author": "lead[bot]"}, False),
        ({"author": None}, False),
        ({"body": f"> {WAIVE}"}, False),
        ({"body": f"```\n{WAIVE}\n```"}, False),
        ({"body": "withdrawn"}, False),
        ({"body": WAIVE.replace("2099-12-31", "2020-01-01")}, False),
        ({"body": WAIVE.replace("on-hold", "freeze")}, False),
        ({"body": f"Thanks.\r\n\r\n{WAIVE}\r\n"}, True),
    ],
)
def test_it_counts_as_its_author_wrote_it_where_all_can_see_it(
    pair: Invented, standin: StandIn, said: dict[str, Any], counts: bool
) -> None:
    say(standin, **said)
    assert is_waived(pair, standin) is counts


def test_a_deleted_comment_or_line_takes_it_back(pair: Invented, standin: StandIn) -> None:
    entry = say(standin)
    assert is_waived(pair, standin)
    entry |= {"body": "On second thought, no.", "edited_at": "2030-03-01T10:00:00Z"}
    assert not is_waived(pair, standin)
    entry["body"] = WAIVE
    assert is_waived(pair, standin)
    standin.repos["acme/gadget"].comments[7].remove(entry)
    assert not is_waived(pair, standin)


@pytest.mark.parametrize(("permission", "counts"), [("maintain", True), ("admin", True), ("write", False)])
def test_where_a_role_may_give_one_the_forge_is_asked_for_it(
    pair: Invented, standin: StandIn, permission: str, counts: bool
) -> None:
    standin.repos["acme/gadget"].permissions["dev"] = permission
    say(standin, author="dev")
    assert is_waived(pair, standin, waive="maintain") is counts
    assert not is_waived(pair, standin, waive="nobody")
    assert is_waived(pair, standin, waive=["dev"])


def test_a_role_that_cannot_be_read_is_named_and_the_waiver_does_not_count(pair: Invented, standin: StandIn) -> None:
    standin.troubles.append(Trouble("forbidden", "GET", "permission", times=9))
    say(standin, author="dev")
    chosen = project(pair, waive="maintain")
    verdict = held(chosen, take(chosen, standin))
    assert not verdict.is_waived
    assert verdict.evidence["waivers_unread"] == "waivers given in comments: what dev may do could not be told"


def test_a_crowd_is_not_asked_about_but_for_a_few(pair: Invented, standin: StandIn) -> None:
    for number in range(40):
        say(standin, author=f"dev{number}")
    chosen = project(pair, waive="maintain")
    assert not held(chosen, take(chosen, standin)).is_waived
    assert len([path for verb, path in standin.calls if "permission" in path]) == MOST_ASKED


def test_comments_that_could_not_be_read_are_named_in_what_they_might_lift(pair: Invented, standin: StandIn) -> None:
    say(standin)
    standin.repos["acme/gadget"].comments[7] += [
        {"id": number, "author": "dev", "body": "spam", "at": "2030-02-01T12:00:00Z"} for number in range(MOST_COMMENTS)
    ]
    chosen = project(pair)
    verdict = held(chosen, take(chosen, standin))
    assert not verdict.is_waived
    said = "waivers given in comments: the forge did not show the whole thread"
    assert verdict.evidence["waivers_unread"] == said


def test_m11_a_waiver_on_the_third_page_counts(pair: Invented, standin: StandIn) -> None:
    for number in range(250):
        say(standin, body=f"word {number}", author="dev")
    say(standin)
    assert is_waived(pair, standin)


def test_a_mannequin_who_is_called_as_an_owner_is_none(pair: Invented, standin: StandIn) -> None:
    say(standin, typename="Mannequin")
    assert held(project(pair), take(project(pair), standin)).outcome.value == "pending"
    assert take(project(pair), standin).waivers == ()


def test_a_role_of_an_organisations_own_making_counts_as_what_it_is_made_from(pair: Invented, standin: StandIn) -> None:
    say(standin, author="dev")
    standin.repos["acme/gadget"].permissions["dev"] = "write"
    standin.repos["acme/gadget"].own_roles["dev"] = "gatekeeper"
    (waiver,) = take(project(pair, waive="write"), standin).waivers or ()
    assert waiver.by == "dev"


def test_where_names_decide_others_do_not_come_into_it(pair: Invented, standin: StandIn) -> None:
    for author in ("mallory", "Lead", "trent"):
        say(standin, author=author)
    ref = ref_of("acme/gadget#7")
    thread = ask_forge(project(pair), door(standin), ref).pulls.found[ref].comments or ()

    def authors(who: object) -> list[str]:
        return [one.comment.author for one in given_waivers(thread, ["on-hold"], project(pair, waive=who))]

    assert authors("owners") == ["Lead"]
    assert authors(["trent"]) == ["trent"]
    assert authors("write") == ["mallory", "Lead", "trent"]
    assert authors("nobody") == []


def test_a_forge_that_does_not_answer_lifts_nothing(pair: Invented, standin: StandIn) -> None:
    say(standin)
    standin.troubles.append(Trouble("502", "POST", "graphql", times=999))
    chosen = project(pair)
    snapshot = take(chosen, standin)
    assert "GitHub does not answer" in snapshot.gaps["waivers"]
    assert not held(chosen, snapshot).is_waived
