"""Read the argument layout that a C compiler wrote beside each smoke kernel for the host (convolution.c, its end)."""

from __future__ import annotations

import struct

from relmgr.model.code_object import CodeObject, Kernel, KernelArgument, UnreadableCodeObject

MAGIC = b"relmgr-kernel-1\0"
HOST_ARCH = "host"
_MAX_KERNELS = 4_096
_RECORD = struct.Struct("<16s112s156I")


def is_host_object(data: bytes) -> bool:
    """Tell whether `data` is a library of smoke kernels for the host."""
    return data[:4] == b"\x7fELF" and MAGIC in data


def read_host_table(data: bytes) -> CodeObject:
    """Return the kernels of a host library with their layouts; raises `UnreadableCodeObject`."""
    kernels: list[Kernel] = []
    at = data.find(MAGIC)
    while at >= 0:
        if at + _RECORD.size > len(data):
            raise UnreadableCodeObject("the table of kernels is cut off")
        if len(kernels) == _MAX_KERNELS:
            raise UnreadableCodeObject(f"more than {_MAX_KERNELS} kernels")
        kernels.append(_kernel(*_RECORD.unpack_from(data, at)))
        at = data.find(MAGIC, at + _RECORD.size)
    if not kernels:
        raise UnreadableCodeObject("a library without a table of kernels")
    return CodeObject(target=HOST_ARCH, arch=HOST_ARCH, code_object_version=None, kernels=tuple(kernels))


def _kernel(_magic: bytes, raw_name: bytes, *words: int) -> Kernel:
    name = raw_name.split(b"\0", 1)[0].decode("ascii", errors="replace")
    places = [words[at : at + 3] for at in range(0, len(words), 3)]
    arguments = tuple(
        KernelArgument(offset=offset, size=size, kind="global_buffer" if pointer else "by_value")
        for offset, size, pointer in places
        if size
    )
    end = max((argument.offset + argument.size for argument in arguments), default=0)
    return Kernel(name=name, symbol=name, explicit_args=arguments, explicit_bytes=end, segment_bytes=end)
