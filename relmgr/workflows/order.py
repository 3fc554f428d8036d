"""`relmgr order`: what one body declares, and the merge order over recorded pull requests. Nothing is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from relmgr.errors import UserError
from relmgr.gate.depends_on import parse_declarations
from relmgr.gate.merge_order import plan_order
from relmgr.model.order import OrderDeclarations, OrderPlan
from relmgr.model.project import Project
from relmgr.model.pull_request import PullRequest, PullRequestRef
from relmgr.sources.json_files import read_json

MAX_SNAPSHOT_BYTES = 256 * 2**20
_NAME = re.compile(r"([A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+)#([1-9]\d{0,8})", re.ASCII)
_PULLS = TypeAdapter(tuple[PullRequest, ...])


def parse_body(project: Project, repository: str, number: int, body: str | None) -> OrderDeclarations:
    """Return what the body of one pull request declares; `repository` is `owner/name` or a configured name."""
    return parse_declarations(body, project, named(project, repository, number))


def plan_pulls(
    project: Project, pulls: Sequence[PullRequest], only: Iterable[str] = (), *, spoken: bool = False
) -> OrderPlan:
    """Return the merge order of the open ones of `pulls`; `only` are names `owner/repo#number`."""
    present = [p.model_copy(update={"repository": _slug(project, p.repository)}) for p in pulls]
    declared = {p.ref: parse_declarations(p.body, project, p.ref) for p in present if p.state == "open"}
    asked = [parse_name(project, name) for name in only]
    known = {(p.repository.lower(), p.number) for p in present}
    for ref in asked:
        if (ref.repository.lower(), ref.number) not in known:
            raise UserError(f"{ref} is not among the pull requests that were read", next_step="check its name")
    return plan_order(project, present, declared, only=asked, spoken=spoken)


def read_pulls(file: Path) -> tuple[PullRequest, ...]:
    """Return the pull requests of a recorded JSON file, under its key `pull_requests`."""
    data = read_json(file, MAX_SNAPSHOT_BYTES, "give a recorded JSON file")
    if not isinstance(data, dict) or "pull_requests" not in data:
        raise UserError("holds no `pull_requests`", where=str(file), next_step="give an object with that list")
    try:
        return _PULLS.validate_python(data["pull_requests"])
    except ValidationError as error:
        first = error.errors()[0]
        spot = ".".join(str(part) for part in ("pull_requests", *first["loc"]))
        raise UserError(f"{spot}: {first['msg']}", where=str(file), next_step="correct it") from None


def parse_name(project: Project, name: str) -> PullRequestRef:
    """Return the pull request called `owner/repo#number`."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise UserError(f"{name!r} is no pull request", next_step="write owner/repo#number")
    return named(project, match[1], int(match[2]))


def named(project: Project, repository: str, number: int) -> PullRequestRef:
    """Return a pull request under the present name of its repository."""
    slug = project.repositories[repository].slug if repository in project.repositories else repository
    try:
        return PullRequestRef(repository=_slug(project, slug), number=number)
    except ValidationError:
        raise UserError(
            f"{repository!r} #{number} is no pull request", next_step="write owner/name and a number from 1"
        ) from None


def _slug(project: Project, slug: str) -> str:
    name = project.repository_named(slug)
    return project.repositories[name].slug if name else slug
