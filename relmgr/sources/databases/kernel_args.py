"""Read the option string of a kernel database's row: which problem its kernel was compiled for.

A row of the provider holds `--name value` pairs (`--operation conv2d_bwd_data --in_channels 64 ...`); the rows of other
kernels hold compiler options that end in ` -mcpu=<arch>`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from relmgr.model.kernel_db import Problem

MAX_OPTIONS = 16_384
MAX_NUMBER_DIGITS = 12

DIRECTIONS = {"conv2d": "fwd", "conv2d_bwd_data": "bwd-data", "conv2d_bwd_weight": "wrw"}
_TARGET = re.compile(r"(?:^|[-:])(gfx[0-9a-f]+(?:-[0-9a-z-]+)?)(?::|$)")
_LAYOUT = re.compile(r"[A-Z]{3,6}")

# Options that are counts, and the fields of `Problem` that hold them where the two differ.
_COUNTS = (
    "kernel_id num_cu groupsize batchsize in_channels out_channels in_h in_w out_h out_w fil_h fil_w "
    "dilation_h dilation_w conv_stride_h conv_stride_w padding_h padding_w"
)
_FIELDS = {"groupsize": "groups", "batchsize": "batch"}


class Options(dict[str, str]):
    """The options of one row, `--name` to value; of a repeated name the first counts."""

    @property
    def direction(self) -> str | None:
        """`fwd`, `bwd-data`, `wrw`, or None."""
        return DIRECTIONS.get(self.get("--operation", ""))

    @property
    def arch(self) -> str | None:
        """The processor of `--arch`, without features."""
        match = _TARGET.search(self.get("--arch", ""))
        return match[1] if match else None

    @property
    def dtype(self) -> str | None:
        """The filter's element type, such as `fp32`."""
        return self.get("--fil_type") or self.get("--in_type")

    @property
    def layout(self) -> str | None:
        """The input's layout without the group dimension: `NGCHW` is `NCHW`."""
        text = self.get("--in_layout", "")
        return text.replace("G", "") if _LAYOUT.fullmatch(text) else None


def parse_options(text: str) -> Options | None:
    """Return the options of a provider's row, or None when `text` is no such string (or longer than any real one)."""
    if len(text) > MAX_OPTIONS:
        return None
    words = text.split()
    # Backwards, so that of a repeated name the first one stays.
    options = Options(zip(words[-2::-2], words[::-2], strict=False))
    if len(words) % 2 or "--operation" not in options or not all(map(_is_name, options)):
        return None
    return options


def _is_name(word: str) -> bool:
    return word[:2] == "--"


def parse_problem(options: Options, kernel_name: str, solvers: Mapping[str, str]) -> Problem:
    """Return the problem that `options` describe; a field that is absent or no number is None.

    `solvers` maps each solver to the pattern of its kernel names (`Contract.solvers`).
    """
    counts = {_FIELDS.get(option, option): _count(options.get(f"--{option}")) for option in _COUNTS.split()}
    return Problem(
        solver=solver_of(kernel_name, solvers),
        direction=options.direction,
        dtype=options.dtype,
        layout=options.layout,
        arch=options.arch,
        target=options.get("--arch"),
        xdlops=options.get("--x2") == "1",
        perf_config=options.get("--perf_config"),
        **counts,
    )


def solver_of(kernel_name: str, solvers: Mapping[str, str]) -> str | None:
    """Return the one solver whose pattern matches the kernel's name; None for none and for several."""
    return _solver_of(kernel_name[:256], tuple(solvers.items()))


@lru_cache(maxsize=4096)
def _solver_of(kernel_name: str, solvers: tuple[tuple[str, str], ...]) -> str | None:
    found = [solver for solver, pattern in solvers if re.search(pattern, kernel_name)]
    return found[0] if len(found) == 1 else None


def _count(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= MAX_NUMBER_DIGITS else None
