"""K3, by chance: real files spoiled at random. Only `UnreadableCodeObject` may come out, in bounded time and memory.

The short run is hypothesis's; the long one (`-m slow`) takes a minute, or RELMGR_FUZZ_SECONDS, from a printed seed
(RELMGR_FUZZ_SEED repeats it).
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import struct
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relmgr.model.code_object import UnreadableCodeObject, classify
from relmgr.sources.code_objects.code_object import read_code_object
from relmgr.sources.code_objects.cubin import read_cuda
from relmgr.sources.code_objects.elf import read_elf
from relmgr.sources.code_objects.offload_bundle import unpack_bundles
from tests.sources.code_objects.test_code_object_hostile import KERNEL, yaml_object
from tests.support.code_objects import bundle, compressed, kernel_map, metadata_map, object_with

DATA = Path(__file__).parents[2] / "data"
OBJECTS = [p.read_bytes() for p in sorted((DATA / "code_objects").glob("*.hsaco"))]
CUBINS = [p.read_bytes() for p in sorted((DATA / "cubins").glob("*.cubin"))]
BUNDLE = bundle(("host-x86_64-unknown-linux-gnu", b""), ("hip-amdgcn-amd-amdhsa--gfx90a", OBJECTS[0]))
SEEDS = [
    *OBJECTS,
    *CUBINS,
    BUNDLE,
    BUNDLE + bytes(64) + BUNDLE,
    *[compressed(BUNDLE, version) for version in (1, 2, 3)],
    yaml_object(KERNEL),
    object_with(metadata_map(*[kernel_map((0, 8, "global_buffer"), name=f"k{n}") for n in range(900)])),
]
EDGES = [0, 1, 7, 63, 127, 128, 255, 256, 4095, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1]
FORMS = ["<B", "<H", "<I", "<Q", ">H", ">I"]
SLOWEST_SECONDS = 20


def read_every_way(data: bytes) -> None:
    """Read `data` as each kind of file, whatever it begins with; nothing but `UnreadableCodeObject` may come out."""
    with contextlib.suppress(UnreadableCodeObject):
        for kernel in read_code_object(data).kernels:
            classify(kernel, "^mlir_gen_igemm_conv2d_")
    with contextlib.suppress(UnreadableCodeObject):
        read_cuda(read_elf(data))
    with contextlib.suppress(UnreadableCodeObject):
        for entry in unpack_bundles(data):
            with contextlib.suppress(UnreadableCodeObject):
                read_code_object(entry.image)


def spoil(data: bytes, rng: random.Random) -> bytes:
    """Return `data` with one to eight changes: bits, bytes, sizes, cuts, copies, insertions, mostly near the start."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        at = rng.randrange(min(len(changed), rng.choice([64, 256, 4096, 1 << 20]))) if changed else 0
        action = rng.randrange(7)
        if action == 0 and changed:
            changed[at] ^= 1 << rng.randrange(8)
        elif action == 1 and changed:
            changed[at] = rng.randrange(256)
        elif action == 2:
            form = rng.choice(FORMS)
            size = struct.calcsize(form)
            value = (rng.choice(EDGES) + rng.randrange(-1, 2)) % (1 << 8 * size)
            if at + size <= len(changed):
                struct.pack_into(form, changed, at, value)
        elif action == 3:
            del changed[at:]
        elif action == 4:
            length = rng.randrange(1, 64)
            changed[at:at] = changed[at : at + length] * rng.randrange(1, 4)
        elif action == 5:
            del changed[at : at + rng.randrange(1, 16)]
        else:
            changed[at:at] = rng.randbytes(rng.randrange(1, 16))
    return bytes(changed)


def seeds_folded() -> list[bytes]:
    """Return the seeds; they must be readable, or the fuzzing starts from nothing."""
    for data in OBJECTS:
        assert read_code_object(data).kernels
    for data in CUBINS:
        assert read_cuda(read_elf(data)).kernels
    assert list(unpack_bundles(BUNDLE))
    return SEEDS


@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.sampled_from(seeds_folded()), rng=st.randoms(use_true_random=False))
def test_spoiled_files_end_in_a_reason(seed: bytes, rng: random.Random) -> None:
    read_every_way(spoil(seed, rng))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    document=st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(
                    ["amdhsa.kernels", "amdhsa.target", ".args", ".name", ".symbol", ".offset", ".size", ".value_kind"]
                ),
                inner,
            )
        ),
        max_leaves=40,
    )
)
def test_any_msgpack_document_ends_in_a_reason(document: object) -> None:
    read_every_way(object_with({"amdhsa.kernels": document}))
    read_every_way(object_with({"amdhsa.kernels": [document]}))
    read_every_way(object_with({"amdhsa.kernels": [kernel_map((document, document, document))]}))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(text=st.text(alphabet=" \n\t-?:,[]{}&*!|>'\"%@aKernels1", max_size=200))
def test_any_yaml_ends_in_a_reason(text: str) -> None:
    read_every_way(yaml_object(text))
    read_every_way(yaml_object(KERNEL.replace("16", text)))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(content=st.binary(max_size=300))
def test_any_bytes_end_in_a_reason(content: bytes) -> None:
    for start in (b"", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB", OBJECTS[0][:64], CUBINS[0][:64]):
        read_every_way(start + content)
    read_every_way(compressed(content, 2))


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_a_minute_of_spoiled_files(tmp_path: Path) -> None:
    seconds = float(os.environ.get("RELMGR_FUZZ_SECONDS", "60"))
    seed = int(os.environ.get("RELMGR_FUZZ_SEED", "0")) or random.SystemRandom().randrange(1, 2**32)
    print(f"RELMGR_FUZZ_SEED={seed}")
    rng, end, rounds, slowest = random.Random(seed), time.monotonic() + seconds, 0, 0.0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    while time.monotonic() < end:
        data = spoil(rng.choice(SEEDS), rng)
        started = time.process_time()
        try:
            read_every_way(data)
        except BaseException:
            (tmp_path / "failure").write_bytes(data)
            print(f"the file is {tmp_path / 'failure'}")
            raise
        slowest = max(slowest, time.process_time() - started)
        rounds += 1
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{rounds} files, the slowest {slowest:.3f} s, memory grew by {grown:.0f} MiB")
    assert rounds > 100
    assert slowest < SLOWEST_SECONDS, "a hang in the making"
    assert grown < 1024
