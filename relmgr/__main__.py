"""Entry point of the `relmgr` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    from relmgr.cli import root
    from relmgr.errors import run_to_exit_code

    sys.exit(run_to_exit_code(root.main))


if __name__ == "__main__":
    main()
