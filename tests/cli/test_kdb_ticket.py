"""`relmgr kdb ticket`: MIOpen's recorded history, and a small one with real databases from the crossing to the end."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from relmgr.cli import root
from relmgr.cli.kdb_ticket import ticket
from relmgr.errors import run_to_exit_code
from relmgr.model.base import Convention
from relmgr.model.documents import DOCUMENTS, document_schema
from relmgr.model.kernel_db import KdbScan, ScanTotals
from relmgr.model.ticket import Tickets
from relmgr.model.ticket_block import parse_block
from relmgr.render.engine import to_json
from relmgr.resources import shipped
from relmgr.settings import load_project
from relmgr.sources.databases.scan import ScanRules, scan_file
from relmgr.sources.ticket_files import read_scan
from tests.support.databases import KernelRow, fwd_row, other_row, write_database, wrw_row
from tests.support.graph import build_graph_repository
from tests.support.repositories import TestRepository, new_repository

CROSSING = "5c6664021d9fbabeb7ebeccd176a0e7a54da6d1d"
PIN = "ROCmSoftwarePlatform/rocMLIR@{ref} -DBUILD_FAT_LIBROCKCOMPILER=ON\n"
KDB = "src/kernels/gfx90a68.kdb"


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.chdir(tmp_path)

    def run_ticket(*args: object) -> Ended:
        words = [str(arg) for arg in args]
        code = run_to_exit_code(lambda **options: ticket.main(args=words, prog_name="relmgr kdb ticket", **options))
        return Ended(code, *capsys.readouterr())

    return run_ticket


def shown(document: Any) -> dict[str, dict[str, str]]:
    return {
        ticket["arch"]: {
            d["path"].removeprefix("src/kernels/").partition(".")[0]: d["state"] for d in ticket["databases"]
        }
        for ticket in document["tickets"]
    }


# -- MIOpen's own history -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return build_graph_repository(tmp_path_factory.mktemp("graph") / "miopen")


def test_two_days_after_the_crossing_every_database_needs_a_ticket(run: Any, graph: Any, golden: Any) -> None:
    ended = run("--repo", f"miopen={graph.path}", "--train", "5.4", "--at", "2022-10-01", "--format", "json")
    assert ended.code == 0
    assert shown(ended.document) == {
        "gfx1030": {"gfx1030_36": "suspected"},
        "gfx900": {"gfx900_56": "suspected", "gfx900_64": "suspected"},
        "gfx906": {"gfx906_60": "suspected", "gfx906_64": "suspected"},
        "gfx908": {"gfx90878": "suspected"},
        "gfx90a": {"gfx90a68": "suspected", "gfx90a6e": "suspected"},
    }
    ticket = ended.document["tickets"][4]
    (crossing,) = ticket["reason"]["crossings"]
    assert (crossing["commit"], crossing["pr"]) == (graph.commits[CROSSING], 1673)
    assert (crossing["old"]["ref"], crossing["old"]["number"]) == ("rocm-5.3.0", 5)
    assert (crossing["new"]["ref"][:12], crossing["new"]["number"]) == ("11f2e26f193d", 6)
    assert ticket["databases"][0]["oid"] == "55b9613a940d606f898ca1bde4dd5010a30242137c23c45d7c8c0700ac4e2b00"
    assert ticket["databases"][0]["size"] == 536465408
    assert ticket["deadline"] == {
        "kind": "cut",
        "day": "2022-10-06",
        "last_safe_day": "2022-09-01",
        "cut": "2022-10-06",
        "first_tag": "2022-11-30",
    }
    assert ticket["effort"]["days"] == 35
    assert ticket["rows"] == {
        "provider": None,
        "stale": None,
        "solvers": [],
        "not_scanned": ["src/kernels/gfx90a68.kdb", "src/kernels/gfx90a6e.kdb"],
    }
    golden("tickets/gfx90a.md", ticket["body"])


def test_after_new_year_the_three_that_changed_wait_for_a_scan(run: Any, graph: Any, golden: Any) -> None:
    args = ("--repo", f"miopen={graph.path}", "--train", "rocm-5.4", "--at", "2023-01-01")
    ended = run(*args, "--format", "json")
    assert ended.document["ref"] == "release/rocm-rel-5.4"
    assert shown(ended.document) == {
        "gfx1030": {"gfx1030_36": "suspected"},
        "gfx900": {"gfx900_56": "suspected", "gfx900_64": "suspected"},
        "gfx906": {"gfx906_60": "suspected", "gfx906_64": "suspected"},
        "gfx908": {"gfx90878": "changed-since"},
        "gfx90a": {"gfx90a68": "changed-since", "gfx90a6e": "changed-since"},
    }
    assert {ticket["deadline"]["kind"] for ticket in ended.document["tickets"]} == {"next-release"}
    text = run(*args).out
    assert text.count("changed since the crossing") == 3
    golden("tickets/rocm-5.4-2023-01-01.txt", text)


def test_before_the_crossing_no_ticket(run: Any, graph: Any) -> None:
    ended = run("--repo", f"miopen={graph.path}", "--train", "rocm-5.4", "--at", "2022-09-28", "--format", "json")
    assert ended.code == 0
    assert ended.document["tickets"] == []
    assert [one["arch"] for one in ended.document["not_needed"]] == ["gfx1030", "gfx900", "gfx906", "gfx908", "gfx90a"]


def test_the_next_train_inherits_what_was_never_rebuilt(run: Any, graph: Any) -> None:
    ended = run("--repo", f"miopen={graph.path}", "--train", "rocm-5.5", "--at", "2023-04-20", "--format", "json")
    found = shown(ended.document)
    assert found["gfx906"] == {"gfx906_60": "repacked", "gfx906_64": "repacked"}
    assert sorted(found) == ["gfx1030", "gfx900", "gfx906"]
    assert {one["arch"]: one["why"] for one in ended.document["not_needed"]} == dict.fromkeys(
        ["gfx908", "gfx90a"], "changed after the last crossing, which an earlier train shipped; scan it to be sure"
    )


def test_the_train_without_a_name_is_the_next_to_be_cut(run: Any, graph: Any) -> None:
    ended = run("--repo", f"miopen={graph.path}", "--at", "2022-10-01", "--format", "json")
    assert ended.document["train"] == "rocm-5.4"
    late = run("--repo", f"miopen={graph.path}", "--at", "2035-01-01")
    assert late.code == 2
    assert "name one with --train" in late.err


def test_one_file_for_each_ticket(run: Any, graph: Any, tmp_path: Path) -> None:
    args = ("--repo", f"miopen={graph.path}", "--train", "rocm-5.4", "--at", "2022-10-01")
    run(*args, "--out-dir", tmp_path / "made" / "here", "--quiet")
    files = {file.name: file.read_text() for file in (tmp_path / "made" / "here").iterdir()}
    assert sorted(files) == [f"rocm-5.4-{arch}.md" for arch in ("gfx1030", "gfx900", "gfx906", "gfx908", "gfx90a")]
    assert {data.key.arch for text in files.values() if (data := parse_block(text))} == {
        name.removeprefix("rocm-5.4-").removesuffix(".md") for name in files
    }


def test_what_was_filed_is_found_again_and_kept(run: Any, graph: Any, tmp_path: Path) -> None:
    args = ("--repo", f"miopen={graph.path}", "--train", "rocm-5.4")
    first = run(*args, "--at", "2022-10-01", "--format", "json").document
    issues = [
        {"number": n, "html_url": f"https://example.org/{n}", "state": "open", "body": t["body"], "title": t["title"]}
        for n, t in enumerate(first["tickets"])
    ]
    listed = tmp_path / "issues.json"
    listed.write_text(json.dumps([*issues, {"number": 9, "state": "open", "body": None}]))
    again = run(*args, "--at", "2022-10-02", "--existing", listed, "--format", "json").document
    assert [(t["action"], t["key"]) for t in again["tickets"]] == [("keep", t["key"]) for t in first["tickets"]]
    assert again["existing_read"] is True
    later = run(*args, "--at", "2023-01-01", "--existing", listed, "--format", "json").document
    assert [(t["action"], t["url"]) for t in later["tickets"]] == [("update", i["html_url"]) for i in issues]
    listed.write_text(json.dumps(first))
    own = run(*args, "--at", "2022-10-02", "--existing", listed, "--format", "json").document
    assert {t["action"] for t in own["tickets"]} == {"keep"}


def test_a_ticket_that_cannot_be_read_is_said_and_ends_with_3(run: Any, graph: Any, tmp_path: Path) -> None:
    args = ("--repo", f"miopen={graph.path}", "--train", "rocm-5.4", "--at", "2022-10-01")
    body = run(*args, "--format", "json").document["tickets"][0]["body"].replace('"version":1', '"version":7')
    listed = tmp_path / "issues.json"
    listed.write_text(json.dumps([{"html_url": "https://example.org/1", "state": "open", "body": body}]))
    ended = run(*args, "--existing", listed)
    assert ended.code == 3
    assert "Not read: https://example.org/1: its data are not valid" in ended.out


@pytest.mark.parametrize(
    ("content", "says"),
    [("{", "not JSON"), ("[1]", "not a list of tickets"), ("[" * 100_000, "not JSON"), ('{"a": 1}', "not a list")],
)
def test_a_list_that_is_none_is_the_callers_mistake(
    run: Any, graph: Any, tmp_path: Path, content: str, says: str
) -> None:
    listed = tmp_path / "issues.json"
    listed.write_text(content)
    ended = run("--repo", f"miopen={graph.path}", "--train", "rocm-5.4", "--at", "2022-10-01", "--existing", listed)
    assert ended.code == 2
    assert says in ended.err


# -- from the crossing to the end, on real databases ----------------------------------------------------------------


def rows(convention: str) -> Iterable[KernelRow]:
    return [fwd_row(convention), fwd_row(convention, batchsize=64), wrw_row(convention), other_row()]


@dataclass(frozen=True)
class Small:
    """A consumer with one database in git, built before the crossing; `made` is where databases are written."""

    repository: TestRepository
    made: Path

    def database(self, convention: str) -> Path:
        path = self.made / convention / "gfx90a68.kdb"
        return path if path.is_file() else write_database(path, rows(convention))

    @property
    def args(self) -> tuple[str, ...]:
        return ("--repo", f"miopen={self.repository.path}", "--train", "rocm-5.4", "--format", "json")


@pytest.fixture
def small(tmp_path: Path) -> Small:
    made = Small(new_repository(tmp_path / "consumer"), tmp_path / "made")
    old = {"requirements.txt": PIN.format(ref="rocm-5.3.0"), KDB: made.database("descriptor32").read_bytes()}
    made.repository.commit("databases (#1)", old, at="2022-09-01T10:00:00-07:00")
    made.repository.commit(
        "Tidy (#2)", {"requirements.txt": PIN.format(ref="rocm-5.4.0")}, at="2022-09-20T10:00:00-07:00"
    )
    return made


def test_a_database_given_as_a_path_is_scanned(run: Any, small: Small) -> None:
    ended = run(*small.args, "--at", "2022-09-21", small.database("descriptor32"))
    (found,) = ended.document["tickets"]
    assert found["rows"] == {
        "provider": 3,
        "stale": 3,
        "solvers": [
            {"solver": "ConvMlirIgemmFwdXdlops", "rows": 2, "stale": 2},
            {"solver": "ConvMlirIgemmWrW", "rows": 1, "stale": 1},
        ],
        "not_scanned": [],
    }
    assert found["title"] == "Rebuild the kernel database for gfx90a in rocm-5.4 by 2022-10-06: 3 stale rows"
    assert ended.code == 0


def write_scan(database: Path, file: Path, abi: int | None) -> Path:
    """Write what a scan of one database under `abi` (None: without a target) finds, as `kdb scan` prints it."""
    conventions: dict[int | None, Convention] = {5: "memref-descriptor", 6: "bare-pointer"}
    contract = load_project().contracts["miir"]
    found = scan_file(database, ScanRules(contract.kernel_symbol, contract.solvers, conventions.get(abi)))
    totals = ScanTotals(
        files=1, ok=1, pointers=0, unreadable=0, rows=4, mlir_rows=3, stale=found.stale, corrupt=0, unknown=0
    )
    told = {"abi": abi, "convention": conventions.get(abi, "unknown"), "abi_source": "--abi"}
    file.write_text(to_json(KdbScan(**told, files=(found,), totals=totals)))
    return file


def test_a_scan_document_is_read(run: Any, small: Small, tmp_path: Path) -> None:
    file = write_scan(small.database("descriptor32"), tmp_path / "scan.json", 6)
    (found,) = run(*small.args, "--at", "2022-09-21", "--scan", file).document["tickets"]
    assert found["rows"]["stale"] == 3
    assert found["databases"][0]["state"] == "stale"


@pytest.mark.parametrize("abi", [5, None])
def test_a_scan_for_another_number_is_counted_anew(run: Any, small: Small, tmp_path: Path, abi: int | None) -> None:
    file = write_scan(small.database("descriptor32"), tmp_path / "scan.json", abi)
    (found,) = run(*small.args, "--at", "2022-09-21", "--scan", file).document["tickets"]
    assert found["rows"]["stale"] == 3
    assert found["rows"]["solvers"][0]["stale"] is None


def test_rows_that_a_scan_could_not_read_are_kept(tmp_path: Path, small: Small) -> None:
    file = write_scan(small.database("bare"), tmp_path / "scan.json", None)
    document = json.loads(file.read_text())
    # A deep scan also counts unreadable rows that are nobody's by name.
    document["files"][0]["unknown"] = 2
    file.write_text(json.dumps(document))
    assert [scan.unknown for scan in read_scan(file, "bare-pointer")] == [2]


def test_a_file_that_is_no_scan_is_the_callers_mistake(run: Any, small: Small, tmp_path: Path) -> None:
    (tmp_path / "scan.json").write_text('{"files": []}')
    ended = run(*small.args, "--scan", tmp_path / "scan.json")
    assert ended.code == 2
    assert "not a scan" in ended.err


def test_filed_then_rebuilt_then_closed_by_a_scan(run: Any, small: Small, tmp_path: Path) -> None:
    listed = tmp_path / "tickets.json"
    listed.write_text(run(*small.args, "--at", "2022-09-21").out)
    bare = small.database("bare")
    small.repository.commit("rebuilt (#3)", {KDB: bare.read_bytes()}, at="2022-09-25T10:00:00-07:00")
    (changed,) = run(*small.args, "--at", "2022-09-26", "--existing", listed).document["tickets"]
    assert (changed["state"], changed["databases"][0]["state"]) == ("open", "changed-since")
    old = run(*small.args, "--at", "2022-09-26", "--existing", listed, small.database("descriptor32"))
    assert old.document["tickets"][0]["state"] == "open"
    (done,) = run(*small.args, "--at", "2022-09-26", "--existing", listed, bare).document["tickets"]
    assert (done["state"], done["action"], done["missing"]) == ("done", "close", [])


def test_filed_then_withdrawn_by_a_revert(run: Any, small: Small, tmp_path: Path) -> None:
    listed = tmp_path / "tickets.json"
    listed.write_text(run(*small.args, "--at", "2022-09-21").out)
    small.repository.commit(
        'Revert "Tidy (#2)" (#3)', {"requirements.txt": PIN.format(ref="rocm-5.3.0")}, at="2022-09-25T10:00:00-07:00"
    )
    (found,) = run(*small.args, "--at", "2022-09-26", "--existing", listed).document["tickets"]
    assert (found["state"], found["action"]) == ("withdrawn", "close")
    listed.write_text(json.dumps({"tickets": [found]}))
    (again,) = run(*small.args, "--at", "2022-09-27", "--existing", listed).document["tickets"]
    assert (again["state"], again["action"]) == ("withdrawn", "keep")


def test_the_recipe_is_miopens_and_takes_a_persons_words(run: Any, small: Small) -> None:
    (found,) = run(*small.args, "--at", "2022-09-21", "--fill", "SESSION=12").document["tickets"]
    commands = [step["command"] for step in found["recipe"]["steps"]]
    assert commands == [
        "./go_fish.py miopen --update_solvers",
        "./go_fish.py miopen --init_session -l rocm-5.4-abi-6-gfx90a",
        "./go_fish.py miopen --update_applicability --session_id 12",
        "./load_job.py --session_id 12 -t <TAG> --fin_steps miopen_find_compile,miopen_find_eval -o"
        " -l rocm-5.4-abi-6-gfx90a",
        "./go_fish.py miopen --session_id 12 --fin_steps miopen_find_compile",
        "./go_fish.py miopen --session_id 12 --fin_steps miopen_find_eval",
        "./export_db.py --session_id 12 -k",
        "./update_golden.py --session_id 12 --golden_v <GOLDEN> --base_golden_v <BASE_GOLDEN>",
    ]
    assert sorted(found["recipe"]["fill"]) == ["BASE_GOLDEN", "GOLDEN", "TAG"]
    assert [kept["what"] for kept in found["kept"]] == ["perf-db", "find-db"]


@pytest.mark.parametrize("fill", ["WHAT=1", "SESSION", "SESSION=$(id)", "SESSION=-x", "SESSION="])
def test_a_word_that_is_no_plain_one_is_refused(run: Any, small: Small, fill: str) -> None:
    assert run(*small.args, "--at", "2022-09-21", "--fill", fill).code == 2


def test_a_pin_whose_number_is_not_known_ends_with_3(run: Any, small: Small) -> None:
    small.repository.commit(
        "Elsewhere (#4)", {"requirements.txt": PIN.format(ref="f" * 40)}, at="2022-09-25T10:00:00-07:00"
    )
    ended = run(*small.args, "--at", "2022-09-26")
    assert (ended.code, ended.document["tickets"]) == (3, [])
    assert ended.document["gaps"][0].startswith("the kernel convention at develop: ")


def test_n4_a_shallow_clone_is_refused(run: Any, small: Small, tmp_path: Path) -> None:
    clone = tmp_path / "shallow"
    small.repository.git("clone", "-q", "--depth=1", f"file://{small.repository.path}", str(clone))
    ended = run("--repo", f"miopen={clone}", "--train", "rocm-5.4", "--at", "2022-12-01")
    assert ended.code == 3
    assert "git fetch --unshallow" in ended.err


def test_the_document_is_what_its_schema_says(run: Any, small: Small) -> None:
    document = run(*small.args, "--at", "2022-09-21").document
    assert Tickets.model_validate(document).train == "rocm-5.4"
    for name in ("kdb-ticket", "kdb-ticket-data"):
        assert name in DOCUMENTS
        assert document_schema(name)["properties"]
    assert set(document) == set(document_schema("kdb-ticket")["properties"])


def test_the_command_is_one_of_kdbs(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["kdb", "ticket", "--help"]
    assert run_to_exit_code(lambda **options: root.main(args=words, prog_name="relmgr", **options)) == 0
    assert "One regeneration ticket per arch" in capsys.readouterr().out


def test_the_templates_are_shipped() -> None:
    assert (shipped("templates") / "issue" / "regeneration.md.j2").is_file()
