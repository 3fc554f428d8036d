"""Events of GitHub Actions: what is judged, what is not, and that nothing strange gets through."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from relmgr.errors import UserError
from relmgr.model.actions import Annotation
from relmgr.render.workflow_commands import annotation_lines, inert
from relmgr.sources.github.event import event_of, read_event
from tests.support.github_schema import node_modules
from tests.support.services import missing, need

REPOSITORY = {"full_name": "acme/gadget"}
OWN = {"full_name": "acme/gadget"}
PULL = {"pull_request": {"number": 7, "head": {"repo": OWN}, "user": None}, "repository": REPOSITORY}


def comment(action: str = "created", body: str | None = "/relmgr recheck", **more: Any) -> dict[str, Any]:
    said = {
        "id": 31,
        "html_url": "https://github.com/acme/gadget/pull/7#issuecomment-31",
        "updated_at": "2030-02-01T11:00:00Z",
        "body": body,
        "user": {"login": "dev", "type": "User"},
    }
    return {
        "sender": {"login": "dev", "type": "User"},
        "action": action,
        "issue": {"number": 7, "pull_request": {}},
        "comment": said,
        "repository": REPOSITORY,
    } | more


@pytest.mark.parametrize("name", ["pull_request", "pull_request_target"])
@pytest.mark.parametrize(
    ("action", "judged"),
    [
        ("opened", True),
        ("edited", True),
        ("synchronize", True),
        ("converted_to_draft", True),
        ("ready_for_review", True),
        ("labeled", True),
        ("assigned", False),
        ("locked", False),
    ],
)
def test_m8_what_changes_a_fact_is_judged_again(name: str, action: str, judged: bool) -> None:
    event = event_of(PULL | {"action": action}, name)
    assert (str(event.subject), event.judge) == ("acme/gadget#7", judged)


def test_the_merge_queue_names_its_pull_request() -> None:
    ref = f"refs/heads/gh-readonly-queue/main/pr-104-{'a' * 40}"
    event = event_of(
        {
            "action": "checks_requested",
            "merge_group": {"head_ref": ref, "head_sha": "b" * 40},
            "repository": REPOSITORY,
        },
        "merge_group",
    )
    assert (str(event.subject), event.judge, event.queued) == ("acme/gadget#104", True, "b" * 40)
    other = event_of({"merge_group": {"head_ref": "refs/heads/main"}, "repository": REPOSITORY}, "merge_group")
    assert (other.subject, other.why) == (None, "the queue's branch names no pull request")


def test_a_comment_is_kept_with_what_stood_there_before() -> None:
    event = event_of(comment("edited", changes={"body": {"from": "old"}}), "issue_comment")
    assert event.comment is not None
    assert (event.judge, event.comment.before, event.comment.body, event.comment.author) == (
        False,
        "old",
        "/relmgr recheck",
        "dev",
    )
    gone = event_of(comment("deleted"), "issue_comment").comment
    assert gone is not None
    assert (gone.before, gone.body) == ("/relmgr recheck", "")
    assert event_of(comment(issue={"number": 7}), "issue_comment").why == "the comment is on an issue"
    assert event_of(comment(body=None), "issue_comment").comment is not None


@pytest.mark.parametrize("name", ["pull_request", "pull_request_target", "pull_request_review"])
@pytest.mark.parametrize(
    ("head", "user", "read_only"),
    [
        ({"repo": OWN}, {"login": "dev", "type": "User"}, False),
        ({"repo": {"full_name": "mallory/gadget"}}, {"login": "dev", "type": "User"}, True),
        ({"repo": None}, None, True),
        ({"repo": OWN}, {"login": "dependabot[bot]", "type": "Bot"}, True),
    ],
)
def test_whose_workflow_may_not_write(name: str, head: Any, user: Any, read_only: bool) -> None:
    pull = {"number": 7, "head": head, "user": user}
    event = event_of({"action": "opened", "pull_request": pull, "repository": REPOSITORY}, name)
    assert event.read_only is (read_only and name != "pull_request_target")


def test_what_somebody_else_wrote_into_a_comment_is_theirs() -> None:
    edited = comment("edited", sender={"login": "mallory", "type": "User"}, changes={"body": {"from": "old"}})
    found = event_of(edited, "issue_comment").comment
    assert found is not None
    assert (found.author, found.by) == ("dev", "mallory")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"issue": 3, "comment": 4}', '{"pull_request": {}}', "[" * 100_000])
def test_what_is_no_event_is_the_callers_mistake(tmp_path: Path, text: str) -> None:
    file = tmp_path / "event.json"
    file.write_text(text)
    with pytest.raises(UserError, match=r"not an event|not JSON|is empty"):
        read_event(file)


def test_githubs_published_examples_are_read(tmp_path: Path) -> None:
    folder = node_modules() / "@octokit/webhooks-examples"
    if not folder.is_dir():
        missing("npm package @octokit/webhooks-examples is not installed")
    found = json.loads((folder / "api.github.com" / "index.json").read_text(encoding="utf-8"))
    names = {"pull_request", "pull_request_review", "issue_comment", "merge_group"}
    examples = [(entry["name"], one) for entry in found for one in entry["examples"] if entry["name"] in names]
    assert len(examples) > 30
    for name, example in examples:
        file = tmp_path / "event.json"
        file.write_text(json.dumps(example))
        event = read_event(file, name)
        assert event.subject is not None or event.why
        # The payload's shape tells the same.
        assert read_event(file).subject == event.subject


# -- what Actions reads -----------------------------------------------------------------------------------------------


def test_annotations_are_escaped() -> None:
    hostile = Annotation(
        path="a,b:c.txt",
        line=1,
        end_line=2,
        level="failure",
        title="one, two: three",
        message="first\n::add-mask::x\r\n100%",
    )
    assert annotation_lines([hostile]) == (
        "::error file=a%2Cb%3Ac.txt,line=1,endLine=2,title=one%2C two%3A three::first%0A::add-mask::x%0D%0A100%25\n"
    )


def test_strangers_text_is_no_command() -> None:
    assert inert("::error::x\n", "t0ken") == "::stop-commands::t0ken\n::error::x\n::t0ken::\n"


def test_the_action_puts_no_text_of_an_event_into_a_script() -> None:
    action = yaml.safe_load((Path(__file__).parents[3] / "action.yml").read_text(encoding="utf-8"))
    for step in action["runs"]["steps"]:
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"


def test_the_actions_scripts_are_valid_bash(tmp_path: Path) -> None:
    import subprocess

    bash = need("bash")
    action = yaml.safe_load((Path(__file__).parents[3] / "action.yml").read_text(encoding="utf-8"))
    for step in action["runs"]["steps"]:
        assert subprocess.run([bash, "-n", "-c", step["run"]], check=False).returncode == 0
