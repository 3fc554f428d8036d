"""The pull request whose head a pin names, and what it was merged as (P12)."""

from __future__ import annotations

from relmgr.errors import SourceError
from relmgr.model.companion import Companion
from relmgr.sources.github.client import GitHub


def read_companions(github: GitHub, slug: str, commit: str) -> tuple[Companion, ...]:
    """Return the pull requests whose head is `commit`, the merged ones first. Raises `SourceError` when not told."""
    present = github.canonical(slug)
    found = [
        _companion(github, present, pull)
        for pull in github.get_all(f"/repos/{present}/commits/{commit}/pulls")
        if pull["head"]["sha"] == commit
    ]
    return tuple(sorted(found, key=lambda one: (one.state != "merged", -one.number)))


def _companion(github: GitHub, slug: str, pull: dict[str, object]) -> Companion:
    head, base = pull["head"], pull["base"]
    assert isinstance(head, dict)
    assert isinstance(base, dict)
    merged = pull["merge_commit_sha"] if pull["merged_at"] else None
    return Companion.model_validate(
        {
            "repository": slug,
            "number": pull["number"],
            "state": "merged" if merged else pull["state"],
            "base": base["ref"],
            "merged_as": merged,
            "same_tree": _same_tree(github, slug, head["sha"], str(merged)) if merged else None,
        }
    )


def _same_tree(github: GitHub, slug: str, head: str, merged: str) -> bool | None:
    try:
        one, other = (github.get(f"/repos/{slug}/git/commits/{sha}")["tree"]["sha"] for sha in (head, merged))
    except SourceError:
        return None
    return bool(one == other)
