"""A smoke plan: which kernels are launched with which arguments, and what each launch must end in."""

from __future__ import annotations

from typing import Literal

from relmgr.model.base import Convention, Noun
from relmgr.model.code_object import KernelConvention
from relmgr.model.kernargs import ArgumentLayout, Packing
from relmgr.model.smoke_report import CaseOutcome, SmokeCase, SmokeReport

BackendName = Literal["hip", "cuda", "cpu"]
DType = Literal["f32", "f16", "bf16", "i8"]
Direction = Literal["fwd", "bwd-data", "wrw"]
MemoryLayout = Literal["NCHW", "NHWC"]

# How a runtime treats a buffer that does not fit its kernel: `cuda` refuses one that is too long and reads missing
# bytes as zero; `host` reads what stands in memory, up to a guard page; of `amd` nothing has been measured yet.
RuntimeKind = Literal["cuda", "host", "amd"]


class SmokeCell(Noun):
    """One cell of the matrix.

    `reads_sizes`: the kernel takes sizes and strides from its descriptors; otherwise they are compiled in. `cut`: the
    buffer ends where the kernel's parameters do. `expected` are the outcomes that a launch may end in.
    """

    kernel_abi: int
    argument_abi: int
    kernel: ArgumentLayout
    arguments: ArgumentLayout
    reads_sizes: bool = False
    cut: bool = False
    packing: Packing
    dtype: DType
    direction: Direction
    layout: MemoryLayout
    matching: bool
    expected: tuple[CaseOutcome, ...]

    @property
    def main_form(self) -> bool:
        """Tell whether provider and consumer pass arguments so: bare, or narrow expanded descriptors of known sizes."""
        return self.kernel.form == "bare" or (self.kernel.label == "expanded/32" and not self.reads_sizes)

    @property
    def kernel_form(self) -> str:
        """The kernel's form, and whether it reads sizes: `expanded`, `expanded+sizes`, `by-value`, `bare`."""
        return f"{self.kernel.form}+sizes" if self.reads_sizes else self.kernel.form

    @property
    def kernel_label(self) -> str:
        """The kernel's number, form and index width, for people: `5 expanded+sizes/32`."""
        bits = f"/{self.kernel.index_bits}" if self.kernel.index_bits else ""
        return f"{self.kernel_abi} {self.kernel_form}{bits}"

    @property
    def arguments_label(self) -> str:
        """The arguments' number, form, index width and packing, for people."""
        return f"{self.argument_abi} {self.arguments.label}, {self.packing}{' (cut)' if self.cut else ''}"

    @property
    def key(self) -> str:
        """A text that names this cell and no other."""
        return " ".join(
            [
                f"{self.kernel_label}:{self.kernel.tensors}",
                f"<- {self.arguments_label}:{self.arguments.tensors}",
                self.dtype,
                self.direction,
                self.layout,
            ]
        )


class SmokePlan(Noun):
    """The matrix for one back end. `left_out` says which asked-for cells do not exist there, and why."""

    backend: BackendName
    runtime: RuntimeKind
    arch: str | None
    abi: int
    launch_mismatches: bool
    cells: tuple[SmokeCell, ...]
    left_out: tuple[str, ...] = ()


class DeviceInfo(Noun):
    """What a worker found: `double` names a test double that stands in for the device's runtime.

    `toolchain` is what compiles for it, with its version. `emulated`: no compiler was at hand, and Python reads the
    packed buffer in its stead.
    """

    backend: BackendName
    device: str | None
    arch: str
    driver: str | None
    double: str | None
    emulated: bool
    runtime: RuntimeKind
    toolchain: str


class CellResult(Noun):
    """One cell with what became of it."""

    cell: SmokeCell
    case: SmokeCase

    @property
    def as_expected(self) -> bool:
        """Tell whether the static gate and the launch, if there was one, did what this cell wants."""
        if self.cell.matching:
            return self.case.static == "same" and self.case.outcome == "right"
        refused = self.case.static == "differs"
        return refused and self.case.outcome in ((*self.cell.expected,) if self.case.launched else ("layout-refused",))


class CheckedCell(Noun):
    """One cell with the static gate's answer: `reasons` say what differs, `allowed` what is longer and may be."""

    cell: SmokeCell
    static: Literal["same", "differs"]
    reasons: tuple[str, ...]
    allowed: str | None

    @property
    def as_expected(self) -> bool:
        """Tell whether the gate lets matching arguments pass, and no others."""
        return (self.static == "same") == self.cell.matching


class SmokeCheck(Noun):
    """A plan whose kernels were built for `arch` by `toolchain`, and not launched: the static gate's answers."""

    backend: BackendName
    arch: str
    toolchain: str
    abi: int
    cells: tuple[CheckedCell, ...]
    left_out: tuple[str, ...] = ()
    passed: bool


class EmittedKernel(Noun):
    """What the provider's library emitted for one request: its convention by its layout, or why there is none.

    `count` is how many kernels the problem takes: only a single one can be launched and judged alone.
    """

    symbol: str
    options: str
    convention: KernelConvention | None
    count: int | None
    threads: int
    block: int
    error: str | None


class ProviderCheck(Noun):
    """Do a library and a header belong together? `missing` are declared functions that the library does not export.

    `number` and `convention` are what the header promises, `emitted` what came out.
    """

    library: str
    header: str
    number: int
    convention: Convention
    missing: tuple[str, ...]
    emitted: tuple[EmittedKernel, ...]

    @property
    def agrees(self) -> bool:
        """Tell whether every declared function is there and every kernel came out as the number promises."""
        return not self.missing and all(one.convention == self.convention for one in self.emitted)


class SmokeRun(Noun):
    """A report with the cells its cases stand for, and why the back end was taken."""

    report: SmokeReport
    results: tuple[CellResult, ...]
    left_out: tuple[str, ...] = ()
    choice: str = ""
    seconds: float = 0.0
    compile_cached: bool = False
    provider: ProviderCheck | None = None
