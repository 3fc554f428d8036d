"""Kernels under a provider's name, compiled for the host from the smoke kernels' own source."""

from __future__ import annotations

import subprocess
from pathlib import Path

from relmgr.smoke.kernels.problem import DEFAULT, Problem
from relmgr.smoke.kernels.source import Variant, write_source
from tests.support.services import need

# The default problem as a database's row would tell it: groups 3, so 3 x 4 channels in and 3 x 5 out.
OPTIONS = (
    " --operation {operation} --kernel_id 0 --num_cu 104 --arch amdgcn-amd-amdhsa:gfx90a --groupsize 3"
    " --fil_layout GNCHW --fil_type {type} --in_layout NGCHW --out_layout NGCHW --in_type {type} --out_type {type}"
    " --batchsize 2 --in_channels 12 --out_channels 15 --in_h 7 --in_w 8 --out_h 4 --out_w 6 --fil_h 3 --fil_w 2"
    " --dilation_h 1 --dilation_w 2 --conv_stride_h 2 --conv_stride_w 1 --padding_h 1 --padding_w 0"
    " --kernel_name {name}"
)
OPERATIONS = {"fwd": "conv2d", "bwd-data": "conv2d_bwd_data", "wrw": "conv2d_bwd_weight"}
FWD = "mlir_gen_igemm_conv2d_v4r4_fwd0"


def options(name: str, direction: str = "fwd", dtype: str = "fp32") -> str:
    """Return the option string of a kernel for the default problem."""
    return OPTIONS.format(name=name, operation=OPERATIONS[direction], type=dtype)


def compile_as(folder: Path, name: str, form: str, *, direction: str = "fwd", dtype: str = "f32") -> Path:
    """Compile one smoke kernel for the host under the symbol `name`; return the library's path."""
    bits = None if form == "bare" else 32
    variant = Variant(Problem(DEFAULT, direction, dtype, "NCHW", 3), form, bits, False)
    source = folder / f"{name}.{form}.c"
    source.write_text(write_source([variant]).replace(variant.name, name))
    library = source.with_suffix(".so")
    command = [need("cc", "gcc"), "-shared", "-fPIC", "-O1", "-w", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    return library
