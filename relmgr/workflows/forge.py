"""What the forge knows, asked once for many pull requests, and laid over snapshots taken from clones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from relmgr.errors import SourceError
from relmgr.gate.depends_on import parse_declarations
from relmgr.model.facts import Ticket
from relmgr.model.order import OrderDeclarations
from relmgr.model.project import Project
from relmgr.model.pull_request import PullRequest, PullRequestRef
from relmgr.model.snapshot import Snapshot
from relmgr.model.ticket_block import NotATicket, parse_block
from relmgr.sources.git.clone import Clone
from relmgr.sources.github.client import GitHub
from relmgr.sources.github.facts import Landed, read_landed, read_ticket_issues, ref_of, with_dependencies, with_pull
from relmgr.sources.github.pulls import Pulls, read_open_pulls, read_pull, read_pulls
from relmgr.sources.pins.download import forge_archives
from relmgr.workflows.comment_waivers import Permissions, with_comment_waivers, without_comments
from relmgr.workflows.gate_archives import with_archives
from relmgr.workflows.gate_order import MOST_DEPENDENCIES, with_order

if TYPE_CHECKING:
    from relmgr.workflows.gate import Calendars

# How far a chain of declared dependencies is followed, and how many pull requests are read on the way.
MOST_ROUNDS = 10
MOST_FOLLOWED = 500


@dataclass
class Forge:
    """Pull requests with what their texts declare, tickets by repository, and what could not be read."""

    github: GitHub
    pulls: Pulls
    declared: dict[PullRequestRef, OrderDeclarations] = field(default_factory=dict)
    tickets: dict[str, tuple[Ticket, ...]] = field(default_factory=dict)
    gaps: dict[str, str] = field(default_factory=dict)
    landed: Landed = field(default_factory=dict)
    permissions: Permissions = field(default_factory=dict)

    def base_of(self, ref: PullRequestRef) -> str | None:
        """Return the branch that a pull request goes to; None where it could not be read."""
        pull = self.pulls.found.get(ref)
        return pull.base if pull else None


def require_base(forge: Forge, ref: PullRequestRef, base: str | None) -> None:
    """Refuse a pull request that was sent to another branch in the meantime: its rules are another's now."""
    now = forge.base_of(ref)
    if base is not None and now is not None and now != base:
        raise SourceError(f"it goes to {now} now, no more to {base}", where=str(ref), next_step="run again")


def ask_forge(project: Project, github: GitHub, subject: PullRequestRef | None = None) -> Forge:
    """Ask for one pull request, or for all open ones of every repository; then for all that they depend on."""
    if subject is None:
        pulls = read_open_pulls(github, (repository.slug for repository in project.repositories.values()))
    else:
        pulls = Pulls()
        try:
            pulls.found[subject] = read_pull(github, subject)
        except SourceError as error:
            pulls.gaps[str(subject)] = error.brief
    forge = Forge(github, pulls)
    _follow(project, forge)
    forge.landed |= read_landed(github, _merged(project, pulls))
    for name in dict.fromkeys(pin.consumer for pin in project.pins if pin.contract):
        slug = project.repositories[name].slug
        try:
            forge.tickets[slug] = tuple(_tickets(read_ticket_issues(github, slug), slug))
        except SourceError as error:
            forge.gaps[slug] = error.brief
        except NotATicket as error:
            forge.gaps[slug] = " ".join(str(error).split())
    return forge


def _follow(project: Project, forge: Forge) -> None:
    """Read what each text declares, and the pull requests that it names, and so on."""
    left = MOST_FOLLOWED
    for _ in range(MOST_ROUNDS):
        for ref, pull in forge.pulls.found.items():
            if ref not in forge.declared:
                forge.declared[ref] = parse_declarations(pull.body, project, ref)
        named = {one.ref for declared in forge.declared.values() for one in declared.depends_on[:MOST_DEPENDENCIES]}
        missing = [ref for ref in named if ref not in forge.pulls.found and str(ref) not in forge.pulls.gaps]
        missing = sorted(missing, key=str)[:left]
        left -= len(missing)
        if not missing:
            return
        more = read_pulls(forge.github, missing)
        forge.pulls.found |= more.found
        forge.pulls.gaps |= more.gaps


def pulls_on_forge(project: Project, github: GitHub) -> tuple[PullRequest, ...]:
    """Return every open pull request of the project, and those that they wait for, for the merge order.

    Raises `SourceError` when a repository could not be read: an order of half of them would be a wrong one.
    """
    slugs = [repository.slug for repository in project.repositories.values()]
    forge = Forge(github, read_open_pulls(github, slugs))
    # What keeps one repository from being read may keep all of them: it is said once.
    if unread := list(dict.fromkeys(forge.pulls.gaps[slug] for slug in slugs if slug in forge.pulls.gaps)):
        raise SourceError("; ".join(unread), next_step="check the network, the token and the project's repositories")
    _follow(project, forge)
    return tuple(forge.pulls.found.values())


def _merged(project: Project, pulls: Pulls) -> Iterable[tuple[str, str, str]]:
    """Yield each merge commit with the branch that others build against."""
    for pull in pulls.found.values():
        name = project.repository_named(pull.repository)
        if pull.merge_commit and pull.state == "merged" and name is not None:
            yield pull.repository, pull.merge_commit, project.repositories[name].default_branch


def with_forge(project: Project, snapshot: Snapshot, forge: Forge) -> Snapshot:
    """Return the snapshot with what the forge knows about its subject, its dependencies, cycles and tickets."""
    ref = ref_of(snapshot.subject)
    repository = project.repositories[snapshot.repository]
    pull = forge.pulls.found.get(ref)
    why = (
        forge.pulls.gaps.get(str(ref)) or forge.pulls.gaps.get(repository.slug) or "the forge does not list it as open"
    )
    snapshot = with_pull(snapshot, pull, why)
    if snapshot.basis == "final-text" or snapshot.at < snapshot.taken_at:
        return snapshot
    if pull is None:
        return without_comments(snapshot, why)
    snapshot = with_comment_waivers(project, snapshot, pull, forge.github, forge.permissions)
    _same_head(snapshot, pull)
    if repository.path is not None:
        snapshot = with_order(project, snapshot, forge.declared[ref], Clone.open(repository.path))
    snapshot = with_dependencies(forge.github, snapshot, forge.pulls, forge.landed)
    facts: dict[str, Any] = {"cycles": _cycles(forge, ref), "tickets": forge.tickets.get(repository.slug)}
    gaps = {fact: said for fact, said in snapshot.gaps.items() if facts.get(fact) is None}
    if facts["cycles"] is None:
        gaps["cycles"] = "the description of a pull request that it waits for could not be read"
    if facts["tickets"] is None:
        gaps["tickets"] = forge.gaps.get(repository.slug, gaps.get("tickets", "no tickets are kept here"))
    return snapshot.model_copy(update=facts | {"gaps": gaps})


def snapshot_on(
    project: Project,
    forge: Forge,
    ref: PullRequestRef,
    at: datetime | None,
    calendars: Calendars,
    base: str | None = None,
) -> Snapshot:
    """Return the facts about a pull request that the forge was asked about; its base is the forge's (T3)."""
    from relmgr.workflows.gate import snapshot_of

    pull = forge.pulls.found.get(ref)
    merged = None if pull is None else pull.state == "merged"
    snapshot = snapshot_of(project, str(ref), at, calendars, base or forge.base_of(ref), merged=merged)
    snapshot = with_forge(project, snapshot, forge)
    return with_archives(project, snapshot, forge_archives(project.forge)) if snapshot.pin_digests else snapshot


def _same_head(snapshot: Snapshot, pull: PullRequest) -> None:
    """Refuse a clone that was fetched before the last push: its diff is another one's."""
    if snapshot.head and pull.head_commit and pull.state == "open" and snapshot.head != pull.head_commit:
        raise SourceError(
            f"the clone has {snapshot.head[:12]} as its head, the forge {pull.head_commit[:12]}",
            where=snapshot.subject,
            next_step=f"git fetch origin +pull/{pull.number}/head:refs/pull/{pull.number}/head",
        )


def _cycles(forge: Forge, subject: PullRequestRef) -> tuple[tuple[str, ...], ...] | None:
    """Return the shortest way from the subject through its dependencies back to it; None when a link was not read."""
    ways: list[tuple[PullRequestRef, ...]] = [(subject,)]
    seen, unread = {subject}, False
    while ways:
        way = ways.pop(0)
        if way[-1] not in forge.declared:
            unread = True
            continue
        for one in forge.declared[way[-1]].depends_on:
            if one.ref == subject:
                return (tuple(map(str, way)),)
            if one.ref not in seen:
                seen.add(one.ref)
                ways.append((*way, one.ref))
    return None if unread else ()


def _tickets(issues: Iterable[Mapping[str, Any]], slug: str) -> Iterable[Ticket]:
    for issue in issues:
        data = parse_block(issue["body"] or "")
        if data is None or data.contract is None or data.key.consumer.lower() != slug.lower():
            continue
        closed = "withdrawn" if issue.get("state_reason") == "not_planned" else "done"
        state = "open" if issue["state"] == "open" else closed
        yield Ticket.model_validate(
            {
                "contract": data.contract,
                "number": data.new.number,
                "arch": data.key.arch,
                "state": state,
                "url": issue["html_url"],
            }
        )
