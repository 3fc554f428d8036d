"""`relmgr smoke` on this machine's processor: the whole matrix, its reports, and what it says when it cannot."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from relmgr.sources.smoke_reports import read_report
from tests.support.repositories import new_repository
from tests.support.services import need

ONE_CELL = ["--dtype", "f32", "--layout", "NCHW", "--direction", "fwd"]
CASE_KEYS = [
    *("kernel_abi", "argument_abi", "kernel_form", "argument_form", "index_bits", "tensors", "packing", "dtype"),
    *("direction", "layout", "static", "launched", "outcome", "error_norm", "seconds"),
]


def relmgr(*arguments: object, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run the real program."""
    command = [sys.executable, "-m", "relmgr", "smoke", *(str(argument) for argument in arguments)]
    return subprocess.run(command, env=os.environ | (environment or {}), capture_output=True, text=True, timeout=110)


def report_of(*arguments: object, environment: dict[str, str] | None = None, ends: int = 0) -> dict[str, Any]:
    run = relmgr("run", "--backend", "cpu", "--format", "json", *arguments, environment=environment)
    assert run.returncode == ends, run.stderr
    return json.loads(run.stdout)


def check_whole_matrix(report: dict[str, Any]) -> None:
    """Every cell, by what is written here."""
    bounds = {"f32": 1e-5, "f16": 1e-2, "bf16": 1e-2, "i8": 0.0}
    right = [case for case in report["cases"] if case["static"] == "same"]
    wrong = [case for case in report["cases"] if case["static"] != "same"]
    assert (len(right), len(wrong)) == (80, 29)
    for case in right:
        assert case["outcome"] == "right"
        assert case["error_norm"] <= bounds[case["dtype"]]
    for case in wrong:
        assert (case["static"], case["launched"]) == ("differs", True)
        assert case["outcome"] == ("wrong-result" if case["packing"] == "padded" else "illegal-address"), case


def test_the_whole_matrix_compiled() -> None:
    need("cc", "gcc")
    report = report_of("--launch-mismatches")
    assert (report["backend"], report["double"], report["emulated"], report["verdict"]) == (
        "cpu",
        None,
        False,
        "passed",
    )
    check_whole_matrix(report)


def test_the_whole_matrix_emulated() -> None:
    """Without a compiler Python reads the packed buffer, and the report says so."""
    report = report_of("--launch-mismatches", environment={"RELMGR_SMOKE_CC": ""})
    assert report["emulated"] is True
    check_whole_matrix(report)


def test_the_reports_keys() -> None:
    report = report_of(*ONE_CELL)
    first = ["backend", "double", "emulated", "device", "arch", "driver", "pin", "abi"]
    assert [key for key in report if key in first] == first
    assert {"cases", "verdict", "signature"} <= set(report)
    for case in report["cases"]:
        assert list(case)[: len(CASE_KEYS)] == CASE_KEYS
    assert report["signature"] is None


def test_mismatches_are_refused_and_not_launched_by_default() -> None:
    report = report_of(*ONE_CELL)
    wrong = [case for case in report["cases"] if case["kernel_abi"] != case["argument_abi"]]
    assert len(wrong) == 4
    assert {(case["static"], case["launched"], case["outcome"]) for case in wrong} == {
        ("differs", False, "layout-refused")
    }
    assert all("the kernel takes" in case["detail"] for case in wrong)


def test_every_form_of_output(tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("report.json", "report.xml", "report.html", "report.md")}
    run = relmgr(
        *("run", "--backend", "cpu", *ONE_CELL, "--launch-mismatches", "--format", "markdown"),
        *("--json", files["report.json"], "--junit", files["report.xml"]),
        *("--html", files["report.html"], "--out", files["report.md"]),
    )
    assert (run.returncode, run.stdout) == (0, "")
    suite = ElementTree.fromstring(files["report.xml"].read_text())
    assert (suite.tag, suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("testsuite", "13", "0", "0")
    assert len(suite.findall("testcase")) == 13
    assert json.loads(files["report.json"].read_text())["verdict"] == "passed"
    markdown = files["report.md"].read_text()
    assert markdown.startswith("**Nothing to do: passed on ")
    assert ", 6 of 6 matching cells right, 7 of 7 mismatches refused before launch, 7 of 7" in markdown
    page = files["report.html"].read_text()
    assert page.count('class="cell good"') == 6
    assert page.count('class="cell caught"') == 6
    assert page.count('class="cell silent"') == 1
    assert "http" not in page.replace("http://www.w3.org", "")


def test_text_and_plan_say_what_was_chosen_and_why() -> None:
    run = relmgr("plan", "--backend", "auto", *ONE_CELL)
    assert run.returncode == 0
    assert run.stdout.startswith("A run would launch 6 matching cells under kernel ABI 6: back end ")
    assert ", 7 mismatches refused before launch.\n" in run.stdout


def test_a_plan_checked_without_a_device() -> None:
    need("cc", "gcc")
    run = relmgr("plan", "--backend", "cpu", "--build", "--arch", "host", "--format", "json")
    checked = json.loads(run.stdout)
    assert run.returncode == 0
    assert checked["passed"] is True
    assert {cell["static"] for cell in checked["cells"] if cell["cell"]["matching"]} == {"same"}
    assert {cell["static"] for cell in checked["cells"] if not cell["cell"]["matching"]} == {"differs"}


BAD_COMPILER = """\
#!/bin/sh
# A compiler with a fault: {fault}.
if [ "$1" = --version ]; then echo "bad compiler 1"; exit 0; fi
for last; do :; done
for arg; do case "$arg" in *.c) source="$arg";; esac; done
{edit}
exec "{cc}" "$@"
"""


def bad_compiler(folder: Path, fault: str, edit: str) -> dict[str, str]:
    """Return the environment in which smoke kernels are compiled by one that edits the source first."""
    program = folder / "badcc"
    program.write_text(BAD_COMPILER.format(fault=fault, edit=edit, cc=need("cc", "gcc")))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {"RELMGR_SMOKE_CC": str(program)}


def test_a_compiler_that_computes_wrongly_is_found(tmp_path: Path) -> None:
    """The kernel's sums lack their last window row: wrong-result, exit code 1."""
    environment = bad_compiler(tmp_path, "skips a row", "sed -i 's/y < Y; ++y/y < Y - 1; ++y/' \"$source\"")
    run = relmgr("run", "--backend", "cpu", *ONE_CELL, environment=environment)
    assert run.returncode == 1
    assert run.stdout.startswith("Look at 6 cells: failed on ")
    assert ", 0 of 6 matching cells right, 7 of 7 mismatches refused before launch.\n" in run.stdout
    assert "wrong-result, wanted right (relative error " in run.stdout


def test_a_compiler_with_another_convention_is_refused_before_any_launch(tmp_path: Path) -> None:
    """Descriptors with a wider index than their number says: the layout in the binary differs, exit code 1."""
    environment = bad_compiler(
        tmp_path, "wide index", "sed -i 's/define SMOKE_INDEX int/define SMOKE_INDEX long/' \"$source\""
    )
    run = relmgr("run", "--backend", "cpu", *ONE_CELL, "--main-forms", "--format", "json", environment=environment)
    assert run.returncode == 1
    cases = json.loads(run.stdout)["cases"]
    old = next(
        case for case in cases if (case["kernel_abi"], case["argument_abi"]) == (5, 5) and case["index_bits"] == 32
    )
    assert (old["static"], old["launched"], old["outcome"]) == ("differs", False, "layout-refused")


def test_a_mismatch_that_turns_out_right_fails_the_run(tmp_path: Path) -> None:
    """A kernel that takes pointers under the old number: its binary agrees with them, and the launch is right."""
    edit = "sed -i 's/define SMOKE_FORM 1/define SMOKE_FORM 0/' \"$source\""
    environment = bad_compiler(tmp_path, "descriptors ignored", edit)
    run = relmgr(
        "run", "--backend", "cpu", *ONE_CELL, "--format", "json", "--launch-mismatches", environment=environment
    )
    assert run.returncode == 1
    report = json.loads(run.stdout)
    crossing = [case for case in report["cases"] if (case["kernel_form"], case["argument_abi"]) == ("expanded", 6)]
    assert "same" in {case["static"] for case in crossing}
    assert "right" in {case["outcome"] for case in crossing}
    assert report["verdict"] == "failed"


def test_a_compiler_that_refuses_or_is_killed(tmp_path: Path) -> None:
    run = relmgr(
        "run", "--backend", "cpu", *ONE_CELL, environment=bad_compiler(tmp_path, "no", "echo 'k.c: no' >&2; exit 1")
    )
    assert (run.returncode, "the compiler refused the smoke kernels: k.c: no" in run.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "ends", "says"),
    [
        (["--arch", "gfx90a"], 2, "not gfx90a"),
        (["--abi", "7"], 2, "the convention of number 7 is not known"),
        (["--backend", "cuda"], 2, "the cuda back end needs the Python package cuda.bindings"),
        (["--json", "/nonexistent/report.json", *ONE_CELL], 2, "/nonexistent/report.json: cannot write"),
    ],
)
def test_what_cannot_be_done_is_named(arguments: list[str], ends: int, says: str) -> None:
    if "cuda" in arguments and Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has an NVIDIA device")
    run = relmgr("run", *(["--backend", "cpu"] if "cuda" not in arguments else []), *arguments)
    assert run.returncode == ends
    assert says in run.stderr
    assert "Traceback" not in run.stderr


def test_a_run_that_was_cut_short_is_taken_up_again(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    whole = report_of(*ONE_CELL, "--resume", journal)
    lines = journal.read_text().splitlines()
    assert len(lines) == 1 + 13
    # Cut in the middle of the fifth cell, with a mark in the first: what stands there is taken, not run again.
    marked = lines[1].replace('"seconds": ', '"seconds": 777')
    journal.write_text("\n".join([lines[0], marked, *lines[2:5], lines[5][:40]]))
    again = report_of(*ONE_CELL, "--resume", journal)
    assert [case["outcome"] for case in again["cases"]] == [case["outcome"] for case in whole["cases"]]
    assert sum(case["seconds"] >= 777 for case in again["cases"]) == 1
    assert report_of(*ONE_CELL, "--resume", journal)["verdict"] == "passed"


def test_a_journal_of_another_run_is_refused(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    report_of(*ONE_CELL, "--resume", journal)
    run = relmgr("run", "--backend", "cpu", *ONE_CELL, "--abi", "5", "--resume", journal)
    assert run.returncode == 2
    assert "not the journal of this run: another device, pin, number or head" in run.stderr


def test_a_report_is_bound_to_the_clones_pin_and_head(tmp_path: Path) -> None:
    sha = "11f2e26f193d11b5a2bd8af37a9f5b6d1bd1ab6b"
    clone = new_repository(tmp_path / "consumer")
    head = clone.commit("Pin the compiler", {"requirements.txt": f"ROCmSoftwarePlatform/rocMLIR@{sha}\n"})
    report = report_of(*ONE_CELL, "--repo", f"miopen={clone.path}", "--abi", "6")
    assert (report["pin"], report["abi"], report["head"]) == (sha, 6, head)
    loose = report_of(*ONE_CELL, "--pinned", "rocm-5.4.0", "--head", "f" * 40)
    assert (loose["pin"], loose["head"]) == ("rocm-5.4.0", "f" * 40)
    strange = relmgr("run", "--backend", "cpu", *ONE_CELL, "--repo", f"miopen={clone.path}", "--ref", "nowhere")
    assert (strange.returncode, "no ref 'nowhere'" in strange.stderr, strange.stdout) == (3, True, "")
    nobodys = relmgr("run", "--backend", "cpu", *ONE_CELL, "--ref", "nowhere")
    assert (nobodys.returncode, "no clone of ROCm/MIOpen at hand" in nobodys.stderr) == (2, True)


SECRET = "a secret that is long enough"


def test_a_report_signed_with_a_secret(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    report = report_of(*ONE_CELL, "--json", file, environment={"RELMGR_SMOKE_SECRET": SECRET})
    assert report["signature"].startswith("hmac-sha256:")
    assert read_report(file, secrets=(SECRET.encode(),)).signed is True
    assert read_report(file, secrets=(b"the next one", SECRET.encode())).signed is True
    assert read_report(file, secrets=(b"another",)).signed is False
    assert read_report(file).signed is None
    file.write_text(file.read_text().replace('"abi": 6', '"abi": 5', 1))
    assert read_report(file, secrets=(SECRET.encode(),)).signed is False


def test_a_secret_that_is_none_is_refused() -> None:
    run = relmgr("run", "--backend", "cpu", *ONE_CELL, environment={"RELMGR_SMOKE_SECRET": "short"})
    assert run.returncode == 2
    assert "fewer than 16 bytes" in run.stderr


def test_a_report_signed_with_a_key(tmp_path: Path) -> None:
    keygen = need("ssh-keygen", "openssh-client")
    for name in ("signer", "stranger"):
        subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name, "-C", ""], check=True)
    public = {name: (tmp_path / f"{name}.pub").read_text() for name in ("signer", "stranger")}
    file = tmp_path / "report.json"
    report_of(*ONE_CELL, "--json", file, "--sign-key", tmp_path / "signer")
    signers = f'ci@example.org namespaces="relmgr-smoke" {public["signer"]}'.encode()
    assert read_report(file, allowed_signers=signers).signed is True
    assert read_report(file, allowed_signers=f"ci@example.org {public['stranger']}".encode()).signed is False
    # The same key, allowed for another purpose only.
    assert read_report(file, allowed_signers=signers.replace(b"relmgr-smoke", b"git")).signed is False
    file.write_text(file.read_text().replace('"passed"', '"failed"', 1))
    assert read_report(file, allowed_signers=signers).signed is False
