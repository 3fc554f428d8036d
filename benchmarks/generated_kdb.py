"""Generate a kernel database of real size: rows of real code objects, padded with text that looks like machine code.

As in the measured sample: 20,000 rows, about 190 MB packed and 530 MB unpacked, 2,600 of them the provider's.
"""

from __future__ import annotations

import bz2
import hashlib
import random
import sqlite3
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.databases import SCHEMA, code_object, options, renamed

ROWS, PROVIDER_ROWS, UNPACKED_BYTES = 20_000, 2_600, 26_500
SEED = 20220823


def machine_code(seed: int, size: int) -> bytes:
    """Return bytes that pack about as well as GPU code does (to 35 %): words of a small set with varying operands."""
    source = random.Random(seed)
    opcodes = [source.randbytes(3) for _ in range(96)]
    words = []
    for opcode in source.choices(opcodes, weights=[1 / (i + 1) for i in range(96)], k=size // 8):
        operands = source.getrandbits(14).to_bytes(2, "little")
        words.append(opcode + b"\x00" + operands + b"\x86\xd8")
    return b"".join(words)


def make_row(number: int) -> tuple[str, str, bytes, str, int]:
    """Return row `number`; every eighth or so is the provider's, every other of these is a descriptor kernel."""
    provider = number % 20 in (3, 10) or number % 100 in (0, 55, 75)
    convention = "descriptor32" if number % 2 else "bare"
    data = code_object(f"fwd_xdlops0.{convention}.gfx90a.cov5")
    code = machine_code(SEED + number, UNPACKED_BYTES - len(data))
    if provider:
        name, args = "mlir_gen_igemm_conv2d_v4r4_fwd_xdlops0.mlir.o", " --x2 1" + options(in_h=number)
    else:
        data = renamed(data, b"mlir_gen_igemm_", b"hand_asm_igemm_")
        name, args = f"conv_kernel_{number % 40}.s.o", f" -Wa,-defsym,batch_size={number} -mcpu=gfx90a"
    data += code
    return name, args, bz2.compress(data), hashlib.md5(data).hexdigest(), len(data)


def generate(path: Path, rows: int = ROWS) -> None:
    """Write the database, beside itself first, so that an interrupted run leaves none."""
    partial = path.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    with closing(sqlite3.connect(partial)) as connection, ProcessPoolExecutor() as pool:
        connection.executescript(SCHEMA)
        with connection:
            connection.executemany(
                "INSERT INTO kern_db(kernel_name, kernel_args, kernel_blob, kernel_hash, uncompressed_size)"
                " VALUES (?, ?, ?, ?, ?)",
                pool.map(make_row, range(rows), chunksize=50),
            )
    partial.rename(path)


if __name__ == "__main__":
    generate(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else ROWS)
