"""The matrix: what is in it, what each cell must end in, and what it leaves out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relmgr.errors import UserError
from relmgr.smoke.plan import ALL_DTYPES, ALL_LAYOUTS, DIRECTIONS, Selection, plan_matrix

MIIR = {5: "memref-descriptor", 6: "bare-pointer"}
# MIGraphX: 1 is the old convention; 2 to 5 changed the API, not the convention.
DIALECT = {1: "memref-descriptor", 2: "bare-pointer", 3: "bare-pointer", 4: "bare-pointer", 5: "bare-pointer"}


def test_the_whole_matrix() -> None:
    plan = plan_matrix(Selection(), MIIR, 6, "cpu", "host")
    right = [cell for cell in plan.cells if cell.matching]
    # 2 conventions x 4 types x 4 directions x 2 layouts, and 4 more descriptor forms in each direction.
    assert len(right) == 64 + 16
    assert len(plan.cells) - len(right) == 29
    assert sum(cell.main_form for cell in right) == 64
    assert len({cell.key for cell in plan.cells}) == len(plan.cells)


@pytest.mark.parametrize(
    ("runtime", "ends"),
    [
        ("cuda", ["illegal-address", "no-op", "wrong-result", "launch-refused", "illegal-address"]),
        ("host", ["illegal-address", "illegal-address", "wrong-result", "illegal-address", "illegal-address"]),
    ],
)
def test_mismatches_end_as_measured(runtime: str, ends: list[str]) -> None:
    plan = plan_matrix(Selection(directions=("fwd",)), MIIR, 6, "cuda", runtime)  # type: ignore[arg-type]
    told = {
        (cell.kernel_abi, cell.kernel_form, cell.argument_abi, cell.packing, cell.cut): cell.expected
        for cell in plan.cells
        if not cell.matching and cell.kernel.form != cell.arguments.form
    }
    assert [told[key] for key in [
        (5, "expanded", 6, "exact", False),
        (5, "expanded+sizes", 6, "exact", False),
        (5, "expanded", 6, "padded", False),
        (6, "bare", 5, "exact", False),
        (5, "by-value", 5, "exact", True),
    ]] == [(end,) for end in ends]  # fmt: skip


def test_for_amd_nothing_is_claimed_but_that_no_mismatch_is_right() -> None:
    plan = plan_matrix(Selection(), MIIR, 6, "hip", "amd", packing="miopen")
    wrong = [cell for cell in plan.cells if not cell.matching]
    assert wrong
    for cell in wrong:
        assert "right" not in cell.expected
        assert "error" not in cell.expected
        assert len(cell.expected) == 6


def test_the_consumers_packing_leaves_wide_descriptors_out_and_says_so() -> None:
    plan = plan_matrix(Selection(), MIIR, 6, "hip", "amd", packing="miopen")
    assert not any(cell.matching and cell.kernel.index_bits == 64 for cell in plan.cells)
    assert {cell.packing for cell in plan.cells if cell.matching} == {"miopen"}
    assert plan.left_out == ("descriptors with a 64-bit index: the consumer hands over 32-bit ones only",)


def test_numbers_of_one_convention_are_no_mismatch() -> None:
    plan = plan_matrix(Selection(), DIALECT, 3, "cpu", "host")
    pairs = {(cell.kernel_abi, cell.argument_abi) for cell in plan.cells if cell.kernel_abi != cell.argument_abi}
    assert pairs == {(1, 3), (3, 1)}


def test_a_contract_with_one_convention_has_no_crossing_to_launch() -> None:
    plan = plan_matrix(Selection(directions=("fwd",)), {6: "bare-pointer"}, 6, "cpu", "host")
    assert {cell.kernel.form for cell in plan.cells} == {"bare"}
    assert all(cell.matching for cell in plan.cells)


def test_a_number_without_a_convention_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"5 \(memref-descriptor\), 6 \(bare-pointer\)"):
        plan_matrix(Selection(), MIIR, 7, "cpu", "host")


@given(
    dtypes=st.lists(st.sampled_from(ALL_DTYPES), min_size=1, unique=True),
    directions=st.lists(st.sampled_from(sorted(DIRECTIONS)), min_size=1, unique=True),
    layouts=st.lists(st.sampled_from(ALL_LAYOUTS), min_size=1, unique=True),
    main=st.booleans(),
    runtime=st.sampled_from(["cuda", "host", "amd"]),
    packing=st.sampled_from(["exact", "miopen"]),
)
def test_any_selection_gives_cells_of_its_own(dtypes, directions, layouts, main, runtime, packing) -> None:
    selection = Selection(dtypes=tuple(dtypes), directions=tuple(directions), layouts=tuple(layouts), main_forms=main)
    plan = plan_matrix(selection, MIIR, 6, "cuda", runtime, packing=packing)
    assert len({cell.key for cell in plan.cells}) == len(plan.cells)
    assert {cell.dtype for cell in plan.cells} <= set(dtypes)
    for cell in plan.cells:
        assert ("right" in cell.expected) == cell.matching
        assert cell.matching == (cell.kernel == cell.arguments)
