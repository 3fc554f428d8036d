"""What moving pins would do: the sites' new contents, and every safety check on the pin as it would be."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime

from relmgr.errors import SourceError, UserError
from relmgr.model.base import Level, Outcome
from relmgr.model.bump import Direction, LineEdit, ListedCommit, PinStep
from relmgr.model.facts import PinDigest
from relmgr.model.pins import PinChange, PinFinding, PinSide, PinState, SitePin
from relmgr.model.project import Contract, PinConfig, Project, Repository
from relmgr.sources.git.clone import HEX40, Clone, NamedRef
from relmgr.sources.pins.archive import ArchiveFile, ArchiveSource, differing_paths
from relmgr.sources.pins.checks import gather, run_checks
from relmgr.sources.pins.classify import abi_change, classify
from relmgr.sources.pins.history import one_branch, pin_history, pin_state
from relmgr.sources.pins.reverted import reverted_bumps
from relmgr.sources.pins.sites import MAX_PIN_FILE, Intent, decode, parse_site, rewrite
from relmgr.sources.provider.abi import AbiReader
from relmgr.sources.provider.refs import ProviderRefs

LISTED = 30
GITLINK = "160000"
_PLAIN_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+@-]{0,200}")


@dataclass(frozen=True)
class Target:
    """What one pin is to become, and what a person said about it."""

    pin: PinConfig
    to: str
    archive: ArchiveSource | None = None
    drop_digest: bool = False
    allow_rollback: str | None = None
    allow_reverted: str | None = None


@dataclass(frozen=True)
class Move:
    """One pin's move: the step to show, and each site's new content (bytes of a file, or a gitlink's commit)."""

    step: PinStep
    contents: dict[str, bytes | str]
    edits: tuple[LineEdit, ...]
    digest: PinDigest | None = None


@dataclass(frozen=True)
class _Now:
    """What stands at the base, and what the new ref means."""

    clone: Clone
    commit: str
    state: PinState
    pin: SitePin
    refs: ProviderRefs
    named: NamedRef


def plan_move(project: Project, clone: Clone, base: str, target: Target, now: datetime) -> Move:
    """Return the move of one pin on the commit `base` of the consumer's clone.

    A branch is pinned as the commit that it names now, a short commit as the whole one. Raises `UserError` without a
    clone of the provider or without a live pin, `SourceError` where the pin's sites cannot be read.
    """
    at = _read_now(project, clone, base, target)
    ref = _written(at.named, target.to)
    flags, flags_finding = _flags(at, project.contract(target.pin))
    known, digest_finding = _digest(at, target, moves=ref != at.pin.ref or bool(flags))
    digest = known.declared if known else None
    intent = Intent(ref=ref, digest=digest, drop_digest=target.drop_digest, flags=tuple(flags.items()))
    contents, edits = _rewritten(project, at, target.pin, intent)
    new = at.pin.model_copy(
        update={
            "ref": ref,
            "ref_kind": "sha" if HEX40.match(ref) else at.named.kind,
            "digest": None if target.drop_digest else digest or at.pin.digest,
        }
    )
    changes = pin_history(clone, project, target.pin, one_branch(clone, base)).changes
    said = [one for one in (digest_finding, flags_finding) if one]
    findings = (*_check(at, target, new, now, changes), *said)
    step = _step(project, at, target, new, findings)
    told = {"flags": flags, "reverted_by": _reverted_by(at, changes)}
    return Move(step.model_copy(update=told), contents, edits, known)


def _step(project: Project, at: _Now, target: Target, new: SitePin, findings: tuple[PinFinding, ...]) -> PinStep:
    """Return what the move means at the provider: direction, commits, ABI."""
    provider = at.refs.repository
    old_commit = at.refs.clone.resolve(at.pin.ref) if at.refs.clone else None
    direction = _direction(at.refs.clone, old_commit, at.named.commit)
    commits, more = _commits(at.refs.clone, old_commit, at.named.commit, direction)
    contract = project.contract(target.pin)
    return PinStep(
        pin=target.pin.name,
        provider=provider.slug,
        contract=target.pin.contract,
        old=_side(at.pin),
        old_commit=old_commit,
        ref=new.ref,
        ref_kind=new.ref_kind,
        commit=at.named.commit,
        abi=abi_change(AbiReader(project, target.pin), at.pin, new) if contract else None,
        direction=direction,
        commits=commits,
        more=more,
        compare_url=_compare(project, provider, old_commit, at.named.commit),
        flags={},
        findings=findings,
    )


def _read_now(project: Project, clone: Clone, base: str, target: Target) -> _Now:
    state = pin_state(clone, project, target.pin, base)
    if state.pin is None or state.gaps:
        what = "; ".join(state.gaps) or "no site holds a live pin"
        raise SourceError(what, where=f"{clone.path} at {base[:12]}", next_step="check the project's sites, or --base")
    refs = ProviderRefs(project.repositories[target.pin.provider])
    if refs.clone is None:
        name = target.pin.provider
        raise UserError(f"no clone of {refs.repository.slug} at hand", next_step=f"give one: --repo {name}=PATH")
    named = refs.clone.name_ref(target.to)
    if not named.readings and (commit := refs.clone.resolve(target.to)):
        named = NamedRef(commit, "sha", commit, readings=(commit,))
    return _Now(clone, base, state, state.pin, refs, named)


def _written(named: NamedRef, to: str) -> str:
    """Return what the sites will say: a tag by its name, all else by its commit, what cannot be told as given.

    Git allows tags that a shell would read as commands; a pin may stand in a build script.
    """
    if not _PLAIN_REF.fullmatch(to):
        raise UserError(f"{to!r} is no plain ref", next_step="pin its commit")
    if named.kind == "tag" and not to.startswith("refs/"):
        return to
    return to if named.tag_object else named.commit or to


def _side(pin: SitePin) -> PinSide:
    return PinSide(**pin.model_dump(exclude={"line"}), resolved=pin.ref if pin.ref_kind == "sha" else None)


def _flags(at: _Now, contract: Contract | None) -> tuple[dict[str, str], PinFinding | None]:
    """Return the build options to rename: those that the new commit only knows by the new name.

    A warning names those that it knows by neither: then nobody can tell what the build does with them.
    """
    renames = contract.flag_renames if contract else {}
    used = {option[2:].split("=")[0] for site in at.state.sites for option in site.options if option.startswith("-D")}
    found, unknown = {}, []
    for old, new in renames.items():
        commit = at.named.commit
        if old not in used or commit is None or _holds(at.refs.clone, commit, old):
            continue
        if _holds(at.refs.clone, commit, new):
            found[old] = new
        else:
            unknown.append(old)
    if not unknown:
        return found, None
    evidence: dict[str, object] = {"options": unknown, "renamed_to": [renames[old] for old in unknown]}
    remedy = f"look whether the new commit still reads {', '.join(unknown)}, and edit the options by hand if not"
    check = "pin-options-known"
    return found, PinFinding(check=check, outcome=Outcome.UNKNOWN, level=Level.WARN, evidence=evidence, remedy=remedy)


def _holds(clone: Clone | None, commit: str, word: str) -> bool:
    return bool(clone and clone.run("grep", "-l", "-w", "-F", "-e", word, commit, check=False))


def _digest(at: _Now, target: Target, *, moves: bool) -> tuple[PinDigest | None, PinFinding | None]:
    """Return the digest of the archive that the new line names, compared with the ref's tree, and why there is none.

    Both are None where the pin has no digest, or it stays (P1, P16).
    """
    ref, slug = _written(at.named, target.to), at.pin.repository or at.refs.repository.slug
    if at.pin.digest is None or target.drop_digest or not (moves or isinstance(target.archive, ArchiveFile)):
        return None, None
    evidence: dict[str, object] = {"digest": at.pin.digest, "ref": ref}
    remedy = f"download the archive of {slug}@{ref} and give it with --archive FILE; or --drop-digest"
    if target.archive is None or at.refs.clone is None or at.named.commit is None:
        return None, _no_digest(Outcome.UNKNOWN, evidence, remedy)
    try:
        archive = target.archive.read(slug, ref)
    except SourceError as error:
        if isinstance(target.archive, ArchiveFile):
            raise
        return None, _no_digest(Outcome.UNKNOWN, evidence | {"not_read": " ".join(str(error).split())}, remedy)
    if differing := differing_paths(archive, at.refs.clone, at.named.commit):
        evidence |= {"statement": "the archive holds another tree than the ref", "differing": differing[:5]}
        remedy = f"fetch {at.refs.where}, then look whether somebody moved {ref}; an --archive must be of that very ref"
        return None, _no_digest(Outcome.FAILED, evidence, remedy)
    found = PinDigest(pin=target.pin.name, ref=ref, declared=archive.digest, archive=archive.digest, same_tree=True)
    return found, None


def _no_digest(outcome: Outcome, evidence: dict[str, object], remedy: str) -> PinFinding:
    return PinFinding(check="pin-digest-matches", outcome=outcome, level=Level.BLOCK, evidence=evidence, remedy=remedy)


def _rewritten(
    project: Project, at: _Now, pin: PinConfig, intent: Intent
) -> tuple[dict[str, bytes | str], tuple[LineEdit, ...]]:
    """Return the new content of every site that holds a live pin, and the lines that differ."""
    consumer, provider = project.repositories[pin.consumer], project.repositories[pin.provider]
    contents: dict[str, bytes | str] = {}
    before: dict[str, bytes] = {}
    edits: list[LineEdit] = []
    for site in pin.sites:
        path = f"{consumer.root}/{site.path}".lstrip("/")
        if site.kind == "gitlink":
            old = _gitlink(at, path)
            if old is not None and at.named.commit and old != at.named.commit:
                contents[path] = at.named.commit
                edits.append(LineEdit(path=path, line=None, before=old, after=at.named.commit))
            continue
        data = contents.get(path) or at.clone.read(at.commit, path, MAX_PIN_FILE)
        if isinstance(data, bytes) and parse_site(data, site, provider):
            before.setdefault(path, data)
            contents[path] = rewrite(data, site, provider, intent)
    for path, data in before.items():
        after = contents[path]
        assert isinstance(after, bytes)
        if after == data:
            del contents[path]
        edits += _lines(path, decode(data), decode(after))
    return contents, tuple(edits)


def _gitlink(at: _Now, path: str) -> str | None:
    (blob,) = at.clone.read_many([(at.commit, path)])
    return blob.oid if blob.mode == GITLINK else None


def _lines(path: str, before: str, after: str) -> list[LineEdit]:
    pairs = zip(before.split("\n"), after.split("\n"), strict=True)
    return [
        LineEdit(path=path, line=number, before=_shown(old), after=_shown(new))
        for number, (old, new) in enumerate(pairs, 1)
        if old != new
    ]


def _shown(line: str) -> str:
    return line.encode("utf-8", "replace").decode("utf-8").rstrip("\r")


def _check(
    at: _Now, target: Target, new: SitePin, now: datetime, changes: tuple[PinChange, ...]
) -> tuple[PinFinding, ...]:
    """Run the checks of `pin check` on the pin as it would be, with the move as its last change."""
    proposed = PinChange(
        commit="0" * 40,
        committed_at=now,
        pr=None,
        subject="the bump",
        kinds=classify(at.pin, new, had_before=False),
        old=_side(at.pin),
        new=_side(new),
        abi=None,
        first_release=None,
    )
    sites = tuple(site.model_copy(update={"ref": new.ref, "ref_kind": new.ref_kind}) for site in at.state.sites)
    state = at.state.model_copy(update={"pin": new, "sites": sites})
    moved = (*changes, proposed) if proposed.kinds else changes
    facts = gather(target.pin, state, new, moved, at.refs, now)
    # The ref as it was asked for is what may be ambiguous, and what it names is what gets pinned.
    asked = at.refs.clone.name_ref(target.to) if at.refs.clone else None
    named = asked if asked and (asked.is_ambiguous or asked.tag_object) else facts.named
    findings = run_checks(replace(facts, named=named))
    kept = [one for one in findings if one.check not in ("pin-age", "pin-digest-matches")]
    return tuple(_allowed(one, target) for one in kept)


def _reverted_by(at: _Now, changes: tuple[PinChange, ...]) -> str | None:
    """Return the commit that took the last bump to this very commit back (P11); the gate judges it."""
    commit = at.named.commit
    same = [one for one in reverted_bumps(changes, at.refs.clone) if commit and one.commit == commit]
    return same[-1].revert.commit if same else None


def _allowed(finding: PinFinding, target: Target) -> PinFinding:
    """Let a rollback pass that a person gives a reason for, and say how to give one."""
    if finding.check != "pin-moves-forward" or finding.outcome is not Outcome.FAILED:
        return finding
    if not target.allow_rollback:
        remedy = "move to a descendant of the old pin, or give the reason: --allow-rollback REASON"
        return finding.model_copy(update={"remedy": remedy})
    evidence = finding.evidence | {"answered_by": target.allow_rollback}
    return finding.model_copy(update={"outcome": Outcome.PASSED, "evidence": evidence})


def _direction(clone: Clone | None, old: str | None, new: str | None) -> Direction:
    if clone is None or old is None or new is None:
        return "unknown"
    if old == new:
        return "none"
    if clone.is_ancestor(old, new):
        return "forward"
    return "back" if clone.is_ancestor(new, old) else "aside"


def _commits(
    clone: Clone | None, old: str | None, new: str | None, direction: str
) -> tuple[tuple[ListedCommit, ...], int]:
    if clone is None or old is None or new is None or old == new:
        return (), 0
    span = f"{new}..{old}" if direction == "back" else f"{old}..{new}"
    lines = clone.run("log", "--first-parent", f"--max-count={LISTED}", "--format=%H %s", span, check=False)
    total = int(clone.run("rev-list", "--first-parent", "--count", span, check=False) or 0)
    listed = tuple(ListedCommit(sha=line[:40], subject=line[41:]) for line in lines.splitlines() if line)
    return listed, max(0, total - len(listed))


def _compare(project: Project, provider: Repository, old: str | None, new: str | None) -> str | None:
    return f"https://{project.forge}/{provider.slug}/compare/{old}...{new}" if old and new and old != new else None
