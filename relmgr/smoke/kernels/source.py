"""Write the source text of smoke kernels: the prelude once, then the convolution under each kernel's definitions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from relmgr.smoke.kernels.problem import DIRECTIONS, DTYPES, Problem

_FOLDER = Path(__file__).parent
_FORMS = {"bare": 0, "expanded": 1, "by-value": 2}
_INDEX = {32: "int", 64: "long long", None: "int"}
_DEFINED = re.compile(r"^#define (SMOKE_\w+)", re.MULTILINE)


class Variant(NamedTuple):
    """One kernel: the problem it solves and how it takes its arguments; `dynamic` reads sizes from descriptors."""

    problem: Problem
    form: str
    index_bits: int | None
    dynamic: bool

    @property
    def name(self) -> str:
        """The kernel's symbol; it says everything but the dimensions."""
        problem = self.problem
        words = [
            "smoke_conv",
            self.form.replace("-", ""),
            f"i{self.index_bits}" if self.index_bits else "",
            "sizes" if self.dynamic else "",
            problem.direction.replace("-", ""),
            "workspace" if problem.tensors == 4 else "",
            problem.dtype,
            problem.layout.lower(),
        ]
        return "_".join(word for word in words if word)


def write_source(variants: Iterable[Variant]) -> str:
    """Return one text that defines a kernel for each of `variants`."""
    prelude, convolution = (_read(name) for name in ("prelude.c", "convolution.c"))
    undefine = [f"#undef {name}" for name in dict.fromkeys(_DEFINED.findall(convolution))]
    parts = [prelude]
    for variant in dict.fromkeys(variants):
        definitions = _definitions(variant)
        parts += [f"#define {name} {value}" for name, value in definitions.items()]
        parts += [convolution, *undefine, *(f"#undef {name}" for name in definitions)]
    return "\n".join(parts) + "\n"


def _definitions(variant: Variant) -> dict[str, object]:
    problem = variant.problem
    dimensions = problem.dimensions
    return {
        "SMOKE_NAME": variant.name,
        "SMOKE_FORM": _FORMS[variant.form],
        "SMOKE_INDEX": _INDEX[variant.index_bits],
        "SMOKE_DYNAMIC": int(variant.dynamic),
        "SMOKE_TENSORS": problem.tensors,
        "SMOKE_DIRECTION": DIRECTIONS.index(problem.direction),
        "SMOKE_DTYPE": DTYPES.index(problem.dtype),
        "SMOKE_NHWC": int(problem.layout == "NHWC"),
        **{f"SMOKE_{name.upper()}": value for name, value in dimensions._asdict().items()},
        "SMOKE_HO": dimensions.ho,
        "SMOKE_WO": dimensions.wo,
    }


@lru_cache
def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="ascii")
