"""Facts that only the forge knows, laid over a snapshot taken from clones. What it did not tell stays a named gap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote

from relmgr.errors import SourceError
from relmgr.model.facts import CheckRun, Dependency, Review
from relmgr.model.pull_request import PullRequest, PullRequestRef
from relmgr.model.slash_commands import Permission
from relmgr.model.snapshot import Snapshot
from relmgr.sources.github.client import GitHub
from relmgr.sources.github.pulls import BATCH, Pulls, read_pulls
from relmgr.sources.github.queries import compare_query

# What relmgr itself says about a pull request is no reason for or against it.
OWN_CHECKS = ("relmgr",)
# (repository, commit, branch): whether the commit is on the branch.
Landed = dict[tuple[str, str, str], bool | None]
_ON_BRANCH = {"behind": True, "identical": True, "ahead": False, "diverged": False}
_PERMISSIONS = ("none", "read", "triage", "write", "maintain", "admin")
_PAST = "the forge tells what is so now, not what was so then"
_UNTOLD = "the forge was asked and does not tell it"
_FACTS = ("labels", "reviews", "checks", "pushed_at")


def with_pull(snapshot: Snapshot, pull: PullRequest | None, why: str = "", own: Iterable[str] = OWN_CHECKS) -> Snapshot:
    """Return the snapshot with labels, reviews, checks, title, base and last push of its pull request.

    Without one, `why` becomes the reason of each gap. A snapshot of the past, or by final text, keeps its gaps: what
    the forge says is of today.
    """
    if snapshot.at < snapshot.taken_at or snapshot.basis == "final-text":
        return snapshot.model_copy(update={"gaps": snapshot.gaps | _still_open(snapshot, _PAST)})
    if pull is None:
        return snapshot.model_copy(update={"gaps": snapshot.gaps | _still_open(snapshot, why)})
    facts = facts_of(pull, snapshot.taken_at, own)
    gaps = {fact: reason for fact, reason in snapshot.gaps.items() if facts.get(fact) is None}
    gaps |= {fact: _UNTOLD for fact in _FACTS if facts[fact] is None}
    source = f"GitHub, {pull.ref} as of {snapshot.taken_at.isoformat(timespec='seconds')}"
    facts |= {"gaps": gaps, "title": pull.title, "base": pull.base, "sources": (*snapshot.sources, source)}
    return snapshot.model_copy(update={name: value for name, value in facts.items() if value is not None})


def facts_of(pull: PullRequest, now: datetime, own: Iterable[str] = OWN_CHECKS) -> dict[str, Any]:
    """Return a pull request's forge facts as a snapshot names them; None for what was not read.

    A check that is not completed counts as of `now`, so that an older result of its name does not stand for it.
    """
    ours = set(own)
    checks, reviews = pull.checks, pull.reviews
    return {
        "labels": pull.labels,
        "pushed_at": pull.last_push_at,
        "reviews": None
        if reviews is None
        else tuple(
            Review(by=one.author, state=one.state, at=one.submitted_at, commit=one.commit, may_push=one.may_push)
            for one in reviews
            if one.state != "pending" and one.submitted_at is not None
        ),
        "checks": None
        if checks is None
        else tuple(
            CheckRun(name=one.name, conclusion=one.conclusion, at=one.completed_at or now)
            for one in checks
            if one.name not in ours
        ),
    }


def with_dependencies(
    github: GitHub, snapshot: Snapshot, known: Pulls | None = None, landed: Landed | None = None
) -> Snapshot:
    """Return the snapshot with the state of each dependency that the clones could not tell.

    `known` are pull requests that were read already, `landed` keeps answers from one snapshot to the next. Merged means
    that the commit is on the branch that is needed: GitHub is asked for that too, by comparing (M6, M7).
    """
    if snapshot.at < snapshot.taken_at:
        return snapshot
    waited = snapshot.dependencies or ()
    pulls = known or read_pulls(github, [ref_of(one.pull) for one in waited if one.state is None])
    unknown = [doubted for one in waited if (doubted := _unless_open(one, pulls)).state is None]
    told = {one.pull: _told(github, one, pulls, {} if landed is None else landed) for one in unknown}
    found = tuple(told.get(one.pull, one) for one in waited)
    return snapshot.model_copy(update={"dependencies": found})


def _unless_open(known: Dependency, pulls: Pulls) -> Dependency:
    """Return a dependency, as unknown where a commit with its number tells that it is merged and the forge does not."""
    pull = pulls.found.get(ref_of(known.pull))
    if known.state != "merged" or pull is None or pull.state == "merged":
        return known
    return known.model_copy(update={"state": None, "merged_at": None, "landed": None})


def _told(github: GitHub, known: Dependency, pulls: Pulls, landed: Landed) -> Dependency:
    pull = pulls.found.get(ref_of(known.pull))
    if pull is None:
        return known
    facts: dict[str, Any] = {"state": pull.state, "base": pull.base, "head": known.head or pull.head_commit}
    if pull.state == "merged":
        facts["merged_at"] = pull.merged_at
        if pull.merge_commit and known.needs:
            key = (pull.repository, pull.merge_commit, known.needs)
            if key not in landed:
                landed[key] = is_on_branch(github, *key)
            facts["landed"] = landed[key]
    return known.model_copy(update=facts)


def read_landed(github: GitHub, wanted: Iterable[tuple[str, str, str]]) -> Landed:
    """Return for many (repository, commit, branch) whether the commit is on the branch, `BATCH` in one query.

    What GitHub does not tell so is left out: `is_on_branch` asks for it by itself.
    """
    found: Landed = {}
    asked = list(dict.fromkeys(wanted))
    for start in range(0, len(asked), BATCH):
        some = asked[start : start + BATCH]
        variables: dict[str, Any] = {}
        for i, (slug, commit, branch) in enumerate(some):
            owner, name = slug.split("/")
            variables |= {f"o{i}": owner, f"n{i}": name, f"b{i}": f"refs/heads/{branch}", f"c{i}": commit}
        try:
            data = github.query(compare_query(len(some)), variables)["data"]
        except SourceError:
            continue
        for i, key in enumerate(some):
            compared = ((data.get(f"r{i}") or {}).get("ref") or {}).get("compare")
            if compared:
                found[key] = _ON_BRANCH.get(compared["status"].lower())
    return found


def is_on_branch(github: GitHub, slug: str, commit: str, branch: str) -> bool | None:
    """Tell whether a commit is on a branch now; None when GitHub does not tell."""
    try:
        path = f"/repos/{github.canonical(slug)}/compare/{quote(branch, safe='')}...{commit}"
        status = github.get(path, per_page=1)["status"]
    except SourceError:
        return None
    return _ON_BRANCH.get(status)


def ref_of(pull: str) -> PullRequestRef:
    """Return `owner/repo#n` as a name."""
    slug, _, number = pull.rpartition("#")
    return PullRequestRef(repository=slug, number=int(number))


def read_ticket_issues(github: GitHub, slug: str) -> list[Mapping[str, Any]]:
    """Return every issue that this account wrote in a repository, as GitHub gives them (pull requests left out)."""
    login = github.login()
    entries = github.get_all(f"/repos/{github.canonical(slug)}/issues", state="all", creator=login, direction="asc")
    # A stranger's issue with relmgr's block in it is no ticket (B1), whatever the list was asked for.
    return [e for e in entries if "pull_request" not in e and e["user"] and e["user"]["login"] == login]


def _still_open(snapshot: Snapshot, why: str) -> dict[str, str]:
    return {fact: why for fact in _FACTS if getattr(snapshot, fact) is None}


def read_permission(github: GitHub, slug: str, login: str) -> Permission | None:
    """Return what an account may do in a repository; None when GitHub does not tell."""
    try:
        path = f"/repos/{github.canonical(slug)}/collaborators/{quote(login, safe='')}/permission"
        told = github.get(path)
    except SourceError:
        return None
    # A role of an organisation's own making has a name of its own, and what it is made from beside it.
    return next((role for key in ("role_name", "permission") if (role := told.get(key)) in _PERMISSIONS), None)
