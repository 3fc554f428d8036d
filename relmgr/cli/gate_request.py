"""What `gate check` is asked for: its options as one object, and what contradicts itself in them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from relmgr.cli.gate_given import gate_inputs, given_options, refuse_given, shipping_snapshot, the_projects
from relmgr.cli.options import Chosen, at_option, instant, project_options
from relmgr.cli.posting import post_options
from relmgr.cli.trains import trains_option
from relmgr.errors import UserError

if TYPE_CHECKING:
    from relmgr.model.project import Project
    from relmgr.model.snapshot import Snapshot
    from relmgr.workflows.gate import Calendars
    from relmgr.workflows.gate_given import GateInputs

F = TypeVar("F", bound=Callable[..., Any])
_FILE = click.Path(dir_okay=False, path_type=Path)


@dataclass(frozen=True)
class Request:
    """The options of `gate check`, as given."""

    chosen: Chosen
    subject: str | None
    recorded: str | None
    event: Path | None
    cut: str | None
    release: str | None
    base: str | None
    assume: tuple[str, ...]
    record: Path | None
    github: bool
    databases: tuple[str, ...]
    scans: tuple[Path, ...]
    tickets: Path | None
    smoke_reports: tuple[Path, ...]
    post: bool
    dry_run: bool
    calendar: Path | None
    at: str | None

    @property
    def posts(self) -> bool:
        """Tell whether anything is to be written on the forge."""
        return self.post and not self.dry_run

    @property
    def asks_forge(self) -> bool:
        """Tell whether the forge is asked for its facts."""
        return self.github or self.event is not None or self.posts

    @property
    def ships(self) -> bool:
        """Tell whether a cut or a release is judged."""
        return self.cut is not None or self.release is not None

    def given(self) -> GateInputs:
        """Return what was handed in."""
        return gate_inputs(self.scans, self.databases, self.tickets, self.smoke_reports)

    def calendars(self, project: Project) -> Calendars:
        """Return the calendar to judge by, or why there is none."""
        from relmgr.sources.trains import calendar_or_gap
        from relmgr.workflows.gate import Calendars

        return Calendars(*calendar_or_gap(self.calendar or project.trains))

    def refuse_contradictions(self) -> None:
        """Refuse two subjects, facts from two places, and posting what is not so now."""
        subjects = (self.subject, self.recorded, self.event, self.cut, self.release)
        if sum(one is not None for one in subjects) != 1:
            raise UserError(
                "give either OWNER/REPO#N or --snapshot, --cut, --release, or in a workflow --event",
                next_step="relmgr gate check ROCm/MIOpen#1673",
            )
        pull = bool(self.github or self.post or self.base)
        refuse_given(
            self.given(), recorded=self.recorded is not None, forge=self.asks_forge, ships=self.ships, pull=pull
        )
        if self.posts and (self.recorded or self.at or self.assume):
            raise UserError(
                "--post says what is so now", next_step="drop --at, --assume and --snapshot, or add --dry-run"
            )
        if self.event is not None and (self.at or self.assume or self.base):
            raise UserError("an event is of now", next_step="drop --at, --assume and --base, or name OWNER/REPO#N")

    def take(self) -> tuple[Project, Snapshot]:
        """Return the project and the facts about the subject."""
        from relmgr.workflows.gate import recorded_snapshot
        from relmgr.workflows.gate_given import with_given

        project, siblings = the_projects(self.chosen, ships=self.ships)
        when = instant(self.at, project)
        if self.ships:
            snapshot = shipping_snapshot(project, siblings, self.calendar, self.cut, self.release, when)
        elif self.recorded is not None:
            snapshot = recorded_snapshot(self.recorded, when)
        else:
            snapshot = self._live(project)
        return project, with_given(project, snapshot, self.given())

    def _live(self, project: Project) -> Snapshot:
        from relmgr.workflows.gate import snapshot_of

        subject, when, calendars = self.subject or "", instant(self.at, project), self.calendars(project)
        if not self.asks_forge:
            return snapshot_of(project, subject, when, calendars, self.base)
        from relmgr.sources.github.client import open_github
        from relmgr.workflows.forge import live_snapshot

        return live_snapshot(project, subject, when, calendars, self.base, open_github(project.forge))


def request_options(command: F) -> F:
    """Add every option of `gate check` but those of output; the command gets them as `request`, a `Request`."""

    @functools.wraps(command)
    def with_request(**given: Any) -> Any:
        own = {field.name: given.pop(field.name) for field in fields(Request)}
        return command(request=Request(**own), **given)

    named: Any = with_request
    for option in reversed(_SUBJECT_OPTIONS):
        named = option(named)
    return cast(F, named)


_SUBJECT_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.argument("subject", required=False, metavar="OWNER/REPO#N"),
    click.option("--snapshot", "recorded", metavar="NAME|FILE", help="Judge recorded facts instead of the clones."),
    click.option(
        "--event",
        type=_FILE,
        metavar="FILE",
        help="In GitHub Actions: $GITHUB_EVENT_PATH says what to judge, and which commands a comment gives.",
    ),
    click.option("--base", metavar="BRANCH", help="The branch it goes to, where a clone does not tell."),
    click.option(
        "--assume", multiple=True, metavar="TEXT", help="What if: 'cut TRAIN at DATE', 'merged:OWNER/REPO#N', ..."
    ),
    click.option("--record", type=_FILE, metavar="FILE", help="Write the facts there, for --snapshot."),
    click.option(
        "--github", is_flag=True, help="Ask the forge too: reviews, checks, labels, other pull requests, tickets."
    ),
    given_options,
    post_options,
    project_options,
    trains_option,
    at_option,
)
