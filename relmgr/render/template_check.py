"""What a project's own template must keep to, told before anything is rendered. Pure: texts in, mistakes out.

Each name that a template looks up must be one that the shipped template of its name is given: what that one and its
other forms (text, Markdown, page) look up, imports and includes followed. What other templates take from it must be in
it. Everything it takes from others must be there.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import NoReturn

from jinja2 import TemplateSyntaxError, nodes
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import SandboxedEnvironment

from relmgr.errors import UserError
from relmgr.render.notes import TEMPLATES

# The shipped template of a name, also where the project has its own: `{% extends "shipped/gate/check.md.j2" %}`.
SHIPPED_PREFIX = "shipped/"
# Of a longer list of allowed names only those that come near are told.
MOST_SHOWN = 60

_Reference = nodes.Extends | nodes.Include | nodes.Import | nodes.FromImport
_REFERENCES = (nodes.Extends, nodes.Include, nodes.Import, nodes.FromImport)
_SCOPES = (nodes.Macro, nodes.CallBlock, nodes.For, nodes.Block, nodes.FilterBlock, nodes.With)


class TemplateTree:
    """One parsed template: what it looks up, sets, takes from others and gives to others."""

    def __init__(self, tree: nodes.Template) -> None:
        self.tree = tree

    @cached_property
    def undeclared(self) -> set[str]:
        """The names that it looks up and does not set before."""
        return find_undeclared_variables(self.tree)

    @cached_property
    def stored(self) -> set[str]:
        """The names that it sets anywhere: a template that it includes sees them."""
        names = {name.name for name in self.tree.find_all(nodes.Name) if name.ctx != "load"}
        macros = {macro.name for macro in self.tree.find_all(nodes.Macro)}
        return names | macros | set(self.imported())

    @cached_property
    def exported(self) -> set[str]:
        """The macros and values that another template can import."""
        return {name for name in _top_level(self.tree) if not name.startswith("_")}

    @cached_property
    def blocks(self) -> set[str]:
        """The names of its blocks."""
        return {block.name for block in self.tree.find_all(nodes.Block)}

    def imported(self) -> Iterator[str]:
        """Yield each name that its imports set."""
        yield from (node.target for node in self.tree.find_all(nodes.Import))
        for node in self.tree.find_all(nodes.FromImport):
            yield from (name if isinstance(name, str) else name[1] for name in node.names)

    def references(self) -> Iterator[tuple[_Reference, tuple[str | None, ...]]]:
        """Yield what it takes from others: the node, and the templates it names, None for one that is worked out."""
        for node in self.tree.find_all(_REFERENCES):
            assert isinstance(node, _REFERENCES)
            named = node.template.items if isinstance(node.template, (nodes.Tuple, nodes.List)) else [node.template]
            values = [part.value if isinstance(part, nodes.Const) else None for part in named]
            yield node, tuple(v for value in values for v in (value if isinstance(value, (tuple, list)) else [value]))

    def taken(self) -> Iterator[tuple[str | None, str, int]]:
        """Yield (template, name, line) for each macro or value that it takes out of another template."""
        for node, named in self.references():
            if isinstance(node, nodes.FromImport):
                for name in node.names:
                    yield named[0], name if isinstance(name, str) else name[0], node.lineno
            elif isinstance(node, nodes.Import):
                for part in self.tree.find_all(nodes.Getattr):
                    if isinstance(part.node, nodes.Name) and part.node.name == node.target:
                        yield named[0], part.attr, part.lineno


class TemplateCheck:
    """Checks own templates against the shipped ones. `where` gives the file of an own template's name."""

    def __init__(
        self,
        env: SandboxedEnvironment,
        own: Mapping[str, str],
        shipped: Mapping[str, Callable[[], str]],
        where: Callable[[str], str],
    ) -> None:
        self._env, self._own, self._shipped, self._where = env, own, shipped, where
        self._trees: dict[str, TemplateTree] = {}
        self._texts: dict[str, str] = {}

    def check(self) -> None:
        """Raise `UserError` for the first mistake; it names file and line."""
        for name in self._own:
            self._tree(name)
        for name in self._own:
            self._check_references(name)
            self._check_names(name)
            self._check_given(name)

    # -- what each check asks ---------------------------------------------------------------------------------------

    def _check_words(self, name: str, tree: nodes.Template) -> None:
        """Filters and tests exist."""
        for node in tree.find_all((nodes.Filter, nodes.Test)):
            known = self._env.filters if isinstance(node, nodes.Filter) else self._env.tests
            if node.name not in known:
                self._refuse(name, node.lineno, f"no {type(node).__name__.lower()} {node.name!r}", node.name, known)

    def _check_references(self, name: str) -> None:
        """Templates that it names exist, as do their blocks that it fills and the macros that it takes."""
        tree = self._tree(name)
        for node, named in tree.references():
            for target in named:
                if target is None:
                    self._refuse(name, node.lineno, "the name of a template is written out, not worked out")
                if not self._is_there(target):
                    self._refuse(name, node.lineno, f"no template {target!r}", target, self._all_names())
                if target == name:
                    step = f'for the shipped one write "{SHIPPED_PREFIX}{name}"'
                    self._refuse(name, node.lineno, "it takes itself in", step=step)
                if isinstance(node, nodes.Extends):
                    self._check_blocks(name, target)
        for target, taken, line in tree.taken():
            exported = self._tree(target or "").exported
            if taken not in exported:
                self._refuse(name, line, f"{target} has no {taken!r}", taken, exported)

    def _check_blocks(self, name: str, parent: str) -> None:
        """A block that no parent has would be lost without a word."""
        known = self._blocks(parent, set())
        for block in self._tree(name).tree.find_all(nodes.Block):
            if block.name not in known:
                self._refuse(name, block.lineno, f"{parent} has no block {block.name!r}", block.name, known)

    def _check_names(self, name: str) -> None:
        """It looks up only what the shipped one is given."""
        allowed = self._given_to(name)
        for wanted in sorted(self._needs(name, set()) - allowed):
            line = self._line_of(name, wanted)
            self._refuse(name, line, f"it is given no {wanted!r}", wanted, allowed)

    def _check_given(self, name: str) -> None:
        """Everything that others take from it is in it."""
        tree = self._tree(name)
        takers: dict[str, str] = {}
        for other in self._shipped:
            source = other if other in self._own else SHIPPED_PREFIX + other
            # Most take nothing from it: those need not be parsed.
            if name not in self._text(source):
                continue
            takers |= {taken: other for target, taken, _ in self._tree(source).taken() if target == name}
        if takers and any(tree.tree.find_all(nodes.Extends)):
            step = f'write {{% import "{SHIPPED_PREFIX}{name}" as shipped with context %}} and set what stays as it is'
            self._refuse(name, 1, "macros of a template that extends another are lost", step=step)
        for taken, other in sorted(takers.items()):
            if taken not in tree.exported:
                step = f'keep it, for example {{% import "{SHIPPED_PREFIX}{name}" as shipped with context %}}'
                step += f"{{% set {taken} = shipped.{taken} %}}"
                self._refuse(name, 1, f"it lacks {taken!r}, which {other} takes from it", step=step)

    # -- what templates need ----------------------------------------------------------------------------------------

    def _given_to(self, name: str) -> set[str]:
        """Return what the shipped template of that name is given: what it and its other forms look up."""
        notes = set(TEMPLATES.values())
        stem = name.split(".", 1)[0]
        forms = notes if name in notes else {other for other in self._shipped if other.split(".", 1)[0] == stem}
        return {wanted for form in forms for wanted in self._needs(SHIPPED_PREFIX + form, set())}

    def _needs(self, name: str, seen: set[str]) -> set[str]:
        """Return the names that a template looks up in what it is given, with all that it takes in."""
        if name in seen or not self._is_there(name):
            return set()
        seen.add(name)
        tree = self._tree(name)
        needs = set(tree.undeclared)
        for node, named in tree.references():
            if isinstance(node, nodes.Extends) or node.with_context:
                for target in named:
                    needs |= self._needs(self._as_seen_from(name, target or ""), seen) - tree.stored
        return needs

    def _as_seen_from(self, name: str, target: str) -> str:
        """A shipped template is measured with the shipped ones that it takes in."""
        is_shipped = name.startswith(SHIPPED_PREFIX) and not target.startswith(SHIPPED_PREFIX)
        return SHIPPED_PREFIX + target if is_shipped else target

    def _blocks(self, name: str, seen: set[str]) -> set[str]:
        if name in seen or not self._is_there(name):
            return set()
        seen.add(name)
        tree = self._tree(name)
        parents = (t for node, named in tree.references() if isinstance(node, nodes.Extends) for t in named)
        return tree.blocks | {block for parent in parents for block in self._blocks(parent or "", seen)}

    def _line_of(self, name: str, wanted: str) -> int:
        tree = self._tree(name)
        lines = [node.lineno for node in tree.tree.find_all(nodes.Name) if node.name == wanted]
        through = [
            node.lineno
            for node, named in tree.references()
            if any(wanted in self._needs(target or "", {name}) for target in named)
        ]
        return min(lines or through or [1])

    # -- reading ----------------------------------------------------------------------------------------------------

    def _all_names(self) -> list[str]:
        return [*self._shipped, *(SHIPPED_PREFIX + name for name in self._shipped)]

    def _is_there(self, name: str) -> bool:
        return name.removeprefix(SHIPPED_PREFIX) in self._shipped

    def _tree(self, name: str) -> TemplateTree:
        if name not in self._trees:
            self._trees[name] = self._parse(name)
        return self._trees[name]

    def _text(self, name: str) -> str:
        if name not in self._texts:
            bare = name.removeprefix(SHIPPED_PREFIX)
            self._texts[name] = self._own[name] if name in self._own else self._shipped[bare]()
        return self._texts[name]

    def _parse(self, name: str) -> TemplateTree:
        if name not in self._own:
            return TemplateTree(self._env.parse(self._text(name), name.removeprefix(SHIPPED_PREFIX)))
        try:
            tree = TemplateTree(self._env.parse(self._own[name], name))
            self._check_words(name, tree.tree)
            # Both work constants out, and both refuse what only the compiler notices.
            assert tree.undeclared is not None
            self._env.compile(tree.tree, name)
        except TemplateSyntaxError as error:
            self._refuse(name, error.lineno, f"not a Jinja template: {error.message}")
        except RecursionError:
            self._refuse(name, 1, "not a Jinja template: nested too deeply")
        return tree

    def _refuse(
        self, name: str, line: int, what: str, wrong: str = "", allowed: Iterable[str] = (), *, step: str = ""
    ) -> NoReturn:
        known = sorted(allowed)
        close = difflib.get_close_matches(wrong, known, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        near = difflib.get_close_matches(wrong, known, n=8, cutoff=0.4) if len(known) > MOST_SHOWN else known
        step = step or (f"allowed: {', '.join(near)}" if near else "correct that line")
        raise UserError(f"{what}{hint}", where=f"{self._where(name)}:{line}", next_step=step)


def _top_level(node: nodes.Node) -> Iterator[str]:
    """Yield the names that are set where a module would set them: not inside a macro, a loop or a block."""
    for child in node.iter_child_nodes():
        if isinstance(child, nodes.Macro):
            yield child.name
        elif isinstance(child, (nodes.Assign, nodes.AssignBlock)):
            yield from (name.name for name in child.target.find_all(nodes.Name))
            if isinstance(child.target, nodes.Name):
                yield child.target.name
        elif not isinstance(child, _SCOPES):
            yield from _top_level(child)
