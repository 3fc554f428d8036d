"""Notes from facts: reverts netted, picks once, changes under headings, the ABI, the databases, what is open. Pure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from relmgr.gate.note_databases import compare_databases, unused_scans
from relmgr.gate.note_headings import choose_heading, heading_order
from relmgr.gate.note_reverts import Netting, Reverted, net_changes
from relmgr.model.abi import AbiVersion
from relmgr.model.audit import AuditFinding
from relmgr.model.base import Level, Outcome
from relmgr.model.notes import (
    AbiSide,
    Contributor,
    Fragment,
    KnownIssue,
    LeftOut,
    NettedChange,
    NoteEntry,
    Notes,
    NotesAbi,
    NotesCounts,
    NoteSection,
    NotesFacts,
    ProviderNotes,
    PullText,
    RangeCommit,
    RangeFacts,
    SamePatch,
)
from relmgr.model.notes_settings import NotesSettings
from relmgr.model.pins import PinChange, PinState

# Findings that the other sections say already, or that are past when the range ends.
_SAID_ELSEWHERE = {"abi-crossing", "bump", "revert", "number-changed", "pin-age", "digest-drift"}
_NUMBERS = re.compile(r"\d+(?:\.\d+)+")


def make_notes(facts: NotesFacts, settings: NotesSettings, macro: str | None = None) -> Notes:
    """Return the notes of a range. `macro` is the contract's number."""
    netting = net_changes(facts.range_.commits, facts.names)
    told = _Telling(facts, settings, netting)
    sections, left_out = told.sections()
    unused = unused_scans(facts.before, facts.after, facts.scans)
    return Notes(
        from_=facts.range_.from_,
        to=facts.range_.to,
        from_commit=facts.range_.from_commit,
        to_commit=facts.range_.to_commit,
        to_at=facts.range_.to_at,
        consumer=facts.consumer,
        title=section_title(settings, facts.range_.to, facts.version),
        compare=compare_link(facts.forge, facts.consumer, facts.range_.from_, facts.range_.to),
        counts=_counts(facts.range_, netting, sections),
        sections=sections,
        abi=_abi(facts, settings, macro),
        databases=compare_databases(facts.before, facts.after, facts.scans),
        known_issues=tuple(_known_issues(facts.findings)),
        netted=tuple(_netted(reverted) for reverted in netting.reverted),
        left_out=left_out,
        provider=_provider(facts, settings),
        contributors=tuple(_contributors(facts.range_.commits)),
        gaps=tuple(dict.fromkeys((*facts.range_.gaps, *facts.gaps, *unused))),
    )


def merged_by(range_: RangeFacts, number: int) -> str | None:
    """Return the commit that merged pull request `number`; None where the range is no more than its own commits."""
    own = [commit for commit in range_.commits if commit.pr == number and commit.kind != "part"]
    others = any(commit.pr not in (number, None) for commit in range_.commits)
    return own[-1].commit if own and others else None


def fold_into_pull_request(range_: RangeFacts, number: int) -> RangeFacts:
    """Return the range as the one change that it becomes when pull request `number` is merged."""
    own = [commit for commit in range_.commits if commit.kind != "branch-merge"] or list(range_.commits)
    head = range_.commits[-1]
    folded = own[0].model_copy(update={"commit": head.commit, "numbers": (number,), "kind": "change", "part_of": None})
    parts = [c.model_copy(update={"kind": "part", "part_of": head.commit}) for c in range_.commits[:-1]]
    return range_.model_copy(update={"commits": (*parts, folded), "elsewhere": (), "twice": ()})


def compare_link(forge: str, slug: str, old: str, new: str) -> str:
    """Return the forge's page that compares two refs."""
    return f"https://{forge}/{slug}/compare/{quote(old)}...{quote(new)}"


def section_title(settings: NotesSettings, tag: str, version: str | None) -> str | None:
    """Return the section's title; None when it needs a number that could not be read."""
    numbers = _NUMBERS.search(tag)
    release = numbers[0] if numbers else ""
    if ("{version}" in settings.title and not version) or ("{release}" in settings.title and not release):
        return None
    return settings.title.format(version=version, release=release, tag=tag)


# -- entries --------------------------------------------------------------------------------------------------------


class _Telling:
    """Turns the changes that remain into entries, each pull request once."""

    def __init__(self, facts: NotesFacts, settings: NotesSettings, netting: Netting) -> None:
        self._settings, self._netting = settings, netting
        self._pulls = {pull.number: pull for pull in facts.pulls or ()}
        self._moves = {c.commit: c for c in facts.pin_changes if {"ref", "first", "removed", "restored"} & set(c.kinds)}
        alive = {commit.commit for commit in net_changes(facts.range_.missing, facts.names).kept}
        # What the start has and took back again is not there.
        self._elsewhere = {pair.commit: pair for pair in facts.range_.elsewhere if pair.other in alive}
        self._groups = _fold(netting.kept, facts.range_.twice)
        self._fragments = _by_change(facts.fragments, facts.range_.commits, self._groups)

    def sections(self) -> tuple[tuple[NoteSection, ...], tuple[LeftOut, ...]]:
        """Return the sections in the project's order, and what is in none."""
        under: dict[str, list[NoteEntry]] = defaultdict(list)
        left_out: list[LeftOut] = []
        for group in self._groups:
            pairs = [self._elsewhere.get(commit.commit) for commit in group]
            there = next((pair for pair in pairs if pair and pair.by != "number"), None)
            if there:
                left_out.append(_left_out(group, "already-in-from", there))
                continue
            told = self._entries(group, next((pair for pair in pairs if pair), None))
            if not told:
                left_out.append(_left_out(group, "not-applicable", None))
            for heading, entry in told:
                under[heading].append(entry)
        order = heading_order(self._settings, under)
        return tuple(NoteSection(heading=h, entries=tuple(under[h])) for h in order), tuple(left_out)

    def _entries(self, group: list[RangeCommit], also: SamePatch | None) -> list[tuple[str, NoteEntry]]:
        """Return a change's entries: one, or one for each of its fragments."""
        numbers = _numbers_of(group)
        pull = self._pull(numbers)
        text = (pull.title if pull else "") or group[0].title
        fragments = self._fragments.get(group[0].commit)
        choice = choose_heading(text, pull, self._settings) if not fragments else None
        plain = NoteEntry(
            text=text,
            pr=group[0].pr,
            commits=tuple(commit.commit for commit in group),
            grouped_by=choice.by if choice else "fragment",
            picks=tuple(n for n in numbers if n != group[0].pr),
            also=also,
            reverts=next((words for c in group if (words := self._netting.outside.get(c.commit))), None),
            moves_pin=next((self._moves[c.commit] for c in group if c.commit in self._moves), None),
        )
        if choice is not None:
            return [(choice.heading, plain)] if choice.heading else []
        kept = [f for f in fragments or () if not self._settings.leaves_out(f.category)]
        return [(self._settings.heading_of(f.category) or f.category, _of_fragment(plain, f)) for f in kept]

    def _pull(self, numbers: Iterable[int]) -> PullText | None:
        if not self._pulls:
            return None
        return next((self._pulls[number] for number in numbers if number in self._pulls), None)


def _by_change(
    fragments: Iterable[Fragment], commits: Iterable[RangeCommit], groups: Iterable[list[RangeCommit]]
) -> dict[str, list[Fragment]]:
    """Return fragments by the first commit of the change they tell of.

    A number in a fragment's name that is a pull request of the range names the change; else the commit that brought the
    file in does (its merge, where a merged pull request owns that commit). What was reverted tells of nothing.
    """
    fragments = list(fragments)
    if not fragments:
        return {}
    owner = {commit.commit: commit.part_of or commit.commit for commit in commits}
    first: dict[str | int, str] = {}
    for group in groups:
        keys: list[str | int] = [*(commit.commit for commit in group), *_numbers_of(group)]
        first |= {key: group[0].commit for key in keys if key not in first}
    found: dict[str, list[Fragment]] = defaultdict(list)
    for fragment in sorted(fragments, key=lambda f: f.path):
        told = next((first[n] for n in fragment.numbers if n in first), None)
        told = told or first.get(owner.get(fragment.commit, fragment.commit))
        if told:
            found[told].append(fragment)
    return found


def _of_fragment(plain: NoteEntry, fragment: Fragment) -> NoteEntry:
    return plain.model_copy(update={"text": fragment.text, "is_markdown": True})


def _numbers_of(group: Iterable[RangeCommit]) -> tuple[int, ...]:
    """Return a change's pull requests, its own first."""
    group = list(group)
    if len(group) == 1:
        numbers = group[0].numbers
        return numbers if len(numbers) < 2 else tuple(dict.fromkeys((numbers[-1], *numbers)))
    own = [commit.pr for commit in group if commit.pr is not None]
    return tuple(dict.fromkeys([*own, *(number for commit in group for number in commit.numbers)]))


def _fold(kept: Sequence[RangeCommit], twice: Iterable[SamePatch]) -> list[list[RangeCommit]]:
    """Return the changes, each with its picks: one pull request is one change, and so are equal patches."""
    of_commit: dict[str, list[RangeCommit]] = {}
    of_number: dict[int, list[RangeCommit]] = {}
    same: dict[str, list[str]] = defaultdict(list)
    for pair in twice:
        same[pair.commit].append(pair.other)
        same[pair.other].append(pair.commit)
    groups: list[list[RangeCommit]] = []
    for commit in kept:
        known = [of_number[n] for n in commit.numbers if n in of_number]
        known += [of_commit[other] for other in same[commit.commit] if other in of_commit]
        if not known:
            known = [[]]
            groups.append(known[0])
        known[0].append(commit)
        of_commit[commit.commit] = known[0]
        of_number |= {number: of_number.get(number, known[0]) for number in commit.numbers}
    return groups


def _left_out(group: list[RangeCommit], why: str, there: SamePatch | None) -> LeftOut:
    return LeftOut(
        text=group[0].title,
        pr=group[0].pr,
        commits=tuple(commit.commit for commit in group),
        why="already-in-from" if why == "already-in-from" else "not-applicable",
        as_commit=there.other if there else None,
        by=there.by if there else None,
    )


def _netted(reverted: Reverted) -> NettedChange:
    return NettedChange(
        text=reverted.change.title,
        pr=reverted.change.pr,
        commit=reverted.change.commit,
        reverted_by=reverted.by.commit,
        reverted_by_pr=reverted.by.pr,
    )


def _counts(range_: RangeFacts, netting: Netting, sections: Iterable[NoteSection]) -> NotesCounts:
    entries = [entry for section in sections for entry in section.entries]
    return NotesCounts(
        commits=len(range_.commits),
        branch_merges=sum(commit.kind == "branch-merge" for commit in range_.commits),
        pull_requests=len({c.pr for c in range_.commits if c.pr and c.kind != "part"}),
        remaining=len({c.pr for c in netting.kept if c.pr}),
        guessed=sum(entry.grouped_by == "guess" for entry in entries),
    )


def _contributors(commits: Iterable[RangeCommit]) -> list[Contributor]:
    counted = Counter(c.author for c in commits if c.kind != "branch-merge" and not c.author.endswith("[bot]"))
    return [Contributor(name=name, commits=n) for name, n in sorted(counted.items(), key=lambda i: (-i[1], i[0]))]


# -- the ABI, the provider, what is open ----------------------------------------------------------------------------


def _abi(facts: NotesFacts, settings: NotesSettings, macro: str | None) -> NotesAbi:
    old = _side(facts.before.state, facts.before.abi)
    new = _side(facts.after.state, facts.after.abi)
    known = "unknown" not in (old.convention, new.convention)
    moves = tuple(change for change in facts.pin_changes if change.old and "ref" in change.kinds)
    return NotesAbi(
        provider=facts.provider,
        macro=macro,
        old=old,
        new=new,
        crossing=old.convention != new.convention if known else None,
        moves=moves,
        crossed_by=tuple(change for change in moves if _crossed(change)),
        user_caches=settings.user_caches,
    )


def _crossed(change: PinChange) -> bool:
    return bool(change.abi and change.abi.crossing)


def _side(state: PinState, abi: AbiVersion | None) -> AbiSide:
    return AbiSide(
        ref=state.pin.ref if state.pin else None,
        repository=state.pin.repository if state.pin else None,
        number=abi.number if abi else None,
        convention=abi.convention if abi else "unknown",
        confidence=abi.confidence if abi else None,
        source=abi.source if abi else "; ".join(state.gaps) or "no pin",
    )


def _provider(facts: NotesFacts, settings: NotesSettings) -> ProviderNotes:
    read = facts.provider_range
    notes = ProviderNotes(
        repository=read.repository,
        old=read.old,
        new=read.new,
        direction=read.direction,
        commits=None,
        entries=None,
        gap=read.gap,
        compare=compare_link(facts.forge, read.repository, read.old, read.new) if read.old and read.new else None,
    )
    if read.facts is None:
        return notes.model_copy(update={"commits": 0, "entries": ()}) if read.direction == "same" else notes
    netting = net_changes(read.facts.commits, read.names)
    alone = facts.model_copy(update={"range_": read.facts, "pulls": (), "fragments": (), "pin_changes": ()})
    sections, _ = _Telling(alone, settings, netting).sections()
    return notes.model_copy(
        update={
            "commits": len(read.facts.commits),
            "entries": tuple(entry for section in sections for entry in section.entries),
            "netted": tuple(_netted(reverted) for reverted in netting.reverted),
        }
    )


def _known_issues(findings: Iterable[AuditFinding]) -> list[KnownIssue]:
    """Return the open findings, those of one kind, outcome and remedy together."""
    groups: dict[tuple[str, str, str], list[AuditFinding]] = defaultdict(list)
    for finding in findings:
        trouble = finding.outcome in (Outcome.FAILED, Outcome.UNKNOWN) and finding.level is not Level.NOTE
        if trouble and finding.kind not in _SAID_ELSEWHERE:
            groups[finding.kind, finding.outcome.value, finding.remedy].append(finding)
    return [
        KnownIssue(
            kind=kind,
            outcome=outcome,
            paths=tuple(f.path for f in found if f.path),
            commit=found[0].commit,
            evidence=found[0].evidence,
            remedy=remedy,
        )
        for (kind, outcome, remedy), found in groups.items()
    ]
