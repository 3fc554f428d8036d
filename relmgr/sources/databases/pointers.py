"""Recognise the small files that stand for large ones in a clone: Git LFS pointers and DVC pointers."""

from __future__ import annotations

import re

from relmgr.model.kernel_db import Pointer

# https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md: a pointer is smaller than 1024 bytes.
MAX_LFS_BYTES = 1024
MAX_DVC_BYTES = 16_384
MAX_SIZE = 1 << 50

_LFS_FIRST_LINES = (b"version https://git-lfs.github.com/spec/", b"version https://hawser.github.com/spec/")
_LFS_OID = re.compile(r"^oid sha256:(?P<oid>[0-9a-f]{64})$", re.MULTILINE)
_LFS_SIZE = re.compile(r"^size (?P<size>[0-9]{1,15})$", re.MULTILINE)


def parse_pointer(data: bytes) -> Pointer | None:
    """Return the pointer that a whole file's bytes are, or None when they are something else.

    DVC: https://dvc.org/doc/user-guide/project-structure/dvc-files; of several outputs the first one counts.
    """
    if data.startswith(_LFS_FIRST_LINES):
        return _parse_lfs(data) if len(data) <= MAX_LFS_BYTES else None
    if len(data) <= MAX_DVC_BYTES and re.search(rb"^outs:", data, re.MULTILINE) and b"\0" not in data:
        return _parse_dvc(data)
    return None


def _parse_lfs(data: bytes) -> Pointer | None:
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    oid, size = _LFS_OID.search(text), _LFS_SIZE.search(text)
    if oid is None:
        return None
    return Pointer(form="git-lfs", algorithm="sha256", oid=oid["oid"], size=int(size["size"]) if size else None)


def _parse_dvc(data: bytes) -> Pointer | None:
    from relmgr.errors import UserError
    from relmgr.settings import parse_yaml

    try:
        document, _ = parse_yaml(data.decode("utf-8", "replace"), "a DVC pointer")
    except UserError:
        return None
    outs = document.get("outs") if isinstance(document, dict) else None
    out = outs[0] if isinstance(outs, list) and outs and isinstance(outs[0], dict) else {}
    for algorithm in ("md5", "etag"):
        oid = out.get(algorithm)
        # YAML reads an oid of decimal digits alone as a number; such a one lost its leading zeros and is refused.
        if isinstance(oid, str) and re.fullmatch(r"[0-9a-f]{32}(?:\.dir|-[0-9]{1,5})?", oid):
            size, path = out.get("size"), out.get("path")
            known = isinstance(size, int) and not isinstance(size, bool) and 0 <= size <= MAX_SIZE
            return Pointer(
                form="dvc",
                algorithm="md5" if algorithm == "md5" else "etag",
                oid=oid,
                size=size if known else None,
                path=path if isinstance(path, str) else None,
            )
    return None
