"""Cherry-picks in a scratch repository: whatever happens, the clone holds nothing of it, or all (T8)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from relmgr.cli import root
from relmgr.errors import SourceError, run_to_exit_code
from relmgr.model.backport import Original, Target
from relmgr.settings import load_project
from relmgr.sinks.git_backport import land, picked
from relmgr.sources.changes.backports import find_original, find_target
from relmgr.sources.git.clone import Clone
from tests.support.failing_git import FailingGit, How, failing_git
from tests.support.invented import Invented, invent
from tests.support.repositories import TestRepository, new_repository

BRANCH = "stable/1.0"
WRITING = (
    "init",
    "config core.sparseCheckout",
    "update-ref",
    "symbolic-ref",
    "read-tree",
    "cherry-pick",
    "commit",
    "fetch",
)


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invented:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr("tempfile.tempdir", None)
    pair = invent(tmp_path)
    pair.gadget.commit("start", {"forge.pin": f"acme/forge@{pair.forge_at[42]}\n", "a.txt": "1\n2\n3\n"})
    pair.gadget.git("branch", BRANCH)
    pair.gadget.commit("fix (#7)", {"a.txt": "1\n2\n3\n4\n"})
    return pair


@pytest.fixture
def git(tmp_path: Path) -> FailingGit:
    return failing_git(tmp_path / "bin", *WRITING)


def args(pair: Invented) -> list[str | Path]:
    return ["backport", "#7", "--to", BRANCH, "--apply", "--repo", f"gadget={pair.gadget.path}", "--project", pair.file]


def state(repository: TestRepository) -> tuple[str, ...]:
    """Everything that a person could miss: refs, work tree, work trees, and that all objects are whole."""
    repository.git("fsck", "--no-dangling", "--strict")
    return (
        repository.git("for-each-ref"),
        repository.git("status", "--porcelain"),
        repository.git("worktree", "list"),
        repository.git("stash", "list"),
    )


def scratch_folders(pair: Invented) -> list[str]:
    return [folder.name for folder in (pair.file.parent / "scratch").iterdir()]


def kill_points(pair: Invented, git: FailingGit) -> int:
    run = git.relmgr(*args(pair))
    assert run.returncode == 0, run.stderr
    pair.gadget.git("update-ref", f"refs/heads/{BRANCH}", f"{BRANCH}~")
    return git.writes()


def check_killed(pair: Invented, git: FailingGit, at: int, how: How, last: int) -> None:
    before = state(pair.gadget)
    assert git.relmgr(*args(pair), at=at, how=how).returncode == -9
    done = (at, how) == (last, "kill-after")
    assert (state(pair.gadget) != before) == done, at
    assert len(scratch_folders(pair)) == 1
    run = git.relmgr(*args(pair))
    assert run.returncode == 0, run.stderr
    assert ("already" in run.stdout.splitlines()[0]) == done
    assert scratch_folders(pair) == []
    assert pair.gadget.git("rev-list", "--count", f"trunk..{BRANCH}") == "1"
    pair.gadget.git("update-ref", f"refs/heads/{BRANCH}", f"{BRANCH}~")


def test_killed_at_the_writes_that_matter(pair: Invented, git: FailingGit) -> None:
    last = kill_points(pair, git)
    # The last two writes are to the clone: the objects, and the branch.
    check_killed(pair, git, last - 1, "kill-after", last)
    check_killed(pair, git, last, "kill-before", last)
    check_killed(pair, git, last, "kill-after", last)


@pytest.mark.slow
def test_killed_at_any_write(pair: Invented, git: FailingGit) -> None:
    last = kill_points(pair, git)
    assert last == 9
    for at in range(1, last + 1):
        for how in ("kill-before", "kill-after"):
            check_killed(pair, git, at, how, last)  # type: ignore[arg-type]


def test_whatever_write_fails_nothing_is_left(
    pair: Invented, git: FailingGit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    last = kill_points(pair, git)
    before = state(pair.gadget)
    for at in range(1, last + 1):
        with monkeypatch.context() as patch:
            for key, value in git.env(at).items():
                patch.setenv(key, value)
            code = run_to_exit_code(lambda **kw: root.main([str(arg) for arg in args(pair)], **kw))
        assert (code, "planted" in capsys.readouterr().err) == (3, True), at
        assert (state(pair.gadget), scratch_folders(pair)) == (before, [])


def taken(pair: Invented) -> tuple[Clone, Original, Target]:
    clone = Clone.open(pair.gadget.path)
    project = load_project(str(pair.file), {"gadget": str(pair.gadget.path)})
    return clone, find_original(project, {"gadget": clone}, "#7", None), find_target(clone, BRANCH, None)


def test_a_branch_that_moved_meanwhile_is_left_alone(pair: Invented) -> None:
    clone, original, target = taken(pair)
    with picked(clone.path, original, target.tip, None) as done:
        pair.gadget.git("update-ref", f"refs/heads/{BRANCH}", "trunk")
        with pytest.raises(SourceError, match="was not moved"):
            land(clone.path, done, target, original)
    assert pair.gadget.git("rev-parse", BRANCH) == pair.gadget.git("rev-parse", "trunk")


def test_two_at_once_do_not_sweep_each_other(pair: Invented) -> None:
    clone, original, target = taken(pair)
    with picked(clone.path, original, target.tip, None) as one:
        with picked(clone.path, original, target.tip, None) as other:
            assert one.path != other.path
            assert one.path.is_dir()
        assert one.path.is_dir()
        land(clone.path, one, target, original)
    assert scratch_folders(pair) == []


def test_only_what_the_change_touches_is_written_out(pair: Invented) -> None:
    """A clone may hold gigabytes; the scratch repository borrows its objects and checks nothing out."""
    pair.gadget.git("checkout", "-q", BRANCH)
    pair.gadget.commit("large", {"large.bin": os.urandom(3_000_000), "sub/.gitattributes": "*.txt text\n"})
    pair.gadget.git("checkout", "-q", "trunk")
    clone, original, target = taken(pair)
    with picked(clone.path, original, target.tip, None) as done:
        names = {p.relative_to(done.path).as_posix() for p in done.path.rglob("*") if ".git/" not in f"{p}/"}
        assert names <= {"sub", "sub/.gitattributes", "a.txt"}
        assert sum(p.stat().st_size for p in done.path.rglob("*") if p.is_file()) < 200_000
        assert pair.gadget.git("cat-file", "-t", BRANCH) == "commit"
        # Before it lands the clone does not even hold the commit.
        missing = subprocess.run(
            ["git", "-C", str(clone.path), "cat-file", "-e", done.commit or ""], capture_output=True, check=False
        )
        assert missing.returncode != 0


def test_no_hook_is_run_and_attributes_hold(pair: Invented) -> None:
    for name in ("post-commit", "prepare-commit-msg", "reference-transaction", "post-checkout"):
        hook = pair.gadget.path / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f'#!/bin/sh\ntouch "{pair.file.parent}/ran"\nexit 1\n')
        hook.chmod(0o755)
    clone, original, target = taken(pair)
    with picked(clone.path, original, target.tip, None) as done:
        land(clone.path, done, target, original)
    assert not (pair.file.parent / "ran").exists()


def test_a_merge_by_union_is_the_repositorys_own_wish(pair: Invented) -> None:
    pair.gadget.git("checkout", "-q", BRANCH)
    pair.gadget.commit("attributes", {".gitattributes": "a.txt merge=union\n", "a.txt": "1\n2\n3\nours\n"})
    pair.gadget.git("checkout", "-q", "trunk")
    clone, original, target = taken(pair)
    with picked(clone.path, original, target.tip, None) as done:
        assert done.state == "clean"


def test_bare_mirrors_and_shallow_clones(pair: Invented, tmp_path: Path) -> None:
    bare = tmp_path / "mirror.git"
    pair.gadget.git("clone", "-q", "--mirror", str(pair.gadget.path), str(bare))
    repository = TestRepository(bare)
    clone = Clone.open(bare)
    project = load_project(str(pair.file), {"gadget": str(bare)})
    original, target = find_original(project, {"gadget": clone}, "#7", None), find_target(clone, BRANCH, None)
    with picked(clone.path, original, target.tip, None) as done:
        land(clone.path, done, target, original)
    assert repository.git("rev-parse", BRANCH) == done.commit
    shallow = tmp_path / "shallow"
    pair.gadget.git("clone", "-q", "--depth=1", f"file://{pair.gadget.path}", str(shallow))
    with pytest.raises(SourceError, match="shallow"):
        find_original(project, {"gadget": Clone.open(shallow)}, "trunk", None)


def test_an_object_that_a_partial_clone_lacks_ends_in_a_source_error(pair: Invented, tmp_path: Path) -> None:
    pair.gadget.git("config", "uploadpack.allowFilter", "true")
    partial = tmp_path / "partial"
    pair.gadget.git("clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{pair.gadget.path}", str(partial))
    pair.gadget.path.rename(tmp_path / "gone")
    clone = Clone.open(partial)
    project = load_project(str(pair.file), {"gadget": str(partial)})
    original, target = find_original(project, {"gadget": clone}, "#7", None), find_target(clone, BRANCH, None)
    with pytest.raises(SourceError), picked(clone.path, original, target.tip, None):
        pass


def test_a_path_with_odd_characters(tmp_path: Path) -> None:
    repository = new_repository(tmp_path / "odd \" name's é #", "trunk")
    base = repository.commit("base", {"a": "1\n"})
    fix = repository.commit("fix", {"a": "2\n"})
    clone = Clone.open(repository.path)
    info = clone.commit(fix)
    original = Original(
        name="x", repository="acme/x", commit=fix, subject="fix", pr=None, committed_at=info.committed_at, parents=()
    )
    with picked(clone.path, original, base, None) as done:
        assert (done.state, done.files) == ("clean", ("a",))
