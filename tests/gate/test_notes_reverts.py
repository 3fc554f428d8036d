"""Reverts netted by parity (N2)."""

from __future__ import annotations

from datetime import datetime, timezone
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relmgr.gate.note_reverts import net_reverts
from relmgr.model.notes import RangeCommit
from relmgr.sources.notes.range import parse_commit

_NEXT = count(1)


def change(subject: str, body: str = "", sha: str | None = None) -> RangeCommit:
    sha = sha or f"{next(_NEXT):040x}"[::-1]
    return parse_commit(sha, "", "A Maintainer", "2030-01-01T00:00:00+00:00", subject, body)


def revert_of(commit: RangeCommit, number: int | None = None) -> RangeCommit:
    tail = f" (#{number})" if number else ""
    return change(f'Revert "{commit.subject}"{tail}', f"This reverts commit {commit.commit}.\n")


def kept(*commits: RangeCommit) -> list[str]:
    return [commit.subject for commit in net_reverts(commits).kept]


def test_n2_a_change_goes_with_its_revert() -> None:
    a, b = change("Add a gauge (#1)"), change("Add a lever (#2)")
    netting = net_reverts([a, b, revert_of(a)])
    assert [c.subject for c in netting.kept] == ["Add a lever (#2)"]
    assert [(r.change.pr, r.by.subject) for r in netting.reverted] == [(1, 'Revert "Add a gauge (#1)"')]


def test_n2_the_reverts_own_number_is_not_the_reverted_one() -> None:
    a = change("Add a gauge (#1)")
    undo = revert_of(a, 3)
    assert (undo.pr, undo.title) == (3, 'Revert "Add a gauge (#1)"')
    assert revert_of(a).pr is None
    assert kept(a, undo) == []


@given(st.integers(min_value=0, max_value=9), st.booleans())
def test_n2_parity_of_a_chain_of_reverts(reverts: int, by_title: bool) -> None:
    chain = [change("Add a gauge (#1)")]
    for _ in range(reverts):
        undo = revert_of(chain[-1])
        chain.append(undo.model_copy(update={"body": ""}) if by_title else undo)
    assert kept(*chain) == (["Add a gauge (#1)"] if reverts % 2 == 0 else [])


def test_n2_reapply_takes_a_revert_back() -> None:
    a = change("Add a gauge (#1)")
    assert kept(a, revert_of(a), change('Reapply "Add a gauge (#1)"')) == ["Add a gauge (#1)"]


def test_a_second_try_under_another_number_stays() -> None:
    a = change("Add a gauge (#1)")
    assert kept(a, revert_of(a), change("Add a gauge (#4)")) == ["Add a gauge (#4)"]


def test_a_revert_of_something_older_is_a_change_and_says_what() -> None:
    undo = change('Revert "Old thing (#7)" (#8)', "This reverts commit 1234567890123456789012345678901234567890.")
    netting = net_reverts([undo])
    assert netting.kept == (undo,)
    assert netting.outside == {undo.commit: "123456789012"}


def test_a_revert_of_one_thing_inside_and_one_outside_stays_for_the_other() -> None:
    a = change("Add a gauge (#1)")
    undo = change("Revert two things (#9)", f"This reverts commit {a.commit}.\nThis reverts commit {'ab' * 20}.\n")
    netting = net_reverts([a, undo])
    assert netting.kept == (undo,)
    assert netting.outside == {undo.commit: "abababababab"}


def test_the_forges_revert_names_a_number_in_its_body() -> None:
    a = change("Add a gauge (#1)")
    assert kept(a, change('Revert "Add a gauge" (#2)', "Reverts acme/gadget#1")) == []


@pytest.mark.parametrize(
    ("subject", "body"),
    [
        ("Revert #1 and fix the lever (#2)", ""),
        ("Reverted some of the changes (#2)", ""),
        ("Explain how to revert (#2)", 'This text quotes Revert "Add a gauge (#1)"'),
        # A squash lists its commits; one of them took another back before the merge.
        ("Rework the gauge (#2)", "* first try\n\n* undo\n\nThis reverts commit {sha}.\n"),
    ],
)
def test_words_that_prove_nothing_net_nothing(subject: str, body: str) -> None:
    a = change("Add a gauge (#1)")
    assert kept(a, change(subject, body.format(sha=a.commit))) == ["Add a gauge (#1)", subject]


def test_a_revert_reverts_the_latest_change_of_its_title() -> None:
    first, second = change("Bump the pin (#1)"), change("Bump the pin (#2)")
    assert kept(first, second, change('Revert "Bump the pin"')) == ["Bump the pin (#1)"]


def test_a_revert_does_not_reach_a_later_change() -> None:
    undo = change('Revert "Add a gauge (#1)"')
    assert kept(undo, change("Add a gauge (#1)")) == ['Revert "Add a gauge (#1)"', "Add a gauge (#1)"]


def test_short_ids_are_found_and_not_mistaken() -> None:
    a = change("Add a gauge (#1)", sha="abcdef0" + "1" * 33)
    b = change("Add a lever (#2)", sha="abcdef0" + "2" * 33)
    assert kept(a, b, change("Revert it", "This reverts commit abcdef02222")) == ["Add a gauge (#1)"]


@pytest.mark.parametrize(
    "subject",
    [
        "Revert #1",
        "Revert #1 (#2)",
        "revert PR #1 (#2)",
        "[HOTFIX] Reverts acme/gadget#1",
        "Back out #1: it hangs (#2)",
    ],
)
def test_n2_a_title_that_is_a_number_alone(subject: str) -> None:
    undo = change(subject)
    netting = net_reverts([change("Add a gauge (#1)"), change("Add a lever (#3)"), undo])
    assert [c.subject for c in netting.kept] == ["Add a lever (#3)"]
    assert [(r.change.pr, r.by) for r in netting.reverted] == [(1, undo)]


@pytest.mark.parametrize(
    "body", ["Reverts acme/gadget#1", "Reverts #1.", "Reverts https://github.com/acme/gadget/pull/1"]
)
def test_n2_a_body_that_names_a_number_under_any_title(body: str) -> None:
    assert kept(change("Add a gauge (#1)"), change("Without the gauge (#2)", body)) == []


def test_n2_a_revert_is_reverted_by_its_own_number() -> None:
    a = change("Add a gauge (#1)")
    once = change("Revert #1 (#2)")
    twice = change("Revert #2 (#3)")
    assert kept(a, once, twice) == ["Add a gauge (#1)"]
    assert kept(a, once, twice, change("Revert #3 (#4)")) == []


def test_n2_a_number_that_different_changes_carry_nets_none() -> None:
    undo = change("Revert #1 (#9)")
    netting = net_reverts([change("Add a gauge (#1)"), change("Add a lever (#1)"), undo])
    assert (len(netting.kept), netting.outside) == (3, {undo.commit: "#1"})


def test_n2_a_number_of_a_pick_and_its_original_is_the_originals() -> None:
    a, pick = change("Add a gauge (#1)"), change("Add a gauge (#1) (#5)")
    assert kept(a, pick, change("Revert #5 (#6)")) == ["Add a gauge (#1)"]
    assert kept(a, pick, change("Revert #1 (#6)")) == ["Add a gauge (#1) (#5)"]


def test_n2_a_number_of_another_repository_is_none_of_the_ranges() -> None:
    a, undo = change("Add a gauge (#1)"), change("Take the new forge back (#2)", "Reverts acme/forge#1")
    assert net_reverts([a, undo], ["acme/gadget"]).kept == (a, undo)
    own = change("Without it (#3)", "Reverts Acme/Gadget#1")
    assert net_reverts([a, own], ["acme/widget", "acme/gadget"]).kept == ()


def test_n2_a_number_before_the_range_is_a_change_and_says_what() -> None:
    undo = change("Revert #7 (#8)")
    assert net_reverts([change("Add a gauge (#1)"), undo]).outside == {undo.commit: "#7"}


def test_n2_a_picked_revert_takes_back_the_pick() -> None:
    """On a release branch both carry what they were on trunk in their messages."""
    origin = "1234567890" * 4
    pick = change("Add a gauge (#1)", f"(cherry picked from commit {origin})")
    assert kept(pick, change("Out with it", f"This reverts commit {origin}.")) == []
    assert kept(change("Add a gauge (#1)"), change('Revert "Add a gauge (#1)"', f"This reverts commit {origin}.")) == []


def test_times_play_no_part() -> None:
    late = datetime(2040, 1, 1, tzinfo=timezone.utc)
    a = change("Add a gauge (#1)").model_copy(update={"committed_at": late})
    assert kept(a, revert_of(a)) == []
