"""The facts that policies judge by, where no other noun says them. What could not be told inside a fact is None."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal

from relmgr.model.abi import AbiDiff
from relmgr.model.base import Convention, Noun
from relmgr.model.pins import AbiChange, Kind, PinSide, SitePin

PullState = Literal["open", "merged", "closed"]


class Dependency(Noun):
    """A pull request that the subject waits for, and what became of it.

    `needs` is the branch its commit must be on, the one the subject builds against; `landed` tells whether it is there.
    A companion lives at the other end of a pin; `pinned` when the subject's pin names its head commit, and `squash` is
    then the merged commit whose tree equals that head's.
    """

    pull: str
    companion: bool
    declared_by: str
    state: PullState | None
    base: str | None = None
    needs: str | None = None
    landed: bool | None = None
    merged_at: datetime | None = None
    pinned: bool = False
    head: str | None = None
    squash: str | None = None


class Suggestion(Noun):
    """A sentence that reads like a declaration and decides nothing. `trailer` is the line that would declare it.

    `belongs_in` is the pull request in whose description that line belongs, where that is not the subject's own.
    `understood` is False for a look-alike that was not read (M4); `source` says where the sentence stands.
    """

    sentence: str
    trailer: str | None
    belongs_in: str | None = None
    understood: bool
    source: str


class PinMove(Noun):
    """What the subject does to one pin; `old` and `new` are the pins in force before and after it."""

    pin: str
    group: str | None
    contract: str | None
    provider: str
    kinds: tuple[Kind, ...]
    old: PinSide | None
    new: PinSide | None
    abi: AbiChange | None

    @property
    def moves(self) -> bool:
        """Tell whether the ref in force becomes another."""
        return bool({"first", "ref", "removed", "restored"} & set(self.kinds))


class PinAt(Noun):
    """One pin as the subject leaves it: every live site, and the sites that could not be read."""

    pin: str
    sites: tuple[SitePin, ...]
    gaps: tuple[str, ...] = ()


class PinAncestry(Noun):
    """Where a pin's new commit stands in the provider's history.

    `forward`: the old pin is its ancestor. `branches` and `tags` hold it (None: not told), `pulls` are numbers of pull
    requests whose fetched head holds it; `tag_object` when the pin names a tag object instead of a commit, with the
    commit to write instead.
    """

    pin: str
    forward: bool | None
    branches: tuple[str, ...] | None
    tags: tuple[str, ...] = ()
    pulls: tuple[int, ...] = ()
    tag_object: str | None = None
    commit: str | None = None
    note: str = ""


class PinDigest(Noun):
    """A pin's digest against that of the archive; `same_tree` tells changed bytes from a moved tag."""

    pin: str
    ref: str
    declared: str
    archive: str | None
    same_tree: bool | None


class RevertedPin(Noun):
    """A ref that was pinned and reverted; `commit` is what it means, None where that is not told.

    `released` is who allowed it again; `moved_past`: the new pin is newer.
    """

    pin: str
    ref: str
    commit: str | None = None
    reverted_by: str
    pr: int | None
    reverted_at: datetime
    released: str | None = None
    moved_past: bool | None = None


class Surface(Noun):
    """How a provider's header changes across the subject."""

    contract: str
    diff: AbiDiff


class GuardAt(Noun):
    """One `#if` on a contract's macro; `live_at` are the known numbers at which it compiles its own branch."""

    file: str
    line: int
    condition: str
    live_at: tuple[int, ...]

    def tells_apart(self, one: int, other: int) -> bool:
        """Tell whether the two numbers take different branches here."""
        return (one in self.live_at) != (other in self.live_at)


class GuardFact(Noun):
    """The consumer's guards on one contract, before and after the subject.

    `pinned` is the number in force before; `numbers` those the guards were tried at; `supported` those that a train
    still in support ships (None: no train says).
    """

    contract: str
    macro: str
    pinned: int | None
    numbers: tuple[int, ...]
    supported: tuple[int, ...] | None
    before: tuple[GuardAt, ...]
    after: tuple[GuardAt, ...]


class Ticket(Noun):
    """A regeneration ticket on the forge: for an arch, towards a number."""

    contract: str
    number: int | None
    arch: str
    state: Literal["open", "done", "withdrawn"]
    url: str | None = None


class ShippedDatabase(Noun):
    """One shipped kernel database as the subject leaves it.

    `provider_rows` counts rows of the provider's kernels (None: not scanned, it may hold some); `stale_rows` those of
    another convention than the pin's. `content_since` is the first day this content appeared. `ruled_out`: not scanned,
    and the find-dbs beside it name no solver of the provider's.
    """

    path: str
    arch: str | None
    provider_rows: int | None
    stale_rows: int | None
    content_since: date | None = None
    ruled_out: bool = False
    note: str = ""

    @property
    def may_hold(self) -> bool:
        """Tell whether rows of the provider's kernels cannot be ruled out; what a scan counted decides."""
        return not self.ruled_out if self.provider_rows is None else self.provider_rows > 0


class ConsumerPin(Noun):
    """What one consumer of a provider pins on the branch of a release; `note` says why its pin is not known."""

    consumer: str
    provider: str
    ref: str | None
    commit: str | None
    number: int | None
    convention: Convention
    note: str = ""


class ChangelogFact(Noun):
    """What the subject does to the change log. `exempt` says why none is needed, where the subject says so."""

    path: str
    added: tuple[str, ...]
    exempt: str | None = None


class PolicyEdit(Noun):
    """A policy, template, train, waiver or project file in the subject's own change; `problem`: why it is refused."""

    path: str
    kind: Literal["policy", "template", "trains", "waivers", "project"]
    problem: str | None


class MergeAfter(Noun):
    """An event that the subject declares to wait for: a train's cut, a day, or a pin having reached a ref.

    `reached` answers for a pin only (None: could not be told).
    """

    kind: Literal["cut", "date", "pin"]
    train: str | None = None
    day: date | None = None
    pin: str | None = None
    ref: str | None = None
    reached: bool | None = None
    declared_by: str


class Review(Noun):
    """A review; `at` is when it was given, `commit` the head that it looked at.

    `may_push`: its author may push to the repository. On a public forge anybody may review, and decides nothing.
    """

    by: str
    state: Literal["approved", "changes-requested", "commented", "dismissed"]
    at: datetime
    commit: str | None = None
    may_push: bool | None = None


class CheckRun(Noun):
    """One result of one named check; the newest of a name counts."""

    name: str
    conclusion: str | None
    at: datetime
