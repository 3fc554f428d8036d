"""Smoke reports: what a smoke run proved, bound to a pin, an ABI number, an arch and a head commit."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from relmgr.model.base import Noun

CaseOutcome = Literal[
    "right",
    "layout-refused",
    "illegal-address",
    "launch-refused",
    "hang",
    "wrong-result",
    "no-op",
    "host-crash",
    "error",
]


class SmokeCase(Noun):
    """One cell of the matrix: a kernel under one argument convention, called with arguments of another or the same.

    `outcome` is what the launch ended in (`launched`), or what kept it from being launched; `expected` the outcomes it
    may have. `detail` says what was seen, in words. `index_bits` are the kernel's, or its arguments' if it has none.
    """

    kernel_abi: int
    argument_abi: int
    kernel_form: str
    argument_form: str
    index_bits: int | None
    tensors: int
    packing: Literal["miopen", "exact", "padded"]
    dtype: str
    direction: str
    layout: str
    static: Literal["same", "differs", "unreadable"]
    launched: bool
    outcome: CaseOutcome
    error_norm: float | None
    seconds: float
    expected: tuple[CaseOutcome, ...] = ()
    detail: str | None = None


class SmokeReport(Noun):
    """The document of `smoke run`. `double` names a test double that stood in for the device's runtime, if one did."""

    backend: Literal["hip", "cuda", "cpu"]
    double: str | None
    emulated: bool
    device: str | None
    arch: str
    driver: str | None
    pin: str
    abi: int
    head: str | None = None
    taken_at: datetime | None = None
    cases: tuple[SmokeCase, ...] = ()
    verdict: Literal["passed", "failed"]
    signature: str | None = None


class SignedReport(Noun):
    """A report and what its signature said: True holds, False does not, None was not signed or not checked."""

    report: SmokeReport
    signed: bool | None
    source: str = ""
