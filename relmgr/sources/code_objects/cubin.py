"""Read the parameter layout of CUDA kernels from a cubin, without a GPU.

Each kernel has a section `.nv.info.<kernel>` of attributes: one byte of format, one of attribute, then two bytes of
value, or of the size of what follows. KPARAM_INFO is one parameter: ordinal, offset, and the size in the upper 14 bits
of its last word. The file does not tell a pointer from a number of the same size.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import islice

from relmgr.model.code_object import CodeObject, Kernel, KernelArgument, UnreadableCodeObject
from relmgr.sources.code_objects.elf import MACHINE_CUDA, Elf

_PREFIX = b".nv.info."
_ATTRIBUTE = struct.Struct("<BBH")
_SIZED = 4
_PARAMETER = struct.Struct("<IHHI")
_KPARAM_INFO = 0x17
_PARAMETER_BYTES = 0x19

# Since CUDA 13 the files carry another OS ABI, and the architecture one byte further up in e_flags.
_OS_ABI_SINCE_13 = 0x41

_MAX_KERNELS = 8_192
_MAX_PARAMETERS = 4_096


def read_cuda(elf: Elf) -> CodeObject:
    """Return the kernels of a cubin; `kind` is `parameter`, as the file tells no more. Raises `UnreadableCodeObject`.

    `segment_bytes` is the size of the parameter block that a packed launch must fill exactly.
    """
    if elf.machine != MACHINE_CUDA:
        raise UnreadableCodeObject(f"an ELF file for machine {elf.machine}, not for CUDA ({MACHINE_CUDA})")
    elf.segments()
    named = list(islice(elf.named_sections(_PREFIX), _MAX_KERNELS + 1))
    if len(named) > _MAX_KERNELS or len({name for name, _ in named}) != len(named):
        raise UnreadableCodeObject(f"more than {_MAX_KERNELS} kernels, or two of one symbol")
    contents = elf.contents([section for _, section in named])
    kernels = [
        _kernel(name.removeprefix(_PREFIX), bytes(content)) for (name, _), content in zip(named, contents, strict=True)
    ]
    number = (elf.flags >> 8 if elf.os_abi == _OS_ABI_SINCE_13 else elf.flags) & 0xFF
    kernels.sort(key=lambda kernel: kernel.symbol)
    return CodeObject(target=f"sm_{number}", arch=f"sm_{number}", code_object_version=None, kernels=tuple(kernels))


def _kernel(raw_name: bytes, attributes: bytes) -> Kernel:
    name = raw_name.decode("utf-8", errors="replace")
    if not name or not name.isprintable():
        raise UnreadableCodeObject(f"not a kernel's name: {ascii(name)[:80]}")
    parameters: dict[int, KernelArgument] = {}
    declared = 0
    for attribute, value in _attributes(attributes):
        if attribute == _PARAMETER_BYTES and isinstance(value, int):
            declared = value
        elif attribute == _KPARAM_INFO and isinstance(value, bytes) and len(value) == _PARAMETER.size:
            _, ordinal, offset, word = _PARAMETER.unpack(value)
            if ordinal in parameters or ordinal >= _MAX_PARAMETERS:
                raise UnreadableCodeObject(f"kernel {name[:80]}: parameter {ordinal} is told twice, or too high")
            parameters[ordinal] = KernelArgument(offset=offset, size=word >> 18, kind="parameter")
    if sorted(parameters) != list(range(len(parameters))):
        raise UnreadableCodeObject(f"kernel {name[:80]}: parameters are missing among {sorted(parameters)[:20]}")
    arguments = tuple(parameters[ordinal] for ordinal in range(len(parameters)))
    end = max((argument.offset + argument.size for argument in arguments), default=0)
    if end > declared:
        raise UnreadableCodeObject(f"kernel {name[:80]}: parameters end at byte {end} of {declared}")
    return Kernel(name=name, symbol=name, explicit_args=arguments, explicit_bytes=end, segment_bytes=declared)


def _attributes(content: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield attribute and value of each record: a number, or bytes for the sized format."""
    at = 0
    while at + _ATTRIBUTE.size <= len(content):
        form, attribute, value = _ATTRIBUTE.unpack_from(content, at)
        at += _ATTRIBUTE.size
        if form != _SIZED:
            yield attribute, value
            continue
        if at + value > len(content):
            raise UnreadableCodeObject(f"attribute 0x{attribute:x} of {value} bytes reaches past its section")
        yield attribute, content[at : at + value]
        at += value
    if at != len(content):
        raise UnreadableCodeObject("a kernel's attributes end in the middle of one")
