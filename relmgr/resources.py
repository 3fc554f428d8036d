"""Where the shipped data lies: `policies/` and `templates/`.

Inside a wheel they are `relmgr/policies` and `relmgr/templates`; in a checkout (and an editable install) they stand
beside the package.
"""

from __future__ import annotations

from pathlib import Path

from relmgr.errors import SourceError

_PACKAGE = Path(__file__).resolve().parent


def shipped(folder: str) -> Path:
    """Return the path of a shipped top-level folder, `policies` or `templates`."""
    for base in (_PACKAGE, _PACKAGE.parent):
        if (base / folder).is_dir():
            return base / folder
    raise SourceError(f"the shipped folder {folder!r} is missing", where=str(_PACKAGE), next_step="reinstall relmgr")
