"""Every consumer conditional on a contract's number, and when each branch of it is compiled.

`read_guard_sources` reads the files of one commit; all the rest is pure. Two assumptions stand behind the answers, both
as a build makes them: the contract's macro has its number from a file's first line on, and headers that are not among
the guard files neither define nor undefine a macro that the guards derive from it.
"""

from __future__ import annotations

import posixpath
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from relmgr.errors import SourceError
from relmgr.model.guards import Guard
from relmgr.sources.git.clone import Clone
from relmgr.sources.guards.conditionals import Branch, Chain, SourceTree, chains, parse_conditionals
from relmgr.sources.guards.expressions import UNDEFINED, Definition, OutOfFuel, State, tokens_of
from relmgr.sources.guards.flow import Flow, Outcome, Surroundings, include_guard

MAX_FILE = 2 * 1024 * 1024
MAX_TOTAL = 256 * 1024 * 1024
MAX_SECONDS = 120.0
_ROUNDS = 8

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"][^>\"\n]+[>\"])", re.MULTILINE)
# Files that may name a macro without being guard files: other sources, and what builds them.
_OTHER = re.compile(
    r"\.(?:c|cc|cpp|cxx|cu|hip|h|hh|hpp|hxx|inc|ipp|cl|in|cmake|mk|py|sh|ya?ml|toml)$"
    r"|(?:^|/)(?:CMakeLists\.txt|Makefile|Dockerfile[^/]*|Jenkinsfile[^/]*|meson\.build)$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class GuardSources:
    """Files of one commit as latin-1 text (one character a byte): `files` match the contract's globs, `others` may
    only mention a macro. `gaps` name the guard files that could not be read, and why."""

    files: Mapping[str, str]
    others: Mapping[str, str] = field(default_factory=dict)
    gaps: tuple[str, ...] = ()


def read_guard_sources(clone: Clone, commit: str, globs: Iterable[str], root: str = "") -> GuardSources:
    """Read the guard files of `commit`; `globs` (`**` crosses folders) are relative to the folder `root`."""
    prefix = f"{root.strip('/')}/" if root.strip("/") else ""
    patterns = [glob_pattern(prefix, glob) for glob in globs]
    chosen, other = [], []
    for entry in clone.list_tree(commit, root.strip("/")):
        if not entry.mode.startswith("100"):
            continue
        if any(pattern.match(entry.path) for pattern in patterns):
            chosen.append(entry.path)
        elif _OTHER.search(entry.path):
            other.append(entry.path)
    files, gaps = _texts(clone, commit, chosen)
    others, _ = _texts(clone, commit, other)
    return GuardSources(files, others, tuple(gaps))


def _texts(clone: Clone, commit: str, paths: list[str]) -> tuple[dict[str, str], list[str]]:
    texts: dict[str, str] = {}
    gaps: list[str] = []
    total = 0
    for path, blob in zip(paths, clone.read_many([(commit, path) for path in paths], MAX_FILE), strict=True):
        if blob.data is None:
            gaps.append(f"{path}: {'larger than 2 MiB' if blob.state == 'too-large' else 'not in this clone'}")
            continue
        total += len(blob.data)
        if total > MAX_TOTAL:
            raise SourceError(f"more than {MAX_TOTAL} bytes of sources", next_step="narrow the contract's guard_files")
        texts[path] = blob.data.decode("latin-1")
    return texts, gaps


def glob_pattern(prefix: str, glob: str) -> re.Pattern[str]:
    """Return the pattern of a glob: `**/` is any folders, `*` and `?` stay within one name."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", glob)
    special = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile(re.escape(prefix) + "".join(special.get(part, re.escape(part)) for part in parts) + r"\Z")


class GuardAnalysis:
    """The guards on `macro` in `sources`, and what each branch does at any number.

    `former` are earlier names of the macro: conditions on them are guards whose value is unknown. `absent` is the
    number that stands for a header without the macro.
    """

    def __init__(
        self, sources: GuardSources, macro: str, former: Iterable[str] = (), absent: int | None = None
    ) -> None:
        self.sources, self.macro, self.former, self.absent = sources, macro, tuple(former), absent
        self.gaps: dict[str, str] = {}
        self._deadline = time.monotonic() + MAX_SECONDS
        self._trees: dict[str, SourceTree] = {}
        self._flows: dict[tuple[str, int | None], tuple[Flow, ...]] = {}
        self._free: dict[str, Flow] = {}
        self._assumed: dict[str, frozenset[str]] = {}
        self._derive()

    # -- which files matter -----------------------------------------------------------------------------------------

    def _derive(self) -> None:
        """Find the files that mention the macro or a macro derived from it in a header, until there are no more."""
        self.names = frozenset((self.macro, *self.former))
        for _ in range(_ROUNDS):
            mention = _words(self.names)
            self.roots = sorted(path for path, text in self.sources.files.items() if mention.search(text))
            self._carriers = self._reaching(self.roots)
            for path in self._carriers:
                if path not in self._trees:
                    self._trees[path] = parse_conditionals(self.sources.files[path])
            self._free = {}
            for path in self.roots:
                self._follow_freely(path)
            found = {
                name
                for path, flow in self._free.items()
                if path in self._included
                for name, known in flow.ends.items()
                if known.tracked
            }
            if found <= self.names:
                return
            self.names |= found
        raise SourceError(f"macros derive from {self.macro} through more than {_ROUNDS} headers")

    def _follow_freely(self, path: str) -> None:
        """Follow a file with the number unknown: that finds its guards and its derived macros."""
        self._check_time()
        states: dict[str, State] = dict.fromkeys((self.macro, *self.former))
        before = Surroundings(states, self.include_guards, self.names - states.keys())
        try:
            self._free[path] = Flow(self._trees, self.resolve, before).follow(path)
        except OutOfFuel as error:
            self.gaps[path] = str(error)

    @property
    def include_guards(self) -> frozenset[str]:
        """The macros that keep headers from being read twice: undefined before a file's first line."""
        return frozenset(filter(None, map(include_guard, self._trees.values()))) - self.names

    @cached_property
    def _includes(self) -> dict[str, frozenset[str]]:
        return {
            path: frozenset(
                target for argument in _INCLUDE.findall(text) if (target := self.resolve(path, argument)) is not None
            )
            for path, text in self.sources.files.items()
        }

    @cached_property
    def _included(self) -> frozenset[str]:
        return frozenset(target for targets in self._includes.values() for target in targets)

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self.sources.files:
            found.setdefault(posixpath.basename(path), []).append(path)
        return found

    def resolve(self, includer: str, argument: str) -> str | None:
        """Return the guard file that `#include argument` names: beside the includer, else the one whose path ends so;
        None when there is none, or more than one."""
        name = argument.strip()[1:-1]
        if not name or argument.strip()[0] not in '<"':
            return None
        if argument.strip()[0] == '"':
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(includer), name))
            if beside in self.sources.files:
                return beside
        same = self._by_name.get(posixpath.basename(name), [])
        fitting = [path for path in same if path == name or path.endswith(f"/{name}")]
        return fitting[0] if len(fitting) == 1 else None

    def _reaching(self, paths: Iterable[str]) -> set[str]:
        """Return `paths` and every file that includes one of them, however far."""
        includers: dict[str, list[str]] = {}
        for path, targets in self._includes.items():
            for target in targets:
                includers.setdefault(target, []).append(path)
        reached, todo = set(paths), list(paths)
        while todo:
            for path in includers.get(todo.pop(), []):
                if path not in reached:
                    reached.add(path)
                    todo.append(path)
        return reached

    # -- one file at one number -------------------------------------------------------------------------------------

    def tree(self, path: str) -> SourceTree:
        """Return the tree of one of `roots`."""
        return self._trees[path]

    def outcomes(self, path: str, number: int | None) -> Mapping[int, Outcome]:
        """Return what each branch of `path` does at `number` (None: unknown), by the line of its directive.

        Raises `OutOfFuel` for a file past its bounds.
        """
        first, *rest = (flow.outcomes for flow in self.flows(path, number))
        return {line: _agreed([outcome, *(other[line] for other in rest)]) for line, outcome in first.items()}

    def flows(self, path: str, number: int | None) -> tuple[Flow, ...]:
        """Return the passes over `path` at `number`: one for each state in which the macro may then be."""
        if (path, number) not in self._flows:
            self._check_time()
            undefined = self.include_guards | self.assumed_undefined(path)
            passes = []
            for state in self.states(number):
                tracked: dict[str, State] = {**dict.fromkeys(self.former), self.macro: state}
                before = Surroundings(tracked, undefined, self.names - tracked.keys() - undefined)
                passes.append(Flow(self._trees, self.resolve, before).follow(path))
            self._flows[path, number] = tuple(passes)
        return self._flows[path, number]

    def states(self, number: int | None) -> tuple[State, ...]:
        """Return the states of the macro at `number`: the number that a header without the macro has stands for both,
        defined so and undefined."""
        if number is None:
            return (None,)
        defined = Definition(tuple(tokens_of(str(number))))
        return (defined, UNDEFINED) if number == self.absent else (defined,)

    def guard_macros(self, path: str) -> Mapping[int, str]:
        """Return the lines of `path` that open a branch of a guard, with the macro each depends on."""
        flow = self._free.get(path)
        return {line: o.macro for line, o in flow.outcomes.items() if o.macro is not None} if flow else {}

    def derived(self, path: str) -> frozenset[str]:
        """Return the macros that `path`, with the headers it includes, derives from the contract's."""
        flow = self._free.get(path)
        tracked = {name for name, known in flow.ends.items() if known.tracked} if flow else set()
        return frozenset(tracked) - {self.macro, *self.former}

    def assumed_undefined(self, path: str) -> frozenset[str]:
        """Return the derived macros that have no definition before `path`: all their `#define`s are in it or in the
        headers it includes, and nothing else in the repository mentions them (a build file may pass one)."""
        if path not in self._assumed:
            self._assumed[path] = frozenset(filter(lambda name: self._starts_undefined(path, name), self.derived(path)))
        return self._assumed[path]

    def _starts_undefined(self, path: str, name: str) -> bool:
        defines = re.compile(rf"#[ \t]*define[ \t]+{re.escape(name)}\b")
        sites = {file for file in self.mentioning(name) if defines.search(self.sources.files[file])}
        return bool(sites) and sites <= self._free[path].files and not self.mentioned_elsewhere(name)

    def mentioning(self, name: str) -> list[str]:
        """Return the guard files in which the word `name` stands."""
        word = _words((name,))
        return [path for path, text in self.sources.files.items() if name in text and word.search(text)]

    def mentioned_elsewhere(self, name: str) -> bool:
        """Tell whether a file that is no guard file names `name`, perhaps as `-DNAME`."""
        word = re.compile(rf"(?:\b|[-/]D){re.escape(name)}\b")
        return any(name in text and word.search(text) is not None for text in self.sources.others.values())

    def _check_time(self) -> None:
        if time.monotonic() > self._deadline:
            raise SourceError(f"the guards took longer than {MAX_SECONDS:.0f} s", next_step="narrow guard_files")


def find_guards(analysis: GuardAnalysis, number: int | None, numbers: Mapping[str, int | None]) -> tuple[Guard, ...]:
    """Return every guard branch, by file and line.

    `number` is the pinned one, `numbers` that of each release; a release whose number is unknown kills nothing.
    """
    guards: list[Guard] = []
    for path in analysis.roots:
        try:
            guards.extend(_guards_of(analysis, path, number, numbers))
        except OutOfFuel as error:
            analysis.gaps[path] = str(error)
        for fault in analysis.tree(path).faults[:1] if analysis.guard_macros(path) else ():
            analysis.gaps.setdefault(path, fault)
    return tuple(guards)


def _guards_of(
    analysis: GuardAnalysis, path: str, number: int | None, numbers: Mapping[str, int | None]
) -> Iterable[Guard]:
    macros = analysis.guard_macros(path)
    if not macros:
        return
    for chain in sorted(chains(analysis.tree(path).items), key=lambda c: c.branches[0].directive.line):
        for position, branch in enumerate(chain.branches):
            line = branch.directive.line
            if line not in macros:
                continue
            yield Guard(
                file=path,
                line=line,
                end_line=branch.end_line,
                condition=condition_text(chain, position),
                macro=macros[line],
                live=analysis.outcomes(path, number)[line].taken,
                dead_for=tuple(
                    release
                    for release, at in numbers.items()
                    if at is not None and analysis.outcomes(path, at)[line].taken is False
                ),
            )


def _agreed(outcomes: list[Outcome]) -> Outcome:
    """Return the outcome of one branch over several states: what they do not agree on is unknown."""
    owns, takens = {o.own for o in outcomes}, {o.taken for o in outcomes}
    return Outcome(
        owns.pop() if len(owns) == 1 else None, takens.pop() if len(takens) == 1 else None, outcomes[0].macro
    )


def condition_text(chain: Chain, position: int) -> str:
    """Return the condition of a branch for people; `#else` shows what it negates."""
    if chain.branches[position].directive.name != "else":
        return _own_text(chain.branches[position])
    return " && ".join(f"!({_own_text(branch)})" for branch in chain.branches[:position])


def _own_text(branch: Branch) -> str:
    directive = branch.directive
    text = " ".join(directive.argument.encode("latin-1").decode("utf-8", "replace").split())
    if directive.name.endswith("def"):
        return f"{'!' if directive.name.endswith('ndef') else ''}defined({text})"
    return text


def _words(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b")
