"""`relmgr status`: which release is called the latest."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest

from relmgr.settings import load_project
from relmgr.workflows.status import show_status
from tests.support.repositories import new_repository


@pytest.mark.parametrize(
    ("tags", "latest"),
    [
        (["rocm-5.3", "rocm-5.3.0"], "rocm-5.3.0"),
        (["rocm-5.3.0", "rocm-5.3", "rocm-5.2.3"], "rocm-5.3.0"),
        (["rocm-6.0.0", "rocm-6.0.2"], "rocm-6.0.2"),
        (["rocm-5.9.1", "rocm-5.10"], "rocm-5.10"),
    ],
)
def test_of_tags_on_one_commit_the_last_full_name_is_the_latest(tags: list[str], latest: str, tmp_path: Path) -> None:
    """MIOpen tagged one commit `rocm-5.3` and `rocm-5.3.0`."""
    clone = new_repository(tmp_path / "miopen")
    clone.commit("pin", {"requirements.txt": "ROCmSoftwarePlatform/rocMLIR@rocm-5.3.0\n"}, at="2022-09-30T12:00:00Z")
    for tag in tags:
        clone.git("tag", tag)
    project = load_project("miopen-rocmlir", {"miopen": str(clone.path)})
    status = show_status(project, project.pin(), datetime(2022, 10, 10, tzinfo=timezone.utc))
    assert status.latest_release is not None
    assert status.latest_release.release == latest
