"""Load configuration: TOML and YAML files to validated nouns, with the line of every mistake."""

from __future__ import annotations

import difflib
import re
import sys
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from relmgr.errors import UserError, redact
from relmgr.model.project import Project
from relmgr.resources import shipped

if TYPE_CHECKING:
    import yaml

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T", bound=BaseModel)
Loc = tuple[str | int, ...]
Lines = dict[Loc, int]

DEFAULT_PROJECT = "miopen-rocmlir"
PROJECT_FILE = "relmgr.toml"
MAX_CONFIG_BYTES = 1_000_000
MAX_FLOW_DEPTH = 100


def load_project(name_or_file: str | None = None, paths: dict[str, str] | None = None) -> Project:
    """Return the project called `name_or_file` (shipped, or a TOML file), with `paths` laid over its repositories.

    Without a name, `relmgr.toml` in the working folder or the shipped default. `paths` maps a repository's name to a
    folder, or to a URL that can only be asked for its refs. Raises `UserError` for a missing or invalid file, for one
    that names what is not there, and for a path given to an unknown repository.
    """
    file = find_project_file(name_or_file)
    project = read_project(file)
    _require_named(project, file, paths or {})
    return with_paths(project, paths or {})


def with_paths(project: Project, paths: Mapping[str, str]) -> Project:
    """Return the project with `paths` laid over its repositories; see `load_project`."""
    repositories = dict(project.repositories)
    for name, path in paths.items():
        if name not in project.repositories:
            known = ", ".join(project.repositories)
            raise UserError(f"--repo {name}=...: no repository of that name", next_step=f"use one of: {known}")
        if "://" in path:
            update: dict[str, object] = {"remote": path, "path": None}
        elif Path(path).is_dir():
            update = {"path": Path(path)}
        else:
            raise UserError(
                f"--repo {name}={redact(path)}: no such folder", next_step="give a clone, mirror, work tree or URL"
            )
        repositories[name] = repositories[name].model_copy(update=update)
    return project.model_copy(update={"repositories": repositories})


def find_project_file(name_or_file: str | None) -> Path:
    """Return the file of a project given by name, by path, or not at all."""
    if name_or_file is None:
        return Path(PROJECT_FILE) if Path(PROJECT_FILE).is_file() else shipped_projects()[DEFAULT_PROJECT]
    if name_or_file in shipped_projects():
        return shipped_projects()[name_or_file]
    if Path(name_or_file).is_file():
        return Path(name_or_file)
    raise UserError(
        f"no project {name_or_file!r}: neither a shipped name nor a file",
        next_step=f"use one of {', '.join(sorted(shipped_projects()))}, or the path of a TOML file",
    )


def shipped_projects() -> dict[str, Path]:
    """Return the shipped projects, name to file."""
    return {path.stem: path for path in sorted((shipped("policies") / "projects").glob("*.toml"))}


def read_project(file: Path) -> Project:
    """Read and validate one project file; relative paths in it are taken from the file's folder."""
    data, lines = read_toml(file)
    project = validate(Project, data, lines, file)
    contracts = {
        name: contract.model_copy(
            update={"ledger": (file.parent / contract.ledger).resolve() if contract.ledger else None}
        )
        for name, contract in project.contracts.items()
    }
    repositories = {
        name: repository.model_copy(
            update={"path": (file.parent / repository.path).resolve() if repository.path else None}
        )
        for name, repository in project.repositories.items()
    }
    folders = tuple((file.parent / folder).resolve() for folder in project.policies.folders)
    policies = project.policies.model_copy(update={"folders": folders})
    trains, templates = (
        (file.parent / path).resolve() if path else None for path in (project.trains, project.templates)
    )
    update = {"contracts": contracts, "repositories": repositories, "policies": policies}
    return project.model_copy(update={**update, "trains": trains, "templates": templates})


def _require_named(project: Project, file: Path, given: Mapping[str, str]) -> None:
    """Raise `UserError` with the line of every file or folder that a project names and that is not there.

    The clone of a repository in `given` is another one.
    """
    folders: dict[Loc, Path | None] = {("templates",): project.templates}
    folders |= {("policies", "folders", number): path for number, path in enumerate(project.policies.folders)}
    clones = {name: one.path for name, one in project.repositories.items() if name not in given}
    folders |= {("repositories", name, "path"): path for name, path in clones.items()}
    files: dict[Loc, Path | None] = {("trains",): project.trains}
    files |= {("contracts", name, "ledger"): one.ledger for name, one in project.contracts.items()}
    wrong = [(loc, f"no such folder: {path}") for loc, path in folders.items() if path and not path.is_dir()]
    wrong += [(loc, f"no such file: {path}") for loc, path in files.items() if path and not path.is_file()]
    if not wrong:
        return
    lines = read_toml(file)[1]
    told = [f"{_spot(loc, lines, file)}: {_dotted(loc)}: {why}" for loc, why in wrong]
    raise UserError(
        "\n  ".join(["names what is not there:", *told]),
        where=str(file),
        next_step="correct these paths (they start at the folder of the project file), or take the lines out",
    )


def read_toml(file: Path) -> tuple[dict[str, Any], Lines]:
    """Read a TOML file; return its data and the line of each key (`UserError` when it does not parse)."""
    return parse_toml(_read_text(file), str(file))


def parse_toml(text: str, where: str) -> tuple[dict[str, Any], Lines]:
    """Parse TOML text from `where`; return its data and the line of each key."""
    try:
        return tomllib.loads(text), _toml_lines(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"not valid TOML: {error}", where=where, next_step="correct that line") from None


def read_yaml(file: Path) -> tuple[Any, Lines]:
    """Read a YAML file (safe subset, no aliases); return its data and the line of each key."""
    return parse_yaml(_read_text(file), str(file))


def parse_yaml(text: str, where: str) -> tuple[Any, Lines]:
    """Parse YAML text from `where`; return its data and the line of each key."""
    # Here, because a project alone is TOML.
    import yaml

    if _flow_depth(text) > MAX_FLOW_DEPTH:
        raise UserError("nested too deeply", where=where, next_step="write it flatter")
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
            raise UserError("YAML aliases are not accepted", where=where, next_step="write the value out")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        spot = f"{where}:{mark.line + 1}" if mark else where
        problem = getattr(error, "problem", None) or str(error) or "nested too deeply"
        raise UserError(f"not valid YAML: {problem}", where=spot, next_step="correct it") from None
    lines: Lines = {}
    if node is not None:
        _yaml_lines(node, (), lines)
    return data, lines


def _flow_depth(text: str) -> int:
    """Return how deep brackets nest, quotes not looked at: PyYAML takes quadratic time over deep ones."""
    depth = deepest = 0
    for character in text:
        if character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth = max(depth - 1, 0)
    return deepest


def validate(model: type[T], data: Any, lines: Lines, file: Path | str) -> T:
    """Return `data` as `model`; every mistake is named with file, line and, for unknown keys, the allowed names."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        mistakes = error.errors()
        # A list whose only entry was refused is also reported as empty: that echo says nothing new.
        echoes = [
            m for m in mistakes if m["type"] == "too_short" and any(_is_inside(n["loc"], m["loc"]) for n in mistakes)
        ]
        told = [_explain(model, mistake, lines, file) for mistake in mistakes if mistake not in echoes]
        raise UserError(
            "\n  ".join(["not accepted:", *told]),
            where=str(file),
            next_step="correct these lines; `relmgr schema` prints what is allowed",
        ) from None


def _is_inside(loc: Loc, outer: Loc) -> bool:
    return len(loc) > len(outer) and loc[: len(outer)] == outer


def _explain(model: type[BaseModel], error: Any, lines: Lines, file: Path | str) -> str:
    loc: Loc = tuple(error["loc"])
    spot, name = _spot(loc, lines, file), _dotted(loc) or "the document"
    if error["type"] == "model_type":
        return f"{spot}: {name}: must be a table of keys"
    if error["type"] != "extra_forbidden":
        return f"{spot}: {name}: {error['msg']}"
    allowed = _allowed_names(model, loc[:-1])
    close = difflib.get_close_matches(str(loc[-1]), allowed, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return f"{spot}: unknown key {name!r}{hint}; allowed: {', '.join(allowed)}"


def _spot(loc: Loc, lines: Lines, file: Path | str) -> str:
    """Return the file with the line of the nearest key that has one: inside an inline table, the line that opens it."""
    line = next((lines[loc[:end]] for end in range(len(loc), -1, -1) if loc[:end] in lines), None)
    return f"{file}:{line}" if line else f"{file}"


def _dotted(loc: Loc) -> str:
    return ".".join(str(part) for part in loc)


def _allowed_names(model: Any, loc: Loc) -> list[str]:
    """Return the keys allowed at `loc` inside `model`, following fields, lists, mappings and unions."""
    if isinstance(model, type) and issubclass(model, BaseModel):
        if not loc:
            return [field.alias or name for name, field in model.model_fields.items()]
        field = model.model_fields.get(str(loc[0]))
        return _allowed_names(field.annotation, loc[1:]) if field else []
    origin, args = typing.get_origin(model), typing.get_args(model)
    if origin is typing.Annotated:
        return _allowed_names(args[0], loc)
    if origin in (typing.Union, types.UnionType):
        return [name for arg in args for name in _allowed_names(arg, loc)]
    if origin in (list, tuple) and loc:
        return _allowed_names(args[0], loc[1:])
    if origin is dict and loc:
        return _allowed_names(args[1], loc[1:])
    return []


def _read_text(file: Path) -> str:
    try:
        if file.stat().st_size > MAX_CONFIG_BYTES:
            raise UserError("too large for a configuration file", where=str(file), next_step="is it the right file?")
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(file), next_step="check the path") from None
    except UnicodeDecodeError as error:
        raise UserError(f"not UTF-8: {error.reason}", where=str(file), next_step="save it as UTF-8") from None


_TOML_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?")
_TOML_KEY = re.compile(
    r"""^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*="""
)


def _toml_lines(text: str) -> Lines:
    """Map key paths to line numbers by reading table headers and `key =` lines (tomllib keeps no positions)."""
    lines: Lines = {}
    counts: dict[Loc, int] = {}
    table: Loc = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _TOML_HEADER.match(line):
            table = ()
            parts = _toml_parts(header[2])
            for position, part in enumerate(parts):
                table += (part,)
                last = position == len(parts) - 1
                if header[1] == "[[" and last:
                    counts[table] = counts.get(table, -1) + 1
                if table in counts:
                    table += (counts[table],)
            lines.setdefault(table, number)
        elif key := _TOML_KEY.match(line):
            lines.setdefault(table + tuple(_toml_parts(key[1])), number)
    return lines


def _toml_parts(dotted: str) -> list[str]:
    return [part.strip().strip("\"'") for part in re.findall(r"\"[^\"]*\"|'[^']*'|[^.]+", dotted)]


def _yaml_lines(node: yaml.Node, loc: Loc, lines: Lines) -> None:
    lines.setdefault(loc, node.start_mark.line + 1)
    import yaml

    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*loc, str(key.value))
            lines[inner] = key.start_mark.line + 1
            _yaml_lines(value, inner, lines)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            _yaml_lines(value, (*loc, index), lines)
