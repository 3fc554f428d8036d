"""Changelog fragments of a range: the layouts of towncrier and scriv, read from git.

The files are described in https://towncrier.readthedocs.io/en/stable/configuration.html and
https://scriv.readthedocs.io/en/latest/configuration.html. A fragment counts when a commit of the range brought it in,
also when a release has collected it since.
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Any

from relmgr.errors import UserError
from relmgr.model.notes import Fragment, RangeFacts
from relmgr.settings import MAX_CONFIG_BYTES, parse_toml
from relmgr.sources.git.clone import Clone
from relmgr.sources.git.raw_log import walk

MAX_FRAGMENT = 65_536
MAX_FRAGMENTS = 10_000
MAX_ENTRY = 2_000
_TOWNCRIER_TYPES = {
    "feature": "Features",
    "bugfix": "Bugfixes",
    "doc": "Improved Documentation",
    "removal": "Deprecations and Removals",
    "misc": "Misc",
}
_ENDINGS = {"md", "rst", "txt"}
_ITEM = re.compile(r"^\s{0,3}[-*+]\s+")


@dataclass(frozen=True)
class Layout:
    """Where a project keeps fragments. `types` maps a towncrier type to its title; scriv names categories inside."""

    tool: str
    folder: str
    types: dict[str, str] = field(default_factory=dict)
    skip: tuple[str, ...] = ("README.*",)
    rst_mark: str = "-"


def read_fragments(clone: Clone, range_: RangeFacts, root: str, gaps: list[str]) -> tuple[Fragment, ...]:
    """Return the fragments that the range brought in, in its order; none where no tool is configured at its end."""
    layout = find_layout(clone, range_.to_commit, root, gaps)
    if layout is None:
        return ()
    starts = [range_.to_commit, f"^{range_.from_commit}"]
    last: dict[str, tuple[str, str]] = {}
    for step in walk(clone, starts, [layout.folder], first_parent=False):
        for path, old, new in step.touched:
            if not new.strip("0") or len(step.parents) > 1:
                continue
            # Newest first: the newest content stands, the oldest commit is the one that brought it in.
            blob, _ = last.get(path, (new, ""))
            last[path] = (blob, step.commit if not old.strip("0") else last.get(path, ("", ""))[1])
    added = {path: found for path, found in last.items() if found[1] and _is_fragment(path, layout)}
    if len(added) > MAX_FRAGMENTS:
        gaps.append(f"more than {MAX_FRAGMENTS} fragments: none was read")
        return ()
    return tuple(_read(clone, added, layout, gaps))


def find_layout(clone: Clone, commit: str, root: str, gaps: list[str]) -> Layout | None:
    """Return the fragment tool that is configured at `commit`, towncrier first; an unreadable setting is a gap."""
    for name in ("towncrier.toml", "pyproject.toml", "changelog.d/scriv.ini", "setup.cfg", "tox.ini"):
        data = clone.read(commit, f"{root}/{name}".lstrip("/"), MAX_CONFIG_BYTES)
        if data is None:
            continue
        try:
            layout = parse_layout(name, data.decode("utf-8", "replace"))
        except (UserError, configparser.Error) as error:
            gaps.append(f"{name}: {str(error).splitlines()[0]}")
            continue
        if layout is not None:
            folder = f"{root}/{layout.folder}".strip("/")
            return Layout(layout.tool, folder, layout.types, layout.skip, layout.rst_mark)
    return None


def parse_layout(name: str, text: str) -> Layout | None:
    """Return the layout that a configuration file sets, None when it sets none."""
    if name.endswith(".toml"):
        data, _ = parse_toml(text, name)
        tool: Any = data.get("tool", {})
        found = tool.get("towncrier") if isinstance(tool, dict) else None
        if isinstance(found, dict):
            return _towncrier(found)
        scriv = tool.get("scriv") if isinstance(tool, dict) else None
        return _scriv(scriv) if isinstance(scriv, dict) else None
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    for section in ("scriv", "tool:scriv", "tool.scriv"):
        if parser.has_section(section):
            return _scriv(dict(parser.items(section)))
    return None


def _towncrier(found: dict[str, Any]) -> Layout:
    types: dict[str, str] = {}
    given = found.get("type", [])
    for one in given if isinstance(given, list) else []:
        if isinstance(one, dict) and isinstance(one.get("name"), str):
            types[str(one.get("directory", one["name"])).lower()] = one["name"]
    fragment = found.get("fragment", {})
    for key, one in fragment.items() if isinstance(fragment, dict) else ():
        types[str(key).lower()] = str(one.get("name", key)) if isinstance(one, dict) else str(key)
    package = found.get("package")
    folder = found.get("directory") or (f"{package}/newsfragments" if package else "newsfragments")
    return Layout("towncrier", _inside(str(folder)), types or _TOWNCRIER_TYPES)


def _scriv(found: dict[str, Any]) -> Layout:
    skip = tuple(str(found.get("skip_fragments", "README.*")).split(",")) or ("README.*",)
    marks = str(found.get("rst_header_chars", "=-"))
    folder = _inside(str(found.get("fragment_directory", "changelog.d")))
    return Layout("scriv", folder, skip=tuple(part.strip() for part in skip), rst_mark=marks[-1:] or "-")


def _inside(folder: str) -> str:
    parts = [part for part in folder.split("/") if part not in ("", ".")]
    if ".." in parts or not parts:
        raise UserError("the fragments' folder lies outside the project", where=folder)
    return "/".join(parts)


def _is_fragment(path: str, layout: Layout) -> bool:
    name = path.rpartition("/")[2]
    if name.startswith(".") or any(fnmatch(name, pattern) for pattern in layout.skip) or name == "scriv.ini":
        return False
    return layout.tool == "towncrier" or name.rpartition(".")[2] in _ENDINGS - {"txt"}


def _read(clone: Clone, added: dict[str, tuple[str, str]], layout: Layout, gaps: list[str]) -> Iterator[Fragment]:
    with clone.objects(MAX_FRAGMENT) as reader:
        for path, (blob, commit) in sorted(added.items()):
            found = reader.blob(blob)
            if found.data is None:
                gaps.append(f"{path}: {'not in this clone' if found.state == 'missing' else 'too large'}")
                continue
            text = found.data.decode("utf-8", "replace")
            parse = parse_towncrier if layout.tool == "towncrier" else parse_scriv
            yield from parse(path, text, commit, layout)


def parse_towncrier(path: str, text: str, commit: str, layout: Layout) -> Iterator[Fragment]:
    """Yield the fragment in `ISSUE.TYPE[.COUNTER][.ENDING]` (or `+ORPHAN.TYPE...`); other names are no fragments."""
    parts = path.removeprefix(f"{layout.folder}/").rpartition("/")[2].split(".")
    place = next((i for i in range(len(parts) - 1, 0, -1) if parts[i].lower() in layout.types), None)
    body = _one_line(text.splitlines())
    if place is None or not body:
        return
    issue = ".".join(parts[:place]).strip()
    numbers = (int(issue),) if re.fullmatch(r"\d{1,9}", issue) else ()
    category = layout.types[parts[place].lower()]
    yield Fragment(path=path, category=category, text=body, commit=commit, numbers=numbers)


def parse_scriv(path: str, text: str, commit: str, layout: Layout) -> Iterator[Fragment]:
    """Yield one fragment for each item below a category's heading; HTML and rst comments are no text."""
    text = re.sub(r"<!--.*?(?:-->|\Z)", "", text, flags=re.DOTALL)
    lines = text.splitlines()
    category: str | None = None
    item: list[str] = []
    number = 0
    for heading, line in _headed(lines, path.endswith(".rst"), layout.rst_mark):
        starts = heading is not None or _ITEM.match(line) or not line.strip()
        if starts and category and (body := _one_line(item)):
            number += 1
            yield Fragment(path=f"{path}#{number}", category=category, text=body, commit=commit)
        if starts:
            item = []
        if heading is not None:
            category = heading
        elif line.strip():
            item.append(line)
    if category and (body := _one_line(item)):
        yield Fragment(path=f"{path}#{number + 1}", category=category, text=body, commit=commit)


def _headed(lines: list[str], rst: bool, mark: str) -> Iterator[tuple[str | None, str]]:
    """Yield (heading, '') for each heading and (None, line) for every other line."""
    index = 0
    while index < len(lines):
        line = lines[index]
        below = lines[index + 1].rstrip() if index + 1 < len(lines) else ""
        if rst and line.strip() and len(below) >= 3 and set(below) == {mark}:
            yield line.strip(), ""
            index += 2
            continue
        if rst and line.startswith(".. ") and "::" not in line:
            index += 1
            while index < len(lines) and (lines[index].startswith(" ") or not lines[index].strip()):
                index += 1
            continue
        found = None if rst else re.match(r"^#{1,6}\s+(.*?)\s*#*$", line)
        yield (found[1], "") if found else (None, line)
        index += 1


def _one_line(lines: Iterable[str]) -> str:
    """Return an entry's text as one line, without its list mark."""
    text = [line.strip() for line in lines if line.strip()]
    joined = " ".join([_ITEM.sub("", text[0]), *text[1:]]) if text else ""
    return joined if len(joined) <= MAX_ENTRY else f"{joined[:MAX_ENTRY]} ..."
