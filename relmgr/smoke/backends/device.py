"""What every back end does for a worker, and the ways in which it can fail. Standard library only (see problem.py)."""

from __future__ import annotations

from typing import Any, Protocol


class Unavailable(Exception):
    """The back end cannot be used here: `what` is the matter, `next_step` what to install or do."""

    def __init__(self, what: str, next_step: str) -> None:
        super().__init__(what)
        self.what, self.next_step = what, next_step


class CompileFailed(Exception):
    """The compiler said no; the text is its log."""


class DeviceFailed(Exception):
    """A call to the device failed. `outcome` names what that means; `poisoned`: nothing works in this process again."""

    def __init__(self, outcome: str, detail: str, *, poisoned: bool = True) -> None:
        super().__init__(detail)
        self.outcome, self.detail, self.poisoned = outcome, detail, poisoned


class Device(Protocol):
    """A device with memory, modules and launches. Addresses are plain integers."""

    def describe(self) -> dict[str, Any]:
        """Open the device; return the fields of `DeviceInfo`. Raises `Unavailable`."""

    def toolchain(self) -> str:
        """Return what compiles and its version. Raises `Unavailable`."""

    def compile(self, source: str, kernels: list[dict[str, Any]], arch: str) -> bytes:
        """Return a binary with every kernel of `source`. Raises `CompileFailed` and `Unavailable`."""

    def allocate(self, size: int) -> int:
        """Return the address of `size` bytes. Raises `DeviceFailed`."""

    def upload(self, address: int, data: bytes) -> None:
        """Copy to the device."""

    def download(self, address: int, size: int) -> bytes:
        """Copy from the device."""

    def load(self, binary: bytes, symbol: str) -> Any:
        """Return the kernel `symbol` of a module. Raises `DeviceFailed`."""

    def launch(self, kernel: Any, arguments: bytes, blocks: int, block: int, limit: float) -> None:
        """Launch, and wait until it has ended or `limit` seconds are over. Raises `DeviceFailed`."""
