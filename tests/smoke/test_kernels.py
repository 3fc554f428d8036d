"""The portable source, its 16-bit floats, the reference and the judge."""

from __future__ import annotations

import ctypes
import math
import random
import struct
import subprocess
from pathlib import Path

import pytest

from relmgr.model.kernargs import ArgumentLayout, TensorShape
from relmgr.smoke.host_table import read_host_table
from relmgr.smoke.kernargs import pack_arguments
from relmgr.smoke.kernels.judge import judge, prepare
from relmgr.smoke.kernels.problem import DEFAULT, DTYPES, Dimensions, Problem, count, strides
from relmgr.smoke.kernels.reference import convolve
from relmgr.smoke.kernels.source import Variant, write_source
from relmgr.smoke.kernels.tensors import GUARD_BYTES, count_poison, decode, encode, poison, relative_error
from relmgr.smoke.static_gate import compare_layouts
from relmgr.sources.code_objects.code_object import read_code_object
from tests.support.services import need

KERNELS = Path(__file__).parents[2] / "relmgr/smoke/kernels"
EVERY = [
    Variant(Problem(DEFAULT, direction, dtype, layout, tensors), form, bits, dynamic)
    for direction, tensors in (("fwd", 3), ("bwd-data", 3), ("wrw", 3), ("wrw", 4))
    for dtype in DTYPES
    for layout in ("NCHW", "NHWC")
    for form, bits, dynamic in (
        ("bare", None, False),
        ("expanded", 32, False),
        ("expanded", 32, True),
        ("expanded", 64, False),
        ("by-value", 32, False),
        ("by-value", 64, True),
    )
]


def check_layouts(kernels: dict[str, object], variants: list[Variant]) -> None:
    """Every kernel, as a compiler laid it out, takes exactly the buffer that is packed for it."""
    assert set(kernels) == {variant.name for variant in variants}
    for variant in variants:
        problem = variant.problem
        layout = ArgumentLayout(form=variant.form, index_bits=variant.index_bits, tensors=problem.tensors)  # type: ignore[arg-type]
        shapes = [TensorShape(sizes=shape, strides=strides(shape)) for shape in problem.shapes()]
        answer = compare_layouts(kernels[variant.name], pack_arguments(layout, shapes, "exact"))  # type: ignore[arg-type]
        assert answer.static == "same", (variant.name, answer.reasons)


def test_the_source_names_nothing_twice_and_includes_nothing() -> None:
    source = write_source([*EVERY, *EVERY])
    assert "#include" not in source
    assert source.count("#define SMOKE_NAME ") == len(EVERY) == 192
    assert len({variant.name for variant in EVERY}) == 192


def test_the_hosts_compiler_lays_out_what_is_packed(tmp_path: Path) -> None:
    (tmp_path / "k.c").write_text(write_source(EVERY))
    command = [need("cc", "gcc"), "-shared", "-fPIC", "-O0", "-Wall", "-Werror", "k.c", "-o", "k.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    found = read_host_table((tmp_path / "k.so").read_bytes())
    check_layouts({kernel.symbol: kernel for kernel in found.kernels}, EVERY)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
def test_amds_compiler_lays_out_what_is_packed(tmp_path: Path, arch: str) -> None:
    """clang's AMDGPU target, without a device and without HIP's headers."""
    some = [variant for variant in EVERY if (variant.problem.dtype, variant.problem.layout) == ("f32", "NCHW")]
    (tmp_path / "k.hip").write_text(write_source(some))
    need("ld.lld-19", "lld-19")
    target = ["-x", "hip", "--offload-device-only", "--no-gpu-bundle-output", f"--offload-arch={arch}"]
    plain = ["-nogpulib", "-nogpuinc", "-DSMOKE_WITHOUT_RUNTIME", "-O1", "-mcode-object-version=5"]
    subprocess.run([need("clang-19"), *target, *plain, "k.hip", "-o", "k.hsaco"], cwd=tmp_path, check=True)
    found = read_code_object((tmp_path / "k.hsaco").read_bytes())
    assert found.arch == arch
    check_layouts({kernel.symbol: kernel for kernel in found.kernels}, some)


CONVERSIONS = """
float from_f16(unsigned short half) { return smoke_from_f16(half); }
unsigned short to_f16(float value) { return smoke_to_f16(value); }
unsigned short to_bf16(float value) { return smoke_to_bf16(value); }
"""


@pytest.fixture(scope="module")
def conversions(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("conversions")
    (folder / "c.c").write_text((KERNELS / "prelude.c").read_text() + CONVERSIONS)
    subprocess.run([need("cc", "gcc"), "-shared", "-fPIC", "-O1", "c.c", "-o", "c.so"], cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / "c.so"))
    library.from_f16.restype = ctypes.c_float
    for name in ("to_f16", "to_bf16"):
        getattr(library, name).restype = ctypes.c_uint16
        getattr(library, name).argtypes = [ctypes.c_float]
    return library


def test_every_half_is_read_and_written_exactly(conversions: ctypes.CDLL) -> None:
    for half in range(1 << 16):
        (wanted,) = struct.unpack("<e", struct.pack("<H", half))
        found = conversions.from_f16(half)
        if math.isnan(wanted):
            assert math.isnan(found)
        else:
            assert (found, math.copysign(1, found)) == (wanted, math.copysign(1, wanted)), hex(half)
            assert conversions.to_f16(wanted) == half


def test_floats_are_rounded_to_the_nearest_even_half(conversions: ctypes.CDLL) -> None:
    seed = random.SystemRandom().getrandbits(32)
    print("seed", seed)
    chance = random.Random(seed)
    (smallest,) = struct.unpack("<e", b"\x01\x00")
    values = [chance.uniform(-4, 4) for _ in range(4000)] + [chance.uniform(-1, 1) * 2.0**-14 for _ in range(4000)]
    for value in [*values, smallest / 2, smallest * 1.5, 1 + 2**-11, 1 + 3 * 2**-11, 65519.0, -0.0]:
        (single,) = struct.unpack("<f", struct.pack("<f", value))
        assert conversions.to_f16(single) == struct.unpack("<H", struct.pack("<e", single))[0], value
    assert conversions.to_f16(65520.0) == 0x7C00
    assert conversions.to_f16(math.inf) == 0x7C00


def test_bf16_is_rounded_as_the_harness_rounds_it(conversions: ctypes.CDLL) -> None:
    assert conversions.to_bf16(1.0) == 0x3F80
    # Halfway between two: to the even one.
    assert conversions.to_bf16(struct.unpack("<f", struct.pack("<I", 0x3F808000))[0]) == 0x3F80
    assert conversions.to_bf16(struct.unpack("<f", struct.pack("<I", 0x3F818000))[0]) == 0x3F82
    chance = random.Random(7)
    values = [chance.uniform(-9, 9) for _ in range(2000)]
    assert [conversions.to_bf16(value) for value in values] == list(struct.unpack("<2000H", encode("bf16", values)))
    assert decode("bf16", b"\x80\x3f\x20\xc0") == (1.0, -2.5)


ONE = Dimensions(n=1, g=1, c=1, k=1, h=3, w=2, y=2, x=1, sh=1, sw=1, ph=0, pw=0, dh=1, dw=1)


def test_the_reference_on_a_convolution_done_by_hand() -> None:
    """Image (3 x 2) 1 2 / 3 4 / 5 6, filter (2 x 1) 10 / 1."""
    image, filter_, output = [1, 2, 3, 4, 5, 6], [10, 1], [7, 8, 9, 1]
    assert convolve(Problem(ONE, "fwd", "f32", "NCHW", 3), [filter_, image, ()]) == [13, 24, 35, 46]
    assert convolve(Problem(ONE, "bwd-data", "f32", "NCHW", 3), [filter_, (), output]) == [70, 80, 97, 18, 9, 1]
    assert convolve(Problem(ONE, "wrw", "f32", "NCHW", 3), [(), image, output]) == [7 + 16 + 27 + 4, 21 + 32 + 45 + 6]


def test_groups_padding_and_stride_by_hand() -> None:
    two = Dimensions(n=1, g=2, c=1, k=1, h=2, w=1, y=1, x=1, sh=2, sw=1, ph=1, pw=0, dh=1, dw=1)
    # Rows -1 (padding), 1: each group's second row, by its own filter; group 0 holds 1 2, group 1 holds 3 4.
    assert convolve(Problem(two, "fwd", "f32", "NCHW", 3), [[10, 100], [1, 2, 3, 4], ()]) == [0, 20, 0, 400]
    # The same numbers with channels last: image rows are (group 0, group 1) pairs.
    assert convolve(Problem(two, "fwd", "f32", "NHWC", 3), [[10, 100], [1, 3, 2, 4], ()]) == [0, 0, 20, 400]


def test_the_default_problem_has_no_two_equal_extents_in_a_tensor() -> None:
    for direction in ("fwd", "bwd-data", "wrw"):
        for shape in Problem(DEFAULT, direction, "f32", "NCHW", 3).shapes()[:2]:
            assert len(set(shape)) >= 4


class TestJudge:
    """Everything that a launch leaves behind counts."""

    @pytest.fixture
    def problem(self) -> Problem:
        return Problem(DEFAULT, "fwd", "f32", "NCHW", 3)

    def after(self, trial, *, output: bytes | None = None, damage: tuple[int, int] | None = None) -> list[bytes]:
        images = [bytearray(image) for image in trial.images]
        if output is not None:
            images[2][GUARD_BYTES:-GUARD_BYTES] = output
        if damage is not None:
            images[damage[0]][damage[1]] ^= 1
        return [bytes(image) for image in images]

    def right(self, trial) -> bytes:
        fil, inp = (decode("f32", trial.images[i][GUARD_BYTES:-GUARD_BYTES]) for i in (0, 1))
        return encode("f32", convolve(trial.problem, [fil, inp, ()]))

    def test_right(self, problem: Problem) -> None:
        trial = prepare(problem, random.Random(1))
        found = judge(trial, self.after(trial, output=self.right(trial)))
        assert found.outcome == "right"
        assert found.error_norm is not None
        assert 0 < found.error_norm < 1e-7

    def test_nothing_written_is_a_no_op(self, problem: Problem) -> None:
        trial = prepare(problem, random.Random(1))
        assert judge(trial, list(trial.images)).outcome == "no-op"

    def test_one_element_left_poisoned(self, problem: Problem) -> None:
        trial = prepare(problem, random.Random(1))
        found = judge(trial, self.after(trial, output=self.right(trial)[:-4] + poison("f32", 1)))
        assert found.outcome == "wrong-result"
        assert "1 of 720 elements of the output were not written" in found.detail

    @pytest.mark.parametrize(
        ("damage", "detail"),
        [
            ((2, 0), "the guard band of the output was overwritten"),
            ((2, -1), "the guard band of the output was overwritten"),
            ((0, GUARD_BYTES), "the filter is an input and was overwritten"),
            ((1, -GUARD_BYTES - 1), "the input is an input and was overwritten"),
        ],
    )
    def test_a_stray_write_beside_a_right_result(self, problem: Problem, damage: tuple[int, int], detail: str) -> None:
        trial = prepare(problem, random.Random(1))
        found = judge(trial, self.after(trial, output=self.right(trial), damage=damage))
        assert (found.outcome, found.detail) == ("wrong-result", detail)

    def test_a_not_a_number_never_passes(self, problem: Problem) -> None:
        trial = prepare(problem, random.Random(1))
        found = judge(trial, self.after(trial, output=self.right(trial)[:-4] + struct.pack("<f", math.nan)))
        assert found.outcome == "wrong-result"
        assert found.error_norm == math.inf

    def test_integers_are_exact(self) -> None:
        trial = prepare(Problem(DEFAULT, "fwd", "i8", "NCHW", 3), random.Random(1))
        fil, inp = (decode("i8", trial.images[i][GUARD_BYTES:-GUARD_BYTES]) for i in (0, 1))
        result = convolve(trial.problem, [fil, inp, ()])
        assert judge(trial, self.after(trial, output=encode("i32", result))).outcome == "right"
        result[0] += 1
        assert judge(trial, self.after(trial, output=encode("i32", result))).outcome == "wrong-result"

    def test_a_wrong_workspace_is_a_wrong_result(self) -> None:
        trial = prepare(Problem(DEFAULT, "wrw", "f32", "NCHW", 4), random.Random(1))
        inp, out = (decode("f32", trial.images[i][GUARD_BYTES:-GUARD_BYTES]) for i in (1, 2))
        right = encode("f32", convolve(trial.problem, [(), inp, out]))
        images = [bytearray(image) for image in trial.images]
        images[0][GUARD_BYTES:-GUARD_BYTES] = right
        images[3][GUARD_BYTES:-GUARD_BYTES] = right[4:] + right[:4]
        found = judge(trial, [bytes(image) for image in images])
        assert found.outcome == "wrong-result"
        assert "in the workspace" in found.detail
        images[3][GUARD_BYTES:-GUARD_BYTES] = right
        assert judge(trial, [bytes(image) for image in images]).outcome == "right"


def test_inputs_are_fresh_and_outputs_poisoned() -> None:
    problem = Problem(DEFAULT, "fwd", "bf16", "NHWC", 3)
    one, two = (prepare(problem, random.Random(seed)) for seed in (1, 2))
    assert all(a != b for a, b in zip(one.images, two.images, strict=True))
    content = one.images[2][GUARD_BYTES:-GUARD_BYTES]
    assert count_poison("bf16", content) == count(problem.shapes()[2])


def test_relative_error_by_hand() -> None:
    assert relative_error([3.0, 4.0], [3.0, 4.0]) == 0
    assert relative_error([3.0, 9.0], [3.0, 4.0]) == 1.0
    assert relative_error([0.5], [0.0]) == 0.5
    assert relative_error([math.inf], [1.0]) == math.inf
