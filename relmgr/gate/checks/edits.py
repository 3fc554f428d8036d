"""Changes of the rules themselves: shown and validated on the change that makes them, never applied to it (B8)."""

from __future__ import annotations

from relmgr.gate.registry import NoParams, Result, check
from relmgr.model.base import Noun, Outcome
from relmgr.model.facts import PolicyEdit
from relmgr.model.snapshot import Snapshot


class EditEvidence(Noun):
    """Every file of rules that the subject changes, and those that would be refused."""

    edits: tuple[PolicyEdit, ...]
    refused: tuple[PolicyEdit, ...]


@check("policy-changes-valid")
def policy_changes_valid(snapshot: Snapshot, params: NoParams) -> Result[EditEvidence]:
    """Policies, trains, waivers and settings that the subject changes would be accepted."""
    edits = snapshot.policy_edits or ()
    refused = tuple(edit for edit in edits if edit.problem)
    return Result(Outcome.FAILED if refused else Outcome.PASSED, EditEvidence(edits=edits, refused=refused))
