"""`relmgr policy`: the stubs of a new policy, and running cases."""

from __future__ import annotations

import re
from pathlib import Path

from relmgr.errors import UserError
from relmgr.gate.cases import case_problem, read_cases, run_case
from relmgr.gate.policies import CASE_KINDS, read_rules
from relmgr.gate.registry import all_checks
from relmgr.model.policy import CaseResult, NewPolicy
from relmgr.render.engine import render
from relmgr.sinks.new_files import write_new


def new_policy(policy_id: str, folder: Path, cases: Path | None, check: str, *, apply: bool) -> NewPolicy:
    """Return the files of a new policy and, with `apply`, write them; nothing that is there is written over."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", policy_id):
        raise UserError(f"{policy_id!r} is no policy id", next_step="use small letters, digits and single hyphens")
    if check not in all_checks():
        raise UserError(f"no check {check!r}", next_step=f"known: {', '.join(all_checks())}")
    evidence = list(all_checks()[check].evidence.model_fields)
    files = {folder / f"{policy_id}.yaml": render("policy/rule.yaml.j2", id=policy_id, check=check, evidence=evidence)}
    for kind in CASE_KINDS:
        files[cases_of(folder, cases) / policy_id / f"{kind}.yaml"] = render("policy/case.yaml.j2", kind=kind)
    if apply:
        write_new(files)
    return NewPolicy(id=policy_id, check=check, files=tuple(str(file) for file in files), written=apply)


def run_cases(policy_id: str | None, folder: Path, cases: Path | None) -> list[CaseResult]:
    """Return the result of every case of one policy, or of all policies in `folder`."""
    where = cases_of(folder, cases)
    if not any(folder.glob("*.yaml")):
        raise UserError("no policies in this folder", where=str(folder), next_step="name their folder with --folder")
    rules = {rule.policy.id: rule for rule in read_rules(folder, where)}
    if policy_id is not None and policy_id not in rules:
        raise UserError(f"no policy {policy_id!r} in {folder}", next_step=f"known: {', '.join(rules) or 'none'}")
    results = []
    for name, rule in rules.items():
        for case_name, case in read_cases(where, name).items() if policy_id in (None, name) else ():
            verdict = run_case(rule, where, case)
            problem = case_problem(case_name, case, verdict)
            results.append(CaseResult(policy=name, case=case_name, outcome=verdict.outcome, problem=problem))
    return results


def cases_of(folder: Path, cases: Path | None) -> Path:
    """Return where the cases of a folder of rules stand: beside the tests in relmgr's own tree, else in `cases/`."""
    if cases is not None:
        return cases
    beside_tests = folder.resolve().parents[1] / "tests" / "cases"
    own_tree = folder.name == "rules" and folder.resolve().parent.name == "policies" and beside_tests.is_dir()
    return beside_tests if own_tree else folder / "cases"
