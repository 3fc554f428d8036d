"""Smoke reports: did kernels under this pin run right, on this arch, at this head."""

from __future__ import annotations

from typing import Literal

from relmgr.gate.checks.databases import affected_archs
from relmgr.gate.registry import Result, check, worst
from relmgr.model.base import Noun, Outcome
from relmgr.model.facts import PinMove
from relmgr.model.smoke_report import SignedReport
from relmgr.model.snapshot import Snapshot


class SmokeParams(Noun):
    """`archs` that must be green; empty: those whose databases hold the provider's kernels."""

    archs: tuple[str, ...] = ()


class ArchSeen(Noun):
    """What is known of one arch under one pin. `packing_checked` counts reports that prove packing and nothing more.

    `unsigned` says of each report that would prove it why its signature does not count.
    """

    pin: str
    ref: str
    number: int | None
    arch: str
    standing: Literal["green", "red", "missing", "unsigned"]
    packing_checked: int
    unsigned: tuple[str, ...] = ()


class SmokeEvidence(Noun):
    """Every arch, and those that are not green."""

    head: str | None
    archs: tuple[ArchSeen, ...]
    red: tuple[ArchSeen, ...]
    missing: tuple[ArchSeen, ...]


_OUTCOMES = {
    "green": Outcome.PASSED,
    "red": Outcome.FAILED,
    "missing": Outcome.PENDING,
    "unsigned": Outcome.UNKNOWN,
}


@check("smoke-green")
def smoke_green(snapshot: Snapshot, params: SmokeParams) -> Result[SmokeEvidence]:
    """Every arch has a signed, green report for this pin, number and head, from a device of that arch."""
    archs = params.archs or affected_archs(snapshot)
    moves = [move for move in snapshot.pin_moves or () if move.moves and move.new and move.contract]
    seen = tuple(_arch(snapshot, move, arch) for move in moves for arch in archs or ())
    evidence = SmokeEvidence(
        head=snapshot.head,
        archs=seen,
        red=tuple(one for one in seen if one.standing == "red"),
        missing=tuple(one for one in seen if one.standing == "missing"),
    )
    if archs is None:
        return Result(Outcome.UNKNOWN, evidence, ("databases: which archs are concerned (or set `archs`)",))
    unread = tuple(
        f"smoke: a report of {one.arch} whose signature holds ({'; '.join(one.unsigned)})"
        for one in seen
        if one.standing == "unsigned"
    )
    outcome = worst(_OUTCOMES[one.standing] for one in seen)
    return Result(outcome, evidence, unread if outcome is Outcome.UNKNOWN else ())


def _arch(snapshot: Snapshot, move: PinMove, arch: str) -> ArchSeen:
    assert move.new is not None
    number = move.abi.new if move.abi else None
    about = [one for one in snapshot.smoke or () if _is_about(one, move, number, snapshot)]
    proving = [one for one in about if one.report.arch == arch and _ran_on_device(one)]
    signed = [one for one in proving if one.signed]
    standing: Literal["green", "red", "missing", "unsigned"] = "missing"
    if signed:
        standing = "green" if all(one.report.verdict == "passed" for one in signed) else "red"
    elif proving:
        standing = "unsigned"
    return ArchSeen(
        pin=move.pin,
        ref=move.new.ref,
        number=number,
        arch=arch,
        standing=standing,
        packing_checked=sum(
            one.signed is True and one.report.verdict == "passed" for one in about if one not in proving
        ),
        unsigned=tuple(_why_unsigned(one) for one in proving) if standing == "unsigned" else (),
    )


def _why_unsigned(one: SignedReport) -> str:
    name = one.source.replace("\\", "/").rpartition("/")[2] or "the report"
    if one.signed is False:
        return f"{name}: its signature does not hold"
    if one.report.signature:
        return f"{name}: signed, and no secret or allowed signers to check it by"
    return f"{name}: not signed"


def _is_about(one: SignedReport, move: PinMove, number: int | None, snapshot: Snapshot) -> bool:
    """Tell whether a report is bound to this pin, this number and this head; a report for less proves nothing here."""
    assert move.new is not None
    if snapshot.head is None:
        return False
    pins = {move.new.ref, move.new.resolved}
    return one.report.pin in pins and one.report.abi == number and one.report.head == snapshot.head


def _ran_on_device(one: SignedReport) -> bool:
    """Tell whether real hardware of that arch ran it: hip for AMD, cuda for NVIDIA, no test double, no emulation."""
    backend = "hip" if one.report.arch.startswith("gfx") else "cuda"
    return one.report.backend == backend and one.report.double is None and not one.report.emulated
