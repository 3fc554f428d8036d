"""The audit narrowed by find-dbs: a database that can hardly hold the provider's rows says so, and stays unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from relmgr.model.audit import AuditFinding
from relmgr.render.engine import render
from relmgr.workflows.audit import run_audit
from tests.support.databases import fwd_row, other_row
from tests.support.shipped_databases import (
    ABI6,
    FOLDER,
    OTHER_LINE,
    PROVIDER_LINE,
    Shipped,
    find_db,
    requirements,
    ship,
)

REMEDY = (
    "its find-db names no solver of the provider's, so it probably holds none of those kernels; that is no scan: "
    "older than the crossing and not scanned: fetch it and run `relmgr kdb scan`"
)


@pytest.fixture
def shipped(tmp_path: Path) -> Shipped:
    """Three databases, older than the crossing that rocm-5.4.0 ships."""
    made = ship(tmp_path)
    files = made.database("gfx90a68.kdb", fwd_row("descriptor32"))
    files |= made.database("gfx900_56.kdb", other_row())
    files |= made.database("gfx1030_36.kdb", other_row(args=" -mcpu=gfx1030"))
    files |= find_db("gfx90a68", PROVIDER_LINE) | find_db("gfx1030_36", OTHER_LINE)
    made.repository.commit("Databases", files, at="2022-07-01T12:00:00-07:00")
    made.repository.git("tag", "rocm-5.3.0")
    made.repository.commit("Tidy up (#7)", {"requirements.txt": requirements(ABI6)}, at="2022-09-29T12:00:00-07:00")
    made.repository.git("tag", "rocm-5.4.0")
    return made


def findings(shipped: Shipped, *databases: str) -> dict[str, AuditFinding]:
    project = shipped.project()
    document, _ = run_audit(project, project.pin(), None, databases)
    return {f.path.removeprefix(f"{FOLDER}/"): f for f in document.findings if f.path and f.release == "rocm-5.4.0"}


def test_a_find_db_that_names_none_narrows_the_suspicion(shipped: Shipped) -> None:
    found = findings(shipped)
    assert {f.kind for f in found.values()} == {"database-stale-suspected"}
    assert {f.outcome.value for f in found.values()} == {"unknown"}
    narrowed = found["gfx1030_36.kdb"]
    assert (narrowed.level.value, narrowed.remedy) == ("warn", REMEDY)
    assert narrowed.evidence["may_hold"] is False
    assert narrowed.evidence["find_db"] == {"files": (f"{FOLDER}/gfx1030_36.HIP.fdb.txt",), "why": ""}


def test_one_that_names_such_solvers_or_is_missing_narrows_nothing(shipped: Shipped) -> None:
    found = findings(shipped)
    held, missing = found["gfx90a68.kdb"], found["gfx900_56.kdb"]
    assert (held.level.value, held.evidence["may_hold"]) == ("block", True)
    assert (missing.level.value, missing.evidence["may_hold"]) == ("block", None)
    assert missing.evidence["find_db"] == {"files": (), "why": "no find-db of it stands beside it"}
    assert {held.remedy, missing.remedy} == {REMEDY.partition("scan: ")[2]}


def test_the_text_names_the_narrowed_ones_apart(shipped: Shipped) -> None:
    project = shipped.project()
    document, _ = run_audit(project, project.pin())
    lines = [line.strip() for line in render("audit/audit.txt.j2", d=document).splitlines() if ".kdb" in line]
    assert lines == [
        "older than the crossing, in rocm-5.4.0: gfx900_56.kdb, gfx90a68.kdb",
        "unlikely by its find-db, in rocm-5.4.0: gfx1030_36.kdb",
    ]


def test_a_scan_decides_over_what_a_find_db_lets_suppose(shipped: Shipped) -> None:
    found = findings(shipped, str(shipped.contents))
    assert {name: (f.kind, f.outcome.value) for name, f in found.items()} == {
        "gfx1030_36.kdb": ("database-stale", "passed"),
        "gfx900_56.kdb": ("database-stale", "passed"),
        "gfx90a68.kdb": ("database-stale", "failed"),
    }
    assert "may_hold" not in found["gfx1030_36.kdb"].evidence
