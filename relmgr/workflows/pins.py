"""`relmgr pin`: show, history, check."""

from __future__ import annotations

from datetime import datetime, timezone

from relmgr.errors import SourceError, UserError
from relmgr.model.pins import PinChange, PinCheck, PinHistory, PinShow, ShownAbi, ShownSite, SitePin
from relmgr.model.project import PinConfig, Project
from relmgr.sources.git.clone import Clone
from relmgr.sources.pins.archive import ArchiveSource
from relmgr.sources.pins.checks import gather, run_checks
from relmgr.sources.pins.history import all_refs, one_branch, pin_history, pin_state, release_branches
from relmgr.sources.provider.abi import AbiReader
from relmgr.sources.provider.refs import ProviderRefs
from relmgr.workflows.locate import consumer_clone, default_ref


def show_history(
    project: Project,
    pin: PinConfig,
    *,
    ref: str | None = None,
    every_ref: bool = False,
    releases: bool = False,
    pulls: bool = False,
) -> PinHistory:
    """Return every change of the pin over one branch (default), the release branches, or all refs."""
    clone = consumer_clone(project, pin)
    if every_ref:
        scope = all_refs(clone, include_pulls=pulls)
    elif releases:
        scope = release_branches(clone, project.repositories[pin.consumer])
    else:
        scope = one_branch(clone, ref or default_ref(clone, project, pin))
    return pin_history(clone, project, pin, scope, AbiReader(project, pin) if pin.contract else None)


def show_pin(project: Project, pin: PinConfig, ref: str | None, at: datetime | None) -> PinShow:
    """Return the pin at `ref` as of `at`: every site, what each ref means, the ABI number, the age."""
    clone = consumer_clone(project, pin)
    commit = commit_at(clone, ref or default_ref(clone, project, pin), at)
    state = pin_state(clone, project, pin, commit)
    reader, refs = AbiReader(project, pin), ProviderRefs(project.repositories[pin.provider])
    changes = () if clone.shallow else pin_history(clone, project, pin, one_branch(clone, commit), reader).changes
    since = _last_move(changes) if state.pin else None
    now = at or datetime.now(timezone.utc)
    return PinShow(
        pin=pin.name,
        consumer=project.repositories[pin.consumer].slug,
        ref=ref or default_ref(clone, project, pin),
        commit=commit,
        committed_at=clone.commit(commit).committed_at,
        sites=tuple(_shown(site, refs, site == state.pin) for site in state.sites),
        agree=state.agree,
        abi=_shown_abi(reader, state.pin) if pin.contract and state.pin else None,
        age_days=(now - since.committed_at).days if since else None,
        since=since,
        gaps=state.gaps,
    )


def check_pin(
    project: Project, pin: PinConfig, ref: str | None, at: datetime | None, archive: ArchiveSource | None = None
) -> PinCheck:
    """Run every safety check on the pin at `ref` as of `at`."""
    clone = consumer_clone(project, pin)
    named = ref or default_ref(clone, project, pin)
    commit = commit_at(clone, named, at)
    state = pin_state(clone, project, pin, commit)
    if state.pin is None:
        what = "; ".join(state.gaps) or "no site holds a live pin"
        raise SourceError(what, where=f"{clone.path} at {named}", next_step="check the project's sites, or give --ref")
    changes = pin_history(clone, project, pin, one_branch(clone, commit)).changes
    refs = ProviderRefs(project.repositories[pin.provider])
    facts = gather(pin, state, state.pin, changes, refs, at or datetime.now(timezone.utc), archive)
    return PinCheck(
        pin=pin.name, consumer=project.repositories[pin.consumer].slug, ref=named, findings=run_checks(facts)
    )


def commit_at(clone: Clone, ref: str, at: datetime | None) -> str:
    """Return the commit that `ref`'s first parents had reached at `at` (default: its tip)."""
    tip = clone.require(ref)
    if at is None:
        return tip
    listed = clone.run("log", "--first-parent", "--format=%H %ct", tip)
    for line in listed.splitlines():
        sha, _, seconds = line.partition(" ")
        if int(seconds) <= at.timestamp():
            return sha
    raise UserError(f"{ref} had no commit yet at {at.isoformat()}", next_step="give a later --at")


def _last_move(changes: tuple[PinChange, ...]) -> PinChange | None:
    moves = {"first", "ref", "restored"}
    return next((change for change in reversed(changes) if moves & set(change.kinds)), None)


def _shown(site: SitePin, refs: ProviderRefs, in_force: bool) -> ShownSite:
    try:
        named = refs.name_ref(site.ref)
    except SourceError:
        named = None
    return ShownSite(
        site=site.site,
        line=site.line,
        repository=site.repository,
        ref=site.ref,
        ref_kind=named.kind if named and named.kind else site.ref_kind,
        resolved=named.commit if named and named.commit else site.ref if site.ref_kind == "sha" else None,
        digest=site.digest,
        in_force=in_force,
    )


def _shown_abi(reader: AbiReader, site: SitePin) -> ShownAbi:
    found = reader.at(site.repository, site.ref, site.ref if site.ref_kind == "sha" else None)
    return ShownAbi(**found.model_dump(include={"macro", "number", "convention", "confidence", "source"}))
