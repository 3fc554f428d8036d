"""`relmgr abi guards`: the consumer's guards on the provider's number, and the patch that removes dead ones."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from relmgr.errors import SourceError, UserError
from relmgr.model.guards import GuardPatch, GuardReport
from relmgr.model.pins import PinState
from relmgr.model.project import Contract, PinConfig, Project, Repository
from relmgr.sources.git.clone import Clone
from relmgr.sources.guards.branches import GuardAnalysis, find_guards, read_guard_sources
from relmgr.sources.guards.expressions import OutOfFuel
from relmgr.sources.guards.patch import plan_removal, render_diff
from relmgr.sources.guards.proof import prove
from relmgr.sources.pins.history import pin_states, release_tags
from relmgr.sources.provider.abi import AbiReader
from relmgr.workflows.locate import consumer_clone, default_ref


@dataclass(frozen=True)
class GuardStudy:
    """What both commands start from: the analysis of the consumer's files, and the report on it."""

    analysis: GuardAnalysis
    report: GuardReport


def study_guards(project: Project, pin: PinConfig, ref: str | None, releases: Iterable[str]) -> GuardStudy:
    """Find the guards at `ref`, live at its own pin, and dead at the pin of each of `releases`."""
    contract = _contract(project, pin)
    clone = consumer_clone(project, pin)
    consumer = project.repositories[pin.consumer]
    named = ref or default_ref(clone, project, pin)
    commit = clone.require(named)
    tags = find_releases(clone, consumer, releases)
    number, *others = _numbers(clone, project, pin, [commit, *tags.values()])
    sources = read_guard_sources(clone, commit, contract.guard_files, consumer.root)
    analysis = GuardAnalysis(sources, contract.macro, contract.former_macros, contract.number_without_macro)
    numbers = dict(zip(tags, others, strict=True))
    guards = find_guards(analysis, number, numbers)
    gaps = (*sources.gaps, *(f"{path}: {why}" for path, why in sorted(analysis.gaps.items())))
    report = GuardReport(
        macro=contract.macro, ref=named, commit=commit, number=number, numbers=numbers, guards=guards, gaps=gaps
    )
    return GuardStudy(analysis, report)


def patch_guards(study: GuardStudy) -> GuardPatch:
    """Return the proven patch that removes what is dead at the pinned number and at every release's.

    Raises `SourceError` with the reason when a number or a file is unknown, or the proof fails.
    """
    report = study.report
    numbers = _supported(report)
    try:
        removal = plan_removal(study.analysis, numbers)
        worlds = prove(study.analysis, removal, numbers) if removal.edits else 0
    except OutOfFuel as error:
        raise SourceError(f"patch refused: {error}") from None
    dead = {(path, line) for path, edit in removal.edits.items() for line in edit.dead}
    return GuardPatch(
        diff=render_diff(removal),
        numbers=numbers,
        removed=tuple(guard for guard in report.guards if (guard.file, guard.line) in dead),
        macros_removed=removal.macros,
        worlds=worlds,
    )


def find_releases(clone: Clone, repository: Repository, names: Iterable[str]) -> dict[str, str]:
    """Return tag to commit of the releases named: a tag, a version (`5.4.0`), or a train (`5.4`: all its tags)."""
    tags = dict(release_tags(clone, repository))
    found: dict[str, str] = {}
    for name in names:
        matching = [name] if name in tags else [tag for tag in tags if _is_of(tag, name)]
        if not matching:
            known = ", ".join(list(tags)[-5:]) or "none"
            raise UserError(f"no release {name!r} in {clone.path}", next_step=f"newest release tags: {known}")
        found |= {tag: tags[tag] for tag in matching}
    return found


def _is_of(tag: str, version: str) -> bool:
    """Tell whether `tag` is a release of exactly that version or train: `5.1` is not in `5.14`."""
    wanted = re.fullmatch(r"\d+(?:\.\d+)*", version)
    numbers = re.findall(r"\d+", tag)
    return wanted is not None and numbers[: version.count(".") + 1] == version.split(".")


def _contract(project: Project, pin: PinConfig) -> Contract:
    contract = project.contract(pin)
    if contract is None or not contract.guard_files:
        missing = "has no contract" if contract is None else f"names no guard_files in contract {pin.contract!r}"
        raise UserError(f"pin {pin.name!r} {missing}", next_step="add `guard_files` to its contract in the project")
    return contract


def _numbers(clone: Clone, project: Project, pin: PinConfig, commits: list[str]) -> list[int | None]:
    reader = AbiReader(project, pin)
    return [_number(reader, state) for state in pin_states(clone, project, pin, commits)]


def _number(reader: AbiReader, state: PinState) -> int | None:
    site = state.pin
    if site is None or state.gaps:
        return None
    return reader.at(site.repository, site.ref, site.ref if site.ref_kind == "sha" else None).number


def _supported(report: GuardReport) -> tuple[int, ...]:
    unknown = [name for name, number in {report.ref: report.number, **report.numbers}.items() if number is None]
    if unknown:
        raise SourceError(
            f"patch refused: the number at {', '.join(unknown)} is unknown",
            next_step="give the provider's clone with --repo, or leave those releases out",
        )
    if report.gaps:
        raise SourceError(f"patch refused: not everything could be read: {report.gaps[0]}")
    return tuple(sorted({n for n in (report.number, *report.numbers.values()) if n is not None}))
