"""The code object reader against its floor (bz2 alone) and its peer (pyelftools), in one run, as CPU seconds.

2,600 rows of about 29 KB, as the provider's rows of a database are: the real objects of the tests, with made-up machine
code behind them that compresses about as well as real code. Run it with `python benchmarks/bench_code_object.py`.
"""

from __future__ import annotations

import bz2
import hashlib
import io
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgpack
from elftools.elf.elffile import ELFFile

from relmgr.model.code_object import classify
from relmgr.sources.code_objects.code_object import read_code_object

ROOT = Path(__file__).parents[1]
ROWS, ROW_BYTES, ROUNDS = 2_600, 29_000, 5
PATTERN = "^mlir_gen_igemm_conv2d_"


def make_rows() -> list[tuple[bytes, str]]:
    """Return compressed objects with the md5 of their content."""
    rng = random.Random(1)
    words = [rng.randbytes(4) for _ in range(200)]
    samples = [p.read_bytes() for p in sorted((ROOT / "tests" / "data" / "code_objects").glob("*.hsaco"))]
    rows = []
    for number in range(ROWS):
        data = samples[number % len(samples)]
        data += b"".join(rng.choices(words, k=(ROW_BYTES - len(data)) // 4))
        rows.append((bz2.compress(data), hashlib.md5(data, usedforsecurity=False).hexdigest()))
    return rows


def only_decompress(rows: list[tuple[bytes, str]]) -> None:
    for blob, _ in rows:
        bz2.decompress(blob)


def verified(rows: list[tuple[bytes, str]]) -> None:
    found: Counter[str] = Counter()
    for blob, md5 in rows:
        data = bz2.decompress(blob)
        assert hashlib.md5(data, usedforsecurity=False).hexdigest() == md5
        found.update([classify(kernel, PATTERN).convention for kernel in read_code_object(data).kernels])
    assert found["memref-descriptor"] + found["bare-pointer"] == ROWS


def with_pyelftools(rows: list[tuple[bytes, str]]) -> None:
    for blob, md5 in rows:
        data = bz2.decompress(blob)
        assert hashlib.md5(data, usedforsecurity=False).hexdigest() == md5
        for segment in ELFFile(io.BytesIO(data)).iter_segments("PT_NOTE"):
            for note in segment.iter_notes():
                if note["n_name"] == "AMDGPU":
                    msgpack.unpackb(note["n_descdata"])


def cpu(work: Callable[[list[tuple[bytes, str]]], None], rows: list[tuple[bytes, str]]) -> float:
    started = time.process_time()
    work(rows)
    return time.process_time() - started


def main() -> None:
    """Print the best of five of each, and the ratios."""
    rows = make_rows()
    packed = sum(len(blob) for blob, _ in rows) / 1e6
    print(f"{ROWS} rows, {packed:.0f} MB packed, {ROWS * ROW_BYTES / 1e6:.0f} MB raw, best of {ROUNDS}, CPU seconds")
    ways = {"bz2 alone": only_decompress, "bz2 + md5 + reader": verified, "bz2 + md5 + pyelftools": with_pyelftools}
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(ROUNDS):
        for name, work in ways.items():
            best[name] = min(best[name], cpu(work, rows))
    floor, ours, peer = best.values()
    for name, seconds in best.items():
        print(f"  {name:24} {seconds:6.3f}  {seconds / floor:5.2f} x the floor")
    print(f"  the reader alone: {(ours - floor) / (peer - floor):.2f} of pyelftools, md5 included in both")
    print(
        f"  limit 1.25 x the floor: {'kept' if ours <= 1.25 * floor else 'MISSED'}; {peer / ours:.2f} x faster in all"
    )


if __name__ == "__main__":
    main()
