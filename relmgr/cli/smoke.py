"""`relmgr smoke`: prove the ABI on a device."""

from __future__ import annotations

from relmgr.cli import lazy_group

group = lazy_group(
    "smoke",
    "Small kernels under the ABI: right with matching arguments, refused with others.",
    {
        "plan": ("relmgr.cli.smoke_plan:plan", "The matrix that a run would launch; opens no device."),
        "run": ("relmgr.cli.smoke_run:run", "Build, check, launch and judge the matrix."),
    },
)
