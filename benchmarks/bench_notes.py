"""Release notes of 10,000 commits against their floor and their peer, in one run.

    python benchmarks/bench_notes.py [--commits 10000] [--runs 5] [--clone CLONE --range FROM..TO]

Floor: git's own `log` of the range with the same fields, as one bare pipeline. Peer: git-cliff (PyPI) with its default
settings, which groups titles and reads neither pins nor databases nor patches. Every figure is of a fresh
process, best of the runs. The history is made here: pull requests, merges of branches, reverts, picks that a release
branch has already, pin moves, databases. A clone named with --clone is measured in its place.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

PIN = "ROCm/rocMLIR@{} -DBUILD=1\n"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{:064x}\nsize {}\n"
LOG = "--format=%H%x00%P%x00%aN%x00%cI%x00%s%x00%b"


def make_history(folder: Path, commits: int) -> str:
    """Make the repository and return its range."""
    subprocess.run(["git", "init", "-q", "-b", "develop", str(folder)], check=True)
    stream: list[str] = []
    mark = 0

    def commit(branch: str, subject: str, parents: list[str], files: dict[str, str]) -> None:
        nonlocal mark
        mark += 1
        who = f"Author {mark % 40} <a{mark % 40}@example.org> {1_600_000_000 + mark * 60} +0000"
        stream.append(f"commit refs/heads/{branch}\nmark :{mark}\nauthor {who}\ncommitter {who}\n")
        stream.append(f"data {len(subject.encode())}\n{subject}\n")
        stream.extend(f"{kind} {parent}\n" for kind, parent in zip(("from", "merge"), parents, strict=False))
        for name, text in files.items():
            stream.append(f"M 100644 inline {name}\ndata {len(text.encode())}\n{text}\n")

    first = {"requirements.txt": PIN.format("rocm-5.3.0"), "CMakeLists.txt": "rocm_setup_version(VERSION 2.1.0)\n"}
    commit("develop", "Begin (#1)", [], first)
    commit("release/rocm-rel-5.3", "[ROCm 5.3] Pick (#5)", [":1"], {"src/part5/f5.cpp": "5\n"})
    tip, last = ":1", 10
    for number in range(2, commits):
        files = {f"src/part{number % 97}/f{number % 31}.cpp": f"{number}\n"}
        subject = f"[Solvers] Change number {number} of the library (#{number})"
        parents = [tip]
        if number % 50 == 0:
            subject, files = (
                f'Revert "[Solvers] Change number {last} of the library (#{last})"',
                {f"src/part{last % 97}/f{last % 31}.cpp": "0\n"},
            )
        elif number % 400 == 1:
            files = {"requirements.txt": PIN.format(f"{number:040x}" if number < commits // 2 else "rocm-5.4.0")}
        elif number % 500 == 2:
            files = {"src/kernels/gfx90a68.kdb": POINTER.format(number, 1000 + number)}
        elif number % 20 == 3:
            commit("side", f"Work on {number}", [tip], {f"src/side/f{number % 31}.cpp": f"{number}\n"})
            subject, parents, files = "Merge branch 'develop' into amd-develop", [tip, f":{mark}"], {}
        last = number
        commit("develop", subject, parents, files)
        tip = f":{mark}"
    stream.append("reset refs/tags/rocm-5.3.0\nfrom :2\n\n" + f"reset refs/tags/rocm-5.4.0\nfrom {tip}\n\ndone\n")
    subprocess.run(
        ["git", "-C", str(folder), "fast-import", "--quiet", "--done"], input="".join(stream).encode(), check=True
    )
    return "rocm-5.3.0..rocm-5.4.0"


def best(runs: int, run: Callable[[], object]) -> tuple[float, float]:
    """Return the shortest wall time of some runs and the shortest processor time, in seconds."""
    walls, processors = [], []
    for _ in range(runs):
        start, used = time.perf_counter(), _used()
        run()
        walls.append(time.perf_counter() - start)
        processors.append(_used() - used)
    return min(walls), min(processors)


def _used() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def _silently(*command: str, cwd: Path | None = None) -> Callable[[], object]:
    return lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=cwd)


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description="release notes: floor, relmgr, git-cliff")
    options.add_argument("--commits", type=int, default=10_000)
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--clone", type=Path)
    options.add_argument("--range", dest="range_", default="rocm-5.3.0..rocm-5.4.0")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as made:
        clone = given.clone or Path(made) / "miopen"
        range_ = given.range_ if given.clone else make_history(clone, given.commits)
        measure(clone, range_, given.runs, Path(made))


def measure(clone: Path, range_: str, runs: int, folder: Path) -> None:
    """Print the figures of one range."""
    count = subprocess.run(
        ["git", "-C", str(clone), "rev-list", "--count", range_], check=True, capture_output=True, text=True
    ).stdout.strip()
    print(f"{count} commits, best of {runs}: seconds of wall and of processor time, with all child processes")
    relmgr = [sys.executable, "-m", "relmgr", "notes", "show", range_, f"--repo=miopen={clone}", "--format", "json"]
    figures = {
        "git log (floor)": best(runs, _silently("git", "-C", str(clone), "log", "-z", LOG, range_)),
        "python start": best(runs, _silently(sys.executable, "-m", "relmgr", "--help")),
        "relmgr notes show": best(runs, _silently(*relmgr, "--out", str(folder / "notes.json"))),
    }
    cliff = shutil.which("git-cliff")
    if cliff is None:
        print("git-cliff is not installed: pip install git-cliff")
    else:
        (folder / "cliff.toml").write_text("[git]\nconventional_commits = false\n", encoding="utf-8")
        command = [cliff, "--config", str(folder / "cliff.toml"), "--repository", str(clone), "--offline", range_]
        figures["git-cliff"] = best(runs, _silently(*command, "--output", str(folder / "cliff.md"), cwd=clone))
    for name, (wall, processor) in figures.items():
        print(f"  {name:20} {wall:6.2f} {processor:6.2f}")
    own = figures["relmgr notes show"]
    for name in ("git log (floor)", "git-cliff"):
        if name in figures:
            wall, processor = (mine / theirs for mine, theirs in zip(own, figures[name], strict=True))
            print(f"  relmgr / {name}: {wall:.2f} {processor:.2f}")


if __name__ == "__main__":
    main()
