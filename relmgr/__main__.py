"""Entry point of the `relmgr` command."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    # A command ends soon and keeps most of what it makes: looking for garbage often finds none.
    gc.set_threshold(100_000, 50, 50)
    # pydantic would read the metadata of every installed package to look for plugins, at every start.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from relmgr.cli import root
    from relmgr.errors import run_to_exit_code

    sys.exit(run_to_exit_code(root.main))


if __name__ == "__main__":
    main()
