"""Compare two headers and say what the difference means for the number they carry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from relmgr.model.abi import (
    AbiDiff,
    AbiVersion,
    Change,
    Enum,
    EnumChange,
    FunctionChanges,
    Header,
    NumberPair,
    Struct,
    StructChange,
    Typedef,
)

N = TypeVar("N", Struct, Enum, Typedef)


def compare_headers(
    old: AbiVersion,
    new: AbiVersion,
    headers: tuple[Header, Header],
    *,
    number_macros: Collection[str],
    kernel_structs: Collection[str],
) -> AbiDiff:
    """Return how two headers differ. `number_macros` carry the number and are no surface of their own.

    `kernel_structs` are the structs that a kernel receives.
    """
    before, after = headers
    macros = _changes(_macro_texts(before, number_macros), _macro_texts(after, number_macros))
    diff = AbiDiff(
        from_=old.ref,
        to=new.ref,
        number=NumberPair(old=old.number, new=new.number),
        functions=_function_changes(before, after),
        structs=_struct_changes(before, after, kernel_structs),
        enums=_enum_changes(before, after),
        macros=macros,
        typedefs=_changes(
            {name: typedef.type for name, typedef in _keyed(before.typedefs).items()},
            {name: typedef.type for name, typedef in _keyed(after.typedefs).items()},
        ),
        statement="",
        notes=(*_notes(old, before), *_notes(new, after)),
    )
    unread = sorted(set(before.unread) ^ set(after.unread))
    return diff.model_copy(update={"statement": _statement(diff, kernel_structs, after, unread)})


def unreadable(old: AbiVersion, new: AbiVersion, reasons: Mapping[str, str]) -> AbiDiff:
    """Return the comparison of refs of which at least one has no header to read; `reasons` by ref."""
    said = "; ".join(f"{ref}: {reason}" for ref, reason in reasons.items())
    return AbiDiff(
        from_=old.ref,
        to=new.ref,
        number=NumberPair(old=old.number, new=new.number),
        functions=None,
        structs=None,
        enums=None,
        macros=None,
        typedefs=None,
        statement=f"unknown: the headers cannot be compared ({said})",
        notes=tuple(f"{version.ref}: {version.source}" for version in (old, new)),
    )


def has_surface_change(diff: AbiDiff) -> bool:
    """Tell whether anything but the number differs."""
    functions = diff.functions
    listed = bool(functions and (functions.added or functions.removed or functions.changed))
    return listed or any((diff.structs, diff.enums, diff.macros, diff.typedefs))


def _statement(diff: AbiDiff, kernel_structs: Collection[str], after: Header, unread: list[str]) -> str:
    parts = [_on_number(diff, bool(unread))]
    kernel = [change.name for change in diff.structs or () if change.kernel_facing]
    if kernel and diff.number.old == diff.number.new:
        parts.insert(
            0, f"kernel-facing struct {', '.join(kernel)} changed, number did not: kernels and callers may part"
        )
    kept = [struct.name for struct in after.structs if struct.name in kernel_structs and struct.name not in kernel]
    if kept and _raised(diff) and has_surface_change(diff):
        parts.append(
            f"kernel-facing struct {', '.join(kept)} unchanged in the header: confirm by what the compiler emits"
        )
    if unread:
        parts.append(f"{len(unread)} declarations that differ could not be read: compare them by hand")
    return "; ".join(parts)


def _on_number(diff: AbiDiff, unread: bool) -> str:
    old, new = diff.number.old, diff.number.new
    changed = has_surface_change(diff)
    surface = "API changed" if changed else "surface unknown" if unread else "surface unchanged in the header"
    if old is None or new is None:
        side = "on both sides" if old is None and new is None else f"at {diff.from_ if old is None else diff.to}"
        return f"number unknown {side}, {surface}"
    if old == new and changed:
        return "API changed, number did not"
    if old == new:
        return f"number unchanged, {surface}" if unread else "unchanged: number and surface are the same"
    moved = f"number {'raised' if new > old else 'lowered'}, {surface}"
    return moved if changed else f"{moved}: confirm by what the compiler emits"


def _raised(diff: AbiDiff) -> bool:
    return diff.number.old is not None and diff.number.new is not None and diff.number.old != diff.number.new


def _notes(version: AbiVersion, header: Header) -> tuple[str, ...]:
    return (f"{version.ref}: {version.source}", *(f"{version.ref}: {header.path}: {note}" for note in header.notes))


def _function_changes(before: Header, after: Header) -> FunctionChanges:
    old, new = _function_texts(before), _function_texts(after)
    changes = _changes(old, new)
    return FunctionChanges(
        added=tuple(c.new for c in changes if c.old is None and c.new is not None),
        removed=tuple(c.old for c in changes if c.new is None and c.old is not None),
        changed=tuple(c for c in changes if c.old is not None and c.new is not None),
    )


def _function_texts(header: Header) -> dict[str, str]:
    """Signature by name; a function declared several times (under `#if`) has them all in one text."""
    texts: dict[str, list[str]] = {}
    for function in header.functions:
        text = function.signature() + (f" [#if {function.condition}]" if function.condition else "")
        if text not in texts.setdefault(function.name, []):
            texts[function.name].append(text)
    return {name: " | ".join(found) for name, found in texts.items()}


def _macro_texts(header: Header, number_macros: Collection[str]) -> dict[str, str]:
    """Value by name, without the number; macro calls that stand alone count as macros used."""
    texts: dict[str, list[str]] = {}
    for macro in header.macros:
        if macro.name not in number_macros:
            texts.setdefault(macro.name, []).append(
                macro.value + (f" [#if {macro.condition}]" if macro.condition else "")
            )
    return {name: " | ".join(found) for name, found in texts.items()} | {call: "used" for call in header.calls}


def _struct_changes(before: Header, after: Header, kernel_structs: Collection[str]) -> tuple[StructChange, ...]:
    old, new = _keyed(before.structs), _keyed(after.structs)
    kernel = {name for name, struct in {**old, **new}.items() if struct.name.split(".")[0] in kernel_structs}
    return tuple(
        StructChange(name=name, old=old.get(name), new=new.get(name), kernel_facing=name in kernel)
        for name in sorted({*old, *new})
        if _shape(old.get(name)) != _shape(new.get(name))
    )


def _shape(struct: Struct | None) -> object:
    """What makes two structs differ: the reason for an unknown size is words, not shape."""
    return struct and struct.model_copy(update={"unknown": None})


def _enum_changes(before: Header, after: Header) -> tuple[EnumChange, ...]:
    old, new = ({name: e.values for name, e in _keyed(header.enums).items()} for header in (before, after))
    return tuple(
        EnumChange(name=name, old=old.get(name), new=new.get(name))
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    )


def _keyed(items: Iterable[N]) -> dict[str, N]:
    """Return items by name; one declared several times, under `#if` or again, stands once for each."""
    keyed: dict[str, N] = {}
    counts: Counter[str] = Counter()
    for item in items:
        name = f"{item.name} [#if {item.condition}]" if item.condition else item.name
        counts[name] += 1
        keyed[name if counts[name] == 1 else f"{name} ({counts[name]})"] = item
    return keyed


def _changes(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[Change, ...]:
    return tuple(
        Change(name=name, old=old.get(name), new=new.get(name))
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    )
