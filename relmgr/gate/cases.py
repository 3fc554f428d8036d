"""Cases of policies: small snapshots, written as what differs from a base, each with the outcome it must get."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from relmgr.errors import UserError
from relmgr.gate.engine import judge
from relmgr.gate.policies import CASE_KINDS, Rule
from relmgr.model.base import Noun, Outcome
from relmgr.model.snapshot import Snapshot
from relmgr.model.verdict import Verdict
from relmgr.resources import shipped
from relmgr.settings import Lines, read_yaml, validate

# What a case of each kind must come to, whichever outcome it names.
KIND_OUTCOMES = {
    "blocks": (Outcome.FAILED, Outcome.PENDING),
    "passes": (Outcome.PASSED,),
    "unknown": (Outcome.UNKNOWN,),
}


class Expected(Noun):
    """What a case must come to: the outcome and, where it says so, words that the verdict must contain."""

    outcome: Outcome
    says: tuple[str, ...] = ()


class Case(Noun):
    """One case file. `snapshot` is laid over the base of that name: mappings merge, all else replaces."""

    about: str
    base: str
    snapshot: dict[str, Any]
    params: dict[str, Any] | None = None
    expect: Expected


def read_cases(folder: Path, policy: str) -> dict[str, Case]:
    """Return the cases of a policy by file name, without the ending."""
    found = {}
    for file in sorted((folder / policy).glob("*.yaml")):
        if not file.stem.startswith((*CASE_KINDS, "skips")):
            raise UserError(
                f"a case is called {' or '.join(kind + '*.yaml' for kind in (*CASE_KINDS, 'skips'))}",
                where=str(file),
                next_step="rename it",
            )
        data, lines = read_yaml(file)
        found[file.stem] = validate(Case, data, lines, file)
    return found


def case_snapshot(folder: Path, case: Case) -> Snapshot:
    """Return the snapshot of a case: its base (one in `folder/base`, else a shipped one) with its facts laid over."""
    bases = {
        path.stem: path for place in (shipped("policies") / "bases", folder / "base") for path in place.glob("*.yaml")
    }
    if case.base not in bases:
        known = f"known: {', '.join(sorted(bases))}"
        raise UserError(f"no base snapshot {case.base!r}", where=str(folder), next_step=known)
    file = bases[case.base]
    data, lines = _read_base(file)
    return validate(Snapshot, lay_over(data, case.snapshot), lines, file)


@lru_cache(maxsize=32)
def _read_base(file: Path) -> tuple[Any, Lines]:
    return read_yaml(file)


def run_case(rule: Rule, folder: Path, case: Case) -> Verdict:
    """Return the verdict of a rule on a case, under the case's own parameters if it has some."""
    if case.params is not None:
        params = validate(rule.check.params, rule.policy.params | case.params, {}, f"case of {rule.policy.id}")
        rule = Rule(rule.policy, rule.check, params, rule.fails, rule.remedy, rule.file)
    return judge(case_snapshot(folder, case), rule)


def case_problem(name: str, case: Case, verdict: Verdict) -> str | None:
    """Return why a verdict is not what the case expects, or None."""
    kind = next((kind for kind in KIND_OUTCOMES if name.startswith(kind)), None)
    if kind and case.expect.outcome not in KIND_OUTCOMES[kind]:
        return f"a case {kind}* cannot expect {case.expect.outcome.value}"
    said = f"{verdict.evidence.get('statement', '')} {verdict.remedy} {verdict.evidence}"
    if verdict.outcome is not case.expect.outcome:
        return f"expected {case.expect.outcome.value}, got {verdict.outcome.value}: {said}"
    missing = [words for words in case.expect.says if words not in said]
    return f"does not say {missing[0]!r}: {said}" if missing else None


def lay_over(under: Any, over: Any) -> Any:
    """Return `over` laid over `under`: mappings merge key by key, everything else replaces."""
    if isinstance(under, Mapping) and isinstance(over, Mapping):
        return {key: lay_over(under.get(key), over[key]) if key in over else under[key] for key in [*under, *over]}
    return over
