"""The convolution that a smoke kernel computes: dimensions, element types, and the shapes of its tensors.

Workers import this and the modules beside it, so they import nothing outside the standard library: a worker must be
ready in the time that its device needs anyway.
"""

from __future__ import annotations

from typing import NamedTuple

# What the consumer calls the three directions; each writes another tensor: output, input, filter.
DIRECTIONS = ("fwd", "bwd-data", "wrw")
DTYPES = ("f32", "f16", "bf16", "i8")
WRITTEN = {"fwd": 2, "bwd-data": 1, "wrw": 0}
TENSOR_NAMES = ("filter", "input", "output", "workspace")

Shape = tuple[int, int, int, int, int]


class Dimensions(NamedTuple):
    """A grouped convolution: batch, groups, channels in and out per group, image, filter, stride, padding, dilation."""

    n: int
    g: int
    c: int
    k: int
    h: int
    w: int
    y: int
    x: int
    sh: int
    sw: int
    ph: int
    pw: int
    dh: int
    dw: int

    @property
    def ho(self) -> int:
        """Height of the output."""
        return (self.h + 2 * self.ph - (self.dh * (self.y - 1) + 1)) // self.sh + 1

    @property
    def wo(self) -> int:
        """Width of the output."""
        return (self.w + 2 * self.pw - (self.dw * (self.x - 1) + 1)) // self.sw + 1


# No two extents are equal and nothing is symmetric, so that dimensions taken for one another change the result.
DEFAULT = Dimensions(n=2, g=3, c=4, k=5, h=7, w=8, y=3, x=2, sh=2, sw=1, ph=1, pw=0, dh=1, dw=2)


class Problem(NamedTuple):
    """A convolution with its direction, element type and memory layout; `tensors` is 4 with a workspace."""

    dimensions: Dimensions
    direction: str
    dtype: str
    layout: str
    tensors: int

    @property
    def written(self) -> int:
        """Index of the tensor that the kernel writes (beside the workspace)."""
        return WRITTEN[self.direction]

    def element_types(self) -> tuple[str, ...]:
        """Return the element type of each tensor: i8 results are i32, a workspace is f32."""
        types = [self.dtype] * 3
        if self.dtype == "i8":
            types[self.written] = "i32"
        return (*types, "f32")[: self.tensors]

    def shapes(self) -> tuple[Shape, ...]:
        """Return the sizes of each tensor in memory order, slowest first; a workspace has the filter's."""
        d = self.dimensions
        if self.layout == "NHWC":
            shapes = ((d.g, d.k, d.y, d.x, d.c), (d.n, d.h, d.w, d.g, d.c), (d.n, d.ho, d.wo, d.g, d.k))
        else:
            shapes = ((d.g, d.k, d.c, d.y, d.x), (d.n, d.g, d.c, d.h, d.w), (d.n, d.g, d.k, d.ho, d.wo))
        return (*shapes, shapes[0])[: self.tensors]

    def threads(self) -> int:
        """Return how many elements the kernel writes, one thread each."""
        return count(self.shapes()[self.written])


def count(shape: Shape) -> int:
    """Return the number of elements of a shape."""
    product = 1
    for size in shape:
        product *= size
    return product


def strides(shape: Shape) -> Shape:
    """Return the strides of a packed tensor, in elements."""
    _, b, c, d, e = shape
    return (b * c * d * e, c * d * e, d * e, e, 1)
