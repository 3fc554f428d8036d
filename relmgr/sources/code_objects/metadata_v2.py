"""The metadata note of code object v2 (YAML) to plain kernels.

Format: https://llvm.org/docs/AMDGPUUsage.html#code-object-v2-metadata. Arguments carry size and alignment there, no
offset. The text is read as events, so that depth and number are counted before anything is built from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from relmgr.model.code_object import UnreadableCodeObject
from relmgr.sources.code_objects.metadata import (
    MAX_ARGUMENTS_PER_KERNEL,
    MAX_KERNELS,
    Metadata,
    RawKernel,
    checked,
    make_layout,
)

_MAX_BYTES = 2 << 20
_MAX_EVENTS = 400_000
_MAX_DEPTH = 16
_MAX_ALIGNMENT = 1 << 16
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_Events = Iterator[yaml.Event]


def parse_yaml(note: bytes) -> Metadata:
    """Return what a code object v2 note says; it names no target. Raises `UnreadableCodeObject`."""
    if len(note) > _MAX_BYTES:
        raise UnreadableCodeObject(f"a YAML metadata note of {len(note)} bytes, more than {_MAX_BYTES}")
    try:
        events = _counted(yaml.parse(note.rstrip(b"\0").decode("utf-8"), Loader=_LOADER))
        document = _build(events)
        kernels = document.get("Kernels", [])
        if not isinstance(kernels, list) or len(kernels) > MAX_KERNELS:
            raise UnreadableCodeObject("Kernels is no list, or a very long one")
        return Metadata(None, [_kernel(kernel) for kernel in kernels])
    except UnreadableCodeObject:
        raise
    except (yaml.YAMLError, ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        reason = ascii(str(getattr(error, "problem", None) or error))[1:-1][:120]
        raise UnreadableCodeObject(f"the YAML metadata note is not valid: {reason}") from None


def _counted(events: _Events) -> _Events:
    for number, event in enumerate(events):
        if number > _MAX_EVENTS:
            raise UnreadableCodeObject("a YAML metadata note of too many parts")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise UnreadableCodeObject("a YAML metadata note with anchors or aliases")
        yield event


def _build(events: _Events) -> Any:
    """Return the first document as dicts, lists and strings."""
    for event in events:
        if isinstance(event, yaml.NodeEvent):
            return _value(event, events, 0)
    raise UnreadableCodeObject("an empty YAML metadata note")


def _value(event: yaml.Event, events: _Events, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise UnreadableCodeObject("a YAML metadata note that is nested too deeply")
    if isinstance(event, yaml.ScalarEvent):
        return event.value
    if isinstance(event, yaml.SequenceStartEvent):
        return list(_values(events, depth))
    flat = list(_values(events, depth))
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _values(events: _Events, depth: int) -> Iterator[Any]:
    """Yield the values up to the end of the list or mapping that is open; a mapping's keys come as values too."""
    for event in events:
        if isinstance(event, yaml.CollectionEndEvent):
            return
        yield _value(event, events, depth + 1)


def _kernel(kernel: dict[str, Any]) -> RawKernel:
    arguments = kernel.get("Args", [])
    if len(arguments) > MAX_ARGUMENTS_PER_KERNEL:
        raise UnreadableCodeObject(f"a kernel with {len(arguments)} arguments")
    return checked(
        kernel["Name"],
        kernel["SymbolName"],
        make_layout(_placed(arguments)),
        _number(kernel["CodeProps"]["KernargSegmentSize"]),
    )


def _placed(arguments: list[dict[str, str]]) -> Iterator[tuple[int, int, str]]:
    """Yield offset, size and kind of the arguments, each placed at the next multiple of its alignment."""
    end = 0
    for argument in arguments:
        size, alignment = _number(argument["Size"]), _number(argument["Align"])
        if not 0 < alignment <= _MAX_ALIGNMENT:
            raise UnreadableCodeObject(f"an argument aligned to {alignment} bytes")
        offset = -(-end // alignment) * alignment
        end = offset + size
        yield offset, size, _snake_case(argument["ValueKind"])


def _snake_case(kind: str) -> str:
    """Return a value kind (`GlobalBuffer`) in the spelling of later versions (`global_buffer`)."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).lower()


def _number(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise UnreadableCodeObject(f"not a number: {ascii(text)[:40]}")
    return int(text)
