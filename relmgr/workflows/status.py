"""`relmgr status`: the present on one page, and the table of all releases."""

from __future__ import annotations

from datetime import datetime, timezone

from relmgr.model.audit import ReleaseFacts, ReleaseRow
from relmgr.model.database_age import database_state, release_row
from relmgr.model.project import PinConfig, Project
from relmgr.model.status import Status, StatusDatabase
from relmgr.sources.pins.history import last_release, release_tags
from relmgr.sources.provider.abi import AbiReader
from relmgr.sources.releases import read_releases, read_releases_at
from relmgr.workflows.locate import consumer_clone, default_ref
from relmgr.workflows.pins import commit_at, show_pin


def compatibility(project: Project, pin: PinConfig) -> list[ReleaseRow]:
    """Return the table release x pin x number x convention x databases."""
    releases = read_releases(consumer_clone(project, pin), project, pin, AbiReader(project, pin))
    return [release_row(release) for release in releases]


def show_status(project: Project, pin: PinConfig, at: datetime | None) -> Status:
    """Return the pin, the ABI number, the last crossing and the databases of the default branch as of `at`."""
    clone = consumer_clone(project, pin)
    abi = AbiReader(project, pin)
    commit = commit_at(clone, default_ref(clone, project, pin), at)
    tags = [tag for tag, _ in release_tags(clone, project.repositories[pin.consumer])]
    latest = last_release([tag for tag in tags if at is None or clone.tags[tag].date <= at])
    refs = [commit, f"refs/tags/{latest}"] if latest else [commit]
    (now, *shipped), _ = read_releases_at(clone, project, pin, abi, refs)
    return Status(
        consumer=project.repositories[pin.consumer].slug,
        provider=project.repositories[pin.provider].slug,
        taken_at=at or datetime.now(timezone.utc),
        pin=show_pin(project, pin, None, at),
        crossing=now.crossing,
        latest_release=release_row(shipped[0].model_copy(update={"tag": latest})) if shipped else None,
        databases=tuple(_shown(now)),
    )


def _shown(now: ReleaseFacts) -> list[StatusDatabase]:
    return [
        StatusDatabase(
            path=fact.path,
            state=database_state(fact, now),
            storage=fact.storage,
            size=fact.size,
            first_seen=fact.introduced.committed_at if fact.introduced else None,
        )
        for fact in now.databases
    ]
