"""Scan results kept by the content they were read from: a second scan of the same bytes only hashes the file.

The store lies in the user's cache folder and may be removed at any time; an entry that cannot be read is no entry.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from pydantic import ValidationError

from relmgr import __version__
from relmgr.errors import SourceError
from relmgr.model.kernel_db import FileScan
from relmgr.sources.databases.files import sha256_of
from relmgr.sources.databases.scan import Progress, ScanRules, describe_file, scan_file

# Raised with every change of what a scan says about the same bytes.
_FORMAT = "kdb-scan/1"
MAX_ENTRIES = 500
MAX_ENTRY_BYTES = 64 << 20


def scan_cached(path: Path, rules: ScanRules, progress: Progress | None = None) -> FileScan:
    """Return `scan_file(path, rules)`, from an earlier scan of the same content where there is one."""
    if not path.is_file():
        return scan_file(path, rules, progress)
    try:
        before = _stamp(path)
        entry = cache_folder() / f"{scan_key(sha256_of(path), path, rules)}.json"
    except (OSError, SourceError):  # the scan says better why it cannot be read
        return scan_file(path, rules, progress)
    if (known := _load(entry)) is not None:
        head = describe_file(path)
        return known.model_copy(update={"path": head.path, "bytes": head.bytes, "cache_version": head.cache_version})
    scan = scan_file(path, rules, progress)
    # Only what was whole, and read from the bytes that were hashed.
    if scan.state == "ok" and before == _stamp(path) and not _has_log(path):
        _store(entry, scan)
    return scan


def scan_key(sha256: str, path: Path, rules: ScanRules) -> str:
    """Return the name of a cache entry: everything that the result depends on. `jobs` is not of it."""
    parts = [_FORMAT, __version__, sha256, path.name, rules.symbol or "", rules.convention or ""]
    parts += [
        "verify" if rules.verify else "fast",
        "deep" if rules.deep else "named",
        json.dumps(dict(rules.solvers)),
        str(rules.most_stale_rows),
    ]
    return join_key(parts)


def join_key(parts: Iterable[str]) -> str:
    """Return the sha256 of texts, each behind its length: two lists that read alike when joined are two keys."""
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode()
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return digest.hexdigest()


def cache_folder() -> Path:
    """Return the folder of kept scans."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "relmgr" / "kdb-scan"


def _load(entry: Path) -> FileScan | None:
    try:
        if entry.stat().st_size > MAX_ENTRY_BYTES:
            return None
        return FileScan.model_validate_json(entry.read_bytes())
    except (OSError, ValidationError):
        return None


def _store(entry: Path, scan: FileScan) -> None:
    """Write an entry whole or not at all, and let the oldest ones go. A cache that cannot be written is none."""
    text = scan.model_dump_json()
    if len(text) > MAX_ENTRY_BYTES:
        return
    with suppress(OSError):
        entry.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with NamedTemporaryFile("w", dir=entry.parent, suffix=".partial", delete=False, encoding="utf-8") as file:
            file.write(text)
        Path(file.name).replace(entry)
        kept = sorted(entry.parent.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        for old in kept[:-MAX_ENTRIES]:
            old.unlink(missing_ok=True)


def _stamp(path: Path) -> tuple[int, int, int]:
    stat = path.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _has_log(path: Path) -> bool:
    """Tell whether rows may stand beside the file, in a log or a journal that its hash does not cover."""
    for suffix in ("-wal", "-journal"):
        with suppress(OSError):
            if Path(f"{path}{suffix}").stat().st_size:
                return True
    return False
