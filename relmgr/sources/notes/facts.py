"""Everything that notes are made of, read once: the range, both ends of the pin, the databases, the provider."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from relmgr.errors import RelmgrError, SourceError
from relmgr.model.audit import ApiChange, AuditFacts
from relmgr.model.notes import Direction, NotesFacts, ProviderRange, PullText, RangeFacts, SideFacts
from relmgr.model.notes_settings import NotesSettings
from relmgr.model.pins import PinChange, PinGap, PinHistory, PinState
from relmgr.model.project import PinConfig, Project, Repository
from relmgr.model.ticket import ScannedFile
from relmgr.sources.databases.history import DatabaseFiles
from relmgr.sources.git.clone import Clone
from relmgr.sources.notes.fragments import read_fragments
from relmgr.sources.notes.range import read_range, refuse_shallow
from relmgr.sources.pins.history import pin_state
from relmgr.sources.provider.abi import AbiReader
from relmgr.sources.releases import read_releases_at

MAX_VERSION_FILE = 1_000_000


def read_notes_facts(
    clone: Clone,
    project: Project,
    pin: PinConfig,
    ends: tuple[str, str],
    *,
    pulls: tuple[PullText, ...] | None = None,
    scans: Sequence[ScannedFile] = (),
) -> NotesFacts:
    """Read the facts of `ends` (from, to). Raises as `read_range`; what else could not be read is a gap."""
    consumer = project.repositories[pin.consumer]
    refuse_shallow(clone)
    abi = AbiReader(project, pin)
    gaps: list[str] = []
    # git does the work, in processes of its own: the slow walk over the databases overlaps with the others.
    with ThreadPoolExecutor(1) as pool:
        to_commit = clone.require(ends[1])
        released = pool.submit(read_releases_at, clone, project, pin, AbiReader(project, pin), [to_commit])
        range_ = read_range(clone, *ends, consumer.root)
        fragments = read_fragments(clone, range_, consumer.root, gaps)
        before = _read_side(clone, project, pin, range_.from_commit, abi)
        (release,), history = released.result()
    after = release.model_copy(update={"tag": range_.to})
    changes, unread = _pin_changes(history, range_)
    provider = read_provider_range(project, pin, before.state, after.state, abi)
    gaps += [f"{gap.path} at {gap.commit[:12]}: {gap.reason}" for gap in unread]
    gaps += [f"the pin at {ends[0]}: {gap}" for gap in before.state.gaps]
    return NotesFacts(
        consumer=consumer.slug,
        provider=project.repositories[pin.provider].slug,
        forge=project.forge,
        range_=range_,
        version=_read_version(clone, consumer, project.notes, range_.to_commit),
        pulls=pulls,
        fragments=fragments,
        pin_changes=changes,
        before=before,
        after=after,
        provider_range=provider,
        scans=tuple(scans),
        gaps=tuple(gaps),
        names=consumer.names(),
    )


def audit_facts_of(facts: NotesFacts, project: Project, pin: PinConfig) -> AuditFacts:
    """Return what an audit judges of a range: its pin moves and its end, as if released then."""
    contract = project.contract(pin)
    api: tuple[ApiChange, ...] = ()
    if contract is not None and facts.pin_changes:
        from relmgr.sources.provider.api_changes import read_api_changes

        api = tuple(read_api_changes(AbiReader(project, pin), contract, facts.pin_changes))
    return AuditFacts(
        consumer=facts.consumer,
        taken_at=facts.range_.to_at,
        scope=f"{facts.range_.from_}..{facts.range_.to}",
        changes=facts.pin_changes,
        releases=(facts.after,),
        api_changes=api,
        scans=facts.scans,
    )


def _pin_changes(history: PinHistory, range_: RangeFacts) -> tuple[tuple[PinChange, ...], tuple[PinGap, ...]]:
    """Return the pin's changes by commits of the range, and what of them could not be read."""
    commits = {commit.commit for commit in range_.commits}
    changes = tuple(change for change in history.changes if change.commit in commits)
    return changes, tuple(gap for gap in history.gaps if gap.commit in commits)


def _read_side(clone: Clone, project: Project, pin: PinConfig, commit: str, abi: AbiReader) -> SideFacts:
    state = pin_state(clone, project, pin, commit)
    site = state.pin
    number = abi.at(site.repository, site.ref, site.ref if site.ref_kind == "sha" else None) if site else None
    files = DatabaseFiles(clone, project.repositories[pin.consumer])
    return SideFacts(state=state, abi=number, databases=tuple(files.at(commit)))


def _read_version(clone: Clone, consumer: Repository, settings: NotesSettings, commit: str) -> str | None:
    """Return the project's own version at the end of the range, None when it is not to be found."""
    if settings.version_file is None or settings.version_pattern is None:
        return None
    path = f"{consumer.root}/{settings.version_file}".lstrip("/")
    try:
        data = clone.read(commit, path, MAX_VERSION_FILE)
    except SourceError:
        return None
    found = re.search(settings.version_pattern, data.decode("utf-8", "replace")) if data else None
    return found[1] if found else None


# -- the provider ---------------------------------------------------------------------------------------------------


def read_provider_range(
    project: Project, pin: PinConfig, before: PinState, after: PinState, abi: AbiReader
) -> ProviderRange:
    """Return the provider's commits between two pins, or why they could not be read."""
    provider = project.repositories[pin.provider]
    old, new = (state.pin.ref if state.pin else None for state in (before, after))
    read = ProviderRange(
        repository=provider.slug, old=old, new=new, direction="unknown", facts=None, names=provider.names()
    )
    if old is None or new is None:
        return read.model_copy(update={"gap": "there is no pin at one end"})
    if old == new and not _is_branch(after):
        return read.model_copy(update={"direction": "same"})
    if provider.path is None:
        return read.model_copy(update={"gap": f"give its clone: --repo {pin.provider}=PATH"})
    try:
        direction, facts = _walk_provider(Clone.open(provider.path), (old, new), abi)
    except RelmgrError as error:
        return read.model_copy(update={"gap": error.what})
    return read.model_copy(update={"direction": direction, "facts": facts})


def _is_branch(state: PinState) -> bool:
    return state.pin is not None and state.pin.ref_kind == "branch"


def _walk_provider(clone: Clone, refs: tuple[str, str], abi: AbiReader) -> tuple[Direction, RangeFacts | None]:
    commits = [abi.commit_of(ref) for ref in refs]
    for ref, commit in zip(refs, commits, strict=True):
        if commit is None or not clone.run("cat-file", "-t", commit, check=False):
            raise SourceError(f"the clone has no {ref}", where=str(clone.path))
    old, new = (str(commit) for commit in commits)
    if old == new:
        return "same", None
    if clone.is_ancestor(new, old):
        return "backward", read_range(clone, new, old)
    return ("forward" if clone.is_ancestor(old, new) else "sideways"), read_range(clone, old, new)


def read_changelog_at(clone: Clone, repository: Repository, commit: str) -> str | None:
    """Return the change log at a commit, None when there is none."""
    data = clone.read(commit, changelog_path(repository))
    return None if data is None else data.decode("utf-8", "replace")


def changelog_path(repository: Repository) -> str:
    """Return the change log's path from the repository's top."""
    return f"{repository.root}/{repository.changelog}".lstrip("/")
