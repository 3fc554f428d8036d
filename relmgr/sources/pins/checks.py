"""The safety checks of one pin. Each reads what it needs, and says `unknown` when it could not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from relmgr.errors import SourceError
from relmgr.model.base import Level, Outcome
from relmgr.model.companion import Companion
from relmgr.model.facts import PinAncestry
from relmgr.model.pins import PinChange, PinFinding, PinState, SitePin
from relmgr.model.project import PinConfig, Repository
from relmgr.sources.git.clone import NamedRef
from relmgr.sources.pins.archive import ArchiveSource, differing_paths
from relmgr.sources.provider.placing import place_pin
from relmgr.sources.provider.refs import ProviderRefs

COMPANION_HEAD = "pin-not-a-companion-head"


@dataclass(frozen=True)
class PinFacts:
    """What the checks look at: the pin's state now, its changes, the provider's refs, and the instant of asking."""

    config: PinConfig
    state: PinState
    pin: SitePin
    changes: tuple[PinChange, ...]
    refs: ProviderRefs
    named: NamedRef | None
    placed: PinAncestry | None
    gap: str | None
    now: datetime
    archive: ArchiveSource | None = None

    @property
    def provider(self) -> Repository:
        """The provider's repository."""
        return self.refs.repository

    @property
    def last_move(self) -> PinChange | None:
        """The last change that moved the ref."""
        return _last_move(self.changes)


def gather(
    config: PinConfig,
    state: PinState,
    pin: SitePin,
    changes: tuple[PinChange, ...],
    refs: ProviderRefs,
    now: datetime,
    archive: ArchiveSource | None = None,
) -> PinFacts:
    """Resolve the pin at the provider, once, for all checks; a source that fails becomes `gap`."""
    named, placed, gap = None, None, None
    move = _last_move(changes)
    try:
        named = refs.name_ref(pin.ref)
        if named is not None:
            placed = place_pin(config.name, move.old.ref if move and move.old else None, pin.ref, refs, named)
    except SourceError as error:
        gap = str(error)
    if named is None and gap is None:
        gap = f"{refs.where}: the provider's refs were not read"
    return PinFacts(config, state, pin, changes, refs, named, placed, gap, now, archive)


def _last_move(changes: tuple[PinChange, ...]) -> PinChange | None:
    return next((c for c in reversed(changes) if "ref" in c.kinds or "first" in c.kinds), None)


def run_checks(facts: PinFacts) -> tuple[PinFinding, ...]:
    """Run every check, in a fixed order."""
    return tuple(check(facts) for check in CHECKS)


def _finding(
    check: str, outcome: Outcome, evidence: dict[str, object], remedy: str = "", level: Level = Level.BLOCK
) -> PinFinding:
    return PinFinding(check=check, outcome=outcome, level=level, evidence=evidence, remedy=remedy)


def _unread(check: str, facts: PinFacts, level: Level = Level.BLOCK) -> PinFinding:
    name = facts.config.provider
    remedy = f"give a clone (--repo {name}=PATH) or a remote (--repo {name}=URL)"
    return _finding(check, Outcome.UNKNOWN, {"not_read": facts.gap, "ref": facts.pin.ref}, remedy, level)


def check_sites_agree(facts: PinFacts) -> PinFinding:
    """All live sites name one ref."""
    sites = {f"{s.site}:{s.line}" if s.line else s.site: s.ref for s in facts.state.sites}
    evidence: dict[str, object] = {"sites": sites}
    if facts.state.gaps:
        evidence["not_read"] = list(facts.state.gaps)
        return _finding("pin-sites-agree", Outcome.UNKNOWN, evidence, "fetch the missing files into the clone")
    if facts.state.agree:
        return _finding("pin-sites-agree", Outcome.PASSED, evidence)
    stale = [name for name, ref in sites.items() if ref != facts.pin.ref]
    return _finding(
        "pin-sites-agree", Outcome.FAILED, evidence, f"set {', '.join(stale)} to {facts.pin.ref}, or remove it"
    )


def check_ref_is_unambiguous(facts: PinFacts) -> PinFinding:
    """The ref has exactly one reading at the provider (P8)."""
    check = "pin-ref-unambiguous"
    if facts.named is None:
        return _unread(check, facts)
    evidence: dict[str, object] = {
        "ref": facts.pin.ref,
        "readings": list(facts.named.readings),
        "read_from": facts.refs.where,
    }
    if facts.named.is_ambiguous:
        names = " or ".join(facts.named.readings)
        return _finding(check, Outcome.FAILED, evidence, f"write the full name: {names}")
    if not facts.named.readings:
        remedy = "fetch the clone, or correct the ref: a ref that nobody can find cannot be built"
        return _finding(check, Outcome.UNKNOWN, evidence, remedy)
    return _finding(check, Outcome.PASSED, evidence)


def check_ref_is_a_commit(facts: PinFacts) -> PinFinding:
    """A sha names a commit, not a tag object (P7); a tag is shown with its peeled commit."""
    check = "pin-is-a-commit"
    if facts.named is None:
        return _unread(check, facts)
    evidence: dict[str, object] = {"ref": facts.pin.ref, "commit": facts.named.commit}
    if facts.named.tag_object:
        evidence["tag_object"] = facts.named.tag_object
        remedy = f"that sha is a tag object, not a commit; pin its commit {facts.named.commit}"
        return _finding(check, Outcome.FAILED, evidence, remedy)
    if facts.named.commit is None:
        return _finding(
            check, Outcome.UNKNOWN, evidence, f"{facts.refs.where} does not have it: fetch, or correct the ref"
        )
    return _finding(check, Outcome.PASSED, evidence)


def check_ref_does_not_move(facts: PinFacts) -> PinFinding:
    """The pin is not a branch (P4)."""
    kind = facts.named.kind if facts.named and facts.named.kind else facts.pin.ref_kind
    commit = facts.named.commit if facts.named else None
    evidence: dict[str, object] = {"ref": facts.pin.ref, "kind": kind, "resolved": commit}
    if kind is None:
        return _unread("pin-does-not-move", facts, Level.WARN)
    if kind == "branch":
        remedy = (
            f"pin the commit it names today ({commit})" if commit else "pin a commit or a tag before the branch cut"
        )
        return _finding("pin-does-not-move", Outcome.FAILED, evidence, remedy, Level.WARN)
    return _finding("pin-does-not-move", Outcome.PASSED, evidence, level=Level.WARN)


def check_moves_forward(facts: PinFacts) -> PinFinding:
    """The last move went forward: the new commit descends from the old one, both in the repository named now (P9)."""
    check, move, clone, placed = "pin-moves-forward", facts.last_move, facts.refs.clone, facts.placed
    if move is None or move.old is None or move.new is None:
        return _finding(check, Outcome.SKIPPED, {"reason": "the pin never moved"})
    evidence: dict[str, object] = {"old": move.old.ref, "new": move.new.ref, "commit": move.commit}
    if clone is None:
        return _unread(check, facts) if facts.gap else _needs_clone(check, facts)
    if placed is None or placed.forward is None:
        lost = move.new.ref if placed is None or placed.commit is None else move.old.ref
        return _finding(check, Outcome.UNKNOWN, evidence | {"not_read": lost}, f"fetch {lost} into {facts.refs.where}")
    if placed.forward:
        return _finding(check, Outcome.PASSED, evidence)
    if move.reverts:
        return _finding(check, Outcome.PASSED, evidence | {"reverts": move.reverts})
    remedy = "move to a descendant of the old pin, or declare the rollback with its reason"
    return _finding(check, Outcome.FAILED, evidence, remedy)


def check_reachable_from_branch(facts: PinFacts) -> PinFinding:
    """The commit is on a branch of the named repository (P14), not only a fork's, a tag's or a pull request's."""
    check = "pin-reachable-from-branch"
    placed = facts.placed
    if placed is None:
        return _unread(check, facts)
    if placed.commit is None:
        evidence: dict[str, object] = {"ref": facts.pin.ref, "read_from": facts.refs.where}
        remedy = "not in the named repository as fetched here: a fork's commit? Fetch, or pin a commit of its branches"
        return _finding(check, Outcome.UNKNOWN if facts.refs.clone is None else Outcome.FAILED, evidence, remedy)
    evidence = {"commit": placed.commit, "branches": list(placed.branches or ()), "tags": list(placed.tags)}
    if placed.branches:
        return _finding(check, Outcome.PASSED, evidence)
    if placed.branches is None:
        return _finding(check, Outcome.UNKNOWN, evidence, f"a remote shows only tips: {_clone_hint(facts)}")
    if placed.tags:
        return _finding(
            check, Outcome.FAILED, evidence, "only a tag holds this commit: merge it into a branch, or pin one"
        )
    evidence["pulls"] = list(placed.pulls)
    return _finding(check, Outcome.FAILED, evidence, "no branch holds this commit (a fork's, or a pull request's head)")


def check_not_a_squashed_head(facts: PinFacts) -> PinFinding:
    """The pin is not the head of a pull request whose squash is on the branch (P12)."""
    check = COMPANION_HEAD
    placed = facts.placed
    if placed is None:
        return _unread(check, facts)
    if placed.commit is None or facts.refs.clone is None:
        return _needs_clone(check, facts)
    evidence: dict[str, object] = {"commit": placed.commit}
    if placed.branches:
        return _finding(check, Outcome.PASSED, evidence)
    squash = facts.refs.same_tree_on_branch(placed.commit, facts.provider.default_branch)
    if squash:
        remedy = f"pin {squash}: the same tree, on {facts.provider.default_branch}"
        return _finding(check, Outcome.FAILED, evidence | {"squash": squash}, remedy)
    if placed.tags:
        return _finding(check, Outcome.PASSED, evidence | {"tags": list(placed.tags)})
    remedy = "wait until the companion pull request is merged, then pin its commit on the branch"
    return _finding(check, Outcome.FAILED, evidence | {"pulls": list(placed.pulls)}, remedy)


def with_companion(finding: PinFinding, companion: Companion) -> PinFinding:
    """Return a finding on a companion's head with what the forge says of that pull request (P12)."""
    pull, merged = str(companion), companion.merged_as
    if companion.state == "open":
        remedy = f"{pull} is still open: merge it, then pin its commit on {companion.base}"
    elif merged is None:
        remedy = f"{pull} was closed without a merge: no branch will hold this commit, so pin another"
    elif companion.same_tree:
        remedy = f"pin {merged}: {pull} was merged as that, with the same tree; fetch the provider's clone first"
    else:
        tree = "another tree" if companion.same_tree is False else "a tree that could not be compared"
        remedy = f"{pull} was merged as {merged}, with {tree}: look at what differs before you pin that"
    evidence = finding.evidence | {"pull": pull, "state": companion.state}
    return finding.model_copy(update={"evidence": evidence | ({"squash": merged} if merged else {}), "remedy": remedy})


def check_digest(facts: PinFacts) -> PinFinding:
    """The digest is that of the archive; if not, tell changed bytes of the same tree from a moved tag (P1)."""
    check, digest = "pin-digest-matches", facts.pin.digest
    if digest is None:
        return _finding(check, Outcome.SKIPPED, {"reason": "the pin has no digest"})
    evidence: dict[str, object] = {"ref": facts.pin.ref, "digest": digest}
    slug = facts.pin.repository or facts.provider.slug
    if facts.archive is None:
        remedy = f"--download reads the archive of {slug}@{facts.pin.ref}; or give it with --archive FILE"
        return _finding(check, Outcome.UNKNOWN, evidence | {"not_read": "the archive"}, remedy)
    try:
        archive = facts.archive.read(slug, facts.pin.ref)
        if archive.digest == digest:
            return _finding(check, Outcome.PASSED, evidence)
        evidence |= {"archive": archive.digest, "archive_commit": archive.commit}
        commit = facts.named.commit if facts.named else None
        if facts.refs.clone is None or commit is None:
            return _finding(check, Outcome.UNKNOWN, evidence | {"not_read": "the tag's tree"}, _clone_hint(facts))
        differing = differing_paths(archive, facts.refs.clone, commit)
    except SourceError as error:
        remedy = f"give the archive of {slug}@{facts.pin.ref} as the forge serves it: --archive FILE"
        return _finding(check, Outcome.UNKNOWN, evidence | {"not_read": " ".join(str(error).split())}, remedy)
    if differing:
        evidence |= {"statement": "tag moved", "differing": differing[:5]}
        return _finding(
            check, Outcome.FAILED, evidence, "stop: the archive holds another tree than the tag; ask who moved it"
        )
    evidence["statement"] = "archive bytes changed, the tree is the same"
    return _finding(check, Outcome.FAILED, evidence, f"set the digest to {archive.digest}, or drop it")


def check_age(facts: PinFacts) -> PinFinding:
    """The pin moved within the configured number of days; drift is how far the provider went on."""
    move = facts.last_move
    if move is None:
        return _finding("pin-age", Outcome.SKIPPED, {"reason": "no move of the pin is known"}, level=Level.WARN)
    days = (facts.now - move.committed_at).days
    evidence: dict[str, object] = {"age_days": days, "limit_days": facts.config.max_age_days, "moved_by": move.commit}
    evidence["drift_commits"] = _drift(facts)
    if days <= facts.config.max_age_days:
        return _finding("pin-age", Outcome.PASSED, evidence, level=Level.WARN)
    return _finding("pin-age", Outcome.FAILED, evidence, "bump the pin, or say why it stays", Level.WARN)


def _drift(facts: PinFacts) -> int | None:
    clone, commit = facts.refs.clone, facts.named.commit if facts.named else None
    branch = clone.branches.get(facts.provider.default_branch) if clone else None
    if clone is None or commit is None or branch is None:
        return None
    return int(clone.run("rev-list", "--count", f"{commit}..{branch.commit}", check=False) or 0)


def _clone_hint(facts: PinFacts) -> str:
    return f"give a clone of {facts.provider.slug}: --repo {facts.config.provider}=PATH"


def _needs_clone(check: str, facts: PinFacts) -> PinFinding:
    evidence: dict[str, object] = {"ref": facts.pin.ref, "not_read": "needs a clone, not only a remote's tips"}
    return _finding(check, Outcome.UNKNOWN, evidence, _clone_hint(facts))


CHECKS: tuple[Callable[[PinFacts], PinFinding], ...] = (
    check_sites_agree,
    check_ref_is_unambiguous,
    check_ref_is_a_commit,
    check_ref_does_not_move,
    check_moves_forward,
    check_reachable_from_branch,
    check_not_a_squashed_head,
    check_digest,
    check_age,
)
