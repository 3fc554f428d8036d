"""`relmgr abi inspect` as a person and a program see it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relmgr.cli import root
from relmgr.errors import run_to_exit_code
from tests.support.code_objects import bundle

SAMPLES = Path(__file__).parents[1] / "data" / "code_objects"
OLD = SAMPLES / "wrw0_workspace.bare.gfx90a.cov6.hsaco"
NEW = SAMPLES / "fwd_xdlops0.descriptor64.gfx942.cov4.hsaco"


def inspect(*args: str | Path) -> int:
    return run_to_exit_code(lambda **kw: root.main(["abi", "inspect", *[str(a) for a in args]], **kw))


def test_json_has_exactly_the_keys_of_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    assert inspect(OLD, "--format", "json") == 0
    assert json.loads(capsys.readouterr().out) == [
        {
            "file": str(OLD),
            "target": "gfx90a",
            "code_object_version": 6,
            "kernels": [
                {
                    "name": "mlir_gen_igemm_conv2d_v4r4_wrw0",
                    "explicit_args": [
                        {"offset": 0, "size": 8, "kind": "global_buffer"},
                        {"offset": 8, "size": 8, "kind": "global_buffer"},
                        {"offset": 16, "size": 8, "kind": "global_buffer"},
                        {"offset": 24, "size": 8, "kind": "global_buffer"},
                    ],
                    "explicit_bytes": 32,
                    "segment_bytes": 288,
                    "provider_kernel": True,
                    "convention": "bare-pointer",
                    "form": None,
                    "tensors": 4,
                    "index_bits": None,
                }
            ],
            "error": None,
        }
    ]


def test_an_unreadable_file_ends_with_3_and_the_others_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.hsaco"
    bad.write_bytes(NEW.read_bytes()[:3000])
    assert inspect(bad, NEW, tmp_path / "absent", "--format", "json") == 3
    first, second, third = json.loads(capsys.readouterr().out)
    assert first["error"].endswith("truncated or corrupt")
    assert (first["target"], first["code_object_version"], first["kernels"]) == (None, None, [])
    assert (second["error"], second["kernels"][0]["index_bits"]) == (None, 64)
    assert third["error"] == "cannot be read: No such file or directory"


def test_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    entries = [("hip-amdgcn-amd-amdhsa--gfx90a", OLD.read_bytes()), ("hip-amdgcn-amd-amdhsa--gfx942", NEW.read_bytes())]
    Path("two.bundle").write_bytes(bundle(*entries))
    Path("notes.txt").write_text("hello")
    assert inspect("two.bundle", "notes.txt") == 3
    assert capsys.readouterr().out == (
        "Look at what could not be read: 1 of 3.\n"
        "2 kernels in 2 code objects: 1 taking bare pointers, 1 taking memref descriptors.\n"
        "\n"
        "1  two.bundle: gfx90a, code object v6, 1 kernel\n"
        "2  two.bundle: gfx942, code object v4, 1 kernel\n"
        "3  notes.txt: unreadable: neither an ELF file nor an offload bundle\n"
        "\n"
        "in  kernel                                  takes               form      tensors  index bits  arguments  "
        "bytes  segment  provider's\n"
        "--  --------------------------------------  ------------------  --------  -------  ----------  ---------  "
        "-----  -------  ----------\n"
        "1   mlir_gen_igemm_conv2d_v4r4_wrw0         bare pointers       -         4        -           4          "
        "32     288      yes\n"
        "2   mlir_gen_igemm_conv2d_v4r4_fwd_xdlops0  memref descriptors  expanded  3        64          39         "
        "312    368      yes\n"
        "\n"
        "A kernel of the provider is one whose symbol matches ^mlir_gen_igemm_conv2d_; what it takes is read from the "
        "layout alone.\n"
    )


def test_markdown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.hsaco").write_bytes(OLD.read_bytes())
    assert inspect("a.hsaco", "absent", "--format", "markdown") == 3
    assert capsys.readouterr().out == (
        "**Look at what could not be read: 1 of 2.**\n"
        "**1 kernel in 1 code object**: 1 taking bare pointers.\n"
        "\n"
        "1. `a.hsaco`: gfx90a, code object v6, 1 kernel\n"
        "2. `absent`: **unreadable**: cannot be read: No such file or directory\n"
        "\n"
        "| in | kernel | takes | form | tensors | index bits | arguments | bytes | segment | provider's |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
        "| 1 | mlir\\_gen\\_igemm\\_conv2d\\_v4r4\\_wrw0 | bare pointers | - | 4 | - | 4 | 32 | 288 | yes |\n"
    )


def test_whose_kernel_it_is_comes_from_the_projects_contract(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The pattern is a setting: with another one, and with none, the same kernel is `other`."""
    start = """
name = "mine"
[repositories.a]
slug = "me/a"
[repositories.b]
slug = "me/b"
[[pins]]
name = "b"
consumer = "a"
provider = "b"
contract = "c"
[[pins.sites]]
kind = "one-line"
path = "pin.txt"
repository = "me/b"
[contracts.c]
macro = "VERSION"
headers = ["b.h"]
"""
    conventions = []
    for number, line in enumerate(['kernel_symbol = "_wrw0$"', 'kernel_symbol = "^another_"', ""]):
        project = tmp_path / f"{number}.toml"
        project.write_text(start + line)
        assert inspect(OLD, "--project", project, "--format", "json") == 0
        (kernel,) = json.loads(capsys.readouterr().out)[0]["kernels"]
        conventions.append((kernel["provider_kernel"], kernel["convention"]))
    assert conventions == [(True, "bare-pointer"), (False, "other"), (False, "other")]
    assert inspect(OLD, "--project", tmp_path / "2.toml") == 0
    assert "This project names no pattern" in capsys.readouterr().out


def test_usage_out_and_quiet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert inspect() == 2
    assert inspect(OLD, "--pin", "nothing") == 2
    capsys.readouterr()
    assert inspect(OLD, "--quiet") == 0
    assert inspect(tmp_path / "absent", "--quiet") == 3
    assert capsys.readouterr().out == ""
    assert inspect(OLD, "--format", "json", "--out", tmp_path / "found.json") == 0
    assert json.loads((tmp_path / "found.json").read_text())[0]["code_object_version"] == 6
