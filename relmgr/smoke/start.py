"""Start the workers of a back end before anything else is imported: a device takes as long to open as the rest does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from relmgr.smoke.choose import choose_backend
from relmgr.smoke.pool import Pool

if TYPE_CHECKING:
    from relmgr.model.smoke import BackendName


@dataclass(frozen=True)
class Started:
    """A pool whose first workers are on their way, the back end and why it was taken, and when that was."""

    pool: Pool
    backend: BackendName
    choice: str
    at: float


@contextmanager
def start_workers(asked: str, workers: int = 2) -> Iterator[Started]:
    """Choose the back end and start `workers`; all of them end with the context.

    `asked` is `auto` or a back end's name. Raises `UserError`.
    """
    begun = time.monotonic()
    backend, choice = choose_backend(asked)
    # Twice as many in reserve: a device opens one context after the other, and is slow to tidy up after a fault.
    with Pool(backend, size=workers, spares=2 * workers) as pool:
        pool.warm()
        yield Started(pool=pool, backend=backend, choice=choice, at=begun)
