"""The built wheel carries the data, and an installed copy finds it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_wheel_holds_policies_templates_and_types(tmp_path: Path) -> None:
    code = (
        "import sys; from hatchling.builders.wheel import WheelBuilder; "
        "print(next(iter(WheelBuilder(sys.argv[1]).build(directory=sys.argv[2], versions=['standard']))))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(ROOT), str(tmp_path)], capture_output=True, text=True, check=True
    )
    with zipfile.ZipFile(run.stdout.strip()) as wheel:
        names = set(wheel.namelist())
        wheel.extractall(tmp_path / "site")
    for folder in ("policies", "templates"):
        shipped = {f"relmgr/{path.relative_to(ROOT)}" for path in (ROOT / folder).rglob("*") if path.is_file()}
        assert shipped, folder
        assert shipped <= names, sorted(shipped - names)[:5]
    assert "relmgr/py.typed" in names
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/", "relmgr/tests"))]
    seen = subprocess.run(
        [sys.executable, "-c", "import relmgr.resources as r; print(r.shipped('policies'))"],
        cwd=tmp_path / "site",
        capture_output=True,
        text=True,
        check=True,
    )
    assert seen.stdout.strip() == str(tmp_path / "site" / "relmgr" / "policies")
