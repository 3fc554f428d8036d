"""Read the layouts of a smoke module, whatever made it: a device's compiler, a host's, or the emulation."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from relmgr.model.code_object import CodeObject, Kernel, UnreadableCodeObject
from relmgr.model.kernargs import ArgumentLayout
from relmgr.smoke.host_table import HOST_ARCH, is_host_object, read_host_table
from relmgr.smoke.kernargs import argument_fields
from relmgr.smoke.kernels.emulation import EMULATION_MAGIC


def read_module(data: bytes, read_device: Callable[[bytes], CodeObject]) -> CodeObject:
    """Return the kernels in `data`; `read_device` reads a device's binary. Raises `UnreadableCodeObject`."""
    if data.startswith(EMULATION_MAGIC):
        return _read_emulation(json.loads(data[len(EMULATION_MAGIC) :]))
    return read_host_table(data) if is_host_object(data) else read_device(data)


def _read_emulation(kernels: dict[str, dict[str, Any]]) -> CodeObject:
    found = tuple(_kernel(name, kernel) for name, kernel in kernels.items())
    if not found:
        raise UnreadableCodeObject("an emulated module without kernels")
    return CodeObject(target=HOST_ARCH, arch=HOST_ARCH, code_object_version=None, kernels=found)


def _kernel(name: str, kernel: dict[str, Any]) -> Kernel:
    layout = ArgumentLayout(form=kernel["form"], index_bits=kernel["index_bits"], tensors=kernel["tensors"])
    arguments = tuple(argument_fields(layout))
    end = arguments[-1].offset + arguments[-1].size
    return Kernel(name=name, symbol=name, explicit_args=arguments, explicit_bytes=end, segment_bytes=end)
