"""When to wait for GitHub, and for how long: rate limits, its own trouble, and the pace of writing."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

# https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
WRITES_PER_MINUTE = 80
WRITES_PER_HOUR = 500
SECONDARY_SECONDS = 60.0
LONGEST_SECONDS = 960.0
_SECONDARY_WORDS = ("secondary rate limit", "abuse detection", "wait a few minutes", "retry your request again later")


@dataclass(frozen=True)
class Clock:
    """Time as the door sees it: seconds since the epoch, and how to let some pass."""

    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep


@dataclass
class Pace:
    """Keeps content writes under GitHub's limits: waits before a write that would pass one."""

    clock: Clock = Clock()
    per_minute: int = WRITES_PER_MINUTE
    per_hour: int = WRITES_PER_HOUR
    _written: deque[float] = field(default_factory=deque)

    def wait(self) -> None:
        """Return when a write may be sent, and count it."""
        now = self.clock.now()
        while self._written and self._written[0] <= now - 3600:
            self._written.popleft()
        due = now
        for count, span in ((self.per_minute, 60.0), (self.per_hour, 3600.0)):
            if len(self._written) >= count:
                due = max(due, self._written[-count] + span)
        if due > now:
            self.clock.sleep(due - now)
        self._written.append(max(due, now))


def rate_limit_wait(status: int, headers: Mapping[str, str], message: str, attempt: int, now: float) -> float | None:
    """Return the seconds that a refusal asks to wait, None when it is no rate limit.

    `Retry-After` wins; then the hour's end for the primary limit; a secondary limit without a word about time waits a
    minute at first and twice as long after each further refusal, never longer than `LONGEST_SECONDS`.
    """
    if status not in (403, 429):
        return None
    after = headers.get("retry-after", "")
    if after.isdecimal():
        return float(after) + 1
    lowered = message.lower()
    if headers.get("x-ratelimit-remaining") == "0" and headers.get("x-ratelimit-reset", "").isdecimal():
        return max(1.0, float(headers["x-ratelimit-reset"]) - now + 1)
    if status == 429 or is_secondary(message):
        return min(SECONDARY_SECONDS * 2.0 ** min(attempt - 1, 10), LONGEST_SECONDS)
    # The hour's limit, told in words alone.
    return SECONDARY_SECONDS if lowered.startswith("api rate limit exceeded") else None


def is_secondary(message: str) -> bool:
    """Tell whether a refusal's words are those of a secondary limit."""
    return any(words in message.lower() for words in _SECONDARY_WORDS)


def trouble_wait(attempt: int) -> float:
    """Return the seconds to wait after GitHub's own trouble: 1, 2, 4, ... at most 30."""
    return min(2.0 ** min(attempt - 1, 10), 30.0)
