"""The project as the base branch has it: a pull request's own settings, policies and words are never applied to itself.

A workflow on `pull_request` or `merge_group` runs in a checkout that holds the change already.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from relmgr.errors import SourceError, UserError
from relmgr.model.project import Project
from relmgr.settings import (
    MAX_CONFIG_BYTES,
    find_project_file,
    parse_toml,
    read_project,
    shipped_projects,
    validate,
    with_paths,
)
from relmgr.sources.git.clone import Clone
from relmgr.workflows.locate import is_remote_of, with_clone_here

# Files that settings may name in all: policies with their cases, templates, a calendar, ledgers.
MOST_FILES = 2000


class Origin(NamedTuple):
    """How the project was named: its name or file, and the places of clones by repository; a person's words."""

    name: str | None
    paths: Mapping[str, str]


@contextmanager
def project_on(project: Project, origin: Origin, slug: str, base: str | None) -> Iterator[Project]:
    """Yield the project by which a pull request of `slug` to the branch `base` is judged.

    A file in that repository's own clone is read from `base`; any other is not the change's to make. What the file at
    hand says of names and places is not believed, because the change may have written it. Raises `UserError` when the
    branch has none, `SourceError` when the branch is not known.
    """
    found = _in_clone(project, origin, slug)
    if found is None:
        yield project
        return
    top, path = found
    clone = Clone.open(top)
    commit = clone.resolve(base) if base else None
    if commit is None:
        raise SourceError(
            f"the branch {base or 'that it goes to'} could not be read", where=path, next_step="fetch the base branch"
        )
    with tempfile.TemporaryDirectory() as folder:
        written = _copy(clone, commit, path, Path(folder))
        on_base = _at_home(read_project(Path(folder) / path), written, path, top)
        yield _with_clones(on_base, origin, slug, clone)


def _in_clone(project: Project, origin: Origin, slug: str) -> tuple[Path, str] | None:
    """Return the clone of `slug` that holds the project's file, and the file's path there; None where none does.

    By where the file is named, not by where a link leads: links are the change's to make too.
    """
    file = find_project_file(origin.name)
    if file in shipped_projects().values():
        return None
    for place in (file.absolute(), file.resolve()):
        for top in place.parents:
            if (top / ".git").exists() and _may_be(top, project, origin, slug):
                return top, place.relative_to(top).as_posix()
    return None


def _may_be(top: Path, project: Project, origin: Origin, slug: str) -> bool:
    """Tell whether a work tree may be the judged repository's: by its remotes, or by what the file in it claims."""
    if is_remote_of(Clone.open(top), slug):
        return True
    name = project.repository_named(slug)
    if name is None:
        return True
    claimed = project.repositories[name].path
    if claimed is None:
        return False
    where = claimed.resolve()
    return where == top.resolve() if name in origin.paths else where.is_relative_to(top.resolve())


def _copy(clone: Clone, commit: str, path: str, folder: Path) -> Project:
    """Copy a project file of a commit, and what it names beside it, into a folder; return what is written in it."""
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
    return named


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


def _at_home(found: Project, written: Project, path: str, top: Path) -> Project:
    """Return a project read from a copy of the file `path`, with what lies outside the repository where it is.

    `written` is what stands in the file. Beside the copy lies nothing, or what anybody on this machine put there.
    """
    home = (top / path).parent

    def placed(copied: Path | None, said: Path | None) -> Path | None:
        return copied if said is None or _beside(path, said) is not None else (home / said).resolve()

    repositories = {
        name: repository.model_copy(update={"path": said and (home / said).resolve()})
        for name, repository in found.repositories.items()
        for said in [written.repositories[name].path]
    }
    contracts = {
        name: contract.model_copy(update={"ledger": placed(contract.ledger, written.contracts[name].ledger)})
        for name, contract in found.contracts.items()
    }
    folders = tuple(map(placed, found.policies.folders, written.policies.folders))
    update = {
        "repositories": repositories,
        "contracts": contracts,
        "policies": found.policies.model_copy(update={"folders": folders}),
        "trains": placed(found.trains, written.trains),
        "templates": placed(found.templates, written.templates),
    }
    return found.model_copy(update=update)


def _with_clones(found: Project, origin: Origin, slug: str, clone: Clone) -> Project:
    """Return the project with the clones that are at hand: those named, the judged one, the consumer's here."""
    project = with_paths(found, {name: path for name, path in origin.paths.items() if name in found.repositories})
    name = project.repository_named(slug)
    if name is not None and name not in origin.paths:
        repository = project.repositories[name].model_copy(update={"path": clone.path})
        project = project.model_copy(update={"repositories": project.repositories | {name: repository}})
    return with_clone_here(project)
