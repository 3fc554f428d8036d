"""`--cluster local|slurm`: a command's work cut into command lines of relmgr's own, run elsewhere, put together."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from relmgr import __version__
from relmgr.cluster.jobs import OnAttempt, Runner, run_jobs
from relmgr.model.base import Noun
from relmgr.model.cluster import OUTPUT, ClusterName, Job, JobReport
from relmgr.model.kernel_db import FileScan, KdbScan, ScanFinding
from relmgr.model.project import PinConfig, Project
from relmgr.settings import PROJECT_FILE, find_project_file, shipped_projects
from relmgr.sources.databases.files import find_databases
from relmgr.sources.databases.scan import describe_file
from relmgr.workflows.kdb import Target, sum_up

MAX_OUTPUT_BYTES = 256 << 20
N = TypeVar("N", bound=Noun)


class ScanOptions(Noun):
    """How the jobs of a scan are to scan; `jobs` are threads, None as many as the node has cores."""

    deep: bool = False
    fast: bool = False
    cache: bool = True
    jobs: int | None = None


def run_on(
    cluster: ClusterName, jobs: Sequence[Job], project: Project, folder: Path, told: OnAttempt
) -> tuple[JobReport, ...]:
    """Run `jobs` on this machine or on Slurm, and return what became of each."""
    return run_jobs(jobs, project.cluster, _runner(cluster, project), folder, told)


def scan_on(
    cluster: ClusterName,
    files: Iterable[str],
    project: Project,
    arguments: Sequence[str],
    target: Target,
    options: ScanOptions,
    folder: Path,
    told: OnAttempt,
) -> tuple[KdbScan, tuple[JobReport, ...]]:
    """Scan databases as `scan_databases` does, in several jobs; `arguments` name project and pin.

    A file whose job gave no answer is unreadable, with the reason: never one without stale rows.
    """
    found = find_databases(files, frozenset({"kdb", "ukdb"}))
    shards = spread(found, project.cluster.shards)
    python = project.cluster.python or sys.executable
    jobs = [_scan_job(n, shard, python, arguments, target, options) for n, shard in enumerate(shards)]
    reports = run_on(cluster, jobs, project, folder, told)
    return _merge_scans(found, shards, reports, target), reports


def spread(files: Sequence[Path], shards: int) -> list[list[Path]]:
    """Return the files in at most `shards` groups of about one size in bytes, each in the order given."""
    groups: list[list[Path]] = [[] for _ in range(min(shards, len(files)))]
    weights = [0] * len(groups)
    sizes = {file: describe_file(file).bytes or 0 for file in files}
    for file in sorted(files, key=lambda file: -sizes[file]):
        lightest = min(range(len(groups)), key=lambda n: (weights[n], len(groups[n]), n))
        groups[lightest].append(file)
        weights[lightest] += sizes[file]
    order = {file: number for number, file in enumerate(files)}
    return [sorted(group, key=order.__getitem__) for group in groups]


def project_arguments(project: Project, pin: PinConfig, given: str | None) -> tuple[str, ...]:
    """Return `--project` and `--pin` as another folder, and another machine, understands them."""
    if given is None and not Path(PROJECT_FILE).is_file():
        name = project.name  # a shipped one: found by the clone we are in, or the default
    else:
        name = given if given in shipped_projects() else str(find_project_file(given).absolute())
    return ("--project", name, "--pin", pin.name)


def default_folder(what: str) -> Path:
    """Return a new run's folder, here: on a cluster the working folder is seen by every node."""
    return Path(f"relmgr-{what}-{time.strftime('%Y%m%d-%H%M%S')}")


def read_output(report: JobReport, model: type[N]) -> N | str:
    """Return what a job wrote, or why that is no answer."""
    if report.outcome != "done" or report.last.output is None:
        return report.why
    file = Path(report.last.output)
    try:
        if file.stat().st_size > MAX_OUTPUT_BYTES:
            return f"its output is larger than {MAX_OUTPUT_BYTES} bytes: {file}"
        return model.model_validate_json(file.read_bytes())
    except OSError as error:
        return f"its output cannot be read: {error.strerror}: {file}"
    except ValidationError as error:
        return f"its output is not understood ({error.errors()[0]['msg']}): {file}"


def _runner(cluster: ClusterName, project: Project) -> Runner:
    if cluster == "slurm":
        from relmgr.cluster.slurm import SlurmRunner

        return SlurmRunner(project.cluster, hidden=[project.smoke.secret_variable])
    from relmgr.cluster.local import LocalRunner

    return LocalRunner(project.cluster)


def _scan_job(
    number: int, files: Sequence[Path], python: str, arguments: Sequence[str], target: Target, options: ScanOptions
) -> Job:
    flags = [*arguments, "--format", "json", "--out", OUTPUT]
    flags += ["--abi", str(target.abi)] if target.abi is not None else []
    flags += ["--jobs", str(options.jobs)] if options.jobs else []
    chosen = {"--deep": options.deep, "--fast": options.fast, "--no-cache": not options.cache}
    flags += [flag for flag, wanted in chosen.items() if wanted]
    argv = (python, "-m", "relmgr", "kdb", "scan", *flags, "--", *(str(file.absolute()) for file in files))
    # 1: stale rows were found; 3: something could not be read, and the output says what.
    return Job(name=f"scan-{number:03}", argv=argv, answers=(0, 1, 3), stamp=_stamp(files))


def _stamp(files: Sequence[Path]) -> str:
    """Return what tells these bytes from later ones under the same names."""
    told = [__version__]
    for file in files:
        try:
            told.append(f"{file.stat().st_size} {file.stat().st_mtime_ns}")
        except OSError:
            told.append("-")
    return ", ".join(told)


def _merge_scans(
    files: Sequence[Path], shards: Sequence[Sequence[Path]], reports: Sequence[JobReport], target: Target
) -> KdbScan:
    scans: dict[Path, FileScan] = {}
    for shard, report in zip(shards, reports, strict=True):
        scans.update(_scans_of(shard, report, target))
    ordered = [scans[file] for file in files]
    return KdbScan(
        abi=target.abi,
        convention=target.convention,
        abi_source=target.source,
        files=tuple(ordered),
        totals=sum_up(ordered),
    )


def _scans_of(shard: Sequence[Path], report: JobReport, target: Target) -> Mapping[Path, FileScan]:
    """Return the scan of every file of a job; those that it does not tell are unreadable."""
    answer = read_output(report, KdbScan)
    if not isinstance(answer, str) and (answer.abi, answer.convention) != (target.abi, target.convention):
        answer = f"its output is about number {answer.abi}, not {target.abi}"
    told = {} if isinstance(answer, str) else {scan.path: scan for scan in answer.files}
    why = answer if isinstance(answer, str) else "its output does not tell this file"
    scans = {file: told.get(str(file.absolute())) or _unscanned(file, report.name, why) for file in shard}
    return {file: scan.model_copy(update={"path": str(file)}) for file, scan in scans.items()}


def _unscanned(file: Path, job: str, why: str) -> FileScan:
    head = describe_file(file)
    finding = ScanFinding(kind="unreadable", why=f"not scanned: job {job} {why}")
    return head.model_copy(update={"state": "unreadable", "findings": (*head.findings, finding)})
