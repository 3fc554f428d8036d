"""Rules that stand in a repository: waivers on the base branch, and whatever rules a change touches itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from relmgr.errors import RelmgrError, UserError
from relmgr.model.facts import PolicyEdit
from relmgr.model.project import Project
from relmgr.model.trains import Calendar
from relmgr.model.waiver import Waiver, WaiverFile
from relmgr.settings import MAX_CONFIG_BYTES, parse_toml, parse_yaml, validate
from relmgr.sources.changes.change import Change
from relmgr.sources.git.clone import Clone

# Returns why the text of a policy's or a template's file (its path second) would be refused, or None.
EditKind = Literal["policy", "template", "trains", "waivers", "project"]
PolicyReader = Callable[[str, str], str | None]


def read_waivers(clone: Clone, project: Project, base: str | None, change: Change) -> tuple[Waiver, ...]:
    """Return the waivers at `base` (a commit), and those that only the change itself brings, marked as such.

    Raises `UserError` for a file on the base branch that is not valid: an exception nobody can read is none.
    """
    path = project.policies.waivers
    standing = _waivers_at(clone, base, path) if base else ()
    try:
        own = _waivers_at(clone, change.head, path)
    except RelmgrError:
        own = ()
    # The change's own side may only add what the reader is shown; it takes nothing away either.
    new = tuple(waiver.model_copy(update={"source": "own-change"}) for waiver in own if waiver not in standing)
    return standing + new


def standing_waivers(clone: Clone, project: Project, commit: str) -> tuple[Waiver, ...]:
    """Return the waivers that stand at a commit of a branch; for what brings no change of its own."""
    return _waivers_at(clone, commit, project.policies.waivers)


def _waivers_at(clone: Clone, ref: str, path: str) -> tuple[Waiver, ...]:
    text = _text(clone, ref, path)
    return () if text is None else _parse_waivers(text, f"{ref[:12]}:{path}").waivers


def _parse_waivers(text: str, where: str) -> WaiverFile:
    data, lines = parse_yaml(text, where)
    file = validate(WaiverFile, data or {}, lines, where)
    if any(waiver.source != "base" for waiver in file.waivers):
        raise UserError("a waiver does not name its source", where=where, next_step="leave `source` out")
    return file


def read_policy_edits(
    clone: Clone, project: Project, change: Change, files: tuple[str, ...], read_policy: PolicyReader
) -> tuple[PolicyEdit, ...]:
    """Return every file of rules that the change touches, with why it would be refused. Nothing of it is applied."""
    return tuple(_edit(clone, change, path, kind, read_policy) for path in files if (kind := _kind(project, path)))


def _kind(project: Project, path: str) -> EditKind | None:
    name = path.rsplit("/", 1)[-1]
    if path == project.policies.waivers:
        return "waivers"
    if name == "trains.yaml":
        return "trains"
    if name == "relmgr.toml":
        return "project"
    if project.templates is not None and name.endswith(".j2") and project.templates.name in path.split("/")[:-1]:
        return "template"
    folders = {"rules", *(folder.name for folder in project.policies.folders)}
    return "policy" if name.endswith(".yaml") and path.split("/")[-2:-1] and path.split("/")[-2] in folders else None


def _edit(clone: Clone, change: Change, path: str, kind: EditKind, read_policy: PolicyReader) -> PolicyEdit:
    problem: str | None = None
    try:
        text = _text(clone, change.head, path)
        if text is not None and kind in ("policy", "template"):
            problem = read_policy(text, path)
        elif text is not None and kind == "waivers":
            _parse_waivers(text, path)
        elif text is not None and kind == "trains":
            data, lines = parse_yaml(text, path)
            validate(Calendar, data, lines, path)
        elif text is not None:
            data, lines = parse_toml(text, path)
            validate(Project, data, lines, path)
    except RelmgrError as error:
        problem = str(error)
    return PolicyEdit(path=path, kind=kind, problem=" ".join(problem.split()) if problem else None)


def _text(clone: Clone, ref: str, path: str) -> str | None:
    data = clone.read(ref, path, MAX_CONFIG_BYTES)
    if data is None:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"not UTF-8: {error.reason}", where=path, next_step="save it as UTF-8") from None
