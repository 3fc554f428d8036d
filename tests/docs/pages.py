"""A page of the documentation as what its reader does: commands with what they print, and files written on the way.

In a ```console block a line that starts with `$ ` is a command (`> ` continues it); the lines below it are what it
prints. `...` stands for any text in a line and, alone, for any lines, as in doctest. ` # exit N` ends a command that
ends with another exit code than 0. A block whose fence has a title (```toml title="relmgr.toml") is a file that the
reader writes. HTML comments, which no reader sees, say the rest:

    <!-- commands run in: NAME -->   the page's surroundings (`worlds.py`)
    <!-- not run: REASON -->         the next block is not run, and why
    <!-- real names -->              output names the commits of the real history, not of the rebuilt one
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path

_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,})(?P<info>[^`]*)$")
_COMMENT = re.compile(r"^\s*<!-- (?P<key>commands run in|not run|real names)(?:: (?P<value>.*))? -->\s*$")
_EXIT = re.compile(r"\s+# exit (\d+)$")
_TITLE = re.compile(r'title="([^"]+)"')


@dataclass(frozen=True)
class Command:
    """A command at `line` (from 1), the lines it prints, and the lines of the page, [first, end), that hold those."""

    line: int
    text: str
    exit_code: int
    output: tuple[str, ...]
    first: int
    end: int
    indent: str


@dataclass(frozen=True)
class File:
    """A file that the reader writes."""

    line: int
    name: str
    text: str


@dataclass(frozen=True)
class Skipped:
    """A block that is not run, and why."""

    line: int
    reason: str


@dataclass(frozen=True)
class Fence:
    """A fenced block: its language and title, its lines without indent, where the first of them stands (from 1)."""

    language: str
    title: str | None
    lines: tuple[str, ...]
    first: int
    indent: str
    not_run: str | None


@dataclass(frozen=True)
class Page:
    """What a reader of a page does, in order. `world` names the surroundings, "" where nothing is run."""

    path: Path
    world: str
    real_names: bool
    steps: tuple[Command | File | Skipped, ...]
    fences: tuple[Fence, ...]


def read_page(path: Path) -> Page:
    """Read a page; raises `ValueError` with the line for a fence or a comment that cannot be meant."""
    lines = path.read_text(encoding="utf-8").splitlines()
    said = {match["key"]: match["value"] for line in lines if (match := _COMMENT.match(line))}
    fences = tuple(_fences(path, lines))
    steps = tuple(step for fence in fences for step in _steps(path, fence))
    world = said.get("commands run in") or ""
    if not world and any(isinstance(step, Command) for step in steps):
        raise ValueError(f"{path}: commands, and no `<!-- commands run in: NAME -->`")
    return Page(path, world, "real names" in said, steps, fences)


def _fences(path: Path, lines: list[str]) -> Iterator[Fence]:
    not_run, number = None, 0
    while number < len(lines):
        line = lines[number]
        number += 1
        comment = _COMMENT.match(line)
        if comment and comment["key"] == "not run":
            not_run = comment["value"]
            continue
        opened = _FENCE.match(line)
        if not opened:
            if line.strip() and not_run:
                raise ValueError(f"{path}:{number}: `not run` stands before no block")
            continue
        first, indent = number + 1, opened["indent"]
        inside: list[str] = []
        while number < len(lines) and lines[number] != indent + opened["fence"]:
            inside.append(lines[number].removeprefix(indent))
            number += 1
        if number == len(lines):
            raise ValueError(f"{path}:{first - 1}: the block does not end")
        number += 1
        title = _TITLE.search(opened["info"])
        language = opened["info"].split()[0] if opened["info"].strip() else ""
        yield Fence(language, title[1] if title else None, tuple(inside), first, indent, not_run)
        not_run = None


def _steps(path: Path, fence: Fence) -> Iterator[Command | File | Skipped]:
    if fence.not_run is not None:
        yield Skipped(fence.first, fence.not_run)
    elif fence.language == "console":
        yield from _commands(path, fence)
    elif fence.title is not None:
        yield File(fence.first, fence.title, "\n".join(fence.lines) + "\n")


def _commands(path: Path, fence: Fence) -> Iterator[Command]:
    lines = [*fence.lines, "$ "]
    starts = [place for place, line in enumerate(lines) if line.startswith("$ ")]
    if starts[0] != 0:
        raise ValueError(f"{path}:{fence.first}: a console block starts with a command")
    for start, end in pairwise(starts):
        text, first = lines[start][2:], start + 1
        while first < end and (lines[first] == ">" or lines[first].startswith("> ")):
            text, first = f"{text}\n{lines[first][2:]}", first + 1
        code = _EXIT.search(text)
        command = _EXIT.sub("", text)
        output = tuple(lines[first:end])
        here = fence.first + start
        yield Command(
            here, command, int(code[1]) if code else 0, output, fence.first + first, fence.first + end, fence.indent
        )


def matches(expected: tuple[str, ...], printed: str) -> bool:
    """Tell whether `printed` is what a page shows; blanks at line ends and empty lines at the end do not count."""
    pattern = "".join(r"(?:[^\n]*\n)*?" if is_gap(line) else _pattern(line) + r"\n" for line in _trimmed(expected))
    lines = _trimmed(tuple(printed.splitlines()))
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines)) is not None


def is_gap(line: str) -> bool:
    """Tell whether a line of a page stands for any lines."""
    return line.strip() == "..."


def refreshed(expected: tuple[str, ...], printed: str) -> list[str]:
    """Return what a page should show instead of `expected`: the same extract of what is printed now.

    A page that shows all goes on to show all. Of an extract each line is replaced by the one that is most like it. A
    line that is shown in part stays as it is where it still fits.
    """
    lines = _trimmed(tuple(printed.splitlines()))
    shown = _trimmed(expected)
    elided = [line for line in shown if "..." in line and not is_gap(line)]
    as_shown = {line: next((old for old in elided if re.fullmatch(_pattern(old), line)), line) for line in lines}
    if not any(map(is_gap, shown)):
        return [as_shown[line] for line in lines]
    # The first line says what matters most: an extract that began with it goes on to do so.
    extract = [as_shown[line] for line in lines[:1] if not is_gap(shown[0])]
    place = len(extract)
    for line in shown[place:]:
        found = None if is_gap(line) else _place_of(line, lines, place)
        if found is None:
            continue
        extract += ["..."] * (found > place)
        extract.append(as_shown[lines[found]])
        place = found + 1
    return [*extract, *["..."] * (place < len(lines))]


def _place_of(line: str, lines: list[str], first: int) -> int | None:
    """Return which of `lines`, from `first` on, is what an extract's line stands for; None when none is like it."""
    rest = range(first, len(lines))
    if not line:
        return first if first < len(lines) and not lines[first] else None
    same = next((place for place in rest if re.fullmatch(_pattern(line), lines[place])), None)
    if same is not None:
        return same
    likeness = {place: SequenceMatcher(None, line, lines[place]).ratio() for place in rest}
    best = max(likeness, key=lambda place: likeness[place], default=None)
    return best if best is not None and likeness[best] > 0.6 else None


def _pattern(line: str) -> str:
    return r"[^\n]*".join(re.escape(part) for part in line.split("..."))


def _trimmed(lines: tuple[str, ...]) -> list[str]:
    return "\n".join(line.rstrip() for line in lines).rstrip("\n").split("\n") if any(lines) else []


def with_output(path: Path, printed: dict[Command, str]) -> str:
    """Return the page's text with the output of each given command renewed: for `--update-golden`."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for command in sorted(printed, key=lambda command: -command.line):
        shown = refreshed(command.output, printed[command])
        lines[command.first - 1 : command.end - 1] = [(command.indent + line).rstrip() for line in shown]
    return "\n".join(lines) + "\n"
