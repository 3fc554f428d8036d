"""Answers of GitHub kept on disk with their ETag, so that asking again costs nothing of the rate limit.

An answer is never used without asking: GitHub says 304 when it is still true.
https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

KEPT_DAYS = 30
MAX_KEPT = 16 * 1024 * 1024


@dataclass(frozen=True)
class Kept:
    """One answer: its ETag, the address of the next page (None: the last), and its JSON."""

    etag: str
    next_page: str | None
    data: Any


class ResponseCache:
    """A folder of answers; `identity` keeps those of one account from another."""

    def __init__(self, folder: Path, identity: str) -> None:
        self._folder, self._identity = folder, identity

    def load(self, url: str) -> Kept | None:
        """Return what is kept for an address, None for nothing, or for a file that is not whole."""
        file = self._file(url)
        try:
            if file.stat().st_size > MAX_KEPT:
                return None
            kept = json.loads(file.read_bytes())
            if kept["url"] != url:
                return None
            os.utime(file)
            return Kept(str(kept["etag"]), kept["next_page"], kept["data"])
        except (OSError, ValueError, RecursionError, KeyError, TypeError):
            return None

    def store(self, url: str, kept: Kept) -> None:
        """Keep an answer."""
        record = {"url": url, "etag": kept.etag, "next_page": kept.next_page, "data": kept.data}
        text = json.dumps(record, separators=(",", ":")).encode()
        if len(text) <= MAX_KEPT:
            write_whole(self._file(url), text)

    def prune(self, now: float) -> None:
        """Remove what nobody asked for in `KEPT_DAYS`; `now` in seconds since the epoch."""
        with suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    if entry.stat().st_mtime < now - KEPT_DAYS * 86_400:
                        Path(entry.path).unlink()

    def _file(self, url: str) -> Path:
        # Lengths first: two pairs that join to one text stay two keys.
        key = "".join(f"{len(part)}:{part}" for part in (self._identity, url))
        return self._folder / f"{sha256(key.encode()).hexdigest()}.json"


def cache_folder() -> Path:
    """Return relmgr's cache folder by the XDG rules."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "relmgr"


def write_whole(file: Path, data: bytes) -> None:
    """Write a cache file whole or not at all; a cache that cannot be written is none."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent)
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        Path(name).replace(file)
    except OSError:
        return
