"""How the one who asks hands in a fact that was not read: by which options of `gate check`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from relmgr.model.snapshot import FORGE_NOT_ASKED, NO_REPORT

_CLONE = re.compile(r"--repo [\w.-]+=PATH")


def how_to_hand_in(unread: Iterable[str]) -> str:
    """Return what to give for facts that were not read (each `FACT: why`), '' where no option hands one in."""
    return "; ".join(dict.fromkeys(way for said in unread for way in _ways(*said.partition(": ")[::2])))


def _ways(fact: str, why: str) -> Iterator[str]:
    if FORGE_NOT_ASKED in why:
        yield (
            "hand them in with --tickets FILE, or ask the forge with --github"
            if fact == "tickets"
            else ("ask the forge with --github")
        )
    if why == NO_REPORT:
        yield "run `relmgr smoke run` and hand its report in with --smoke-report FILE"
    if clone := _CLONE.search(why):
        yield f"give the clone with {clone[0]}"
