"""Regeneration tickets: the facts they are made of, the ticket, and the block that machines read back from one."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal
from urllib.parse import quote

from pydantic import Field

from relmgr.model.abi import AbiVersion
from relmgr.model.base import Convention, Noun
from relmgr.model.databases import DatabaseFact
from relmgr.model.pins import PinChange
from relmgr.model.rebuild import Kept, Rebuild, RebuildStep
from relmgr.model.trains import Train

TicketState = Literal["open", "done", "withdrawn"]
# What is to be done on the forge. `join`: somebody already plans this rebuild in an issue that relmgr did not write.
TicketAction = Literal["file", "update", "keep", "join", "reopen", "close"]
# `fits`: by its age it was built under the present convention. Only a scan makes a database `stale` or `fresh`.
RebuildState = Literal["stale", "suspected", "repacked", "changed-since", "unknown", "fresh", "fits"]
NO_CROSSING = "none"
# Databases listed in one ticket: a body on GitHub ends at 65,536 characters.
MAX_LISTED = 60


class TicketKey(Noun):
    """What one ticket is for. `crossing` is a commit, or `none` where only a scan told of stale rows."""

    consumer: str
    train: str
    arch: str
    crossing: str

    @property
    def text(self) -> str:
        """The key as one word: every part escaped, so that no two keys are the same word (K4)."""
        return ",".join(quote(part, safe="/") for part in (self.consumer, self.train, self.arch, self.crossing))


# -- facts ----------------------------------------------------------------------------------------------------------


class DatedDatabase(Noun):
    """A database file and the pin moves, oldest first, that were made after its content appeared.

    Only moves that changed the convention, or may have. None: since when the content is there could not be told.
    `packed_from` are the files that the same commit replaced by it.
    """

    fact: DatabaseFact
    later_moves: tuple[str, ...] | None
    packed_from: tuple[DatedDatabase, ...] = ()


class ScannedFile(Noun):
    """What a scan found in one file; `content_ids` are the digests of its bytes, where they were taken.

    `conventions` counts the provider's rows by how their kernels take arguments, whatever number the scan was made for.
    `stale_solvers` counts rows of another convention than the present one (None: not all of them were listed).
    """

    path: str
    size: int | None
    content_ids: tuple[str, ...] = ()
    state: Literal["ok", "pointer", "unreadable"]
    provider_rows: int | None
    conventions: dict[str, int] = Field(default={})
    solvers: dict[str, int] = Field(default={})
    stale_solvers: dict[str, int] | None = None
    unknown: int = 0
    corrupt: int = 0
    note: str = ""


class PinAtNumber(Noun):
    """One side of a crossing."""

    ref: str | None
    number: int | None
    convention: Convention


class TicketDatabaseRecord(Noun):
    """A database as the machine-readable block keeps it."""

    path: str
    oid: str
    size: int | None
    state: RebuildState
    provider_rows: int | None
    stale: int | None


class TicketData(Noun):
    """The machine-readable block of a ticket. `more` counts databases beyond those listed."""

    version: Literal[1] = 1
    key: TicketKey
    contract: str | None
    state: TicketState
    old: PinAtNumber | None
    new: PinAtNumber
    crossings: tuple[str, ...]
    databases: tuple[TicketDatabaseRecord, ...]
    more: int = 0
    deadline: date | None


class ExistingTicket(Noun):
    """A ticket that is there already. `data` is its block; without one it is a person's plan of that rebuild."""

    consumer: str
    train: str
    arch: str
    state: TicketState
    url: str | None = None
    body: str | None = None
    data: TicketData | None = None


class DatabaseFacts(Noun):
    """The databases of one commit, the pin's number there, the moves behind it, and scans.

    `moves` changed the convention, or may have, oldest first, all within that commit.
    """

    abi: AbiVersion | None
    moves: tuple[PinChange, ...] = ()
    databases: tuple[DatedDatabase, ...]
    scans: tuple[ScannedFile, ...] = ()

    @property
    def convention(self) -> Convention:
        """How kernels take their arguments under the pin."""
        return self.abi.convention if self.abi else "unknown"


class TicketFacts(DatabaseFacts):
    """Everything that tickets are made of, frozen. `existing` is None when no list of tickets was read.

    `previous_cut` is the day the train before was cut, None when that is not known. `values` fills words of the recipe.
    """

    consumer: str
    provider: str
    contract: str | None
    train: Train
    previous_cut: date | None
    at: datetime
    ref: str
    commit: str
    pin: str | None
    existing: tuple[ExistingTicket, ...] | None = None
    rebuild: Rebuild | None = None
    values: dict[str, str] = Field(default={})
    owners: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()


# -- the ticket -----------------------------------------------------------------------------------------------------


class Crossing(Noun):
    """A pin move that changed the convention, or may have (`certain` False: one side is not known)."""

    commit: str
    committed_at: datetime
    pr: int | None
    subject: str
    old: PinAtNumber
    new: PinAtNumber
    certain: bool


class TicketReason(Noun):
    """Why: from the first crossing's old side to the present pin. `old` is None where only a scan told of it."""

    old: PinAtNumber | None
    new: PinAtNumber
    crossings: tuple[Crossing, ...]


class SolverRows(Noun):
    """Rows of one solver; `stale` is None when the scan did not list all stale rows."""

    solver: str
    rows: int
    stale: int | None


class TicketDatabase(Noun):
    """One database of a ticket. Counts are None where it was not scanned; `since` is when this content appeared."""

    path: str
    oid: str
    storage: str
    size: int | None
    state: RebuildState
    since: date | None
    provider_rows: int | None = None
    stale: int | None = None
    unknown: int | None = None
    corrupt: int | None = None
    solvers: tuple[SolverRows, ...] = ()
    note: str = ""


class TicketRows(Noun):
    """Sums over the scanned databases, None when none was; `not_scanned` names the others."""

    provider: int | None
    stale: int | None
    solvers: tuple[SolverRows, ...]
    not_scanned: tuple[str, ...]


class Recipe(Noun):
    """The commands, filled in; `fill` is what a person still has to fill in, and where each word comes from.

    Built at `commit` or later with the provider at `pin`, the new rows are of the present convention. `version` is the
    release line's number.
    """

    tool: str
    label: str
    consumer: str
    commit: str
    provider: str
    pin: str | None
    version: str
    steps: tuple[RebuildStep, ...]
    fill: dict[str, str]


class Effort(Noun):
    """Days that a rebuild takes, None when the train names neither days nor a rate for known rows."""

    days: int | None
    rows: int | None
    rows_per_day: float | None
    source: str


class Deadline(Noun):
    """The next of the train's days that still lies ahead; `day` is None when it has none."""

    kind: Literal["last-safe-day", "cut", "first-tag", "next-release", "not-planned"]
    day: date | None
    last_safe_day: date | None
    cut: date | None
    first_tag: date | None


class RegenerationTicket(Noun):
    """One ticket. `missing` is what still stands between it and its end; `title` and `body` are its words."""

    key: str
    arch: str
    train: str
    state: TicketState
    action: TicketAction
    url: str | None
    reason: TicketReason
    databases: tuple[TicketDatabase, ...]
    rows: TicketRows
    recipe: Recipe | None
    kept: tuple[Kept, ...]
    effort: Effort
    deadline: Deadline
    owners: tuple[str, ...]
    missing: tuple[str, ...]
    data: TicketData
    title: str = ""
    body: str = ""

    def of_state(self, *states: RebuildState) -> list[TicketDatabase]:
        """Return the databases in one of `states`."""
        return [database for database in self.databases if database.state in states]


class NotNeeded(Noun):
    """An arch that gets no ticket, and why."""

    arch: str
    why: str


class Tickets(Noun):
    """The document of `kdb ticket`. `existing_read` tells whether a list of existing tickets was given."""

    consumer: str
    provider: str
    train: str
    at: datetime
    ref: str
    commit: str
    number: int | None
    convention: Convention
    existing_read: bool
    tickets: tuple[RegenerationTicket, ...]
    not_needed: tuple[NotNeeded, ...]
    gaps: tuple[str, ...]


DatedDatabase.model_rebuild()
