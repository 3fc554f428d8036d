"""The kernel ABI: is a change of it declared, and does the consumer keep the old path."""

from __future__ import annotations

from relmgr.gate.registry import NoParams, Result, check
from relmgr.model.abi import AbiDiff
from relmgr.model.base import Noun, Outcome
from relmgr.model.facts import GuardAt, GuardFact, PinMove
from relmgr.model.snapshot import Snapshot


class SurfaceSeen(Noun):
    """One header's change in short; counts are of the public surface. `says` is the header diff's own statement."""

    contract: str
    old: int | None
    new: int | None
    kernel_structs: tuple[str, ...]
    functions: tuple[str, ...]
    others: tuple[str, ...]
    says: str


class SurfaceEvidence(Noun):
    """Every changed header, and those that break the rule. `note` says what to confirm although the rule is kept."""

    surfaces: tuple[SurfaceSeen, ...]
    wrong: tuple[SurfaceSeen, ...]
    note: str = ""


@check("abi-number-declared")
def abi_number_declared(snapshot: Snapshot, params: NoParams) -> Result[SurfaceEvidence]:
    """A struct that a kernel receives does not change without a raised number."""
    seen = tuple(_seen(s.contract, s.diff) for s in snapshot.surfaces or ())
    wrong = tuple(s for s in seen if s.kernel_structs and _raised(s) is False)
    silent = [s.says for s in seen if _raised(s) and not (s.kernel_structs or s.functions or s.others)]
    unread = _unread_sides(snapshot) + tuple(
        f"{s.contract}: the number on both sides" for s in seen if s.kernel_structs and _raised(s) is None
    )
    outcome = Outcome.FAILED if wrong else Outcome.UNKNOWN if unread else Outcome.PASSED
    evidence = SurfaceEvidence(surfaces=seen, wrong=wrong, note="; ".join(silent))
    return Result(outcome, evidence, unread if outcome is Outcome.UNKNOWN else ())


@check("api-change-declared")
def api_change_declared(snapshot: Snapshot, params: NoParams) -> Result[SurfaceEvidence]:
    """Functions, enums and other structs do not change without a raised number."""
    seen = tuple(_seen(s.contract, s.diff) for s in snapshot.surfaces or ())
    changed = [s for s in seen if s.functions or s.others]
    wrong = tuple(s for s in changed if _raised(s) is False)
    unread = _unread_sides(snapshot) + tuple(
        f"{s.contract}: the number on both sides" for s in changed if _raised(s) is None
    )
    outcome = Outcome.FAILED if wrong else Outcome.UNKNOWN if unread else Outcome.PASSED
    return Result(outcome, SurfaceEvidence(surfaces=seen, wrong=wrong), unread if outcome is Outcome.UNKNOWN else ())


def _seen(contract: str, diff: AbiDiff) -> SurfaceSeen:
    functions: tuple[str, ...] = ()
    if diff.functions is not None:
        removed, added = diff.functions.removed, diff.functions.added
        functions = (*(f"-{f}" for f in removed), *(f"+{f}" for f in added), *(c.name for c in diff.functions.changed))
    others = [s.name for s in diff.structs or () if not s.kernel_facing] + [e.name for e in diff.enums or ()]
    return SurfaceSeen(
        contract=contract,
        old=diff.number.old,
        new=diff.number.new,
        kernel_structs=tuple(s.name for s in diff.structs or () if s.kernel_facing),
        functions=functions,
        others=tuple(others + [t.name for t in diff.typedefs or ()]),
        says=diff.statement,
    )


def _raised(seen: SurfaceSeen) -> bool | None:
    return None if seen.old is None or seen.new is None else seen.new > seen.old


def _unread_sides(snapshot: Snapshot) -> tuple[str, ...]:
    unread = [s for s in snapshot.surfaces or () if s.diff.structs is None or s.diff.functions is None]
    return tuple(f"{s.contract}: the header on both sides ({'; '.join(s.diff.notes) or 'not read'})" for s in unread)


class PathsSeen(Noun):
    """One contract's two paths. `guards` tell `old` and `new` apart after the change; `lost` did so only before."""

    contract: str
    macro: str
    old: int | None
    new: int | None
    guards: tuple[GuardAt, ...]
    lost: tuple[GuardAt, ...]


class PathsEvidence(Noun):
    """Every contract concerned, and those that lose a path."""

    paths: tuple[PathsSeen, ...]
    wrong: tuple[PathsSeen, ...]


@check("abi-bump-keeps-old-path")
def abi_bump_keeps_old_path(snapshot: Snapshot, params: NoParams) -> Result[PathsEvidence]:
    """The consumer's code tells the old number from the new one, and keeps a branch for each."""
    moves = {move.contract: move for move in snapshot.pin_moves or () if move.moves}
    seen = [_paths(fact, moves.get(fact.contract)) for fact in snapshot.guards or ()]
    unread = tuple(f"{s.contract}: the number on both sides" for s in seen if s.old is None)
    unread += tuple(f"guards: none was looked for on {c}" for c in moves if c and c not in {s.contract for s in seen})
    wrong = tuple(s for s in seen if s.lost or (s.contract in moves and s.new is not None and not s.guards))
    outcome = Outcome.FAILED if wrong else Outcome.UNKNOWN if unread else Outcome.PASSED
    evidence = PathsEvidence(paths=tuple(seen), wrong=wrong)
    return Result(outcome, evidence, unread if outcome is Outcome.UNKNOWN else ())


def _paths(fact: GuardFact, move: PinMove | None) -> PathsSeen:
    """Compare the two numbers of the move; without one, the pinned number and the other one that code is kept for."""
    old, new = (move.abi.old, move.abi.new) if move and move.abi else (fact.pinned, _other(fact))
    if move and new is None:
        old = None
    if old is None or new is None:
        return PathsSeen(contract=fact.contract, macro=fact.macro, old=old, new=None, guards=(), lost=())
    after = tuple(guard for guard in fact.after if guard.tells_apart(old, new))
    before = tuple(guard for guard in fact.before if guard.tells_apart(old, new))
    files, conditions = {guard.file for guard in after}, {guard.condition for guard in after}
    # A guard that went to another file is not lost.
    lost = tuple(guard for guard in before if guard.file not in files and guard.condition not in conditions)
    return PathsSeen(contract=fact.contract, macro=fact.macro, old=old, new=new, guards=after, lost=lost)


def _other(fact: GuardFact) -> int | None:
    """Return the number beside the pinned one that the code must still serve: the next one, or a supported one."""
    if fact.pinned is None:
        return None
    higher = [number for number in fact.numbers if number > fact.pinned]
    lower = [n for n in fact.numbers if n < fact.pinned and (fact.supported is None or n in fact.supported)]
    return min(higher, default=max(lower, default=None))


class DeadGuard(Noun):
    """A guard that is decided: at every number still supported it compiles the same branch."""

    file: str
    line: int
    condition: str
    always: bool


class DeadEvidence(Noun):
    """Guards that can go, and the numbers still supported."""

    dead: tuple[DeadGuard, ...]
    supported: dict[str, tuple[int, ...]]


@check("dead-guard-removable")
def dead_guard_removable(snapshot: Snapshot, params: NoParams) -> Result[DeadEvidence]:
    """No guard is left that every supported number decides the same way."""
    facts = snapshot.guards or ()
    unread = tuple(
        f"{fact.contract}: the numbers still supported (not every train says whether it is supported)"
        for fact in facts
        if not fact.supported
    )
    dead = tuple(
        DeadGuard(file=guard.file, line=guard.line, condition=guard.condition, always=bool(guard.live_at))
        for fact in facts
        for guard in fact.after
        if fact.supported and len({number in guard.live_at for number in fact.supported}) == 1
    )
    evidence = DeadEvidence(dead=dead, supported={fact.contract: fact.supported or () for fact in facts})
    outcome = Outcome.FAILED if dead else Outcome.UNKNOWN if unread else Outcome.PASSED
    return Result(outcome, evidence, unread if outcome is Outcome.UNKNOWN else ())
