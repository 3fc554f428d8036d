"""Kernels that somebody else compiled: from a code object, from a database's row."""

from __future__ import annotations

import bz2
import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.smoke.compiled import FWD, compile_as, options
from tests.smoke.test_run_cpu import relmgr

SIZE = ["--blocks", "12", "--block", "64"]


def launch(*arguments: object, ends: int = 0) -> list[dict[str, Any]]:
    run = relmgr("run", "--backend", "cpu", "--format", "json", *SIZE, *arguments)
    assert run.returncode == ends, run.stdout + run.stderr
    return json.loads(run.stdout)["cases"]


@pytest.mark.parametrize(("form", "number"), [("bare", 6), ("expanded", 5)])
def test_a_kernel_of_a_code_object(tmp_path: Path, form: str, number: int) -> None:
    """Its convention is read from its layout; it is right with its own arguments and refused with the other's."""
    library = compile_as(tmp_path, FWD, form)
    given = ["--code-object", library, "--kernel", FWD, "--options", options(FWD), "--abi", number]
    right, wrong = launch(*given, "--launch-mismatches")
    assert (right["kernel_abi"], right["argument_abi"], right["static"], right["outcome"]) == (
        number,
        number,
        "same",
        "right",
    )
    assert right["error_norm"] < 1e-6
    assert (wrong["static"], wrong["launched"], wrong["outcome"]) == ("differs", True, "illegal-address")
    _, refused = launch(*given)
    assert (refused["launched"], refused["outcome"]) == (False, "layout-refused")


def test_a_kernel_that_computes_another_direction_is_wrong(tmp_path: Path) -> None:
    library = compile_as(tmp_path, FWD, "bare", direction="wrw")
    right, _ = launch("--code-object", library, "--options", options(FWD), ends=1)
    assert right["outcome"] == "wrong-result"


def database(folder: Path, library: Path, *, digest: str | None = None) -> Path:
    """Write a kernel database of one row."""
    blob = library.read_bytes()
    file = folder / "gfx90a68.kdb"
    with sqlite3.connect(file) as connection:
        connection.execute(
            "CREATE TABLE kern_db(id INTEGER PRIMARY KEY ASC, kernel_name TEXT NOT NULL, kernel_args TEXT NOT NULL,"
            " kernel_blob BLOB NOT NULL, kernel_hash TEXT NOT NULL, uncompressed_size INT NOT NULL)"
        )
        connection.execute("CREATE UNIQUE INDEX idx_kern_db ON kern_db(kernel_name, kernel_args)")
        row = (
            f"{FWD}.mlir.o",
            options(FWD),
            bz2.compress(blob),
            digest or hashlib.md5(blob).hexdigest(),
            len(blob),
        )
        connection.execute("INSERT INTO kern_db VALUES (7, ?, ?, ?, ?, ?)", row)
    connection.close()
    return file


def test_a_kernel_of_a_databases_row(tmp_path: Path) -> None:
    file = database(tmp_path, compile_as(tmp_path, FWD, "expanded"))
    right, refused = launch("--kdb", file, "--row", 7)
    assert (right["kernel_abi"], right["static"], right["outcome"]) == (5, "same", "right")
    assert (refused["argument_abi"], refused["outcome"]) == (6, "layout-refused")


TOLD = ["--options", options(FWD)]
LARGE = ["--options", options(FWD).replace("--batchsize 2", "--batchsize 90000")]


@pytest.mark.parametrize(
    ("arguments", "ends", "says"),
    [
        (["--kdb", "KDB", "--row", "8"], 3, "row 8: in the index, but not in the table"),
        (["--kdb", "KDB"], 2, "--kdb needs --row"),
        (["--code-object", "SO"], 2, "--code-object needs --options"),
        (["--code-object", "SO", "--options", "nonsense"], 2, "the options are no `--name value` list"),
        (["--code-object", "SO", "--options", "--operation conv2d"], 2, "do not tell a convolution that can be run"),
        (
            ["--code-object", "SO", "--kernel", "x", *TOLD],
            2,
            f"next: name one with --kernel: {FWD}",
        ),
        (["--code-object", "SO", *LARGE], 2, "more than the reference does"),
        (["--code-object", "HSACO", *TOLD], 3, "a module for gfx90a, not for x86_64"),
        (["--code-object", "CUT", *TOLD], 3, "the module cannot be read"),
        (["--code-object", "/nonexistent", *TOLD], 2, "/nonexistent: no such file"),
    ],
)
def test_what_cannot_be_launched_is_named(
    tmp_path: Path, data: Path, arguments: list[str], ends: int, says: str
) -> None:
    library = compile_as(tmp_path, FWD, "bare")
    real = next((data / "code_objects").glob("fwd*bare.gfx90a*.hsaco"))
    (tmp_path / "cut").write_bytes(real.read_bytes()[:500])
    names = {"KDB": database(tmp_path, library), "SO": library, "HSACO": real, "CUT": tmp_path / "cut"}
    run = relmgr("run", "--backend", "cpu", *SIZE, *(names.get(word, word) for word in arguments))
    assert run.returncode == ends, run.stderr
    assert says in run.stderr
    assert "Traceback" not in run.stderr


def test_a_row_with_another_hash_is_refused(tmp_path: Path) -> None:
    file = database(tmp_path, compile_as(tmp_path, FWD, "bare"), digest="0" * 32)
    run = relmgr("run", "--backend", "cpu", *SIZE, "--kdb", file, "--row", 7)
    assert (run.returncode, "its md5 is not its kernel_hash" in run.stderr) == (3, True)


def test_a_launch_has_to_be_given_its_size(tmp_path: Path) -> None:
    run = relmgr(
        "run", "--backend", "cpu", "--code-object", compile_as(tmp_path, FWD, "bare"), "--options", options(FWD)
    )
    assert (run.returncode, "needs --blocks and --block" in run.stderr) == (2, True)


def test_a_stale_row_fails_under_the_number_that_is_pinned(tmp_path: Path) -> None:
    """A row built under 5 is what a consumer at 6 would find and launch: refused, and the run fails."""
    file = database(tmp_path, compile_as(tmp_path, FWD, "expanded"))
    stale, _ = launch("--kdb", file, "--row", 7, "--abi", 6, ends=1)
    assert (stale["kernel_abi"], stale["argument_abi"]) == (6, 6)
    assert (stale["static"], stale["launched"], stale["outcome"]) == ("differs", False, "layout-refused")
