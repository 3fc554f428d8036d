"""What `gate check` is asked for: its options as one object, and what contradicts itself in them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from relmgr.cli.gate_given import gate_inputs, given_options, refuse_given, shipping_snapshot, the_projects
from relmgr.cli.options import Chosen, at_option, instant, project_options
from relmgr.cli.output import remember
from relmgr.cli.paths import FILE, NEW_FILE
from relmgr.cli.posting import post_options
from relmgr.cli.trains import trains_option
from relmgr.errors import RelmgrError, UserError

if TYPE_CHECKING:
    from relmgr.model.project import Project
    from relmgr.model.snapshot import Snapshot
    from relmgr.workflows.gate import Calendars
    from relmgr.workflows.gate_given import GateInputs

F = TypeVar("F", bound=Callable[..., Any])


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
            self.given(), recorded=self.recorded is not None, event=self.event is not None, ships=self.ships, pull=pull
        )
        if self.posts and (self.recorded or self.at or self.assume):
            raise UserError(
                "--post says what is so now", next_step="drop --at, --assume and --snapshot, or add --dry-run"
            )
        if self.event is not None and (self.at or self.assume or self.base):
            raise UserError("an event is of now", next_step="drop --at, --assume and --base, or name OWNER/REPO#N")

    @contextmanager
    def take(self) -> Iterator[tuple[Project, Snapshot]]:
        """Yield the project and the facts about the subject; a change's project is that of its base branch."""
        from relmgr.workflows.gate import recorded_snapshot
        from relmgr.workflows.gate_given import with_given

        project, siblings = the_projects(self.chosen, ships=self.ships)
        when, given = instant(self.at, project), self.given()
        if self.ships:
            snapshot = shipping_snapshot(project, siblings, self.calendar, self.cut, self.release, when)
            yield project, with_given(project, snapshot, given)
        elif self.recorded is not None:
            yield project, with_given(project, recorded_snapshot(self.recorded, when), given)
        else:
            with self._live(project) as (on_base, snapshot):
                yield on_base, with_given(on_base, snapshot, given)

    @contextmanager
    def _live(self, project: Project) -> Iterator[tuple[Project, Snapshot]]:
        from relmgr.sources.github.client import open_github
        from relmgr.sources.github.facts import ref_of
        from relmgr.sources.github.pulls import read_base
        from relmgr.workflows.forge import ask_forge, snapshot_on
        from relmgr.workflows.gate import snapshot_of, subject_of

        name, typed = subject_of(project, self.subject or "")[0], ref_of(self.subject or "")
        github = open_github(project.forge) if self.asks_forge else None
        told = read_base(github, typed) if github else None
        base, when = self.base or told or project.repositories[name].default_branch, instant(self.at, project)
        with self._on_base(project, typed.repository, base) as on_base:
            calendars = self.calendars(on_base)
            ref = subject_of(on_base, str(typed))[1]
            if github is None:
                yield on_base, snapshot_of(on_base, str(ref), when, calendars, self.base)
            else:
                forge = ask_forge(on_base, github, ref)
                yield on_base, snapshot_on(on_base, forge, ref, when, calendars, self.base)

    @contextmanager
    def _on_base(self, project: Project, slug: str, base: str) -> Iterator[Project]:
        """Yield the project as its base branch has it; what is only looked at is judged by that at hand, said so."""
        from relmgr.workflows.base_project import Origin, project_on

        origin = Origin(self.chosen.name, self.chosen.paths)
        with ExitStack() as stack:
            try:
                project = stack.enter_context(project_on(project, origin, slug, base))
            except RelmgrError as error:
                if self.posts:
                    raise
                click.echo(f"relmgr: judged by the settings at hand, not those of {base}: {error.what}", err=True)
            remember(project)
            yield project


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
        type=FILE,
        metavar="FILE",
        help="In GitHub Actions: $GITHUB_EVENT_PATH says what to judge, and which commands a comment gives.",
    ),
    click.option("--base", metavar="BRANCH", help="The branch it goes to, where a clone does not tell."),
    click.option(
        "--assume", multiple=True, metavar="TEXT", help="What if: 'cut TRAIN at DATE', 'merged:OWNER/REPO#N', ..."
    ),
    click.option("--record", type=NEW_FILE, metavar="FILE", help="Write the facts there, for --snapshot."),
    click.option(
        "--github", is_flag=True, help="Ask the forge too: reviews, checks, labels, other pull requests, tickets."
    ),
    given_options,
    post_options,
    project_options,
    trains_option,
    at_option,
)
