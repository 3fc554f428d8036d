"""Where things stand, on one page."""

from __future__ import annotations

from datetime import datetime

from relmgr.model.audit import ReleaseRow
from relmgr.model.base import Noun
from relmgr.model.pins import PinChange, PinShow


class Status(Noun):
    """The document of `status`: the pin, its line's last crossing, the latest release, the databases now."""

    consumer: str
    provider: str
    taken_at: datetime
    pin: PinShow
    crossing: PinChange | None
    latest_release: ReleaseRow | None
    databases: tuple[StatusDatabase, ...]


class StatusDatabase(Noun):
    """A database in the tree now; `state` as in a release's row."""

    path: str
    state: str
    storage: str
    size: int | None
    first_seen: datetime | None


Status.model_rebuild()
