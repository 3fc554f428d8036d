"""Files and folders that are named on the command line: what is wrong with one is said at once, in relmgr's own words.

click ends with its usage text; here a person reads what is wrong, where, and what to do next.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any

import click

from relmgr.errors import UserError


class NamedPath(click.Path):
    """A path that must be what it is used as: a file to read, a file to write, or a folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path. Raises `UserError` when what lies there cannot serve."""
        path = Path(value)
        wrong = self._wrong(path)
        if wrong is not None:
            kind = "file" if self.file_okay else "folder"
            raise UserError(wrong, where=str(path), next_step=f"name another {kind} for {_spelled(param)}")
        return path

    def _wrong(self, path: Path) -> str | None:
        try:
            mode = path.stat().st_mode
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return "no such file" if self.exists else None
            return f"cannot be read: {error.strerror}"
        except ValueError:
            return "not a path: it holds a NUL character"
        if stat.S_ISDIR(mode):
            return None if self.dir_okay else "a folder, not a file"
        if not self.file_okay:
            return "a file, not a folder"
        return "may not be read: permission denied" if self.exists and not os.access(path, os.R_OK) else None


def _spelled(param: click.Parameter | None) -> str:
    """Return how a person writes the parameter: `--pulls`, or the argument's name in the usage line."""
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return param.human_readable_name.strip("[].") if param else "it"


# A file to read; a pipe serves too.
FILE = NamedPath(exists=True, dir_okay=False, path_type=Path)
# A file to write, which need not be there.
NEW_FILE = NamedPath(dir_okay=False, path_type=Path)
# A folder, which need not be there.
FOLDER = NamedPath(file_okay=False, path_type=Path)
