"""The number at a ref: header in a clone, forge, ledger, unknown; and which of them is believed."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from relmgr.errors import SourceError, UserError
from relmgr.model.project import Project
from relmgr.settings import load_project
from relmgr.sources.github.contents import ContentsApi
from relmgr.sources.provider.abi import AbiReader
from relmgr.sources.provider.ledger import read_ledger
from tests.support import headers
from tests.support.repositories import TestRepository, new_repository

SLUG = "ROCmSoftwarePlatform/llvm-project-mlir"
RECORDED_5 = "3ddffc0056cf5ad7675486428dff13a4e335601d"


class History:
    """A provider whose header moves path, with the commit of each shape."""

    def __init__(self, path: Path) -> None:
        repository = new_repository(path)
        self.repository, self.path = repository, path
        self.bare = repository.commit("start", {"README": "x"})
        self.cpp = repository.commit("C++", {headers.CPP_PATH: headers.NO_MACRO})
        self.zero = repository.commit("C", {headers.CPP_PATH: None, headers.OLD_PATH: headers.VERSION_0})
        self.five_a = repository.commit("Miir", {headers.OLD_PATH: None, headers.MIIR_PATH: headers.VERSION_5A})
        self.five_b = repository.commit("module", {headers.MIIR_PATH: headers.VERSION_5B})
        repository.git("branch", "release/rocm-5.2")
        repository.git("tag", "-a", "rocm-5.3.0", "-m", "5.3")
        self.six = repository.commit("rename", {headers.MIIR_PATH: None, headers.NEW_PATH: headers.VERSION_6})
        repository.git("tag", "rocm-5.4.0")


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "rocmlir")


def project(path: Path | None = None, **contract: object) -> Project:
    loaded = load_project("miopen-rocmlir", {"rocmlir": str(path)} if path else None)
    changed = loaded.contracts["miir"].model_copy(update=contract)
    return loaded.model_copy(update={"contracts": {"miir": changed}})


def reader(path: Path | None = None, **contract: object) -> AbiReader:
    loaded = project(path, **contract)
    return AbiReader(loaded, loaded.pin())


# -- the clone ------------------------------------------------------------------------------------------------------


def test_the_header_is_followed_over_its_paths_and_macros(history: History) -> None:
    read = reader(history.path)
    found = [
        read.at(SLUG, commit, commit)
        for commit in (history.cpp, history.zero, history.five_a, history.five_b, history.six)
    ]
    assert [(v.number, v.convention, v.confidence) for v in found] == [
        (None, "unknown", "read"),
        (0, "unknown", "read"),
        (5, "memref-descriptor", "read"),
        (5, "memref-descriptor", "read"),
        (6, "bare-pointer", "read"),
    ]
    assert found[0].source == (
        f"{headers.CPP_PATH} at {history.cpp[:12]} in the clone: without the macro MIIR_VERSION_FLAT"
    )
    assert found[1].source == f"{headers.OLD_PATH} at {history.zero[:12]} in the clone (as MLIRMIOPEN_VERSION_FLAT)"
    assert found[4].source == f"{headers.NEW_PATH} at {history.six[:12]} in the clone"
    assert {v.provider for v in found} == {"ROCm/rocMLIR"}


def test_the_newest_path_wins_where_two_headers_stand(history: History) -> None:
    both = history.repository.commit("both", {headers.MIIR_PATH: headers.miir(7)})
    assert reader(history.path).at(None, both).number == 6


def test_a_new_header_without_the_macro_gives_way_to_an_older_one_with_it(history: History) -> None:
    commit = history.repository.commit(
        "forwarding", {headers.NEW_PATH: "#include <other.h>\n", headers.MIIR_PATH: headers.miir(7)}
    )
    found = reader(history.path).at(None, commit)
    assert (found.number, found.source) == (7, f"{headers.MIIR_PATH} at {commit[:12]} in the clone")


def test_p7_tags_are_peeled_and_a_tag_objects_sha_is_read(history: History) -> None:
    read = reader(history.path)
    tag_object = history.repository.git("rev-parse", "rocm-5.3.0")
    assert tag_object != history.five_b
    assert [read.at(None, ref).number for ref in ("rocm-5.3.0", tag_object, "rocm-5.4.0")] == [5, 5, 6]
    assert read.at(None, "rocm-5.3.0").confidence == "read"


def test_p4_a_branch_is_read_as_it_stands_now_and_labelled(history: History) -> None:
    found = reader(history.path).at(None, "release/rocm-5.2")
    assert (found.number, found.confidence) == (5, "inferred")
    assert found.source.endswith("; branch release/rocm-5.2 as it stands in the clone now")


def test_p8_a_name_that_is_branch_and_tag_is_not_guessed(history: History) -> None:
    history.repository.git("branch", "rocm-9.9", history.five_a)
    history.repository.git("tag", "rocm-9.9", history.six)
    found = reader(history.path).at(None, "rocm-9.9")
    assert (found.number, found.confidence) == (None, None)
    assert "both refs/heads/rocm-9.9 and refs/tags/rocm-9.9" in found.source


@pytest.mark.parametrize("ref", ["nope", "--upload-pack=x", "", "a b\nc", "0" * 40])
def test_a_ref_that_is_not_there_is_unknown(history: History, ref: str) -> None:
    found = reader(history.path).at(None, ref)
    assert (found.number, found.convention, found.confidence) == (None, "unknown", None)
    assert found.source.endswith("give a clone that has it: --repo rocmlir=PATH")


def test_p14_a_ref_of_a_stranger_is_not_taken_for_the_providers(history: History) -> None:
    read = reader(history.path)
    assert read.at("someone/rocMLIR", "rocm-5.4.0").number is None
    by_sha = read.at("someone/rocMLIR", history.six)
    # A commit is the same commit whoever names it, and the source says whose name it was.
    assert by_sha.number == 6
    assert by_sha.source.endswith("someone/rocMLIR is not ROCm/rocMLIR under any configured name")


def test_a_macro_that_is_no_number_is_unknown_with_the_header_named(history: History) -> None:
    commit = history.repository.commit("odd", {headers.NEW_PATH: "#define MIIR_VERSION_FLAT NEXT\n"})
    found = reader(history.path).at(None, commit)
    assert (found.number, found.confidence) == (None, "read")
    assert found.source == (
        f"{headers.NEW_PATH} at {commit[:12]} in the clone: MIIR_VERSION_FLAT is not a number: NEXT"
    )


def test_a_binary_in_the_headers_place_is_unknown(history: History) -> None:
    commit = history.repository.commit("odd", {headers.NEW_PATH: b"MIIR_VERSION_FLAT\0\1\2"})
    found = reader(history.path).at(None, commit)
    assert (found.number, found.source.split(": ")[-1]) == (None, "not a text file")


def test_a_number_that_no_one_declared_has_no_convention(history: History) -> None:
    commit = history.repository.commit("next", {headers.NEW_PATH: headers.miir(9)})
    found = reader(history.path).at(None, commit)
    assert (found.number, found.convention, found.confidence) == (9, "unknown", "read")


def test_the_setting_for_headers_without_the_macro_is_an_inference(history: History) -> None:
    found = reader(history.path, number_without_macro=5).at(None, history.cpp)
    assert (found.number, found.convention, found.confidence) == (5, "memref-descriptor", "inferred")
    # No header at all is not a header without the macro.
    assert reader(history.path, number_without_macro=5).at(None, history.bare).number is None


def test_a_provider_inside_a_monorepo(tmp_path: Path) -> None:
    repository = new_repository(tmp_path / "mono")
    commit = repository.commit("moved", {f"projects/rocmlir/{headers.NEW_PATH}": headers.VERSION_6})
    loaded = project(repository.path)
    provider = loaded.repositories["rocmlir"].model_copy(update={"root": "projects/rocmlir"})
    loaded = loaded.model_copy(update={"repositories": loaded.repositories | {"rocmlir": provider}})
    assert AbiReader(loaded, loaded.pin()).at(None, commit).number == 6


def test_many_refs_at_once_are_those_one_by_one(history: History) -> None:
    refs = [(SLUG, commit, commit) for commit in (history.six, history.five_a, "0" * 40, history.cpp)]
    assert reader(history.path).read_all(refs) == [reader(history.path).at(*ref) for ref in refs]


# -- clones that lack objects ---------------------------------------------------------------------------------------


def partial(history: History, path: Path) -> TestRepository:
    history.repository.git("config", "uploadpack.allowFilter", "true")
    history.repository.git("clone", "-q", "--bare", "--filter=blob:none", f"file://{history.path}", str(path))
    return TestRepository(path)


def test_a_partial_clone_without_the_header_says_so_and_is_not_no_header(history: History, tmp_path: Path) -> None:
    clone = partial(history, tmp_path / "partial.git")
    found = reader(clone.path).at(None, history.six)
    assert (found.number, found.confidence) == (None, None)
    assert found.source.startswith(f"the clone lacks {history.six[:12]} or its {headers.NEW_PATH}")


def test_a_gap_in_the_clone_falls_back_to_the_ledger_and_both_are_named(history: History, tmp_path: Path) -> None:
    clone = partial(history, tmp_path / "partial.git")
    ledger = tmp_path / "ledger.tsv"
    ledger.write_text(
        f"ref\tnumber\tconvention\tconfidence\tsource\n{history.six}\t6\tbare-pointer\tread\tthe release notes\n"
    )
    found = reader(clone.path, ledger=ledger).at(None, history.six)
    assert (found.number, found.convention, found.confidence) == (6, "bare-pointer", "read")
    assert found.source == (f"ledger: the release notes (the clone lacks {history.six[:12]} or its {headers.NEW_PATH})")


def test_a_shallow_clone_answers_for_what_it_has(history: History, tmp_path: Path) -> None:
    history.repository.git("clone", "-q", "--depth=1", f"file://{history.path}", str(tmp_path / "shallow"))
    read = reader(tmp_path / "shallow")
    assert read.at(None, history.six).number == 6
    assert read.at(None, history.five_a).source.startswith(f"the clone lacks {history.five_a[:12]}")


def test_a_path_that_is_no_repository_is_a_named_gap(tmp_path: Path) -> None:
    found = reader(tmp_path).at(None, "rocm-5.4.0")
    assert (found.number, found.confidence) == (6, "inferred")
    assert "the clone of rocmlir cannot be read" in found.source


# -- the ledger -----------------------------------------------------------------------------------------------------


def test_without_a_clone_the_ledger_answers_and_is_labelled() -> None:
    read = reader()
    old, new, unknown = (read.at(SLUG, ref) for ref in (RECORDED_5, "rocm-5.4.0", "0" * 40))
    assert (old.number, old.convention, old.confidence) == (5, "memref-descriptor", "inferred")
    assert (new.number, new.convention, new.confidence) == (6, "bare-pointer", "inferred")
    assert new.source == "ledger: header never changed after 6 (no clone of rocmlir given)"
    assert (unknown.number, unknown.confidence) == (None, None)
    assert unknown.source == (
        "no clone of rocmlir given; not in the ledger; give a clone that has it: --repo rocmlir=PATH"
    )


def test_a_ledger_row_without_a_number_stays_unknown() -> None:
    found = reader().at(SLUG, "06a6d3fc1af1fdfbe706dbfcd588fb3744526124")
    assert (found.number, found.convention) == (None, "unknown")


def test_when_clone_and_ledger_disagree_the_clone_wins_and_it_is_said(history: History) -> None:
    history.repository.git("tag", "-f", "rocm-5.4.0", history.five_a)
    found = reader(history.path).at(None, "rocm-5.4.0")
    assert (found.number, found.convention, found.confidence) == (5, "memref-descriptor", "read")
    assert found.source.endswith("; the ledger says 6 (header never changed after 6); the header was believed")


def test_the_ledger_is_the_providers_not_a_strangers() -> None:
    assert reader().at("someone/rocMLIR", "rocm-5.4.0").number is None
    assert reader().at("someone/rocMLIR", RECORDED_5).number == 5


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("ref\tnumber\n", ":1", "not a ledger"),
        ("", ":1", "not a ledger"),
        ("{head}a\t5\n", ":2", "2 columns"),
        ("{head}a\tfive\tunknown\tread\tx\n", ":2", "'five' is no number"),
        ("{head}a\t5\tmaybe\tread\tx\n", ":2", "'maybe' is not accepted"),
        ("{head}a\t5\tother\tsure\tx\n", ":2", "'sure' is not accepted"),
    ],
)
def test_a_wrong_ledger_is_refused_with_its_line(tmp_path: Path, text: str, where: str, what: str) -> None:
    file = tmp_path / "ledger.tsv"
    file.write_text(text.replace("{head}", "ref\tnumber\tconvention\tconfidence\tsource\n"))
    with pytest.raises(UserError) as error:
        read_ledger(file)
    assert error.value.where == f"{file}{where}"
    assert what in error.value.what


# -- the forge ------------------------------------------------------------------------------------------------------


class Forge:
    """A stand-in for the three calls of GitHub's API that are used; it counts what is asked."""

    def __init__(self) -> None:
        self.files: dict[tuple[str, str], bytes] = {}
        self.commits: set[str] = set()
        self.refs: dict[str, str] = {}
        self.asked: list[str] = []
        self.status = 200

    def answer(self, path: str) -> tuple[int, object]:
        self.asked.append(path)
        if self.status != 200:
            return self.status, {"message": "no"}
        path, _, query = path.partition("?")
        base = "/repos/ROCm/rocMLIR"
        if path == base:
            return 200, {"full_name": "ROCm/rocMLIR", "url": f"{self.url}{base}"}
        if path.startswith(f"{base}/git/commits/"):
            sha = path.rsplit("/", 1)[1]
            return (200, {"sha": sha}) if sha in self.commits else (404, {"message": "Not Found"})
        if path.startswith(f"{base}/commits/"):
            sha = self.refs.get(path.removeprefix(f"{base}/commits/"))
            return (200, {"sha": sha}) if sha else (422, {"message": "No commit found for SHA"})
        name = path.removeprefix(f"{base}/contents/")
        data = self.files.get((query.removeprefix("ref="), name))
        if data is None:
            return 404, {"message": "Not Found"}
        content = base64.b64encode(data).decode()
        return 200, {"type": "file", "encoding": "base64", "size": len(data), "path": name, "content": content}

    url = ""


@pytest.fixture
def forge() -> Iterator[Forge]:
    stand_in = Forge()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = stand_in.answer(self.path)
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    stand_in.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield stand_in
    server.shutdown()
    server.server_close()
    thread.join()


def by_forge(forge: Forge, cache: Path, path: Path | None = None) -> AbiReader:
    loaded = project(path)
    return AbiReader(loaded, loaded.pin(), forge=ContentsApi(cache, forge.url))


def test_the_forge_is_asked_once_for_a_commit_and_kept_on_disk(forge: Forge, tmp_path: Path) -> None:
    commit = "a" * 40
    forge.commits.add(commit)
    forge.files[(commit, headers.MIIR_PATH)] = headers.VERSION_5B.encode()
    found = by_forge(forge, tmp_path).at(None, commit)
    assert (found.number, found.confidence) == (5, "read")
    assert found.source == f"{headers.MIIR_PATH} at aaaaaaaaaaaa by GitHub (no clone of rocmlir given)"
    asked = len(forge.asked)
    assert by_forge(forge, tmp_path).at(None, commit) == found
    assert len(forge.asked) == asked


def test_a_tag_is_resolved_by_the_forge(forge: Forge, tmp_path: Path) -> None:
    commit = "b" * 40
    forge.commits.add(commit)
    forge.refs["rocm-7.0.0"] = commit
    forge.files[(commit, headers.NEW_PATH)] = headers.VERSION_6.encode()
    found = by_forge(forge, tmp_path).at(None, "rocm-7.0.0")
    assert (found.number, found.confidence) == (6, "inferred")
    assert by_forge(forge, tmp_path).at(None, "rocm-7.9.9").source.startswith("no ref 'rocm-7.9.9' there")


def test_a_commit_that_the_forge_lacks_is_not_kept_as_no_header(forge: Forge, tmp_path: Path) -> None:
    commit = "c" * 40
    assert "GitHub: ROCm/rocMLIR has no commit cccccccccccc" in by_forge(forge, tmp_path).at(None, commit).source
    forge.commits.add(commit)
    forge.files[(commit, headers.NEW_PATH)] = headers.VERSION_6.encode()
    assert by_forge(forge, tmp_path).at(None, commit).number == 6


@pytest.mark.parametrize("status", [403, 500])
def test_a_forge_that_fails_is_a_named_gap_and_the_ledger_answers(
    forge: Forge, tmp_path: Path, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_0123456789abcdefghij")
    forge.status = status
    found = by_forge(forge, tmp_path).at(None, RECORDED_5)
    assert (found.number, found.confidence) == (5, "inferred")
    assert found.source.startswith("ledger: ")
    assert "GitHub: ROCm/rocMLIR cannot be read" in found.source
    assert "ghp_" not in found.source


def test_the_clone_is_asked_before_the_forge(forge: Forge, history: History, tmp_path: Path) -> None:
    assert by_forge(forge, tmp_path, history.path).at(None, history.six).number == 6
    assert forge.asked == []


def test_what_a_partial_clone_lacks_the_forge_gives(forge: Forge, history: History, tmp_path: Path) -> None:
    forge.commits.add(history.six)
    forge.files[(history.six, headers.NEW_PATH)] = headers.VERSION_6.encode()
    clone = partial(history, tmp_path / "partial.git")
    found = by_forge(forge, tmp_path / "cache", clone.path).at(None, history.six)
    assert (found.number, found.confidence) == (6, "read")
    assert "the clone lacks" in found.source


def test_a_file_larger_than_a_header_is_refused(forge: Forge, tmp_path: Path) -> None:
    commit = "d" * 40
    forge.commits.add(commit)
    forge.files[(commit, headers.NEW_PATH)] = b" " * (4 * 1024 * 1024 + 1)
    with pytest.raises(SourceError, match="more than is read"):
        ContentsApi(tmp_path, forge.url).read("ROCm/rocMLIR", commit, headers.NEW_PATH)


# -- what is shipped ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["miopen-rocmlir", "migraphx-rocmlir"])
def test_a_shipped_ledger_agrees_with_its_contract(name: str) -> None:
    for contract in load_project(name).contracts.values():
        assert contract.ledger is not None
        entries = read_ledger(contract.ledger)
        assert len(entries) > 20
        numbered = [entry for entry in entries.values() if entry.number is not None]
        assert [e.ref for e in numbered if e.convention != contract.convention_of(e.number)] == []
        # Nobody read a header for these rows.
        assert {entry.confidence for entry in entries.values()} == {"inferred"}


def test_migraphx_without_a_clone_is_told_by_the_consumers_guard() -> None:
    loaded = load_project("migraphx-rocmlir")
    read = AbiReader(loaded, loaded.pin())
    found = [
        read.at("ROCmSoftwarePlatform/rocMLIR", ref)
        for ref in (
            "d2cb9e580550e92ab75a0a417e7a4abd02a24edf",
            "c0723a7e50043d973cb73ae51dc30d36679ee7e5",
            "0f38fb33f518b53b94b541feb9b079668c5518e8",
            "a6880f1e6daec99876cd6a4820fbc69c57216401",
            "185433ba3666d0ced347422c4cd3494411902d7c",
        )
    ]
    assert [(v.number, v.convention, v.confidence) for v in found] == [
        (None, "memref-descriptor", "inferred"),
        (None, "unknown", None),
        (3, "bare-pointer", "inferred"),
        (4, "bare-pointer", "inferred"),
        (5, "bare-pointer", "inferred"),
    ]
