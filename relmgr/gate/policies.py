"""Load policies: YAML files to rules ready to judge. What is wrong in one is refused here, with file and line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from relmgr.errors import UserError
from relmgr.gate.registry import Check, all_checks
from relmgr.model.base import Noun
from relmgr.model.policy import Advice, AdviceFile, Policy
from relmgr.model.project import PolicyOverride, Project
from relmgr.resources import shipped
from relmgr.settings import Lines, parse_yaml, read_yaml, validate

# Names that every text may use, beside the check's evidence.
TEXT_NAMES = frozenset({"subject", "at", "base", "outcome", "params"})
CASE_KINDS = ("blocks", "passes", "unknown")
FIELDS = tuple(Policy.model_fields)


@dataclass(frozen=True)
class Rule:
    """A policy with its check, typed parameters and compiled texts; `disabled` says why a project put it aside."""

    policy: Policy
    check: Check
    params: Noun
    fails: Template
    remedy: Template
    file: str
    disabled: str | None = None


def load_rules(project: Project, base: str | None = None) -> tuple[Rule, ...]:
    """Return the rules in force for `project` on the branch `base`, by id: shipped ones, then the project's own.

    Raises `UserError` for whatever is not accepted: unknown names, texts that do not compile, overrides of nothing.
    """
    rules = {rule.policy.id: rule for rule in shipped_rules()}
    for folder in project.policies.folders:
        if not folder.is_dir():
            raise UserError("no such folder of policies", where=str(folder), next_step="correct policies.folders")
        for rule in read_rules(folder, cases=folder / "cases"):
            if rule.policy.id in rules:
                raise UserError(
                    f"a policy {rule.policy.id!r} is there already",
                    where=rule.file,
                    next_step="choose another id; to change the shipped one use policies.override in the project",
                )
            rules[rule.policy.id] = rule
    for policy_id, override in project.policies.override.items():
        if policy_id not in rules:
            raise _unknown("policy", policy_id, rules, f"policies.override.{policy_id}")
        rules[policy_id] = override_rule(rules[policy_id], override, base)
    return tuple(rules[policy_id] for policy_id in sorted(rules))


@lru_cache(maxsize=1)
def shipped_rules() -> tuple[Rule, ...]:
    """Return the shipped rules without overrides. In a checkout each must have its cases; a wheel carries none."""
    folder = shipped("policies")
    cases = folder.parent / "tests" / "cases"
    return tuple(read_rules(folder / "rules", cases=cases if cases.is_dir() else None))


def read_rules(folder: Path, cases: Path | None) -> list[Rule]:
    """Read every policy file of a folder; with `cases` each policy must have its three kinds of case there."""
    return [read_rule(file, cases) for file in sorted(folder.glob("*.yaml"))]


def read_rule(file: Path, cases: Path | None = None) -> Rule:
    """Read one policy file."""
    data, lines = read_yaml(file)
    policy, check, params = _checked(data, lines, file, cases)
    fails, remedy = (_environment().from_string(text) for text in (policy.fails, policy.remedy))
    return Rule(policy, check, params, fails, remedy, str(file))


def check_policy_text(text: str, name: str) -> None:
    """Raise `UserError` for a policy's text that would be refused, without compiling it: for a stranger's change."""
    data, lines = parse_yaml(text, name)
    _checked(data, lines, Path(name), None)


def override_rule(rule: Rule, override: PolicyOverride, base: str | None) -> Rule:
    """Return `rule` with a project's override laid over it; of its branches the last that matches `base` wins."""
    level, params, disabled = override.level, dict(override.params), override.disabled
    for branch in override.branches:
        if base is not None and re.search(branch.pattern, base):
            level = branch.level or level
            params |= branch.params
            disabled = branch.disabled or disabled
    policy = rule.policy.model_copy(update={"level": level or rule.policy.level, "params": rule.policy.params | params})
    where = f"policies.override.{policy.id}.params"
    typed = validate(rule.check.params, policy.params, {}, where)
    return Rule(policy, rule.check, typed, rule.fails, rule.remedy, rule.file, disabled)


def _checked(data: Any, lines: Lines, file: Path, cases: Path | None) -> tuple[Policy, Check, Noun]:
    policy = validate(Policy, data, lines, file)
    _check_order(data, lines, file)
    if policy.id != file.stem:
        raise UserError(
            f"the id {policy.id!r} is not the file's name {file.stem!r}",
            where=f"{file}:{lines.get(('id',), 1)}",
            next_step=f"write `id: {file.stem}`, or rename the file",
        )
    checks = all_checks()
    if policy.check not in checks:
        raise _unknown("check", policy.check, checks, f"{file}:{lines.get(('check',), 1)}")
    check = checks[policy.check]
    params_lines = {loc[1:]: line for loc, line in lines.items() if loc[:1] == ("params",)}
    params = validate(check.params, policy.params, params_lines, file)
    for field in ("fails", "remedy"):
        _check_text(policy, check, field, f"{file}:{lines.get((field,), 1)}")
    if cases is not None:
        _check_cases(policy, cases, file)
    return policy, check, params


def _check_order(data: dict[str, Any], lines: Lines, file: Path) -> None:
    """Keep the fields in one order, so that any two policies read alike."""
    given, wanted = list(data), [field for field in FIELDS if field in data]
    for is_, should in zip(given, wanted, strict=True):
        if is_ != should:
            raise UserError(
                f"{is_!r} stands where {should!r} should",
                where=f"{file}:{lines.get((is_,), 1)}",
                next_step=f"the order is {', '.join(FIELDS)}",
            )


def _check_text(policy: Policy, check: Check, field: str, where: str) -> None:
    """Refuse a text that is no Jinja, or that names what the check's evidence does not have.

    The text is only parsed, never compiled: compiling works constants out, and a stranger's may be without bounds.
    """
    env = _environment()
    try:
        tree = env.parse(getattr(policy, field))
    except (TemplateSyntaxError, RecursionError) as error:
        why = getattr(error, "message", None) or "nested too deeply"
        raise UserError(f"{field}: not a Jinja text: {why}", where=where, next_step="correct it") from None
    for node in tree.find_all((nodes.Filter, nodes.Test)):
        known = env.filters if isinstance(node, nodes.Filter) else env.tests
        if node.name not in known:
            raise _unknown(f"{field}: {type(node).__name__.lower()}", node.name, sorted(known), where)
    if any(tree.find_all((nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends))):
        raise UserError(f"{field}: a text takes nothing from other files", where=where, next_step="write it out")
    names = list(tree.find_all(nodes.Name))
    stored = {name.name for name in names if name.ctx != "load"} | {"loop"}
    allowed = sorted(TEXT_NAMES | set(check.evidence.model_fields))
    for name in sorted({name.name for name in names} - stored - set(allowed)):
        raise _unknown(f"{field}: name", name, allowed, where)


def _check_cases(policy: Policy, cases: Path, file: Path) -> None:
    missing = [kind for kind in CASE_KINDS if not list((cases / policy.id).glob(f"{kind}*.yaml"))]
    if missing:
        raise UserError(
            f"the policy {policy.id!r} has no case for: {', '.join(missing)}",
            where=f"{file}:1",
            next_step=f"write {', '.join(str(cases / policy.id / (kind + '.yaml')) for kind in missing)}",
        )


def _unknown(what: str, name: str, known: Iterable[str], where: str) -> UserError:
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return UserError(f"unknown {what} {name!r}{hint}", where=where, next_step=f"allowed: {', '.join(known)}")


@lru_cache(maxsize=1)
def shipped_advice() -> tuple[tuple[Advice, Template], ...]:
    """Return what may be done today under which conditions, from `policies/may_today.yaml`."""
    file = shipped("policies") / "may_today.yaml"
    data, lines = read_yaml(file)
    lines = {("advice", *loc): line for loc, line in lines.items()}
    found = validate(AdviceFile, {"advice": data}, lines, file)
    return tuple((advice, _environment().from_string(advice.says)) for advice in found.advice)


@lru_cache(maxsize=1)
def _environment() -> ImmutableSandboxedEnvironment:
    env = ImmutableSandboxedEnvironment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    env.filters.update(short=_short, listed=listed)
    return env


def _short(ref: str | None) -> str:
    """Return a ref for people: 12 digits of a commit, other refs whole."""
    if ref is None:
        return "nothing"
    return ref[:12] if re.fullmatch(r"[0-9a-f]{40}", ref) else ref


def listed(items: Sequence[Any], word: str = "and") -> str:
    """Return `a`, `a and b`, `a, b and c`; past ten, the rest is counted."""
    names = [str(item) for item in items]
    if len(names) > 10:
        names = [*names[:10], f"{len(names) - 10} more"]
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else "none"
