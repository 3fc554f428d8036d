"""Remove the branches that no supported number compiles, as a patch that `git apply` takes.

Whole lines are dropped, and a directive is rewritten only where the branch before it is gone (`#elif` to `#if`) or its
condition always holds (`#elif` to `#else`); every other byte stays. What the result means is proven apart, in
`guard_proof`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from relmgr.sources.guards.branches import GuardAnalysis
from relmgr.sources.guards.conditionals import Branch, Chain, Directive, Item, chains, code_text, directives
from relmgr.sources.guards.expressions import identifiers, tokens_of

_CONTEXT = 3
_PLAIN_PATH = re.compile(r"[A-Za-z0-9_./+@=,~ -]+\Z")


@dataclass
class FileEdit:
    """The edit of one file: `changes` maps a line's index to its new text, or None to drop it."""

    path: str
    lines: list[str]
    changes: dict[int, str | None] = field(default_factory=dict)
    dead: list[int] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)

    @property
    def before(self) -> str:
        """The file as it is."""
        return "".join(self.lines)

    @property
    def after(self) -> str:
        """The file as the patch leaves it."""
        kept = (self.changes.get(index, line) for index, line in enumerate(self.lines))
        return "".join(line for line in kept if line is not None)

    def drop(self, first: int, last: int) -> None:
        """Drop the physical lines `first` to `last` (1-based, both included)."""
        self.changes.update((index, None) for index in range(first - 1, last))


@dataclass
class Removal:
    """Every edited file, and the derived macros whose definitions are dropped."""

    edits: dict[str, FileEdit]
    macros: tuple[str, ...] = ()


def plan_removal(analysis: GuardAnalysis, numbers: Sequence[int]) -> Removal:
    """Return the edits that remove what is dead at every one of `numbers`; raises `OutOfFuel` past the bounds.

    A file with unbalanced conditionals, and a conditional whose directives share their lines with a comment that spans
    lines, are left as they are.
    """
    edits: dict[str, FileEdit] = {}
    for path in analysis.roots:
        tree = analysis.tree(path)
        if tree.faults or path in analysis.gaps or not analysis.guard_macros(path):
            continue
        edit = FileEdit(path, _lines(analysis.sources.files[path]))
        _Remover(analysis, edit, numbers).remove(tree.items)
        if edit.changes:
            edits[path] = edit
    removal = Removal(edits)
    _remove_macros(analysis, removal)
    return removal


class _Remover:
    def __init__(self, analysis: GuardAnalysis, edit: FileEdit, numbers: Sequence[int]) -> None:
        self._edit = edit
        self._guards = analysis.guard_macros(edit.path)
        self._outcomes = [analysis.outcomes(edit.path, number) for number in numbers]

    def remove(self, items: Iterable[Item]) -> None:
        for item in items:
            if isinstance(item, Chain):
                self._chain(item)

    def _is_dead(self, branch: Branch) -> bool:
        line = branch.directive.line
        return line in self._guards and all(at[line].taken is False for at in self._outcomes)

    def _always_holds(self, branch: Branch) -> bool:
        line = branch.directive.line
        return line in self._guards and all(at[line].own is True for at in self._outcomes)

    def _chain(self, chain: Chain) -> None:
        kept = [branch for branch in chain.branches if not self._is_dead(branch)]
        if any(self._always_holds(branch) for branch in kept) or len(kept) < len(chain.branches):
            ends = [branch.directive for branch in chain.branches]
            if chain.endif is not None and not any(d.shares_line or d.name_at < 0 for d in (*ends, chain.endif)):
                self._simplify(chain, chain.endif, kept)
        for branch in kept:
            self.remove(branch.items)

    def _simplify(self, chain: Chain, endif: Directive, kept: list[Branch]) -> None:
        edit = self._edit
        if not kept:
            self._note(chain.branches)
            edit.drop(chain.branches[0].directive.first_line, endif.end_line)
            return
        dead = [branch for branch in chain.branches if branch not in kept]
        self._note(dead)
        for branch in dead:
            edit.drop(branch.directive.first_line, branch.end_line)
        if self._always_holds(kept[0]):
            # Nothing after it is ever compiled, so `kept` is this branch alone: its body stands without directives.
            self._note([], kept)
            edit.drop(kept[0].directive.first_line, kept[0].directive.end_line)
            edit.drop(endif.first_line, endif.end_line)
            return
        if kept[0] is not chain.branches[0]:
            self._rewrite(kept[0].directive, kept[0].directive.name.replace("elif", "if", 1), whole=False)
        if kept[-1].directive.name != "else" and self._always_holds(kept[-1]):
            self._note([], kept[-1:])
            self._rewrite(kept[-1].directive, "else", whole=True)

    def _note(self, dead: Iterable[Branch], constant: Iterable[Branch] = ()) -> None:
        for branch in dead:
            self._edit.dead.append(branch.directive.line)
            self._edit.conditions.append(branch.directive.argument)
            self._edit.conditions += [b.directive.argument for c in chains(branch.items) for b in c.branches]
        self._edit.conditions += [branch.directive.argument for branch in constant]

    def _rewrite(self, directive: Directive, name: str, *, whole: bool) -> None:
        """Give a directive another name; with `whole` nothing but that name stays of it."""
        edit, offset, index = self._edit, directive.name_at, 0
        while offset >= len(edit.lines[index]):
            offset -= len(edit.lines[index])
            index += 1
        line = edit.lines[index]
        if not whole:
            edit.changes[index] = line[:offset] + name + line[offset + len(directive.name) :]
            return
        last = edit.lines[directive.end_line - 1]
        edit.drop(index + 2, directive.end_line)
        edit.changes[index] = line[:offset] + name + last[len(last.rstrip("\r\n")) :]


def _remove_macros(analysis: GuardAnalysis, removal: Removal) -> None:
    """Drop the definitions of derived macros that only removed directives used."""
    todo = [name for edit in removal.edits.values() for name in identifiers(tokens_of(" ".join(edit.conditions)))]
    derived = {name for path in analysis.roots for name in analysis.derived(path)}
    gone: list[str] = []
    while todo:
        name = todo.pop()
        if name not in derived or name in gone or analysis.mentioned_elsewhere(name):
            continue
        trial = _without(analysis, removal, name)
        if trial is None:
            continue
        edits, bodies = trial
        removal.edits.update(edits)
        gone.append(name)
        todo += bodies
    removal.macros = tuple(sorted(gone))


def _without(analysis: GuardAnalysis, removal: Removal, name: str) -> tuple[dict[str, FileEdit], list[str]] | None:
    """Return the edits that also drop every definition of `name`, and the names in those; None when it is used."""
    edits: dict[str, FileEdit] = {}
    bodies: list[str] = []
    word = re.compile(rf"\b{re.escape(name)}\b")
    for path in analysis.mentioning(name):
        if path not in analysis.roots or analysis.tree(path).faults:
            return None
        known = removal.edits.get(path) or FileEdit(path, _lines(analysis.sources.files[path]))
        edit = FileEdit(path, known.lines, dict(known.changes), known.dead, known.conditions)
        for directive in directives(analysis.tree(path).items):
            names = identifiers(tokens_of(directive.argument))
            if directive.name in ("define", "undef") and names[:1] == [name]:
                if directive.shares_line:
                    return None
                edit.drop(directive.first_line, directive.end_line)
                bodies += names[1:]
        if word.search(code_text(edit.after)):
            return None
        if edit.changes:
            edits[path] = edit
    return edits, bodies


def _lines(text: str) -> list[str]:
    """Split at line feeds alone, ends kept."""
    return re.findall(r"[^\n]*\n|[^\n]+\Z", text)


def render_diff(removal: Removal) -> str:
    """Return the unified diff of all edits, one character a byte, as `git apply` reads it; '' without edits."""
    return "".join(_file_diff(removal.edits[path]) for path in sorted(removal.edits) if removal.edits[path].changes)


def _file_diff(edit: FileEdit) -> str:
    old, new = _quoted(f"a/{edit.path}"), _quoted(f"b/{edit.path}")
    # After `---` and `+++` a tab ends a name that holds a blank.
    tab = "\t" if " " in edit.path else ""
    parts = [f"diff --git {old} {new}\n", f"--- {old}{tab}\n", f"+++ {new}{tab}\n"]
    shift = 0
    for first, last in _hunks(edit):
        body, removed, added = _hunk(edit, first, last)
        old_count, new_count = last - first, last - first - removed + added
        new_first = first + shift
        parts.append(
            f"@@ -{first + (old_count > 0)},{old_count} +{new_first + (new_count > 0)},{new_count} @@\n{''.join(body)}"
        )
        shift += added - removed
    return "".join(parts)


def _hunks(edit: FileEdit) -> list[tuple[int, int]]:
    """Return the ranges of lines (0-based, half-open) to show: changes with their context, near ones joined."""
    ranges: list[tuple[int, int]] = []
    for index in sorted(edit.changes):
        first, last = max(0, index - _CONTEXT), min(len(edit.lines), index + 1 + _CONTEXT)
        if ranges and first <= ranges[-1][1]:
            ranges[-1] = (ranges[-1][0], last)
        else:
            ranges.append((first, last))
    return ranges


def _hunk(edit: FileEdit, first: int, last: int) -> tuple[list[str], int, int]:
    body: list[str] = []
    pending: list[str] = []
    removed = added = 0
    for index in range(first, last):
        line = edit.lines[index]
        if index not in edit.changes:
            body += [*pending, _marked(" ", line)]
            pending = []
            continue
        removed += 1
        body.append(_marked("-", line))
        new = edit.changes[index]
        if new is not None:
            added += 1
            pending.append(_marked("+", new))
    return body + pending, removed, added


def _marked(mark: str, line: str) -> str:
    return f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"


def _quoted(path: str) -> str:
    """Return a path as git writes it in a diff: quoted, with octal escapes, when it holds unusual bytes."""
    if _PLAIN_PATH.match(path):
        return path
    escaped = "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:03o}" for b in path.encode())
    return f'"{escaped}"'
