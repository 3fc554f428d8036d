"""Device binaries for tests: compiled with Debian's compilers, or put together byte by byte."""

from __future__ import annotations

import hashlib
import re
import struct
import subprocess
import zlib
from pathlib import Path
from typing import Any

import msgpack

from tests.support.services import need

# What a HIP source needs when there is no HIP: the attributes, and for host code what the compiler asks for.
PRELUDE = """
#define __global__ __attribute__((global))
struct dim3 { unsigned x, y, z; };
extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, void *);
extern "C" int __hipPopCallConfiguration(dim3 *, dim3 *, unsigned long *, void *);
template <class I> struct Descriptor { float *base; float *data; I offset; I sizes[5]; I strides[5]; };
typedef Descriptor<int> D32;
typedef Descriptor<long> D64;
#define KERNEL extern "C" __global__ void
"""

# OpenCL: what clang-14 compiles for code object v2 without any library.
OPENCL = """
struct D32 { long base; long data; int offset; int sizes[5]; int strides[5]; };
kernel void mlir_gen_igemm_conv2d_v4r4_fwd0(struct D32 a, struct D32 b, struct D32 c) {
  ((global float*)c.data)[c.offset] = ((global float*)a.data)[a.offset] * ((global float*)b.data)[b.offset];
}
kernel void mlir_gen_igemm_conv2d_v4r4_fwd1(global const float* a, global const float* b, global float* c) {
  c[__builtin_amdgcn_workitem_id_x()] = a[0] + b[0];
}
kernel void mixed(global const float* a, char b, long c, short d, global float* e) {
  e[c] = a[b + d] + *(constant float*)__builtin_amdgcn_implicitarg_ptr();
}
"""


def run(*command: str | Path, cwd: Path, text: str | None = None) -> str:
    """Run a compiler and return its standard output; its errors are shown when it fails."""
    done = subprocess.run([str(c) for c in command], cwd=cwd, input=text, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout


def compile_hip(folder: Path, source: str, *options: str, name: str = "kernel") -> Path:
    """Compile HIP `source` for the device with clang-19; return the file."""
    need("ld.lld-19", "lld-19")
    (folder / f"{name}.hip").write_text(PRELUDE + source)
    run(
        need("clang-19"), "-x", "hip", "-nogpulib", "-nogpuinc", "-O2", *options,
        f"{name}.hip", "-o", f"{name}.out", cwd=folder,
    )  # fmt: skip
    return folder / f"{name}.out"


DEVICE_ONLY = ("--offload-device-only", "--no-gpu-bundle-output")


def compile_opencl(folder: Path, version: int, processor: str, *options: str) -> Path:
    """Compile `OPENCL` with clang-14 to code object `version`; return the file."""
    need("ld.lld-14", "lld-14")
    (folder / "kernel.cl").write_text(OPENCL)
    run(
        need("clang-14"), "-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", "-x", "cl", "-cl-std=CL2.0",
        "-nogpulib", "-O2", f"-mcode-object-version={version}", *options,
        "kernel.cl", "-o", "kernel.out", cwd=folder,
    )  # fmt: skip
    return folder / "kernel.out"


def compile_mlir(
    folder: Path, symbol: str, tensors: int, *, bare: bool, index_bits: int, triple: str = "amdgcn-amd-amdhsa"
) -> Path:
    """Compile one function over memrefs of rank 5 with MLIR's own lowering, for gfx90a; return the file."""
    arguments = ", ".join(f"%a{i}: memref<1x1x2x4x64xf32>" for i in range(tensors))
    source = f"""
      gpu.module @kernels {{
        gpu.func @{symbol}({arguments}) kernel {{
          %zero = arith.constant 0 : index
          %x = memref.load %a0[%zero, %zero, %zero, %zero, %zero] : memref<1x1x2x4x64xf32>
          memref.store %x, %a{tensors - 1}[%zero, %zero, %zero, %zero, %zero] : memref<1x1x2x4x64xf32>
          gpu.return
        }}
      }}"""
    lowering = (
        f"chipset=gfx90a index-bitwidth={index_bits} use-bare-ptr-memref-call-conv={str(bare).lower()} runtime=HIP"
    )
    pipeline = f"builtin.module(gpu.module(convert-gpu-to-rocdl{{{lowering}}},reconcile-unrealized-casts))"
    text = run(need("mlir-opt-19", "mlir-19-tools"), f"--pass-pipeline={pipeline}", cwd=folder, text=source)
    found = re.search(r"gpu\.module @kernels.*?\{\n(.*)\n  \}\n\}", text, re.DOTALL)
    assert found
    body = "\n".join(line for line in found[1].splitlines() if "llvm.data_layout" not in line)
    ir = run(need("mlir-translate-19", "mlir-19-tools"), "--mlir-to-llvmir", cwd=folder, text=f"module {{\n{body}\n}}")
    ir = re.sub(r"target (datalayout|triple).*\n", "", ir)
    (folder / "kernel.ll").write_text(f'target triple = "{triple}"\n{ir}')
    run(
        need("llc-19", "llvm-19"), "-march=amdgcn", "-mcpu=gfx90a", "-filetype=obj", "kernel.ll", "-o", "kernel.o",
        cwd=folder,
    )  # fmt: skip
    run(need("ld.lld-19", "lld-19"), "-shared", "kernel.o", "-o", "kernel.hsaco", cwd=folder)
    return folder / "kernel.hsaco"


def amdgpu_elf(
    *notes: tuple[bytes, int, bytes], machine: int = 224, os_abi: int = 64, abi_version: int = 3, flags: int = 0x53F
) -> bytes:
    """Return a minimal ELF file with one note segment of `notes` (name, type, content)."""
    area = b"".join(
        struct.pack("<III", len(name), len(content), kind) + _padded(name) + _padded(content)
        for name, kind, content in notes
    )
    identity = b"\x7fELF\x02\x01\x01" + bytes([os_abi, abi_version]) + bytes(7)
    header = identity + struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, flags, 64, 56, 1, 64, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 4, 4, 120, 120, 120, len(area), len(area), 4)
    return header + segment + area


def _padded(part: bytes) -> bytes:
    return part + bytes(-len(part) % 4)


def object_with(document: Any, **header: int) -> bytes:
    """Return a code object whose msgpack note holds `document`, or these very bytes."""
    return amdgpu_elf((b"AMDGPU\0", 32, document if isinstance(document, bytes) else msgpack.packb(document)), **header)


def kernel_map(
    *arguments: tuple[Any, Any, Any], name: Any = "k", segment: Any = 4096, **changes: Any
) -> dict[str, Any]:
    """Return a kernel as the note spells it, with `arguments` (offset, size, kind)."""
    return {
        ".name": name,
        ".symbol": f"{name}.kd",
        ".kernarg_segment_size": segment,
        ".args": [{".offset": o, ".size": s, ".value_kind": k} for o, s, k in arguments],
    } | {f".{key}": value for key, value in changes.items()}


def metadata_map(*kernels: Any, target: Any = "amdgcn-amd-amdhsa--gfx90a") -> dict[str, Any]:
    """Return a note's document."""
    return {"amdhsa.kernels": list(kernels), "amdhsa.target": target, "amdhsa.version": [1, 2]}


def bundle(*entries: tuple[str, bytes]) -> bytes:
    """Return a plain offload bundle."""
    size = 32 + sum(24 + len(identity) for identity, _ in entries)
    table, images = b"", b""
    for identity, image in entries:
        table += struct.pack("<QQQ", size + len(images), len(image), len(identity)) + identity.encode()
        images += image
    return b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries)) + table + images


def compressed(
    content: bytes,
    version: int,
    *,
    payload: bytes | None = None,
    method: int = 0,
    declared: int | None = None,
    digest: bytes | None = None,
) -> bytes:
    """Return a compressed bundle of `content`; the rest tells lies about it."""
    payload = zlib.compress(content) if payload is None else payload
    size = len(content) if declared is None else declared
    hashed = digest or hashlib.md5(content).digest()[:8]
    start = b"CCOB" + struct.pack("<HH", version, method)
    if version == 1:
        return start + struct.pack("<I", size) + hashed + payload
    if version == 2:
        return start + struct.pack("<II", 24 + len(payload), size) + hashed + payload
    return start + struct.pack("<QQ", 32 + len(payload), size) + hashed + payload
