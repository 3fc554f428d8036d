"""Prove that a patch changes nothing for the supported numbers: preprocess both sides with pcpp and compare tokens.

For every number, and in every world of the other macros that conditions name (each undefined, or defined with values
around those it is compared with), the token streams of both sides and the macros left at the end must be the same.
Includes stay as opaque lines, but for project headers that carry guards. pcpp expands macros without a bound, so it
runs in a process of its own with a limit on time and memory: `python -m relmgr.sources.guards.proof`.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from relmgr.errors import SourceError
from relmgr.sources.guards.branches import GuardAnalysis
from relmgr.sources.guards.conditionals import chains, directives, mask_raw_strings
from relmgr.sources.guards.expressions import Definition, State, identifiers, tokens_of
from relmgr.sources.guards.patch import Removal

MAX_SECONDS = 60
MAX_MEMORY = 2 * 1024**3
_ALL_WORLDS = 64
_DRAWN_WORLDS = 32
_VALUES_PER_NAME = 6

World = dict[str, str]


def prove(analysis: GuardAnalysis, removal: Removal, numbers: Sequence[int], seconds: int = MAX_SECONDS) -> int:
    """Return how many pairs of preprocessor runs were compared and found the same.

    Raises `SourceError` with the reason when they differ, or when that could not be told within `seconds`.
    """
    cases = [case_of(analysis, removal, path, numbers) for path in sorted(removal.edits)]
    try:
        run = subprocess.run(
            [sys.executable, "-m", "relmgr.sources.guards.proof"],
            input=json.dumps({"seconds": seconds, "cases": cases}),
            capture_output=True,
            text=True,
            timeout=seconds + 5,
            check=False,
        )
        answer = json.loads(run.stdout) if run.returncode == 0 else {"reason": _last_line(run.stderr)}
    except subprocess.TimeoutExpired:
        answer = {"reason": f"preprocessing took longer than {seconds} s"}
    except ValueError:
        answer = {"reason": "the preprocessor gave no answer"}
    if answer.get("reason"):
        raise SourceError(
            f"patch refused, not proven equivalent: {answer['reason']}",
            next_step="remove these branches by hand; `relmgr abi guards` without --patch lists them",
        )
    return int(answer["worlds"])


def case_of(analysis: GuardAnalysis, removal: Removal, path: str, numbers: Sequence[int]) -> dict[str, Any]:
    """Return what the other process needs to compare one file: texts of it and its headers, includes, worlds."""
    files = sorted({file for number in numbers for flow in analysis.flows(path, number) for file in flow.files})
    includes: dict[str, dict[str, str]] = {}
    for file in files:
        for directive in directives(analysis.tree(file).items):
            target = analysis.resolve(file, directive.argument) if directive.name == "include" else None
            if target in files and target is not None:
                includes.setdefault(file, {})["".join(directive.argument.split())] = target
    before = {file: analysis.sources.files[file] for file in files}
    after = {file: removal.edits[file].after if file in removal.edits else text for file, text in before.items()}
    known = {analysis.macro, *removal.macros, *analysis.assumed_undefined(path), *analysis.include_guards}
    return {
        "root": path,
        "before": {file: _plain(text) for file, text in before.items()},
        "after": {file: _plain(text) for file, text in after.items()},
        "includes": includes,
        "macro": analysis.macro,
        "settings": [_setting(state) for number in numbers for state in analysis.states(number)],
        "removed": list(removal.macros),
        "worlds": worlds(_unknown_values(analysis, files, known)),
    }


def _setting(state: State) -> str | None:
    """Return what the macro is defined as, None where it is undefined."""
    return "".join(state.body) if isinstance(state, Definition) else None


def _plain(text: str) -> str:
    """Return text that pcpp splits into the same lines and literals as a compiler does."""
    text = mask_raw_strings(text.removeprefix("\xef\xbb\xbf")).replace("\r\n", "\n")
    # pcpp splits lines at every line end that Unicode knows; bytes above ASCII become other letters one to one.
    high = {code: code + 0xE000 for code in range(0x80, 0x100)}
    return text.translate(high | {code: " " for code in (0x0B, 0x0C, 0x0D, 0x1C, 0x1D, 0x1E)})


def _unknown_values(analysis: GuardAnalysis, files: Sequence[str], known: set[str]) -> dict[str, list[str]]:
    """Return the macros of all conditions whose value nobody gives, with values that can turn their conditions."""
    found: dict[str, set[int]] = {}
    for file in files:
        for chain in chains(analysis.tree(file).items):
            for branch in chain.branches:
                tokens = tokens_of(branch.directive.argument)
                literals = {int(t) for t in tokens if t.isdigit() and len(t) < 10}
                near = {value + step for value in literals for step in (-1, 0, 1)}
                for name in set(identifiers(tokens)) - known - {"true", "false"}:
                    found.setdefault(name, set()).update({1} | near)
    return {name: [str(v) for v in sorted(values)[:_VALUES_PER_NAME]] for name, values in sorted(found.items())}


def worlds(values: Mapping[str, Sequence[str]]) -> list[World]:
    """Return assignments of the unknown macros: all of them when they are few, else every value of each alone and
    together with the rest, and some drawn with a fixed seed. A macro that a world does not name is undefined."""
    choices: dict[str, list[str | None]] = {name: [None, *given] for name, given in values.items()}
    count = 1
    for options in choices.values():
        count *= len(options)
    if count <= _ALL_WORLDS:
        drawn = [dict(zip(choices, combination, strict=True)) for combination in itertools.product(*choices.values())]
    else:
        rest = {name: given[0] for name, given in values.items()}
        alone: list[dict[str, str | None]] = [{name: v} for name, options in choices.items() for v in options]
        dice = random.Random(20220823)  # noqa: S311 - not for secrets
        drawn = [*alone, *({**rest, **world} for world in alone)]
        drawn += [{name: dice.choice(options) for name, options in choices.items()} for _ in range(_DRAWN_WORLDS)]
    found = [{name: value for name, value in world.items() if value is not None} for world in drawn]
    return [dict(world) for world in sorted({tuple(sorted(world.items())) for world in found})]


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:200] if lines else "the preprocessor died"


# -- in the other process ---------------------------------------------------------------------------------------------


def compare(case: Mapping[str, Any], deadline: float) -> tuple[int, str | None]:
    """Return how many runs were compared, and the reason for which the two sides are not the same."""
    compared = 0
    for setting, world, calls in itertools.product(case["settings"], case["worlds"], (0, 1)):
        if calls and not _has_unknown_call(case):
            continue
        macros = {**world, case["macro"]: setting} if setting is not None else world
        sides = [_preprocess(case, side, macros, calls, deadline) for side in ("before", "after")]
        if sides[0] != sides[1]:
            given = ", ".join(f"{name}={value}" for name, value in macros.items())
            return compared, f"{case['root']} differs with {given or 'no macro defined'}"
        compared += 1
    return compared, None


def _has_unknown_call(case: Mapping[str, Any]) -> bool:
    call = re.compile(r"^[ \t]*#[ \t]*(?:el)?if\b[^\n]*\b(?!defined\b)[A-Za-z_]\w*[ \t]*\(", re.MULTILINE)
    return any(call.search(text) for text in case["before"].values())


def _preprocess(case: Mapping[str, Any], side: str, macros: World, calls: int, deadline: float) -> tuple[str, str]:
    """Return the digest of one side's tokens, and its macros at the end."""
    reader = _reader(case, side, calls)
    for name, value in macros.items():
        reader.define(f"{name} {value}")
    digest = hashlib.sha256()
    for token in reader.parsegen(case[side][case["root"]], case["root"], case["root"]):
        if time.monotonic() > deadline:
            raise TimeoutError
        if token.value.strip():
            digest.update(f"{len(token.value)}:{token.value}".encode("utf-8", "surrogatepass"))
    left = {
        name: ("".join(part.value for part in macro.value if part.value.strip()), macro.arglist)
        for name, macro in reader.macros.items()
        if name not in case["removed"]
    }
    return digest.hexdigest(), json.dumps(left, sort_keys=True)


def _reader(case: Mapping[str, Any], side: str, calls: int) -> Any:
    """Return a preprocessor that reads only the case's files, keeps other includes and every pragma as they are."""
    import pcpp

    class Reader(pcpp.Preprocessor):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.macros.clear()
            self.auto_pragma_once_enabled = False
            self.expand_linemacro = self.expand_filemacro = self.expand_countermacro = False
            self.depth = 0

        def on_error(self, file: str, line: int, msg: str) -> None:
            """A condition that pcpp cannot read is false on both sides."""

        def on_directive_handle(self, directive: Any, toks: Any, ifpassthru: bool, precedingtoks: Any) -> bool:
            if directive.value in ("error", "warning", "pragma", "line", "ident") and not (
                directive.value == "pragma" and toks and toks[0].value == "once"
            ):
                raise pcpp.OutputDirective(pcpp.Action.IgnoreAndPassThrough)
            return True

        def on_directive_unknown(self, directive: Any, toks: Any, ifpassthru: bool, precedingtoks: Any) -> None:
            return None

        def on_unknown_macro_in_defined_expr(self, tok: Any) -> bool:
            return False

        def on_unknown_macro_in_expr(self, ident: str) -> int:
            return int(ident == "true")

        def on_potential_include_guard(self, macro: Any) -> None:
            return None

        def evalexpr(self, tokens: Any) -> Any:
            return super().evalexpr(_answered(tokens, self.macros, calls))

        def include(self, tokens: Any, original_line: Any) -> Iterator[Any]:
            written = "".join(token.value for token in tokens if token.value.strip())
            target = case["includes"].get(self.source, {}).get(written)
            if target is None or self.depth > 60:
                yield from original_line
            elif target not in self.include_once:
                self.depth += 1
                yield from self.parsegen(case[side][target], target, target)
                self.depth -= 1

    return Reader()


def _answered(tokens: list[Any], macros: Mapping[str, Any], calls: int) -> list[Any]:
    """Return a condition in which every call of a macro that nobody defined is the number `calls`."""
    out: list[Any] = []
    position = 0
    while position < len(tokens):
        token = tokens[position]
        position += 1
        after = next((at for at in range(position, len(tokens)) if tokens[at].value.strip()), len(tokens))
        is_call = after < len(tokens) and tokens[after].value == "(" and re.match(r"[A-Za-z_]\w*\Z", token.value)
        if is_call and token.value != "defined" and token.value not in macros:
            depth, position = 1, after + 1
            while position < len(tokens) and depth:
                depth += (tokens[position].value == "(") - (tokens[position].value == ")")
                position += 1
            token.type, token.value = "CPP_INTEGER", str(calls)
        out.append(token)
    return out


def _limit(seconds: int) -> None:
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds + 2, seconds + 2))


def main() -> None:
    """Read the cases on standard input, print the answer on standard output."""
    asked = json.load(sys.stdin)
    _limit(asked["seconds"])
    deadline = time.monotonic() + asked["seconds"]
    compared, reason = 0, None
    for case in asked["cases"]:
        try:
            count, reason = compare(case, deadline)
        except TimeoutError:
            count, reason = 0, f"preprocessing took longer than {asked['seconds']} s"
        except MemoryError:
            count, reason = 0, "preprocessing needs too much memory"
        except Exception as error:
            count, reason = 0, f"pcpp cannot read {case['root']}: {type(error).__name__}: {error}"
        compared += count
        if reason:
            break
    print(json.dumps({"worlds": compared, "reason": reason}))


if __name__ == "__main__":
    main()
