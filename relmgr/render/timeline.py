"""The audit's timeline: swim lanes of pins, convention, releases and databases."""

from __future__ import annotations

from relmgr.model.audit import AuditFacts


def timeline(facts: AuditFacts) -> str:
    """Placeholder until the picture lands."""
    raise NotImplementedError
