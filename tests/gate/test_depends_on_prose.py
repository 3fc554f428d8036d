"""Prose that speaks of an order: suggested with its direction, never obeyed. The sentences are our own."""

from __future__ import annotations

import pytest

from relmgr.gate.depends_on import parse_declarations
from relmgr.model.order import OrderDeclarations
from relmgr.model.pull_request import PullRequestRef
from relmgr.settings import load_project

PROJECT = load_project("miopen-rocmlir")
THIS = PullRequestRef(repository="ROCm/MIOpen", number=1630)
URL = "https://github.com/ROCmSoftwarePlatform/llvm-project-mlir/pull/690"
MLIR = "ROCm/rocMLIR#690"
OWN = "ROCm/MIOpen#5"


def read(body: str, this: PullRequestRef = THIS) -> OrderDeclarations:
    found = parse_declarations(body, PROJECT, this)
    assert found.depends_on == found.merge_after == found.paired_with == (), "prose was obeyed"
    return found


def said(body: str) -> list[tuple[str, str]]:
    return [(s.direction, str(s.ref or (s.event and s.event.trailer()))) for s in read(body).suggestions]


AFTER = {
    f"The companion PR to {URL}, which should not be merged until that lands.": MLIR,
    f"This is the companion PR to {URL}\nand must not be merged until that\nlands.": MLIR,
    f"Companion of {URL}. Please do not merge before it is merged.": MLIR,
    "Requires #5 to land first.": OWN,
    "This depends on ROCm/rocMLIR#690 landing first": MLIR,
    "this PR depend on #5 be merged first": OWN,
    "It is dependent upon the header of ROCm/rocMLIR#690.": MLIR,
    "It must land AFTER ROCm/rocMLIR#690": MLIR,
    "Please do not merge until #5 lands!": OWN,
    "don't merge before #5": OWN,
    f"Blocked by {URL}": MLIR,
    f"blocked on: {URL}": MLIR,
    f"Once {URL} lands, this can go in.": MLIR,
    "stacked on #5": OWN,
    "Stacked on top of #5, so look at the last commit only.": OWN,
    "#5 must be merged before this.": OWN,
    "#5 is a prerequisite for this PR": OWN,
    "#5 blocks this": OWN,
    "Needs MLIR PR #690": MLIR,
    "This one waits for rocMLIR#690.": MLIR,
    "- [x] #4 merged\n- [ ] #5 merged\n": OWN,
    "## Depends on\n\n- [x] #4\n- [ ] #5\n": OWN,
    "Prerequisites:\n\n* #5\n": OWN,
    f"See {URL}. The pin points at that PR's branch for now.": MLIR,
}


@pytest.mark.parametrize(("body", "name"), AFTER.items())
def test_this_after_the_other(body: str, name: str) -> None:
    assert said(body) == [("this-after-other", name)]
    found = read(body)
    assert [(s.trailer, str(s.belongs_in)) for s in found.suggestions] == [(f"Depends-On: {name}", str(THIS))]
    assert found.not_understood == ()


BEFORE = {
    "This blocks #5.": OWN,
    "prerequisite for #5": OWN,
    "It is required by ROCm/rocMLIR#690": MLIR,
    "#5 depends on this": OWN,
    "rocMLIR#690 cannot be merged until this lands": MLIR,
    "Merge this before #5": OWN,
    f"Must land before {URL}": MLIR,
}


@pytest.mark.parametrize(("body", "name"), BEFORE.items())
def test_this_before_the_other(body: str, name: str) -> None:
    assert said(body) == [("this-before-other", name)]
    found = read(body).suggestions
    assert [(s.trailer, str(s.belongs_in)) for s in found] == [("Depends-On: ROCm/MIOpen#1630", name)]


@pytest.mark.parametrize(
    "body", [f"paired with {URL}", f"Must be merged together with {URL}", f"The companion PR is {URL}"]
)
def test_a_set_has_no_order(body: str) -> None:
    assert said(body) == [("paired", MLIR)]


def test_chains_are_split() -> None:
    this = PullRequestRef(repository="ROCm/rocMLIR", number=725)
    found = read("This blocks MIOpen#1673, which blocks #690, which blocks MIOpen PR #1630.", this).suggestions
    assert [(s.direction, str(s.ref), s.via and str(s.via)) for s in found] == [
        ("this-before-other", "ROCm/MIOpen#1673", None),
        ("this-before-other", "ROCm/rocMLIR#690", "ROCm/MIOpen#1673"),
        ("this-before-other", "ROCm/MIOpen#1630", "ROCm/rocMLIR#690"),
    ]
    assert [(s.trailer, str(s.belongs_in)) for s in found] == [
        ("Depends-On: ROCm/rocMLIR#725", "ROCm/MIOpen#1673"),
        ("Depends-On: ROCm/MIOpen#1673", "ROCm/rocMLIR#690"),
        ("Depends-On: ROCm/rocMLIR#690", "ROCm/MIOpen#1630"),
    ]


def test_a_chain_names_the_project_in_words() -> None:
    found = read("this blocks #5, which blocks MLIR PR #690").suggestions
    assert [(str(s.ref), s.via and str(s.via)) for s in found] == [(OWN, None), (MLIR, OWN)]


@pytest.mark.parametrize(
    "body",
    ["Merge order: #5 -> rocMLIR#690 -> this -> #7", "Merge order:\n\n1. #5\n2. rocMLIR#690\n3. this PR\n4. #7\n"],
)
def test_sequences(body: str) -> None:
    found = {(s.direction, str(s.ref), s.via and str(s.via)) for s in read(body).suggestions}
    assert found == {
        ("this-after-other", MLIR, None),
        ("this-after-other", OWN, MLIR),
        ("this-before-other", "ROCm/MIOpen#7", None),
    }


def test_between_two() -> None:
    expected = [("this-after-other", OWN), ("this-before-other", MLIR)]
    assert said("It must merge after #5 and before ROCm/rocMLIR#690.") == expected


EVENTS = {
    "Merge after MIOpen branches for ROCm 5.3.": "Merge-After: cut rocm-5.3",
    "To be merged after MIOpen\nbranches for ROCm 5.3": "Merge-After: cut rocm-5.3",
    "not before the 5.2 branch": "Merge-After: cut rocm-5.2",
    "Wait for the branch for ROCm 5.3, and keep both paths.": "Merge-After: cut rocm-5.3",
    "Can land once release/rocm-rel-5.3 is cut": "Merge-After: cut rocm-5.3",
    "Merge this once the commit pointer is updated.": "Merge-After: pin REF",
    "after the pin moves to rocm-5.4.0": "Merge-After: pin rocm-5.4.0",
    "Do not merge before 2022-08-20.": "Merge-After: date 2022-08-20",
}


@pytest.mark.parametrize(("body", "trailer"), EVENTS.items())
def test_events(body: str, trailer: str) -> None:
    assert said(body) == [("this-after-event", trailer)]


NO_ORDER = [
    "Follow-up to #5.",
    "This is superseded by #5",
    "Supersedes #5 and #6",
    "DO NOT MERGE",
    "DO NOT MERGE: a test of #5",
    "This depends on hip-clr and half.",
    "It would be better to merge those first.",
    "It would be nicer to merge #5 first",
    "Ideally this lands after #5",
    "This no longer depends on #5.",
    "It is not blocked by #5",
    "Fixes #5",
    "See also rocMLIR#690 and #5.",
    "Released after 5.3 was branched",
    "- [x] Depends on #5",
]


@pytest.mark.parametrize("body", NO_ORDER)
def test_what_is_no_order(body: str) -> None:
    assert read(body) == OrderDeclarations()


@pytest.mark.parametrize(
    "body",
    [
        "If #5 lands first, this needs a rebase",
        "Does this depend on #5?",
        "#5 depends on #6",
        "Blocked by https://github.com/ROCm/MIOpen/issues/5",
        "depends on https://github.com.evil.example/ROCm/MIOpen/pull/5",
        "Do not merge until that lands.",
        "Merge order:\n\n1. #5\n2. #6\n",
    ],
)
def test_m4_what_was_not_understood_is_reported(body: str) -> None:
    found = read(body)
    assert found.suggestions == ()
    assert len(found.not_understood) == 1


def test_the_sentence_is_quoted_alone() -> None:
    body = f"First a word.\nThen: this depends on\n[the compiler]({URL}). And **more**, e.g. this."
    assert [s.sentence for s in read(body).suggestions] == ["Then: this depends on the compiler."]


def test_what_a_trailer_says_is_not_suggested_again() -> None:
    body = (
        f"Must not merge until {URL} lands.\n\nDepends-On: {MLIR}\nMerge-After: cut rocm-5.3\n\nAfter the 5.3 branch."
    )
    found = parse_declarations(body, PROJECT, THIS)
    assert [str(one.ref) for one in found.depends_on] == [MLIR]
    assert found.suggestions == found.not_understood == ()


def test_lines_without_full_stops_are_sentences_of_their_own() -> None:
    assert said("Depends on #5\nBlocks rocMLIR#690") == [("this-after-other", OWN), ("this-before-other", MLIR)]
