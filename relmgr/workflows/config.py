"""`relmgr config`: everything that a project's settings name, and a project file to begin with."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from relmgr.errors import UserError
from relmgr.gate.policies import load_rules
from relmgr.model.project import NewProject, Project
from relmgr.render.engine import render
from relmgr.settings import load_project, read_toml, shipped_projects, validate
from relmgr.sinks.new_files import write_new
from relmgr.sources.provider.ledger import read_ledger
from relmgr.sources.trains import read_calendar


def check_project(project: Project) -> None:
    """Read whatever the settings name as the commands will read it: policies, calendar, ledgers."""
    load_rules(project)
    if project.trains is not None:
        read_calendar(project.trains)
    for contract in project.contracts.values():
        if contract.ledger is not None:
            read_ledger(contract.ledger)


def new_project(file: Path, shipped: str | None, *, apply: bool) -> NewProject:
    """Return the files of a new project and, with `apply`, write them; nothing that is there is written over.

    Without `shipped` the file is a pair to be filled in; else a shipped project, with what it names beside it.
    """
    texts = _copied(file, shipped) if shipped is not None else {file: _scaffold(file)}
    with tempfile.TemporaryDirectory() as folder:
        tried = {Path(folder) / path.relative_to(file.parent): text for path, text in texts.items()}
        write_new(tried)
        check_project(load_project(str(Path(folder) / file.name)))
    if apply:
        write_new(texts)
    return NewProject(file=str(file), shipped=shipped, files=tuple(map(str, texts)), written=apply)


def _scaffold(file: Path) -> str:
    return render("config/project.toml.j2", name=json.dumps(file.resolve().parent.name or "project"))


def _copied(file: Path, shipped: str) -> dict[Path, str]:
    """Return a shipped project's file with the files that it names, all in one folder and below."""
    known = shipped_projects()
    if shipped not in known:
        raise UserError(f"no shipped project {shipped!r}", next_step=f"use one of: {', '.join(sorted(known))}")
    source = known[shipped]
    text = source.read_text(encoding="utf-8")
    project = validate(Project, *read_toml(source), source)
    named = [project.trains, *(contract.ledger for contract in project.contracts.values())]
    texts: dict[Path, str] = {}
    for path in (one for one in named if one is not None):
        beside = Path(*(part for part in path.parts if part != ".."))
        text = text.replace(json.dumps(path.as_posix()), json.dumps(beside.as_posix()))
        texts[file.parent / beside] = (source.parent / path).read_text(encoding="utf-8")
    return {file: text, **texts}
