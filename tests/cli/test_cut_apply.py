"""`relmgr cut plan --save` and `relmgr cut apply`: T6, on real clones and remotes."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from relmgr.sources.stored_cuts import hold_stored_cut
from tests.support.cut_pair import CALENDAR, LOCAL, PUSHED, Pair, build_pair
from tests.support.repositories import new_repository


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return build_pair(tmp_path)


def document(pair: Pair, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = pair.apply("--format", "json", *more)
    return code, json.loads(capsys.readouterr().out)


# -- storing --------------------------------------------------------------------------------------------------------


def test_a_stored_plan_names_every_branch_commit_and_tip(pair: Pair) -> None:
    before = pair.refs()
    assert pair.store() == 0
    plan = json.loads(pair.plan.read_text())
    tips = {
        name: repository.git("rev-parse", "develop")
        for name, repository in (("compiler", pair.compiler), ("lib", pair.lib))
    }
    assert [
        (b["name"], b["repository"], b["branch"], b["commit"], b["base"], b["tip"], b["exists"])
        for b in plan["branches"]
    ] == [
        ("compiler", "acme/compiler", "release/2.0", tips["compiler"], "refs/heads/develop", tips["compiler"], False),
        ("lib", "acme/lib", "rel-2.0", tips["lib"], "refs/heads/develop", tips["lib"], False),
    ]
    assert (plan["project"], plan["release"], len(plan["digest"]), plan["open_items"]) == ("pair", "acme-2.0", 64, [])
    assert pair.refs() == before


def test_an_overdue_cut_is_settled_by_cutting(pair: Pair) -> None:
    assert pair.store("3.0") == 0
    assert pair.apply("--apply") == 0
    assert pair.made() == {"compiler:refs/heads/release/3.0", "lib:refs/heads/rel-3.0"}


def test_an_open_item_keeps_a_plan_from_being_applied_until_it_is_accepted(
    pair: Pair, capsys: pytest.CaptureFixture[str]
) -> None:
    pair.lib.commit("no notes", {"CHANGELOG.md": "nothing\n"})
    pair.lib.git("push", "-q", "origin", "develop")
    assert pair.store() == 1
    assert "not to be applied while open: lib/changelog" in capsys.readouterr().err
    code, seen = document(pair, capsys, "--apply")
    assert (code, seen["state"], pair.made()) == (1, "refused", set())
    assert seen["problems"] == [
        "open: acme/lib has a CHANGELOG.md section for 2.0 (no section for 2.0 in CHANGELOG.md at develop)"
    ]
    assert pair.store("2.0", "--accept", "lib/changelog=written after the cut, as always") == 0
    assert pair.apply("--apply") == 0
    assert (
        "accepted: acme/lib has a CHANGELOG.md section for 2.0 (written after the cut, as always)"
        in capsys.readouterr().out
    )
    assert pair.made() == LOCAL


def test_a_pin_that_will_not_be_on_the_providers_branch_stays_open(
    pair: Pair, capsys: pytest.CaptureFixture[str]
) -> None:
    pair.compiler.git("checkout", "-q", "-b", "side")
    aside = pair.compiler.commit("on no branch to be cut", {"y": "1\n"})
    pair.compiler.git("checkout", "-q", "develop")
    pair.lib.commit("pin aside", {"requirements.txt": f"acme/compiler@{aside}\n"})
    assert pair.store() == 1
    assert "lib/compiler/pin-on-release-branch" in capsys.readouterr().err


@pytest.mark.parametrize("accept", ["lib/changelog=", "lib/nothing=because"])
def test_what_is_accepted_must_be_open_and_have_a_reason(pair: Pair, accept: str) -> None:
    assert pair.store("2.0", "--accept", accept) == 2
    assert not pair.plan.exists()


# -- showing --------------------------------------------------------------------------------------------------------


def test_t6_viewing_changes_nothing(pair: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    assert pair.store() == 0
    before, file = pair.refs(), pair.plan.read_bytes()
    assert pair.apply() == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "acme-2.0 can be cut; nothing is done yet (--apply does it)."
    assert pair.apply("--push", "origin", "--format", "markdown") == 0
    assert (pair.refs(), pair.plan.read_bytes()) == (before, file)


# -- doing ----------------------------------------------------------------------------------------------------------


def test_apply_makes_every_branch_and_a_second_run_nothing(pair: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    assert pair.store() == 0
    code, seen = document(pair, capsys, "--apply", "--push", "origin")
    assert (code, seen["state"], pair.made()) == (0, "done", PUSHED)
    assert [(a["repository"], a["remote"], a["state"]) for a in seen["actions"]] == [
        ("acme/compiler", None, "created"),
        ("acme/lib", None, "created"),
        ("acme/compiler", "origin", "created"),
        ("acme/lib", "origin", "created"),
    ]
    assert pair.lib.git("rev-parse", "rel-2.0") == pair.lib.git("rev-parse", "develop")
    after = pair.refs()
    code, seen = document(pair, capsys, "--apply", "--push", "origin")
    assert (code, seen["state"], {a["state"] for a in seen["actions"]}) == (0, "done", {"kept"})
    assert pair.refs() == after


def test_a_cut_that_was_made_here_is_pushed_afterwards(pair: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    assert pair.store() == 0
    assert document(pair, capsys, "--apply")[1]["state"] == "done"
    code, seen = document(pair, capsys, "--apply", "--push", "origin")
    assert (code, seen["state"]) == (0, "done")
    assert [action["state"] for action in seen["actions"]] == ["kept", "kept", "created", "created"]


def test_after_a_failed_push_no_command_for_one_branch_alone_is_advised(
    pair: Pair, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pair.store() == 0
    hook = pair.folder / "lib.git" / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    code, seen = document(pair, capsys, "--apply", "--push", "origin")
    assert (code, seen["state"]) == (3, "undone")
    assert "rel-2.0 was not made" in seen["problems"][0]
    assert "next:" not in seen["problems"][0]


def test_a_provider_that_was_cut_before_is_left_alone(pair: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    pair.compiler.git("branch", "release/2.0")
    pair.compiler.commit("after the cut", {"x": "2\n"})
    cuts = "cut: 2199-01-01, cuts: {compiler: 2022-01-01}"
    (pair.folder / "trains.yaml").write_text(CALENDAR.replace("cut: 2199-01-01", cuts))
    assert pair.store() == 0
    code, seen = document(pair, capsys, "--apply")
    assert (code, [a["state"] for a in seen["actions"]]) == (0, ["exists", "created"])
    assert pair.made() == LOCAL


def test_a_cut_from_what_the_clone_fetched(pair: Pair) -> None:
    """A clone that has only origin's branches."""
    for repository in (pair.compiler, pair.lib):
        repository.git("checkout", "-q", "--detach")
        repository.git("branch", "-q", "-D", "develop")
        repository.git("fetch", "-q", "origin")
    assert pair.store() == 0
    assert pair.apply("--apply", "--push", "origin") == 0
    assert pair.made() == PUSHED


# -- refusing -------------------------------------------------------------------------------------------------------


def move_tip(pair: Pair) -> str:
    pair.lib.commit("later", {"z": "1\n"})
    return "acme/lib in "


def move_remote_tip(pair: Pair) -> str:
    other = new_repository(pair.folder / "elsewhere")
    other.git("pull", "-q", str(pair.folder / "lib.git"), "develop")
    other.commit("by somebody else", {"z": "1\n"})
    other.git("push", "-q", str(pair.folder / "lib.git"), "develop")
    return "acme/lib at origin: develop is at "


def delete_base(pair: Pair) -> str:
    pair.lib.git("checkout", "-q", "--detach")
    pair.lib.git("branch", "-q", "-D", "develop")
    return "develop is gone"


def branch_appears(pair: Pair) -> str:
    pair.lib.git("branch", "rel-2.0", "develop")
    return ": rel-2.0 appeared, at "


def branch_appears_at_remote(pair: Pair) -> str:
    pair.compiler.git("push", "-q", str(pair.folder / "compiler.git"), "develop:refs/heads/release/2.0")
    return "acme/compiler at origin: release/2.0 appeared"


def branch_is_fetched(pair: Pair) -> str:
    pair.lib.git("update-ref", "refs/remotes/fork/rel-2.0", "develop")
    return "rel-2.0 is already there as refs/remotes/fork/rel-2.0"


def grows_old(pair: Pair) -> str:
    return "hours old, more than 0"


@pytest.mark.parametrize(
    "change",
    [move_tip, move_remote_tip, delete_base, branch_appears, branch_appears_at_remote, branch_is_fetched, grows_old],
)
def test_t6_a_stale_plan_is_refused_and_nothing_is_made(
    pair: Pair, capsys: pytest.CaptureFixture[str], change: Any
) -> None:
    assert pair.store() == 0
    says = change(pair)
    before = pair.refs()
    age = ("--max-age", "0") if change is grows_old else ()
    for mode in ((), ("--apply",)):
        code, seen = document(pair, capsys, "--push", "origin", *age, *mode)
        assert (code, seen["state"], seen["failed"]) == (1, "refused", False)
        assert any(says in problem for problem in seen["problems"]), seen["problems"]
    assert pair.refs() == before


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda text: text.replace("rel-2.0", "rel-2.1"), "the plan was edited after it was stored"),
        (lambda text: text.replace('"exists": false', '"exists": true', 1), "the plan was edited"),
        (lambda text: text.replace('"digest"', '"digets"'), "unknown key 'digets'"),
        (lambda text: text[:-20], "not JSON"),
        (lambda text: "[" * 100_000, "not JSON"),
        (lambda text: json.dumps({"steps": [], "items": []}), "this is the report of `cut plan`"),
        (lambda text: " " * 1_000_001, "too large for a stored plan"),
        (lambda text: text.replace("rel-2.0", "--upload-pack=x"), "branches.1.branch"),
        (lambda text: text.replace('"pair"', '"other"'), "edited"),
    ],
)
def test_a_file_that_is_no_plan_is_refused(
    pair: Pair, capsys: pytest.CaptureFixture[str], edit: Any, says: str
) -> None:
    assert pair.store() == 0
    pair.plan.write_text(edit(pair.plan.read_text()))
    assert pair.apply("--apply") == 2
    assert says in capsys.readouterr().err
    assert pair.made() == set()


@pytest.mark.parametrize(
    ("url", "push", "says"),
    [
        ("https://github.com/somebody/lib.git", "fork", "remote 'fork' is somebody/lib, not acme/lib"),
        ("https://github.com/acme/lib.git", "nowhere", "the clone has no remote 'nowhere'"),
        ("https://github.com/acme/lib.git", "https://x/y", "is not the name of a remote"),
        ("https://github.com/acme/lib.git", "--force", "is not the name of a remote"),
    ],
)
def test_a_push_goes_to_the_repository_itself(
    pair: Pair, capsys: pytest.CaptureFixture[str], url: str, push: str, says: str
) -> None:
    assert pair.store() == 0
    pair.lib.git("remote", "add", "fork", url)
    assert pair.apply("--apply", "--push", f"lib={push}") == 2
    assert says in capsys.readouterr().err
    assert pair.made() == set()


def test_a_git_environment_of_another_repository_is_refused(
    pair: Pair, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pair.store() == 0
    monkeypatch.setenv("GIT_INDEX_FILE", str(pair.folder / "index"))
    assert pair.apply("--apply") == 2
    assert "GIT_INDEX_FILE is set" in capsys.readouterr().err


def test_one_process_applies_a_plan_at_a_time(pair: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    assert pair.store() == 0
    with hold_stored_cut(pair.plan):
        assert pair.apply("--apply") == 2
    assert "another process is applying this plan" in capsys.readouterr().err
    assert pair.made() == set()


def test_b7_a_token_in_a_remotes_url_is_never_shown(
    pair: Pair, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in what is printed, and not in any argument list that other users of the machine can read."""
    token = "ghp_" + "plantedplantedplanted"
    pair.lib.git("remote", "add", "far", f"https://x:{token}@127.0.0.1:1/acme/lib.git")
    assert pair.store() == 0
    folder, log = tmp_path / "logging", tmp_path / "arguments"
    folder.mkdir()
    (folder / "git").write_text(f'#!/bin/sh\necho "$@" >> "{log}"\nexec "{shutil.which("git")}" "$@"\n')
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    assert pair.apply("--apply", "--push", "lib=far") == 3
    said = capsys.readouterr()
    assert "git ls-remote failed" in said.err
    assert "push" in log.read_text() or "ls-remote" in log.read_text()
    assert token not in said.out + said.err + log.read_text()
