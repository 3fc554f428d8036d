"""Pin moves under which the provider's header changed while its number did not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from relmgr.errors import SourceError
from relmgr.model.abi import AbiDiff, Header
from relmgr.model.abi_diff import compare_headers, has_surface_change
from relmgr.model.audit import ApiChange
from relmgr.model.pins import PinChange, PinSide
from relmgr.model.project import Contract
from relmgr.sources.headers.header import read_header
from relmgr.sources.provider.abi import AbiReader


def read_api_changes(reader: AbiReader, contract: Contract, changes: Iterable[PinChange]) -> Iterator[ApiChange]:
    """Yield each move whose headers can be read on both sides, differ, and carry one number."""
    read: dict[tuple[str | None, str], Header | None] = {}
    for change in changes:
        if change.old is None or change.new is None or "ref" not in change.kinds:
            continue
        sides = [_header(reader, side, read) for side in (change.old, change.new)]
        if sides[0] is None or sides[1] is None or sides[0] is sides[1]:
            continue
        diff = _compare(reader, contract, change, (sides[0], sides[1]))
        if diff.number.old == diff.number.new is not None and has_surface_change(diff):
            yield ApiChange(commit=change.commit, statement=diff.statement, changed=tuple(_changed(diff)))


def _header(reader: AbiReader, side: PinSide, read: dict[tuple[str | None, str], Header | None]) -> Header | None:
    key = (side.repository, side.ref)
    if key not in read:
        try:
            found = reader.header(side.repository, side.ref, side.resolved)
            read[key] = read_header(found.data, found.path)
        except SourceError:
            read[key] = None
    return read[key]


def _compare(reader: AbiReader, contract: Contract, change: PinChange, headers: tuple[Header, Header]) -> AbiDiff:
    versions = [reader.at(s.repository, s.ref, s.resolved) for s in (change.old, change.new) if s is not None]
    return compare_headers(
        versions[0],
        versions[1],
        headers,
        number_macros={contract.macro, *contract.former_macros},
        kernel_structs=contract.kernel_structs,
    )


def _changed(diff: AbiDiff) -> Iterator[str]:
    if diff.functions is not None:
        yield from (f"- {text}" for text in diff.functions.removed)
        yield from (f"+ {text}" for text in diff.functions.added)
        yield from (f"~ {change.name}" for change in diff.functions.changed)
    for changes in (diff.structs, diff.enums, diff.macros, diff.typedefs):
        yield from (f"~ {change.name}" for change in changes or ())
