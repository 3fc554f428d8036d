"""Read any file that may hold device code: a code object, a cubin, an offload bundle, or a program with one inside."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from relmgr.model.code_object import (
    CodeObject,
    InspectedKernel,
    InspectedObject,
    Kernel,
    UnreadableCodeObject,
    classify,
)
from relmgr.sources.code_objects.code_object import read_amdgpu
from relmgr.sources.code_objects.cubin import read_cuda
from relmgr.sources.code_objects.elf import MACHINE_AMDGPU, MACHINE_CUDA, Buffer, Elf, read_elf
from relmgr.sources.code_objects.elf import MAGIC as ELF_MAGIC
from relmgr.sources.code_objects.offload_bundle import is_bundle, unpack_bundles

MAX_FILE_BYTES = 2 << 30

_FAT_BINARY_SECTION = b".hip_fatbin"
_NOT_YET_CODE = {b"BC\xc0\xde": "LLVM bitcode", b"\x03\x02\x23\x07": "SPIR-V"}
_POINTERS = (b"version https://git-lfs.github.com/spec/", b"outs:\n- md5:")


def read_file(path: Path, symbol_pattern: str | None) -> list[InspectedObject]:
    """Return every code object in the file at `path`, its kernels classified by `symbol_pattern`.

    What cannot be read is in the list too, as an object with `error`; this function raises nothing for it.
    """
    found: list[InspectedObject] = []
    try:
        for name, image in _images(_read_bytes(path)):
            try:
                found.append(_inspected(path, _read_image(image), symbol_pattern))
            except UnreadableCodeObject as error:
                found.append(_unreadable(path, error, name))
    except UnreadableCodeObject as error:
        found.append(_unreadable(path, error))
    return found or [_unreadable(path, UnreadableCodeObject("it holds no device code"))]


def read_device_code(data: bytes) -> list[CodeObject]:
    """Return every code object in `data`: one, or those of a bundle or fat binary (none of an empty one).

    Raises `UnreadableCodeObject` when any of them cannot be read.
    """
    return [_read_image(image) for _, image in _images(data)]


def _read_bytes(path: Path) -> bytes:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableCodeObject("not a regular file")
        if status.st_size > MAX_FILE_BYTES:
            raise UnreadableCodeObject(f"a file of {status.st_size} bytes, more than {MAX_FILE_BYTES}")
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES)
    except OSError as error:
        raise UnreadableCodeObject(f"cannot be read: {error.strerror}") from None


def _images(data: bytes) -> Iterator[tuple[str, Buffer | Elf]]:
    """Yield the device images in `data` with a bundle entry's name ('' for a file that is one image)."""
    if is_bundle(data):
        yield from unpack_bundles(data)
    elif data.startswith(ELF_MAGIC):
        elf = read_elf(data)
        if elf.machine in (MACHINE_AMDGPU, MACHINE_CUDA):
            yield "", elf
        else:
            yield from _fat_binary(elf)
    elif data.startswith(_POINTERS):
        raise UnreadableCodeObject("a pointer (Git LFS or DVC), not its content", next_step="fetch the content first")
    else:
        raise UnreadableCodeObject("neither an ELF file nor an offload bundle")


def _fat_binary(elf: Elf) -> Iterator[tuple[str, Buffer]]:
    sections = [section for name, section in elf.named_sections(_FAT_BINARY_SECTION) if name == _FAT_BINARY_SECTION]
    if not sections:
        raise UnreadableCodeObject(f"a program for the host without device code ({_FAT_BINARY_SECTION.decode()})")
    for content in elf.contents(sections):
        yield from unpack_bundles(content)


def _read_image(image: Buffer | Elf) -> CodeObject:
    if not isinstance(image, Elf):
        for magic, what in _NOT_YET_CODE.items():
            if bytes(image[: len(magic)]) == magic:
                raise UnreadableCodeObject(f"{what}: not compiled to a code object yet")
    elf = image if isinstance(image, Elf) else read_elf(image)
    return read_cuda(elf) if elf.machine == MACHINE_CUDA else read_amdgpu(elf)


def _inspected(path: Path, found: CodeObject, symbol_pattern: str | None) -> InspectedObject:
    return InspectedObject(
        file=str(path),
        target=found.target,
        code_object_version=found.code_object_version,
        kernels=tuple(_kernel(kernel, symbol_pattern) for kernel in found.kernels),
    )


def _kernel(kernel: Kernel, symbol_pattern: str | None) -> InspectedKernel:
    layout = classify(kernel, symbol_pattern)
    return InspectedKernel(
        name=kernel.name,
        explicit_args=kernel.explicit_args,
        explicit_bytes=kernel.explicit_bytes,
        segment_bytes=kernel.segment_bytes,
        **layout.model_dump(),
    )


def _unreadable(path: Path, error: UnreadableCodeObject, entry: str = "") -> InspectedObject:
    reason = f"{entry}: {error.what}" if entry else error.what
    return InspectedObject(file=str(path), error=f"{reason}; {error.next_step}" if error.next_step else reason)
