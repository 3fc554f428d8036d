"""`relmgr backport`: T7, T8, T9, P10 on real repositories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from relmgr.cli import root
from relmgr.errors import run_to_exit_code
from tests.support.invented import Invented, invent
from tests.support.repositories import TestRepository

BRANCH = "stable/1.0"


@pytest.fixture
def pair(tmp_path: Path) -> Invented:
    """The consumer on trunk, one commit after `stable/1.0` was cut; trunk stays checked out."""
    pair = invent(tmp_path)
    pair.gadget.commit(
        "start", {"forge.pin": f"acme/forge@{pair.forge_at[42]}\n", "a.txt": "1\n2\n3\n", "b.txt": "b\n"}
    )
    pair.gadget.git("branch", BRANCH)
    pair.gadget.commit("after the cut (#1)", {"c.txt": "c\n"})
    return pair


def run(pair: Invented, *args: str) -> int:
    repos = [f"gadget={pair.gadget.path}", f"forge={pair.forge.path}"]
    options = [*(part for repo in repos for part in ("--repo", repo)), "--project", str(pair.file)]
    return run_to_exit_code(lambda **kw: root.main(["backport", *args, *options], **kw))


def told(pair: Invented, capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, Any]:
    capsys.readouterr()
    code = run(pair, *args, "--format", "json")
    out = capsys.readouterr()
    return code, json.loads(out.out) if out.out else out.err


def tip(repository: TestRepository, branch: str = BRANCH) -> str:
    return repository.git("rev-parse", branch)


def refs(repository: TestRepository) -> str:
    return repository.git("for-each-ref") + repository.git("status", "--porcelain")


def on_branch(
    repository: TestRepository, subject: str, files: dict[str, str | bytes | None], branch: str = BRANCH
) -> str:
    """Commit on a branch and come back to trunk."""
    repository.git("checkout", "-q", branch)
    commit = repository.commit(subject, files)
    repository.git("checkout", "-q", "trunk")
    return commit


# -- taking a change ------------------------------------------------------------------------------------------------


def test_without_apply_nothing_is_changed(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    fix = pair.gadget.commit("fix (#7)", {"a.txt": "1\n2\n3\n4\n"})
    before = refs(pair.gadget)
    assert run(pair, fix, "--to", BRANCH) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{fix[:12]} would go to {BRANCH}; nothing is done yet (--apply does it).",
        '"fix (#7)"',
        "file: a.txt",
    ]
    assert refs(pair.gadget) == before


def test_the_change_is_taken_with_its_author_and_a_link(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    pair.gadget.git("config", "user.name", "Vesna")
    (pair.gadget.path / "a.txt").write_text("1\n2\n3\n4\n")
    message = "fix (#7)\n\n#6 is why\n\nSigned-off-by: A Maintainer <maintainer@example.org>"
    pair.gadget.git("commit", "-q", "-a", "--author", "Stranger <s@example.org>", "--cleanup=verbatim", "-m", message)
    fix = tip(pair.gadget, "trunk")
    code, seen = told(pair, capsys, "#7", "--to", BRANCH, "--apply")
    assert (code, seen["state"], seen["result"]) == (0, "done", tip(pair.gadget))
    assert pair.gadget.git("log", "-1", "--format=%an <%ae>|%cn <%ce>|%P", BRANCH) == (
        f"Stranger <s@example.org>|A Maintainer <maintainer@example.org>|{pair.gadget.git('rev-parse', BRANCH + '~')}"
    )
    assert pair.gadget.git("log", "-1", "--format=%B", BRANCH) == (
        f"{message}\n(cherry picked from commit {fix})\nBackport-Of: acme/gadget#7"
    )
    assert pair.gadget.git("show", f"{BRANCH}:a.txt") == "1\n2\n3\n4"
    assert pair.gadget.git("ls-tree", "--name-only", BRANCH).split() == ["a.txt", "b.txt", "forge.pin"]
    assert pair.gadget.git("status", "--porcelain") == ""


def test_the_committer_is_the_clones_user(
    pair: Invented, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fix = pair.gadget.commit("fix", {"a.txt": "1\n2\n3\n4\n"})
    for name in ("GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.delenv(name)
    assert told(pair, capsys, fix, "--to", BRANCH, "--apply")[0] == 2
    assert tip(pair.gadget) == pair.gadget.git("rev-parse", "trunk~2")
    pair.gadget.git("config", "user.name", "Vesna Ć")
    pair.gadget.git("config", "user.email", "vesna@example.org")
    assert told(pair, capsys, fix, "--to", BRANCH, "--apply")[0] == 0
    assert pair.gadget.git("log", "-1", "--format=%cn <%ce>", BRANCH) == "Vesna Ć <vesna@example.org>"


@pytest.mark.parametrize("again", ["commit", "pull"])
def test_t8_running_twice_is_a_no_op_that_links_the_first(
    pair: Invented, capsys: pytest.CaptureFixture[str], again: str
) -> None:
    fix = pair.gadget.commit("fix (#7)", {"a.txt": "1\n2\n3\n4\n"})
    first = told(pair, capsys, fix, "--to", BRANCH, "--apply")[1]["result"]
    later = on_branch(pair.gadget, "on top", {"d.txt": "d\n"})
    code, seen = told(pair, capsys, fix if again == "commit" else "acme/gadget#7", "--to", BRANCH, "--apply")
    assert (code, seen["state"]) == (0, "already")
    assert seen["first"] == {"commit": first, "subject": "fix (#7)", "by": "link"}
    assert tip(pair.gadget) == later


def test_what_was_taken_by_hand_is_known_by_its_changes(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    fix = pair.gadget.commit("fix", {"a.txt": "1\n2\n3\n4\n"})
    mine = on_branch(pair.gadget, "same thing, other words", {"a.txt": "1\n2\n3\n4\n"})
    code, seen = told(pair, capsys, fix, "--to", BRANCH)
    assert (code, seen["state"], seen["first"]["commit"], seen["first"]["by"]) == (0, "already", mine, "same-patch")


def test_what_the_branch_was_cut_with_is_there_already(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    code, seen = told(pair, capsys, "trunk~", "--to", BRANCH, "--in", "gadget")
    assert (code, seen["state"], seen["first"]["by"]) == (0, "already", "ancestry")


def test_what_was_taken_and_reverted_there_may_be_taken_again(
    pair: Invented, capsys: pytest.CaptureFixture[str]
) -> None:
    fix = pair.gadget.commit("fix (#7)", {"a.txt": "1\n2\n3\n4\n"})
    assert run(pair, fix, "--to", BRANCH, "--apply") == 0
    pair.gadget.git("checkout", "-q", BRANCH)
    pair.gadget.git("revert", "--no-edit", BRANCH)
    pair.gadget.git("checkout", "-q", "trunk")
    code, seen = told(pair, capsys, fix, "--to", BRANCH, "--apply")
    assert (code, seen["state"]) == (0, "done")
    assert told(pair, capsys, fix, "--to", BRANCH)[1]["first"]["commit"] == tip(pair.gadget)


def test_a_change_whose_content_is_there_is_empty(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    fix = pair.gadget.commit("fix", {"a.txt": "1\n2\n3\n4\n"})
    on_branch(pair.gadget, "more at once", {"a.txt": "1\n2\n3\n4\n", "b.txt": "other\n"})
    code, seen = told(pair, capsys, fix, "--to", BRANCH, "--apply")
    assert (code, seen["state"], seen["result"]) == (0, "empty", None)


def test_a_commit_without_content_is_empty(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(pair, capsys, pair.gadget.commit("nothing"), "--to", BRANCH, "--apply")[1]["state"] == "empty"


def test_the_same_title_without_a_link_is_pointed_out(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    fix = pair.gadget.commit("fix (#7)", {"a.txt": "1\n2\n3\n4\n"})
    other = on_branch(pair.gadget, "fix (#7)", {"b.txt": "something else\n"})
    code, seen = told(pair, capsys, fix, "--to", BRANCH)
    assert (code, seen["state"]) == (0, "ready")
    assert [(f["check"], f["level"], f["says"][:12]) for f in seen["findings"]] == [
        ("taken-by-hand", "warn", other[:12])
    ]


def test_a_new_branch_for_a_pull_request(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    fix = pair.gadget.commit("fix", {"a.txt": "1\n2\n3\n4\n"})
    before = tip(pair.gadget)
    code, seen = told(pair, capsys, fix, "--to", BRANCH, "--as", "backport/fix", "--apply")
    assert (code, seen["result"]) == (0, tip(pair.gadget, "backport/fix"))
    assert (tip(pair.gadget), pair.gadget.git("rev-parse", "backport/fix~")) == (before, before)
    # A second run is a no-op that names the first; a branch of that name with other work is left alone.
    code, again = told(pair, capsys, fix, "--to", BRANCH, "--as", "backport/fix", "--apply")
    assert (code, again["state"], again["first"]["commit"]) == (0, "already", seen["result"])
    assert run(pair, fix, "--to", BRANCH, "--as", "backport/fix") == 0
    out = capsys.readouterr().out
    assert "is on backport/fix already" in out
    assert f"next: git push REMOTE backport/fix, and a pull request from it into {BRANCH}" in out
    pair.gadget.git("branch", "taken", "trunk")
    assert run(pair, fix, "--to", BRANCH, "--as", "taken", "--apply") == 2


# -- conflicts ------------------------------------------------------------------------------------------------------


def test_t8_a_conflict_stops_with_its_paths_and_nothing_is_changed(
    pair: Invented, capsys: pytest.CaptureFixture[str]
) -> None:
    pair.gadget.git("config", "rerere.enabled", "true")
    pair.gadget.commit("b on trunk", {"b.txt": "trunk\n", "a.txt": "1\n2\n3\nx\n"})
    fix = pair.gadget.commit("fix", {"a.txt": "1\n2\n3\ny\n", "b.txt": "fixed\n", "new.txt": "n\n"})
    before = refs(pair.gadget)
    code, seen = told(pair, capsys, fix, "--to", BRANCH, "--apply")
    assert (code, seen["state"], seen["conflicts"], seen["result"]) == (1, "conflict", ["a.txt", "b.txt"], None)
    assert seen["by_hand"] == (
        f"git -C {pair.gadget.path} switch {BRANCH} && git -C {pair.gadget.path} cherry-pick -x {fix}"
    )
    assert refs(pair.gadget) == before


def test_a_file_that_the_branch_does_not_have_is_a_conflict(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    fix = pair.gadget.commit("fix", {"c.txt": "changed\n"})
    assert told(pair, capsys, fix, "--to", BRANCH)[1]["conflicts"] == ["c.txt"]


# -- merges, squashes -----------------------------------------------------------------------------------------------


@pytest.fixture
def merge(pair: Invented) -> str:
    """A merge of two commits into trunk, while trunk went on."""
    pair.gadget.git("checkout", "-q", "-b", "topic")
    pair.gadget.commit("one", {"a.txt": "0\n1\n2\n3\n"})
    pair.gadget.commit("two", {"e.txt": "e\n"})
    pair.gadget.git("checkout", "-q", "trunk")
    pair.gadget.commit("meanwhile", {"f.txt": "f\n"})
    pair.gadget.git("merge", "-q", "--no-ff", "-m", "Merge pull request #9 from acme/topic", "topic")
    return tip(pair.gadget, "trunk")


def test_t8_a_merge_needs_m_and_is_told_which_parent_is_which(
    pair: Invented, merge: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ours, theirs = pair.gadget.git("rev-parse", f"{merge}^1", f"{merge}^2").split()
    code, said = told(pair, capsys, "#9", "--to", BRANCH, "--apply")
    assert code == 2
    assert f"{merge[:12]} is a merge" in said
    assert f"-m 1 against {ours[:12]} 'meanwhile' (the default branch); -m 2 against {theirs[:12]} 'two'" in said
    assert told(pair, capsys, "#9", "--to", BRANCH, "-m", "3")[0] == 2


def test_t8_a_merge_is_taken_against_its_parent(pair: Invented, merge: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, seen = told(pair, capsys, "#9", "--to", BRANCH, "-m", "1", "--apply")
    assert (code, seen["state"], seen["files"], seen["findings"]) == (0, "done", ["a.txt", "e.txt"], [])
    assert pair.gadget.git("rev-list", "--count", f"trunk~2..{BRANCH}") == "1"
    assert told(pair, capsys, merge, "--to", BRANCH, "-m", "1")[1]["state"] == "already"


def test_t8_the_other_parent_is_warned_about(pair: Invented, merge: str, capsys: pytest.CaptureFixture[str]) -> None:
    seen = told(pair, capsys, merge, "--to", BRANCH, "-m", "2")[1]
    assert [(f["check"], f["remedy"]) for f in seen["findings"]] == [
        ("parent-is-mainline", "-m 1 takes what it brought")
    ]


def test_a_name_that_two_clones_know_is_refused(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    assert "trunk is in gadget and forge" in told(pair, capsys, "trunk", "--to", BRANCH)[1]
    assert "no such repository" in told(pair, capsys, "trunk", "--to", BRANCH, "--in", "nothing")[1]
    assert "no commit 'nothing'" in told(pair, capsys, "nothing", "--to", BRANCH)[1]


def test_m_on_what_is_no_merge_is_refused(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    assert "is no merge" in told(pair, capsys, "trunk", "--to", BRANCH, "-m", "1", "--in", "gadget")[1]


def test_t8_the_head_of_a_squashed_pull_request_leads_to_its_squash(
    pair: Invented, capsys: pytest.CaptureFixture[str]
) -> None:
    pair.gadget.git("checkout", "-q", "-b", "topic")
    pair.gadget.commit("one", {"a.txt": "0\n1\n2\n3\n"})
    head = pair.gadget.commit("two", {"e.txt": "e\n"})
    pair.gadget.git("checkout", "-q", "trunk")
    squash = pair.gadget.commit("squashed (#9)", {"a.txt": "0\n1\n2\n3\n", "e.txt": "e\n"})
    code, seen = told(pair, capsys, head, "--to", BRANCH, "--apply")
    assert (code, seen["state"]) == (1, "blocked")
    assert seen["findings"][0]["remedy"] == f"take {squash}: its tree is the same, it is what was squashed"
    code, seen = told(pair, capsys, "#9", "--to", BRANCH, "--apply")
    assert (code, seen["original"]["commit"], seen["files"]) == (0, squash, ["a.txt", "e.txt"])


def test_a_pull_request_that_is_open_or_unknown_is_refused(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    pair.gadget.git("update-ref", "refs/pull/5/head", "trunk")
    assert "acme/gadget#5 is not merged" in told(pair, capsys, "#5", "--to", BRANCH)[1]
    assert told(pair, capsys, "#6", "--to", BRANCH)[0] == 3
    assert "is no repository of project" in told(pair, capsys, "other/repo#5", "--to", BRANCH)[1]


def test_a_number_that_a_former_forge_gave_too(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    """MIOpen's #1673 is of 2022; "Docs18 (#1673)" of 2019 came from a former forge. The gate takes the same one."""
    old = pair.gadget.commit("Docs18 (#7)", {"a.txt": "old\n"}, at="2019-04-11T12:00:00-08:00")
    new = pair.gadget.commit("fix (#7)", {"d.txt": "d\n"}, at="2022-09-29T12:00:00-08:00")
    code, document = told(pair, capsys, "acme/gadget#7", "--to", BRANCH)
    assert (code, document["state"], document["files"]) == (0, "ready", ["d.txt"])
    assert (document["original"]["commit"], document["original"]["namesakes"]) == (new, [old])
    assert [finding["says"] for finding in document["findings"]] == [
        f"{new[:12]} was taken for #7; so named too: {old[:12]}"
    ]


# -- the branch -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["1.0", "stable/1", "stable/1.0 ", "Stable/1.0", "stable/*", "--all"])
def test_t7_a_branch_is_named_whole(pair: Invented, capsys: pytest.CaptureFixture[str], name: str) -> None:
    pair.gadget.git("branch", "stable/1.04", BRANCH)
    before = refs(pair.gadget)
    code, said = told(pair, capsys, "trunk", "--to", name, "--in", "gadget", "--apply")
    assert (code, f"no branch {name!r}" in said) == (2, True)
    assert refs(pair.gadget) == before


def test_a_branch_that_is_checked_out_is_left_alone(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    fix = pair.gadget.commit("fix", {"a.txt": "1\n2\n3\n4\n"})
    pair.gadget.git("worktree", "add", "-q", str(pair.file.parent / "wt"), BRANCH)
    code, seen = told(pair, capsys, fix, "--to", BRANCH, "--apply")
    assert (code, seen["state"], seen["findings"][0]["check"]) == (1, "blocked", "branch-not-checked-out")
    assert told(pair, capsys, fix, "--to", BRANCH, "--as", "topic", "--apply")[0] == 0


def test_a_branch_behind_its_remote_is_refused_and_one_only_there_is_made(
    pair: Invented, capsys: pytest.CaptureFixture[str]
) -> None:
    fix = pair.gadget.commit("fix", {"a.txt": "1\n2\n3\n4\n"})
    theirs = on_branch(pair.gadget, "theirs", {"b.txt": "theirs\n"})
    pair.gadget.git("update-ref", f"refs/remotes/origin/{BRANCH}", theirs)
    pair.gadget.git("update-ref", f"refs/heads/{BRANCH}", f"{theirs}~")
    assert "lacks commits that origin has" in told(pair, capsys, fix, "--to", BRANCH, "--apply")[1]
    pair.gadget.git("branch", "-q", "-D", BRANCH)
    code, seen = told(pair, capsys, fix, "--to", BRANCH, "--apply")
    assert (code, pair.gadget.git("rev-parse", f"{BRANCH}~"), seen["result"]) == (0, theirs, tip(pair.gadget))


def test_the_providers_changes_are_taken_in_its_own_clone(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    pair.forge.git("branch", "stable/1.0", "trunk~2")
    pair.forge.git("checkout", "-q", "trunk")
    fix = pair.forge.commit("fix", {"x.txt": "x\n"})
    code, seen = told(pair, capsys, fix, "--to", "stable/1.0", "--apply")
    assert (code, seen["original"]["repository"], seen["result"]) == (0, "acme/forge", tip(pair.forge, "stable/1.0"))


# -- P10 ------------------------------------------------------------------------------------------------------------


def pinned(pair: Invented, number: int, extra: str = "") -> dict[str, str | bytes | None]:
    return {"forge.pin": f"acme/forge@{pair.forge_at[number]}\n{extra}"}


def test_p10_a_pin_that_goes_back_is_refused(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    on_branch(pair.gadget, "the branch moved on", pinned(pair, 50))
    pair.gadget.commit("trunk too", pinned(pair, 50))
    back = pair.gadget.commit("and back", pinned(pair, 42))
    before = refs(pair.gadget)
    code, seen = told(pair, capsys, back, "--to", BRANCH, "--apply")
    assert (code, seen["state"]) == (1, "blocked")
    assert [(f["check"], f["outcome"]) for f in seen["findings"]] == [("pin-not-downgraded", "failed")]
    assert seen["pins"] == [
        {
            "pin": "forge",
            "old": pair.forge_at[50],
            "new": pair.forge_at[42],
            "forward": False,
            "old_number": 50,
            "new_number": 42,
            "crossing": True,
            "gap": None,
        }
    ]
    assert refs(pair.gadget) == before


def test_p10_what_counts_is_the_branch_not_what_the_change_did_on_trunk(
    pair: Invented, capsys: pytest.CaptureFixture[str]
) -> None:
    """On trunk the pin went forward, 41 to 42; the branch has 50 by another site, which this change's site outranks."""
    pair.gadget.git("checkout", "-q", BRANCH)
    pair.gadget.commit("other site", {"forge.pin": None, "deps.cmake": f'set(FORGE_REF "{pair.forge_at[50]}")\n'})
    pair.gadget.git("checkout", "-q", "trunk")
    pair.gadget.commit("drop", {"forge.pin": None})
    forward = pair.gadget.commit("pin 42", pinned(pair, 42))
    code, seen = told(pair, capsys, forward, "--to", BRANCH)
    assert (code, seen["findings"][0]["check"], seen["pins"][0]["old"]) == (1, "pin-not-downgraded", pair.forge_at[50])


def test_p10_a_pin_that_would_be_gone_is_refused(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    gone = pair.gadget.commit("no pin", {"forge.pin": None})
    code, seen = told(pair, capsys, gone, "--to", BRANCH)
    assert (code, seen["findings"][0]["says"]) == (1, f"the pin forge of {BRANCH} would be gone")


def test_p10_a_pin_aside_is_refused(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    pair.forge.git("checkout", "-q", "-b", "side", pair.forge_at[41] or "")
    aside = pair.forge.commit("aside", {"y.txt": "y\n"})
    change = pair.gadget.commit("aside", {"forge.pin": f"acme/forge@{aside}\n"})
    code, seen = told(pair, capsys, change, "--to", BRANCH)
    assert (code, seen["pins"][0]["forward"]) == (1, False)


def test_p10_what_cannot_be_told_blocks(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    change = pair.gadget.commit("unknown to the clone", {"forge.pin": f"acme/forge@{'1' * 40}\n"})
    code, seen = told(pair, capsys, change, "--to", BRANCH, "--apply")
    assert (code, seen["state"]) == (1, "blocked")
    assert [(f["check"], f["outcome"]) for f in seen["findings"]] == [("pin-not-downgraded", "unknown")]


def test_a_pin_that_crosses_the_abi_on_a_release_branch_is_warned_about(
    pair: Invented, capsys: pytest.CaptureFixture[str]
) -> None:
    change = pair.gadget.commit("bump", pinned(pair, 50))
    code, seen = told(pair, capsys, change, "--to", BRANCH)
    assert (code, seen["state"], seen["pins"][0]["crossing"]) == (0, "ready", True)
    assert [(f["check"], f["level"]) for f in seen["findings"]] == [("abi-crossing", "warn")]


# -- T9 -------------------------------------------------------------------------------------------------------------


def revert(repository: TestRepository, commit: str) -> str:
    repository.git("revert", "--no-edit", commit)
    return repository.git("rev-parse", "HEAD")


def reverts(pair: Invented, capsys: pytest.CaptureFixture[str], *args: str) -> list[tuple[str, str, str, str]]:
    code, seen = told(pair, capsys, "--reverts", *args)
    assert code == (1 if seen else 0)
    return [(r["branch"], r["original"], r["revert"], r["by"]) for r in seen]


def test_t9_a_revert_is_reported_for_the_branch_that_still_has_the_original(
    pair: Invented, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = pair.gadget.commit("bad (#3)", {"h.txt": "h\n"})
    pair.gadget.git("branch", "stable/1.1")
    undone = revert(pair.gadget, bad)
    pair.gadget.git("branch", "stable/1.2")
    # 1.0 was cut before both, 1.2 after both.
    assert reverts(pair, capsys) == [("stable/1.1", bad, undone, "ancestry")]
    assert reverts(pair, capsys, "--to", "stable/1.2") == []
    assert run(pair, undone, "--to", "stable/1.1", "--apply") == 0
    assert reverts(pair, capsys) == []


@pytest.mark.parametrize("how", ["link", "same-subject"])
def test_t9_what_was_taken_to_the_branch_counts_as_there(
    pair: Invented, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    bad = pair.gadget.commit("bad (#3)", {"h.txt": "h\n"})
    if how == "link":
        assert run(pair, bad, "--to", BRANCH, "--apply") == 0
    else:
        on_branch(pair.gadget, "bad (#3)", {"h.txt": "by hand\n"})
    undone = revert(pair.gadget, bad)
    assert reverts(pair, capsys) == [(BRANCH, bad, undone, how)]


def test_t9_a_branch_that_reverted_it_itself_is_not_reported(
    pair: Invented, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = pair.gadget.commit("bad (#3)", {"h.txt": "h\n"})
    pair.gadget.git("branch", "stable/1.1")
    revert(pair.gadget, bad)
    pair.gadget.git("checkout", "-q", "stable/1.1")
    own = revert(pair.gadget, bad)
    pair.gadget.git("checkout", "-q", "trunk")
    assert reverts(pair, capsys) == []
    pair.gadget.git("checkout", "-q", "stable/1.1")
    revert(pair.gadget, own)
    pair.gadget.git("checkout", "-q", "trunk")
    assert [found[:2] for found in reverts(pair, capsys)] == [("stable/1.1", bad)]


def test_t9_a_reverted_revert_is_none(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    """N2: by parity."""
    bad = pair.gadget.commit("bad (#3)", {"h.txt": "h\n"})
    pair.gadget.git("branch", "stable/1.1")
    one = revert(pair.gadget, bad)
    two = revert(pair.gadget, one)
    assert reverts(pair, capsys) == []
    three = revert(pair.gadget, two)
    # `one` is in force again, by way of `three`.
    assert [(found[1], found[2]) for found in reverts(pair, capsys)] == [(bad, one)]
    assert three != one


@pytest.mark.parametrize(
    ("subject", "body"),
    [
        ('Revert "bad (#3)" (#4)', "Reverts acme/gadget#3"),
        ('Revert "bad (#3)" (#4)', ""),
        ('Revert "bad (#3)"', "because"),
        ("out with it", "This reverts commit {short}."),
    ],
)
def test_t9_reverts_as_forges_and_people_write_them(
    pair: Invented, capsys: pytest.CaptureFixture[str], subject: str, body: str
) -> None:
    bad = pair.gadget.commit("bad (#3)", {"h.txt": "h\n"})
    pair.gadget.git("branch", "stable/1.1")
    pair.gadget.commit("between (#33)", {"i.txt": "i\n"})
    undone = pair.gadget.commit(f"{subject}\n\n{body.format(short=bad[:10])}", {"h.txt": None})
    assert reverts(pair, capsys) == [("stable/1.1", bad, undone, "ancestry")]


def test_t9_a_change_that_was_reverted_is_not_taken(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    bad = pair.gadget.commit("bad (#3)", {"h.txt": "h\n"})
    undone = revert(pair.gadget, bad)
    code, seen = told(pair, capsys, bad, "--to", BRANCH, "--apply")
    assert (code, seen["state"], seen["findings"][0]["says"]) == (
        1,
        "blocked",
        f"{bad[:12]} was reverted by {undone[:12]}",
    )
    # And its revert has nothing to do there.
    code, seen = told(pair, capsys, undone, "--to", BRANCH)
    assert [f["check"] for f in seen["findings"]] == ["revert-has-its-original"]


def test_reverts_as_text(pair: Invented, capsys: pytest.CaptureFixture[str]) -> None:
    bad = pair.gadget.commit("bad (#3)", {"h.txt": "h\n"})
    pair.gadget.git("branch", "stable/1.1")
    undone = revert(pair.gadget, bad)
    day = pair.gadget.git("log", "-1", "--format=%cs", undone)
    capsys.readouterr()
    assert run(pair, "--reverts") == 1
    assert capsys.readouterr().out.splitlines() == [
        "Take 1 revert to release branches that still hold what was reverted:",
        "",
        f'stable/1.1: {bad[:12]} "bad (#3)"',
        f'  reverted {day} by {undone[:12]} "Revert "bad (#3)""',
        f"  next: relmgr backport {undone} --to stable/1.1",
    ]
    assert run(pair, "--reverts", "--to", BRANCH, "--format", "markdown") == 0
    assert capsys.readouterr().out == "**Nothing to do:** no reverted change is left on a release branch.\n"
