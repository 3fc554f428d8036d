"""Build small kernel databases from a table and real code objects."""

from __future__ import annotations

import bz2
import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

# The schema of MIOpen's kernel databases.
_SCHEMA = (
    "CREATE TABLE `kern_db` (`id` INTEGER PRIMARY KEY ASC, `kernel_name` TEXT NOT NULL, `kernel_args` TEXT NOT NULL, "
    "`kernel_blob` BLOB NOT NULL, `kernel_hash` TEXT NOT NULL, `uncompressed_size` INT NOT NULL);"
    "CREATE UNIQUE INDEX `idx_kern_db` ON kern_db (kernel_name, kernel_args);"
)


def rebuild_databases(folder: Path, table: dict[str, Any], code_objects: Path) -> dict[str, str]:
    """Write the table's databases below `folder`; return recorded pointer text mapped to that of what was written.

    `table` holds `databases`, each with `path`, `stands_for` (LFS `oid` and `size`) and `rows` (`code_object`, a file
    of the folder `code_objects`; `kernel_name`; `kernel_args`).
    """
    names = {}
    for database in table["databases"]:
        file = folder / database["path"]
        file.parent.mkdir(parents=True, exist_ok=True)
        _write(file, database["rows"], code_objects)
        content = file.read_bytes()
        recorded = database["stands_for"]
        names[_pointer(recorded["oid"], recorded["size"])] = _pointer(hashlib.sha256(content).hexdigest(), len(content))
    return names


def _write(file: Path, rows: list[dict[str, str]], code_objects: Path) -> None:
    with closing(sqlite3.connect(file)) as database, database:
        database.executescript(_SCHEMA)
        for row in rows:
            code = (code_objects / row["code_object"]).read_bytes()
            stored = (row["kernel_name"], row["kernel_args"], bz2.compress(code), _md5(code), len(code))
            database.execute(
                "INSERT INTO kern_db (kernel_name, kernel_args, kernel_blob, kernel_hash, uncompressed_size) "
                "VALUES (?, ?, ?, ?, ?)",
                stored,
            )


def _md5(code: bytes) -> str:
    return hashlib.md5(code, usedforsecurity=False).hexdigest()


def _pointer(oid: str, size: int) -> str:
    return f"oid sha256:{oid}\nsize {size}\n"
