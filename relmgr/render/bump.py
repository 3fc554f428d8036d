"""A bump's words: branch, title, commit message with its trailers, pull request."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from relmgr.model.actions import UpsertPull
from relmgr.model.bump import BumpPlan, PinStep
from relmgr.render.actions import tidy
from relmgr.render.engine import SHIPPED, Words, short

MAX_TITLE = 120


def branch_of(family: str, steps: Sequence[PinStep], base: str | None = None) -> str:
    """Return the branch of one attempt: one of a (family, ref), and of a `base` that is not the default branch.

    After a revert a bump to the same commit is another attempt: the pull request of the first was merged.
    """
    words = [_word(family), *(_word(short(step.ref)) for step in steps[:1])]
    words += [f"on-{_word(base)}"] if base else []
    words += [f"after-{step.reverted_by[:12]}" for step in steps[:1] if step.reverted_by]
    return f"relmgr/bump-{'-'.join(words)}"


def bump_title(steps: Sequence[PinStep]) -> str:
    """Return the subject: what moves where, and whether it crosses the ABI."""
    first = steps[0]
    name = first.provider.split("/")[1]
    if first.direction == "none" and len(steps) == 1:
        return _one_line(f"Pin {name} as {short(first.ref)}, the same commit", MAX_TITLE)
    verb = "Roll back" if first.direction == "back" else "Bump"
    others = f" and {len(steps) - 1} more" if len(steps) > 1 else ""
    crossing = next((step for step in steps if step.abi and step.abi.crossing), None)
    abi = (
        f" (kernel ABI {_number(crossing.abi.old)} -> {_number(crossing.abi.new)})" if crossing and crossing.abi else ""
    )
    return _one_line(f"{verb} {name} to {short(first.ref)}{others}{abi}", MAX_TITLE)


def bump_message(steps: Sequence[PinStep], reasons: Mapping[str, str]) -> str:
    """Return the commit message: subject, what it means, and trailers that machines read."""
    lines = [bump_title(steps), ""]
    for step in steps:
        if step.abi and step.abi.crossing:
            lines += ["Kernels built before this commit must not be launched after it: rebuild the databases.", ""]
            break
    for step in steps:
        slug = step.old.repository or step.provider
        lines += [f"Pin-From: {slug}@{step.old.ref}", f"Pin-To: {slug}@{step.ref}", f"ABI: {_abi_line(step)}"]
    lines += [f"{name.capitalize()}-Reason: {_one_line(reason, 300)}" for name, reason in reasons.items()]
    return "\n".join(lines) + "\n"


def _abi_line(step: PinStep) -> str:
    """Return what a step does to the ABI, in one line."""
    if step.abi is None:
        return "no contract"
    change = step.abi
    numbers = f"{step.contract} {_number(change.old)} -> {_number(change.new)}"
    if change.crossing is None:
        return f"{numbers}, may cross (one side could not be read)"
    if change.crossing:
        return f"{numbers} ({change.old_convention} -> {change.new_convention}), crossing"
    return f"{numbers}, no crossing"


def pull_action(plan: BumpPlan, family: str, words: Words = SHIPPED) -> UpsertPull:
    """Return the pull request of a plan."""
    body = tidy(words.render("pull_request/bump.md.j2", d=plan))
    return UpsertPull(
        repository=plan.consumer,
        head=plan.branch,
        base=plan.base,
        family=_word(family),
        title=plan.title,
        body=body,
    )


def _number(number: int | None) -> str:
    return "?" if number is None else str(number)


def _one_line(text: str, limit: int) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:limit]


def _word(text: str) -> str:
    """Return a text as a part of a branch's name."""
    return re.sub(r"-{2,}", "-", re.sub(r"[^A-Za-z0-9_-]+", "-", text)).strip("-") or "pin"
