"""Keep compiled kernels between runs, under a key that names everything they depend on."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

_DIGEST = hashlib.sha256().digest_size


def cache_key(*parts: str) -> str:
    """Return a key for `parts`; each goes in with its length, so that no two lists of parts share a key."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def cache_folder() -> Path:
    """Return the folder for compiled kernels, this user's alone."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "relmgr" / "smoke"


def read_cached(key: str) -> bytes | None:
    """Return the binary kept under `key`; None where there is none, or not the one that was written."""
    try:
        data = (cache_folder() / key).read_bytes()
    except OSError:
        return None
    digest, binary = data[:_DIGEST], data[_DIGEST:]
    return binary if hashlib.sha256(binary).digest() == digest else None


def write_cached(key: str, binary: bytes) -> None:
    """Keep `binary` under `key`; a folder that cannot be written costs a compilation next time, nothing else."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, name = tempfile.mkstemp(dir=folder)
        with os.fdopen(descriptor, "wb") as file:
            file.write(hashlib.sha256(binary).digest() + binary)
        Path(name).replace(folder / key)
    except OSError:
        return
