"""Numbers as a device holds them: draw inputs, poison outputs, put guard bands around both, and read them back."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Sequence

BYTES = {"f32": 4, "f16": 2, "bf16": 2, "i8": 1, "i32": 4}
GUARD_BYTES = 256
# Not-a-numbers with a payload, and an integer that no convolution of ours reaches: what no kernel writes by itself.
POISON = {
    "f32": struct.pack("<I", 0x7FC5A5A5),
    "f16": struct.pack("<H", 0x7EA5),
    "bf16": struct.pack("<H", 0x7FD5),
    "i32": struct.pack("<I", 0x85A5A5A5),
    "i8": b"\xa5",
}


def draw(dtype: str, size: int, chance: random.Random) -> bytes:
    """Return `size` fresh random elements."""
    if dtype == "i8":
        return chance.randbytes(size)
    if dtype == "i32":
        # What an i8 convolution reads as i32 it never does: only its result is. Kept small all the same.
        return struct.pack(f"<{size}i", *(chance.randrange(-128, 128) for _ in range(size)))
    return encode(dtype, [chance.uniform(-1.0, 1.0) for _ in range(size)])


def encode(dtype: str, numbers: Sequence[float]) -> bytes:
    """Return floats as elements of `dtype`, rounded to nearest even."""
    size = len(numbers)
    if dtype == "f32":
        return struct.pack(f"<{size}f", *numbers)
    if dtype == "f16":
        return struct.pack(f"<{size}e", *numbers)
    if dtype == "bf16":
        wide = struct.unpack(f"<{size}I", struct.pack(f"<{size}f", *numbers))
        return struct.pack(f"<{size}H", *((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 for bits in wide))
    return struct.pack(f"<{size}{'b' if dtype == 'i8' else 'i'}", *(int(number) for number in numbers))


def decode(dtype: str, data: bytes) -> Sequence[float]:
    """Return elements as numbers, exactly."""
    size = len(data) // BYTES[dtype]
    if dtype == "bf16":
        halves = struct.unpack(f"<{size}H", data)
        return struct.unpack(f"<{size}f", struct.pack(f"<{size}I", *(half << 16 for half in halves)))
    return struct.unpack(f"<{size}{ {'f32': 'f', 'f16': 'e', 'i8': 'b', 'i32': 'i'}[dtype] }", data)


def poison(dtype: str, size: int) -> bytes:
    """Return `size` elements that say: nobody has written here."""
    return POISON[dtype] * size


def count_poison(dtype: str, data: bytes) -> int:
    """Return how many elements are poison still."""
    width = BYTES[dtype]
    if POISON[dtype] not in data:
        return 0
    return sum(data[at : at + width] == POISON[dtype] for at in range(0, len(data), width))


def relative_error(result: Sequence[float], reference: Sequence[float]) -> float:
    """Return ||result - reference|| / ||reference||; infinity where a result is not a finite number."""
    difference = sum((a - b) * (a - b) for a, b in zip(result, reference, strict=True))
    scale = sum(b * b for b in reference)
    if not math.isfinite(difference):
        return math.inf
    return math.sqrt(difference / scale) if scale else math.sqrt(difference)
