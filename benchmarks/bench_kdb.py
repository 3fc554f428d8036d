"""How far a scan of a kernel database is above the floor: the bare loop that reads the rows and only unpacks them.

On a generated database of 20,000 rows (`generated_kdb.py`; kept in the temporary folder between runs), one run:

- scan of the provider's rows, and of all rows, against the bare loop: CPU seconds, each in a process of its own, best
  of N, the sides taking turns;
- two threads against one: wall seconds;
- the same scan with pyelftools in the reader's place: CPU seconds;
- memory at its highest; a second scan of an unchanged 500 MB database, its hash known to the cache.

    python benchmarks/bench_kdb.py [--rounds 5] [--rows 20000] [--folder DIR] [--only mlir,deep,jobs,peer,cache]
"""

from __future__ import annotations

import argparse
import bz2
import contextlib
import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

RANGE = " WHERE kernel_name >= 'mlir_gen_igemm_conv2d_' AND kernel_name < 'mlir_gen_igemm_conv2d`'"
CACHED_BYTES = 500_000_000


def floor(path: str, deep: bool) -> None:
    """Read the rows and unpack them, nothing else."""
    connection = sqlite3.connect(path)
    for (blob,) in connection.execute("SELECT kernel_blob FROM kern_db" + ("" if deep else RANGE)):
        bz2.decompress(blob)
    connection.close()


def scan(path: str, deep: bool, jobs: int) -> None:
    """The product's verified scan."""
    _scan_with(path, deep, jobs)


def peer(path: str, deep: bool, jobs: int) -> None:
    """The same scan, with pyelftools and msgpack in place of the reader."""
    from relmgr.sources.databases import rows as kernel_rows

    kernel_rows.read_code_object = _read_by_pyelftools
    _scan_with(path, deep, jobs)


def _scan_with(path: str, deep: bool, jobs: int) -> None:
    from relmgr.settings import load_project
    from relmgr.sources.databases.scan import ScanRules, scan_file

    contract = load_project("miopen-rocmlir").contracts["miir"]
    rules = ScanRules(contract.kernel_symbol, contract.solvers, "bare-pointer", deep=deep, jobs=jobs)
    found = scan_file(Path(path), rules)
    assert found.state == "ok", found.findings
    assert (found.corrupt, found.unknown) == (0, 0), found.findings
    assert found.stale, found
    if deep:
        assert sum(found.conventions.values()) == found.rows, found.conventions


def _read_by_pyelftools(data: bytes) -> Any:
    import io

    import msgpack
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import NoteSection

    from relmgr.model.code_object import CodeObject, Kernel, KernelArgument

    # As the reader does, all notes are looked at: an object with two is refused.
    found = []
    for section in ELFFile(io.BytesIO(data)).iter_sections():
        if isinstance(section, NoteSection):
            found += [n["n_descdata"] for n in section.iter_notes() if (n["n_name"], n["n_type"]) == ("AMDGPU", 32)]
    (content,) = found
    document = msgpack.unpackb(content)
    kernels = []
    for kernel in document["amdhsa.kernels"]:
        args = tuple(
            KernelArgument(offset=a[".offset"], size=a[".size"], kind=a[".value_kind"])
            for a in kernel[".args"]
            if not a[".value_kind"].startswith("hidden_")
        )
        kernels.append(
            Kernel(
                name=kernel[".name"],
                symbol=kernel[".symbol"].removesuffix(".kd"),
                explicit_args=args,
                explicit_bytes=max((a.offset + a.size for a in args), default=0),
                segment_bytes=kernel[".kernarg_segment_size"],
            )
        )
    arch = document["amdhsa.target"].rpartition("-")[2]
    return CodeObject(target=arch, arch=arch, code_object_version=5, kernels=tuple(kernels))


def cached(path: str) -> None:
    """The second scan of an unchanged file."""
    from relmgr.settings import load_project
    from relmgr.sources.databases.scan import ScanRules
    from relmgr.sources.databases.scan_cache import scan_cached

    contract = load_project("miopen-rocmlir").contracts["miir"]
    scan_cached(
        Path(path), ScanRules(contract.kernel_symbol, contract.solvers, "bare-pointer", jobs=os.cpu_count() or 1)
    )


def child(what: str, path: str, deep: bool, jobs: int) -> None:
    """Run one measurement in this process and print its figures; imports are not counted on either side."""
    if what != "floor":
        import relmgr.settings
        import relmgr.sources.databases.scan_cache  # noqa: F401
    if what == "peer":
        import elftools.elf.elffile
        import elftools.elf.sections  # noqa: F401
    cpu, wall = time.process_time(), time.perf_counter()
    if what == "floor":
        floor(path, deep)
    elif what == "cached":
        cached(path)
    else:
        (scan if what == "scan" else peer)(path, deep, jobs)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(json.dumps({"cpu": cpu, "wall": wall, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


def measure(what: str, path: Path, *, deep: bool = False, jobs: int = 1, env: dict[str, str] | None = None) -> Any:
    """Run one measurement in a process of its own."""
    words = [sys.executable, __file__, "--child", what, str(path), str(int(deep)), str(jobs)]
    run = subprocess.run(words, check=True, capture_output=True, text=True, env={**os.environ, **(env or {})})
    return json.loads(run.stdout.splitlines()[-1])


def best(results: list[Any], key: str) -> float:
    return min(float(result[key]) for result in results)


def against_floor(path: Path, rounds: int, *, deep: bool) -> list[Any]:
    floors, scans = [], []
    for _ in range(rounds):
        floors.append(measure("floor", path, deep=deep))
        scans.append(measure("scan", path, deep=deep))
    low, mine = best(floors, "cpu"), best(scans, "cpu")
    print(
        f"{'all rows' if deep else 'MLIR rows'}: scan {mine:.2f} s CPU, bare loop {low:.2f} s: {mine / low:.3f} times"
        f" (limit 1.25); {max(r['peak'] for r in scans):.0f} MB at most (limit 200)"
    )
    return scans


def jobs_and_peer(path: Path, rounds: int, only: set[str]) -> None:
    if "jobs" in only:
        one, two = [], []
        for _ in range(rounds):
            one.append(measure("scan", path))
            two.append(measure("scan", path, jobs=2))
        first, second = best(one, "wall"), best(two, "wall")
        print(f"two threads: {second:.2f} s against {first:.2f} s: {first / second:.2f} times faster (at least 1.7)")
    if "peer" in only:
        mine = best([measure("scan", path) for _ in range(rounds)], "cpu")
        theirs = best([measure("peer", path) for _ in range(rounds)], "cpu")
        print(f"pyelftools: {theirs:.2f} s CPU against {mine:.2f} s: {theirs / mine:.2f} times slower (at least 2)")


def second_scan(path: Path, folder: Path) -> None:
    """Scan a database of 500 MB twice: the generated one, with free pages behind its rows."""
    large = folder / "gfx90a68.large.kdb"
    if not large.exists():
        partial = large.with_suffix(".partial")
        partial.write_bytes(path.read_bytes())
        with contextlib.closing(sqlite3.connect(partial)) as connection, connection:
            connection.execute("CREATE TABLE filling(bytes BLOB)")
            missing = CACHED_BYTES - partial.stat().st_size
            for _ in range(max(0, missing // 10_000_000 + 1)):
                connection.execute("INSERT INTO filling VALUES (?)", (os.urandom(10_000_000),))
        partial.rename(large)
    with tempfile.TemporaryDirectory() as cache:
        first = measure("cached", large, env={"XDG_CACHE_HOME": cache})
        again = [measure("cached", large, env={"XDG_CACHE_HOME": cache}) for _ in range(3)]
    print(
        f"{large.stat().st_size / 1e6:.0f} MB again: {best(again, 'wall'):.2f} s (limit 1), the first time"
        f" {first['wall']:.2f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "relmgr-bench")
    parser.add_argument("--only", default="mlir,deep,jobs,peer,cache")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        what, path, deep, jobs = given.child
        child(what, path, deep == "1", int(jobs))
        return
    only = set(given.only.split(","))
    given.folder.mkdir(parents=True, exist_ok=True)
    database = given.folder / f"gfx90a68.{given.rows}.kdb"
    if not database.exists():
        from benchmarks.generated_kdb import generate

        generate(database, given.rows)
    print(
        f"{given.rows} rows, {database.stat().st_size / 1e6:.0f} MB; best of {given.rounds}; {os.cpu_count()} cores,"
        f" load {os.getloadavg()[0]:.1f} before (wall times need idle cores)"
    )
    if "mlir" in only:
        against_floor(database, given.rounds, deep=False)
    if "deep" in only:
        against_floor(database, given.rounds, deep=True)
    jobs_and_peer(database, given.rounds, only)
    if "cache" in only:
        second_scan(database, given.folder)


if __name__ == "__main__":
    main()
