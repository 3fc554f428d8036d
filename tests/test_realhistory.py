"""The figures that must hold on real clones: MIOpen (a bare mirror and a normal clone of it), AMDMIGraphX, TheRock."""

from __future__ import annotations

import csv
import os
import subprocess
from collections import defaultdict
from datetime import datetime, timezone
from pathlib import Path

import pytest

from relmgr.model.project import Project
from relmgr.settings import load_project
from relmgr.sources.git.clone import Clone
from relmgr.sources.pins.history import all_refs, one_branch, pin_history, pin_state, release_branches
from relmgr.sources.provider.abi import AbiReader
from relmgr.workflows.audit import run_audit
from tests.sources.pins.test_pins import DEVELOP
from tests.workflows.test_audit import EIGHT, FIVE

pytestmark = pytest.mark.realhistory
DATA = Path(__file__).parent / "data"


def clone_of(name: str) -> Path:
    path = os.environ.get(f"RELMGR_{name}_CLONE")
    if not path:
        pytest.skip(f"RELMGR_{name}_CLONE names no clone")
    return Path(path)


@pytest.fixture(scope="module", params=["mirror", "clone"])
def miopen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Clone]:
    path = clone_of("MIOPEN")
    if request.param == "clone":
        made = tmp_path_factory.mktemp("miopen") / "clone"
        subprocess.run(["git", "clone", "-q", "--no-checkout", "--shared", str(path), str(made)], check=True)
        path = made
    return load_project("miopen-rocmlir", {"miopen": str(path)}), Clone.open(path)


def test_develop(miopen: tuple[Project, Clone]) -> None:
    project, clone = miopen
    history = pin_history(
        clone, project, project.pin(), one_branch(clone, "develop"), AbiReader(project, project.pin())
    )
    assert [(c.commit[:9], c.pr, " ".join(c.kinds)) for c in history.changes] == DEVELOP
    assert [c.commit[:9] for c in history.changes if c.abi and c.abi.crossing] == ["5c6664021"]
    by_pr = {c.pr: c for c in history.changes}
    assert by_pr[1901].reverts == by_pr[1886].commit == by_pr[1897].rebump_of
    assert history.gaps == ()


def test_release_branches_have_the_recorded_91(miopen: tuple[Project, Clone]) -> None:
    project, clone = miopen
    history = pin_history(clone, project, project.pin(), release_branches(clone, project.repositories["miopen"]))
    with (DATA / "miopen_mlir_pins.tsv").open() as file:
        recorded = {r["commit"][:9] for r in csv.DictReader(file, delimiter="\t") if r["file"] != "CMakeLists.txt"}
    assert {c.commit[:9] for c in history.changes} == recorded
    assert len(history.changes) == 91


def test_over_all_refs_one_crossing_has_a_known_old_side(miopen: tuple[Project, Clone]) -> None:
    project, clone = miopen
    history = pin_history(clone, project, project.pin(), all_refs(clone), AbiReader(project, project.pin()))
    assert [c.commit[:9] for c in history.changes if c.abi and c.abi.crossing] == ["5c6664021"]


def test_release_tags_row_by_row(miopen: tuple[Project, Clone]) -> None:
    project, clone = miopen
    with (DATA / "miopen_release_tag_pins.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        state = pin_state(clone, project, project.pin(), f"refs/tags/{row['tag']}")
        assert clone.resolve(
            f"refs/tags/{row['tag']}",
        ).startswith(row["commit"])  # type: ignore[union-attr]
        pin = state.pin
        if row["pin"] == "-":
            assert pin is None, row["tag"]
            continue
        assert pin is not None, row["tag"]
        written = f"MLIR_COMMIT={pin.ref}" if pin.site.startswith("Dockerfile") else f"{pin.repository}@{pin.ref}"
        assert (pin.site.partition(":")[0], written) == (row["pin_file"], row["pin"]), row["tag"]
        assert (pin.digest or "-").removeprefix("sha256:") == row["hash"].removeprefix("sha256:"), row["tag"]


def test_databases_at_releases(miopen: tuple[Project, Clone]) -> None:
    project, _ = miopen
    document, _ = run_audit(project, project.pin(), datetime(2024, 11, 1, tzinfo=timezone.utc))
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for finding in document.findings:
        if finding.release and finding.path:
            found[finding.release][finding.kind].append(finding.path.rpartition("/")[2].partition(".")[0])
    changed = ["gfx90878", "gfx90a68", "gfx90a6e"]
    assert found["rocm-5.4.0"] == {"database-stale-suspected": EIGHT}
    for release in ("rocm-5.4.1", "rocm-5.4.2", "rocm-5.4.3", "rocm-5.4.4"):
        assert found[release] == {"database-stale-suspected": FIVE, "database-changed-since": changed}
    assert found["rocm-5.5.0"] == {
        "database-repacked": [*FIVE, "gfx90878", "gfx90a68"],
        "database-changed-since": ["gfx90a6e"],
    }


def test_migraphx_by_configuration_alone() -> None:
    project = load_project("migraphx-rocmlir", {"migraphx": str(clone_of("MIGRAPHX"))})
    clone = Clone.open(clone_of("MIGRAPHX"))
    history = pin_history(
        clone, project, project.pin(), one_branch(clone, "f729a52fa"), AbiReader(project, project.pin())
    )
    assert len(history.changes) == 125
    assert len({c.new.ref for c in history.changes if c.new}) == 122
    kinds = {c.pr: c.kinds for c in history.changes}
    assert (kinds[2063], kinds[2184]) == (("removed",), ("restored",))
    state = pin_state(clone, project, project.pin(), "f729a52fa")
    assert state.agree is False
    assert {s.site for s in state.sites} == {"requirements.txt", "tools/docker/ubuntu_2204.dockerfile"}
    crossings = [c.abi for c in history.changes if c.abi and c.abi.crossing]
    assert {(abi.old_convention, abi.new) for abi in crossings} <= {("memref-descriptor", 2)}


@pytest.mark.parametrize(("path", "changes"), [("rocm-libraries", 126), ("compiler/amd-llvm", 75)])
def test_therocks_gitlinks_by_configuration_alone(tmp_path: Path, path: str, changes: int) -> None:
    (tmp_path / "therock.toml").write_text(
        'name = "therock"\n[repositories.therock]\nslug = "ROCm/TheRock"\n[repositories.provider]\nslug = "ROCm/x"\n'
        '[[pins]]\nname = "link"\nconsumer = "therock"\nprovider = "provider"\n'
        f'sites = [{{ kind = "gitlink", path = "{path}" }}]\n'
    )
    project = load_project(str(tmp_path / "therock.toml"), {"therock": str(clone_of("THEROCK"))})
    clone = Clone.open(clone_of("THEROCK"))
    history = pin_history(clone, project, project.pin(), one_branch(clone, "ad890087660d1ca9aa8fc1bb05be187f12a03d56"))
    assert len(history.changes) == changes
    assert {c.new.ref_kind for c in history.changes if c.new} == {"sha"}


@pytest.mark.parametrize(
    ("slug", "aliases", "changes"),
    [
        ("ROCm/composable_kernel", '"ROCmSoftwarePlatform/composable_kernel"', 48),
        ("ROCm/half", '"ROCmSoftwarePlatform/half", "pfultz2/half"', 3),
        ("nlohmann/json", "", 2),
    ],
)
def test_miopens_other_pins_by_configuration_alone(
    miopen: tuple[Project, Clone], tmp_path: Path, slug: str, aliases: str, changes: int
) -> None:
    (tmp_path / "other.toml").write_text(
        f'name = "other"\n[repositories.miopen]\nslug = "ROCm/MIOpen"\n[repositories.other]\nslug = "{slug}"\n'
        f'aliases = [{aliases}]\n[[pins]]\nname = "other"\nconsumer = "miopen"\nprovider = "other"\n'
        'sites = [{ kind = "cget", path = "requirements.txt" }]\n'
    )
    _, clone = miopen
    project = load_project(str(tmp_path / "other.toml"), {"miopen": str(clone.path)})
    history = pin_history(clone, project, project.pin(), one_branch(clone, "develop"))
    assert len(history.changes) == changes
