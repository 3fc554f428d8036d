"""The provider's own library: what it emits against what its header promises, and launched.

The library is a test double that answers with binaries laid out by the test; its calls are those of Miir.h.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from relmgr.settings import load_project
from relmgr.smoke.kernels.problem import DEFAULT, Problem
from relmgr.smoke.miir import ask_for
from tests.smoke.compiled import FWD, compile_as, options
from tests.smoke.test_run_cpu import relmgr
from tests.support import headers
from tests.support.doubles import build_miir_double
from tests.support.services import need

BWD, WRW = "mlir_gen_igemm_conv2d_v4r1_bwd0", "mlir_gen_igemm_conv2d_v4r4_wrw0"
SOME = ["--dtype", "f32", "--layout", "NCHW"]


def lay_out(folder: Path, form: str, names: tuple[str, ...] = (FWD, BWD, WRW)) -> dict[str, str]:
    """Compile the kernels that the library is to emit; return the environment that tells it where they are."""
    directions = {FWD: "fwd", BWD: "bwd-data", WRW: "wrw"}
    emitted = folder / "emitted"
    emitted.mkdir(exist_ok=True)
    for name in names:
        compile_as(folder, name, form, direction=directions[name]).rename(emitted / f"{name}.bin")
    return {"RELMGR_MIIR_DOUBLE": str(emitted)}


def header(folder: Path, text: str) -> Path:
    (folder / "Miir.h").write_text(text)
    return folder / "Miir.h"


def run(
    library: Path, header_file: Path, environment: dict[str, str], *arguments: object
) -> subprocess.CompletedProcess[str]:
    files = ["--miir-lib", library, "--miir-header", header_file]
    return relmgr("run", "--backend", "cpu", *files, *SOME, *arguments, environment=environment)


def cases(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return json.loads(done.stdout)["cases"]


@pytest.mark.parametrize(
    ("number", "form", "text"), [(6, "bare", headers.VERSION_6), (5, "expanded", headers.VERSION_5C)]
)
def test_header_and_library_of_one_build(tmp_path: Path, number: int, form: str, text: str) -> None:
    text = text.replace("miirCreateHandleWithModule", "miirCreateHandle")
    environment = lay_out(tmp_path, form)
    library = build_miir_double(tmp_path)
    done = run(library, header(tmp_path, text), environment, "--format", "json", "--launch-mismatches")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["abi"] == number
    right = [case for case in report["cases"] if case["kernel_abi"] == case["argument_abi"]]
    wrong = [case for case in report["cases"] if case["kernel_abi"] != case["argument_abi"]]
    assert [(case["direction"], case["outcome"]) for case in right] == [
        ("fwd", "right"), ("bwd-data", "right"), ("wrw", "right")
    ]  # fmt: skip
    assert [(case["static"], case["outcome"]) for case in wrong] == [("differs", "illegal-address")] * 3


@pytest.mark.parametrize(
    ("text", "form", "emitted"),
    [(headers.VERSION_6, "expanded", "memref descriptors"), (headers.VERSION_5A, "bare", "bare pointers")],
)
def test_new_header_with_old_library_and_the_reverse(tmp_path: Path, text: str, form: str, emitted: str) -> None:
    """What is emitted is another convention than the number promises: refused before any launch, exit code 1."""
    environment = lay_out(tmp_path, form)
    done = run(build_miir_double(tmp_path), header(tmp_path, text), environment)
    assert done.returncode == 1
    assert "they do NOT belong together" in done.stdout
    assert f"{FWD}: emitted for {emitted}" in done.stdout
    told = cases(run(build_miir_double(tmp_path), header(tmp_path, text), environment, "--format", "json"))
    right = [case for case in told if case["kernel_abi"] == case["argument_abi"]]
    assert {(case["static"], case["launched"], case["outcome"]) for case in right} == {
        ("differs", False, "layout-refused")
    }


def test_a_declared_function_that_is_not_exported(tmp_path: Path) -> None:
    """The kernels are right, and the library is still not the one that this header was installed with."""
    environment = lay_out(tmp_path, "bare")
    done = run(build_miir_double(tmp_path, "-DOLD"), header(tmp_path, headers.VERSION_6), environment)
    assert done.returncode == 1
    assert "declared, not exported: miirGetWorkspaceSize, miirLowerTuningParams" in done.stdout
    assert "3 of 3 matching cells right" in done.stdout


def test_a_library_that_ends_its_process(tmp_path: Path) -> None:
    environment = lay_out(tmp_path, "bare")
    done = run(build_miir_double(tmp_path, "-DABORTS"), header(tmp_path, headers.VERSION_6), environment)
    assert done.returncode == 1
    assert "the generator ended by signal SIGABRT: LLVM ERROR: out of ideas" in done.stdout


def test_a_kernel_that_the_library_cannot_build(tmp_path: Path) -> None:
    environment = lay_out(tmp_path, "bare", (FWD, WRW))
    done = run(build_miir_double(tmp_path), header(tmp_path, headers.VERSION_6), environment)
    assert done.returncode == 1
    assert f"{BWD}: miirLowerBin returned status 3" in done.stdout
    assert "2 of 2 matching cells right" in done.stdout


def test_real_code_objects_are_read_for_their_convention(tmp_path: Path, data: Path) -> None:
    """MLIR's own objects, without a device: the convention of what is emitted is judged by the binary alone."""
    name = "mlir_gen_igemm_conv2d_v4r4_fwd_xdlops0"
    shipped = Path(__file__).parents[2] / "policies/projects/miopen-rocmlir.toml"
    told = shipped.read_text().replace('"mlir_gen_igemm_conv2d_v4r4_fwd0"', f'"{name}"')
    (tmp_path / "project.toml").write_text(told.replace('"../', f'"{shipped.parent.parent}/'))
    library = build_miir_double(tmp_path)
    conventions = {"bare": "bare-pointer", "descriptor32": "memref-descriptor"}
    for file in (data / "code_objects").glob("fwd*.gfx90a.cov5.hsaco"):
        convention = file.name.split(".")[1]
        (tmp_path / f"{name}.bin").write_bytes(file.read_bytes())
        files = ["--miir-lib", library, "--miir-header", header(tmp_path, headers.VERSION_6)]
        arguments = ["--build", "--arch", "gfx90a", "--direction", "fwd", *SOME, *files, "--format", "json"]
        environment = {"RELMGR_MIIR_DOUBLE": str(tmp_path)}
        done = relmgr("plan", *arguments, "--project", tmp_path / "project.toml", environment=environment)
        assert done.returncode == (0 if convention == "bare" else 1), done.stderr
        check = json.loads(done.stdout)
        assert (check["number"], check["convention"], check["missing"]) == (6, "bare-pointer", [])
        assert [one["convention"] for one in check["emitted"]] == [conventions.get(convention, "memref-descriptor")]


def test_a_static_archive_is_linked_first(tmp_path: Path) -> None:
    environment = lay_out(tmp_path, "bare")
    library = build_miir_double(tmp_path)
    source = Path(__file__).parents[1] / "support/doubles/miir.c"
    command = [need("cc", "gcc"), "-c", "-fPIC", str(source), "-o", "miir.o"]
    subprocess.run(command, cwd=tmp_path, check=True)
    subprocess.run([need("ar", "binutils"), "rcs", "libmiir.a", "miir.o"], cwd=tmp_path, check=True)
    need("c++", "g++")
    done = run(tmp_path / "libmiir.a", header(tmp_path, headers.VERSION_6), environment)
    assert done.returncode == 0, done.stdout + done.stderr
    broken = run(
        tmp_path / "libmiir.a", header(tmp_path, headers.VERSION_6), environment, "--miir-link=-lnosuchlibrary"
    )
    assert broken.returncode == 3
    assert "cannot be linked" in broken.stderr
    assert library.exists()


@pytest.mark.parametrize(
    ("text", "says", "ends"),
    [
        ("int nothing(void);\n", "no number MIIR_VERSION_FLAT in it", 3),
        (headers.VERSION_6.replace("FLAT 6", "FLAT 7"), "the convention of number 7 is not known", 2),
    ],
)
def test_a_header_that_promises_nothing(tmp_path: Path, text: str, says: str, ends: int) -> None:
    done = run(build_miir_double(tmp_path), header(tmp_path, text), {"RELMGR_MIIR_DOUBLE": str(tmp_path)})
    assert done.returncode == ends
    assert says in done.stderr


def test_no_library(tmp_path: Path) -> None:
    done = run(tmp_path / "absent.so", header(tmp_path, headers.VERSION_6), {})
    assert (done.returncode, "absent.so: no such file\n  next: name another file for --miir-lib" in done.stderr) == (
        2,
        True,
    )
    text = tmp_path / "text.so"
    text.write_text("not a library")
    done = run(text, header(tmp_path, headers.VERSION_6), {})
    assert done.returncode == 1
    assert "the library does not load" in done.stdout


def test_kernels_are_asked_for_as_the_consumer_does() -> None:
    """The option string of a database's row, word for word."""
    generator = load_project("miopen-rocmlir").contracts["miir"].generator
    assert generator is not None
    asked = ask_for(generator, Problem(DEFAULT, "fwd", "f32", "NCHW", 3), "gfx90a")
    assert asked.options == options(FWD).strip()
    assert asked.symbol == FWD
    eight = ask_for(generator, Problem(DEFAULT, "fwd", "i8", "NHWC", 3), "gfx908")
    for words in ("--fil_type int8", "--out_type int32", "--in_layout NHWGC", "--arch amdgcn-amd-amdhsa:gfx908 "):
        assert words in eight.options


GENERATOR = """#!/bin/sh
# Finds `--kernel_name NAME` among its arguments and copies what was laid out for it.
while [ "$#" -gt 0 ]; do
  case "$1" in --kernel_name) name="$2";; -o) out="$2";; esac
  shift
done
[ -f "$RELMGR_MIIR_DOUBLE/$name.bin" ] || { echo "cannot generate $name" >&2; exit 9; }
cp "$RELMGR_MIIR_DOUBLE/$name.bin" "$out"
"""


def test_a_generator_program_in_the_librarys_stead(tmp_path: Path) -> None:
    """It tells no launch size: its kernels are checked against the header, and not launched."""
    environment = lay_out(tmp_path, "expanded", (FWD, WRW))
    program = tmp_path / "generate"
    program.write_text(GENERATOR)
    program.chmod(0o755)
    shipped = Path(__file__).parents[2] / "policies/projects/miopen-rocmlir.toml"
    told = shipped.read_text().replace('"../', f'"{shipped.parent.parent}/')
    command = f'command = ["{program}", "{{options}}", "-o", "{{out}}"]'
    (tmp_path / "project.toml").write_text(
        told.replace("[contracts.miir.generator]", f"[contracts.miir.generator]\n{command}")
    )
    for text, belongs in ((headers.VERSION_5A, True), (headers.VERSION_6, False)):
        arguments = ["--build", "--arch", "gfx90a", *SOME, "--miir-header", header(tmp_path, text), "--format", "json"]
        for direction, ends in (("fwd", 0 if belongs else 1), ("bwd-data", 1)):
            more = ["--direction", direction, "--project", tmp_path / "project.toml"]
            done = relmgr("plan", *arguments, *more, environment=environment)
            assert done.returncode == ends, done.stderr
    assert (
        json.loads(done.stdout)["emitted"][0]["error"] == f"the generator ended with exit code 9: cannot generate {BWD}"
    )


def test_without_library_and_generator(tmp_path: Path) -> None:
    files = ["--miir-header", header(tmp_path, headers.VERSION_6)]
    done = relmgr("plan", "--arch", "gfx90a", *files)
    assert (done.returncode, "`generator` has no `command`" in done.stderr) == (2, True)
    done = relmgr("run", "--backend", "cpu", *files)
    assert (done.returncode, "--miir-header needs --miir-lib here" in done.stderr) == (2, True)
