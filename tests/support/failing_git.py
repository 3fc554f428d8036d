"""A `git` on the PATH that, at its n-th writing command, fails or kills the process that called it."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

How = Literal["kill-before", "kill-after", "fail", "fail-after"]

_SCRIPT = """\
#!/bin/sh
case " $* " in
  {patterns})
    n=$(( $(cat "{count}") + 1 )); echo "$n" > "{count}"
    if [ "$n" = "$RELMGR_TEST_AT" ]; then
      case "$RELMGR_TEST_HOW" in
        kill-before) kill -9 $PPID; exit 1 ;;
        kill-after) "{git}" "$@"; kill -9 $PPID; exit 1 ;;
        fail) echo "fatal: planted" >&2; exit 128 ;;
        fail-after) "{git}" "$@"; echo "fatal: planted, after" >&2; exit 128 ;;
      esac
    fi
    if [ "$RELMGR_TEST_FROM" != 0 ] && [ "$n" -ge "$RELMGR_TEST_FROM" ]; then
      echo "fatal: planted, as all that follow" >&2; exit 128
    fi ;;
esac
exec "{git}" "$@"
"""


@dataclass(frozen=True)
class FailingGit:
    """The script's folder, and the file that counts writing commands."""

    folder: Path
    count: Path

    def env(self, at: int, how: How = "fail", every_from: int = 0) -> dict[str, str]:
        """Return what to add to the environment: the `at`-th writing command goes wrong (0: none does).

        With `every_from` that command and all after it fail.
        """
        self.count.write_text("0\n")
        return {
            "PATH": f"{self.folder}{os.pathsep}{os.environ['PATH']}",
            "RELMGR_TEST_AT": str(at),
            "RELMGR_TEST_HOW": how,
            "RELMGR_TEST_FROM": str(every_from),
        }

    def relmgr(self, *args: str | Path, at: int = 0, how: How = "fail") -> subprocess.CompletedProcess[str]:
        """Run relmgr in a process of its own."""
        command = [sys.executable, "-m", "relmgr", *[str(arg) for arg in args]]
        return subprocess.run(
            command, env=os.environ | self.env(at, how), capture_output=True, text=True, timeout=60, check=False
        )

    def writes(self) -> int:
        """Return how many writing commands ran."""
        return int(self.count.read_text())


def failing_git(folder: Path, *commands: str) -> FailingGit:
    """Put the script into `folder`; `commands` are the git commands that count as writing."""
    folder.mkdir()
    git, count, script = shutil.which("git"), folder / "count", folder / "git"
    patterns = "|".join(f'*" {command} "*' for command in commands)
    script.write_text(_SCRIPT.format(patterns=patterns, count=count, git=git))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return FailingGit(folder, count)
