"""What the documents become on the forge: exact words, defused strangers' text, one thing per subject."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from markdown_it import MarkdownIt

from relmgr.gate.decide import report
from relmgr.gate.policies import load_rules
from relmgr.model.actions import UpsertCheck, UpsertComment
from relmgr.model.facts import PolicyEdit, Suggestion
from relmgr.model.snapshot import Snapshot
from relmgr.render.actions import gate_actions, tidy
from relmgr.render.foreign import md
from relmgr.settings import load_project
from relmgr.sources.recorded import read_recorded
from tests.gate.snapshots import consumer_snapshot

HOSTILE = "@mallory ![x](https://evil.example/x) <img src=x> `a` | ROCm/MIOpen#1 GH-7 https://github.com/a/b/issues/1"


def actions_of(snapshot: Snapshot) -> tuple[UpsertComment, UpsertCheck]:
    found = gate_actions(snapshot, report(snapshot, load_rules(load_project(), snapshot.base)))
    assert isinstance(found[0], UpsertComment)
    assert isinstance(found[1], UpsertCheck)
    return found[0], found[1]


@pytest.mark.parametrize("name", ["miopen-1673-2022-08-05", "miopen-1630-2022-07-11"])
def test_the_comment_of_the_story(name: str, golden: Any) -> None:
    comment, check = actions_of(read_recorded(name))
    golden(f"comment/{name}.md", comment.body)
    golden(f"comment/{name}.check.txt", f"{check.conclusion}: {check.title}\n\n{check.summary}")


def test_b2_another_time_gives_the_same_words() -> None:
    snapshot = read_recorded("miopen-1630-2022-07-11")
    later = snapshot.model_copy(update={"taken_at": snapshot.taken_at + timedelta(days=1)})
    assert actions_of(later) == actions_of(snapshot)


def test_a_wait_is_a_check_that_is_not_completed_and_a_pass_is_green() -> None:
    passes = consumer_snapshot(title="Words")
    assert actions_of(passes)[1].conclusion == "success"
    held = consumer_snapshot(title="[WIP] Words")
    comment, check = actions_of(held)
    assert (check.conclusion, check.title) == (None, "Wait with the merge: on-hold")
    assert "### Waits\n\n- **on-hold**:" in str(comment.body)


def test_what_may_merge_and_moves_nothing_gets_no_comment_of_its_own() -> None:
    assert not actions_of(consumer_snapshot())[0].only_update
    assert actions_of(consumer_snapshot(pin_moves=(), suggestions=()))[0].only_update
    assert not actions_of(consumer_snapshot(pin_moves=(), suggestions=(), title="[WIP] Words"))[0].only_update


def test_b8_a_refused_policy_is_shown_at_its_line() -> None:
    problem = ".relmgr/rules/x.yaml: not accepted:\n  .relmgr/rules/x.yaml:4: unknown key 'levle'; allowed: level, when"
    edit = PolicyEdit(path=".relmgr/rules/x.yaml", kind="policy", problem=problem.split("\n  ")[1])
    comment, check = actions_of(consumer_snapshot(policy_edits=(edit,)))
    (found,) = [one for one in check.annotations if one.title == "not accepted"]
    assert (found.path, found.line, found.level) == (".relmgr/rules/x.yaml", 4, "failure")
    assert "allowed: level, when" in found.message
    assert "**policy-changes-valid**: " in str(comment.body)


def test_b9_what_could_not_be_checked_is_red_with_its_cause() -> None:
    gaps = {"reviews": "GitHub does not answer (502 Server Error)"}
    comment, check = actions_of(consumer_snapshot(reviews=None, gaps=gaps))
    assert check.conclusion == "failure"
    assert "not read: the reviews: GitHub does not answer (502 Server Error)" in str(comment.body)


def test_n6_strangers_text_mentions_links_and_marks_up_nothing() -> None:
    said = Suggestion(sentence=HOSTILE, trailer=None, understood=False, source="description, line 3")
    body = str(actions_of(consumer_snapshot(suggestions=(said,)))[0].body)
    told = body[body.index("### Spoken of") :]
    assert "@mallory" not in told
    page = MarkdownIt("gfm-like", {"linkify": False}).render(told)
    assert "<a " not in page
    assert "<img" not in page
    assert "https://" not in told
    assert "MIOpen#1" not in told
    assert "GH-7" not in told


def test_b7_a_token_in_strangers_text_is_not_repeated() -> None:
    assert "ghp_" not in md("see https://x:ghp_0123456789abcdef@github.com/a/b")


def test_m9_two_pulls_with_one_head_have_a_check_each() -> None:
    one = consumer_snapshot(subject="ROCm/MIOpen#1")
    other = consumer_snapshot(subject="ROCm/MIOpen#2")
    assert actions_of(one)[1].key != actions_of(other)[1].key


def test_blank_lines_are_tidied() -> None:
    assert tidy("\n\na  \n\n\n\nb\n\n") == "a\n\nb\n"
