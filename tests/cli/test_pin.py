"""`relmgr pin show | history | check` as a person runs them (P1, P4, P7, P8, P9, P12, P14)."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from relmgr.cli import root
from relmgr.errors import run_to_exit_code
from tests.support.invented import Invented, invent


@pytest.fixture
def pair(tmp_path: Path) -> Invented:
    return invent(tmp_path)


def run(*args: str) -> tuple[int, str, str]:
    """Run relmgr in this process; return exit code, standard output and standard error."""
    import contextlib
    import io

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run_to_exit_code(lambda **options: root.main(args=list(args), prog_name="relmgr", **options))
    return code, out.getvalue(), err.getvalue()


def options(pair: Invented, *, forge: Path | str | None = "") -> list[str]:
    given = ["--project", str(pair.file), "--repo", f"gadget={pair.gadget.path}"]
    if forge is not None:
        given += ["--repo", f"forge={forge or pair.forge.path}"]
    return given


def check(pair: Invented, *more: str, forge: Path | str | None = "") -> tuple[int, dict[str, dict[str, Any]]]:
    code, out, err = run("pin", "check", *options(pair, forge=forge), "--format", "json", *more)
    assert err == ""
    return code, {finding["check"]: finding for finding in json.loads(out)["findings"]}


def pin_to(pair: Invented, ref: str, at: str = "2030-02-01T01:00:00+01:00") -> None:
    pair.gadget.commit(f"pin {ref[:12]}", {"forge.pin": f"{ref}\n"}, at=at)


def test_a_good_pin_passes_every_check(pair: Invented) -> None:
    pin_to(pair, pair.forge_at[41])
    pin_to(pair, pair.forge_at[42])
    code, found = check(pair, "--at", "2030-02-10")
    assert code == 0
    assert {name: f["outcome"] for name, f in found.items()} == {
        "pin-sites-agree": "passed",
        "pin-ref-unambiguous": "passed",
        "pin-is-a-commit": "passed",
        "pin-does-not-move": "passed",
        "pin-moves-forward": "passed",
        "pin-reachable-from-branch": "passed",
        "pin-not-a-companion-head": "passed",
        "pin-digest-matches": "skipped",
        "pin-age": "passed",
    }
    assert found["pin-age"]["evidence"]["drift_commits"] == 1


def test_without_the_provider_nothing_passes_that_needs_it(pair: Invented) -> None:
    pin_to(pair, pair.forge_at[41])
    code, found = check(pair, forge=None)
    assert code == 1
    assert found["pin-reachable-from-branch"]["outcome"] == "unknown"
    assert "--repo forge=PATH" in found["pin-reachable-from-branch"]["remedy"]


def test_p4_a_branch_pin_moves_and_its_commit_today_is_named(pair: Invented) -> None:
    pin_to(pair, "trunk")
    _, found = check(pair)
    moving = found["pin-does-not-move"]
    assert (moving["outcome"], moving["level"]) == ("failed", "warn")
    assert moving["evidence"]["resolved"] == pair.forge_at[50]
    assert pair.forge_at[50] in moving["remedy"]


def test_p7_the_sha_of_a_tag_object_offers_the_peeled_commit(pair: Invented) -> None:
    pair.forge.git("tag", "-a", "f1", "-m", "a tag object", pair.forge_at[41])
    pin_to(pair, pair.forge.git("rev-parse", "refs/tags/f1"))
    code, found = check(pair)
    assert code == 1
    assert found["pin-is-a-commit"]["outcome"] == "failed"
    assert pair.forge_at[41] in found["pin-is-a-commit"]["remedy"]


def test_p8_a_branch_and_a_tag_of_one_name_are_both_named(pair: Invented) -> None:
    pair.forge.git("tag", "f1", pair.forge_at[41])
    pair.forge.git("branch", "f1", pair.forge_at[42])
    pin_to(pair, "f1")
    code, found = check(pair)
    assert code == 1
    assert found["pin-ref-unambiguous"]["remedy"] == "write the full name: refs/heads/f1 or refs/tags/f1"
    _, found = check(pair, forge=f"file://{pair.forge.path}")
    assert found["pin-ref-unambiguous"]["outcome"] == "failed"


def test_p9_a_move_back_fails_and_a_lost_commit_is_unknown(pair: Invented) -> None:
    pin_to(pair, pair.forge_at[42])
    pin_to(pair, pair.forge_at[41])
    code, found = check(pair)
    assert (code, found["pin-moves-forward"]["outcome"]) == (1, "failed")
    pin_to(pair, "e" * 40)
    code, found = check(pair)
    assert (code, found["pin-moves-forward"]["outcome"]) == (1, "unknown")


def test_p12_a_squashed_companions_head_offers_the_squash(pair: Invented) -> None:
    forge = pair.forge
    forge.git("switch", "-q", "-c", "companion", "trunk")
    forge.commit("wip", {"new.c": "1\n"})
    head = forge.commit("done", {"new.c": "2\n"})
    forge.git("switch", "-q", "trunk")
    forge.git("merge", "-q", "--squash", "companion")
    forge.git("commit", "-q", "-m", "companion, squashed (#7)")
    forge.git("update-ref", "refs/pull/7/head", head)
    forge.git("branch", "-q", "-D", "companion")
    squash = forge.git("rev-parse", "trunk")
    pin_to(pair, head)
    code, found = check(pair)
    assert code == 1
    assert found["pin-not-a-companion-head"]["evidence"]["squash"] == squash
    assert found["pin-not-a-companion-head"]["remedy"] == f"pin {squash}: the same tree, on trunk"


def test_p12_before_the_merge_the_head_is_refused(pair: Invented) -> None:
    forge = pair.forge
    forge.git("switch", "-q", "-c", "companion", "trunk")
    head = forge.commit("not merged", {"new.c": "1\n"})
    forge.git("switch", "-q", "trunk")
    forge.git("update-ref", "refs/pull/8/head", head)
    forge.git("branch", "-q", "-D", "companion")
    pin_to(pair, head)
    _, found = check(pair)
    assert found["pin-not-a-companion-head"]["outcome"] == "failed"
    assert "wait until the companion pull request is merged" in found["pin-not-a-companion-head"]["remedy"]
    assert found["pin-reachable-from-branch"]["evidence"]["pulls"] == [8]


def test_p14_a_pull_requests_head_that_was_fetched_as_a_remote_branch_is_no_branch(pair: Invented) -> None:
    forge = pair.forge
    forge.git("switch", "-q", "--detach", "trunk")
    head = forge.commit("not merged", {"new.c": "1\n"})
    forge.git("switch", "-q", "trunk")
    for name in ("refs/remotes/origin/pr/8", "refs/remotes/origin/pull/8/head"):
        forge.git("update-ref", name, head)
    pin_to(pair, head)
    _, found = check(pair)
    told = found["pin-reachable-from-branch"]
    assert (told["outcome"], told["evidence"]["branches"], told["evidence"]["pulls"]) == ("failed", [], [8])


def test_p14_only_a_tag_or_only_a_fork_is_said_so(pair: Invented) -> None:
    forge = pair.forge
    forge.git("switch", "-q", "-c", "aside", "trunk")
    lone = forge.commit("aside", {"aside.c": "1\n"})
    forge.git("tag", "f9")
    forge.git("switch", "-q", "trunk")
    forge.git("branch", "-q", "-D", "aside")
    pin_to(pair, lone)
    _, found = check(pair)
    assert found["pin-reachable-from-branch"]["outcome"] == "failed"
    assert found["pin-reachable-from-branch"]["evidence"]["tags"] == ["f9"]
    pin_to(pair, "e" * 40)
    _, found = check(pair)
    assert found["pin-reachable-from-branch"]["outcome"] == "failed"
    assert "a fork's commit?" in found["pin-reachable-from-branch"]["remedy"]


def test_a_remote_shows_only_tips(pair: Invented) -> None:
    pin_to(pair, pair.forge_at[50])
    _, found = check(pair, forge=f"file://{pair.forge.path}")
    assert found["pin-reachable-from-branch"]["outcome"] == "passed"
    pin_to(pair, pair.forge_at[41])
    _, found = check(pair, forge=f"file://{pair.forge.path}")
    assert found["pin-is-a-commit"]["outcome"] == "unknown"


def test_a_remote_that_fails_is_unknown_with_its_words_and_without_its_secret(pair: Invented, tmp_path: Path) -> None:
    pin_to(pair, pair.forge_at[50])
    code, found = check(pair, forge=f"file://user:ghp_abcdefghijklmnop@{tmp_path}/none")
    assert (code, found["pin-ref-unambiguous"]["outcome"]) == (1, "unknown")
    assert "ls-remote failed" in found["pin-ref-unambiguous"]["evidence"]["not_read"]
    assert "ghp_" not in json.dumps(found)


# -- P1: digests -------------------------------------------------------------------------------------------------------


@pytest.fixture
def cget_pair(pair: Invented) -> Invented:
    text = pair.file.read_text()
    start, end = text.index("sites = ["), text.index("[contracts")
    pair.file.write_text(text[:start] + 'sites = [{ kind = "cget", path = "requirements.txt" }]\n\n' + text[end:])
    pair.forge.git("tag", "f1", pair.forge_at[42])
    return pair


def archive(pair: Invented, ref: str, file: Path, level: int = 9, prefix: str = "forge-f1/") -> str:
    """Write an archive of the provider as a forge would; return its sha256."""
    tar = subprocess.run(
        ["git", "-C", str(pair.forge.path), "archive", f"--prefix={prefix}", ref], capture_output=True, check=True
    ).stdout
    file.write_bytes(gzip.compress(tar, level, mtime=0))
    return hashlib.sha256(file.read_bytes()).hexdigest()


def pin_digest(pair: Invented, digest: str) -> None:
    line = f"acme/forge@f1 -H sha256:{digest} -DX=1\n"
    pair.gadget.commit("pin f1", {"requirements.txt": line}, at="2030-02-01T01:00:00+01:00")


def digest_check(pair: Invented, file: Path | None) -> tuple[int, dict[str, Any]]:
    code, found = check(pair, "--at", "2030-02-02", *(["--archive", str(file)] if file else []))
    return code, found["pin-digest-matches"]


def test_p1_the_digest_of_the_archive_passes(cget_pair: Invented, tmp_path: Path) -> None:
    pin_digest(cget_pair, archive(cget_pair, "f1", tmp_path / "a.tar.gz"))
    assert digest_check(cget_pair, tmp_path / "a.tar.gz")[1]["outcome"] == "passed"
    assert digest_check(cget_pair, None)[1]["outcome"] == "unknown"


def test_p1_other_bytes_of_the_same_tree_propose_the_new_digest(cget_pair: Invented, tmp_path: Path) -> None:
    pin_digest(cget_pair, archive(cget_pair, "f1", tmp_path / "old.tar.gz"))
    new = archive(cget_pair, "f1", tmp_path / "new.tar.gz", prefix="renamed-f1/")
    code, found = digest_check(cget_pair, tmp_path / "new.tar.gz")
    assert (code, found["outcome"]) == (1, "failed")
    assert found["evidence"]["statement"] == "archive bytes changed, the tree is the same"
    assert found["remedy"] == f"set the digest to sha256:{new}, or drop it"


def test_p1_another_tree_is_a_moved_tag_and_stops(cget_pair: Invented, tmp_path: Path) -> None:
    pin_digest(cget_pair, archive(cget_pair, "f1", tmp_path / "old.tar.gz"))
    archive(cget_pair, cget_pair.forge_at[50], tmp_path / "moved.tar.gz")
    code, found = digest_check(cget_pair, tmp_path / "moved.tar.gz")
    assert (code, found["evidence"]["statement"]) == (1, "tag moved")
    assert found["evidence"]["differing"] == ["include/forge.h"]
    assert found["remedy"].startswith("stop:")


@pytest.mark.parametrize(
    "content",
    [b"", b"not gzip", gzip.compress(b"not tar", mtime=0), gzip.compress(b"x" * 600, mtime=0)[:20]],
    ids=["empty", "no gzip", "no tar", "cut short"],
)
def test_p1_a_broken_archive_is_unknown(cget_pair: Invented, tmp_path: Path, content: bytes) -> None:
    pin_digest(cget_pair, "0" * 64)
    (tmp_path / "broken.tar.gz").write_bytes(content)
    assert digest_check(cget_pair, tmp_path / "broken.tar.gz")[1]["outcome"] == "unknown"


# -- show and history --------------------------------------------------------------------------------------------------


def test_show_names_every_site_and_their_disagreement(pair: Invented) -> None:
    pair.gadget.commit(
        "two sites", {"forge.pin": pair.forge_at[42], "deps.cmake": f"set(FORGE_REF {pair.forge_at[41]})\n"}
    )
    code, out, _ = run("pin", "show", *options(pair), "--format", "json")
    shown = json.loads(out)
    assert code == 0
    assert [(s["site"], s["ref"], s["in_force"]) for s in shown["sites"]] == [
        ("forge.pin", pair.forge_at[42], True),
        ("deps.cmake:FORGE_REF", pair.forge_at[41], False),
    ]
    assert shown["agree"] is False
    assert (shown["abi"]["number"], shown["abi"]["confidence"]) == (42, "read")
    _, found = check(pair)
    assert found["pin-sites-agree"]["remedy"] == f"set deps.cmake:FORGE_REF:1 to {pair.forge_at[42]}, or remove it"


def test_p7_a_tag_is_shown_with_its_peeled_commit(pair: Invented) -> None:
    pair.forge.git("tag", "-a", "f1", "-m", "x", pair.forge_at[41])
    pin_to(pair, "f1")
    _, out, _ = run("pin", "show", *options(pair), "--format", "json")
    (site,) = json.loads(out)["sites"]
    assert (site["ref_kind"], site["resolved"]) == ("tag", pair.forge_at[41])


def test_history_prints_the_documents_keys(pair: Invented) -> None:
    pin_to(pair, pair.forge_at[42])
    pin_to(pair, pair.forge_at[50], at="2030-02-02T01:00:00+01:00")
    code, out, _ = run("pin", "history", *options(pair), "--format", "json")
    assert code == 0
    first, second = json.loads(out)
    assert set(second) >= {"commit", "committed_at", "pr", "subject", "kinds", "old", "new", "abi", "first_release"}
    assert set(second["new"]) == {"site", "repository", "ref", "ref_kind", "resolved", "digest", "options"}
    assert set(second["abi"]) == {"old", "new", "old_convention", "new_convention", "crossing", "evidence"}
    assert (first["old"], second["abi"]["crossing"], second["committed_at"]) == (
        None,
        True,
        "2030-02-02T01:00:00+01:00",
    )
    code, text, _ = run("pin", "history", *options(pair))
    assert "Crossing: " in text
    assert "kernel ABI 42 (memref descriptors) -> 50 (bare pointers)" in text


def test_gaps_are_printed_and_end_with_3(pair: Invented) -> None:
    pin_to(pair, pair.forge_at[42])
    pin_to(pair, pair.forge_at[50])
    oid = pair.gadget.git("rev-parse", "HEAD~1:forge.pin")
    (pair.gadget.path / ".git/objects" / oid[:2] / oid[2:]).unlink()
    code, _, err = run("pin", "history", *options(pair))
    assert code == 3
    assert "forge.pin could not be read (not in this clone)" in err


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["--repo", "nothing"], 2, "is not NAME=PATH"),
        (["--repo", "x=/tmp"], 2, "no repository of that name"),
        (["--repo", "gadget=/nowhere"], 2, "no such folder"),
        (["--project", "nope"], 2, "neither a shipped name nor a file"),
        (["--pin", "nope"], 2, "no pin 'nope'"),
        (["--ref", "nope"], 3, "no ref 'nope'"),
        (["--at", "2030-01-01T00:00"], 2, "has no offset"),
        (["--at", "yesterday"], 2, "is not a date"),
        (["--at", "1999-01-01"], 2, "had no commit yet"),
        (["--out", "/nowhere/x"], 2, "cannot write"),
    ],
)
def test_bad_usage_ends_with_a_sentence(pair: Invented, args: list[str], code: int, said: str) -> None:
    pin_to(pair, pair.forge_at[42])
    ended, _, err = run("pin", "show", *options(pair), *args)
    assert (ended, said in err) == (code, True), err
    assert "next:" in err
    assert "Traceback" not in err


def test_no_clone_at_hand_says_how_to_give_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = run("pin", "show")
    assert code == 2
    assert "give one with --repo miopen=PATH, or run inside it" in err


def test_inside_a_clone_its_project_is_found_by_the_remotes_url(
    pair: Invented, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = f"ROCm/rocMLIR@{'a' * 40} -DX=1\n"
    pair.gadget.commit("like MIGraphX", {"requirements.txt": line})
    pair.gadget.git("branch", "-q", "-m", "develop")
    pair.gadget.git("remote", "add", "origin", "git@github.com:ROCmSoftwarePlatform/AMDMIGraphX.git")
    monkeypatch.chdir(pair.gadget.path)
    code, out, err = run("pin", "show", "--format", "json")
    assert (code, err) == (0, "")
    assert json.loads(out)["consumer"] == "ROCm/AMDMIGraphX"


def test_help_imports_no_heavy_module() -> None:
    script = (
        "import sys; from relmgr.cli import root; from click.testing import CliRunner; "
        "assert CliRunner().invoke(root, ['--help']).exit_code == 0; "
        "print([m for m in ('pydantic', 'git', 'github', 'jinja2', 'rich', 'yaml') if m in sys.modules])"
    )
    import sys

    seen = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "[]"
    assert CliRunner().invoke(root, ["--version"]).output.startswith("relmgr, version ")
