"""Every shipped policy against its cases, with its exact words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from relmgr.gate.cases import Case, case_problem, case_snapshot, read_cases, run_case
from relmgr.gate.engine import judge
from relmgr.gate.policies import CASE_KINDS, Rule, shipped_rules
from relmgr.model.base import Outcome

CASES = Path(__file__).parents[1] / "cases"
RULES = {rule.policy.id: rule for rule in shipped_rules()}
ALL = [(rule, name, case) for rule in RULES.values() for name, case in read_cases(CASES, rule.policy.id).items()]

# The policies that the product promises, by name.
PROMISED = [
    "companion-merges-first",
    "dependencies-merged",
    "no-dependency-cycle",
    "merge-after-event",
    "abi-number-declared",
    "api-change-declared",
    "abi-bump-keeps-old-path",
    "abi-bump-waits-for-cut",
    "abi-bump-leaves-time-to-regenerate",
    "abi-bump-has-regeneration-ticket",
    "databases-fresh-at-release",
    "pin-sites-agree",
    "pin-moves-forward",
    "pin-reachable-from-branch",
    "pin-not-a-branch-at-cut",
    "pin-digest-matches",
    "reverted-pin-not-reproposed",
    "group-pins-move-together",
    "consumers-same-convention-at-release",
    "consumers-same-commit-at-release",
    "smoke-green",
    "approvals-and-checks",
    "on-hold",
    "freeze",
    "backport-targets-open-branch",
    "backport-does-not-downgrade-pin",
    "changelog-entry-present",
    "dead-guard-removable",
    "order-spoken-of",
    "policy-changes-valid",
]


def test_exactly_the_promised_policies_are_shipped() -> None:
    assert sorted(PROMISED) == sorted(RULES)


@pytest.mark.parametrize("policy", PROMISED)
def test_a_policy_brings_a_blocking_a_passing_and_an_unknown_case(policy: str) -> None:
    names = list(read_cases(CASES, policy))
    for kind in CASE_KINDS:
        assert any(name.startswith(kind) for name in names), f"{policy} has no case {kind}*"


def test_no_case_folder_belongs_to_no_policy() -> None:
    assert {path.name for path in CASES.iterdir() if path.is_dir()} == set(PROMISED)


@pytest.mark.parametrize(("rule", "name", "case"), ALL, ids=[f"{rule.policy.id}-{name}" for rule, name, _ in ALL])
def test_case(rule: Rule, name: str, case: Case) -> None:
    assert case_problem(name, case, run_case(rule, CASES, case)) is None


@pytest.mark.parametrize("policy", PROMISED)
def test_wording(policy: str, golden: Any) -> None:
    parts = []
    for name, case in read_cases(CASES, policy).items():
        verdict = run_case(RULES[policy], CASES, case)
        said = [f"-- {name}: {case.about}", verdict.outcome.value]
        said += [verdict.evidence["statement"]] if "statement" in verdict.evidence else []
        said += [verdict.evidence["note"]] if verdict.evidence.get("note") else []
        said += [f"next: {verdict.remedy}"] if verdict.remedy else []
        parts.append("\n".join(said) + "\n")
    golden(f"gate/policies/{policy}.txt", "\n".join(parts))


@pytest.mark.parametrize("policy", PROMISED)
def test_no_fact_at_all_is_never_a_pass(policy: str) -> None:
    """With every fact taken away the outcome is unknown, or the policy certainly does not apply; never passed."""
    for case in read_cases(CASES, policy).values():
        snapshot = case_snapshot(CASES, case)
        needed = RULES[policy].policy.requires
        empty = snapshot.model_copy(update={"gaps": dict.fromkeys(needed, "taken away")})
        assert judge(empty, RULES[policy]).outcome in (Outcome.UNKNOWN, Outcome.SKIPPED)
