"""Judge a launch by everything it left behind: the result, what is still poison, the guard bands, the inputs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from relmgr.smoke.kernels.problem import TENSOR_NAMES, Problem, count
from relmgr.smoke.kernels.reference import convolve
from relmgr.smoke.kernels.tensors import BYTES, GUARD_BYTES, count_poison, decode, draw, poison, relative_error

# Relative error in the 2-norm below which a result is right; integers are exact.
TOLERANCE = {"f32": 1e-5, "f16": 1e-2, "bf16": 1e-2, "i8": 0.0}
WORKSPACE_TOLERANCE = 1e-5


class Judgement(NamedTuple):
    """`outcome` is `right`, `wrong-result` or `no-op`; `detail` says what was seen."""

    outcome: str
    error_norm: float | None
    detail: str


class Trial(NamedTuple):
    """What is copied to the device before a launch: for each tensor guard band, content, guard band."""

    problem: Problem
    images: tuple[bytes, ...]

    def written(self) -> tuple[int, ...]:
        """Return the indexes of the tensors the kernel writes."""
        return (self.problem.written, 3) if self.problem.tensors == 4 else (self.problem.written,)


def prepare(problem: Problem, chance: random.Random) -> Trial:
    """Return fresh random inputs, poisoned outputs, and random guard bands around all of them."""
    images = []
    for index, (dtype, shape) in enumerate(zip(problem.element_types(), problem.shapes(), strict=True)):
        size = count(shape)
        content = poison(dtype, size) if index in (problem.written, 3) else draw(dtype, size, chance)
        images.append(chance.randbytes(GUARD_BYTES) + content + chance.randbytes(GUARD_BYTES))
    return Trial(problem, tuple(images))


def judge(trial: Trial, after: Sequence[bytes]) -> Judgement:
    """Return what the launch did, from the tensors' images `after` it."""
    problem, written = trial.problem, trial.written()
    if all(before == now for before, now in zip(trial.images, after, strict=True)):
        return Judgement("no-op", None, "nothing was written")
    stray = [_stray(index, trial.images[index], after[index], index in written) for index in range(problem.tensors)]
    notes = [note for note in stray if note]
    types = problem.element_types()
    contents = [image[GUARD_BYTES:-GUARD_BYTES] for image in after]
    for index in written:
        if left := count_poison(types[index], contents[index]):
            total = len(contents[index]) // BYTES[types[index]]
            notes.append(f"{left} of {total} elements of the {TENSOR_NAMES[index]} were not written")
    inputs = [image[GUARD_BYTES:-GUARD_BYTES] for image in trial.images]
    reference = convolve(problem, [decode(dtype, data) for dtype, data in zip(types[:3], inputs, strict=False)])
    error = relative_error(decode(types[problem.written], contents[problem.written]), reference)
    if not error <= TOLERANCE[problem.dtype]:
        notes.append(f"relative error {error:.2g}, more than {TOLERANCE[problem.dtype]:g}")
    if 3 in written:
        worst = relative_error(decode("f32", contents[3]), reference)
        if not worst <= WORKSPACE_TOLERANCE:
            notes.append(f"relative error {worst:.2g} in the workspace")
    if notes:
        return Judgement("wrong-result", error, "; ".join(notes))
    return Judgement("right", error, "")


def _stray(index: int, before: bytes, after: bytes, may_change: bool) -> str:
    """Return a note about bytes of one tensor that nobody may write and somebody did."""
    name = TENSOR_NAMES[index]
    if before[:GUARD_BYTES] != after[:GUARD_BYTES] or before[-GUARD_BYTES:] != after[-GUARD_BYTES:]:
        return f"the guard band of the {name} was overwritten"
    if not may_change and before != after:
        return f"the {name} is an input and was overwritten"
    return ""
