"""One shell that stays: what a command sets, and where it goes, holds for the next one."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

# Nothing in a page may take long; one that hangs is not to hold up the others.
SECONDS = 90


@dataclass
class Session:
    """A bash session in `folder`; `settings` are environment variables beside the ordinary ones."""

    folder: Path
    state: Path
    settings: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        programs = self.state / "bin"
        programs.mkdir(parents=True)
        command = programs / "relmgr"
        start = "import sys; sys.argv[0] = 'relmgr'; from relmgr.__main__ import main; sys.exit(main())"
        command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c {shlex.quote(start)} "$@"\n')
        command.chmod(0o755)
        self._environment = self.state / "environment"
        self._environment.write_text("")
        self._where = self.folder

    def run(self, command: str) -> tuple[int, str]:
        """Run a command as a person types it; return its exit code and what the terminal shows."""
        where = self.state / "where"
        script = (
            f"source {shlex.quote(str(self._environment))}\n"
            f"trap 'pwd > {shlex.quote(str(where))}; export -p > {shlex.quote(str(self._environment))}' EXIT\n"
            f"{command}\n"
        )
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self._where,
            env=self._base(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
            check=False,
        )
        self._where = Path(where.read_text().strip())
        return done.returncode, done.stdout.decode("utf-8", "replace")

    def write(self, name: str, text: str) -> None:
        """Write a file where the session stands."""
        file = self._where / name
        assert file.resolve().is_relative_to(self.folder.resolve()), name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def _base(self) -> dict[str, str]:
        """Return the environment: relmgr and Python are those of this test, and nothing leaves this machine."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("RELMGR_", "GITHUB_"))}
        path = os.pathsep.join([str(self.state / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
        nowhere = "http://127.0.0.1:9"
        return kept | {
            "PATH": path,
            "PYTHONUNBUFFERED": "1",
            "PYTHONWARNINGS": "error",
            "COLUMNS": "120",
            "LC_ALL": "C.UTF-8",
            "http_proxy": nowhere,
            "https_proxy": nowhere,
            "no_proxy": "127.0.0.1",
            "GIT_ALLOW_PROTOCOL": "file",
            "GIT_PAGER": "cat",
            **self.settings,
        }
