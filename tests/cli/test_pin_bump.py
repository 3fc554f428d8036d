"""`relmgr pin bump` as a person runs it: every site, losslessly; refused where it must be; one commit, made once."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from relmgr.settings import load_project
from tests.cli.test_pin import run
from tests.support.archive_server import ArchiveServer
from tests.support.invented import Invented, invent, pointer
from tests.support.repositories import new_repository

CMAKE = 'set( FORGE_REF  "{ref}" )  # keep\r\nset(OTHER 1)\r\n'

LAUNCH = "#if FORGE_KERNEL_ABI >= 50\nvoid bare();\n#else\nvoid descriptor();\n#endif\n"


@pytest.fixture
def pair(tmp_path: Path) -> Invented:
    made = invent(tmp_path)
    # Both paths are kept, so that a crossing is a matter of days and tickets alone.
    headers = 'headers = ["include/old_forge.h", "include/forge.h"]'
    made.file.write_text(made.file.read_text().replace(headers, f'{headers}\nguard_files = ["src/*.cpp"]'))
    ref = made.forge_at[42]
    made.gadget.commit(
        "pin it",
        {
            "forge.pin": f"# the pin\n{ref}",
            "deps.cmake": CMAKE.replace("{ref}", str(ref)),
            "kernels/gfx90a68.kdb": pointer("a"),
            "src/launch.cpp": LAUNCH,
        },
        at="2030-02-01T01:00:00+01:00",
    )
    return made


# Far ahead, so that no test depends on the day it runs.
TRAINS = """
defaults: {base_branch: trunk, zone: Europe/Berlin, owners: [ada]}
trains:
  - {name: gadget-2.0, cut: 2199-06-01, abi: {forge-abi: 50, abi: 50}, regeneration: {days: 30, source: a guess}}
"""


def options(pair: Invented) -> list[str]:
    """Return the options that say where everything is; the calendar is `trains.yaml` beside the project."""
    calendar = pair.file.with_name("trains.yaml")
    if not calendar.exists():
        calendar.write_text(TRAINS)
    clones = [f"--repo=gadget={pair.gadget.path}", f"--repo=forge={pair.forge.path}"]
    return ["--project", str(pair.file), *clones, "--trains", str(calendar)]


def bump(pair: Invented, *more: str) -> tuple[int, dict[str, Any], str]:
    given = options(pair)
    code, out, err = run("pin", "bump", *given, "--format", "json", *more)
    return code, json.loads(out) if out else {}, err


def failed(plan: dict[str, Any]) -> list[str]:
    """Return the names of the checks and of the gate's policies that refuse a plan, each once."""
    found = [finding | {"name": finding["check"]} for step in plan["steps"] for finding in step["findings"]]
    bad = [one["name"] for one in found if one["level"] == "block" and one["outcome"] not in ("passed", "skipped")]
    return list(dict.fromkeys(bad + verdicts(plan, "failed", "unknown")))


def verdicts(plan: dict[str, Any], *outcomes: str) -> list[str]:
    """Return the policies of level block with one of these outcomes, but for those that a reason answered."""
    blocking = [one for one in plan["verdicts"] if one["level"] == "block" and "answered_by" not in one["evidence"]]
    return [one["policy"] for one in blocking if one["outcome"] in outcomes]


def test_the_plan_tells_sites_abi_commits_and_what_goes_stale_and_writes_nothing(pair: Invented) -> None:
    before = pair.gadget.git("for-each-ref")
    code, plan, err = bump(pair, "--to", "trunk")
    assert (code, err) == (0, "")
    (step,) = plan["steps"]
    assert (step["ref"], step["direction"], step["old"]["ref"]) == (pair.forge_at[50], "forward", pair.forge_at[42])
    assert (step["abi"]["old"], step["abi"]["new"], step["abi"]["crossing"]) == (42, 50, True)
    assert [commit["subject"] for commit in step["commits"]] == ["number 50"]
    assert step["compare_url"] == f"https://github.com/acme/forge/compare/{pair.forge_at[42]}...{pair.forge_at[50]}"
    assert [(edit["path"], edit["line"]) for edit in plan["edits"]] == [("forge.pin", 2), ("deps.cmake", 1)]
    assert plan["invalidates"] == [{"path": "kernels/gfx90a68.kdb", "arch": "gfx90a"}]
    assert plan["tickets"] == ["gfx90a"]
    assert plan["title"] == f"Bump forge to {str(pair.forge_at[50])[:12]} (kernel ABI 42 -> 50)"
    assert pair.gadget.git("for-each-ref") == before


def test_p2_apply_makes_one_commit_with_trailers_and_keeps_every_other_byte(pair: Invented) -> None:
    work = pair.gadget.path / "forge.pin"
    work.write_text("somebody is editing this")
    code, plan, _ = bump(pair, "--to", "trunk", "--apply")
    assert code == 0
    branch, new = plan["branch"], str(pair.forge_at[50])
    raw = subprocess.run(
        ["git", "-C", str(pair.gadget.path), "show", f"{branch}:deps.cmake"], capture_output=True, check=True
    )
    assert raw.stdout == CMAKE.replace("{ref}", new).encode()
    assert pair.gadget.git("show", f"{branch}:forge.pin") == f"# the pin\n{new}"
    assert pair.gadget.git("log", "--format=%P", "-1", branch) == pair.gadget.git("rev-parse", "trunk")
    assert pair.gadget.git("log", "-1", "--format=%(trailers:only,unfold)", branch).splitlines() == [
        f"Pin-From: acme/forge@{pair.forge_at[42]}",
        f"Pin-To: acme/forge@{new}",
        "ABI: forge-abi 42 -> 50 (memref-descriptor -> bare-pointer), crossing",
    ]
    # The checkout, its index and its branch are as they were.
    assert work.read_text() == "somebody is editing this"
    assert pair.gadget.git("status", "--porcelain") == "M forge.pin"
    assert pair.gadget.git("branch", "--show-current") == "trunk"


def test_doing_it_again_changes_nothing_and_a_newer_base_makes_it_anew(pair: Invented) -> None:
    _, plan, _ = bump(pair, "--to", "trunk", "--apply")
    first = pair.gadget.git("rev-parse", plan["branch"])
    bump(pair, "--to", "trunk", "--apply")
    assert pair.gadget.git("rev-parse", plan["branch"]) == first
    pair.gadget.commit("other work", {"a.txt": "a"})
    bump(pair, "--to", "trunk", "--apply")
    assert pair.gadget.git("rev-parse", f"{plan['branch']}~1") == pair.gadget.git("rev-parse", "trunk")


def test_a_branch_with_anothers_work_is_left_alone(pair: Invented) -> None:
    _, plan, _ = bump(pair, "--to", "trunk")
    pair.gadget.git("branch", plan["branch"])
    before = pair.gadget.git("rev-parse", plan["branch"])
    code, _, err = bump(pair, "--to", "trunk", "--apply")
    assert code == 2
    assert "holds a commit that is not relmgr's" in err
    assert pair.gadget.git("rev-parse", plan["branch"]) == before


def test_p7_no_bump_when_the_pin_says_so_already(pair: Invented) -> None:
    code, plan, _ = bump(pair, "--to", str(pair.forge_at[42]), "--apply")
    assert (code, plan["edits"]) == (0, [])
    assert "relmgr/" not in pair.gadget.git("for-each-ref")


@pytest.mark.parametrize(
    ("arrange", "to", "check"),
    [
        ("", "41", "pin-moves-forward"),
        ("ambiguous", "f1", "pin-ref-unambiguous"),
        ("tag object", "tag", "pin-is-a-commit"),
        ("only a tag", "f9", "pin-reachable-from-branch"),
        ("pull head", "pull", "pin-not-a-companion-head"),
        ("", "e" * 40, "pin-is-a-commit"),
        ("", "nowhere", "pin-is-a-commit"),
    ],
)
def test_p7_p8_p9_p12_p14_what_pin_check_refuses_is_not_applied(
    pair: Invented, arrange: str, to: str, check: str
) -> None:
    forge = pair.forge
    if arrange == "ambiguous":
        forge.git("tag", "f1", str(pair.forge_at[50]))
        forge.git("branch", "f1", str(pair.forge_at[50]))
    elif arrange == "tag object":
        forge.git("tag", "-a", "f2", "-m", "tag", str(pair.forge_at[50]))
        to = forge.git("rev-parse", "refs/tags/f2")
    elif arrange:
        forge.git("checkout", "-q", "--detach")
        head = forge.commit("aside", {"x.txt": "x"}, at="2030-01-09T10:00:00+01:00")
        forge.git("update-ref", "refs/tags/f9" if to == "f9" else "refs/pull/3/head", head)
        to = to if to == "f9" else head
        forge.git("checkout", "-q", "trunk")
    code, plan, _ = bump(pair, "--to", str(pair.forge_at[41]) if to == "41" else to, "--apply")
    assert code == 1
    assert check in failed(plan)
    assert "relmgr/" not in pair.gadget.git("for-each-ref")


@pytest.mark.parametrize("to", ["f1;reboot", "-f1", "$(id)", "f1 f2"])
def test_a_ref_that_a_shell_would_run_is_refused(pair: Invented, to: str) -> None:
    if to == "f1;reboot":
        pair.forge.git("tag", to, str(pair.forge_at[50]))
    code, _, err = bump(pair, f"--to={to}", "--apply")
    assert code == 2
    assert "is no plain ref" in err


def test_p12_after_the_squash_its_commit_is_offered(pair: Invented) -> None:
    forge = pair.forge
    forge.git("checkout", "-q", "--detach")
    head = forge.commit("companion", {"x.txt": "x"}, at="2030-01-09T10:00:00+01:00")
    forge.git("update-ref", "refs/pull/3/head", head)
    forge.git("checkout", "-q", "trunk")
    squash = forge.commit("companion (#3)", {"x.txt": "x"}, at="2030-01-10T10:00:00+01:00")
    code, plan, _ = bump(pair, "--to", head)
    assert code == 1
    remedies = [f["remedy"] for f in plan["steps"][0]["findings"] if f["check"] == "pin-not-a-companion-head"]
    assert squash in remedies[0]


def test_p9_a_rollback_needs_its_reason_and_says_it_in_the_commit(pair: Invented) -> None:
    code, plan, _ = bump(pair, "--to", str(pair.forge_at[41]), "--allow-rollback", "wrong numbers on gfx90a", "--apply")
    assert (code, plan["steps"][0]["direction"]) == (0, "back")
    message = pair.gadget.git("log", "-1", "--format=%B", plan["branch"])
    assert message.startswith(f"Roll back forge to {str(pair.forge_at[41])[:12]}\n")
    assert "Rollback-Reason: wrong numbers on gfx90a" in message


def test_p10_a_release_branch_is_not_taken_back(pair: Invented) -> None:
    pair.gadget.git("checkout", "-q", "-b", "stable/1.0")
    pair.gadget.commit("newer pin", {"forge.pin": f"{pair.forge_at[50]}\n", "deps.cmake": None})
    pair.gadget.git("checkout", "-q", "trunk")
    code, plan, _ = bump(pair, "--to", str(pair.forge_at[42]), "--base", "stable/1.0")
    assert code == 1
    assert "pin-moves-forward" in failed(plan)


def revert_the_bump_to_50(pair: Invented) -> None:
    old, new = str(pair.forge_at[42]), str(pair.forge_at[50])
    sites = lambda ref: {"forge.pin": f"# the pin\n{ref}", "deps.cmake": CMAKE.replace("{ref}", ref)}  # noqa: E731
    bumped = pair.gadget.commit("Bump forge (#5)", sites(new), at="2030-02-02T01:00:00+01:00")
    body = f'Revert "Bump forge (#5)" (#6)\n\nThis reverts commit {bumped}.'
    pair.gadget.commit(body, sites(old), at="2030-02-03T01:00:00+01:00")


def test_p11_a_reverted_bump_is_not_proposed_again_until_past_it_or_released(pair: Invented) -> None:
    revert_the_bump_to_50(pair)
    code, plan, _ = bump(pair, "--to", "trunk", "--apply")
    assert (code, failed(plan)) == (1, ["reverted-pin-not-reproposed"])
    code, _, _ = bump(pair, "--to", "trunk", "--allow-reverted", "cured by a consumer's change")
    assert code == 0
    pair.forge.commit("the cure", {"x.txt": "cure"}, at="2030-02-04T01:00:00+01:00")
    code, plan, _ = bump(pair, "--to", "trunk")
    assert (code, failed(plan)) == (0, [])


# -- digests, options, groups, gitlinks -------------------------------------------------------------------------------

CGET = """
name = "cget-forge"
[repositories.gadget]
slug = "acme/gadget"
default_branch = "trunk"
[repositories.forge]
slug = "acme/forge"
aliases = ["oldacme/forge"]
default_branch = "trunk"
release_tags = '^f\\d+$'
[[pins]]
name = "forge"
consumer = "gadget"
provider = "forge"
contract = "abi"
sites = [{ kind = "cget", path = "requirements.txt" }]
[contracts.abi]
macro = "FORGE_KERNEL_ABI"
headers = ["include/old_forge.h", "include/forge.h"]
guard_files = ["src/*.cpp"]
flag_renames = { OLD_SWITCH = "NEW_SWITCH" }
[contracts.abi.conventions]
42 = "memref-descriptor"
50 = "bare-pointer"
"""


def archive_of(folder: Path, repository: Path, ref: str, extra: bytes = b"") -> Path:
    """Return an archive of a ref as a forge makes it; `extra` stands in one more file."""
    tar = subprocess.run(
        ["git", "-C", str(repository), "archive", "--prefix=forge-x/", ref], capture_output=True, check=True
    ).stdout
    if extra:
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w") as out, tarfile.open(fileobj=io.BytesIO(tar)) as old:
            for member in old:
                out.addfile(member, old.extractfile(member) if member.isreg() else None)
            info = tarfile.TarInfo("forge-x/extra")
            info.size = len(extra)
            out.addfile(info, io.BytesIO(extra))
        tar = stream.getvalue()
    file = folder / "archive.tar.gz"
    file.write_bytes(gzip.compress(tar, mtime=0))
    return file


@pytest.fixture
def cget(pair: Invented, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invented:
    # Nobody answers there: the forge is out of reach unless a test brings one.
    monkeypatch.setenv("GITHUB_SERVER_URL", "http://127.0.0.1:1")
    pair.forge.commit("renames its switch", {"CMakeLists.txt": "option(NEW_SWITCH)\n"}, at="2030-01-20T10:00:00+01:00")
    file = tmp_path / "cget.toml"
    file.write_text(CGET)
    line = (
        f"oldacme/forge@{pair.forge_at[42]} -H sha256:{'0' * 64}  -DOLD_SWITCH=On -DX='a;b' \r\n# oldacme/forge@x\r\n"
    )
    pair.gadget.commit("cget", {"requirements.txt": line}, at="2030-02-05T01:00:00+01:00")
    return Invented(pair.gadget, pair.forge, pair.forge_at, file)


def test_a_digest_needs_the_archive_or_to_be_dropped(cget: Invented) -> None:
    code, plan, _ = bump(cget, "--to", "trunk", "--apply")
    assert (code, failed(plan)) == (1, ["pin-digest-matches"])
    found = next(one for one in plan["steps"][0]["findings"] if one["check"] == "pin-digest-matches")
    assert found["evidence"]["not_read"].startswith("http://127.0.0.1:1/oldacme/forge/archive/")
    assert "could not be downloaded: the connection was refused" in found["evidence"]["not_read"]
    assert "--archive FILE" in found["remedy"]
    code, plan, _ = bump(cget, "--to", "trunk", "--drop-digest")
    assert code == 0
    assert plan["edits"][0]["after"].startswith(
        f"oldacme/forge@{cget.forge.git('rev-parse', 'trunk')}  -DNEW_SWITCH=On"
    )


def test_p1_p16_the_archives_digest_replaces_the_whole_token_and_flags_are_carried(
    cget: Invented, tmp_path: Path
) -> None:
    archive = archive_of(tmp_path, cget.forge.path, "trunk")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    code, plan, _ = bump(cget, "--to", "trunk", "--archive", str(archive), "--apply")
    assert code == 0
    raw = subprocess.run(
        ["git", "-C", str(cget.gadget.path), "show", f"{plan['branch']}:requirements.txt"],
        capture_output=True,
        check=True,
    ).stdout.decode()
    new = cget.forge.git("rev-parse", "trunk")
    assert raw == f"oldacme/forge@{new} -H sha256:{digest}  -DNEW_SWITCH=On -DX='a;b' \r\n# oldacme/forge@x\r\n"
    assert plan["steps"][0]["flags"] == {"OLD_SWITCH": "NEW_SWITCH"}


def test_p1_without_a_file_the_archive_that_the_line_names_is_read_from_the_forge(
    cget: Invented, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, new = archive_of(tmp_path, cget.forge.path, "trunk").read_bytes(), cget.forge.git("rev-parse", "trunk")
    with ArchiveServer({f"/oldacme/forge/archive/{new}.tar.gz": data}).running() as server:
        monkeypatch.setenv("GITHUB_SERVER_URL", server.url)
        code, plan, _ = bump(cget, "--to", "trunk", "--apply")
        assert (code, failed(plan)) == (0, [])
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        assert f"@{new} -H {digest}  -DNEW_SWITCH" in plan["edits"][0]["after"]
        assert len(server.asked) == 1
        # The archive of another tree is refused, whatever its digest.
        other = archive_of(tmp_path, cget.forge.path, "trunk", extra=b"other").read_bytes()
        server.answers = dict.fromkeys(server.answers, other)
        code, plan, _ = bump(cget, "--to", "trunk", "--apply")
        assert (code, failed(plan)) == (1, ["pin-digest-matches"])


def test_p1_pin_check_tells_changed_bytes_from_a_moved_tag_by_the_forges_archive(
    cget: Invented, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned = str(cget.forge_at[42])
    given = ["--project", str(cget.file), f"--repo=gadget={cget.gadget.path}", f"--repo=forge={cget.forge.path}"]
    said = []
    for extra in (b"", b"other"):
        data = archive_of(tmp_path, cget.forge.path, pinned, extra=extra).read_bytes()
        with ArchiveServer({f"/oldacme/forge/archive/{pinned}.tar.gz": data}).running() as server:
            monkeypatch.setenv("GITHUB_SERVER_URL", server.url)
            code, out, _ = run("pin", "check", *given, "--download", "--format", "json")
        found = next(one for one in json.loads(out)["findings"] if one["check"] == "pin-digest-matches")
        said.append((code, found["outcome"], found["evidence"]["statement"]))
    assert said == [(1, "failed", "archive bytes changed, the tree is the same"), (1, "failed", "tag moved")]
    _, out, _ = run("pin", "check", *given, "--format", "json")
    assert "--download" in out


def test_an_option_that_the_new_commit_does_not_know_is_warned_about(cget: Invented) -> None:
    code, plan, _ = bump(cget, "--to", str(cget.forge_at[50]), "--drop-digest")
    (warned,) = [one for one in plan["steps"][0]["findings"] if one["check"] == "pin-options-known"]
    assert (code, warned["outcome"], warned["level"]) == (0, "unknown", "warn")
    assert warned["evidence"] == {"options": ["OLD_SWITCH"], "renamed_to": ["NEW_SWITCH"]}
    assert "-DOLD_SWITCH=On" in plan["edits"][0]["after"]


def test_the_same_ref_with_a_digest_is_nothing_to_do(cget: Invented) -> None:
    code, plan, _ = bump(cget, "--to", str(cget.forge_at[42]))
    assert (code, plan["edits"], failed(plan)) == (0, [], [])


def test_p1_an_archive_of_another_tree_is_refused(cget: Invented, tmp_path: Path) -> None:
    archive = archive_of(tmp_path, cget.forge.path, "trunk", extra=b"other")
    code, plan, _ = bump(cget, "--to", "trunk", "--archive", str(archive))
    assert (code, failed(plan)) == (1, ["pin-digest-matches"])


def test_p15_pins_of_a_group_move_together_or_not_at_all(pair: Invented, tmp_path: Path) -> None:
    more = """
[[pins]]
name = "tools"
consumer = "gadget"
provider = "tools"
group = "chain"
sites = [{ kind = "one-line", path = "tools.pin" }]
[repositories.tools]
slug = "acme/tools"
default_branch = "trunk"
"""
    text = pair.file.read_text().replace('name = "forge"\n', 'name = "forge"\ngroup = "chain"\n') + more
    pair.file.write_text(text)
    tools = new_repository(tmp_path / "tools", "trunk")
    first = tools.commit("one", {"a": "1"}, at="2030-01-01T00:00:00+00:00")
    second = tools.commit("two", {"a": "2"}, at="2030-01-02T00:00:00+00:00")
    pair.gadget.commit("pin tools", {"tools.pin": f"{first}\n"}, at="2030-02-06T01:00:00+01:00")
    repo = ("--repo", f"tools={tools.path}")
    code, _, err = bump(pair, *repo, "--to", "trunk", "--apply")
    assert code == 2
    assert "tools is of the group chain and moves with forge or not at all" in err
    code, plan, _ = bump(pair, *repo, "--to", "trunk", "--also", "tools=trunk", "--apply")
    assert (code, [step["pin"] for step in plan["steps"]]) == (0, ["forge", "tools"])
    assert pair.gadget.git("show", f"{plan['branch']}:tools.pin") == second
    assert pair.gadget.git("rev-list", "--count", f"trunk..{plan['branch']}") == "1"
    # One of them refused refuses both.
    code, plan, _ = bump(pair, *repo, "--to", str(pair.forge_at[41]), "--also", "tools=trunk")
    assert (code, failed(plan)) == (1, ["pin-moves-forward"])


def test_a_gitlink_moves_as_a_gitlink(pair: Invented, tmp_path: Path) -> None:
    file = tmp_path / "link.toml"
    file.write_text(
        CGET.replace('{ kind = "cget", path = "requirements.txt" }', '{ kind = "gitlink", path = "third/forge" }')
    )
    pair.gadget.git("update-index", "--add", "--cacheinfo", f"160000,{pair.forge_at[42]},third/forge")
    pair.gadget.git("commit", "-q", "-m", "link", at="2030-02-06T01:00:00+01:00")
    linked = Invented(pair.gadget, pair.forge, pair.forge_at, file)
    code, plan, _ = bump(linked, "--to", "trunk", "--apply")
    assert code == 0
    shown = pair.gadget.git("ls-tree", plan["branch"], "third/forge")
    assert shown == f"160000 commit {pair.forge_at[50]}\tthird/forge"


def test_the_text_forms_name_what_happens(pair: Invented) -> None:
    given = options(pair)
    code, out, _ = run("pin", "bump", *given, "--to", "trunk")
    assert code == 0
    for said in ("forge.pin:2", "42", "-> 50", "crossing", "nothing is written", "--apply", "gfx90a"):
        assert said in out
    assert "Traceback" not in run("pin", "bump", *given, "--to", "trunk", "--format", "markdown")[1]
    code, out, _ = run("pin", "bump", *given, "--to", str(pair.forge_at[41]))
    assert code == 1
    assert "pin-moves-forward (failed)" in out
    assert "Refused" in out
    code, out, _ = run("pin", "bump", *given, "--to", "trunk", "--apply")
    commit = pair.gadget.git("rev-parse", f"relmgr/bump-forge-{str(pair.forge_at[50])[:12]}")
    assert (code, commit[:12] in out) == (0, True)
    assert load_project(str(pair.file)).name == "gadget-forge"


def test_the_same_commit_by_another_name_says_so(pair: Invented) -> None:
    pair.forge.git("tag", "f7", str(pair.forge_at[42]))
    code, plan, _ = bump(pair, "--to", "f7")
    assert (code, plan["steps"][0]["direction"]) == (0, "none")
    assert plan["title"] == "Pin forge as f7, the same commit"
