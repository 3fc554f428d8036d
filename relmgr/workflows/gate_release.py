"""The gate on a cut or a release: what its consumers pin, whether their conventions agree, what databases ship."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

from relmgr.errors import RelmgrError, SourceError, UserError
from relmgr.model.facts import ConsumerPin
from relmgr.model.project import PinConfig, Project
from relmgr.model.snapshot import Snapshot
from relmgr.model.trains import Calendar, Train
from relmgr.settings import load_project, shipped_projects
from relmgr.sources.changes.change import commit_before
from relmgr.sources.changes.rules import standing_waivers
from relmgr.sources.git.clone import Clone
from relmgr.sources.pins.consumer import read_consumer_pin, read_pins_at, unread_pin
from relmgr.sources.trains import read_train_state
from relmgr.workflows.gate_databases import with_databases
from relmgr.workflows.locate import consumer_clone
from relmgr.workflows.pins import commit_at
from relmgr.workflows.trains import named_train


class _Shipped:
    """What is cut or released: it names the commit of each consumer that it takes."""

    def __init__(self, project: Project, train: Train | None, tag: str | None, at: datetime | None) -> None:
        self.project, self.train, self.tag, self.at = project, train, tag, at

    def commit(self, project: Project, clone: Clone, consumer: str) -> str:
        """Return the commit that ships: the tag's, else the release branch's, before the cut its base branch's."""
        if self.tag is not None:
            if self.tag not in clone.tags:
                raise SourceError(f"no tag {self.tag} in the clone of {project.repositories[consumer].slug}")
            return clone.tags[self.tag].commit
        assert self.train is not None
        return commit_at(clone, self.branch(project, clone, consumer) or self.train.base_branch, self.at)

    def branch(self, project: Project, clone: Clone, consumer: str) -> str | None:
        """Return the train's branch in a consumer's repository, None before it is cut there."""
        if self.train is None:
            return None
        return read_train_state(clone, consumer, project.repositories[consumer], self.train, self.at).branch


def snapshot_of_cut(
    project: Project, calendar: Calendar, name: str, at: datetime | None, siblings: Sequence[Project] = ()
) -> Snapshot:
    """Return the facts about the cut of a train as of `at`: of its branch once there is one, before of its base.

    `siblings` are further projects whose consumers pin a provider of this one: one library serves them all.
    """
    train = named_train(calendar, name)
    return _snapshot(_Shipped(project, train, None, at), calendar, siblings, subject=f"cut {train.name}", kind="cut")


def snapshot_of_release(
    project: Project, calendar: Calendar, tag: str, at: datetime | None, siblings: Sequence[Project] = ()
) -> Snapshot:
    """Return the facts about a release by its tag, judged at `at`; `siblings` as for a cut."""
    clone, repository = consumer_clone(project, project.pin()), project.repositories[project.pin().consumer]
    train = next((train for train in calendar.trains if train.names_tag(repository, tag)), None)
    if tag not in clone.tags:
        what = f"no tag {tag} in the clone of {repository.slug}"
        raise UserError(what, where=str(clone.path), next_step="git fetch --tags, or name one that `git tag` lists")
    made = clone.tags[tag].date
    if at is not None and made > at:
        raise UserError(f"{tag} was made on {made.isoformat()}, after --at", next_step="give a later --at")
    return _snapshot(_Shipped(project, train, tag, at), calendar, siblings, subject=f"release {tag}", kind="release")


def _snapshot(shipped: _Shipped, calendar: Calendar, siblings: Sequence[Project], **named: Any) -> Snapshot:
    project, now = (
        shipped.project,
        datetime.now(timezone.utc).astimezone(shipped.project.timezone).replace(microsecond=0),
    )
    consumer, clone = project.pin().consumer, consumer_clone(project, project.pin())
    repository, train = project.repositories[consumer], shipped.train
    commit = shipped.commit(project, clone, consumer)
    base = shipped.branch(project, clone, consumer) or (train.base_branch if train else repository.default_branch)
    rules = repository.default_branch if named["kind"] == "cut" else base
    waivers, gaps = _waivers(project, clone, rules, shipped.at or now)
    snapshot = Snapshot(
        at=shipped.at or now,
        taken_at=now,
        zone=project.zone,
        owners=project.owners,
        repository=consumer,
        role="consumer",
        default_branch=repository.default_branch,
        head=commit,
        base=base,
        train=train.name if train else None,
        trains=calendar.trains,
        train_state=read_train_state(clone, consumer, repository, train, shipped.at) if train else None,
        pins=read_pins_at(clone, project, consumer, commit),
        consumers=tuple(_consumers(shipped, siblings)),
        waivers=waivers,
        sources=(f"clone of {repository.slug} at {commit[:12]}",),
        gaps=gaps,
        **named,
    )
    return with_databases(project, snapshot, clone)


def _waivers(project: Project, clone: Clone, branch: str, at: datetime) -> tuple[Any, dict[str, str]]:
    """Return the exceptions that stand on a branch, or why they could not be read: then there are none."""
    try:
        tip = commit_before(clone, branch, at)
        return (standing_waivers(clone, project, tip) if tip else ()), {}
    except RelmgrError as error:
        return None, {"waivers": " ".join(str(error).split())}


def _consumers(shipped: _Shipped, siblings: Iterable[Project]) -> Iterator[ConsumerPin]:
    """Yield what each consumer of a provider pins; one of which no clone is at hand is named, never left out."""
    for project in (shipped.project, *siblings):
        for pin in project.pins:
            ours = project is shipped.project
            if pin.contract and (ours or _shares(shipped.project, project, pin)):
                found = _consumer(shipped, project, pin)
                if found is not None:
                    yield found


def _consumer(shipped: _Shipped, project: Project, pin: PinConfig) -> ConsumerPin | None:
    repository = project.repositories[pin.consumer]
    # A sibling may know the provider by a former name.
    shared = _provider_of(shipped.project, project, pin)
    provider = shipped.project.repositories[shared or pin.provider].slug
    if repository.path is None:
        return unread_pin(pin, provider, f"no clone of {repository.slug} at hand (--repo {pin.consumer}=PATH)")
    try:
        clone = Clone.open(repository.path)
        found = read_consumer_pin(clone, project, pin, shipped.commit(project, clone, pin.consumer))
    except RelmgrError as error:
        return unread_pin(pin, provider, " ".join(str(error).split()))
    return found.model_copy(update={"provider": provider}) if found else None


def sibling_projects(project: Project, paths: dict[str, str]) -> tuple[Project, ...]:
    """Return the other shipped projects whose consumers pin a provider of this one, with `paths` laid over them.

    A project of one's own has only those siblings of which a clone is given.
    """
    found = []
    for sibling in _sharing(project):
        given = {name: path for name, path in paths.items() if name in sibling.repositories}
        if given or project.name in shipped_projects():
            found.append(_with_providers(project, load_project(sibling.name, given)))
    return tuple(found)


def sibling_repositories(project: Project) -> frozenset[str]:
    """Return the names of repositories that only the siblings have."""
    names = {name for sibling in _sharing(project) for name in sibling.repositories}
    return frozenset(names - set(project.repositories))


def _sharing(project: Project) -> Iterator[Project]:
    for name in shipped_projects():
        sibling = load_project(name)
        if name != project.name and any(_shares(project, sibling, pin) for pin in sibling.pins):
            yield sibling


def _shares(project: Project, sibling: Project, pin: PinConfig) -> bool:
    return _provider_of(project, sibling, pin) is not None


def _provider_of(project: Project, sibling: Project, pin: PinConfig) -> str | None:
    """Return our name of the provider of a sibling's pin."""
    slug = sibling.repositories[pin.provider].slug
    return next((ours.provider for ours in project.pins if project.repositories[ours.provider].is_named(slug)), None)


def _with_providers(project: Project, sibling: Project) -> Project:
    """Return the sibling with our clones of the providers that it shares."""
    repositories = dict(sibling.repositories)
    for pin in sibling.pins:
        name = _provider_of(project, sibling, pin)
        if name is not None and repositories[pin.provider].path is None:
            ours = project.repositories[name]
            update = {"path": ours.path, "remote": ours.remote}
            repositories[pin.provider] = repositories[pin.provider].model_copy(update=update)
    return sibling.model_copy(update={"repositories": repositories})
