"""`relmgr notes write`: the section of the change log, planned or applied."""

from __future__ import annotations

import difflib
from pathlib import Path

from relmgr.errors import UserError
from relmgr.model.notes import ChangelogPlan, Notes
from relmgr.model.project import PinConfig, Project
from relmgr.render.changelog import MAX_CHANGELOG, Merged, write_section
from relmgr.render.engine import words_of
from relmgr.render.notes import render_notes
from relmgr.sinks.changelog import write_changelog
from relmgr.sources.notes.facts import changelog_path


def plan_changelog(
    project: Project, pin: PinConfig, notes: Notes, file: Path | None, *, title: str | None, adopt: bool, apply: bool
) -> ChangelogPlan:
    """Return what becomes of the section in the change log, and, with `apply`, write it."""
    target = file or working_changelog(project, pin)
    chosen = title or notes.title
    if not chosen or "\n" in chosen:
        raise UserError("the section's title needs a version that was not found", next_step="give --title TITLE")
    old = read_changelog(target)
    fresh = render_notes(notes, project.notes, "rocm", forge=project.forge, title=chosen, words=words_of(project))
    merged = write_section(old or "", fresh, f"{notes.from_}..{notes.to}", adopt=adopt)
    writes = apply and merged.text != (old or "")
    if writes:
        write_changelog(target, merged.text, expected=old)
    return _plan(target, chosen, old or "", merged, writes)


def working_changelog(project: Project, pin: PinConfig) -> Path:
    """Return the change log in the consumer's work tree; a bare clone has none."""
    repository = project.repositories[pin.consumer]
    if repository.path is None or not (repository.path / ".git").exists():
        raise UserError("no work tree to write the change log into", next_step="give the file with --file")
    return repository.path / changelog_path(repository)


def read_changelog(file: Path) -> str | None:
    """Return a change log with its line ends as they are, None when there is no such file."""
    try:
        if not file.exists():
            return None
        if file.stat().st_size > MAX_CHANGELOG:
            raise UserError("too large for a change log", where=str(file))
        return file.read_bytes().decode("utf-8")
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(file)) from None
    except UnicodeDecodeError as error:
        raise UserError(f"not UTF-8: {error.reason}", where=str(file), next_step="save it as UTF-8") from None


def _plan(target: Path, title: str, old: str, merged: Merged, applied: bool) -> ChangelogPlan:
    # Only "\n" ends a line here: a text may hold other characters that Python takes for line ends.
    before, after = (text.replace("\r\n", "\n").split("\n") if text else [] for text in (old, merged.text))
    changes = list(difflib.unified_diff(before, after, target.name, target.name, lineterm="", n=2))
    body = changes[2:]
    return ChangelogPlan(
        path=str(target),
        title=title,
        action=merged.action,
        added=sum(line.startswith("+") for line in body),
        removed=sum(line.startswith("-") for line in body),
        diff="\n".join(changes),
        applied=applied,
    )
