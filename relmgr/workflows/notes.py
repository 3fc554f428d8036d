"""`relmgr notes`: show what a range brings, write it into the change log, check what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pydantic_core

from relmgr.errors import UserError
from relmgr.gate.audit import audit
from relmgr.gate.notes import make_notes
from relmgr.model.notes import Notes, NotesFacts, PullText
from relmgr.model.project import PinConfig, Project
from relmgr.model.pull_request import PullRequestRef
from relmgr.model.ticket import ScannedFile
from relmgr.sources.git.clone import Clone
from relmgr.sources.notes.facts import audit_facts_of, read_notes_facts
from relmgr.sources.notes.range import previous_release, train_ends
from relmgr.sources.recorded_pulls import read_recorded_pulls
from relmgr.workflows.locate import consumer_clone

if TYPE_CHECKING:
    from relmgr.render.notes import Form


@dataclass(frozen=True)
class Asked:
    """What notes are made from beside the clones: recorded pull requests, the forge, databases to scan."""

    pulls: Path | None = None
    github: bool = False
    databases: Sequence[str] = ()


def take_notes(project: Project, pin: PinConfig, text: str, asked: Asked) -> Notes:
    """Return the notes of a range: `FROM..TO`, a release tag (since the one before it), or a train such as `5.4`."""
    return notes_of(project, pin, read_facts(project, pin, text, asked))


def read_facts(project: Project, pin: PinConfig, text: str, asked: Asked) -> NotesFacts:
    """Read what the notes of a range are made of."""
    clone = consumer_clone(project, pin)
    ends = range_ends(clone, project, pin, text)
    recorded = read_recorded_pulls(asked.pulls) if asked.pulls else None
    scans = _scans(project, pin, asked.databases)
    facts = read_notes_facts(clone, project, pin, ends, pulls=recorded, scans=scans)
    return _ask_forge(project, facts) if asked.github else facts


def _ask_forge(project: Project, facts: NotesFacts) -> NotesFacts:
    """Return the facts with the pull requests of the range as the forge has them; one that it refuses is a gap."""
    from relmgr.sources.github.client import open_github
    from relmgr.sources.github.pulls import read_pulls

    numbers = dict.fromkeys(number for commit in facts.range_.commits for number in commit.numbers)
    refs = [PullRequestRef(repository=facts.consumer, number=number) for number in numbers]
    read = read_pulls(open_github(project.forge), refs)
    texts = [
        PullText(number=p.number, title=p.title, body=p.body, labels=p.labels or (), author=p.author)
        for p in read.found.values()
    ]
    gaps = (f"{name}: {why}" for name, why in read.gaps.items())
    # A file wins over the forge: a person wrote it for these notes.
    known = {text.number: text for text in (*texts, *(facts.pulls or ()))}
    return facts.model_copy(update={"pulls": tuple(known.values()), "gaps": (*facts.gaps, *gaps)})


def notes_of(project: Project, pin: PinConfig, facts: NotesFacts) -> Notes:
    """Judge the facts as an audit does, and make the notes."""
    found = audit(audit_facts_of(facts, project, pin))
    contract = project.contract(pin)
    judged = facts.model_copy(update={"findings": found.findings})
    return make_notes(judged, project.notes, contract.macro if contract else None)


def range_ends(clone: Clone, project: Project, pin: PinConfig, text: str) -> tuple[str, str]:
    """Return the two refs that a range's text means."""
    consumer = project.repositories[pin.consumer]
    old, dots, new = text.partition("..")
    if dots and old and new and not new.startswith("."):
        return old, new
    if dots or not text.strip() or text.startswith("-"):
        raise UserError(f"{text!r} is not FROM..TO", next_step="write two refs: rocm-5.3.0..rocm-5.4.0")
    if text in clone.tags:
        return previous_release(clone, consumer, text), text
    ends = train_ends(clone, consumer, text)
    if ends is None:
        raise UserError(f"{text!r} is no release tag and no train", next_step="write FROM..TO")
    return ends


def _scans(project: Project, pin: PinConfig, databases: Sequence[str]) -> Sequence[ScannedFile]:
    if not databases:
        return ()
    from relmgr.sources.databases.files import find_databases
    from relmgr.sources.ticket_files import scan_databases
    from relmgr.workflows.kdb import Target, scan_rules

    # Each end has its own number: rows are counted by how they take arguments, and judged with the notes.
    counted = Target(None, "unknown", "the ends of the range")
    rules = scan_rules(project, pin, counted, fast=False, deep=False, jobs=1)
    return scan_databases(find_databases(databases, frozenset({"kdb"})), rules)


def notes_text(project: Project, notes: Notes, form: str) -> str:
    """Return the notes as JSON or in one of their forms."""
    if form == "json":
        # The same text as every other document's, but written by pydantic itself: notes can have 10,000 entries.
        return pydantic_core.to_json(notes, indent=2, by_alias=True).decode() + "\n"
    from relmgr.render.engine import words_of
    from relmgr.render.notes import render_notes

    return render_notes(notes, project.notes, cast("Form", form), forge=project.forge, words=words_of(project))
