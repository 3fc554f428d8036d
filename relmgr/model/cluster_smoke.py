"""A smoke run on several machines: a report for each arch, and the jobs it was put together from."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from relmgr.model.base import Noun
from relmgr.model.cluster import ClusterName, JobReport
from relmgr.model.smoke_report import SmokeReport


class ArchSmoke(Noun):
    """What the jobs of one arch proved. `arch` is None for the one machine that was asked for no arch.

    `reports` has one entry for each kind of device, driver and back end they met, mostly one; none where no job
    answered. With a job `missing` no report passes, whatever the others found.
    """

    arch: str | None
    reports: tuple[SmokeReport, ...]
    missing: dict[str, str] = Field(default={}, description="jobs without an answer, and why")
    verdict: Literal["passed", "failed"]

    @property
    def reasons(self) -> dict[str, str]:
        """Why answers are missing, each reason with the names of its jobs."""
        found: dict[str, list[str]] = {}
        for name, why in self.missing.items():
            found.setdefault(why, []).append(name)
        return {why: ", ".join(names) for why, names in found.items()}


class ClusterSmoke(Noun):
    """The document of `smoke run --cluster`. `folder` holds log, report and pages of every job."""

    cluster: ClusterName
    folder: str
    pin: str
    abi: int
    head: str | None
    archs: tuple[ArchSmoke, ...]
    jobs: tuple[JobReport, ...]
    verdict: Literal["passed", "failed"]

    @property
    def signed(self) -> bool:
        """Tell whether there are reports, all of them signed."""
        signatures = [report.signature for each in self.archs for report in each.reports]
        return bool(signatures) and all(signatures)
