"""The code object reader against real objects, against pyelftools, and against fresh compilers (K1)."""

from __future__ import annotations

import io
from pathlib import Path

import msgpack
import pytest
from elftools.elf.elffile import ELFFile

from relmgr.model.code_object import Kernel, KernelLayout, classify
from relmgr.sources.code_objects.code_object import read_code_object
from tests.support.code_objects import (
    DEVICE_ONLY,
    compile_hip,
    compile_mlir,
    compile_opencl,
    kernel_map,
    metadata_map,
    object_with,
)

PATTERN = "^mlir_gen_igemm_conv2d_"
SAMPLES = sorted((Path(__file__).parents[2] / "data" / "code_objects").glob("*.hsaco"))
LAYOUTS = {
    "bare": ("bare-pointer", None, None),
    "descriptor32": ("memref-descriptor", "expanded", 32),
    "descriptor64": ("memref-descriptor", "expanded", 64),
}
EXPLICIT_BYTES = {
    ("bare", 3): 24,
    ("bare", 4): 32,
    ("descriptor32", 3): 188,
    ("descriptor32", 4): 252,
    ("descriptor64", 3): 312,
    ("descriptor64", 4): 416,
}


def layouts(data: bytes) -> dict[str, KernelLayout]:
    return {kernel.symbol: classify(kernel, PATTERN) for kernel in read_code_object(data).kernels}


def test_all_samples_are_here() -> None:
    assert len(SAMPLES) == 36


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda p: p.stem)
def test_a_sample_is_what_its_name_says(sample: Path) -> None:
    """K1: the version comes from the ELF header; the convention from the layout, for hidden arguments vary with it."""
    short, layout, arch, version = sample.stem.split(".")
    tensors = 4 if short == "wrw0_workspace" else 3
    found = read_code_object(sample.read_bytes())
    assert (found.target, found.arch, found.code_object_version) == (arch, arch, int(version[3:]))
    (kernel,) = found.kernels
    assert kernel.name == kernel.symbol
    assert kernel.name.endswith({"fwd_xdlops0": "v4r4_fwd_xdlops0", "wrw0_workspace": "v4r4_wrw0"}[short])
    assert kernel.explicit_bytes == EXPLICIT_BYTES[layout, tensors]
    assert kernel.segment_bytes - -(-kernel.explicit_bytes // 8) * 8 == (56 if version == "cov4" else 256)
    convention, form, bits = LAYOUTS[layout]
    assert classify(kernel, PATTERN).model_dump() == {
        "provider_kernel": True,
        "convention": convention,
        "form": form,
        "tensors": tensors,
        "index_bits": bits,
    }


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda p: p.stem)
def test_the_reader_agrees_with_pyelftools(sample: Path) -> None:
    data = sample.read_bytes()
    elf = ELFFile(io.BytesIO(data))
    (note,) = [n for s in elf.iter_segments("PT_NOTE") for n in s.iter_notes() if n["n_name"] == "AMDGPU"]
    document = msgpack.unpackb(note["n_descdata"])
    expected = [
        (
            kernel[".name"],
            kernel[".symbol"],
            kernel[".kernarg_segment_size"],
            [
                (a[".offset"], a[".size"], a[".value_kind"])
                for a in kernel[".args"]
                if not a[".value_kind"].startswith("hidden_")
            ],
        )
        for kernel in document["amdhsa.kernels"]
    ]
    found = read_code_object(data)
    assert [
        (k.name, f"{k.symbol}.kd", k.segment_bytes, [(a.offset, a.size, a.kind) for a in k.explicit_args])
        for k in found.kernels
    ] == expected
    assert found.code_object_version == elf["e_ident"]["EI_ABIVERSION"] + 2
    assert document["amdhsa.target"].endswith(found.target)


def test_the_nouns_are_ordinary_ones() -> None:
    """The reader builds them without validation: they must equal validated ones, and turn into the same JSON."""
    found = read_code_object(SAMPLES[0].read_bytes())
    again = type(found).model_validate(found.model_dump())
    assert again == found
    assert again.kernels[0].signature == found.kernels[0].signature
    assert again.model_dump_json() == found.model_dump_json()
    assert "signature" not in found.kernels[0].model_dump()


HIP = """
KERNEL mlir_gen_igemm_conv2d_v4r4_fwd0(D32 a, D32 b, D32 c) { c.data[c.offset] = a.data[a.offset] * b.data[b.offset]; }
KERNEL mlir_gen_igemm_conv2d_v4r4_wrw0(D64 a, D64 b, D64 c, D64 d) { d.data[0] = a.data[0] * b.data[0] + c.data[0]; }
KERNEL mlir_gen_igemm_conv2d_v4r4_fwd1(float *a, float *b, float *c) { c[0] = a[0] * b[0]; }
KERNEL mlir_gen_igemm_conv2d_v4r4_fwd2(float *a, float *b, float *c, int n) { c[n] = a[0] * b[0]; }
KERNEL three_pointers(float *a, float *b, float *c) { c[0] = a[0] * b[0]; }
KERNEL three_structs(D32 a, D32 b, D32 c) { c.data[0] = a.data[0] * b.data[0]; }
KERNEL my_mlir_gen_igemm_conv2d_v4r4_fwd0(float *a, float *b, float *c) { c[0] = a[0] * b[0]; }
"""
OTHER = KernelLayout(provider_kernel=False, convention="other")


@pytest.mark.parametrize("version", [4, 5, 6])
@pytest.mark.parametrize("arch", ["gfx90a", "gfx942:sramecc+:xnack-"])
def test_structs_and_look_alikes_from_clang(tmp_path: Path, version: int, arch: str) -> None:
    file = compile_hip(
        tmp_path, HIP, *DEVICE_ONLY, f"--offload-arch={arch}", f"-mcode-object-version={version}", "-Wno-everything"
    )
    data = file.read_bytes()
    found = read_code_object(data)
    assert (found.target, found.arch, found.code_object_version) == (arch, arch.split(":")[0], version)
    by_value = {"provider_kernel": True, "convention": "memref-descriptor", "form": "by-value"}
    assert layouts(data) == {
        "mlir_gen_igemm_conv2d_v4r4_fwd0": KernelLayout(**by_value, tensors=3, index_bits=32),
        "mlir_gen_igemm_conv2d_v4r4_wrw0": KernelLayout(**by_value, tensors=4, index_bits=64),
        "mlir_gen_igemm_conv2d_v4r4_fwd1": KernelLayout(provider_kernel=True, convention="bare-pointer", tensors=3),
        "mlir_gen_igemm_conv2d_v4r4_fwd2": KernelLayout(provider_kernel=True, convention="other"),
        "three_pointers": OTHER,
        "three_structs": OTHER,
        "my_mlir_gen_igemm_conv2d_v4r4_fwd0": OTHER,
    }
    assert {k.symbol: k.explicit_bytes for k in found.kernels} == {
        "mlir_gen_igemm_conv2d_v4r4_fwd0": 192,
        "mlir_gen_igemm_conv2d_v4r4_wrw0": 416,
        "mlir_gen_igemm_conv2d_v4r4_fwd1": 24,
        "mlir_gen_igemm_conv2d_v4r4_fwd2": 28,
        "three_pointers": 24,
        "three_structs": 192,
        "my_mlir_gen_igemm_conv2d_v4r4_fwd0": 24,
    }


@pytest.mark.parametrize(
    ("version", "processor", "options", "target"),
    [
        (2, "gfx900", (), "gfx900:xnack+"),
        (3, "gfx908", (), "gfx908:sramecc+:xnack+"),
        (3, "gfx908:sramecc-:xnack-", (), "gfx908"),
        (3, "gfx90a:xnack-", ("-c",), "gfx90a:sramecc+"),
    ],
)
def test_code_object_v2_and_v3_from_clang_14(
    tmp_path: Path, version: int, processor: str, options: tuple[str, ...], target: str
) -> None:
    """The YAML note has no offsets, and neither version names its target; `-c` gives a file without segments."""
    data = compile_opencl(tmp_path, version, processor, *options).read_bytes()
    found = read_code_object(data)
    assert (found.target, found.code_object_version) == (target, version)
    assert {k.symbol: k.signature for k in found.kernels} == {
        "mlir_gen_igemm_conv2d_v4r4_fwd0": ((0, 64, "by_value"), (64, 64, "by_value"), (128, 64, "by_value")),
        "mlir_gen_igemm_conv2d_v4r4_fwd1": ((0, 8, "global_buffer"), (8, 8, "global_buffer"), (16, 8, "global_buffer")),
        "mixed": (
            (0, 8, "global_buffer"),
            (8, 1, "by_value"),
            (16, 8, "by_value"),
            (24, 2, "by_value"),
            (32, 8, "global_buffer"),
        ),
    }
    assert [(k.explicit_bytes, k.segment_bytes >= k.explicit_bytes) for k in found.kernels] == [
        (192, True),
        (24, True),
        (40, True),
    ]


@pytest.mark.parametrize(
    ("tensors", "bare", "bits", "layout"),
    [
        (3, False, 32, ("memref-descriptor", "expanded", 3, 32)),
        (4, False, 64, ("memref-descriptor", "expanded", 4, 64)),
        (3, True, 32, ("bare-pointer", None, 3, None)),
        (4, True, 32, ("bare-pointer", None, 4, None)),
    ],
)
def test_fresh_objects_from_mlir(
    tmp_path: Path, tensors: int, bare: bool, bits: int, layout: tuple[str, str | None, int, int | None]
) -> None:
    symbol = "mlir_gen_igemm_conv2d_v4r1_bwd7"
    file = compile_mlir(tmp_path, symbol, tensors, bare=bare, index_bits=bits)
    found = layouts(file.read_bytes())[symbol]
    assert (found.convention, found.form, found.tensors, found.index_bits) == layout


@pytest.mark.parametrize(
    ("text", "target", "arch"),
    [
        ("amdgcn-amd-amdhsa--gfx90a", "gfx90a", "gfx90a"),
        ("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-", "gfx90a"),
        ("amdgcn-amd-amdhsa-unknown-gfx90a", "gfx90a", "gfx90a"),
        ("amdgcn-amd-amdhsa-unknown-gfx942:xnack+", "gfx942:xnack+", "gfx942"),
        ("amdgcn-amd-amdhsa--gfx9-4-generic:sramecc-", "gfx9-4-generic:sramecc-", "gfx9-4-generic"),
        ("amdgpu9.0a-amd-amdhsa", "gfx90a", "gfx90a"),
        ("amdgpu9.0a-amd-amdhsa--:xnack-", "gfx90a:xnack-", "gfx90a"),
        ("amdgpu9.0a-amd-amdhsa-unknown-gfx90a:xnack+", "gfx90a:xnack+", "gfx90a"),
        ("amdgpu10.30-amd-amdhsa", "gfx1030", "gfx1030"),
        ("amdgpu9.4-amd-amdhsa", "gfx9-4-generic", "gfx9-4-generic"),
    ],
)
def test_the_spellings_of_a_target(text: str, target: str, arch: str) -> None:
    """K5: an arch is matched whole: gfx90a is never read as gfx90."""
    found = read_code_object(object_with(metadata_map(target=text)))
    assert (found.target, found.arch) == (target, arch)


def test_the_version_is_not_what_the_metadata_says() -> None:
    """K1: `amdhsa.version` [1, 2] stands in objects of version 5 and 6 alike."""
    document = metadata_map(kernel_map())
    assert [read_code_object(object_with(document, abi_version=a)).code_object_version for a in (1, 2, 3, 4)] == [
        3,
        4,
        5,
        6,
    ]


def test_a_target_from_the_flags_of_the_header() -> None:
    document = {"amdhsa.kernels": []}
    assert read_code_object(object_with(document, flags=0xE3F)).target == "gfx90a:sramecc+:xnack-"
    assert read_code_object(object_with(document, flags=0x53F)).target == "gfx90a"
    assert read_code_object(object_with(document, flags=0x130, abi_version=1)).target == "gfx908:xnack+"


def pointers(count: int) -> list[tuple[int, int, str]]:
    return [(8 * i, 8, "global_buffer") for i in range(count)]


def descriptor(base: int, width: int) -> list[tuple[int, int, str]]:
    return [
        (base, 8, "global_buffer"),
        (base + 8, 8, "global_buffer"),
        *[(base + 16 + width * i, width, "by_value") for i in range(11)],
    ]


@pytest.mark.parametrize(
    ("arguments", "convention", "tensors"),
    [
        (pointers(3), "bare-pointer", 3),
        ([], "other", None),
        ([(0, 8, "global_buffer"), (16, 8, "global_buffer")], "other", None),
        ([(0, 8, "global_buffer"), (8, 8, "by_value"), (16, 8, "global_buffer")], "other", None),
        ([(0, 8, "global_buffer"), (8, 4, "dynamic_shared_pointer"), (16, 8, "global_buffer")], "other", None),
        (descriptor(0, 4) + descriptor(64, 4), "memref-descriptor", 2),
        (descriptor(0, 8) + descriptor(104, 8), "memref-descriptor", 2),
        (descriptor(0, 4) + descriptor(60, 4), "other", None),
        (descriptor(0, 4) + descriptor(64, 8), "other", None),
        (descriptor(0, 4)[:-1], "other", None),
        (descriptor(0, 4) + pointers(1), "other", None),
        ([(0, 64, "by_value"), (64, 64, "by_value")], "memref-descriptor", 2),
        ([(0, 64, "by_value"), (64, 104, "by_value")], "other", None),
        ([(0, 60, "by_value"), (64, 60, "by_value")], "other", None),
        ([(64, 64, "by_value"), (0, 64, "by_value")], "other", None),
    ],
)
def test_the_convention_is_read_from_the_layout_alone(
    arguments: list[tuple[int, int, str]], convention: str, tensors: int | None
) -> None:
    data = object_with(metadata_map(kernel_map(*arguments, (2048, 8, "hidden_none"), name=PATTERN[1:] + "x")))
    (kernel,) = read_code_object(data).kernels
    found = classify(kernel, PATTERN)
    assert (found.provider_kernel, found.convention, found.tensors) == (True, convention, tensors)


def test_the_symbol_decides_whose_kernel_it_is_not_the_name() -> None:
    other = kernel_map(*pointers(3), name="mlir_gen_igemm_conv2d_v4r4_fwd0", symbol="mine.kd")
    kernel: Kernel = read_code_object(object_with(metadata_map(other))).kernels[0]
    assert (kernel.name, kernel.symbol) == ("mlir_gen_igemm_conv2d_v4r4_fwd0", "mine")
    assert classify(kernel, PATTERN) == OTHER
    assert classify(kernel, "^mine$").convention == "bare-pointer"
    assert classify(kernel, None) == OTHER


def test_several_kernels_and_kernels_without_arguments() -> None:
    document = metadata_map(kernel_map(*pointers(2), name="a"), {**kernel_map(name="b", segment=0), ".args": []})
    no_list = {k: v for k, v in kernel_map(name="c").items() if k != ".args"}
    document["amdhsa.kernels"].append(no_list)
    found = read_code_object(object_with(document))
    assert [(k.symbol, len(k.explicit_args), k.explicit_bytes) for k in found.kernels] == [
        ("a", 2, 16),
        ("b", 0, 0),
        ("c", 0, 0),
    ]
