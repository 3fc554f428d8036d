"""`relmgr smoke run --cluster`: the matrix of every arch, cut by direction into jobs, and one report an arch."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from relmgr import __version__
from relmgr.cluster.jobs import OnAttempt
from relmgr.errors import UserError
from relmgr.model.base import Noun
from relmgr.model.cluster import OUTPUT, ClusterName, ClusterSettings, Job, JobReport
from relmgr.model.cluster_smoke import ArchSmoke, ClusterSmoke
from relmgr.model.project import Project
from relmgr.model.smoke_report import SmokeReport
from relmgr.smoke.plan import Selection
from relmgr.smoke.report import UNBOUND, Binding
from relmgr.smoke.signing import sign_with_key, sign_with_secret
from relmgr.workflows.cluster import read_output, run_on

_ARCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,60}")
# Each job leaves these beside its log.
_PAGES = ("--junit", "junit.xml", "--html", "matrix.html")


class SmokeJobs(Noun):
    """What every job is told: `arguments` name project and pin, `limit` is in seconds a launch."""

    arguments: tuple[str, ...]
    backend: str
    selection: Selection
    launch_mismatches: bool = False
    limit: float = 10.0
    workers: int = 2


def smoke_on(
    cluster: ClusterName,
    project: Project,
    archs: Sequence[str | None],
    binding: Binding,
    what: SmokeJobs,
    folder: Path,
    told: OnAttempt,
) -> ClusterSmoke:
    """Run the matrix on every one of `archs`, and return unsigned reports with what became of each job."""
    jobs = [job for arch in archs for job in _jobs_of(arch, project.cluster, binding, what)]
    reports = run_on(cluster, jobs, project, folder, told)
    merged = [_merge(arch, [r for r in reports if r.arch == arch], binding, what.backend) for arch in archs]
    return ClusterSmoke(
        cluster=cluster,
        folder=str(folder),
        pin=binding.pin,
        abi=binding.abi,
        head=binding.head,
        archs=tuple(merged),
        jobs=reports,
        verdict="passed" if all(each.verdict == "passed" for each in merged) else "failed",
    )


def chosen_archs(cluster: ClusterName, project: Project, asked: str | None) -> list[str | None]:
    """Return the archs to run on: `asked` (names with commas), else all that are placed, else this machine's own."""
    names = list(dict.fromkeys(name.strip() for name in asked.split(","))) if asked else []
    for name in names:
        if not _ARCH.fullmatch(name):
            raise UserError(f"--arch {name!r} is no arch", next_step="write for example gfx90a, or gfx90a,gfx942")
    if cluster == "local":
        return [*names] or [None]
    known = list(project.cluster.archs)
    unknown = [name for name in names if name not in known]
    if unknown or not known:
        raise UserError(
            f"no placement for {', '.join(unknown) or 'any arch'}; known: {', '.join(known) or 'none'}",
            where=f"project {project.name}",
            next_step="add [cluster.archs.NAME] with `constraint` or `gres` to the project",
        )
    return [*(names or known)]


def sign_reports(project: Project, document: ClusterSmoke, key: Path | None) -> ClusterSmoke:
    """Return the document with its reports signed as `sign_run` signs one."""
    secret = os.environ.get(project.smoke.secret_variable)

    def signed(report: SmokeReport) -> SmokeReport:
        if key is not None:
            return sign_with_key(report, key)
        return sign_with_secret(report, secret) if secret else report

    archs = tuple(
        each.model_copy(update={"reports": tuple(signed(report) for report in each.reports)}) for each in document.archs
    )
    return document.model_copy(update={"archs": archs})


def report_files(document: ClusterSmoke, file: Path) -> dict[Path, SmokeReport]:
    """Return the file for each report: `file` for a single one, else names made from it and the arch."""
    named = [(each.arch or "here", report) for each in document.archs for report in each.reports]
    if len(named) == 1:
        return {file: named[0][1]}
    files: dict[Path, SmokeReport] = {}
    for arch, report in named:
        number = 1
        while (path := _numbered(file, arch, number)) in files:
            number += 1
        files[path] = report
    return files


def _numbered(file: Path, arch: str, number: int) -> Path:
    return file.with_name(f"{file.stem}-{arch}{f'-{number}' if number > 1 else ''}{file.suffix}")


def _jobs_of(arch: str | None, settings: ClusterSettings, binding: Binding, what: SmokeJobs) -> list[Job]:
    """Return the jobs of one arch: a direction's cells do not depend on which others are asked for."""
    directions = what.selection.directions
    count = min(settings.shards, len(directions))
    groups = [directions[n::count] for n in range(count)]
    python = settings.python or sys.executable
    return [
        Job(
            name=f"{arch or 'here'}-{number}",
            argv=(python, "-m", "relmgr", "smoke", "run", *_options(arch, group, binding, what)),
            arch=arch,
            # 1: a bad result; 3: the device gave none. Both stand in the report.
            answers=(0, 1, 3),
            stamp=__version__,
        )
        for number, group in enumerate(groups)
    ]


def _options(arch: str | None, directions: Sequence[str], binding: Binding, what: SmokeJobs) -> list[str]:
    chosen = what.selection
    values = {
        "--backend": [what.backend],
        # On the processor there is no such device; the job then only goes to that arch's machines.
        "--arch": [arch] if arch is not None and what.backend != "cpu" else [],
        "--abi": [str(binding.abi)],
        "--pinned": [binding.pin] if binding.pin != UNBOUND else [],
        "--head": [binding.head] if binding.head else [],
        "--dtype": chosen.dtypes,
        "--direction": directions,
        "--layout": chosen.layouts,
        "--limit": [f"{what.limit:g}"],
        "--workers": [str(what.workers)],
    }
    flags = {
        "--main-forms": chosen.main_forms,
        "--matching-only": not chosen.mismatches,
        "--launch-mismatches": what.launch_mismatches,
    }
    options = [part for name, given in values.items() for value in given for part in (name, value)]
    options += [flag for flag, wanted in flags.items() if wanted]
    return [*what.arguments, *options, *_PAGES, "--format", "json", "--out", OUTPUT]


def _merge(arch: str | None, jobs: Sequence[JobReport], binding: Binding, backend: str) -> ArchSmoke:
    """Return one report for each kind of device that the jobs met; nothing passes while an answer is missing."""
    answers = {job.name: _answer(job, binding, arch if backend != "cpu" else None) for job in jobs}
    missing = {name: answer for name, answer in answers.items() if isinstance(answer, str)}
    groups: dict[str, list[SmokeReport]] = {}
    for answer in answers.values():
        if not isinstance(answer, str):
            groups.setdefault(_kind(answer), []).append(answer)
    reports = tuple(_join(group, complete=not missing) for group in groups.values())
    passed = bool(reports) and not missing and all(report.verdict == "passed" for report in reports)
    return ArchSmoke(arch=arch, reports=reports, missing=missing, verdict="passed" if passed else "failed")


def _answer(job: JobReport, binding: Binding, arch: str | None) -> SmokeReport | str:
    """Return a job's report when it is about what was asked, else why it is no answer."""
    report = read_output(job, SmokeReport)
    if isinstance(report, str):
        return report
    if (report.pin, report.abi, report.head) != (binding.pin, binding.abi, binding.head):
        return "its report is about another pin, number or head"
    return report if arch in (None, report.arch) else f"its report is about {report.arch}"


def _kind(report: SmokeReport) -> str:
    """Return what reports must share to be one."""
    told = {"backend", "double", "emulated", "device", "arch", "driver"}
    return report.model_dump_json(include=told)


def _join(reports: Sequence[SmokeReport], *, complete: bool) -> SmokeReport:
    passed = complete and all(report.verdict == "passed" for report in reports)
    return reports[0].model_copy(
        update={
            "cases": tuple(case for report in reports for case in report.cases),
            "taken_at": max((report.taken_at for report in reports if report.taken_at), default=None),
            "verdict": "passed" if passed else "failed",
            "signature": None,
        }
    )


def arch_rows(document: ClusterSmoke) -> list[list[str | None]]:
    """Return one row a report: arch, back end, device, driver, matching cells, mismatches, verdict."""
    rows: list[list[str | None]] = []
    for each in document.archs:
        for report in each.reports:
            right = [case for case in report.cases if case.expected == ("right",)]
            wrong = [case for case in report.cases if case.expected != ("right",)]
            stand_in = report.double or ("emulated" if report.emulated else None)
            rows.append(
                [
                    # On the processor of such a node, nothing is said about its device.
                    report.arch if each.arch in (None, report.arch) else f"{report.arch} of a {each.arch} node",
                    f"{report.backend} ({stand_in})" if stand_in else report.backend,
                    report.device,
                    report.driver,
                    f"{sum(case.outcome == 'right' for case in right)} of {len(right)} right",
                    f"{sum(case.static == 'differs' for case in wrong)} of {len(wrong)} refused",
                    report.verdict,
                ]
            )
        if not each.reports:
            rows.append([each.arch, None, None, None, None, None, each.verdict])
    return rows
