"""`relmgr abi guards` on real repositories of an invented pair, and on a clone of MIOpen or MIGraphX where one is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repositories import TestRepository, new_repository

PROJECT = """
name = "acme"
[repositories.app]
slug = "acme/app"
default_branch = "develop"
release_tags = '^v\\d+\\.\\d+(\\.\\d+)?$'
[repositories.compiler]
slug = "acme/compiler"
default_branch = "develop"
[[pins]]
name = "compiler"
consumer = "app"
provider = "compiler"
contract = "acme"
[[pins.sites]]
kind = "cget"
path = "deps.txt"
[contracts.acme]
macro = "ACME_ABI"
headers = ["include/acme.h"]
guard_files = ["src/**/*.cpp"]
"""
SOURCE = "#include <acme.h>\r\n#if ACME_ABI >= 6\r\nint bare;\r\n#else\r\nint old;\r\n#endif\r\n"


def relmgr(*args: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "relmgr", *args], cwd=cwd, capture_output=True, check=False)


@pytest.fixture
def acme(tmp_path: Path) -> Path:
    """An app whose v1.0 pins number 5, v1.1 number 6, v1.2 a commit that nobody has, and v1.10 number 6."""
    compiler, app = new_repository(tmp_path / "compiler"), new_repository(tmp_path / "app")
    five = compiler.commit("five", {"include/acme.h": "#define ACME_ABI 5\n"})
    six = compiler.commit("six", {"include/acme.h": "#define ACME_ABI 6\n"})
    for tag, sha in (("v1.0", five), ("v1.1", six), ("v1.2", "0" * 40), ("v1.10", six)):
        app.commit(tag, {"deps.txt": f"acme/compiler@{sha}\n", "src/run.cpp": SOURCE})
        app.git("tag", tag)
    (tmp_path / "acme.toml").write_text(PROJECT)
    return tmp_path


def guards(folder: Path, *args: str) -> subprocess.CompletedProcess[bytes]:
    repositories = ["--repo", f"app={folder / 'app'}", "--repo", f"compiler={folder / 'compiler'}"]
    return relmgr("abi", "guards", "--project", "acme.toml", *repositories, *args, cwd=folder)


def test_json_is_the_contract(acme: Path) -> None:
    run = guards(acme, "--releases", "v1.0,v1.1,1.2", "--format", "json")
    assert run.returncode == 0, run.stderr
    shared = {"file": "src/run.cpp", "macro": "ACME_ABI"}
    assert json.loads(run.stdout) == [
        {**shared, "line": 2, "end_line": 3, "condition": "ACME_ABI >= 6", "live": True, "dead_for": ["v1.0"]},
        {**shared, "line": 4, "end_line": 5, "condition": "!(ACME_ABI >= 6)", "live": False, "dead_for": ["v1.1"]},
    ]


def test_the_pin_of_the_asked_ref_decides_what_is_live(acme: Path) -> None:
    found = {ref: [g["live"] for g in json.loads(guards(acme, "--ref", ref, "--format", "json").stdout)]
             for ref in ("v1.0", "v1.1", "v1.2")}  # fmt: skip
    assert found == {"v1.0": [False, True], "v1.1": [True, False], "v1.2": [None, None]}


def test_text_and_markdown(acme: Path) -> None:
    text = guards(acme, "--releases", "1.0").stdout.decode()
    assert text.splitlines()[0] == "Nothing to remove: no branch is dead for the pin and every release asked for."
    assert text.splitlines()[2:] == [
        "  kernel ABI 5: v1.0",
        "",
        "lines            here      condition         derived through  dead for",
        "---------------  --------  ----------------  ---------------  ------------",
        "src/run.cpp:2-3  taken     ACME_ABI >= 6     -                kernel ABI 5",
        "src/run.cpp:4-5  left out  !(ACME_ABI >= 6)  -                -",
    ]
    markdown = guards(acme, "--releases", "1.0", "--format", "markdown").stdout.decode()
    assert "| `src/run.cpp:2-3` | taken | `ACME_ABI >= 6` | - | kernel ABI 5 |" in markdown
    gone = guards(acme, "--releases", "1.1").stdout.decode()
    assert gone.startswith("Remove 1 branch: neither the pin nor a release asked for compiles it (`--patch` prints")
    assert guards(acme).stdout.decode().startswith("2 ABI guards on ACME_ABI at ")


def test_a_version_is_matched_exactly(acme: Path) -> None:
    """T7: 1.1 is not 1.10; a train is all its releases."""
    one = json.loads(guards(acme, "--releases", "1.1", "--format", "json").stdout)
    assert one[1]["dead_for"] == ["v1.1"]
    train = json.loads(guards(acme, "--releases", "1", "--format", "json").stdout)
    assert train[1]["dead_for"] == ["v1.1", "v1.10"]


def test_the_patch_applies_and_keeps_every_other_byte(acme: Path) -> None:
    run = guards(acme, "--releases", "1.1", "--patch")
    assert run.returncode == 0, run.stderr
    (acme / "a.patch").write_bytes(run.stdout)
    TestRepository(acme / "app").git("apply", "--index", str(acme / "a.patch"))
    assert (acme / "app/src/run.cpp").read_bytes() == b"#include <acme.h>\r\nint bare;\r\n"
    assert guards(acme, "--releases", "1.1", "--patch", "--out", "b.patch").stdout == b""
    assert (acme / "b.patch").read_bytes() == run.stdout


def test_nothing_dead_is_an_empty_patch(acme: Path) -> None:
    run = guards(acme, "--releases", "1.0,1.1", "--patch")
    assert (run.returncode, run.stdout) == (0, b"")
    assert b"nothing to remove" in run.stderr


def test_an_unknown_number_refuses_the_patch(acme: Path) -> None:
    run = guards(acme, "--releases", "1.1,1.2", "--patch")
    assert (run.returncode, run.stdout) == (3, b"")
    assert b"patch refused: the number at v1.2 is unknown" in run.stderr


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["--releases", "9.9"], 2, b"no release '9.9'"),
        (["--patch", "--format", "json"], 2, b"--patch prints a diff"),
        (["--ref", "nowhere"], 3, b"no ref 'nowhere'"),
        (["--pin", "none"], 2, b"no pin 'none'"),
    ],
)
def test_mistakes_are_named(acme: Path, args: list[str], code: int, said: bytes) -> None:
    run = guards(acme, *args)
    assert run.returncode == code
    assert said in run.stderr
    assert b"Traceback" not in run.stderr


def test_an_unreadable_guard_file_is_said_and_ends_in_3(acme: Path) -> None:
    app = TestRepository(acme / "app")
    app.commit("unbalanced", {"src/open.cpp": "#if ACME_ABI\n", "src/big.cpp": b"/" * (2 * 1024 * 1024 + 1)})
    run = guards(acme, "--format", "json")
    assert run.returncode == 3
    assert [g["file"] for g in json.loads(run.stdout)] == ["src/open.cpp", "src/run.cpp", "src/run.cpp"]
    assert b"src/open.cpp: line 1: #if without #endif" in run.stderr
    assert b"src/big.cpp: larger than 2 MiB" in run.stderr
    assert guards(acme, "--patch").returncode == 3


def test_a_pin_without_guard_files_is_a_mistake_with_a_next_step(acme: Path) -> None:
    (acme / "acme.toml").write_text(PROJECT.replace('guard_files = ["src/**/*.cpp"]', ""))
    run = guards(acme)
    assert run.returncode == 2
    assert b"add `guard_files`" in run.stderr


# -- real history ----------------------------------------------------------------------------------------------------


def real(variable: str) -> Path:
    if variable not in os.environ:
        pytest.skip(f"{variable} names no clone")
    return Path(os.environ[variable])


def at(clone: Path, ref: str, path: str, tmp_path: Path) -> TestRepository:
    """Return a repository that holds the one file as it is at `ref` of the clone."""
    data = subprocess.run(["git", "-C", str(clone), "show", f"{ref}:{path}"], capture_output=True, check=True).stdout
    repository = new_repository(tmp_path / "one-file")
    repository.commit("as it is", {path: data})
    return repository


@pytest.mark.realhistory
def test_miopen_guards_and_their_removal(tmp_path: Path) -> None:
    clone, ref, file = real("RELMGR_MIOPEN_CLONE"), "develop", "src/conv/invokers/mlir_impl_gemm.cpp"
    common = ["abi", "guards", "--project", "miopen-rocmlir", "--repo", f"miopen={clone}", "--ref", ref]
    found = json.loads(relmgr(*common, "--releases", "5.2.0,rocm-5.4.0", "--format", "json", cwd=tmp_path).stdout)
    assert [(g["line"], g["macro"], g["live"], g["dead_for"]) for g in found if g["file"] == file] == [
        (line, "MIIR_VERSION_FLAT" if line < 45 else "MIIR_BARE_POINTER_ABI", live, [dead])
        for pair in (
            (40, 42),
            (49, 57),
            (76, 115),
            (254, 258),
            (281, 283),
            (326, 329),
            (381, 384),
            (451, 454),
            (484, 486),
        )
        for line, live, dead in ((pair[0], True, "rocm-5.2.0"), (pair[1], False, "rocm-5.4.0"))
    ]
    patch = relmgr(*common, "--releases", "rocm-5.4.0", "--patch", cwd=tmp_path)
    assert patch.returncode == 0, patch.stderr
    (tmp_path / "a.patch").write_bytes(patch.stdout)
    repository = at(clone, ref, file, tmp_path)
    before = (repository.path / file).read_text().splitlines()
    repository.git("apply", str(tmp_path / "a.patch"))
    after = (repository.path / file).read_text()
    assert "MIIR_BARE_POINTER_ABI" not in after
    assert "MIIR_VERSION_FLAT" not in after
    assert "StridedMemRef5D" not in after
    assert len(before) - len(after.splitlines()) == 199
    both = relmgr(*common, "--releases", "5.2.0,rocm-5.4.0", "--patch", cwd=tmp_path)
    assert (both.returncode, both.stdout) == (0, b"")


@pytest.mark.realhistory
@pytest.mark.parametrize(
    ("ref", "condition", "live"),
    [
        ("55cb7d3a3f", "defined(MLIR_MIGRAPHX_DIALECT_API_VERSION) && MLIR_MIGRAPHX_DIALECT_API_VERSION >= 2", 2),
        ("be70702dc8", "!defined(MLIR_MIGRAPHX_DIALECT_API_VERSION) || MLIR_MIGRAPHX_DIALECT_API_VERSION != 3", 5),
        ("e3e0054771", "!defined(MLIR_MIGRAPHX_DIALECT_API_VERSION) || MLIR_MIGRAPHX_DIALECT_API_VERSION != 4", 5),
        ("d770180e6c", "!defined(MLIR_MIGRAPHX_DIALECT_API_VERSION) || MLIR_MIGRAPHX_DIALECT_API_VERSION != 5", 4),
    ],
)
def test_migraphx_guards_through_history(ref: str, condition: str, live: int) -> None:
    from relmgr.sources.git.clone import Clone
    from relmgr.sources.guards.branches import GuardAnalysis, find_guards, read_guard_sources
    from relmgr.sources.guards.patch import plan_removal
    from relmgr.sources.guards.proof import prove

    clone = Clone.open(real("RELMGR_MIGRAPHX_CLONE"))
    sources = read_guard_sources(clone, clone.require(ref), ["src/targets/gpu/mlir.cpp"])
    analysis = GuardAnalysis(sources, "MLIR_MIGRAPHX_DIALECT_API_VERSION", (), absent=1)
    first = find_guards(analysis, live, {})[0]
    assert (first.condition, first.live) == (condition, True)
    removal = plan_removal(analysis, [live])
    assert prove(analysis, removal, [live]) > 1
    assert "DIALECT_API_VERSION" not in removal.edits["src/targets/gpu/mlir.cpp"].after
