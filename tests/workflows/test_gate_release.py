"""The gate on a cut and on a release, from clones: pins, consumers of one provider, databases."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from relmgr.cli import root
from relmgr.errors import run_to_exit_code
from tests.support.databases import fwd_row, other_row
from tests.support.repositories import TestRepository, new_repository
from tests.support.shipped_databases import OTHER_LINE, Files, Shipped, find_db, requirements, ship

DIALECT = "mlir/include/mlir-c/Dialect/MIGraphX.h"
MIIR = "mlir/tools/rocmlir-lib/Miir.h"


class Pair(NamedTuple):
    """MIOpen and MIGraphX, both consumers of rocMLIR; `at` maps a number of Miir.h to the provider's commit."""

    miopen: Shipped
    migraphx: TestRepository
    rocmlir: TestRepository
    at: dict[int, str]

    def repos(self, *names: str) -> list[str]:
        paths = {"miopen": self.miopen.repository, "migraphx": self.migraphx, "rocmlir": self.rocmlir}
        return [f"--repo={name}={paths[name].path}" for name in names or paths]


def headers(miir: int, dialect: int) -> Files:
    return {
        MIIR: f"#define MIIR_VERSION_FLAT {miir}\n",
        DIALECT: f"#define MLIR_MIGRAPHX_DIALECT_API_VERSION {dialect}\n",
    }


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    """At rocm-5.4.0 both pin commits of number 6; MIGraphX's is the newer one."""
    rocmlir = new_repository(tmp_path / "rocmlir")
    old = rocmlir.commit("5", headers(5, 1), at="2022-05-01T12:00:00-07:00")
    new = rocmlir.commit("6", headers(6, 2), at="2022-08-01T12:00:00-07:00")
    newer = rocmlir.commit("more", {"x": "y"}, at="2022-08-02T12:00:00-07:00")
    miopen = ship(tmp_path)
    miopen.repository.commit("Pin", {"requirements.txt": requirements(new)}, at="2022-09-01T12:00:00-07:00")
    migraphx = new_repository(tmp_path / "migraphx")
    migraphx.commit("Pin", {"requirements.txt": f"ROCm/rocMLIR@{newer}\n"}, at="2022-09-02T12:00:00-07:00")
    made = Pair(miopen, migraphx, rocmlir, {5: old, 6: new, 66: newer})
    tag(made, "rocm-5.4.0")
    return made


def tag(pair: Pair, name: str) -> None:
    for repository in (pair.miopen.repository, pair.migraphx):
        repository.git("tag", name)


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, dict[str, Any]]]:
    def run(*args: str) -> tuple[int, dict[str, Any]]:
        everything = ["gate", "check", *args, "--format", "json"]
        code = run_to_exit_code(lambda **options: root.main(args=everything, **options))
        said = capsys.readouterr()
        assert said.err == ""
        return code, json.loads(said.out)

    return run


def of(document: dict[str, Any], policy: str) -> tuple[str, dict[str, Any]]:
    found = next(v for v in document["verdicts"] if v["policy"] == policy)
    return found["outcome"], found["evidence"]


CONVENTION, COMMIT = "consumers-same-convention-at-release", "consumers-same-commit-at-release"
FRESH, BRANCH = "databases-fresh-at-release", "pin-not-a-branch-at-cut"


def test_a_release_whose_consumers_agree_may_ship(pair: Pair, check: Any) -> None:
    code, document = check("--release", "rocm-5.4.0", *pair.repos())
    assert (code, document["decision"], document["subject"]) == (0, "merge", "release rocm-5.4.0")
    judged = {v["policy"]: v["outcome"] for v in document["verdicts"] if v["outcome"] != "skipped"}
    assert judged == {CONVENTION: "passed", COMMIT: "failed", FRESH: "passed", BRANCH: "passed"}
    consumers = of(document, CONVENTION)[1]["consumers"]
    assert [(c["consumer"], c["number"], c["convention"]) for c in consumers] == [
        ("miopen", 6, "bare-pointer"),
        ("migraphx", 2, "bare-pointer"),
    ]
    assert of(document, FRESH)[1]["note"] == "no kernel database is in the tree"


def test_it_is_the_same_from_the_other_consumers_side(pair: Pair, check: Any) -> None:
    code, document = check("--release", "rocm-5.4.0", "--project", "migraphx-rocmlir", *pair.repos())
    assert (code, of(document, CONVENTION)[0]) == (0, "passed")
    assert [c["consumer"] for c in of(document, CONVENTION)[1]["consumers"]] == ["migraphx", "miopen"]


def test_consumers_of_two_conventions_block_a_release(pair: Pair, check: Any) -> None:
    """Each number is of its own contract: MIOpen's 6 and MIGraphX's 1 are compared by the convention they stand for."""
    pair.migraphx.commit("Back", {"requirements.txt": f"ROCm/rocMLIR@{pair.at[5]}\n"}, at="2022-10-02T12:00:00-07:00")
    tag(pair, "rocm-5.4.1")
    code, document = check("--release", "rocm-5.4.1", *pair.repos())
    outcome, evidence = of(document, CONVENTION)
    assert (code, outcome) == (1, "failed")
    assert evidence["statement"] == (
        f"miopen pins {pair.at[6][:12]}: bare-pointer; migraphx pins {pair.at[5][:12]}: memref-descriptor"
    )


def test_a_consumer_without_a_clone_is_unknown_and_never_left_out(pair: Pair, check: Any) -> None:
    code, document = check("--release", "rocm-5.4.0", *pair.repos("miopen", "rocmlir"))
    outcome, evidence = of(document, CONVENTION)
    assert (code, outcome) == (1, "unknown")
    assert evidence["unread"] == [
        "consumers: the convention at the pin of migraphx (no clone of ROCm/AMDMIGraphX at hand (--repo migraphx=PATH))"
    ]


def test_a_consumer_that_lacks_the_tag_is_unknown(pair: Pair, check: Any) -> None:
    pair.miopen.repository.git("tag", "rocm-5.4.1")
    outcome, evidence = of(check("--release", "rocm-5.4.1", *pair.repos())[1], CONVENTION)
    assert outcome == "unknown"
    assert "no tag rocm-5.4.1 in the clone of ROCm/AMDMIGraphX" in evidence["statement"]


def test_without_the_provider_a_tag_has_no_commit_to_compare(pair: Pair, check: Any) -> None:
    pair.miopen.repository.commit("By tag", {"requirements.txt": requirements("rocm-5.3.0")})
    pair.miopen.repository.git("tag", "rocm-5.3.1")
    pair.migraphx.git("tag", "rocm-5.3.1")
    outcome, evidence = of(check("--release", "rocm-5.3.1", *pair.repos("miopen", "migraphx"))[1], COMMIT)
    assert outcome == "unknown"
    assert "rocm-5.3.0 of miopen (ROCm/rocMLIR does not tell it: --repo rocmlir=PATH)" in evidence["statement"]


def test_p4_a_release_with_a_branch_pin_is_blocked(pair: Pair, check: Any) -> None:
    pair.rocmlir.git("branch", "release/rocm-5.4")
    pair.miopen.repository.commit("By branch", {"requirements.txt": requirements("release/rocm-5.4")})
    tag(pair, "rocm-5.4.2")
    code, document = check("--release", "rocm-5.4.2", *pair.repos())
    outcome, evidence = of(document, BRANCH)
    assert (code, outcome) == (1, "failed")
    assert evidence["statement"] == "the pin rocmlir names the branch release/rocm-5.4; the release is cut from it"
    assert of(document, COMMIT)[0] == "unknown"


@pytest.mark.parametrize(
    ("at", "says"),
    [
        ("2022-10-01", "the pin rocmlir names the branch release/rocm-5.4; rocm-5.4 is cut in 5 days"),
        ("2022-10-20", "the pin rocmlir names the branch release/rocm-5.4; the release is cut from it"),
    ],
)
def test_p4_a_cut_is_judged_by_its_own_train_before_and_after_its_day(
    pair: Pair, check: Any, at: str, says: str
) -> None:
    pair.rocmlir.git("branch", "release/rocm-5.4")
    changed: Files = {"requirements.txt": requirements("release/rocm-5.4")}
    pair.miopen.repository.commit("By branch", changed, at="2022-09-20T12:00:00-07:00")
    code, document = check("--cut", "rocm-5.4", "--at", at, *pair.repos())
    assert (code, document["subject"], of(document, BRANCH)[0]) == (1, "cut rocm-5.4", "failed")
    assert of(document, BRANCH)[1]["statement"] == says


def test_a_cut_is_judged_by_what_stood_there_then_and_later_by_its_branch(pair: Pair, check: Any) -> None:
    repository = pair.miopen.repository
    repository.git("branch", "release/rocm-rel-5.4")
    back: Files = {"requirements.txt": requirements(pair.at[5])}
    repository.commit("Back on develop", back, at="2022-11-01T12:00:00-07:00")
    for at in ("2022-09-10", "2022-12-01"):
        consumers = of(check("--cut", "5.4", "--at", at, *pair.repos())[1], CONVENTION)[1]["consumers"]
        assert consumers[0]["commit"] == pair.at[6]
    # 5.5 has no branch yet: its base branch is what will be cut.
    code, document = check("--cut", "rocm-5.5", "--at", "2022-12-01", *pair.repos())
    assert (code, of(document, CONVENTION)[1]["consumers"][0]["commit"]) == (1, pair.at[5])
    assert of(document, CONVENTION)[0] == "failed"


@pytest.fixture
def databases(pair: Pair) -> Pair:
    files = pair.miopen.database("gfx90a68.kdb", fwd_row("descriptor32"))
    files |= pair.miopen.database("gfx1030_36.kdb", other_row()) | find_db("gfx1030_36", OTHER_LINE)
    pair.miopen.repository.commit("Databases", files, at="2022-07-01T12:00:00-07:00")
    tag(pair, "rocm-5.4.3")
    return pair


def test_databases_that_were_not_scanned_are_unknown_at_a_release(databases: Pair, check: Any) -> None:
    code, document = check("--release", "rocm-5.4.3", *databases.repos())
    outcome, evidence = of(document, FRESH)
    assert (code, outcome) == (1, "unknown")
    assert [one["path"] for one in evidence["unscanned"]] == ["src/kernels/gfx90a68.kdb"]
    assert evidence["ruled_out"] == ["src/kernels/gfx1030_36.kdb"]


def test_stale_rows_block_a_release(databases: Pair, check: Any) -> None:
    scanned = f"--database={databases.miopen.contents}"
    code, document = check("--release", "rocm-5.4.3", scanned, *databases.repos())
    outcome, evidence = of(document, FRESH)
    assert (code, outcome) == (1, "failed")
    assert evidence["statement"] == "src/kernels/gfx90a68.kdb holds 1 stale rows"


def test_fresh_databases_ship_and_what_only_a_find_db_cleared_is_said(
    databases: Pair, check: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    fresh = databases.miopen.database("gfx90a68.kdb", fwd_row("bare"))
    databases.miopen.repository.commit("Rebuilt", fresh)
    tag(databases, "rocm-5.4.4")
    scanned = f"--database={databases.miopen.named['gfx90a68.kdb']}"
    code, document = check("--release", "rocm-5.4.4", scanned, *databases.repos())
    assert (code, of(document, FRESH)[0]) == (0, "passed")
    args = ["gate", "check", "--release", "rocm-5.4.4", scanned, *databases.repos()]
    assert run_to_exit_code(lambda **options: root.main(args=args, **options)) == 0
    text = capsys.readouterr().out
    assert text.startswith("release rocm-5.4.4: may ship: nothing blocks, nothing waits\n")
    assert "databases-fresh-at-release: by their find-dbs alone, not scanned: src/kernels/gfx1030_36.kdb\n" in text


def test_a_waiver_of_a_release_stands_on_a_branch(databases: Pair, check: Any, tmp_path: Path) -> None:
    """By an owner, for this release alone."""
    shipped = Path(__file__).parents[2] / "policies" / "projects" / "miopen-rocmlir.toml"
    project = tmp_path / "mine.toml"
    text = shipped.read_text().replace('zone = "America', 'owners = ["ada"]\nzone = "America')
    project.write_text(text.replace("../", f"{shipped.parents[1]}/"))
    waiver = (
        "waivers:\n  - policy: databases-fresh-at-release\n    subject: release rocm-5.4.4\n    until: 2099-12-31\n"
        "    by: ada\n    reason: the databases are shipped by another package\n"
    )
    databases.miopen.repository.commit("Waive", {".relmgr/waivers.yaml": waiver})
    tag(databases, "rocm-5.4.4")
    args = ("--project", str(project), *databases.repos())
    code, document = check("--release", "rocm-5.4.4", *args)
    assert (code, of(document, FRESH)[1]["waiver"]["state"]) == (0, "in force")
    assert "waiver" not in of(check("--release", "rocm-5.4.3", *args)[1], FRESH)[1]


def test_a_project_of_ones_own_has_no_siblings_unless_given(pair: Pair, check: Any, tmp_path: Path) -> None:
    shipped = Path(__file__).parents[2] / "policies" / "projects" / "miopen-rocmlir.toml"
    project = tmp_path / "mine.toml"
    text = shipped.read_text().replace('name = "miopen-rocmlir"', 'name = "mine"', 1)
    project.write_text(text.replace("../", f"{shipped.parents[1]}/"))
    args = ("--release", "rocm-5.4.0", "--project", str(project))
    assert [
        c["consumer"] for c in of(check(*args, *pair.repos("miopen", "rocmlir"))[1], CONVENTION)[1]["consumers"]
    ] == ["miopen"]
    assert len(of(check(*args, *pair.repos())[1], CONVENTION)[1]["consumers"]) == 2


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (("--release", "rocm-9.9.9"), 2, "no tag rocm-9.9.9 in the clone of ROCm/MIOpen"),
        (("--release", "rocm-5.4.0", "--at", "2020-01-01"), 2, "after --at"),
        (("--cut", "rocm-9.9"), 2, "no train 'rocm-9.9' in the calendar"),
        (("--cut", "rocm-5.4", "--at", "2019-01-01"), 2, "develop had no commit yet"),
        (("--cut", "rocm-5.4", "--trains", "nothing.yaml"), 2, "nothing.yaml"),
    ],
)
def test_mistakes_are_named(
    pair: Pair, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], code: int, says: str
) -> None:
    everything = ["gate", "check", *args, *pair.repos()]
    assert run_to_exit_code(lambda **options: root.main(args=everything, **options)) == code
    said = capsys.readouterr().err
    assert says in said
    assert "Traceback" not in said


def test_the_facts_of_a_release_can_be_recorded_and_replayed(
    databases: Pair, check: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "facts.json"
    live = check("--release", "rocm-5.4.3", "--record", str(record), *databases.repos())[1]
    again = check("--snapshot", str(record))[1]
    assert (live.pop("judged"), again.pop("judged")) == ("live", "recorded")
    assert live == again
