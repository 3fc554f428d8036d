"""What answers of a driver mean, whichever binding carries them: a binding of the test's own answers as it is told."""

from __future__ import annotations

import ctypes
import enum
from types import SimpleNamespace
from typing import Any

import pytest

from relmgr.smoke.backends.device import CompileFailed, DeviceFailed, Unavailable
from relmgr.smoke.backends.driver import Answer, Binding, DriverDevice


class Code(enum.IntEnum):
    """The driver's codes, as bindings give them."""

    OK = 0
    INVALID_VALUE = 1
    OUT_OF_MEMORY = 2
    NOT_READY = 600
    ILLEGAL_ADDRESS = 700
    OUT_OF_RESOURCES = 701
    MISALIGNED = 716
    UNKNOWN = 999


class Invented(DriverDevice):
    """A device whose driver's functions begin with `dr`, and whose compiler's with `rtc`."""

    compiler_name = "INVENTED"
    arch_option = "--for={}"
    standard_option = b"--std"
    source_name = b"smoke.x"
    binary_word = "Image"
    launch_end = 7

    def __init__(self, **functions: Any) -> None:
        module = SimpleNamespace(**functions)
        super().__init__(Binding(module, "dr", "install the driver"), Binding(module, "rtc", "install the compiler"))
        self.handed: list[int] = []

    def start(self, kernel: Any, blocks: int, block: int, extra: ctypes.Array[ctypes.c_void_p]) -> Answer:
        self.handed = [place or 0 for place in extra]
        data = ctypes.string_at(self.handed[1], 16)
        return self.ask("Launch", kernel, blocks, block, data, ctypes.c_size_t.from_address(self.handed[3]).value)


def failed(device: Invented, limit: float = 5) -> tuple[str, str, bool]:
    with pytest.raises(DeviceFailed) as caught:
        device.launch("kernel", b"12345678", 3, 64, limit)
    return caught.value.outcome, caught.value.detail, caught.value.poisoned


def test_a_launch_hands_over_the_bytes_their_length_and_the_end_mark() -> None:
    seen: list[Any] = []
    states = [Code.NOT_READY, Code.NOT_READY, Code.OK]
    device = Invented(
        drLaunch=lambda *given: (seen.append(given), (Code.OK,))[1], drStreamQuery=lambda stream: (states.pop(0),)
    )
    device.launch("kernel", b"12345678", 3, 64, 5)
    assert seen == [("kernel", 3, 64, b"12345678" + bytes(8), 8)]
    assert (device.handed[0], device.handed[2], device.handed[4], states) == (1, 2, 7, [])


@pytest.mark.parametrize("code", [Code.INVALID_VALUE, Code.OUT_OF_RESOURCES])
def test_a_launch_that_the_driver_refuses_poisons_nothing(code: Code) -> None:
    device = Invented(drLaunch=lambda *_: (code,))
    assert failed(device) == ("launch-refused", f"{code.name} ({int(code)}) at launch", False)


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (Code.ILLEGAL_ADDRESS, "illegal-address"),
        (Code.MISALIGNED, "illegal-address"),
        (Code.OUT_OF_RESOURCES, "error"),
        (Code.UNKNOWN, "error"),
    ],
)
def test_what_a_launch_ends_with_poisons_the_process(code: Code, outcome: str) -> None:
    device = Invented(drLaunch=lambda *_: (Code.OK,), drStreamQuery=lambda _: (code,))
    assert failed(device) == (outcome, f"{code.name} ({int(code)}) after the launch", True)


def test_a_kernel_that_does_not_end_is_a_hang() -> None:
    device = Invented(drLaunch=lambda *_: (Code.OK,), drStreamQuery=lambda _: (Code.NOT_READY,))
    assert failed(device, limit=0.01) == ("hang", "not ended after 0.01 s", True)


@pytest.mark.parametrize(("number", "outcome"), [(718, "illegal-address"), (4242, "error")])
def test_a_code_that_the_binding_does_not_know_keeps_its_meaning(number: int, outcome: str) -> None:
    device = Invented(drLaunch=lambda *_: (Code.OK,), drStreamQuery=lambda _: (Code(number),))
    assert failed(device) == (outcome, f"unknown to the binding ({number}) after the launch", True)


def test_another_value_error_is_a_bug_and_stays_one() -> None:
    device = Invented(drMemAlloc=lambda size: (Code.OK, int("no number")))
    with pytest.raises(ValueError, match="invalid literal"):
        device.call("MemAlloc", 8)


def test_out_of_memory_poisons_nothing_and_other_codes_do() -> None:
    device = Invented(drMemAlloc=lambda size: (Code.OUT_OF_MEMORY, None), drCopy=lambda: (Code.UNKNOWN,))
    with pytest.raises(DeviceFailed, match=r"^out of device memory: drMemAlloc: OUT_OF_MEMORY \(2\)$") as caught:
        device.call("MemAlloc", 8)
    assert not caught.value.poisoned
    with pytest.raises(DeviceFailed, match=r"^drCopy: UNKNOWN \(999\)$") as caught:
        device.call("Copy")
    assert caught.value.poisoned


def missing(*_: Any) -> Any:
    raise RuntimeError("libinvented.so: no such file")


def test_a_library_that_is_not_there_names_what_to_install() -> None:
    device = Invented(drInit=missing, drCopy=missing, rtcVersion=missing, rtcCreateProgram=missing)
    words = {"nothing": "no driver", "no_device": "no device", "next_step": "find one"}
    with pytest.raises(Unavailable, match=r"^no driver: drInit: libinvented\.so: no such file$") as caught:
        device.first("Init", 0, **words)
    assert caught.value.next_step == "install the driver"
    with pytest.raises(DeviceFailed, match=r"^drCopy: libinvented\.so: no such file$"):
        device.call("Copy")
    for ask in (device.toolchain, lambda: device.compile("source", [], "x1")):
        with pytest.raises(Unavailable, match=r"^no INVENTED: libinvented\.so: no such file$") as caught:
            ask()
        assert caught.value.next_step == "install the compiler"


def test_a_first_call_that_fails_means_that_there_is_no_device() -> None:
    device = Invented(drInit=lambda flags: (Code.UNKNOWN,))
    with pytest.raises(Unavailable, match=r"^no device: UNKNOWN \(999\)$") as caught:
        device.first("Init", 0, nothing="no driver", no_device="no device", next_step="find one")
    assert caught.value.next_step == "find one"


def test_a_module_is_loaded_once() -> None:
    loaded: list[bytes] = []
    device = Invented(
        drModuleLoadData=lambda data: (loaded.append(data), (Code.OK, len(loaded)))[1],
        drModuleGetFunction=lambda module, symbol: (Code.OK, (module, symbol)),
    )
    assert [device.load(b"one", "a"), device.load(b"one", "b"), device.load(b"two", "a")] == [
        (1, b"a"),
        (1, b"b"),
        (2, b"a"),
    ]
    assert loaded == [b"one", b"two"]


def product(data: bytes) -> tuple[Any, Any]:
    """Return the two functions of the compiler that hand over `data`: its size, and its bytes into a buffer."""

    def write(program: Any, into: bytearray) -> tuple[Code]:
        into[:] = data
        return (Code.OK,)

    return lambda program: (Code.OK, len(data)), write


def test_what_the_compiler_says_and_makes() -> None:
    given: list[Any] = []
    size, image = product(b"image")
    log_size, log = product(b"first\n" + b"x" * 1996 + b"last\0")
    codes = [Code.OK, Code.INVALID_VALUE]
    device = Invented(
        rtcVersion=lambda: (Code.OK, 9, 1),
        rtcCreateProgram=lambda *values: (given.append(values), (Code.OK, "program"))[1],
        rtcCompileProgram=lambda *values: (given.append(values), (codes.pop(0),))[1],
        rtcGetImageSize=size,
        rtcGetImage=image,
        rtcGetProgramLogSize=log_size,
        rtcGetProgramLog=log,
    )
    assert device.toolchain() == "INVENTED 9.1"
    assert device.compile("text", [], "x1") == b"image"
    assert given == [(b"text", b"smoke.x", 0, None, None), ("program", 2, [b"--for=x1", b"--std"])]
    with pytest.raises(CompileFailed) as caught:
        device.compile("text", [], "x1")
    assert str(caught.value) == "INVALID_VALUE: " + "x" * 1996 + "last"
