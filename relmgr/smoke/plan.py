"""Lay out the smoke matrix: kernels x arguments x element type x direction x memory layout. Pure.

Matching cells cover every asked-for element type, direction and layout in the forms the provider and the consumer use,
and the other descriptor forms once a direction. Mismatches are about arguments, not numbers: one element type and
layout, each direction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from relmgr.errors import UserError
from relmgr.model.base import Convention, Noun
from relmgr.model.kernargs import ArgumentForm, ArgumentLayout, Packing
from relmgr.model.smoke import BackendName, Direction, DType, MemoryLayout, RuntimeKind, SmokeCell, SmokePlan
from relmgr.model.smoke_report import CaseOutcome

ALL_DTYPES: tuple[DType, ...] = ("f32", "f16", "bf16", "i8")
ALL_LAYOUTS: tuple[MemoryLayout, ...] = ("NCHW", "NHWC")
# A direction as people name it, and what it stands for: with a workspace there are four tensors.
DIRECTIONS: dict[str, tuple[Direction, int]] = {
    "fwd": ("fwd", 3),
    "bwd-data": ("bwd-data", 3),
    "wrw": ("wrw", 3),
    "wrw-workspace": ("wrw", 4),
}

# Anything but `right`: what AMD's runtime does with a wrong buffer has not been measured.
_ANYTHING_WRONG: tuple[CaseOutcome, ...] = (
    "illegal-address",
    "launch-refused",
    "hang",
    "wrong-result",
    "no-op",
    "host-crash",
)


class Selection(Noun):
    """What a person asked for; `directions` by their names in `DIRECTIONS`. `main_forms` leaves rarer forms out."""

    dtypes: tuple[DType, ...] = ALL_DTYPES
    directions: tuple[str, ...] = tuple(DIRECTIONS)
    layouts: tuple[MemoryLayout, ...] = ALL_LAYOUTS
    main_forms: bool = False
    mismatches: bool = True


def plan_matrix(
    selection: Selection,
    conventions: Mapping[int, Convention],
    abi: int,
    backend: BackendName,
    runtime: RuntimeKind,
    *,
    arch: str | None = None,
    packing: Packing = "exact",
    launch_mismatches: bool = False,
) -> SmokePlan:
    """Return the matrix for one back end.

    `conventions` are the contract's (number to convention), and `abi` the number under test. Of several numbers with
    one convention the newest stands for all, unless `abi` is one of them. `packing` is what the runtime is handed in
    matching cells. Raises `UserError` when the number's convention is not known.
    """
    numbers = representatives(conventions, abi)
    builder = _Builder(numbers, runtime, packing)
    cells = list(builder.matching(selection))
    if selection.mismatches:
        cells += builder.mismatches(selection)
    return SmokePlan(
        backend=backend,
        runtime=runtime,
        arch=arch,
        abi=abi,
        launch_mismatches=launch_mismatches,
        cells=tuple(dict.fromkeys(cells)),
        left_out=tuple(builder.left_out),
    )


def ends_of_a_wrong_launch(runtime: RuntimeKind) -> tuple[CaseOutcome, ...]:
    """Return what a kernel that is not ours may end in when it is launched with another convention's arguments."""
    return _ANYTHING_WRONG if runtime == "amd" else ("illegal-address", "launch-refused", "wrong-result")


def representatives(conventions: Mapping[int, Convention], abi: int) -> dict[Convention, int]:
    """Return one number for each convention: the newest, or `abi` for its own. Raises `UserError` for unknown ones."""
    if conventions.get(abi) not in ("memref-descriptor", "bare-pointer"):
        known = ", ".join(f"{number} ({what})" for number, what in sorted(conventions.items())) or "none"
        raise UserError(
            f"the convention of number {abi} is not known",
            next_step=f"use --abi with one of: {known}; or add it to the contract's `conventions`",
        )
    numbers = {convention: number for number, convention in sorted(conventions.items())}
    return numbers | {conventions[abi]: abi}


class _Builder:
    """Builds cells for one runtime; `old` and `new` are the numbers of the two conventions, if there are."""

    def __init__(self, numbers: Mapping[Convention, int], runtime: RuntimeKind, packing: Packing) -> None:
        self.old = numbers.get("memref-descriptor")
        self.new = numbers.get("bare-pointer")
        self.runtime, self.packing = runtime, packing
        self.left_out: list[str] = []

    def matching(self, selection: Selection) -> Iterator[SmokeCell]:
        """Yield the cells that must be right."""
        for number, form, bits in ((self.old, "expanded", 32), (self.new, "bare", None)):
            for direction in selection.directions if number is not None else ():
                for dtype in selection.dtypes:
                    for layout in selection.layouts:
                        yield self._right(number or 0, form, bits, False, dtype, direction, layout)
        if self.old is None or selection.main_forms:
            return
        rarer: list[tuple[ArgumentForm, int, bool]] = [("expanded", 32, True), ("by-value", 32, False)]
        wide: list[tuple[ArgumentForm, int, bool]] = [("expanded", 64, False), ("by-value", 64, True)]
        if self.packing == "miopen":
            self.left_out.append("descriptors with a 64-bit index: the consumer hands over 32-bit ones only")
        else:
            rarer += wide
        for direction in selection.directions:
            for form, bits, sizes in rarer:
                yield self._right(self.old, form, bits, sizes, selection.dtypes[0], direction, selection.layouts[0])

    def mismatches(self, selection: Selection) -> Iterator[SmokeCell]:
        """Yield the cells that the static gate must refuse."""
        where = (selection.dtypes[0], selection.layouts[0])
        for direction in selection.directions:
            tensors = DIRECTIONS[direction][1]
            narrow, wide = (_layout("expanded", bits, tensors) for bits in (32, 64))
            by_value, bare = _layout("by-value", 32, tensors), _layout("bare", None, tensors)
            if self.old is not None and self.new is not None:
                old_new, new_old = (self.old, self.new), (self.new, self.old)
                yield self._wrong(old_new, narrow, bare, direction, where, {"cuda": "illegal-address"})
                yield self._wrong(old_new, narrow, bare, direction, where, {"cuda": "no-op"}, sizes=True)
                yield self._wrong(
                    old_new, narrow, bare, direction, where, dict.fromkeys(("cuda", "host"), "wrong-result"), pad=True
                )
                yield self._wrong(new_old, bare, narrow, direction, where, {"cuda": "launch-refused"})
            if self.old is not None:
                same = (self.old, self.old)
                yield self._wrong(same, by_value, wide, direction, where, {"cuda": "illegal-address"}, cut=True)
                yield self._wrong(same, narrow, wide, direction, where, {"cuda": "launch-refused"})
                yield self._wrong(same, wide, narrow, direction, where, {"cuda": "illegal-address"})
            if self.new is not None and tensors == 4:
                # The pointer that is missing is zero where nothing else was left in its place.
                three = _layout("bare", None, 3)
                yield self._wrong((self.new, self.new), bare, three, direction, where, {})

    def _right(
        self,
        number: int,
        form: str,
        bits: int | None,
        sizes: bool,
        dtype: DType,
        direction: str,
        layout: MemoryLayout,
    ) -> SmokeCell:
        name, tensors = DIRECTIONS[direction]
        arguments = _layout(form, bits, tensors)
        return SmokeCell(
            kernel_abi=number,
            argument_abi=number,
            kernel=arguments,
            arguments=arguments,
            reads_sizes=sizes,
            packing=self.packing,
            dtype=dtype,
            direction=name,
            layout=layout,
            matching=True,
            expected=("right",),
        )

    def _wrong(
        self,
        numbers: tuple[int, int],
        kernel: ArgumentLayout,
        arguments: ArgumentLayout,
        direction: str,
        where: tuple[DType, MemoryLayout],
        ends: Mapping[str, CaseOutcome],
        *,
        sizes: bool = False,
        pad: bool = False,
        cut: bool = False,
    ) -> SmokeCell:
        """Return a mismatch; a runtime that `ends` does not name runs into an address that is none."""
        outcome: CaseOutcome = ends.get(self.runtime, "illegal-address")
        return SmokeCell(
            kernel_abi=numbers[0],
            argument_abi=numbers[1],
            kernel=kernel,
            arguments=arguments,
            reads_sizes=sizes,
            cut=cut,
            packing="padded" if pad else self._packing_of(arguments, cut),
            dtype=where[0],
            direction=DIRECTIONS[direction][0],
            layout=where[1],
            matching=False,
            expected=_ANYTHING_WRONG if self.runtime == "amd" else (outcome,),
        )

    def _packing_of(self, arguments: ArgumentLayout, cut: bool) -> Packing:
        return "exact" if cut or arguments.index_bits == 64 else self.packing


def _layout(form: str, bits: int | None, tensors: int) -> ArgumentLayout:
    return ArgumentLayout.model_validate({"form": form, "index_bits": bits, "tensors": tensors})


def check_selection(
    dtypes: Sequence[str],
    directions: Sequence[str],
    layouts: Sequence[str],
    *,
    main_forms: bool = False,
    mismatches: bool = True,
) -> Selection:
    """Return the selection that these names make; none of a kind means all of it."""
    return Selection.model_validate(
        {
            "dtypes": tuple(dtypes) or ALL_DTYPES,
            "directions": tuple(directions) or tuple(DIRECTIONS),
            "layouts": tuple(layouts) or ALL_LAYOUTS,
            "main_forms": main_forms,
            "mismatches": mismatches,
        }
    )
