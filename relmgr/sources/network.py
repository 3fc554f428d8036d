"""Why an address gave no answer, in a few words: libraries wrap that in addresses and names of their own classes."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

NO_NAME = "its name could not be looked up"
REFUSED = "the connection was refused"
# What was wrong stays so for all that is asked of one host within a run.
_LASTING = (NO_NAME, REFUSED)


def host_of(url: str) -> str:
    """Return the host of an address, with its port where one is written, without a user's name."""
    return urlsplit(url).netloc.rpartition("@")[2] or url


def why_no_answer(error: BaseException) -> str:
    """Return why there was no answer; what is none of the common reasons is told by the innermost error's own words."""
    causes = list(_causes(error))
    kinds = {type(cause).__name__ for cause in causes}
    if any(isinstance(cause, socket.gaierror) for cause in causes) or "NameResolutionError" in kinds:
        return NO_NAME
    for cause in causes:
        if isinstance(cause, ssl.SSLError):
            told = getattr(cause, "verify_message", "") or getattr(cause, "reason", "") or "the handshake failed"
            return f"TLS failed: {' '.join(str(told).split())[:100]}"
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return REFUSED
    if "ProxyError" in kinds:
        return "the proxy did not let it through"
    if any(isinstance(cause, TimeoutError) for cause in causes) or any("Timeout" in kind for kind in kinds):
        return "no answer in time"
    if any(isinstance(cause, ConnectionError) for cause in causes) or kinds & {"ProtocolError", "IncompleteRead"}:
        return "the connection was cut off"
    inner = causes[-1]
    text = str(getattr(inner, "strerror", None) or inner)
    return " ".join(text.split())[:200] or type(inner).__name__


def is_lasting(why: str) -> bool:
    """Tell whether asking the same host again within a run is of no use."""
    return why in _LASTING or why.startswith("TLS failed")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what it was made of, the outermost first: causes, arguments and `reason`s, each once."""
    waiting, seen = [error], set()
    while waiting:
        one = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        inside = (*one.args, getattr(one, "reason", None), one.__cause__, one.__context__)
        waiting += [part for part in inside if isinstance(part, BaseException)]
