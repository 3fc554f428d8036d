"""What each conditional of a file does, followed as a preprocessor would, with unknown macros left unknown.

One `Flow` follows one file with the contract's macro at one number (or unknown). Where a condition is unknown every
branch that may be taken is followed, and what they leave different becomes unknown. A macro that is defined or
undefined under a condition on a tracked macro, or whose body names one, is tracked itself: so guards are found through
derived macros, in the order of the text and through included project headers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from relmgr.sources.guards.conditionals import Branch, Chain, Directive, Item, SourceTree
from relmgr.sources.guards.expressions import (
    DEFINED,
    UNDEFINED,
    Definition,
    Fuel,
    OutOfFuel,
    State,
    evaluate,
    identifiers,
    parse_definition,
    tokens_of,
)

MAX_DEPTH = 150

_ASKS_DEFINED = re.compile(r"(?P<not>!?)\s*defined\s*(?:\(\s*(?P<name>[A-Za-z_]\w*)\s*\)|(?P<bare>[A-Za-z_]\w*))\s*\Z")

Resolve = Callable[[str, str], "str | None"]
"""From the including file and the argument of `#include` to a project file, None for any other header."""


@dataclass(frozen=True)
class Outcome:
    """One branch: its condition alone (`own`), whether it is taken where the code around it is compiled, and the
    tracked macro that it depends on (None: it is no guard)."""

    own: bool | None
    taken: bool | None
    macro: str | None


@dataclass(frozen=True)
class Known:
    """What is known of a macro at a place, and whether it depends on the contract's macro."""

    state: State
    tracked: bool


Effect = tuple[dict[str, Known], dict[str, Known]]
"""What one branch left behind, and what was learned on the way into it."""


@dataclass(frozen=True)
class Surroundings:
    """What holds before a file's first line.

    `tracked`: the contract's macros and their states; `undefined`: names taken as undefined until the file defines
    them; `derived`: names that some project header derives from the contract's macro (unknown until met).
    """

    tracked: Mapping[str, State]
    undefined: frozenset[str] = frozenset()
    derived: frozenset[str] = frozenset()


class Flow:
    """One pass over one file. `outcomes` is keyed by the line of each branch's directive; `ends` holds what is known
    of macros after the last line."""

    def __init__(self, trees: Mapping[str, SourceTree], resolve: Resolve, before: Surroundings) -> None:
        self._trees, self._resolve, self._before = trees, resolve, before
        self._fuel = Fuel()
        self._scopes: list[dict[str, Known]] = [{}]
        self._once: set[str] = set()
        self._depth = 0
        self._guarded = 0
        self.outcomes: dict[int, Outcome] = {}
        self.files: set[str] = set()

    def follow(self, root: str) -> Flow:
        """Follow the file `root`; raises `OutOfFuel` when that goes past its bounds."""
        self.files = {root}
        self._items(root, self._trees[root].items, at_root=True)
        return self

    @property
    def ends(self) -> Mapping[str, Known]:
        """What is known after the last line of the macros that the file set."""
        return self._scopes[0]

    def known(self, name: str) -> Known:
        """Return what is known of `name` here."""
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        if name in self._before.tracked:
            return Known(self._before.tracked[name], True)
        if name in self._before.undefined:
            return Known(UNDEFINED, False)
        return Known(None, name in self._before.derived)

    # -- following --------------------------------------------------------------------------------------------------

    def _items(self, path: str, items: Iterable[Item], *, at_root: bool) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise OutOfFuel(f"conditionals and includes nest more than {MAX_DEPTH} deep")
        for item in items:
            self._fuel.burn(1)
            if isinstance(item, Chain):
                self._chain(path, item, at_root=at_root)
            else:
                self._directive(path, item)
        self._depth -= 1

    def _directive(self, path: str, directive: Directive) -> None:
        if directive.name == "define":
            parsed = parse_definition(directive.argument)
            if parsed is not None:
                name, definition = parsed
                self._fuel.burn(len(definition.body))
                self._set(name, definition, self._tracked_name(definition.body) is not None)
        elif directive.name == "undef":
            for name in identifiers(tokens_of(directive.argument))[:1]:
                self._set(name, UNDEFINED, False)
        elif directive.name == "pragma" and directive.argument.split()[:1] == ["once"]:
            self._once.add(path)
        elif directive.name == "include":
            target = self._resolve(path, directive.argument)
            if target is not None and target in self._trees and target not in self._once:
                self.files.add(target)
                self._items(target, self._trees[target].items, at_root=False)

    def _set(self, name: str, state: State, tracked: bool) -> None:
        is_tracked = tracked or self._guarded > 0 or name in self._before.tracked
        self._scopes[-1][name] = Known(state, is_tracked)

    def _chain(self, path: str, chain: Chain, *, at_root: bool) -> None:
        macro: str | None = None
        reached: bool | None = True
        effects: list[Effect] = []
        learned: dict[str, Known] = {}
        for branch in chain.branches:
            macro = macro or self._macro_of(branch.directive)
            own = self._value(branch.directive)
            taken = False if reached is False or own is False else own if reached else None
            if at_root:
                self.outcomes[branch.directive.line] = Outcome(own, taken, macro)
            if taken is False:
                self._skip(branch, at_root=at_root)
            else:
                here = learned | self._learn(branch.directive, holds=True)
                effects.append((self._branch(path, branch, macro, here, at_root=at_root), here))
                learned = learned | self._learn(branch.directive, holds=False)
            if own is True:
                reached = False
            elif own is None and reached:
                reached = None
        if reached is not False:
            effects.append(({}, learned))
        self._join(effects, is_guard=macro is not None)

    def _branch(
        self, path: str, branch: Branch, macro: str | None, learned: dict[str, Known], *, at_root: bool
    ) -> dict[str, Known]:
        self._scopes += [learned, {}]
        self._guarded += macro is not None
        self._items(path, branch.items, at_root=at_root)
        self._guarded -= macro is not None
        effect = self._scopes.pop()
        self._scopes.pop()
        return effect

    def _learn(self, directive: Directive, *, holds: bool) -> dict[str, Known]:
        """Return what a condition that asks only whether an unknown macro is defined tells about it."""
        argument = directive.argument
        negated = directive.name.endswith("ndef")
        if directive.name in ("if", "elif"):
            asked = _ASKS_DEFINED.match(argument)
            if asked is None:
                return {}
            negated, argument = bool(asked["not"]), asked["name"] or asked["bare"]
        elif directive.name == "else":
            return {}
        name = next(iter(identifiers(tokens_of(argument))), None)
        if name is None or self.known(name).state is not None:
            return {}
        return {name: Known(DEFINED if holds != negated else UNDEFINED, self.known(name).tracked)}

    def _skip(self, branch: Branch, *, at_root: bool) -> None:
        """Note every conditional inside a branch that is not taken."""
        if not at_root:
            return
        for item in branch.items:
            self._fuel.burn(1)
            if isinstance(item, Chain):
                macro: str | None = None
                for inner in item.branches:
                    macro = macro or self._macro_of(inner.directive)
                    self.outcomes[inner.directive.line] = Outcome(self._value(inner.directive), False, macro)
                    self._skip(inner, at_root=True)

    def _join(self, effects: list[Effect], *, is_guard: bool) -> None:
        """Keep what all followed branches agree on; the rest is unknown."""
        for name in {name for effect, _ in effects for name in effect}:
            ends = [effect.get(name) or learned.get(name) or self.known(name) for effect, learned in effects]
            agreed = ends[0].state if all(end.state == ends[0].state for end in ends) else None
            self._scopes[-1][name] = Known(agreed, is_guard or any(end.tracked for end in ends))

    # -- conditions -------------------------------------------------------------------------------------------------

    def _value(self, directive: Directive) -> bool | None:
        if directive.name == "else":
            return True
        if directive.name in ("if", "elif"):
            return evaluate(directive.argument, lambda name: self.known(name).state, self._fuel)
        name = next(iter(identifiers(tokens_of(directive.argument))), None)
        state = self.known(name).state if name else None
        if state is None:
            return None
        return (state == UNDEFINED) == directive.name.endswith("ndef")

    def _macro_of(self, directive: Directive) -> str | None:
        """Return the name in a condition that makes it depend on the contract's macro."""
        return None if directive.name == "else" else self._tracked_name(tokens_of(directive.argument))

    def _tracked_name(self, tokens: Iterable[str]) -> str | None:
        """Return the first of `tokens` that is tracked, or whose definition leads to a tracked name."""
        seen: set[str] = set()
        for name in identifiers(list(tokens)):
            todo = [name]
            while todo:
                current = todo.pop()
                if current in seen:
                    continue
                seen.add(current)
                self._fuel.burn(1)
                known = self.known(current)
                if known.tracked:
                    return name
                if isinstance(known.state, Definition):
                    self._fuel.burn(len(known.state.body))
                    todo.extend(identifiers(known.state.body))
        return None


def include_guard(tree: SourceTree) -> str | None:
    """Return the macro that guards a header against being read twice, None when it has no such guard."""
    whole = [item for item in tree.items if not (isinstance(item, Directive) and item.name == "pragma")]
    if len(whole) != 1 or not isinstance(whole[0], Chain) or len(whole[0].branches) != 1:
        return None
    branch = whole[0].branches[0]
    names = identifiers(tokens_of(branch.directive.argument))
    opens = branch.directive.name == "ifndef" or (
        branch.directive.name == "if" and "".join(branch.directive.argument.split()).startswith("!defined")
    )
    first = next(iter(branch.items), None)
    if not opens or len(names) != 1 or not isinstance(first, Directive) or first.name != "define":
        return None
    return names[0] if identifiers(tokens_of(first.argument))[:1] == names else None
