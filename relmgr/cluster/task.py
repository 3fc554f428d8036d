"""What runs on a node: one command, with its log, a sign of life every second, and a limit of its own.

Only files speak to the machine that started it, written so that a network file system shows them: the beat in place,
the ending whole or not at all.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import IO, TypedDict

BEAT, ENDING, LOG = "beat", "ending.json", "log"
BEAT_SECONDS = 1.0


class TaskSpec(TypedDict):
    """What a node is told: the command, the attempt's own folder (there the command runs), and its limit in seconds."""

    argv: list[str]
    folder: str
    deadline: float


class _Stopped(BaseException):
    """Somebody wants this process to end."""


def run_task(spec: TaskSpec) -> None:
    """Run the command to its end or its limit, and write how it ended.

    A command that is stopped from outside leaves no ending: whoever stopped it knows why.
    """
    folder = Path(spec["folder"])
    begun = time.monotonic()
    ending: dict[str, object] = {"exit_code": None, "signal": None, "timed_out": False, "error": None}
    with _stoppable(), (folder / LOG).open("w", encoding="utf-8") as log:
        log.write(log_head(spec["argv"]))
        log.flush()
        try:
            code = _run(spec, folder, log, begun)
            ending["exit_code"], ending["signal"] = (code, None) if code is None or code >= 0 else (None, -code)
            ending["timed_out"] = code is None
        except OSError as error:
            ending["error"] = f"{error.strerror}: {error.filename}"
    ending |= {"node": node_name(), "seconds": round(time.monotonic() - begun, 3)}
    _write_whole(folder / ENDING, json.dumps(ending))


def log_head(argv: Sequence[str]) -> str:
    """Return what a log begins with: the command, as a person would type it."""
    return f"$ {shlex.join(argv)}\n"


def node_name() -> str:
    """Return the name by which the cluster knows this machine."""
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname()


def _run(spec: TaskSpec, folder: Path, log: IO[str], begun: float) -> int | None:
    """Return the command's exit code (negative: a signal), None when it reached its limit."""
    parent = os.getppid()
    process = subprocess.Popen(
        spec["argv"],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        cwd=folder,
        start_new_session=True,
    )
    count = 0
    try:
        while True:
            count += 1
            _beat(folder / BEAT, {"count": count, "pid": os.getpid(), "command": process.pid, "node": node_name()})
            try:
                return process.wait(timeout=BEAT_SECONDS)
            except subprocess.TimeoutExpired:
                if time.monotonic() - begun > spec["deadline"]:
                    return None
                if os.getppid() != parent:
                    # Whoever wanted the answer is gone.
                    raise _Stopped from None
    finally:
        # Also what the command left behind: it leads a session of its own.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _beat(file: Path, sign: Mapping[str, object]) -> None:
    # In place: a reader that opens the file anew sees it, where a renamed file may hide behind a cached folder.
    with file.open("r+" if file.exists() else "w", encoding="utf-8") as out:
        out.write(f"{json.dumps(sign):<200}\n")


def _write_whole(file: Path, text: str) -> None:
    partial = file.with_suffix(".partial")
    with partial.open("w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    partial.replace(file)


@contextlib.contextmanager
def _stoppable() -> Iterator[None]:
    """Let a polite signal end the command too, not only this process."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise _Stopped

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGUSR2)}
    try:
        yield
    except _Stopped:
        raise SystemExit(128 + signal.SIGTERM) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
