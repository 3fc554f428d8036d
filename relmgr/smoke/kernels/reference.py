"""The convolution in float64, and exactly in integers, by its definition: nothing here is shared with the kernels."""

from __future__ import annotations

from collections.abc import Sequence

from relmgr.smoke.kernels.problem import Problem, Shape, strides

Numbers = Sequence[float]

# Where (filter: g k c y x; input: n g c h w; output: n g k h w) stand in memory order.
_ORDER = {
    "NCHW": ((0, 1, 2, 3, 4), (0, 1, 2, 3, 4), (0, 1, 2, 3, 4)),
    "NHWC": ((0, 1, 4, 2, 3), (0, 3, 4, 1, 2), (0, 3, 4, 1, 2)),
}


def convolve(problem: Problem, tensors: Sequence[Numbers]) -> list[float]:
    """Return the tensor that `problem` writes, in memory order, from the two that it reads.

    `tensors` are filter, input, output; the one that is written is not looked at.
    """
    d = problem.dimensions
    fil_at, inp_at, out_at = (
        _logical_strides(shape, order)
        for shape, order in zip(problem.shapes()[:3], _ORDER[problem.layout], strict=True)
    )
    rows = _taps(d.ho, d.y, d.h, d.sh, d.ph, d.dh)
    columns = _taps(d.wo, d.x, d.w, d.sw, d.pw, d.dw)
    size = 1
    for extent in problem.shapes()[problem.written]:
        size *= extent
    sums = [0.0] * size
    # Each tap of the window adds one product; which tensor takes it is the direction.
    one, two = (tensors[index] for index in range(3) if index != problem.written)
    for n in range(d.n):
        for g in range(d.g):
            for k in range(d.k):
                for c in range(d.c):
                    fil = g * fil_at[0] + k * fil_at[1] + c * fil_at[2]
                    inp = n * inp_at[0] + g * inp_at[1] + c * inp_at[2]
                    out = n * out_at[0] + g * out_at[1] + k * out_at[2]
                    for ho, y, h in rows:
                        f, i, o = fil + y * fil_at[3], inp + h * inp_at[3], out + ho * out_at[3]
                        if problem.written == 2:
                            for wo, x, w in columns:
                                sums[o + wo * out_at[4]] += one[f + x * fil_at[4]] * two[i + w * inp_at[4]]
                        elif problem.written == 1:
                            for wo, x, w in columns:
                                sums[i + w * inp_at[4]] += one[f + x * fil_at[4]] * two[o + wo * out_at[4]]
                        else:
                            for wo, x, w in columns:
                                sums[f + x * fil_at[4]] += one[i + w * inp_at[4]] * two[o + wo * out_at[4]]
    return sums


def _logical_strides(shape: Shape, order: tuple[int, ...]) -> tuple[int, ...]:
    packed = strides(shape)
    return tuple(packed[position] for position in order)


def _taps(out: int, window: int, size: int, stride: int, padding: int, dilation: int) -> list[tuple[int, int, int]]:
    """Return (output place, window place, input place) of every product along one dimension."""
    taps = []
    for o in range(out):
        for f in range(window):
            i = o * stride - padding + f * dilation
            if 0 <= i < size:
                taps.append((o, f, i))
    return taps
