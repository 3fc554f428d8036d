"""Objects of a repository, through one running `git cat-file --batch`."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Literal

MAX_BLOB = 16 * 1024 * 1024


@dataclass(frozen=True)
class Blob:
    """What was found at one path of one tree. `mode` is git's octal text; `oid` is None when nothing stands there."""

    state: Literal["ok", "absent", "missing", "too-large"]
    oid: str | None = None
    mode: str | None = None
    data: bytes | None = None


class ObjectReader:
    """One `git cat-file --batch` that answers many questions.

    Paths are looked up by reading trees, because that alone tells a path that is not there from an object that the
    clone lacks. A missing object ends nothing: in a partial clone git itself may die over it, and is started again.
    """

    def __init__(self, command: list[str], environment: dict[str, str], limit: int = MAX_BLOB) -> None:
        self._command, self._environment, self._limit = command, environment, limit
        self._process: subprocess.Popen[bytes] | None = None
        self._trees: dict[str, dict[bytes, tuple[str, str]] | None] = {}

    def __enter__(self) -> ObjectReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def at(self, commit: str, path: str) -> Blob:
        """Return what stands at `path` in `commit` (a full sha); a gitlink has no data."""
        tree, parts = f"{commit}:", path.encode().split(b"/")
        for depth, part in enumerate(parts):
            entries = self._tree(tree)
            if entries is None:
                return Blob("missing")
            if part not in entries:
                return Blob("absent")
            mode, oid = entries[part]
            if depth == len(parts) - 1:
                return Blob("ok", oid, mode) if mode in ("160000", "40000") else self.blob(oid, mode)
            if mode != "40000":
                return Blob("absent")
            tree = oid
        return Blob("absent")

    def blob(self, oid: str, mode: str = "100644") -> Blob:
        """Return one blob by its object id."""
        found = self._ask(oid, self._limit)
        if found is None:
            return Blob("missing", oid, mode)
        kind, data = found
        if data is None:
            return Blob("too-large", oid, mode)
        return Blob("ok", oid, mode, data) if kind == b"blob" else Blob("missing", oid, mode)

    def _tree(self, spec: str) -> dict[bytes, tuple[str, str]] | None:
        if spec not in self._trees:
            found = self._ask(spec, MAX_BLOB)
            self._trees[spec] = (
                _parse_tree(found[1]) if found and found[1] is not None and found[0] == b"tree" else None
            )
        return self._trees[spec]

    def _ask(self, spec: str, limit: int) -> tuple[bytes, bytes | None] | None:
        """Return (type, bytes; None when too large) of an object, or None when the clone lacks it."""
        if "\n" in spec:
            return None
        if self._process is None:
            self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(spec.encode() + b"\n")
            self._process.stdin.flush()
            header = self._process.stdout.readline().split()
        except BrokenPipeError:
            header = []
        if not header:
            self._stop()
            return None
        if len(header) != 3 or not header[2].isdigit():
            return None
        return header[1], _take(self._process.stdout, int(header[2]), limit)

    def _start(self) -> None:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self._environment,
        )

    def _stop(self) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()
        process.wait()


def _take(out: IO[bytes], size: int, limit: int) -> bytes | None:
    """Read an object of `size` bytes and its line end; one above `limit` is passed over, and gives None."""
    if size <= limit:
        data: bytes | None = out.read(size)
    else:
        data, left = None, size
        while left and (part := out.read(min(left, 1 << 20))):
            left -= len(part)
    out.read(1)
    return data


def _parse_tree(data: bytes) -> dict[bytes, tuple[str, str]]:
    """Parse a raw tree object: `<mode> <name>\\0<20 bytes>` repeated."""
    entries, position = {}, 0
    while position < len(data):
        space = data.index(b" ", position)
        end = data.index(b"\0", space)
        entries[data[space + 1 : end]] = (data[position:space].decode(), data[end + 1 : end + 21].hex())
        position = end + 21
    return entries
