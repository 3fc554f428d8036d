"""The audit: MIOpen's releases from recorded tables, and an invented pair of which nothing is known beforehand."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timezone
from pathlib import Path

import pytest

from relmgr.model.audit import Audit
from relmgr.settings import load_project
from relmgr.workflows.audit import run_audit
from relmgr.workflows.status import compatibility, show_status
from tests.support.graph import build_graph_repository
from tests.support.invented import Invented, invent, pointer

EIGHT = ["gfx1030_36", "gfx900_56", "gfx900_64", "gfx906_60", "gfx906_64", "gfx90878", "gfx90a68", "gfx90a6e"]
FIVE = ["gfx1030_36", "gfx900_56", "gfx900_64", "gfx906_60", "gfx906_64"]


@pytest.fixture(scope="module")
def miopen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Audit, Path]:
    built = build_graph_repository(tmp_path_factory.mktemp("graph") / "miopen")
    project = load_project("miopen-rocmlir", {"miopen": str(built.path)})
    document, _ = run_audit(project, project.pin(), datetime(2024, 11, 1, tzinfo=timezone.utc))
    return document, built.path


def databases_at(document: Audit, release: str) -> dict[str, list[str]]:
    found = defaultdict(list)
    for finding in document.findings:
        if finding.release == release and finding.path:
            found[finding.kind].append(finding.path.removeprefix("src/kernels/").partition(".")[0])
    return {kind: sorted(names) for kind, names in found.items()}


def test_at_5_4_0_all_eight_databases_are_suspected(miopen: tuple[Audit, Path]) -> None:
    assert databases_at(miopen[0], "rocm-5.4.0") == {"database-stale-suspected": EIGHT}


@pytest.mark.parametrize("release", ["rocm-5.4.1", "rocm-5.4.2", "rocm-5.4.3", "rocm-5.4.4"])
def test_from_5_4_1_five_stay_suspected_and_three_changed(miopen: tuple[Audit, Path], release: str) -> None:
    assert databases_at(miopen[0], release) == {
        "database-stale-suspected": FIVE,
        "database-changed-since": ["gfx90878", "gfx90a68", "gfx90a6e"],
    }


def test_at_5_5_0_seven_are_repacked_and_say_what_they_were(miopen: tuple[Audit, Path]) -> None:
    document, _ = miopen
    assert databases_at(document, "rocm-5.5.0") == {
        "database-repacked": [*FIVE, "gfx90878", "gfx90a68"],
        "database-changed-since": ["gfx90a6e"],
    }
    was = {f.path: f.evidence["was"] for f in document.findings if f.release == "rocm-5.5.0" and "was" in f.evidence}
    (old,) = was["src/kernels/gfx1030_36.kdb.bz2"]  # type: ignore[misc]
    assert old["path"] == "src/kernels/gfx1030_36.kdb"
    assert old["oid"].startswith("5ddf214cd32e")
    assert old["after_crossing"] is False


def test_before_the_crossing_nothing_is_suspected(miopen: tuple[Audit, Path]) -> None:
    assert databases_at(miopen[0], "rocm-5.3.0") == {}


def test_merging_by_arch_is_repacking_and_a_revert_keeps_the_older_age(miopen: tuple[Audit, Path]) -> None:
    document, _ = miopen
    assert databases_at(document, "rocm-5.7.0")["database-repacked"] == ["gfx1030", "gfx900", "gfx906"]
    gfx908 = next(f for f in document.findings if f.release == "rocm-5.6.0" and f.path and "gfx90878" in f.path)
    # #2102 and its undoing brought this content back twice; it is as old as the re-packing of 2023-03-21.
    assert gfx908.committed_at is not None
    assert gfx908.committed_at.date().isoformat() == "2023-03-21"


def test_the_other_hazards(miopen: tuple[Audit, Path]) -> None:
    document, _ = miopen
    crossings = [f for f in document.findings if f.kind == "abi-crossing" and f.outcome.value == "failed"]
    assert [(f.pr, f.evidence["number"]) for f in crossings] == [(1673, "5 -> 6")]
    unknown = [f for f in document.findings if f.kind == "abi-crossing" and f.outcome.value == "unknown"]
    assert [(f.evidence["changes"], f.evidence["until"]) for f in unknown] == [(4, "2021-05-07")]
    assert unknown[0].remedy.endswith("give the provider's clone to read its header")
    assert [f.release for f in document.findings if f.kind == "branch-pin-at-release"] == [
        "rocm-5.1.0",
        "rocm-5.1.1",
        "rocm-5.1.3",
        "rocm-5.2.0",
        "rocm-5.2.1",
        "rocm-5.2.3",
    ]
    assert 1774 in [f.pr for f in document.findings if f.kind == "digest-drift"]
    assert [f.pr for f in document.findings if f.kind == "revert"] == [1901]
    assert [f.evidence["age_days"] for f in document.findings if f.kind == "pin-age"] == [647]


def test_the_compatibility_table(miopen: tuple[Audit, Path]) -> None:
    project = load_project("miopen-rocmlir", {"miopen": str(miopen[1])})
    rows = {row.release: row for row in compatibility(project, project.pin())}
    assert (rows["rocm-4.2.0"].pin, rows["rocm-4.2.0"].convention) == (None, "unknown")
    assert (rows["rocm-5.2.0"].pin, rows["rocm-5.2.0"].number) == ("release/rocm-5.2", 5)
    assert (rows["rocm-5.4.0"].number, rows["rocm-5.4.0"].convention) == (6, "bare-pointer")
    assert {d.state for d in rows["rocm-5.3.0"].databases} == {"no-crossing"}
    assert list(rows)[:3] == ["rocm-3.5.0", "rocm-3.7.0", "rocm-3.8.0"]


def test_status_as_of_a_day(miopen: tuple[Audit, Path]) -> None:
    project = load_project("miopen-rocmlir", {"miopen": str(miopen[1])})
    status = show_status(project, project.pin(), datetime(2022, 12, 1, tzinfo=timezone.utc))
    assert status.pin.live is not None
    assert (status.pin.live.ref, status.pin.abi.number if status.pin.abi else None) == ("rocm-5.4.0", 6)
    assert status.latest_release is not None
    assert status.latest_release.release == "rocm-5.4.0"
    assert status.crossing is not None
    assert status.crossing.pr == 1673


# -- the invented pair -------------------------------------------------------------------------------------------------


@pytest.fixture
def shipped_pair(tmp_path: Path) -> Invented:
    """A consumer that crosses 42 -> 50 between two releases, with three databases of different fates."""
    pair = invent(tmp_path)
    at, gadget = pair.forge_at, pair.gadget
    day = "2030-03-{:02d}T12:00:00+01:00".format
    gadget.commit(
        "start",
        {"forge.pin": f"{at[42]}\n", **{f"kernels/gfx{n}.kdb": pointer(str(n)[0]) for n in (900, 1030, 803)}},
        at=day(1),
    )
    gadget.git("tag", "v1.0.0")
    gadget.commit("Refresh the docs", {"forge.pin": f"{at[50]}\n"}, at=day(2))
    gadget.commit("new kernels", {"kernels/gfx1030.kdb": pointer("a")}, at=day(3))
    gadget.git("tag", "v1.1.0")
    gadget.commit("undo", {"kernels/gfx1030.kdb": pointer("1")}, at=day(4))
    gadget.commit("split", {"kernels/gfx803.kdb": None, "kernels/gfx803_36.kdb": pointer("b")}, at=day(5))
    gadget.git("tag", "v1.2.0")
    return pair


def states(document: Audit, release: str) -> dict[str, str]:
    return {f.path: f.kind for f in document.findings if f.release == release and f.path}


def audit_of(pair: Invented) -> Audit:
    project = pair.project()
    return run_audit(project, project.pin(), datetime(2030, 4, 1, tzinfo=timezone.utc))[0]


def test_an_invented_pair_is_judged_the_same_way(shipped_pair: Invented) -> None:
    document = audit_of(shipped_pair)
    assert states(document, "v1.0.0") == {}
    assert states(document, "v1.1.0") == {
        "kernels/gfx1030.kdb": "database-changed-since",
        "kernels/gfx803.kdb": "database-stale-suspected",
        "kernels/gfx900.kdb": "database-stale-suspected",
    }
    # Old content under a new commit is as old as it was; a split by arch is a re-packing.
    assert states(document, "v1.2.0") == {
        "kernels/gfx1030.kdb": "database-stale-suspected",
        "kernels/gfx803_36.kdb": "database-repacked",
        "kernels/gfx900.kdb": "database-stale-suspected",
    }


def test_one_number_in_the_providers_header_changes_the_story(shipped_pair: Invented) -> None:
    text = shipped_pair.file.read_text()
    shipped_pair.file.write_text(text.replace('50 = "bare-pointer"', '50 = "memref-descriptor"'))
    document = audit_of(shipped_pair)
    assert [f.kind for f in document.findings if f.kind == "abi-crossing"] == []
    assert [f.evidence["number"] for f in document.findings if f.kind == "number-changed"] == ["42 -> 50"]
    assert states(document, "v1.1.0") == {}


def test_an_unknown_number_is_never_fresh(shipped_pair: Invented) -> None:
    text = shipped_pair.file.read_text()
    shipped_pair.file.write_text(text.replace('50 = "bare-pointer"\n', ""))
    document = audit_of(shipped_pair)
    (crossing,) = (f for f in document.findings if f.kind == "abi-crossing")
    assert crossing.outcome.value == "unknown"
    assert crossing.remedy.startswith("their headers were read"), "the provider's clone was given: do not ask for it"
    project = shipped_pair.project()
    rows = {row.release: row for row in compatibility(project, project.pin())}
    assert {d.state for d in rows["v1.1.0"].databases} == {"unknown"}


def test_a_branch_cut_before_the_crossing_is_judged_by_its_own_line(shipped_pair: Invented) -> None:
    gadget = shipped_pair.gadget
    gadget.git("switch", "-q", "-c", "stable/1.0", "v1.0.0")
    gadget.commit("fix", {"fix": "1"}, at="2030-03-20T12:00:00+01:00")
    gadget.git("tag", "v1.0.1")
    assert states(audit_of(shipped_pair), "v1.0.1") == {}


def test_kernels_built_on_a_topic_forked_before_the_crossing_are_suspected(shipped_pair: Invented) -> None:
    gadget = shipped_pair.gadget
    gadget.git("switch", "-q", "-c", "topic", "v1.0.0")
    gadget.commit("kernels of a topic", {"kernels/gfx942.kdb": pointer("c")}, at="2030-03-21T12:00:00+01:00")
    gadget.git("switch", "-q", "trunk")
    gadget.git("merge", "-q", "--no-edit", "topic", at="2030-03-22T12:00:00+01:00")
    gadget.git("tag", "v1.3.0")
    assert states(audit_of(shipped_pair), "v1.3.0")["kernels/gfx942.kdb"] == "database-stale-suspected"


def test_a_missing_pin_file_at_a_release_is_a_named_gap(shipped_pair: Invented) -> None:
    gadget = shipped_pair.gadget
    oid = gadget.git("rev-parse", "v1.0.0:forge.pin")
    (gadget.path / ".git/objects" / oid[:2] / oid[2:]).unlink()
    document = audit_of(shipped_pair)
    gaps = [f for f in document.findings if f.kind == "source-gap"]
    assert {f.outcome.value for f in gaps} == {"unknown"}
    assert any(f.release == "v1.0.0" and "forge.pin" in str(f.evidence["not_read"]) for f in gaps)


def test_an_api_that_changed_under_one_number_is_its_own_finding(tmp_path: Path) -> None:
    pair = invent(tmp_path)
    header = (pair.forge.path / "include/forge.h").read_text()
    changed = pair.forge.commit(
        "more calls", {"include/forge.h": header.replace("#endif\n", "int forgeCount(void);\n#endif\n")}
    )
    for number, sha in enumerate((pair.forge_at[50], changed)):
        pair.gadget.commit(f"pin {number}", {"forge.pin": f"{sha}\n"})
    (finding,) = [f for f in audit_of(pair).findings if f.kind == "api-changed-number-not"]
    assert finding.commit == pair.gadget.git("rev-parse", "HEAD")
    assert finding.evidence["changed"] == ["+ int forgeCount(void)"]


def test_an_unknown_arch_in_a_databases_name_is_a_finding(shipped_pair: Invented) -> None:
    gadget = shipped_pair.gadget
    gadget.commit("a new arch", {"kernels/gfx99999.kdb": pointer("d")}, at="2030-03-23T12:00:00+01:00")
    gadget.git("tag", "v1.4.0")
    gaps = [f for f in audit_of(shipped_pair).findings if f.kind == "source-gap"]
    assert [(f.release, f.path) for f in gaps] == [("v1.4.0", "kernels/gfx99999.kdb")]


def test_p11_a_reverted_crossing_makes_the_older_kernels_fit_again(shipped_pair: Invented) -> None:
    gadget, at = shipped_pair.gadget, shipped_pair.forge_at
    bump = gadget.git("log", "--format=%H", "--grep=Refresh the docs")
    message = f'Revert "Refresh the docs"\n\nThis reverts commit {bump}.'
    gadget.commit(message, {"forge.pin": f"{at[42]}\n"}, at="2030-03-24T12:00:00+01:00")
    gadget.git("tag", "v1.5.0")
    document = audit_of(shipped_pair)
    assert "kernels/gfx900.kdb" not in states(document, "v1.5.0")
    gadget.commit("new kernels under 42", {"kernels/gfx900.kdb": pointer("e")}, at="2030-03-25T12:00:00+01:00")
    gadget.commit("again (#9)", {"forge.pin": f"{at[50]}\n"}, at="2030-03-26T12:00:00+01:00")
    gadget.git("tag", "v1.6.0")
    assert states(audit_of(shipped_pair), "v1.6.0")["kernels/gfx900.kdb"] == "database-stale-suspected"


def test_a_scan_decides_over_a_databases_age(tmp_path: Path) -> None:
    from relmgr.workflows.demo import rebuild

    repositories = rebuild(tmp_path / "demo")
    project = load_project("miopen-rocmlir", {name: str(path) for name, path in repositories.items()})
    document, facts = run_audit(project, project.pin(), None, [str(tmp_path / "demo" / "databases")])
    scanned = {f.release: f for f in document.findings if f.kind == "database-stale"}
    older, newer = scanned["rocm-5.4.0"], scanned["rocm-5.4.1"]
    assert (older.outcome.value, older.evidence["stale_rows"], older.path) == ("failed", 5, "src/kernels/gfx90a68.kdb")
    assert (newer.outcome.value, newer.evidence["stale_rows"], newer.label) == ("passed", 0, "scanned, no stale row")
    assert {scan.provider_rows for scan in facts.scans} == {5}
