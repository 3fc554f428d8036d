"""K3: whatever the bytes of a database are, a scan ends, with a result and without an exception."""

from __future__ import annotations

import bz2
import random
import time
from dataclasses import replace
from pathlib import Path

import pytest

from relmgr.settings import load_project
from relmgr.sources.databases.kernel_args import parse_options, parse_problem
from relmgr.sources.databases.names import parse_database_name
from relmgr.sources.databases.pointers import parse_pointer
from relmgr.sources.databases.scan import ScanRules, scan_file
from relmgr.sources.databases.tuning import read_tuning_file
from tests.support.databases import fwd_row, options, other_row, write_database, wrw_row

MIIR = load_project("miopen-rocmlir").contracts["miir"]
RULES = ScanRules(symbol=MIIR.kernel_symbol, solvers=MIIR.solvers, convention="bare-pointer", deep=True)
TEXT = b"1-1-1-FP32-F=ConvA:0.1,0,a;ConvB:1,2,b\n2-2-2-FP32-B=algo:ConvC,1.5,0,algo,<unused>\n" * 3


def mutate(data: bytes, source: random.Random) -> bytes:
    """Return `data` with bytes changed, a piece removed, repeated, or replaced by extremes."""
    changed = bytearray(data)
    for _ in range(source.choice((1, 1, 2, 5, 40))):
        at = source.randrange(len(changed)) if changed else 0
        length = source.choice((1, 1, 2, 4, 8, 100))
        match source.randrange(5):
            case 0:
                changed[at : at + length] = source.randbytes(length)
            case 1:
                changed[at : at + length] = source.choice((b"\0", b"\xff", b"\x7f")) * length
            case 2:
                del changed[at : at + length]
            case 3:
                changed[at:at] = changed[at : at + length]
            case _:
                del changed[source.randrange(len(changed) + 1) :]
    return bytes(changed)


def fuzz(tmp_path: Path, source: random.Random, until: float, rounds: int) -> int:
    rows = [fwd_row("bare"), fwd_row("descriptor32", in_h=2, packed=False), wrw_row("descriptor64"), other_row()]
    rows += [replace(fwd_row("bare", in_h=i), kernel_hash="0" * 32) for i in range(3, 6)]
    plain = write_database(tmp_path / "seed.kdb", rows).read_bytes()
    log = write_database(tmp_path / "wal.kdb", rows, mode="wal").read_bytes()
    seeds = [plain, plain, plain, log, bz2.compress(plain), bz2.compress(TEXT), TEXT]
    path = tmp_path / "gfx90a68.kdb"
    done = 0
    while done < rounds and time.monotonic() < until:
        path.write_bytes(mutate(source.choice(seeds), source))
        if source.random() < 0.2:
            Path(f"{path}-wal").write_bytes(mutate(log, source))
        scan = scan_file(path, replace(RULES, verify=source.random() < 0.5, deep=source.random() < 0.5))
        assert scan.state in ("ok", "unreadable", "pointer")
        if scan.state != "ok":
            assert scan.stale != 0
        assert read_tuning_file(path, MIIR.solvers, MIIR.removed_solvers).state in ("ok", "unreadable", "pointer")
        Path(f"{path}-wal").unlink(missing_ok=True)
        text = mutate((" --x2 1" + options()).encode(), source).decode("utf-8", "replace")
        if (found := parse_options(text)) is not None:
            parse_problem(found, text, MIIR.solvers)
        parse_database_name(mutate(b"gfx906_60.HIP.fdb.txt.bz2", source).decode("utf-8", "replace"))
        parse_pointer(mutate(b"outs:\n- md5: 0a1b2c3d4e5f60718293a4b5c6d7e8f9\n  size: 5\n", source))
        done += 1
    return done


def test_a_hundred_databases_of_a_known_seed(tmp_path: Path) -> None:
    fuzz(tmp_path, random.Random(4), time.monotonic() + 60, 100)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_minute_of_databases(tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    print(f"{fuzz(tmp_path, random.Random(seed), time.monotonic() + 60, 1 << 30)} databases")
