"""The geometry of the audit's timeline: swim lanes of pins, convention, releases and databases over time.

Everything is in SVG user units (1 unit = 1 CSS pixel at full width); the template draws what stands here.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from relmgr.model.audit import AuditFacts, DatabaseState, ReleaseFacts
from relmgr.model.database_age import database_state
from relmgr.model.pins import PinChange
from relmgr.render.engine import short

WIDTH, LEFT, RIGHT = 1200, 108, 24
_LABEL_GAP = 8
_CHARACTER = 6.2
_PIN_ROWS = 4
_ROW = 18


@dataclass(frozen=True)
class Mark:
    """A point at `x`, `y`; `label` is drawn beside it when not empty, `title` is its tooltip."""

    x: float
    y: float
    kind: str
    label: str
    title: str
    label_y: float = 0


@dataclass(frozen=True)
class Band:
    """A stretch of the convention lane; `kind` is a convention, or `none` where there is no pin."""

    x: float
    width: float
    kind: str
    number: int | None


@dataclass(frozen=True)
class Row:
    """One database over the releases."""

    y: float
    label: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Timeline:
    """The whole picture; `lanes` maps each lane to its top, `years` are (x, label) of the first of January."""

    width: int
    height: float
    left: int
    lanes: dict[str, float]
    years: tuple[tuple[float, str], ...]
    pins: tuple[Mark, ...]
    bands: tuple[Band, ...]
    releases: tuple[Mark, ...]
    rows: tuple[Row, ...]
    crossings: tuple[Mark, ...]
    states: tuple[DatabaseState, ...]


class _Scale:
    """Maps instants to x."""

    def __init__(self, start: datetime, end: datetime) -> None:
        self.start, self.end = start, end
        self._span = max((end - start).total_seconds(), 1.0)

    def x(self, at: datetime) -> float:
        share = (at - self.start).total_seconds() / self._span
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)


def timeline(facts: AuditFacts) -> Timeline | None:
    """Return the timeline of an audit, or None when there is neither a pin change nor a release to show."""
    first_pin = facts.changes[0].committed_at if facts.changes else None
    releases = [r for r in facts.releases if first_pin is None or r.tagged_at >= first_pin]
    times = [change.committed_at for change in facts.changes] + [release.tagged_at for release in releases]
    if not times:
        return None
    margin = timedelta(days=30)
    scale = _Scale(min(times) - margin, max(times) + margin)
    lanes = {"pins": 46.0}
    lanes["convention"] = lanes["pins"] + 30 + _PIN_ROWS * 14
    lanes["releases"] = lanes["convention"] + 44
    lanes["databases"] = lanes["releases"] + 56
    rows = _rows(releases, facts, scale, lanes["databases"])
    return Timeline(
        width=WIDTH,
        height=lanes["databases"] + max(len(rows), 1) * _ROW + 18,
        left=LEFT,
        lanes=lanes,
        years=tuple(_years(scale)),
        pins=tuple(_pins(facts.changes, scale, lanes["pins"])),
        bands=tuple(_bands(facts.changes, scale)),
        releases=tuple(_releases(releases, scale, lanes["releases"])),
        rows=rows,
        crossings=tuple(_crossings(facts.changes, scale)),
        states=tuple(sorted({state for release in releases for state in _states(release, facts).values()})),
    )


def _years(scale: _Scale) -> list[tuple[float, str]]:
    years = range(scale.start.year + 1, scale.end.year + 1)
    return [(scale.x(datetime(year, 1, 1, tzinfo=timezone.utc)), str(year)) for year in years]


def _pins(changes: tuple[PinChange, ...], scale: _Scale, top: float) -> list[Mark]:
    """Place the pin changes; labels go to the first of four rows where they fit, a crossing's always."""
    free = [0.0] * _PIN_ROWS
    marks = []
    for change in changes:
        x = scale.x(change.committed_at)
        label = short(change.new.ref)[:16] if change.new else "removed"
        moved = {"first", "ref", "restored", "removed"} & set(change.kinds)
        crossing = bool(change.abi and change.abi.crossing)
        row = next((r for r in range(_PIN_ROWS) if free[r] <= x - 4), 0 if crossing else None) if moved else None
        if row is not None:
            free[row] = x + len(label) * _CHARACTER + _LABEL_GAP
        kind = "crossing" if crossing else "revert" if change.reverts else "move" if moved else "other"
        title = f"{change.committed_at.date()} {change.commit[:12]} ({', '.join(change.kinds)}): {change.subject}"
        marks.append(Mark(x, top, kind, label if row is not None else "", title, top + 20 + (row or 0) * 14))
    return marks


def _bands(changes: tuple[PinChange, ...], scale: _Scale) -> list[Band]:
    """Merge consecutive pins of one convention and number into bands."""
    bands: list[Band] = []
    for index, change in enumerate(changes):
        end = changes[index + 1].committed_at if index + 1 < len(changes) else scale.end
        if change.abi is None or change.new is None:
            kind, number = "none", None
        else:
            kind, number = change.abi.new_convention, change.abi.new
        x = scale.x(change.committed_at)
        if bands and (bands[-1].kind, bands[-1].number) == (kind, number):
            x = bands.pop().x
        bands.append(Band(x, round(scale.x(end) - x, 1), kind, number))
    return bands


def _releases(releases: list[ReleaseFacts], scale: _Scale, top: float) -> list[Mark]:
    """Place the release tags; a label is drawn where it fits beside the one before."""
    free = 0.0
    marks = []
    for release in sorted(releases, key=lambda r: r.tagged_at):
        x = scale.x(release.tagged_at)
        label = release.tag.rpartition("-")[2]
        shown = x - len(label) * _CHARACTER / 2 >= free
        if shown:
            free = x + len(label) * _CHARACTER / 2 + _LABEL_GAP
        pin = release.state.pin.ref if release.state.pin else "no pin"
        title = f"{release.tagged_at.date()} {release.tag}: pin {short(pin)}"
        marks.append(Mark(x, top, "release", label if shown else "", title, top + 26))
    return marks


def _states(release: ReleaseFacts, facts: AuditFacts) -> dict[str, DatabaseState]:
    return {fact.path: database_state(fact, release, facts.scans) for fact in release.databases}


def _rows(releases: list[ReleaseFacts], facts: AuditFacts, scale: _Scale, top: float) -> tuple[Row, ...]:
    found: dict[str, list[tuple[float, str, str]]] = {}
    for release in sorted(releases, key=lambda r: r.tagged_at):
        for path, state in _states(release, facts).items():
            name = path.rpartition("/")[2].partition(".")[0]
            title = f"{release.tag} {path.rpartition('/')[2]}"
            found.setdefault(name, []).append((scale.x(release.tagged_at), state, title))
    return tuple(
        Row(
            top + index * _ROW,
            name,
            tuple(Mark(x, top + index * _ROW, state, "", title) for x, state, title in marks),
        )
        for index, (name, marks) in enumerate(sorted(found.items(), key=lambda item: _by_name(item[0])))
    )


def _by_name(name: str) -> tuple[str, str]:
    arch, _, rest = name.partition("_")
    return arch, rest


def _crossings(changes: tuple[PinChange, ...], scale: _Scale) -> list[Mark]:
    return [
        Mark(
            scale.x(change.committed_at),
            0,
            "crossing",
            f"kernel ABI {change.abi.old} -> {change.abi.new}, {change.committed_at.date()}",
            change.subject,
        )
        for change in changes
        if change.abi and change.abi.crossing
    ]
