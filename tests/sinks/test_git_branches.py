"""T6: a cut over repositories is made whole, taken back, or named half done; also when the process is killed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from relmgr.model.cut_apply import BranchToCut
from relmgr.sinks.git_branches import Place, foreign_marks, make_all, marked_remotes, read_place, take_back
from tests.support.cut_pair import LOCAL, PUSHED, Pair, build_pair, cut
from tests.support.failing_git import FailingGit, How, failing_git

PUSH = ("--push", "origin")


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    pair = build_pair(tmp_path / "pair")
    assert pair.store() == 0
    return pair


@pytest.fixture
def git(tmp_path: Path) -> FailingGit:
    return failing_git(tmp_path / "bin", "update-ref", "push")


def apply(pair: Pair, *more: str) -> list[str | Path]:
    return ["cut", "apply", pair.plan, *pair.options, *more]


def outcome(run: subprocess.CompletedProcess[str]) -> str:
    return str(json.loads(run.stdout)["state"]) if run.stdout.startswith("{") else run.stderr


# -- failures -------------------------------------------------------------------------------------------------------


def here(
    pair: Pair, git: FailingGit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], at: int, how: How
) -> tuple[int, dict[str, Any]]:
    """Apply in this process, with a write that fails."""
    with monkeypatch.context() as patch:
        for key, value in git.env(at, how).items():
            patch.setenv(key, value)
        capsys.readouterr()
        code = pair.apply("--apply", *PUSH, "--format", "json")
        return code, json.loads(capsys.readouterr().out)


def test_t6_whatever_write_fails_everything_is_taken_back(
    pair: Pair, git: FailingGit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = pair.refs()
    assert here(pair, git, monkeypatch, capsys, 0, "fail")[1]["state"] == "done"
    # Four marks, four branches, four marks removed.
    assert (git.writes(), pair.made()) == (12, PUSHED)
    for name, branch in (("compiler", "release/2.0"), ("lib", "rel-2.0")):
        repository = pair.compiler if name == "compiler" else pair.lib
        repository.git("push", "-q", "origin", f":{branch}")
        repository.git("branch", "-q", "-D", branch)
    for at in range(1, 9):
        code, seen = here(pair, git, monkeypatch, capsys, at, "fail")
        assert (code, seen["state"]) == (3, "undone"), at
        assert "planted" in seen["problems"][0]
        assert pair.refs() == before, at


@pytest.mark.parametrize("at", [5, 6, 7, 8])
def test_a_lost_answer_is_looked_up(
    pair: Pair, git: FailingGit, at: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The branch was made, but git said that it failed (a connection that broke after the push)."""
    code, seen = here(pair, git, monkeypatch, capsys, at, "fail-after")
    assert (code, seen["state"], pair.made()) == (0, "done", PUSHED)


def test_t6_what_cannot_be_taken_back_is_named_half_done_with_its_commands(
    pair: Pair, git: FailingGit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = pair.refs()
    for key, value in git.env(0, every_from=8).items():
        monkeypatch.setenv(key, value)
    assert pair.apply("--apply", *PUSH, "--format", "json") == 3
    seen = json.loads(capsys.readouterr().out)
    assert seen["state"] == "half-done"
    assert [(a["repository"], a["remote"], a["state"]) for a in seen["actions"]] == [
        ("acme/compiler", None, "created"),
        ("acme/lib", None, "created"),
        ("acme/compiler", "origin", "created"),
        ("acme/lib", "origin", "not-there"),
    ]
    monkeypatch.setenv("RELMGR_TEST_FROM", "0")
    # The commands are what they say: run by a person, they leave what was there before, but for the marks.
    for command in [action["undo"] for action in seen["actions"] if action["undo"]]:
        subprocess.run(command, shell=True, check=True, capture_output=True)
    marks = {ref for name in ("compiler", "lib") for ref in pair.refs()[name] if ref.startswith("refs/relmgr")}
    assert len(marks) == 4
    assert pair.apply("--undo") == 0
    assert pair.refs() == before


def test_the_finishing_commands_finish(pair: Pair, git: FailingGit) -> None:
    assert git.relmgr(*apply(pair, "--apply", *PUSH), at=8, how="kill-before").returncode == -9
    run = git.relmgr(*apply(pair, "--format", "json"))
    assert (run.returncode, outcome(run)) == (1, "half-done")
    (command,) = [action["finish"] for action in json.loads(run.stdout)["actions"] if action["finish"]]
    subprocess.run(command, shell=True, check=True, capture_output=True)
    run = git.relmgr(*apply(pair, "--apply", "--format", "json"))
    assert (run.returncode, outcome(run), pair.made()) == (0, "done", PUSHED)


# -- kills ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [1, 6, 8, 12])
def test_killed_after_any_write_the_next_run_finishes(pair: Pair, git: FailingGit, at: int) -> None:
    assert git.relmgr(*apply(pair, "--apply", *PUSH), at=at, how="kill-after").returncode == -9
    shown = git.relmgr(*apply(pair, *PUSH, "--format", "json"))
    assert outcome(shown) == ("half-done" if at < 8 else "done"), at
    run = git.relmgr(*apply(pair, "--apply", *PUSH, "--format", "json"))
    assert (run.returncode, outcome(run), pair.made()) == (0, "done", PUSHED)


@pytest.mark.slow
@pytest.mark.parametrize("at", range(1, 13))
@pytest.mark.parametrize("how", ["kill-before", "kill-after"])
@pytest.mark.parametrize("then", ["--apply", "--undo"])
def test_killed_at_any_write_both_ways_out(pair: Pair, git: FailingGit, at: int, how: str, then: str) -> None:
    before = pair.refs()
    assert git.relmgr(*apply(pair, "--apply", *PUSH), at=at, how=how).returncode == -9  # type: ignore[arg-type]
    marked = any("refs/relmgr" in name for name in pair.made())
    # Without --push: the marks say where it was going. Only before the first of them nothing says so.
    run = git.relmgr(*apply(pair, then, *(PUSH if at < 5 else ()), "--format", "json"))
    if then == "--apply":
        assert (run.returncode, outcome(run), pair.made()) == (0, "done", PUSHED)
    elif marked:
        assert (run.returncode, outcome(run)) == (0, "undone")
        # Killed while the marks of a finished cut were removed: what carries none any more is not ours to remove.
        if at < 9 or (at, how) == (9, "kill-before"):
            assert pair.refs() == before
    else:
        assert run.returncode == 2
        assert "left nothing half done" in run.stderr


def test_a_half_done_cut_whose_base_moved_is_finished_only_when_asked(pair: Pair, git: FailingGit) -> None:
    assert git.relmgr(*apply(pair, "--apply"), at=3, how="kill-after").returncode == -9
    planned = pair.lib.git("rev-parse", "develop")
    pair.lib.commit("later", {"z": "1\n"})
    run = git.relmgr(*apply(pair, "--apply", "--format", "json"))
    assert (run.returncode, outcome(run)) == (1, "half-done")
    assert "the plan saw" in json.loads(run.stdout)["problems"][0]
    run = git.relmgr(*apply(pair, "--finish", "--format", "json"))
    assert (run.returncode, outcome(run), pair.made()) == (0, "done", LOCAL)
    assert pair.lib.git("rev-parse", "rel-2.0") == planned


def test_a_branch_that_somebody_moved_meanwhile_is_never_removed(
    pair: Pair, git: FailingGit, capsys: pytest.CaptureFixture[str]
) -> None:
    assert git.relmgr(*apply(pair, "--apply"), at=3, how="kill-after").returncode == -9
    pair.compiler.git("checkout", "-q", "release/2.0")
    theirs = pair.compiler.commit("theirs", {"x": "9\n"})
    for mode in ("--apply", "--undo"):
        assert pair.apply(mode) in (1, 3)
        assert pair.compiler.git("rev-parse", "release/2.0") == theirs
    assert "release/2.0 was moved to" in capsys.readouterr().out


def test_there_is_nothing_to_finish_or_undo(pair: Pair) -> None:
    assert pair.apply("--finish") == 2
    assert pair.apply("--undo") == 2
    assert pair.made() == set()


def test_another_half_done_cut_is_in_the_way(pair: Pair, git: FailingGit, capsys: pytest.CaptureFixture[str]) -> None:
    assert git.relmgr(*apply(pair, "--apply"), at=2, how="kill-after").returncode == -9
    assert pair.store("3.0") == 0
    assert pair.apply("--apply") == 1
    assert "another cut is half done here" in capsys.readouterr().out


# -- compare and swap -----------------------------------------------------------------------------------------------


def places(pair: Pair, remote: str | None) -> list[Place]:
    plan = json.loads(pair.plan.read_text())
    paths = {"compiler": pair.compiler.path, "lib": pair.lib.path}
    return [Place(BranchToCut(**b), paths[b["name"]], remote, plan["digest"]) for b in plan["branches"]]


@pytest.mark.parametrize("remote", [None, "origin"])
def test_a_branch_made_by_another_in_the_same_moment_is_kept_and_the_rest_taken_back(
    pair: Pair, remote: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The other one comes between our last look and our write: a script on the PATH plays it."""
    plan = places(pair, remote)
    target = pair.folder / ("lib.git" if remote else "lib")
    git, theirs = shutil.which("git"), "refs/heads/rel-2.0"
    other = tmp_path / "other"
    other.mkdir()
    made = (
        f'"{git}" -C "{target}" update-ref {theirs} "$("{git}" -C "{target}" commit-tree -m theirs develop^{{tree}})"'
    )
    write = "push" if remote else "--stdin"
    (other / "git").write_text(f'#!/bin/sh\ncase " $* " in *"/lib "*" {write} "*) {made} ;; esac\nexec "{git}" "$@"\n')
    (other / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{other}:{os.environ['PATH']}")
    with pytest.raises(Exception, match=r"rel-2\.0 was not made"):
        make_all(plan)
    stands = pair.refs()
    assert theirs in stands[target.name]
    assert stands[target.name][theirs] != pair.lib.git("rev-parse", "develop")
    assert not [
        ref for refs in stands.values() for ref in refs if ref.startswith(("refs/relmgr", "refs/heads/release"))
    ]


def test_marks_are_read_back_exactly(pair: Pair) -> None:
    (compiler, _) = places(pair, "origin")
    pair.compiler.git("update-ref", compiler.mark, "develop")
    assert marked_remotes(pair.compiler.path, compiler.plan) == {"release/2.0": "origin"}
    assert marked_remotes(pair.compiler.path, "0" * 64) == {}
    assert foreign_marks(pair.compiler.path, compiler.plan) == ()
    assert foreign_marks(pair.compiler.path, "0" * 64) == (compiler.mark,)
    assert read_place(compiler).ours
    take_back([compiler])
    assert not read_place(compiler).ours


def test_no_hook_of_the_clone_is_run(pair: Pair) -> None:
    for hook in ("reference-transaction", "pre-push"):
        file = pair.lib.path / ".git" / "hooks" / hook
        file.parent.mkdir(exist_ok=True)
        file.write_text(f'#!/bin/sh\ntouch "{pair.folder}/ran"\nexit 1\n')
        file.chmod(0o755)
    assert pair.apply("--apply", *PUSH) == 0
    assert not (pair.folder / "ran").exists()


def test_a_bare_mirror_is_cut_too(pair: Pair) -> None:
    mirror = pair.folder / "mirror.git"
    pair.lib.git("clone", "-q", "--mirror", str(pair.folder / "lib.git"), str(mirror))
    options = [str(o).replace(f"lib={pair.lib.path}", f"lib={mirror}") for o in pair.options]
    trains = ("--trains", pair.folder / "trains.yaml")
    assert cut("plan", "2.0", *options, *trains, "--save", pair.plan, "--quiet") == 0
    assert cut("apply", pair.plan, *options, "--apply") == 0
    assert "refs/heads/rel-2.0" in pair.lib.git("--git-dir", str(mirror), "for-each-ref")
