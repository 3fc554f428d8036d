"""Bounds for work over a project's own templates, which may loop or grow without end.

Jinja's sandbox bounds `range` alone: loops in loops, a macro that calls itself, or a text that is doubled over and over
pass it. So the process itself is bounded while such a template is compiled or rendered: by processor time, which a busy
machine does not spend for it, and by memory, which also bounds how long one step of the interpreter can take.
"""

from __future__ import annotations

import resource
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

SECONDS = 20.0
MEMORY = 1024**3


class TooLong(Exception):
    """The bounded work took more processor time than it may."""


@contextmanager
def bounded(seconds: float = SECONDS, memory: int = MEMORY) -> Iterator[None]:
    """Raise `TooLong` or `MemoryError` in what goes on for more than `seconds`, or takes `memory` more bytes.

    Only the main thread can be interrupted, and only Linux tells how much memory is in use: elsewhere that bound is
    not there.
    """
    with _time(seconds), _memory(memory):
        yield


@contextmanager
def _time(seconds: float) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    running = True

    def stop(_signal: int, _frame: FrameType | None) -> None:
        if running:
            raise TooLong(f"it took more than {seconds:g} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    # Again and again: an exception inside a destructor is lost, and Jinja swallows those of constants it works out.
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 0.01)
    try:
        yield
    finally:
        running = False
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextmanager
def _memory(more: int) -> Iterator[None]:
    if sys.platform != "linux":
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limits = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
    limit = min([pages * resource.getpagesize() + more, *limits])
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
