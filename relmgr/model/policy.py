"""Policies: written rules, as data. What a rule means is here and in its file; how it judges is in its check."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from relmgr.model.base import Level, Noun, Outcome
from relmgr.model.snapshot import FactName, Role, SubjectKind

PolicyId = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$", max_length=60)]
Sentence = Annotated[str, Field(min_length=1, max_length=2000)]
When = Literal[
    "always",
    "pin-touched",
    "pin-moves",
    "no-pin-moves",
    "abi-crosses",
    "guards-concerned",
    "surface-changes",
    "companions-declared",
    "dependencies-declared",
    "event-declared",
    "policies-touched",
]


class AppliesTo(Noun):
    """Which subjects a policy judges: all conditions must hold; an empty list excludes nothing."""

    subjects: tuple[SubjectKind, ...] = ("pull-request",)
    roles: tuple[Role, ...] = Field(default=(), description="role of the subject's repository")
    base: Literal["any", "default", "release"] = Field(default="any", description="the branch it goes to")
    when: When = "always"
    past: bool = Field(default=True, description="also judged when a merged pull request is judged at a past time")


class Policy(Noun):
    """One policy file. `title` completes "This may merge if ..."; `fails` and `remedy` are Jinja texts."""

    id: PolicyId
    title: Sentence
    why: Sentence
    applies_to: AppliesTo = AppliesTo()
    level: Level
    requires: tuple[FactName, ...] = Field(default=(), description="facts without which the outcome is unknown")
    check: str
    params: dict[str, Any] = Field(default={})
    fails: Sentence
    remedy: Sentence
    reference: Sentence


class Advice(Noun):
    """One entry of `may_today.yaml`: what may be done today under these conditions."""

    when: When
    decision: tuple[Literal["merge", "wait", "block"], ...]
    passed: tuple[PolicyId, ...] = ()
    not_passed: tuple[PolicyId, ...] = ()
    says: Sentence


class AdviceFile(Noun):
    """The entries of `may_today.yaml`."""

    advice: tuple[Advice, ...]


class PolicyPage(Policy):
    """The document of `gate explain`: the policy as it is in force, what its check does, and where it stands."""

    checks: str
    evidence: tuple[str, ...]
    file: str
    disabled: str | None


class NewPolicy(Noun):
    """The document of `policy new`: the files, and whether they were written."""

    id: str
    check: str
    files: tuple[str, ...]
    written: bool


class CaseResult(Noun):
    """One case in the document of `policy test`; `problem` is None when it came out as expected."""

    policy: str
    case: str
    outcome: Outcome
    problem: str | None
