"""`relmgr abi show` and `relmgr abi diff`."""

from __future__ import annotations

from relmgr.errors import SourceError, UserError
from relmgr.model.abi import AbiDiff, AbiVersion, Header
from relmgr.model.abi_diff import compare_headers, unreadable
from relmgr.model.project import PinConfig, Project
from relmgr.sources.github.contents import ContentsApi
from relmgr.sources.headers.header import read_header
from relmgr.sources.pins.history import pin_state
from relmgr.sources.provider.abi import AbiReader
from relmgr.workflows.locate import consumer_clone, default_ref


def show_abi(project: Project, pin: PinConfig, ref: str | None, *, github: bool = False) -> AbiVersion:
    """Return the number at a provider's `ref`; without one at the ref that the consumer pins now.

    Without `ref` and without a consumer's clone: at the provider's default branch.
    """
    reader = _reader(project, pin, github)
    if ref is not None:
        return reader.at(None, ref, reader.commit_of(ref))
    if project.repositories[pin.consumer].path is None:
        branch = project.repositories[pin.provider].default_branch
        return reader.at(None, branch, reader.commit_of(branch))
    clone = consumer_clone(project, pin)
    pinned = pin_state(clone, project, pin, default_ref(clone, project, pin)).pin
    if pinned is None:
        raise SourceError(f"no pin {pin.name!r} in {clone.path}", next_step="give the provider's ref: --ref REF")
    return reader.at(pinned.repository, pinned.ref, pinned.ref if pinned.ref_kind == "sha" else None)


def diff_abi(project: Project, pin: PinConfig, old: str, new: str, *, github: bool = False) -> AbiDiff:
    """Compare the provider's headers at two refs. A side that cannot be read leaves the lists None."""
    contract = project.contract(pin)
    if contract is None:
        raise UserError(f"the pin {pin.name!r} has no contract", next_step="add one to the project, or give --pin NAME")
    reader = _reader(project, pin, github)
    versions = [reader.at(None, ref, reader.commit_of(ref)) for ref in (old, new)]
    headers: list[Header] = []
    reasons: dict[str, str] = {}
    for ref in (old, new):
        try:
            found = reader.header(None, ref)
            headers.append(read_header(found.data, found.path))
        except SourceError as error:
            reasons[ref] = error.what
    if reasons:
        return unreadable(versions[0], versions[1], reasons)
    return compare_headers(
        versions[0],
        versions[1],
        (headers[0], headers[1]),
        number_macros={contract.macro, *contract.former_macros},
        kernel_structs=contract.kernel_structs,
    )


def _reader(project: Project, pin: PinConfig, github: bool) -> AbiReader:
    return AbiReader(project, pin, forge=ContentsApi() if github else None)
