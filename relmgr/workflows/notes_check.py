"""`relmgr notes check`: what a range changed and the change log does not tell."""

from __future__ import annotations

from pathlib import Path

from relmgr.gate.notes import fold_into_pull_request, merged_by
from relmgr.gate.notes_check import check_pull_request, find_missing
from relmgr.model.notes import MissingNote, Notes, NotesCheck
from relmgr.model.project import PinConfig, Project
from relmgr.render.changelog import section_text
from relmgr.render.engine import words_of
from relmgr.render.notes import render_notes
from relmgr.sources.notes.facts import changelog_path, read_changelog_at
from relmgr.workflows.locate import consumer_clone
from relmgr.workflows.notes import Asked, notes_of, read_facts
from relmgr.workflows.notes_write import read_changelog


def check_notes(
    project: Project,
    pin: PinConfig,
    text: str,
    asked: Asked,
    *,
    pull_request: int | None = None,
    changelog: Path | str | None = None,
) -> NotesCheck:
    """Return what is missing in the change log at the range's end, or for one pull request.

    The range is that pull request's, or has the commit that merged it. `changelog` names another change log: a file, or
    (as text) a ref of the consumer's clone.
    """
    facts = read_facts(project, pin, text, asked)
    if pull_request is not None:
        if merged := merged_by(facts.range_, pull_request):
            own = read_facts(project, pin, f"{merged}^..{merged}", asked)
            # Its lines will stand in the notes of the range that was asked for.
            ends = {"from_": facts.range_.from_, "to": facts.range_.to}
            facts = own.model_copy(update={"range_": own.range_.model_copy(update=ends)})
        facts = facts.model_copy(update={"range_": fold_into_pull_request(facts.range_, pull_request)})
    notes = notes_of(project, pin, facts)
    before, after = _changelogs(project, pin, notes, changelog)
    title = notes.title or notes.to
    section = section_text(after, title) if after else None
    if pull_request is not None:
        there = set(before.splitlines())
        added = [line for line in after.splitlines() if line.strip() and line not in there]
        known = any(pull.number == pull_request for pull in facts.pulls or ())
        missing: list[MissingNote] = check_pull_request(notes, project.notes, known, added)
        notes = _of_pull_request(notes)
    else:
        provider = project.repositories[pin.provider]
        names = (*provider.words, *(name.rpartition("/")[2] for name in provider.names()))
        missing = find_missing(notes, section, names, title)
    return NotesCheck(
        from_=notes.from_,
        to=notes.to,
        pull_request=pull_request,
        changelog=changelog_path(project.repositories[pin.consumer]),
        section=title if section is not None else None,
        missing=tuple(missing),
        preview=_preview(project, notes, title),
    )


def _changelogs(project: Project, pin: PinConfig, notes: Notes, given: Path | str | None) -> tuple[str, str]:
    """Return the change log before and after the range, '' for none."""
    clone, repository = consumer_clone(project, pin), project.repositories[pin.consumer]
    if isinstance(given, Path):
        after = read_changelog(given)
    else:
        after = read_changelog_at(clone, repository, clone.require(given) if given else notes.to_commit)
    return read_changelog_at(clone, repository, notes.from_commit) or "", after or ""


def _of_pull_request(notes: Notes) -> Notes:
    """Return what one pull request brings: not what the databases and the findings are at its end anyway."""
    databases = notes.databases.model_copy(update={"files": notes.databases.changed()})
    return notes.model_copy(update={"databases": databases, "known_issues": ()})


def _preview(project: Project, notes: Notes, title: str) -> str:
    return render_notes(notes, project.notes, "rocm", forge=project.forge, title=title, words=words_of(project))
