"""Find the clones that a command needs, and the project of the folder it runs in."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from relmgr.errors import SourceError, UserError
from relmgr.model.project import PinConfig, Project
from relmgr.settings import PROJECT_FILE, load_project, read_project, shipped_projects
from relmgr.sources.git.clone import Clone
from relmgr.sources.pins.history import pin_state

_SLUG_IN_URL = re.compile(r"[:/]([\w.-]+/[\w.-]+?)(?:\.git)?/?$")


def find_project(name_or_file: str | None, paths: dict[str, str]) -> Project:
    """Return the project to work on, with `paths` (repository name to folder or URL) laid over it.

    Without a name: `relmgr.toml` here, else the shipped project whose consumer the working folder is a clone of, and
    which knows all names of `paths`, else the default one. A clone that is found so serves as the consumer's, unless
    `paths` names another.
    """
    here = _clone_here()
    if name_or_file is None and here is not None and not Path(PROJECT_FILE).is_file():
        name_or_file = _project_of(here, paths)
    return with_clone_here(load_project(name_or_file, paths))


def with_clone_here(project: Project) -> Project:
    """Return the project with the clone of the working folder as the consumer's, where it is one and none is named."""
    here = _clone_here()
    consumer = project.pin().consumer
    if here is not None and project.repositories[consumer].path is None and _is_clone_of(here, project):
        repository = project.repositories[consumer].model_copy(update={"path": here.path})
        project = project.model_copy(update={"repositories": project.repositories | {consumer: repository}})
    return project


def consumer_clone(project: Project, pin: PinConfig) -> Clone:
    """Open the consumer's clone, or say how to give one."""
    repository = project.repositories[pin.consumer]
    if repository.path is None:
        raise no_clone(project, pin.consumer)
    return Clone.open(repository.path)


def no_clone(project: Project, name: str) -> UserError:
    """Return what to say where a clone of the repository configured as `name` is needed and none was given.

    In a clone of a repository that no shipped project knows, the project is what is missing, not a clone of another.
    """
    slug, here = project.repositories[name].slug, _clone_here()
    strange = _remotes(here) if here is not None else []
    known = [project, *(read_project(file) for file in shipped_projects().values())]
    repositories = [repository for one in known for repository in one.repositories.values()]
    if strange and not any(repository.is_named(remote) for repository in repositories for remote in strange):
        return UserError(
            f"this is a clone of {strange[0]}, and no shipped project has this remote; no clone of {slug} at hand",
            next_step="name a project with --project NAME|FILE; `relmgr config new` begins a file for your own; "
            f"or give --repo {name}=PATH for {project.name}",
        )
    return UserError(f"no clone of {slug} at hand", next_step=f"give one with --repo {name}=PATH, or run inside it")


def default_ref(clone: Clone, project: Project, pin: PinConfig) -> str:
    """Return the consumer's default branch, or HEAD where the clone does not have it."""
    branch = project.repositories[pin.consumer].default_branch
    return branch if branch in clone.branches else "HEAD"


def named_pin(project: Project, name: str | None) -> PinConfig:
    """Return the pin called `name` (default: the first), or raise `UserError` with the known names."""
    try:
        return project.pin(name)
    except KeyError:
        known = ", ".join(pin.name for pin in project.pins)
        raise UserError(f"no pin {name!r} in project {project.name}", next_step=f"use one of: {known}") from None


def _clone_here() -> Clone | None:
    try:
        return Clone.open(Path.cwd())
    except SourceError:
        return None


def _project_of(clone: Clone, named: Collection[str]) -> str | None:
    """Return the shipped project whose consumer `clone` is: by a remote's URL, else by a live pin at HEAD.

    It has every repository of `named`. Several that fit by their pins are told apart by where their contract's macro
    stands; else refused.
    """
    read = {name: read_project(file) for name, file in shipped_projects().items()}
    projects = {name: project for name, project in read.items() if set(named) <= set(project.repositories)}
    fitting = [name for name, project in projects.items() if _is_named(clone, project)]
    if not fitting:
        fitting = [name for name, project in projects.items() if _has_pin(clone, project)]
    if len(fitting) > 1:
        fitting = [name for name in fitting if _uses_contract(clone, projects[name])] or fitting
    if len(fitting) > 1:
        raise UserError(f"this clone fits {' and '.join(fitting)}", next_step="choose one with --project")
    return fitting[0] if fitting else None


def _is_clone_of(clone: Clone, project: Project) -> bool:
    return _is_named(clone, project) or _has_pin(clone, project)


def _is_named(clone: Clone, project: Project) -> bool:
    """Tell whether a remote of `clone` is the main consumer's repository."""
    return any(project.repositories[project.pin().consumer].is_named(slug) for slug in _remotes(clone))


def is_remote_of(clone: Clone, slug: str) -> bool:
    """Tell whether a remote of `clone` is the repository `slug`."""
    return slug.lower() in {one.lower() for one in _remotes(clone)}


def _remotes(clone: Clone) -> list[str]:
    urls = clone.run("config", "--get-regexp", r"^remote\..*\.url$", check=False).splitlines()
    return [match[1] for line in urls if (match := _SLUG_IN_URL.search(line.split(" ", 1)[-1]))]


def _has_pin(clone: Clone, project: Project) -> bool:
    """Tell whether the project's main pin is live at HEAD."""
    return clone.resolve("HEAD") is not None and pin_state(clone, project, project.pin(), "HEAD").pin is not None


def _uses_contract(clone: Clone, project: Project) -> bool:
    contract = project.contract(project.pin())
    if contract is None:
        return False
    macros = [f"-e{macro}" for macro in (contract.macro, *contract.former_macros)]
    return bool(clone.run("grep", "-l", "-F", *macros, "HEAD", check=False))
