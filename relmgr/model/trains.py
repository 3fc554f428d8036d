"""Trains: one release line each, with its cut, its freezes and what it ships; the calendar that lists them.

Dates are calendar dates of the train's zone. A cut is compared as a date: on its day the train counts as cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from functools import cached_property
from math import ceil
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from relmgr.model.base import Noun, Outcome
from relmgr.model.project import Pattern, Repository, Zone
from relmgr.model.times import Moment, check_moment, local_date, resolve_moment

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(?:-[a-z0-9]+)*-\d+\.\d+$")]
UNREADABLE = "freeze data unreadable"
Day = Annotated[date, Field(ge=date(1980, 1, 1), le=date(2199, 12, 31))]
Sentence = Annotated[str, Field(min_length=1, max_length=500)]


def _as_text(value: Any) -> Any:
    """Return a date or date-time that YAML already made of the text as ISO text again."""
    return value.isoformat() if isinstance(value, date) else value


MomentText = Annotated[str, BeforeValidator(_as_text), AfterValidator(check_moment)]


class Freeze(Noun):
    """A freeze as the calendar writes it.

    `starts` and `ends` are a date (that whole day of the train's zone), an aware date-time, or a wall-clock time with
    its zone, such as `2022-11-06T01:30 America/Los_Angeles`. A date as `ends` is the last frozen day.
    """

    phase: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]
    starts: MomentText
    ends: MomentText
    why: Sentence
    exception: Sentence = Field(description="how to get an exception")
    ask: tuple[str, ...] = Field(default=(), description="who grants it; empty: the train's owners")
    repositories: tuple[str, ...] = Field(default=(), description="configured names; empty: every repository")
    branches: tuple[str, ...] = Field(default=(), description="exact branch names; empty: the train's base branch")


class Window(Noun):
    """A freeze with its instants: frozen when `start <= at < end`. `notes` tell what a change of clocks decided."""

    train: str
    phase: str
    start: datetime
    end: datetime
    why: str
    exception: str
    ask: tuple[str, ...]
    repositories: tuple[str, ...] = ()
    branches: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def contains(self, at: datetime) -> bool:
        """Tell whether `at` (aware) lies in the half-open window."""
        return self.start <= at < self.end

    def concerns(self, repository: str, branch: str) -> bool:
        """Tell whether the freeze holds a branch (exact name) of a repository (configured name)."""
        return branch in self.branches and (not self.repositories or repository in self.repositories)


class Regeneration(Noun):
    """How long rebuilding the kernel databases takes: a number of days with its source, or a rate."""

    rows_per_day: float | None = Field(default=None, ge=1, allow_inf_nan=False)
    days: int | None = Field(default=None, ge=0, le=3650)
    source: str = ""

    @model_validator(mode="after")
    def _check(self) -> Regeneration:
        if (self.rows_per_day is None) == (self.days is None):
            raise ValueError("give either `rows_per_day` or `days`")
        if self.days is not None and not self.source:
            raise ValueError("`days` needs its `source`: where was that observed?")
        return self

    def days_for(self, rows: int | None) -> int | None:
        """Return whole days needed for `rows`; None when only a rate is known and the rows are not."""
        if self.days is not None or self.rows_per_day is None:
            return self.days
        return None if rows is None else ceil(rows / self.rows_per_day)


class FirstTag(Noun):
    """A train's first release tag. Without `tagged` only the tag's name is known."""

    name: str
    tagged: Day | None = None
    announced: bool = Field(default=False, description="the date is the announcement's, not the tag's")


class Train(Noun):
    """One release line, self-contained: the calendar's defaults are already laid under it."""

    name: Name
    base_branch: str
    zone: Zone = "UTC"
    branches: dict[str, Pattern] = Field(
        default={}, description="repository name to its release branch, where `release_branches` does not find it"
    )
    cut: Day | None = Field(default=None, description="planned day of the consumers' cut; none: not planned yet")
    cuts: dict[str, Day] = Field(default={}, description="repository name to its day, where it is cut on another one")
    freezes: tuple[Freeze, ...] = ()
    first_tag: FirstTag | None = None
    withdrawn: str = Field(default="", description="why the train ends without a release")
    abi: dict[str, int] = Field(default={}, description="contract name to the number this train ships")
    supported: bool | None = Field(default=None, description="still in support; none: the calendar does not say")
    regeneration: Regeneration | None = None
    owners: tuple[str, ...] = Field(default=(), description="who grants exceptions")

    @model_validator(mode="after")
    def _check(self) -> Train:
        for freeze, window in zip(self.freezes, self.windows, strict=True):
            if window.start >= window.end:
                raise ValueError(f"freeze {freeze.phase!r} ends before it starts")
            if not window.ask:
                raise ValueError(f"freeze {freeze.phase!r} names nobody to ask: add `ask`, or `owners` to the train")
        if self.cut and self.first_tag and self.first_tag.tagged and self.first_tag.tagged < self.cut:
            raise ValueError(f"first tag {self.first_tag.tagged} lies before the cut {self.cut}")
        return self

    @property
    def version(self) -> str:
        """The number of the release line, such as `5.3`."""
        return self.name.rsplit("-", 1)[1]

    @property
    def order(self) -> tuple[int, ...]:
        """A sort key by version: 5.10 comes after 5.9."""
        return tuple(int(part) for part in self.version.split("."))

    @cached_property
    def timezone(self) -> ZoneInfo:
        """The zone in which the train's dates are days."""
        return ZoneInfo(self.zone)

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """The freezes with their instants, as the calendar lists them."""
        return tuple(self._window(freeze) for freeze in self.freezes)

    def _window(self, freeze: Freeze) -> Window:
        start: Moment = resolve_moment(freeze.starts, self.timezone)
        end: Moment = resolve_moment(freeze.ends, self.timezone, end=True)
        return Window(
            train=self.name,
            phase=freeze.phase,
            start=start.at,
            end=end.at,
            why=freeze.why,
            exception=freeze.exception,
            ask=freeze.ask or self.owners,
            repositories=freeze.repositories,
            branches=freeze.branches or (self.base_branch,),
            notes=tuple(note for note in (start.note, end.note) if note),
        )

    def cut_of(self, repository: str, *, consumer: bool = True) -> date | None:
        """Return the planned cut of a repository; `cut` alone speaks for consumers, a provider may be cut before."""
        return self.cuts.get(repository, self.cut if consumer else None)

    def is_cut(self, at: datetime) -> bool | None:
        """Tell whether the planned cut's day has come at `at`; None when no cut is planned."""
        return None if self.cut is None else local_date(at, self.timezone) >= self.cut

    def names_branch(self, name: str, repository: Repository, branch: str) -> bool:
        """Tell whether `branch` is this train's in the repository configured as `name` (whole-name match, T7)."""
        if name in self.branches:
            return re.fullmatch(self.branches[name], branch) is not None
        found = re.fullmatch(repository.release_branches, branch)
        return found is not None and found.groupdict().get("train") == self.version

    def names_tag(self, repository: Repository, tag: str) -> bool:
        """Tell whether `tag` is a release tag of this train: `rocm-5.1.3` is 5.1's, `rocm-5.14.0` is not (T7)."""
        if not re.fullmatch(repository.release_tags, tag):
            return False
        return tuple(int(number) for number in re.findall(r"\d+", tag)[:2]) == self.order


_DEFAULTS = ("base_branch", "zone", "regeneration", "owners", "supported")


class TrainDefaults(Noun):
    """What trains share unless they say otherwise."""

    base_branch: str | None = None
    zone: Zone | None = None
    regeneration: Regeneration | None = None
    owners: tuple[str, ...] | None = None
    supported: bool | None = None


class Calendar(Noun):
    """The trains of a project, oldest first."""

    defaults: TrainDefaults = TrainDefaults()
    trains: tuple[Train, ...]

    @model_validator(mode="before")
    @classmethod
    def _lay_defaults(cls, data: Any) -> Any:
        if not isinstance(data, dict) or not isinstance(data.get("defaults"), dict):
            return data
        shared = {key: data["defaults"][key] for key in _DEFAULTS if data["defaults"].get(key) is not None}
        trains = data.get("trains")
        if not isinstance(trains, (list, tuple)):
            return data
        return data | {"trains": [shared | item if isinstance(item, dict) else item for item in trains]}

    @model_validator(mode="after")
    def _check(self) -> Calendar:
        names = [train.name for train in self.trains]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"listed twice: {', '.join(twice)}")
        return self

    def train(self, name: str) -> Train | None:
        """Return the train called `name`, also without its prefix where that is unambiguous (`5.3`)."""
        found = [train for train in self.trains if name in (train.name, train.version)]
        exact = [train for train in found if train.name == name]
        return (exact or found)[0] if exact or len(found) == 1 else None


def next_train_to_cut(trains: Iterable[Train], base_branch: str, at: datetime) -> Train | None:
    """Return the next train to be cut from `base_branch` after `at`; None when none is planned.

    A train without a planned cut comes before dated ones of a higher version: its `cut` is None, so the answer is
    "not known", never a later train's date.
    """
    open_ = [t for t in trains if t.base_branch == base_branch and not t.withdrawn and not t.is_cut(at)]
    # Tagged trains are long cut, whatever the calendar says about the day.
    open_ = [
        t
        for t in open_
        if not (t.first_tag and t.first_tag.tagged and t.first_tag.tagged <= local_date(at, t.timezone))
    ]
    dated = min((t for t in open_ if t.cut), key=lambda t: (t.cut, t.order), default=None)
    undated = min((t for t in open_ if not t.cut), key=lambda t: t.order, default=None)
    if dated is None or undated is None:
        return dated or undated
    return undated if undated.order < dated.order else dated


def train_of_branch(trains: Iterable[Train], name: str, repository: Repository, branch: str) -> Train | None:
    """Return the train that `branch` of the repository configured as `name` belongs to."""
    return next((train for train in trains if train.names_branch(name, repository, branch)), None)


def supported_numbers(trains: Iterable[Train] | None, contract: str) -> tuple[int, ...] | None:
    """Return the numbers of a contract that the trains still in support ship.

    None when that is not told: a train that does not say, or one in support without a number, may ship any.
    """
    left = [train for train in trains or () if not train.withdrawn and train.supported is not False]
    if not left or any(train.supported is None or contract not in train.abi for train in left):
        return None
    return tuple(sorted({train.abi[contract] for train in left}))


def last_safe_day(train: Train, rows: int | None = None) -> date | None:
    """Return the last day on which databases can still be rebuilt before the cut: cut minus the days needed.

    None when the cut is not planned, or when neither days nor (rate and `rows`) are known.
    """
    days = train.regeneration.days_for(rows) if train.regeneration else None
    if train.cut is None or days is None:
        return None
    # Longer than the calendar reaches back is no day at all, and certainly none to come.
    return train.cut - timedelta(days=days) if days < train.cut.toordinal() else date.min


def windows_at(trains: Iterable[Train], repository: str, branch: str, at: datetime) -> tuple[Window, ...]:
    """Return every freeze of `branch` (the change's real base branch, T3) at `at`, the longest lasting first."""
    found = [w for t in trains for w in t.windows if w.concerns(repository, branch) and w.contains(at)]
    return tuple(sorted(found, key=lambda w: (-w.end.timestamp(), w.train, w.phase)))


class TrainState(Noun):
    """What a repository says about a train at an instant. Dates are the committer's or tagger's own calendar dates.

    `branch` is None when there is none yet; `also` are further branches that fit the train's pattern. `tag_dated` is
    False for a lightweight tag: it has no date of its own, and `tagged` is then None. `unread` names what could not be
    told; then None means "unknown", not "no".
    """

    train: str
    repository: str
    branch: str | None = None
    also: tuple[str, ...] = ()
    tip: str | None = None
    cut_commit: str | None = None
    cut_at: datetime | None = None
    first_tag: str | None = None
    tag_dated: bool | None = None
    tagged: datetime | None = None
    stray_tags: tuple[str, ...] = Field(default=(), description="release tags that are not on the branch")
    unread: tuple[str, ...] = ()

    @property
    def cut(self) -> date | None:
        """The day of the cut, in the committer's offset."""
        return self.cut_at.date() if self.cut_at else None


class Disagreement(Noun):
    """A point in which calendar and repository differ (T4); `unknown` when one side could not be read."""

    kind: str
    outcome: Outcome
    train: str
    repository: str
    calendar: str | None
    found: str | None
    remedy: str


class TrainRow(Noun):
    """A train as `train list` shows it: the calendar's side, and the consumer's repository where a clone is at hand."""

    train: str
    base_branch: str
    planned_cut: date | None
    last_safe_day: date | None
    cut: date | None
    branch: str | None
    first_tag: str | None
    tagged: date | None
    announced: bool
    abi: dict[str, int]
    withdrawn: str
    disagreements: tuple[Disagreement, ...]


class TrainShow(TrainRow):
    """The document of `train show`: everything about one train at an instant, in every repository with a clone."""

    at: datetime
    zone: str
    regeneration: Regeneration | None
    owners: tuple[str, ...]
    windows: tuple[Window, ...]
    frozen: tuple[Window, ...]
    open_from: datetime | None
    states: tuple[TrainState, ...]
