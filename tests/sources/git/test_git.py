"""The door to git: refs, trees, and clones that lack something."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from relmgr.errors import SourceError
from relmgr.sources.git.clone import Clone, MissingObject
from tests.support.repositories import TestRepository, new_repository


@pytest.fixture
def repository(tmp_path: Path) -> TestRepository:
    made = new_repository(tmp_path / "made")
    made.commit("one", {"a/b.txt": "one\n", "top": b"\xff\xfe"}, at="2022-03-01T23:30:00-08:00")
    made.git("tag", "light")
    made.git("tag", "-a", "heavy", "-m", "a tag object")
    made.commit("two", {"a/b.txt": "two\n"})
    return made


def test_refs_are_peeled_and_read_in_order(repository: TestRepository) -> None:
    clone = Clone.open(repository.path)
    one = repository.git("rev-parse", "HEAD~1")
    assert clone.resolve("light") == clone.resolve("heavy") == one
    assert clone.resolve("develop") == repository.git("rev-parse", "HEAD")
    assert clone.tags["heavy"].is_annotated
    assert not clone.tags["light"].is_annotated
    assert clone.resolve("nothing") is None
    assert clone.resolve("--all") is None


def test_p7_the_sha_of_a_tag_object_is_named_as_one(repository: TestRepository) -> None:
    tag_object = repository.git("rev-parse", "refs/tags/heavy")
    named = Clone.open(repository.path).name_ref(tag_object)
    assert named.tag_object == tag_object
    assert named.commit == repository.git("rev-parse", "heavy^{commit}")


def test_p8_a_branch_and_a_tag_of_one_name_have_two_readings(repository: TestRepository) -> None:
    repository.git("branch", "light", "develop")
    clone = Clone.open(repository.path)
    assert clone.name_ref("light").readings == ("refs/heads/light", "refs/tags/light")
    assert clone.name_ref("light").commit is None
    with pytest.raises(SourceError, match=r"both refs/heads/light and refs/tags/light"):
        clone.require("light")
    assert clone.name_ref("refs/tags/light").commit == repository.git("rev-parse", "refs/tags/light")


def test_the_committers_own_offset_is_kept(repository: TestRepository) -> None:
    info = Clone.open(repository.path).commit("light")
    assert info.committed_at.isoformat() == "2022-03-01T23:30:00-08:00"
    assert info.parents == ()


def test_files_are_read_and_absence_is_told_from_loss(repository: TestRepository) -> None:
    clone = Clone.open(repository.path)
    assert clone.read("light", "a/b.txt") == b"one\n"
    assert clone.read("light", "top") == b"\xff\xfe"
    assert clone.read("light", "a/nothing") is None
    assert clone.read("light", "top/below") is None
    oid = repository.git("rev-parse", "light:a/b.txt")
    (repository.path / ".git/objects" / oid[:2] / oid[2:]).unlink()
    with pytest.raises(MissingObject, match=r"a/b.txt .* not in this clone"):
        clone.read("light", "a/b.txt")
    assert clone.read("develop", "a/b.txt") == b"two\n"


def test_a_partial_clone_lacks_blobs_and_fetches_none(repository: TestRepository, tmp_path: Path) -> None:
    repository.git("config", "uploadpack.allowFilter", "true")
    repository.git(
        "clone", "-q", "--bare", "--filter=blob:none", f"file://{repository.path}", str(tmp_path / "partial")
    )
    clone = Clone.open(tmp_path / "partial")
    assert clone.partial
    blobs = clone.read_many(
        [(clone.require("light"), "a/b.txt"), (clone.require("light"), "none"), (clone.require("light"), "top")]
    )
    assert [blob.state for blob in blobs] == ["missing", "absent", "missing"]
    fetching = Clone.open(tmp_path / "partial", lazy_fetch=True)
    assert fetching.read("light", "a/b.txt") == b"one\n"


def test_a_bare_mirror_without_a_config_file(repository: TestRepository, tmp_path: Path) -> None:
    repository.git("clone", "-q", "--mirror", str(repository.path), str(tmp_path / "mirror"))
    (tmp_path / "mirror" / "config").unlink()
    clone = Clone.open(tmp_path / "mirror")
    assert clone.resolve("develop") == repository.git("rev-parse", "develop")
    assert not clone.partial


def test_remote_branches_serve_where_local_ones_lack(repository: TestRepository, tmp_path: Path) -> None:
    repository.git("branch", "release/1.0", "light")
    repository.git("clone", "-q", str(repository.path), str(tmp_path / "clone"))
    clone = Clone.open(tmp_path / "clone")
    assert clone.resolve("release/1.0") == repository.git("rev-parse", "light")
    assert list(clone.branches) == ["develop", "release/1.0"]


def test_shallow_is_known(repository: TestRepository, tmp_path: Path) -> None:
    repository.git("clone", "-q", "--depth=1", f"file://{repository.path}", str(tmp_path / "shallow"))
    assert Clone.open(tmp_path / "shallow").shallow


def test_too_large_is_told(repository: TestRepository) -> None:
    clone = Clone.open(repository.path)
    (blob, other) = clone.read_many([(clone.require("light"), "a/b.txt"), (clone.require("light"), "top")], limit=3)
    assert (blob.state, other.state) == ("too-large", "ok")


def test_what_is_no_repository_is_refused(repository: TestRepository, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="not a git repository"):
        Clone.open(tmp_path / "empty")
    with pytest.raises(SourceError, match="no such folder"):
        Clone.open(tmp_path / "nowhere")
    with pytest.raises(SourceError, match="a folder inside a repository"):
        Clone.open(repository.path / "a")


def test_an_empty_repository_opens_and_has_nothing(tmp_path: Path) -> None:
    empty = new_repository(tmp_path / "none")
    clone = Clone.open(empty.path)
    assert clone.branches == {}
    with pytest.raises(SourceError, match="has no commit"):
        clone.require("develop")


def test_a_ref_that_is_not_there_is_told_beside_those_like_it(repository: TestRepository) -> None:
    repository.git("tag", "rocm-5.3.0")
    with pytest.raises(SourceError, match=r"no ref 'rocm-5.3.1'") as wrong:
        Clone.open(repository.path).require("rocm-5.3.1")
    assert wrong.value.next_step == "did you mean rocm-5.3.0? Else fetch it first"
    with pytest.raises(SourceError) as far:
        Clone.open(repository.path).require("zzz")
    assert far.value.next_step == "fetch it first; known branches: develop"


def test_a_replacement_ref_does_not_change_history(repository: TestRepository) -> None:
    one, two = repository.git("rev-parse", "HEAD~1"), repository.git("rev-parse", "HEAD")
    repository.git("replace", two, one)
    assert Clone.open(repository.path).commit(two).subject == "two"


def test_a_broken_repository_is_a_source_error(repository: TestRepository) -> None:
    shutil.rmtree(repository.path / ".git/objects")
    with pytest.raises(SourceError):
        Clone.open(repository.path).require("develop")
