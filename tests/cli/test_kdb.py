"""`relmgr kdb scan | diff | tuning | prune | extract` as a person runs them (K2, K3, K6)."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from relmgr.cli import root
from relmgr.errors import run_to_exit_code
from tests.support.databases import fwd_row, other_row, write_database, wrw_row

POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'5b' * 32}\nsize 536465408\n"


def run(*args: str | Path) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run_to_exit_code(
            lambda **options: root.main(args=[str(arg) for arg in args], prog_name="relmgr", **options)
        )
    return code, out.getvalue(), err.getvalue()


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def mixed() -> Path:
    rows = [fwd_row("bare"), fwd_row("descriptor32", in_h=57), wrw_row("descriptor32"), other_row()]
    return write_database(Path("gfx90a68.kdb"), rows)


def test_scan_as_text(mixed: Path) -> None:
    code, out, err = run("kdb", "scan", mixed, "--abi", "6", "--jobs", "2")
    assert (code, err) == (1, "")
    assert out.startswith(
        "Prune or rebuild 1 kernel database: 2 rows are stale under kernel ABI 6 (bare pointers).\n"
        "1 file: 1 read, 0 pointers, 0 unreadable; 4 rows, 3 of the provider; stale: 2, unknown: 0, corrupt: 0. "
        "Kernel ABI from: --abi.\n"
    )
    assert (
        "\n3   ConvMlirIgemmWrW        memref descriptors  wrw        fp16  NCHW    n128 g1 c64 56x56 k64 1x1 s1x1\n"
        in out
    )
    assert (
        "- solver: ConvMlirIgemmFwdXdlops 2, ConvMlirIgemmWrW 1\n- direction: fwd 2, wrw 1\n- arch: gfx90a 3\n" in out
    )


def test_scan_as_json_has_the_promised_keys(mixed: Path) -> None:
    code, out, _ = run("kdb", "scan", mixed, "--abi", "6", "--format", "json")
    document = json.loads(out)
    assert (code, document["abi"]) == (1, 6)
    (file,) = document["files"]
    assert {
        key: file[key] for key in ("path", "arch", "cu_count", "state", "rows", "mlir_rows", "stale", "corrupt")
    } == {
        "path": "gfx90a68.kdb",
        "arch": "gfx90a",
        "cu_count": 104,
        "state": "ok",
        "rows": 4,
        "mlir_rows": 3,
        "stale": 2,
        "corrupt": 0,
    }
    assert file["conventions"] == {"bare-pointer": 1, "memref-descriptor": 2}
    assert [(row["id"], row["solver"], row["problem"]["in_h"]) for row in file["stale_rows"]] == [
        (2, "ConvMlirIgemmFwdXdlops", 57),
        (3, "ConvMlirIgemmWrW", 56),
    ]
    assert document["totals"]["stale"] == 2


def test_scan_without_a_target_tells_no_staleness(mixed: Path) -> None:
    code, out, _ = run("kdb", "scan", mixed, "--format", "json")
    document = json.loads(out)
    assert (code, document["abi"], document["files"][0]["stale"], document["totals"]["stale"]) == (0, None, None, None)
    assert "no --abi" in document["abi_source"]


def test_scan_exit_codes() -> None:
    fresh = write_database(Path("a/gfx90a68.kdb"), [fwd_row("bare")])
    stale = write_database(Path("b/gfx90a68.kdb"), [fwd_row("descriptor32")])
    corrupt = write_database(Path("c/gfx90a68.kdb"), [replace(fwd_row("bare"), kernel_hash="0")])
    pointer = Path("gfx908.kdb")
    pointer.write_text(POINTER)
    assert run("kdb", "scan", fresh, "--abi", "6")[0] == 0
    assert run("kdb", "scan", stale, "--abi", "6")[0] == 1
    assert run("kdb", "scan", corrupt, "--abi", "6")[0] == 3
    assert run("kdb", "scan", pointer, "--abi", "6")[0] == 3
    assert run("kdb", "scan", pointer, stale, corrupt, "--abi", "6")[0] == 1
    assert run("kdb", "scan", fresh, "--abi", "60")[0] == 3
    assert run("kdb", "scan", "missing.kdb", "--abi", "6")[0] == 2
    Path("empty").mkdir()
    assert run("kdb", "scan", "empty", "--abi", "6")[0] == 2


def test_k2_a_pointer_is_shown_with_what_it_stands_for() -> None:
    Path("gfx90878.kdb").write_text(POINTER)
    _, out, _ = run("kdb", "scan", "gfx90878.kdb", "--abi", "6")
    assert "gfx90878.kdb  gfx908  120  pointer  -     -  " in out
    assert f"stands for sha256:{'5b' * 32}, 536 MB: fetch it with git lfs pull" in out


def test_scan_of_a_user_cache_a_folder_and_a_glob(mixed: Path) -> None:
    for version in ("2.17.0", "2.18.0"):
        write_database(Path(f"cache/miopen/{version}/gfx90a68.ukdb"), [fwd_row("descriptor32")])
    Path("cache/miopen/2.18.0/notes.txt").write_text("not a database")
    code, out, _ = run("kdb", "scan", "cache", "*.kdb", "cache/**/gfx90a68.ukdb", "--abi", "6", "--format", "json")
    files = json.loads(out)["files"]
    assert code == 1
    assert [(file["path"], file["cache_version"], file["stale"]) for file in files] == [
        ("cache/miopen/2.17.0/gfx90a68.ukdb", "2.17.0", 1),
        ("cache/miopen/2.18.0/gfx90a68.ukdb", "2.18.0", 1),
        ("gfx90a68.kdb", None, 2),
    ]


def test_scan_in_markdown_cannot_be_broken_by_a_row() -> None:
    row = replace(
        fwd_row("descriptor32"), kernel_name="mlir_gen_igemm_conv2d_|<b>@team`", kernel_args="|\n# x <script>"
    )
    write_database(Path("gfx90a68.kdb"), [row])
    _, out, _ = run("kdb", "scan", "gfx90a68.kdb", "--abi", "6", "--format", "markdown")
    assert "<b>" not in out
    assert "<script>" not in out
    assert "@team" not in out
    assert "\n# x" not in out


def test_quiet_says_it_by_the_exit_code(mixed: Path) -> None:
    assert run("kdb", "scan", mixed, "--abi", "6", "--quiet") == (1, "", "")


def test_the_cache_is_used_and_can_be_left_out(mixed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run("kdb", "scan", mixed, "--abi", "6")
    assert run("kdb", "scan", mixed, "--abi", "6") == first
    assert run("kdb", "scan", mixed, "--abi", "6", "--no-cache") == first
    assert run("kdb", "scan", mixed, "--abi", "5")[1] != first[1]


def test_diff(mixed: Path) -> None:
    rows = [fwd_row("bare"), fwd_row("bare", in_h=57), other_row(), wrw_row("bare", in_h=99)]
    new = write_database(Path("new.kdb"), rows)
    code, out, _ = run("kdb", "diff", mixed, new)
    assert code == 0
    assert out.startswith(
        "1 row came back with other kernel arguments: launch none of them with the old ones.\n"
        "From gfx90a68.kdb to new.kdb: 2 the same, 1 added, 1 removed, 1 changed, 1 with other arguments.\n"
    )
    assert "memref descriptors  39         188" in out
    assert "bare pointers       3          24" in out
    document = json.loads(run("kdb", "diff", mixed, new, "--format", "json")[1])
    (change,) = document["signature_changed"]
    assert len(change["old"][0]["explicit_args"]) == 39
    assert run("kdb", "diff", mixed, new, "--format", "markdown")[0] == 0


def test_diff_of_a_pointer_ends_with_3(mixed: Path) -> None:
    Path("p.kdb").write_text(POINTER)
    code, _, err = run("kdb", "diff", mixed, "p.kdb")
    assert code == 3
    assert "git lfs pull" in err


def test_prune_is_a_plan_until_apply(mixed: Path) -> None:
    before = mixed.read_bytes()
    code, out, _ = run("kdb", "prune", mixed, "--abi", "6", "--swap")
    assert (code, mixed.read_bytes()) == (0, before)
    assert "gfx90a68.kdb would go as stale under kernel ABI 6 (bare pointers), 2 stay" in out
    assert "nothing is written" in out
    code, out, _ = run("kdb", "prune", mixed, "--abi", "6", "--swap", "--apply")
    assert code == 0
    assert "gfx90a68.kdb, 2 remain and were compared byte for byte." in out
    assert Path("gfx90a68.kdb.before-abi-6").read_bytes() == before
    assert run("kdb", "scan", mixed, "--abi", "6")[0] == 0
    assert "Nothing to do" in run("kdb", "prune", mixed, "--abi", "6", "--swap", "--apply")[1]


def test_prune_names_a_file_as_it_was_given(mixed: Path) -> None:
    Path("kernels").mkdir()
    given = mixed.rename(Path("kernels") / mixed)
    _, out, _ = run("kdb", "prune", given, "--abi", "6", "--swap", "--apply", "--format", "json")
    document = json.loads(out)
    kept = "kernels/gfx90a68.kdb.before-abi-6"
    assert [document[key] for key in ("path", "out", "kept_old")] == [str(given), str(given), kept]
    assert Path(kept).is_file()


def test_prune_keeps_a_link_and_swaps_the_file_behind_it(mixed: Path) -> None:
    Path("real").mkdir()
    real, link = mixed.rename(Path("real") / mixed).resolve(), Path("link.kdb")
    link.symlink_to(real)
    code, out, _ = run("kdb", "prune", link, "--abi", "6", "--swap", "--apply", "--format", "json")
    assert (code, json.loads(out)["path"], link.readlink()) == (0, str(real), real)
    assert "none stale" in run("kdb", "prune", link, "--abi", "6", "--swap")[1]


def test_prune_to_another_file(mixed: Path) -> None:
    code, out, _ = run("kdb", "prune", mixed, "--abi", "6", "--out", "new.kdb", "--apply", "--format", "json")
    document = json.loads(out)
    assert (code, document["removed"], document["remaining"], document["verified"]) == (0, 2, 2, True)
    assert (document["size_before"], document["size_after"]) == (mixed.stat().st_size, Path("new.kdb").stat().st_size)
    assert run("kdb", "prune", mixed, "--abi", "6", "--out", "new.kdb", "--apply")[0] == 2


def test_prune_says_what_it_needs(mixed: Path) -> None:
    assert run("kdb", "prune", mixed, "--abi", "6")[0] == 2
    assert run("kdb", "prune", mixed, "--abi", "6", "--swap", "--out", "x.kdb")[0] == 2
    code, _, err = run("kdb", "prune", mixed, "--swap")
    assert code == 2
    assert "cannot tell which rows are stale" in err
    assert run("kdb", "prune", mixed, "--abi", "60", "--swap")[0] == 2


def test_prune_of_rows_that_could_not_be_judged_ends_with_3(mixed: Path) -> None:
    path = write_database(Path("x.kdb"), [fwd_row("descriptor32"), replace(fwd_row("bare", in_h=1), kernel_hash="0")])
    code, out, _ = run("kdb", "prune", path, "--abi", "6", "--out", "new.kdb", "--apply", "--format", "markdown")
    assert code == 3
    assert "row 2: " in out


def test_extract(mixed: Path) -> None:
    code, out, _ = run("kdb", "extract", mixed, "--name", "_wrw", "--to", "objects", "--apply")
    assert code == 0
    assert "Written: 1 code object" in out
    assert [file.name for file in Path("objects").iterdir()] == ["3.mlir_gen_igemm_conv2d_v4r4_wrw0.mlir.gfx90a.hsaco"]
    assert run("kdb", "extract", mixed, "--name", "(", "--to", "objects")[0] == 2


def test_tuning() -> None:
    Path("gfx906_60.HIP.fdb.txt").write_text("key=ConvMlirIgemmFwd:1,2,a;ConvHipImplicitGemmV4Fwd:1,2,a\n")
    code, out, _ = run("kdb", "tuning", ".")
    assert code == 0
    assert out.startswith("Export 1 file again: it holds entries of solvers that were removed.\n")
    assert "\ngfx906_60.HIP.fdb.txt  find-db  gfx906  60   ok     1        1           2        1\n" in out
    assert "- removed solver ConvHipImplicitGemmV4Fwd: 1\n  - entry 1: ConvHipImplicitGemmV4Fwd: key\n" in out
    Path("gfx908.db").write_text("no database")
    code, out, _ = run("kdb", "tuning", "gfx908.db", "--format", "json")
    assert (code, json.loads(out)["files"][0]["entries"]) == (3, None)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["diff", "not-there.kdb", "not-there.kdb"], "OLD"),
        (["prune", "not-there.kdb", "--abi", "6", "--swap"], "FILE"),
        (["extract", "not-there.kdb", "--to", "objects"], "FILE"),
        (["ticket", "--existing", "not-there.kdb"], "--existing"),
        (["ticket", "--scan", "not-there.kdb"], "--scan"),
    ],
)
def test_a_file_that_is_not_there_ends_with_what_where_and_what_next(command: list[str], name: str) -> None:
    told = f"relmgr: not-there.kdb: no such file\n  next: name another file for {name}\n"
    assert run("kdb", *command) == (2, "", told)


def test_a_folder_is_no_file_and_a_file_no_folder(mixed: Path) -> None:
    Path("folder").mkdir()
    told = "relmgr: folder: a folder, not a file\n  next: name another file for {}\n"
    assert run("kdb", "diff", mixed, "folder") == (2, "", told.format("NEW"))
    assert run("kdb", "prune", mixed, "--abi", "6", "--out", "folder") == (2, "", told.format("--out"))
    told = f"relmgr: {mixed}: a file, not a folder\n  next: name another folder for --to\n"
    assert run("kdb", "extract", mixed, "--to", mixed) == (2, "", told)


def test_what_is_no_database_ends_with_a_next_step() -> None:
    Path("words.kdb").write_text("no database\n")
    told = "relmgr: words.kdb: not a SQLite database\n  next: name a kernel database, or fetch it again\n"
    assert run("kdb", "diff", "words.kdb", "words.kdb") == (3, "", told)
