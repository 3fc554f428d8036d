"""What the option string of a row says."""

from __future__ import annotations

import pytest

from relmgr.settings import load_project
from relmgr.sources.databases.kernel_args import parse_options, parse_problem, solver_of

ROW = (
    " --x2 1 --operation conv2d_bwd_weight --kernel_id 0 --num_cu 120 --arch amdgcn-amd-amdhsa:gfx908:sramecc+:xnack-"
    " --groupsize 2 --fil_layout GNCHW --fil_type fp16 --in_layout NGCHW --out_layout NGCHW --in_type fp16"
    " --out_type fp16 --batchsize 128 --in_channels 64 --out_channels 256 --in_h 56 --in_w 57 --out_h 28 --out_w 29"
    " --fil_h 3 --fil_w 1 --dilation_h 1 --dilation_w 2 --conv_stride_h 2 --conv_stride_w 1 --padding_h 0 --padding_w 3"
    " --kernel_name mlir_gen_igemm_conv2d_v4r4_wrw_xdlops0 --perf_config 256,32,64,16,2,2"
)
SOLVERS = load_project("miopen-rocmlir").contracts["miir"].solvers


def test_a_whole_row() -> None:
    options = parse_options(ROW)
    assert options is not None
    problem = parse_problem(options, "mlir_gen_igemm_conv2d_v4r4_wrw_xdlops0.mlir.o", SOLVERS)
    assert problem.model_dump() == {
        "solver": "ConvMlirIgemmWrWXdlops",
        "direction": "wrw",
        "dtype": "fp16",
        "layout": "NCHW",
        "arch": "gfx908",
        "target": "amdgcn-amd-amdhsa:gfx908:sramecc+:xnack-",
        "xdlops": True,
        "num_cu": 120,
        "kernel_id": 0,
        "groups": 2,
        "batch": 128,
        "in_channels": 64,
        "out_channels": 256,
        "in_h": 56,
        "in_w": 57,
        "out_h": 28,
        "out_w": 29,
        "fil_h": 3,
        "fil_w": 1,
        "dilation_h": 1,
        "dilation_w": 2,
        "conv_stride_h": 2,
        "conv_stride_w": 1,
        "padding_h": 0,
        "padding_w": 3,
        "perf_config": "256,32,64,16,2,2",
    }


@pytest.mark.parametrize(
    ("name", "solver"),
    [
        ("mlir_gen_igemm_conv2d_v4r4_fwd0.mlir.o", "ConvMlirIgemmFwd"),
        ("mlir_gen_igemm_conv2d_v4r1_bwd1.mlir.o", "ConvMlirIgemmBwd"),
        ("mlir_gen_igemm_conv2d_v4r4_wrw0.mlir.o", "ConvMlirIgemmWrW"),
        ("mlir_gen_igemm_conv2d_v4r4_fwd_xdlops0.mlir.o", "ConvMlirIgemmFwdXdlops"),
        ("mlir_gen_igemm_conv2d_v4r1_bwd_xdlops3.mlir.o", "ConvMlirIgemmBwdXdlops"),
        ("mlir_gen_igemm_conv2d_cpp_v4r4_fwd0.mlir-cpp", "ConvHipImplicitGemmMlirCppFwd"),
        ("gridwise_convolution_fwd.cpp.o", None),
        ("mlir_gen_igemm_conv2d_v9_new0.mlir.o", None),
    ],
)
def test_the_solver_is_told_by_the_kernel_name(name: str, solver: str | None) -> None:
    assert solver_of(name, SOLVERS) == solver


def test_two_patterns_that_match_are_no_answer() -> None:
    assert solver_of("k1", {"A": "^k", "B": "1$"}) is None


@pytest.mark.parametrize(
    ("operation", "direction"),
    [("conv2d", "fwd"), ("conv2d_bwd_data", "bwd-data"), ("conv2d_bwd_weight", "wrw"), ("gemm", None)],
)
def test_direction(operation: str, direction: str | None) -> None:
    options = parse_options(f" --operation {operation}")
    assert options is not None
    assert options.direction == direction


def test_what_is_absent_or_no_number_is_none() -> None:
    options = parse_options("--operation conv2d --num_cu many --in_h 99999999999999999999 --in_w -3 --in_layout x")
    assert options is not None
    problem = parse_problem(options, "k", SOLVERS)
    assert (problem.num_cu, problem.in_h, problem.in_w, problem.arch, problem.layout) == (None, None, None, None, None)


@pytest.mark.parametrize(
    ("arch", "expected"),
    [
        ("amdgcn-amd-amdhsa:gfx90a:sramecc+:xnack-", "gfx90a"),
        ("amdgcn-amd-amdhsa--gfx942", "gfx942"),
        ("gfx1030", "gfx1030"),
        ("amdgcn-amd-amdhsa:gfx90a", "gfx90a"),
        ("sm_90", None),
    ],
)
def test_arch_in_its_spellings(arch: str, expected: str | None) -> None:
    options = parse_options(f"--operation conv2d --arch {arch}")
    assert options is not None
    assert options.arch == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "-O3 -mcpu=gfx906",
        "--operation",
        "--a b",
        "conv2d --operation",
        "--operation conv2d " + "--x y " * 9000,
    ],
)
def test_other_strings_are_not_options(text: str) -> None:
    assert parse_options(text) is None


def test_of_a_repeated_option_the_first_counts() -> None:
    options = parse_options(" --operation conv2d --in_type fp32 --operation conv2d_bwd_data")
    assert options is not None
    assert options.direction == "fwd"
