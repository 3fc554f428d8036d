"""The project as the base branch has it: a pull request's own settings, policies and words are never applied to itself.

A workflow on `pull_request` or `merge_group` runs in a checkout that holds the change already.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from relmgr.errors import SourceError, UserError
from relmgr.model.project import Project
from relmgr.settings import MAX_CONFIG_BYTES, find_project_file, parse_toml, read_project, shipped_projects, validate
from relmgr.sources.git.clone import Clone

# Files that settings may name in all: policies with their cases, templates, a calendar, ledgers.
MOST_FILES = 2000


@contextmanager
def project_on(project: Project, name_or_file: str | None, repository: str, base: str | None) -> Iterator[Project]:
    """Yield the project as it stands on the branch `base` of one of its repositories.

    Only a file in that repository's own clone is looked up there; any other is not the change's to make. Raises
    `UserError` when the branch has none, `SourceError` when the branch is not known.
    """
    top = project.repositories[repository].path
    file = find_project_file(name_or_file).resolve()
    if top is None or file in map(Path.resolve, shipped_projects().values()) or not file.is_relative_to(top.resolve()):
        yield project
        return
    clone, path = Clone.open(top), file.relative_to(top.resolve()).as_posix()
    commit = clone.resolve(base) if base else None
    if commit is None:
        raise SourceError(
            f"the branch {base or 'that it goes to'} could not be read", where=path, next_step="fetch the base branch"
        )
    with tempfile.TemporaryDirectory() as folder:
        _copy(clone, commit, path, Path(folder))
        yield _with_clones(read_project(Path(folder) / path), project)


def _copy(clone: Clone, commit: str, path: str, folder: Path) -> None:
    """Copy a project file of a commit, and what it names beside it, into a folder."""
    data = clone.read(commit, path, MAX_CONFIG_BYTES)
    if data is None:
        raise UserError(
            f"{commit[:12]} on the base branch has no such file",
            where=path,
            next_step="merge the settings first: a change is judged by those of its base branch",
        )
    _write(folder / path, data)
    text = data.decode("utf-8", errors="replace")
    named = validate(Project, *parse_toml(text, path), path)
    wanted = [named.trains, named.templates, *named.policies.folders, *(c.ledger for c in named.contracts.values())]
    inside = [found for one in wanted if one is not None and (found := _beside(path, one)) is not None]
    entries = [entry for one in inside for entry in clone.list_tree(commit, one) if entry.mode != "160000"]
    paths = list(dict.fromkeys([*inside, *(entry.path for entry in entries)]))
    if len(paths) > MOST_FILES:
        raise UserError(f"names more than {MOST_FILES} files", where=path, next_step="name smaller folders")
    for blob, name in zip(clone.read_many([(commit, one) for one in paths], MAX_CONFIG_BYTES), paths, strict=True):
        if blob.data is not None and ".." not in PurePosixPath(name).parts:
            _write(folder / name, blob.data)


def _beside(path: str, named: Path) -> str | None:
    """Return a path that a project file names, from the repository's top; None for one outside of it."""
    parts: list[str] = []
    for part in (PurePosixPath(path).parent / named.as_posix()).parts:
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in (".", "/"):
            parts.append(part)
    return None if named.is_absolute() else "/".join(parts)


def _write(file: Path, data: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


def _with_clones(found: Project, here: Project) -> Project:
    """Return the project with the clones that are at hand: where they lie is this machine's to say."""
    repositories = {
        name: repository.model_copy(
            update={"path": here.repositories[name].path, "remote": here.repositories[name].remote}
            if name in here.repositories
            else {"path": None}
        )
        for name, repository in found.repositories.items()
    }
    return found.model_copy(update={"repositories": repositories})
