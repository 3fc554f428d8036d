"""The ways relmgr ends, and the one place where it does.

Three kinds of trouble reach a person: their own mistake (`UserError`), the world's failure
(`SourceError`), and a bug of ours (anything else). Each ends in a sentence that says what, where
and what to do next, and in an exit code:

    0 nothing blocks · 1 a policy blocks or holds · 2 usage or configuration · 3 a source failed, or a bug ·
    130 interrupted
"""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Callable
from typing import Any

EXIT_OK = 0
EXIT_BLOCKED = 1
EXIT_USAGE = 2
EXIT_SOURCE = 3
EXIT_INTERRUPTED = 130

_SECRET = re.compile(r"(?P<scheme>\w+://)[^/\s]+@|(?:gh[pousr]_|github_pat_)\w{10,}(?:\.[\w-]+)*")


def redact(text: str) -> str:
    """Return `text` without credentials: user info in URLs, and GitHub tokens."""
    return _SECRET.sub(lambda m: f"{m['scheme'] or ''}***{'@' if m['scheme'] else ''}", text)


class RelmgrError(Exception):
    """An end with a reason.

    `what` happened, `where` (file, line, repository, call) and the `next_step` for the person reading.
    """

    exit_code = EXIT_SOURCE

    def __init__(self, what: str, *, where: str = "", next_step: str = "") -> None:
        super().__init__(what)
        self.what, self.where, self.next_step = what, where, next_step

    @property
    def brief(self) -> str:
        """Where and what in one line, without the next step: for inside another sentence."""
        return redact(" ".join((f"{self.where}: {self.what}" if self.where else self.what).split()))

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return redact(f"{text}\n  next: {self.next_step}" if self.next_step else text)


class UserError(RelmgrError):
    """The caller's mistake: bad usage or bad configuration (exit code 2)."""

    exit_code = EXIT_USAGE


class SourceError(RelmgrError):
    """The world's failure: a repository, file, network call or device did not answer (exit code 3)."""


def run_to_exit_code(command: Callable[..., Any]) -> int:
    """Run a click command to its exit code; print any trouble on standard error.

    `command` is a click `main` and is called with `standalone_mode=False`, so that nothing else ends the process.
    """
    import click

    try:
        result = command(standalone_mode=False)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.exceptions.Abort:
        return EXIT_INTERRUPTED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except click.ClickException as mistake:
        mistake.show()
        return EXIT_USAGE
    except RelmgrError as trouble:
        print(f"relmgr: {trouble}", file=sys.stderr)
        return trouble.exit_code
    except BrokenPipeError:
        # The reader went away (`relmgr ... | head`): not our failure; keep the interpreter from flushing into it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except Exception:
        print(redact(traceback.format_exc()), file=sys.stderr)
        print("relmgr: this is a bug in relmgr; please report it with the lines above", file=sys.stderr)
        return EXIT_SOURCE
    return result if isinstance(result, int) else EXIT_OK
