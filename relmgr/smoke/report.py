"""Make a report of results: bound to pin, number, device and head, with a verdict. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from relmgr.model.base import Noun
from relmgr.model.smoke import CellResult, DeviceInfo
from relmgr.model.smoke_report import SmokeReport

UNBOUND = "none"


class Binding(Noun):
    """What a report is about. `pin` is the provider's ref, `head` the consumer's commit (None: no clone was given)."""

    pin: str = UNBOUND
    abi: int
    head: str | None = None


def make_report(
    info: DeviceInfo, binding: Binding, results: Sequence[CellResult], taken_at: datetime | None = None
) -> SmokeReport:
    """Return the unsigned report. It passes when every cell ended as it must and the number under test ran right."""
    proved = any(r.cell.matching and r.cell.kernel_abi == binding.abi and r.as_expected for r in results)
    return SmokeReport(
        backend=info.backend,
        double=info.double,
        emulated=info.emulated,
        device=info.device,
        arch=info.arch,
        driver=info.driver,
        pin=binding.pin,
        abi=binding.abi,
        head=binding.head,
        taken_at=taken_at,
        cases=tuple(result.case for result in results),
        verdict="passed" if proved and all(result.as_expected for result in results) else "failed",
    )


def failed_by_environment(results: Sequence[CellResult]) -> bool:
    """Tell whether nothing but the device or the harness failed: no answer about the kernels, rather than a bad one."""
    bad = [result for result in results if not result.as_expected]
    return bool(bad) and all(result.case.outcome == "error" for result in bad)
