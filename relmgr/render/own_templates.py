"""A project's own templates (issue comments, notes, every page): a folder laid over the shipped one.

A file there with a shipped template's name takes its place, for every command. It is foreign text: read once within
bounds, checked before anything is done, and rendered in a sandbox that calls nothing but what templates need.
"""

from __future__ import annotations

import difflib
import functools
import os
import types
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, FunctionLoader, PrefixLoader
from jinja2.sandbox import SandboxedEnvironment, modifies_known_mutable

from relmgr.errors import RelmgrError, UserError
from relmgr.render.bounds import TooLong, bounded
from relmgr.render.engine import OPTIONS, Words, shipped_loader, with_filters
from relmgr.render.template_check import SHIPPED_PREFIX, TemplateCheck
from relmgr.resources import shipped

MAX_TEMPLATE = 65_536
MAX_ENTRIES = 1_000
MAX_OUTPUT = 32 * 1024 * 1024
_PLAIN = (str, bytes, int, float, list, tuple, dict, set, frozenset, date, timedelta)
# Templates fill the lists and tables that they make; none takes anything out, least of all of what it is given.
_FILLS = {"append", "extend", "insert", "add", "update", "setdefault"}

_Texts = tuple[tuple[str, str], ...]


def own_words(folder: Path) -> OwnWords:
    """Return the shipped templates with those of a folder laid over them. Raises `UserError` for ones that will not do.

    The folder is read each time; the same texts are checked and compiled once.
    """
    return _checked_words(folder, read_own_templates(folder))


@lru_cache(maxsize=4)
def _checked_words(folder: Path, texts: _Texts) -> OwnWords:
    return OwnWords(folder, dict(texts))


# -- reading --------------------------------------------------------------------------------------------------------


def read_own_templates(folder: Path) -> _Texts:
    """Return (name, text) of each own template, by name. Refused: unknown names, links out of it, what is too large."""
    if not folder.is_dir():
        raise UserError("no such folder of templates", where=str(folder), next_step="correct `templates`")
    found: list[tuple[str, str]] = []
    for file in _files(folder):
        name = file.relative_to(folder).as_posix()
        _refuse_unknown(name, file)
        found.append((name, _read(file, folder)))
    return tuple(sorted(found))


def _refuse_unknown(name: str, file: Path) -> None:
    known = shipped_names()
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        step = "name it as the shipped template whose place it takes, or take it away"
        raise UserError(f"no shipped template is called {name!r}{hint}", where=str(file), next_step=step)


@lru_cache(maxsize=1)
def shipped_names() -> tuple[str, ...]:
    """Return the names of the shipped templates."""
    folder = shipped("templates")
    return tuple(sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*.j2")))


def _files(folder: Path) -> Iterator[Path]:
    """Yield every file below a folder; links to folders are not followed."""
    seen = 0
    for parent, folders, names in os.walk(folder):
        seen += len(folders) + len(names)
        if seen > MAX_ENTRIES:
            raise UserError(f"more than {MAX_ENTRIES} entries", where=str(folder), next_step="is it the right folder?")
        linked = next((name for name in folders if (Path(parent) / name).is_symlink()), None)
        if linked is not None:
            raise UserError("a link to a folder", where=str(Path(parent) / linked), next_step="put the files there")
        yield from (Path(parent) / name for name in sorted(names))


def _read(file: Path, folder: Path) -> str:
    try:
        if not file.resolve(strict=True).is_relative_to(folder.resolve()):
            raise UserError("a link out of the folder of templates", where=str(file), next_step="put the file there")
        if not file.is_file():
            raise UserError("not a plain file", where=str(file), next_step="take it away")
        with file.open("rb") as data:
            text = data.read(MAX_TEMPLATE + 1)
        if len(text) > MAX_TEMPLATE:
            raise UserError(f"more than {MAX_TEMPLATE} bytes", where=str(file), next_step="make it shorter")
        return text.decode("utf-8").replace("\r\n", "\n")
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(file), next_step="check the file") from None
    except UnicodeDecodeError as error:
        raise UserError(f"not UTF-8: {error.reason}", where=str(file), next_step="save it as UTF-8") from None


# -- rendering ------------------------------------------------------------------------------------------------------


class OwnWords(Words):
    """The shipped templates with a project's own laid over them; made only of those that are accepted."""

    def __init__(self, folder: Path, texts: dict[str, str]) -> None:
        self._folder, self._texts = folder, texts
        self._env = with_filters(_Sandbox(loader=self._loader(), **OPTIONS))
        self._env.globals.pop("lipsum")
        check_templates(folder, texts, self._env)

    @property
    def own(self) -> tuple[str, ...]:
        """The names of the templates that are the project's own."""
        return tuple(self._texts)

    def render(self, template: str, /, **view: Any) -> str:
        """Render as `Words` does, within bounds. Whatever goes wrong in an own template is configuration's mistake."""
        try:
            with bounded():
                return self._render(template, view)
        except RelmgrError:
            raise
        except Exception as error:
            spot = self._spot(error)
            if spot is None and not isinstance(error, (TooLong, MemoryError)):
                raise
            what = " ".join(str(error).split()) or type(error).__name__
            raise UserError(
                f"{template} cannot be written: {what}",
                where=spot or str(self._folder),
                next_step=f'correct that line; the shipped one is "{SHIPPED_PREFIX}{template}"',
            ) from None

    def _render(self, template: str, view: dict[str, Any]) -> str:
        pieces: list[str] = []
        size = 0
        for piece in self._env.get_template(template).generate(**view):
            size += len(piece)
            if size > MAX_OUTPUT:
                raise MemoryError(f"more than {MAX_OUTPUT} characters")
            pieces.append(piece)
        return "".join(pieces)

    def _loader(self) -> ChoiceLoader:
        own = FunctionLoader(self._source)
        return ChoiceLoader([own, PrefixLoader({SHIPPED_PREFIX.rstrip("/"): shipped_loader()}), shipped_loader()])

    def _source(self, name: str) -> tuple[str, str | None, Callable[[], bool] | None] | None:
        text = self._texts.get(name)
        return None if text is None else (text, str(self._folder / name), None)

    def _spot(self, error: BaseException) -> str | None:
        """Return file and line of the innermost own template that an error went through, None for none."""
        files = {str(self._folder / name) for name in self._texts}
        trace, spot = error.__traceback__, None
        while trace is not None:
            file = trace.tb_frame.f_code.co_filename
            spot = f"{file}:{trace.tb_lineno}" if file in files else spot
            trace = trace.tb_next
        return spot


def check_templates(folder: Path, texts: dict[str, str], env: SandboxedEnvironment | None = None) -> None:
    """Raise `UserError` for own templates (name to text) that would not do in place of the shipped ones."""
    base = shipped("templates")
    readers = {name: functools.partial((base / name).read_text, encoding="utf-8") for name in shipped_names()}
    sandbox = env or with_filters(_Sandbox(**OPTIONS))
    try:
        with bounded():
            TemplateCheck(sandbox, texts, readers, lambda name: str(folder / name)).check()
    except (TooLong, MemoryError) as error:
        step = "write out what it works out of constants"
        raise UserError(f"cannot be compiled: {error}", where=str(folder), next_step=step) from None


def check_changed_template(folder: Path, path: str, text: str) -> None:
    """Raise `UserError` for the text that a change gives to the file at `path`, beside the other templates in `folder`.

    Nothing of it is kept or used: a change is judged by the templates of its base branch.
    """
    parts = path.split("/")
    # The folder's place in the repository is not known here, its name is; the last one that fits holds the templates.
    start = len(parts) - 1 - parts[-2::-1].index(folder.name)
    name, shown = "/".join(parts[start:]), Path(*parts[:start])
    _refuse_unknown(name, Path(path))
    if len(text.encode()) > MAX_TEMPLATE:
        raise UserError(f"more than {MAX_TEMPLATE} bytes", where=path, next_step="make it shorter")
    check_templates(shown, {**dict(read_own_templates(folder)), name: text})


class _Sandbox(SandboxedEnvironment):
    """Calls only macros, what relmgr gives to templates, and methods of plain values that take nothing away."""

    intercepted_binops = frozenset({"**"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Refuse powers: the interpreter cannot be interrupted in one."""
        raise OverflowError("powers are not worked out in templates")

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Refuse what takes out of a value; callables are judged when they are called."""
        changes = attr not in _FILLS and modifies_known_mutable(obj, attr)
        return super().is_safe_attribute(obj, attr, value) and not changes

    def is_safe_callable(self, obj: Any) -> bool:
        """Accept what is known to be harmless, refuse the rest: a path in a noun can write files."""
        if not super().is_safe_callable(obj):
            return False
        if isinstance(obj, functools.partial):
            return self.is_safe_callable(obj.func)
        # A string's `format` comes wrapped by the sandbox itself.
        owner = getattr(getattr(obj, "__wrapped__", obj), "__self__", None)
        if owner is not None and not isinstance(owner, types.ModuleType):
            home = getattr(obj, "__module__", None) or ""
            return isinstance(owner, _PLAIN) or home.startswith(("relmgr.model.", "jinja2."))
        home = getattr(obj, "__module__", None) or type(obj).__module__
        return obj is dict or home.startswith(("relmgr.", "jinja2.")) or type(obj).__module__.startswith("jinja2.")
