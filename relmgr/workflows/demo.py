"""`relmgr demo`: rebuild two repositories from shipped tables, and tell their story with relmgr's own commands."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from relmgr.errors import UserError
from relmgr.model.base import Noun
from relmgr.render.engine import render
from relmgr.resources import shipped
from relmgr.settings import read_yaml, validate
from relmgr.sinks.rebuild import rebuild_repository
from relmgr.sinks.rebuild_databases import rebuild_databases

MARKER = ".relmgr-demo"
_TABLES = ("rocmlir_graph", "miopen_graph", "databases")


class Chapter(Noun):
    """One command of the story, and why one would run it."""

    title: str
    why: str
    command: str


class Story(Noun):
    """The chapters, in order."""

    chapters: tuple[Chapter, ...]


class ToldChapter(Noun):
    """A chapter with what its command printed and the exit code it ended with."""

    title: str
    why: str
    command: str
    exit_code: int
    text: str


def rebuild(out: Path, tables: Path | None = None) -> dict[str, Path]:
    """Rebuild provider, consumer and two databases below `out`; return the repositories' folders by name.

    `tables` is a folder with the recorded tables (default: the shipped ones). Commit ids cannot be kept, so the
    consumer's pins name the rebuilt provider's commits; its pointers name the two databases' contents.
    """
    tables = tables or shipped("policies") / "recorded"
    _make_room(out)
    repositories = {"rocmlir": out / "rocmlir.git", "miopen": out / "miopen.git"}
    read = {name: json.loads((tables / f"{name}.json").read_text()) for name in _TABLES}
    names = rebuild_repository(repositories["rocmlir"], read["rocmlir_graph"])
    names |= rebuild_databases(out / "databases", read["databases"], tables / "code_objects")
    rebuild_repository(repositories["miopen"], read["miopen_graph"], names)
    return repositories


def tell(
    out: Path, repositories: dict[str, Path], run: Callable[[list[str]], tuple[int, str]]
) -> Iterator[ToldChapter]:
    """Run each chapter's command through `run` (arguments to exit code and text) and yield what it said."""
    recorded = shipped("policies") / "recorded"
    data, lines = read_yaml(recorded / "story.yaml")
    story = validate(Story, data, lines, "story.yaml")
    repos = " ".join(shlex.quote(f"--repo={name}={path}") for name, path in repositories.items())
    folders = {"out": out, "recorded": recorded}
    for chapter in story.chapters:
        command = chapter.command.format(
            repos=repos, **{name: shlex.quote(str(path)) for name, path in folders.items()}
        )
        code, text = run(shlex.split(command))
        yield ToldChapter(title=chapter.title, why=chapter.why, command=command, exit_code=code, text=text)


def write_report(out: Path, chapters: list[ToldChapter]) -> Path:
    """Write the one HTML report of the demo and return its path."""
    report = out / "report.html"
    page = out / "audit.html"
    audit = page.read_text(encoding="utf-8") if page.is_file() else None
    report.write_text(render("page/demo.html.j2", chapters=chapters, audit=audit), encoding="utf-8")
    return report


def _make_room(out: Path) -> None:
    """Empty a folder that an earlier demo made; refuse to touch any other that is not empty."""
    if out.exists() and any(out.iterdir()) and not (out / MARKER).is_file():
        raise UserError("not empty, and not made by `relmgr demo`", where=str(out), next_step="give another --out")
    if out.exists():
        shutil.rmtree(out)
    out.mkdir(parents=True)
    (out / MARKER).write_text("made by `relmgr demo`; it may be deleted\n", encoding="utf-8")
