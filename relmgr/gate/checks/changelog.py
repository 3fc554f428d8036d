"""The change log."""

from __future__ import annotations

from relmgr.gate.registry import NoParams, Result, check
from relmgr.model.base import Noun, Outcome
from relmgr.model.snapshot import Snapshot


class ChangelogEvidence(Noun):
    """The lines that the subject adds to `path`; `exempt` says why it needs none."""

    path: str
    added: tuple[str, ...]
    exempt: str | None


@check("changelog-entry-present")
def changelog_entry_present(snapshot: Snapshot, params: NoParams) -> Result[ChangelogEvidence]:
    """The subject adds an entry, or says why it needs none."""
    assert snapshot.changelog is not None
    fact = snapshot.changelog
    evidence = ChangelogEvidence(path=fact.path, added=fact.added, exempt=fact.exempt)
    return Result(Outcome.PASSED if fact.added or fact.exempt else Outcome.FAILED, evidence)
