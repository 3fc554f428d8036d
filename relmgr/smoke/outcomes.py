"""Name how a launch ended: by its answer, or by what ended its process and when."""

from __future__ import annotations

import signal
from typing import get_args

from relmgr.model.smoke_report import CaseOutcome
from relmgr.smoke.pool import Ending

_BAD_ADDRESS = (signal.SIGSEGV, signal.SIGBUS)


def name_ending(ending: Ending) -> tuple[CaseOutcome, str]:
    """Return the outcome and, in words, what was seen.

    On a host the kernel runs in the worker's own process, so a bad address ends that process while it is launched.
    Before a launch nothing can be said about the kernel, and after it the harness is at fault: both are told apart.
    """
    answer = ending.answer
    if answer is not None:
        if answer.get("outcome") in get_args(CaseOutcome):
            return answer["outcome"], answer.get("detail") or ""
        return "error", str(answer.get("what") or answer)
    if ending.phase == "launched":
        if ending.timed_out:
            return "hang", ending.why()
        if ending.died_by in _BAD_ADDRESS:
            return "illegal-address", f"signal {signal.Signals(ending.died_by).name} in the kernel"
        return "host-crash", ending.why()
    if ending.phase == "after-launch" and not ending.timed_out:
        return "host-crash", f"after the launch {ending.why()}"
    return "error", f"{'before' if ending.phase != 'after-launch' else 'after'} the launch {ending.why()}"
