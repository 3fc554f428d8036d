"""Declared order against actual merges (P13), with the 2022 chain as its example."""

from __future__ import annotations

from relmgr.gate.declared_order import order_facts
from relmgr.model.base import Outcome
from relmgr.model.pull_request import PullRequest
from relmgr.resources import shipped
from relmgr.settings import load_project
from relmgr.workflows.order import read_pulls

PROJECT = load_project("miopen-rocmlir")


def told(pulls: tuple[PullRequest, ...]) -> set[tuple[str, str, str]]:
    return {(f.before, f.after, f.outcome.value) for f in order_facts(PROJECT, pulls)}


def test_p13_the_chain_of_2022() -> None:
    pulls = read_pulls(shipped("policies") / "recorded" / "pull_requests_2022.json")
    assert told(pulls) == {
        ("ROCm/rocMLIR#725", "ROCm/MIOpen#1673", "unknown"),
        ("ROCm/MIOpen#1673", "ROCm/rocMLIR#690", "unknown"),
        ("ROCm/rocMLIR#690", "ROCm/MIOpen#1630", "unknown"),
        # Between two whose times are known stands one whose time is not: the chain still says their order.
        ("ROCm/MIOpen#1673", "ROCm/MIOpen#1630", "failed"),
    }
    (violated,) = [f for f in order_facts(PROJECT, pulls) if f.outcome is Outcome.FAILED]
    assert violated.declared_in == "ROCm/MIOpen#1673 before ROCm/rocMLIR#690 before ROCm/MIOpen#1630"
    assert violated.before_merged_at is not None
    assert violated.after_merged_at is not None
    assert violated.before_merged_at > violated.after_merged_at


def pull(number: int, body: str | None = None, merged: str | None = None) -> PullRequest:
    fields = {"repository": "ROCmSoftwarePlatform/MIOpen", "number": number, "base": "develop", "body": body}
    return PullRequest.model_validate(fields | {"state": "merged", "merged_at": merged})


def test_a_trailer_that_was_kept_passes_under_a_former_name() -> None:
    first = pull(1, merged="2022-01-01T00:00:00Z")
    second = pull(2, "Depends-On: ROCm/MIOpen#1", "2022-01-02T00:00:00Z")
    assert told((first, second)) == {("ROCm/MIOpen#1", "ROCm/MIOpen#2", "passed")}
    swapped = (
        first.model_copy(update={"merged_at": second.merged_at}),
        second.model_copy(update={"merged_at": first.merged_at}),
    )
    assert told(swapped) == {("ROCm/MIOpen#1", "ROCm/MIOpen#2", "failed")}


def test_a_chain_through_two_unknown_times_and_a_cycle_end() -> None:
    pulls = (
        pull(1, "Depends-On: #2", "2022-01-01T00:00:00Z"),
        pull(2, "Depends-On: #3"),
        pull(3, "Depends-On: #4\nDepends-On: #2"),
        pull(4, None, "2022-02-01T00:00:00Z"),
    )
    assert ("ROCm/MIOpen#4", "ROCm/MIOpen#1", "failed") in told(pulls)
