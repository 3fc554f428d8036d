"""Real kernel databases, built from compiled code objects."""

from __future__ import annotations

import bz2
import hashlib
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

CODE_OBJECTS = Path(__file__).parent.parent / "data" / "code_objects"
SCHEMA = (
    "CREATE TABLE `kern_db` (`id` INTEGER PRIMARY KEY ASC,`kernel_name` TEXT NOT NULL,`kernel_args` TEXT NOT NULL,"
    "`kernel_blob` BLOB NOT NULL,`kernel_hash` TEXT NOT NULL,`uncompressed_size` INT NOT NULL);"
    "CREATE UNIQUE INDEX `idx_kern_db` ON kern_db(kernel_name, kernel_args);"
)


@dataclass(frozen=True)
class KernelRow:
    """One row as it is stored."""

    kernel_name: str
    kernel_args: str
    kernel_blob: bytes
    kernel_hash: str
    uncompressed_size: int


def code_object(name: str) -> bytes:
    """Return a shipped code object, such as `fwd_xdlops0.bare.gfx90a.cov5`."""
    return (CODE_OBJECTS / f"{name}.hsaco").read_bytes()


def kernel_row(name: str, args: str, data: bytes, *, packed: bool = True) -> KernelRow:
    """Return a row that holds `data` whole and right."""
    return KernelRow(
        name,
        args,
        bz2.compress(data) if packed else data,
        hashlib.md5(data).hexdigest(),
        len(data) if packed else 0,
    )


def options(operation: str = "conv2d", *, arch: str = "gfx90a", units: int = 104, **changed: str | int) -> str:
    """Return the option string of a provider's row; `changed` replaces or adds options."""
    values: dict[str, str | int] = {
        "operation": operation,
        "kernel_id": 0,
        "num_cu": units,
        "arch": f"amdgcn-amd-amdhsa:{arch}:sramecc+:xnack-",
        "groupsize": 1,
        "fil_layout": "GNCHW",
        "fil_type": "fp32",
        "in_layout": "NGCHW",
        "out_layout": "NGCHW",
        "in_type": "fp32",
        "out_type": "fp32",
        "batchsize": 128,
        "in_channels": 64,
        "out_channels": 64,
        "in_h": 56,
        "in_w": 56,
        "out_h": 56,
        "out_w": 56,
        "fil_h": 1,
        "fil_w": 1,
        "dilation_h": 1,
        "dilation_w": 1,
        "conv_stride_h": 1,
        "conv_stride_w": 1,
        "padding_h": 0,
        "padding_w": 0,
        **changed,
    }
    return "".join(f" --{name} {value}" for name, value in values.items())


def fwd_row(
    convention: str, *, arch: str = "gfx90a", version: int = 5, packed: bool = True, **changed: str | int
) -> KernelRow:
    """Return a forward row whose kernel takes `bare`, `descriptor32` or `descriptor64` arguments."""
    data = code_object(f"fwd_xdlops0.{convention}.{arch}.cov{version}")
    args = " --x2 1" + options(arch=arch, **changed)
    return kernel_row("mlir_gen_igemm_conv2d_v4r4_fwd_xdlops0.mlir.o", args, data, packed=packed)


def wrw_row(convention: str, *, arch: str = "gfx90a", version: int = 5, **changed: str | int) -> KernelRow:
    """Return a weight-gradient row whose kernel takes four tensors."""
    data = code_object(f"wrw0_workspace.{convention}.{arch}.cov{version}")
    args = options("conv2d_bwd_weight", arch=arch, fil_type="fp16", **changed)
    return kernel_row("mlir_gen_igemm_conv2d_v4r4_wrw0.mlir.o", args, data)


def renamed(data: bytes, old: bytes, new: bytes) -> bytes:
    """Return a code object whose kernel is called `new`, of the same length, everywhere in the file."""
    assert len(old) == len(new)
    assert old in data
    return data.replace(old, new)


def other_row(convention: str = "bare", *, name: str = "Conv_Winograd_v21.s.o", args: str = "") -> KernelRow:
    """Return a row of someone else's kernel: the same arguments, another symbol."""
    data = renamed(code_object(f"fwd_xdlops0.{convention}.gfx90a.cov5"), b"mlir_gen_igemm_", b"hand_asm_igemm_")
    return kernel_row(name, args or " -Wa,-defsym,ROCM_METADATA_VERSION=5 -mcpu=gfx90a", data)


def write_database(path: Path, rows: Iterable[KernelRow], *, schema: str = SCHEMA, mode: str = "delete") -> Path:
    """Write a database with these rows, numbered from 1; `mode` is SQLite's journal mode."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.executescript(schema)
        with connection:
            connection.executemany(
                "INSERT INTO kern_db(kernel_name, kernel_args, kernel_blob, kernel_hash, uncompressed_size)"
                " VALUES (?, ?, ?, ?, ?)",
                [(r.kernel_name, r.kernel_args, r.kernel_blob, r.kernel_hash, r.uncompressed_size) for r in rows],
            )
    return path
