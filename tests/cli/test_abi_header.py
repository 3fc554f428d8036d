"""`relmgr abi show` and `relmgr abi diff`, as a person and a machine meet them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from relmgr.cli import root
from relmgr.errors import run_to_exit_code
from tests.support import headers
from tests.support.repositories import TestRepository, new_repository

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def provider(tmp_path: Path) -> TestRepository:
    repository = new_repository(tmp_path / "rocmlir")
    repository.commit("no header yet", {"README": "x"})
    repository.git("tag", "v0")
    repository.commit("a", {headers.MIIR_PATH: headers.VERSION_5A})
    repository.git("tag", "v5a")
    repository.commit("b", {headers.MIIR_PATH: headers.VERSION_5B})
    repository.git("tag", "v5b")
    repository.commit("c", {headers.MIIR_PATH: headers.VERSION_5C})
    repository.git("tag", "v5c")
    repository.commit("6", {headers.MIIR_PATH: None, headers.NEW_PATH: headers.VERSION_6})
    repository.git("tag", "-a", "v6", "-m", "6")
    return repository


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Run a command line in a folder of its own; return (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)

    def run(*args: str) -> tuple[int, str, str]:
        code = run_to_exit_code(lambda **options: root.main(args=list(args), prog_name="relmgr", **options))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_show_reads_the_header(call: Call, provider: TestRepository) -> None:
    code, out, _ = call("abi", "show", "--ref", "v6", "--repo", f"rocmlir={provider.path}")
    commit = provider.git("rev-parse", "v6^{commit}")
    assert code == 0
    assert out == (
        "ROCm/rocMLIR at v6: kernel ABI 6 (bare pointers)\n"
        f"  read from mlir/tools/rocmlir-lib/Miir.h at {commit[:12]} in the clone (MIIR_VERSION_FLAT)\n"
    )


def test_show_as_json_has_the_keys_of_the_contract(call: Call, provider: TestRepository) -> None:
    code, out, _ = call("abi", "show", "--ref", "develop", "--repo", f"rocmlir={provider.path}", "--format", "json")
    document = json.loads(out)
    assert code == 0
    assert list(document) == ["provider", "ref", "macro", "number", "convention", "confidence", "source"]
    # A branch that a person names is read as it is now: no inference.
    assert (document["number"], document["confidence"]) == (6, "read")


def test_show_falls_back_to_the_ledger_and_says_so(call: Call) -> None:
    code, out, _ = call("abi", "show", "--ref", "rocm-5.3.0")
    assert code == 0
    assert out.startswith("ROCm/rocMLIR at rocm-5.3.0: kernel ABI 5 (memref descriptors)\n")
    assert "  inferred from ledger: stated in the thread" in out


def test_show_of_what_cannot_be_read_is_unknown_with_what_to_give(call: Call) -> None:
    code, out, _ = call("abi", "show", "--ref", "rocm-9.9.9")
    assert code == 3
    assert out == (
        "ROCm/rocMLIR at rocm-9.9.9: kernel ABI unknown\n"
        'Unknown is not "unchanged": give `--repo rocmlir=PATH`, or let `--github` ask GitHub.\n'
        "  not read: no clone of rocmlir given; not in the ledger; give a clone that has it: --repo rocmlir=PATH "
        "(MIIR_VERSION_FLAT)\n"
    )


def test_show_without_a_ref_is_what_the_consumer_pins(call: Call, provider: TestRepository, tmp_path: Path) -> None:
    consumer = new_repository(tmp_path / "miopen")
    sha = provider.git("rev-parse", "v5b")
    consumer.commit("pin", {"requirements.txt": f"ROCmSoftwarePlatform/llvm-project-mlir@{sha}\n"})
    repos = ("--repo", f"rocmlir={provider.path}", "--repo", f"miopen={consumer.path}")
    code, out, _ = call("abi", "show", "--format", "json", *repos)
    assert (code, json.loads(out)["ref"], json.loads(out)["number"]) == (0, sha, 5)


def test_show_for_the_second_project(call: Call, tmp_path: Path) -> None:
    repository = new_repository(tmp_path / "dialects")
    for tag, number in (("one", None), ("two", 2), ("three", 3), ("four", 4), ("five", 5)):
        repository.commit(tag, {headers.DIALECT_PATH: headers.dialect(number)})
        repository.git("tag", tag)
    found = []
    for tag in ("one", "two", "three", "four", "five"):
        _, out, _ = call(
            "abi", "show", "--project", "migraphx-rocmlir", "--ref", tag, "--repo", f"rocmlir={repository.path}",
            "--format", "json",
        )  # fmt: skip
        document = json.loads(out)
        found.append((document["number"], document["convention"], document["confidence"]))
    assert found == [
        (1, "memref-descriptor", "inferred"),
        (2, "bare-pointer", "read"),
        (3, "bare-pointer", "read"),
        (4, "bare-pointer", "read"),
        (5, "bare-pointer", "read"),
    ]


def test_diff_says_that_the_api_changed_and_the_number_did_not(call: Call, provider: TestRepository) -> None:
    code, out, _ = call("abi", "diff", "v5a..v5b", "--repo", f"rocmlir={provider.path}")
    old, new = (provider.git("rev-parse", ref)[:12] for ref in ("v5a", "v5b"))
    assert code == 0
    assert out == (
        "v5a..v5b: API changed, number did not\n"
        "kernel ABI 5\n"
        "\n"
        "functions:\n"
        "  - const char* miirGenIgemmCflags(MiirHandle)\n"
        "  - const char* miirGenIgemmHeader(MiirHandle)\n"
        "  - const char* miirGenIgemmSource(MiirHandle)\n"
        "  - MiirStatus miirLowerCpp(MiirHandle)\n"
        "  + MiirHandle miirCreateHandleWithModule(MlirModule, const char*)\n"
        "\n"
        "read from:\n"
        f"  v5a: mlir/tools/mlir-miopen-lib/Miir.h at {old} in the clone\n"
        f"  v5b: mlir/tools/mlir-miopen-lib/Miir.h at {new} in the clone\n"
    )


def test_diff_over_the_crossing_follows_the_header_to_its_new_path(call: Call, provider: TestRepository) -> None:
    code, out, _ = call("abi", "diff", "v5c..v6", "--repo", f"rocmlir={provider.path}", "--format", "json")
    document = json.loads(out)
    assert code == 0
    assert list(document)[:7] == ["from", "to", "number", "functions", "structs", "enums", "macros"]
    assert document["number"] == {"old": 5, "new": 6}
    assert document["functions"] == {
        "added": [],
        "removed": ["MiirHandle miirCreateHandleWithModule(MlirModule, const char*)"],
        "changed": [],
    }
    assert document["structs"] == []
    assert document["statement"].startswith("number raised, API changed; kernel-facing struct")


def test_diff_shows_layouts_and_constants(call: Call, provider: TestRepository) -> None:
    changed = headers.VERSION_6.replace("int32_t offset", "int64_t offset").replace(
        "MIIR_BUILD_FAILURE", "MIIR_TIMEOUT, MIIR_BUILD_FAILURE"
    )
    provider.commit("wider", {headers.NEW_PATH: changed})
    code, out, _ = call("abi", "diff", "v6..develop", "--repo", f"rocmlir={provider.path}")
    assert code == 0
    assert out.splitlines()[0] == (
        "v6..develop: kernel-facing struct StridedMemRef5D changed, number did not: kernels and callers may part; "
        "API changed, number did not"
    )
    assert (
        "struct StridedMemRef5D (a kernel receives it): 64 bytes, alignment 8 -> 64 bytes, alignment 8\n"
        "  -      0  basePtr: void*\n"
        "  -      8  data: void*\n"
        "  -     16  offset: int32_t\n"
        "  -     20  sizes: int32_t[5]\n"
        "  -     40  strides: int32_t[5]\n"
        "  +      0  basePtr: void*\n"
        "  +      8  data: void*\n"
        "  +     16  offset: int64_t\n"
        "  +     24  sizes: int32_t[5]\n"
        "  +     44  strides: int32_t[5]\n"
        "\n"
        "enum MiirStatus\n"
        "  - MIIR_BUILD_FAILURE = 3\n"
        "  + MIIR_TIMEOUT = 3\n"
        "  + MIIR_BUILD_FAILURE = 4\n"
    ) in out


def test_diff_as_markdown_cannot_be_broken_by_a_header(call: Call, provider: TestRepository) -> None:
    provider.commit("hostile", {headers.NEW_PATH: headers.VERSION_6 + '#define M "| @someone `x` <b>"\n'})
    code, out, _ = call("abi", "diff", "v6..develop", "--repo", f"rocmlir={provider.path}", "--format", "markdown")
    assert code == 0
    (row,) = [line for line in out.splitlines() if line.startswith("| macro M")]
    assert row == '| macro M | - | "\\| @\u200bsomeone \\`x\\` &lt;b&gt;" |'


@pytest.mark.parametrize("refs", ["v0..v6", "v6..v0", "nope..v6", "nope..nope2"])
def test_diff_of_what_cannot_be_read_is_unknown_and_ends_with_3(
    call: Call, provider: TestRepository, refs: str
) -> None:
    code, out, _ = call("abi", "diff", refs, "--repo", f"rocmlir={provider.path}", "--format", "json")
    document = json.loads(out)
    assert code == 3
    assert (document["functions"], document["structs"], document["enums"]) == (None, None, None)
    assert document["statement"].startswith("unknown: the headers cannot be compared (")
    text_code, text, _ = call("abi", "diff", refs, "--repo", f"rocmlir={provider.path}")
    assert text_code == 3
    assert "give `--repo rocmlir=PATH`" in text


@pytest.mark.parametrize("refs", ["v6", "..v6", "v6..", "a...b", ""])
def test_diff_wants_two_refs(call: Call, refs: str) -> None:
    code, _, err = call("abi", "diff", refs)
    assert code == 2
    assert "is not A..B" in err


def test_an_unknown_pin_is_a_usage_error(call: Call) -> None:
    code, _, err = call("abi", "show", "--pin", "nope", "--ref", "x")
    assert code == 2
    assert "rocmlir" in err
