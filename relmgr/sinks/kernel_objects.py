"""Write the code objects of a kernel database to files, to be looked at with other tools."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from relmgr.errors import UserError
from relmgr.model.kernel_db import Extract, ExtractedObject
from relmgr.sources.databases.files import unpacked
from relmgr.sources.databases.rows import (
    Row,
    Unreadable,
    list_rows,
    md5_of,
    read_objects,
    read_rows,
    require_table,
    unpack,
)
from relmgr.sources.databases.sqlite_readonly import open_readonly

MAX_OBJECTS = 10_000
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.+-]+")


def extract_objects(
    path: Path, folder: Path, *, ids: Sequence[int] = (), pattern: str | None = None, apply: bool = False
) -> Extract:
    """Take the objects of rows `ids`, or of those whose kernel name `pattern` matches, out of the database at `path`.

    At most `MAX_OBJECTS`; `more` counts the rest. With `apply` they are written to `folder`, never over a file.
    Raises `UserError` for an id that is not there, `SourceError` for what is no database.
    """
    with unpacked(path) as content, open_readonly(content) as database:
        require_table(database.connection, str(path))
        wanted = sorted(set(ids)) if ids else list_rows(database.connection, pattern).ids
        if apply:
            folder.mkdir(parents=True, exist_ok=True)
        chosen = wanted[:MAX_OBJECTS]
        objects = tuple(_extract(row, folder, apply) for row in read_rows(database.connection, chosen))
    return Extract(database=str(path), applied=apply, objects=objects, more=len(wanted) - len(chosen))


def _extract(row: Row, folder: Path, apply: bool) -> ExtractedObject:
    data, target, error = b"", None, row.broken
    if row.broken is None:
        try:
            data = unpack(row)
        except Unreadable as trouble:
            error = str(trouble)
    if data:
        (found,) = read_objects([row], verify=False)
        if isinstance(found, Unreadable):
            error = str(found)
        else:
            target = found.target
        if md5_of(data) != row.kernel_hash.lower():
            error = "its md5 is not its kernel_hash"
    # A name of our own making: what the row says cannot leave the folder.
    stem = _NOT_IN_A_NAME.sub("_", row.kernel_name.removesuffix(".o"))[:80].strip(".")
    file = folder / f"{row.id}.{stem}.{_NOT_IN_A_NAME.sub('_', target or 'unknown')}.hsaco"
    if apply and data:
        try:
            with file.open("xb") as out:
                out.write(data)
        except OSError as trouble:
            raise UserError(
                f"cannot write: {trouble.strerror}", where=str(file), next_step="give another --out"
            ) from None
    return ExtractedObject(
        id=row.id, kernel_name=row.kernel_name, target=target, bytes=len(data), path=str(file), error=error
    )
