"""Classify pin changes: kinds, reverts and re-bumps, and what they do to the kernel ABI."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from relmgr.model.abi import AbiVersion
from relmgr.model.base import Confidence
from relmgr.model.pins import AbiChange, AbiEvidence, Kind, PinChange, SitePin
from relmgr.model.reverts import read_revert, without_numbers

if TYPE_CHECKING:
    from relmgr.sources.git.ancestry import Ancestry
    from relmgr.sources.provider.abi import AbiReader

_PR_AT_END = re.compile(r"\(#(\d+)\)\s*$")
_PR_MERGE = re.compile(r"^Merge pull request #(\d+) from ")


def pr_number(subject: str) -> int | None:
    """Return the pull request a subject names: `x (#1)`, `Merge pull request #1 from`, cherry-picks keep theirs (N3).

    A revert without a number of its own has none: the number inside its quotes is the reverted one's (N2).
    """
    match = _PR_AT_END.search(subject) or _PR_MERGE.match(subject)
    return int(match[1]) if match else None


def classify(old: SitePin | None, new: SitePin | None, *, had_before: bool) -> tuple[Kind, ...]:
    """Return the kinds of the step from `old` to `new`; `had_before` tells a first pin from one that came back."""
    if old is None:
        return ("restored",) if had_before else ("first",)
    if new is None:
        return ("removed",)
    kinds: list[tuple[Kind, bool]] = [
        ("ref", old.ref != new.ref),
        ("repository", old.repository != new.repository),
        ("site", old.site != new.site),
        ("digest", old.digest != new.digest),
        ("options", old.options != new.options),
    ]
    return tuple(kind for kind, differs in kinds if differs)


def abi_change(reader: AbiReader, old: SitePin | None, new: SitePin | None) -> AbiChange:
    """Return number and convention on both sides; the same ref under another name of its repository is no change."""
    before, after = (_abi(reader, side) for side in (old, new))
    same = old is not None and new is not None and old.ref == new.ref
    known = "unknown" not in (before.convention, after.convention)
    crossing = False if same else (before.convention != after.convention if known else None)
    confidence: Confidence | None = None
    if before.confidence and after.confidence:
        confidence = "read" if before.confidence == after.confidence == "read" else "inferred"
    return AbiChange(
        old=before.number,
        new=after.number,
        old_convention=before.convention,
        new_convention=after.convention,
        crossing=crossing,
        evidence=AbiEvidence(
            confidence=confidence, old=before.source if old else None, new=after.source if new else None
        ),
    )


def _abi(reader: AbiReader, side: SitePin | None) -> AbiVersion:
    if side is None:
        return AbiVersion(
            provider="", ref="", macro="", number=None, convention="unknown", confidence=None, source="no pin"
        )
    return reader.at(side.repository, side.ref, side.ref if side.ref_kind == "sha" else None)


def link_reverts(changes: Sequence[PinChange], ancestry: Ancestry, body: Callable[[str], str]) -> list[PinChange]:
    """Return `changes` with reverts linked to what they revert, and the next forward move after each as its re-bump.

    A revert is a commit whose message says so (see `model.reverts`) *and* whose ref is the one
    in force before the reverted change; `body` gives a commit's message body.
    """
    linked = list(changes)
    for index, change in enumerate(linked):
        reverted = _reverted(change, linked[:index], body(change.commit))
        if reverted is not None:
            linked[index] = change.model_copy(update={"kinds": (*change.kinds, "revert"), "reverts": reverted.commit})
    for index, change in enumerate(list(linked)):
        if change.reverts:
            after = ancestry.descendants(change.commit)
            for later in range(index + 1, len(linked)):
                if linked[later].commit.encode() in after and "ref" in linked[later].kinds:
                    if "revert" not in linked[later].kinds:
                        linked[later] = linked[later].model_copy(
                            update={"kinds": (*linked[later].kinds, "rebump"), "rebump_of": change.reverts}
                        )
                    break
    return linked


def _reverted(change: PinChange, earlier: Sequence[PinChange], body: str) -> PinChange | None:
    claim = read_revert(change.subject, body)
    if claim is None:
        return None
    numbers = {pull.number for pull in claim.pulls}
    for candidate in reversed(earlier):
        says = any(candidate.commit.startswith(sha) for sha in claim.commits) or candidate.pr in numbers
        says = says or claim.title in (candidate.subject, without_numbers(candidate.subject))
        undone = (candidate.old.ref if candidate.old else None) == (change.new.ref if change.new else None)
        if says and undone:
            return candidate
    return None
