"""What is written on GitHub: once, quietly, by marker and author, within its limits; and what could not be is said."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from relmgr.model.actions import (
    Action,
    Annotation,
    Posting,
    SetLabels,
    UpsertCheck,
    UpsertComment,
    UpsertIssue,
    UpsertPull,
)
from relmgr.model.pull_request import PullRequestRef
from relmgr.sinks.dry_run import DryRun
from relmgr.sinks.github import GitHubSink
from relmgr.sources.github.auth import Credentials
from relmgr.sources.github.client import GitHub
from relmgr.sources.github.facts import read_ticket_issues
from relmgr.sources.github.waits import Clock
from tests.support.github_standin import Kind, StandIn, Trouble

SLUG = "acme/gadget"
THREAD = PullRequestRef(repository=SLUG, number=7)
HEAD = "a" * 40
COMMENT = UpsertComment(thread=THREAD, key="gate", body="May merge.")
ISSUE_MARK = "<!-- relmgr:ticket a,b,c,d -->"
ISSUE = UpsertIssue(
    repository=SLUG, marker=ISSUE_MARK, title="Rebuild", body=f"Words.\n\n{ISSUE_MARK}\n", labels=("kdb",)
)
PULL = UpsertPull(repository=SLUG, head="relmgr/bump-1", base="develop", family="forge", title="Bump", body="Words.")


def check(
    annotations: int = 0, conclusion: str | None = "failure", summary: str = "Why.", key: str = "gate"
) -> UpsertCheck:
    found = tuple(
        Annotation(path="forge.pin", line=n + 1, end_line=n + 1, level="failure", title="pin", message=f"line {n}")
        for n in range(annotations)
    )
    return UpsertCheck.model_validate(
        {
            "repository": SLUG,
            "commit": HEAD,
            "key": key,
            "name": "relmgr",
            "conclusion": conclusion,
            "title": {"success": "May merge", None: "Waits"}.get(conclusion, "Blocked"),
            "summary": summary,
            "annotations": found,
        }
    )


@pytest.fixture
def standin() -> Iterator[StandIn]:
    with StandIn().running() as running:
        running.add_repo(SLUG)
        running.add_pull(SLUG, 7, head_sha=HEAD)
        yield running
        assert running.mistakes == []


def apply(standin: StandIn, *actions: Action) -> Posting:
    github = GitHub(
        Credentials(token="planted-token-0123"), standin.url, clock=Clock(now=lambda: 0.0, sleep=lambda seconds: None)
    )
    return GitHubSink(github).apply(actions)


def outcomes(posting: Posting) -> list[str]:
    return [one.outcome for one in posting.done]


# -- the sticky comment -----------------------------------------------------------------------------------------------


def test_b1_b2_a_comment_is_made_once_edited_in_place_and_left_alone_when_unchanged(standin: StandIn) -> None:
    assert outcomes(apply(standin, COMMENT)) == ["created"]
    writes = len(standin.writes())
    assert outcomes(apply(standin, COMMENT)) == ["unchanged"]
    assert len(standin.writes()) == writes
    assert outcomes(apply(standin, COMMENT.model_copy(update={"body": "Blocked."}))) == ["updated"]
    assert standin.bodies(SLUG, 7) == ["<!-- relmgr:comment=gate -->\nBlocked."]


def test_b2_what_a_web_form_does_to_line_ends_is_no_change(standin: StandIn) -> None:
    standin.add_comment(SLUG, 7, "relmgr[bot]", "<!-- relmgr:comment=gate -->\r\nMay merge.\r\n\r\n")
    assert outcomes(apply(standin, COMMENT)) == ["unchanged"]
    assert standin.writes() == []


def test_b1_it_is_found_on_any_page(standin: StandIn) -> None:
    for number in range(230):
        standin.add_comment(SLUG, 7, "dev", f"chat {number}")
        if number == 205:
            standin.add_comment(SLUG, 7, "relmgr[bot]", "<!-- relmgr:comment=gate -->\nold")
    assert outcomes(apply(standin, COMMENT)) == ["updated"]
    assert len(standin.bodies(SLUG, 7)) == 231


def test_b1_a_strangers_copy_of_the_marker_is_ignored(standin: StandIn) -> None:
    for author in ("mallory", "relmgr", None):
        standin.add_comment(SLUG, 7, author, "<!-- relmgr:comment=gate -->\nMay merge.")
    assert outcomes(apply(standin, COMMENT)) == ["created"]
    assert len(standin.bodies(SLUG, 7)) == 4


def test_b1_two_runs_at_once_leave_one(standin: StandIn) -> None:
    other = "<!-- relmgr:comment=gate -->\nBlocked."

    def another_run(number: int) -> None:
        if standin.calls[-1][0] == "POST" and "comments" in standin.calls[-1][1] and not standin.bodies(SLUG, 7):
            standin.add_comment(SLUG, 7, "relmgr[bot]", other)

    standin.before = another_run
    assert outcomes(apply(standin, COMMENT)) == ["created"]
    assert standin.bodies(SLUG, 7) == ["<!-- relmgr:comment=gate -->\nMay merge."]


def test_our_quotation_of_the_marker_is_not_the_comment(standin: StandIn) -> None:
    standin.add_comment(SLUG, 7, "relmgr[bot]", "See `<!-- relmgr:comment=gate -->`.")
    assert outcomes(apply(standin, COMMENT)) == ["created"]


def test_a_comment_that_is_no_longer_needed_is_removed(standin: StandIn) -> None:
    apply(standin, COMMENT)
    gone = COMMENT.model_copy(update={"body": None})
    assert outcomes(apply(standin, gone, gone)) == ["closed", "unchanged"]
    assert standin.bodies(SLUG, 7) == []


def test_b2_nothing_to_tell_makes_no_comment_but_sets_an_older_one_right(standin: StandIn) -> None:
    quiet = COMMENT.model_copy(update={"only_update": True})
    assert outcomes(apply(standin, quiet)) == ["unchanged"]
    assert standin.writes() == []
    assert outcomes(apply(standin, COMMENT.model_copy(update={"body": "Blocked."}), quiet)) == ["created", "updated"]


def test_b3_a_comment_too_long_is_cut_not_refused(standin: StandIn) -> None:
    long = COMMENT.model_copy(update={"body": "\n\n".join(f"Paragraph {n}." for n in range(20_000))})
    assert outcomes(apply(standin, long, long)) == ["created", "unchanged"]
    (body,) = standin.bodies(SLUG, 7)
    assert len(body) <= 65_536
    assert body.endswith("*(Cut here: the rest does not fit into one comment.)*\n")


# -- exactly once -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["502", "502-done", "dropped-done", "secondary"])
@pytest.mark.parametrize(
    ("action", "path"), [(COMMENT, "/comments$"), (check(), "/check-runs$"), (ISSUE, "/issues$"), (PULL, "/pulls$")]
)
def test_a_post_whose_fate_is_unknown_is_looked_for_before_it_is_sent_again(
    standin: StandIn, kind: Kind, action: Action, path: str
) -> None:
    standin.troubles.append(Trouble(kind, "POST", path, times=2))
    posting = apply(standin, action)
    assert outcomes(posting) in (["created"], ["unchanged"])
    repo = standin.repos[SLUG]
    made = {
        "comment": len(standin.bodies(SLUG, 7)),
        "check": len(repo.checks),
        "issue": len(standin.issues(SLUG)),
        "pull-request": len(repo.threads) - 1 - len(standin.issues(SLUG)),
    }
    assert made == {name: int(name == action.kind) for name in made}


def test_what_stays_uncertain_is_said_and_the_rest_is_posted(standin: StandIn) -> None:
    standin.troubles.append(Trouble("502", "POST", "comments", times=99))
    posting = apply(standin, COMMENT, ISSUE)
    assert outcomes(posting) == ["not-posted", "created"]
    assert "no answer that tells whether it was done" in str(posting.done[0].why)
    assert not posting.is_whole


def test_b4_after_a_limit_what_was_not_posted_is_said(standin: StandIn) -> None:
    standin.troubles.append(Trouble("secondary", "POST", "comments", times=99))
    posting = apply(standin, COMMENT, ISSUE, PULL)
    assert outcomes(posting) == ["not-posted"] * 3
    assert all("rate limited (403 You have exceeded a secondary rate limit" in str(one.why) for one in posting.done)
    assert standin.issues(SLUG) == []


def test_a_refusal_is_said_with_its_reason_and_the_others_are_posted(standin: StandIn) -> None:
    standin.troubles.append(Trouble("forbidden", "POST", "issues$"))
    posting = apply(standin, ISSUE, COMMENT)
    assert outcomes(posting) == ["not-posted", "created"]
    assert "Resource not accessible by integration" in str(posting.done[0].why)


# -- check runs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 50, 51, 130])
def test_b3_annotations_go_in_batches_of_50_and_none_still_makes_the_check(standin: StandIn, count: int) -> None:
    assert outcomes(apply(standin, check(count))) == ["created"]
    (run,) = standin.repos[SLUG].checks
    assert [one["message"] for one in run["annotations"]] == [f"line {n}" for n in range(count)]
    assert (run["status"], run["conclusion"], run["head_sha"]) == ("completed", "failure", HEAD)
    writes = len(standin.writes())
    assert writes == max(1, -(-count // 50))
    assert outcomes(apply(standin, check(count))) == ["unchanged"]
    assert len(standin.writes()) == writes


def test_another_verdict_edits_the_check_and_other_annotations_make_a_newer_one(standin: StandIn) -> None:
    assert outcomes(apply(standin, check(2), check(2, summary="Other."), check(3))) == ["created", "updated", "created"]
    older, newer = standin.repos[SLUG].checks
    assert (older["output"]["summary"], len(older["annotations"]), len(newer["annotations"])) == ("Other.", 2, 3)


def test_a_check_that_waits_is_not_completed(standin: StandIn) -> None:
    apply(standin, check(conclusion=None))
    assert standin.repos[SLUG].checks[0]["status"] == "in_progress"
    assert outcomes(apply(standin, check())) == ["updated"]
    assert standin.repos[SLUG].checks[0]["conclusion"] == "failure"


def test_batches_whose_fate_is_unknown_are_not_sent_twice(standin: StandIn) -> None:
    standin.troubles.append(Trouble("502-done", "PATCH", "check-runs", times=2))
    assert outcomes(apply(standin, check(180))) == ["created"]
    (run,) = standin.repos[SLUG].checks
    assert [one["message"] for one in run["annotations"]] == [f"line {n}" for n in range(180)]


def test_another_apps_check_of_that_name_is_not_ours(standin: StandIn) -> None:
    standin.viewer = "other[bot]"
    apply(standin, check())
    standin.viewer = "relmgr[bot]"
    assert outcomes(apply(standin, check())) == ["created"]
    assert [run["app"] for run in standin.repos[SLUG].checks] == ["other", "relmgr"]


def test_b1_a_check_of_that_name_and_mark_without_an_app_is_not_ours(standin: StandIn) -> None:
    apply(standin, check())
    standin.repos[SLUG].checks[0]["app"] = None
    assert outcomes(apply(standin, check())) == ["created"]
    assert [run["app"] for run in standin.repos[SLUG].checks] == [None, "relmgr"]


def test_a_completed_check_that_must_wait_again_is_made_anew(standin: StandIn) -> None:
    assert outcomes(apply(standin, check(), check(conclusion=None))) == ["created", "created"]
    assert [run["status"] for run in standin.repos[SLUG].checks] == ["completed", "in_progress"]


@pytest.mark.parametrize("is_app", [True, False], ids=["check run", "status"])
def test_a_forge_that_keeps_other_words_is_not_written_to_for_ever(standin: StandIn, is_app: bool) -> None:
    standin.is_app, standin.viewer, standin.longest = is_app, "relmgr[bot]" if is_app else "maintainer", 3
    posting = apply(standin, check(), COMMENT)
    assert outcomes(posting) == ["not-posted", "created"]
    assert "never reads as it was written" in str(posting.done[0].why)
    assert len(standin.writes()) < 10


# -- M9: one head, two pull requests ----------------------------------------------------------------------------------


def about(number: int, conclusion: str | None) -> UpsertCheck:
    return check(conclusion=conclusion, key=f"gate/{number}")


def counts(standin: StandIn) -> str | None:
    """Return what branch protection sees: the newest run of the name, or the newest status."""
    repo = standin.repos[SLUG]
    if repo.statuses:
        return str(repo.statuses[-1]["state"])
    newest = max(repo.checks, key=lambda run: run["id"])
    return str(newest["conclusion"]) if newest["status"] == "completed" else "waiting"


@pytest.mark.parametrize("is_app", [True, False], ids=["check run", "status"])
def test_m9_of_two_pulls_with_one_head_the_stricter_result_counts(standin: StandIn, is_app: bool) -> None:
    standin.is_app, standin.viewer = is_app, "relmgr[bot]" if is_app else "maintainer"
    standin.add_pull(SLUG, 8, head_sha=HEAD)
    waiting = "waiting" if is_app else "pending"
    steps = [
        (7, "failure", "failure"),
        (8, "success", "failure"),
        (7, "failure", "failure"),
        (7, "success", "success"),
        (8, None, waiting),
        (7, "success", waiting),
        (8, "success", "success"),
        (7, "failure", "failure"),
    ]
    for number, verdict, counting in steps:
        posting = apply(standin, about(number, verdict))
        assert posting.is_whole
        assert counts(standin) == counting, (number, verdict)
    # The other one's words follow once; then nothing is written, whichever is looked at.
    repo = standin.repos[SLUG]
    made = len(repo.checks) + len(repo.statuses)
    assert outcomes(apply(standin, about(7, "failure"))) == ["unchanged"]
    apply(standin, about(8, "success"))
    assert outcomes(apply(standin, about(7, "failure"), about(8, "success"))) == ["unchanged", "unchanged"]
    assert (len(repo.checks) + len(repo.statuses), counts(standin)) == (made + 1, "failure")


def test_m9_it_is_said_whose_verdict_is_shown(standin: StandIn) -> None:
    standin.add_pull(SLUG, 8, head_sha=HEAD)
    apply(standin, about(7, "failure"))
    posting = apply(standin, about(8, "success"))
    why = "shares its head with #7 (failure): GitHub shows one relmgr for a commit, so the strictest stands"
    assert posting.done[0].why == why
    newest = standin.repos[SLUG].checks[-1]["output"]
    assert newest["title"] == "May merge, but its head is also that of #7 (failure)"
    assert newest["summary"] == f"This pull request {why}. A commit of its own separates it.\n\nWhy."


@pytest.mark.parametrize("is_app", [True, False], ids=["check run", "status"])
@pytest.mark.parametrize("gone", [{"state": "closed"}, {"head_sha": "b" * 40}], ids=["closed", "pushed"])
def test_m9_a_pull_that_left_the_head_no_longer_counts(standin: StandIn, gone: dict[str, str], is_app: bool) -> None:
    standin.is_app, standin.viewer = is_app, "relmgr[bot]" if is_app else "maintainer"
    other = standin.add_pull(SLUG, 8, head_sha=HEAD)
    apply(standin, about(8, "failure"), about(7, "success"))
    assert counts(standin) == "failure"
    other |= gone
    posting = apply(standin, about(7, "success"))
    assert (counts(standin), posting.done[0].why) == ("success", None)


def test_m9_two_gates_at_once_leave_the_stricter_result(standin: StandIn) -> None:
    standin.add_pull(SLUG, 8, head_sha=HEAD)
    github = GitHub(Credentials(token="planted-token-0123"), standin.url, clock=Clock(sleep=lambda seconds: None))
    send = github.send
    told: list[Posting] = []

    def overtaken(*args: object, **kwargs: object) -> object:
        if not told:
            told.append(apply(standin, about(7, "failure")))
        return send(*args, **kwargs)  # type: ignore[arg-type]

    github.send = overtaken  # type: ignore[method-assign]
    GitHubSink(github).apply([about(8, "success")])
    assert counts(standin) == "failure"


def test_who_is_no_app_says_it_in_a_status(standin: StandIn) -> None:
    standin.is_app, standin.viewer = False, "maintainer"
    assert outcomes(apply(standin, check(3), check(3), check(conclusion=None))) == ["created", "unchanged", "created"]
    assert [(one["context"], one["state"]) for one in standin.repos[SLUG].statuses] == [
        ("relmgr", "failure"),
        ("relmgr", "pending"),
    ]


def test_b1_a_strangers_status_of_that_name_is_not_ours(standin: StandIn) -> None:
    standin.is_app, standin.viewer = False, "maintainer"
    apply(standin, check())
    standin.repos[SLUG].statuses[0]["author"] = "mallory"
    assert outcomes(apply(standin, check())) == ["created"]
    standin.repos[SLUG].statuses[1]["author"] = None
    assert outcomes(apply(standin, check())) == ["created"]


# -- labels, issues, pull requests ------------------------------------------------------------------------------------


def test_labels_differ_or_nothing_is_sent(standin: StandIn) -> None:
    standin.repos[SLUG].threads[7]["labels"] = ["keep", "Old"]
    action = SetLabels(thread=THREAD, add=("new", "keep"), remove=("old", "never"))
    assert outcomes(apply(standin, action)) == ["updated"]
    assert standin.repos[SLUG].threads[7]["labels"] == ["keep", "new"]
    writes = len(standin.writes())
    assert outcomes(apply(standin, action)) == ["unchanged"]
    assert len(standin.writes()) == writes


def test_an_issue_is_made_updated_closed_and_reopened_once(standin: StandIn) -> None:
    def state(name: str | None, body: str = ISSUE.body) -> UpsertIssue:
        return ISSUE.model_copy(update={"state": name, "body": body})

    other = f"Other.\n\n{ISSUE_MARK}\n"
    steps = [ISSUE, ISSUE, state("open", other), state("done", other), state(None, other), state("open", other)]
    assert outcomes(apply(standin, *steps)) == ["created", "unchanged", "updated", "closed", "unchanged", "updated"]
    (issue,) = standin.issues(SLUG)
    assert (issue["state"], issue["body"], issue["labels"]) == ("open", other, ["kdb"])


def test_an_issue_that_is_done_before_it_was_made_is_not_made(standin: StandIn) -> None:
    assert outcomes(apply(standin, ISSUE.model_copy(update={"state": "done"}))) == ["unchanged"]
    assert standin.writes() == []


def test_a_strangers_issue_with_the_marker_is_not_ours(standin: StandIn) -> None:
    apply(standin, ISSUE)
    standin.issues(SLUG)[0]["author"] = "mallory"
    assert outcomes(apply(standin, ISSUE)) == ["created"]


@pytest.mark.parametrize("author", ["mallory", None])
def test_b1_an_issue_without_an_author_or_of_another_is_not_ours(standin: StandIn, author: str | None) -> None:
    standin.knows_creators = False
    apply(standin, ISSUE)
    standin.issues(SLUG)[0]["author"] = author
    github = GitHub(Credentials(token="planted-token-0123"), standin.url)
    assert read_ticket_issues(github, SLUG) == []
    assert outcomes(apply(standin, ISSUE, ISSUE)) == ["created", "unchanged"]
    assert [issue["number"] for issue in read_ticket_issues(github, SLUG)] == [9]


def test_of_two_issues_made_at_once_one_stays_open(standin: StandIn) -> None:
    apply(standin, ISSUE)
    twin = dict(standin.issues(SLUG)[0])
    standin.repos[SLUG].threads[99] = twin | {"number": 99}
    apply(standin, ISSUE)
    assert [issue["state"] for issue in standin.issues(SLUG)] == ["open", "closed"]


def test_an_issue_longer_than_github_takes_is_not_posted(standin: StandIn) -> None:
    posting = apply(standin, ISSUE.model_copy(update={"body": "x" * 70_000}))
    assert outcomes(posting) == ["not-posted"]
    assert standin.writes() == []


CHECKLIST = """# Cut of acme-1 <!-- relmgr:checklist=acme-1 -->

- [ ] **Pin agrees** <!-- relmgr:item=gadget/pin state=open -->
- [ ] **Notes written** <!-- relmgr:item=gadget/notes state=by-hand -->
"""


def test_hand_edits_of_a_checklist_are_kept(standin: StandIn) -> None:
    marker = CHECKLIST.split("\n")[0]
    action = UpsertIssue(
        repository=SLUG, marker=marker, title="Cut of acme-1", body=CHECKLIST, state=None, keep_hands=True
    )
    assert outcomes(apply(standin, action)) == ["created"]
    (issue,) = standin.issues(SLUG)
    issue["body"] = CHECKLIST.replace("- [ ] **Notes", "- [x] **Notes") + "\nNotes are at the usual place.\n"
    issue["state"] = "closed"
    done = action.model_copy(update={"body": CHECKLIST.replace("[ ] **Pin", "[x] **Pin").replace("=open", "=done")})
    assert outcomes(apply(standin, done, done)) == ["updated", "unchanged"]
    assert "- [x] **Pin agrees**" in issue["body"]
    assert "- [x] **Notes written**" in issue["body"]
    assert "Notes are at the usual place." in issue["body"]
    assert issue["state"] == "closed"


def test_a_bump_supersedes_the_older_attempt_and_no_one_elses(standin: StandIn) -> None:
    standin.add_pull(SLUG, 8, head="by-hand", author="dev", body="<!-- relmgr:bump=forge -->\ncopied")
    apply(standin, PULL)
    newer = PULL.model_copy(update={"head": "relmgr/bump-2", "title": "Bump further"})
    assert outcomes(apply(standin, newer, newer)) == ["created", "unchanged"]
    states = {entry["head"]: entry["state"] for entry in standin.repos[SLUG].threads.values()}
    assert states == {"work-7": "open", "by-hand": "open", "relmgr/bump-1": "closed", "relmgr/bump-2": "open"}
    (words,) = standin.bodies(SLUG, 9)
    assert words.startswith("<!-- relmgr:comment=superseded -->\nSuperseded by http")


def test_p11_a_bump_that_a_person_closed_is_not_opened_again(standin: StandIn) -> None:
    apply(standin, PULL)
    standin.repos[SLUG].threads[8]["state"] = "closed"
    posting = apply(standin, PULL)
    assert outcomes(posting) == ["unchanged"]
    assert posting.done[0].why == "it was closed; reopen it by hand to try again"


def test_a_bumps_words_are_updated_and_a_strangers_pull_is_left(standin: StandIn) -> None:
    apply(standin, PULL)
    assert outcomes(apply(standin, PULL.model_copy(update={"body": "More."}))) == ["updated"]
    standin.repos[SLUG].threads[8]["author"] = "dev"
    posting = apply(standin, PULL)
    assert (outcomes(posting), posting.done[0].why) == (
        ["not-posted"],
        "a pull request from that branch is not relmgr's",
    )


@pytest.mark.parametrize("action", [PULL, ISSUE], ids=["pull request", "issue"])
def test_labels_that_were_never_given_are_and_those_a_person_took_off_stay_off(
    standin: StandIn, action: UpsertPull | UpsertIssue
) -> None:
    apply(standin, action.model_copy(update={"labels": ()}))
    labelled = action.model_copy(update={"labels": ("kdb", "abi")})
    assert outcomes(apply(standin, labelled, labelled)) == ["updated", "unchanged"]
    assert standin.repos[SLUG].threads[8]["labels"] == ["kdb", "abi"]
    apply(standin, SetLabels(thread=PullRequestRef(repository=SLUG, number=8), remove=("abi",)))
    assert outcomes(apply(standin, labelled)) == ["unchanged"]
    assert standin.repos[SLUG].threads[8]["labels"] == ["kdb"]


def test_b1_a_strangers_closed_pull_from_that_branch_is_no_refusal_of_ours(standin: StandIn) -> None:
    standin.add_pull(SLUG, 8, head=PULL.head, author="mallory", state="closed")
    assert outcomes(apply(standin, PULL)) == ["created"]


@pytest.mark.parametrize("fork", [{"full_name": "acme/gadget-fork"}, None], ids=["a fork's", "a deleted fork's"])
def test_b1_a_branch_of_that_name_elsewhere_is_another_branch(standin: StandIn, fork: dict[str, str] | None) -> None:
    standin.add_pull(SLUG, 8, head=PULL.head, author="mallory", state="closed", fork=fork)
    standin.repos[SLUG].threads[8]["author"] = "relmgr[bot]"
    assert outcomes(apply(standin, PULL)) == ["created"]


def test_a_bump_that_was_merged_still_supersedes_older_ones(standin: StandIn) -> None:
    apply(standin, PULL)
    newer = PULL.model_copy(update={"head": "relmgr/bump-2"})
    standin.add_pull(
        SLUG, 9, head="relmgr/bump-2", author="relmgr[bot]", state="merged", merged_at="2030-02-05T10:00:00Z"
    )
    posting = apply(standin, newer)
    assert (outcomes(posting), posting.done[0].why) == (["unchanged"], "it was merged")
    assert standin.repos[SLUG].threads[8]["state"] == "closed"


def test_m11_a_check_among_more_than_a_page_of_them_is_found(standin: StandIn) -> None:
    apply(standin, check())
    repo = standin.repos[SLUG]
    repo.checks += [repo.checks[0] | {"id": 5000 + n, "app": "other"} for n in range(130)]
    assert outcomes(apply(standin, check())) == ["unchanged"]


def test_everything_arrives_once_under_the_present_name_of_a_renamed_repository(standin: StandIn) -> None:
    standin.renamed["oldacme/gadget"] = SLUG
    thread = PullRequestRef(repository="oldacme/gadget", number=7)
    actions = (
        COMMENT.model_copy(update={"thread": thread}),
        SetLabels(thread=thread, add=("abi",)),
        *(one.model_copy(update={"repository": "oldacme/gadget"}) for one in (check(2), ISSUE, PULL)),
    )
    assert outcomes(apply(standin, *actions)) == ["created", "updated", "created", "created", "created"]
    assert outcomes(apply(standin, *actions)) == ["unchanged"] * 5
    newer = actions[-1].model_copy(update={"head": "relmgr/bump-2"})
    assert outcomes(apply(standin, newer)) == ["created"]
    states = [one["state"] for one in standin.repos[SLUG].threads.values() if one["kind"] == "pull"]
    assert states == ["open", "closed", "open"]


def test_an_issue_whose_text_was_emptied_is_left_to_whoever_did_it(standin: StandIn) -> None:
    apply(standin, ISSUE)
    standin.issues(SLUG)[0]["body"] = None
    assert outcomes(apply(standin, ISSUE)) == ["created"]


# -- the other sink ---------------------------------------------------------------------------------------------------


def test_the_dry_run_shows_the_same_actions_and_asks_nobody() -> None:
    actions = (COMMENT, check(2), ISSUE, PULL)
    posting = DryRun().apply(actions)
    assert (posting.actions, posting.dry_run, posting.is_whole) == (actions, True, True)
    assert [(one.kind, one.target, one.outcome) for one in posting.done] == [
        ("comment", "acme/gadget#7", "planned"),
        ("check", f"acme/gadget@{'a' * 12}", "planned"),
        ("issue", "acme/gadget", "planned"),
        ("pull-request", "acme/gadget:relmgr/bump-1", "planned"),
    ]
