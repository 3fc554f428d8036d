"""The ABI number and convention at a provider's ref: by its header in a clone, by the forge, or by the ledger."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from relmgr.errors import RelmgrError, SourceError, UserError
from relmgr.model.abi import AbiVersion
from relmgr.model.base import Confidence
from relmgr.model.project import Contract, PinConfig, Project, Repository
from relmgr.sources.git.clone import HEX40, Clone, NamedRef
from relmgr.sources.git.objects import ObjectReader
from relmgr.sources.headers.lines import MAX_HEADER, number_of, read_lines
from relmgr.sources.provider.ledger import LedgerEntry, read_ledger


@dataclass(frozen=True)
class HeaderText:
    """A header that was found: its bytes, its path, and where it was read, in words."""

    data: bytes
    path: str
    where: str


class HeaderSource(Protocol):
    """A place that holds headers, such as a forge's contents API."""

    name: str

    def resolve(self, slug: str, ref: str) -> str | None:
        """Return the commit of a branch or tag, None when there is none; raise `SourceError` when it cannot tell."""

    def read(self, slug: str, commit: str, path: str) -> bytes | None:
        """Return a file's bytes at a commit, None when there is none; raise `SourceError` when it cannot tell."""


@dataclass(frozen=True)
class _Finding:
    """What one header says. `number` is None when it has no macro or one that is no number; `text` says which."""

    number: int | None
    text: str
    confidence: Confidence


class AbiReader:
    """Reads the ABI number at refs of a pin's provider, each once.

    Evidence, the first that answers wins: the header in the provider's clone, in `forge` when one is given, the
    contract's ledger. A clone that lacks an object is passed over and `source` says so.
    """

    def __init__(self, project: Project, pin: PinConfig, *, forge: HeaderSource | None = None) -> None:
        self._contract = project.contract(pin)
        self._name, self._provider = pin.provider, project.repositories[pin.provider]
        self._forge = forge
        self._clone, self._gap = _open(self._provider, pin.provider)
        self._versions: dict[tuple[str | None, str, str | None], AbiVersion] = {}
        self._by_commit: dict[str, tuple[_Finding | None, str]] = {}
        self._objects: ObjectReader | None = None

    def at(self, repository: str | None, ref: str, commit: str | None = None) -> AbiVersion:
        """Return the number at `ref` of the repository with slug `repository` (None: the provider).

        `commit` is the ref's commit where the caller knows it. Without it a branch is read as it stands in the clone
        now, and that is labelled `inferred`. What cannot be read raises nothing: the number is then None. A ledger
        that is no ledger is the project's mistake (`UserError`).
        """
        key = (repository, ref, commit)
        if key not in self._versions:
            self._versions[key] = self._read(*key)
        return self._versions[key]

    def read_all(self, refs: Iterable[tuple[str | None, str, str | None]]) -> list[AbiVersion]:
        """Return `at` of each (repository, ref, commit), in order, asking git once for all of them."""
        if self._clone is None or self._objects is not None:
            return [self.at(*ref) for ref in refs]
        with self._clone.objects(MAX_HEADER) as objects:
            self._objects = objects
            try:
                return [self.at(*ref) for ref in refs]
            finally:
                self._objects = None

    def commit_of(self, ref: str) -> str | None:
        """Return the provider commit that `ref` means now, None when it cannot be told."""
        return self._resolve(None, ref, None)[0]

    def header(self, repository: str | None, ref: str, commit: str | None = None) -> HeaderText:
        """Return the header at `ref`, the newest of the contract's paths. Raises `SourceError` when there is none."""
        contract = self._contract
        if contract is None:
            raise UserError(f"the pin of {self._name} has no contract", next_step="add one to the project")
        resolved, words, _ = self._resolve(repository, ref, commit)
        found, tried = self._find(contract, resolved) if resolved else (None, words)
        if found is None:
            raise SourceError(f"no header ({tried})", where=ref, next_step=self.next_step)
        return found

    @property
    def next_step(self) -> str:
        """What to give so that more can be read."""
        return f"give a clone that has it: --repo {self._name}=PATH"

    # -- one ref ----------------------------------------------------------------------------------------------------

    def _read(self, repository: str | None, ref: str, commit: str | None) -> AbiVersion:
        contract = self._contract
        if contract is None:
            return self._version(ref, None, "no contract is configured for this pin")
        resolved, words, moving = self._resolve(repository, ref, commit)
        finding, tried = self._finding(contract, resolved) if resolved else (None, words)
        entry, ledger = self._ledger(contract, repository, ref, resolved)
        if finding is None:
            tried = "; ".join(filter(None, (tried, ledger)))
            return self._by_ledger(ref, entry, tried) if entry else self._unknown(ref, tried)
        source = "; ".join(filter(None, (finding.text, words, _disagreement(finding, entry))))
        return self._version(ref, finding.number, source, "inferred" if moving else finding.confidence)

    def _version(self, ref: str, number: int | None, source: str, confidence: Confidence | None = None) -> AbiVersion:
        contract = self._contract
        return AbiVersion(
            provider=self._provider.slug,
            ref=ref,
            macro=contract.macro if contract else None,
            number=number,
            convention=contract.convention_of(number) if contract else "unknown",
            confidence=confidence,
            source=source,
        )

    def _by_ledger(self, ref: str, entry: LedgerEntry, tried: str) -> AbiVersion:
        version = self._version(ref, entry.number, f"ledger: {entry.source} ({tried})", entry.confidence)
        return version.model_copy(update={"convention": entry.convention})

    def _unknown(self, ref: str, tried: str) -> AbiVersion:
        return self._version(ref, None, f"{tried}; {self.next_step}")

    # -- the evidence -----------------------------------------------------------------------------------------------

    def _resolve(self, repository: str | None, ref: str, commit: str | None) -> tuple[str | None, str, bool]:
        """Return (commit, words about it, whether the ref may have stood elsewhere at the time asked about)."""
        stranger = repository is not None and not self._provider.is_named(repository)
        words = f"{repository} is not {self._provider.slug} under any configured name" if stranger else ""
        if commit or HEX40.match(ref):
            return commit or ref, words, False
        if stranger:
            return None, words, False
        if self._clone is None:
            return self._resolve_in_forge(ref)
        named = self._clone.name_ref(ref) if not ref.startswith("-") else NamedRef(ref, None, None)
        if named.is_ambiguous:
            return None, f"{ref!r} is both {' and '.join(named.readings)} in the clone", False
        if named.commit is None and (revision := self._clone.resolve(ref)):
            return revision, "", False
        if named.commit is None:
            return None, f"no ref {ref!r} in the clone {self._clone.path.name}", False
        moving = named.kind == "branch"
        return named.commit, f"branch {ref} as it stands in the clone now" if moving else "", moving

    def _resolve_in_forge(self, ref: str) -> tuple[str | None, str, bool]:
        if self._forge is None:
            return None, self._gap, False
        try:
            commit = self._forge.resolve(self._provider.slug, ref)
        except SourceError as error:
            return None, f"{self._gap}; {self._forge.name}: {error.what}", False
        # A forge does not tell a branch from a tag here, so the ref may have moved.
        return commit, f"{ref} as it stands at {self._forge.name} now" if commit else f"no ref {ref!r} there", True

    def _finding(self, contract: Contract, commit: str) -> tuple[_Finding | None, str]:
        if commit not in self._by_commit:
            found, tried = self._find(contract, commit)
            self._by_commit[commit] = (_read_number(contract, found), tried) if found else (None, tried)
        return self._by_commit[commit]

    def _find(self, contract: Contract, commit: str) -> tuple[HeaderText | None, str]:
        """Return the header at a commit and, when there is none, what was tried."""
        found, tried = self._in_clone(contract, commit)
        if found is None and self._forge is not None:
            found, more = self._in_forge(self._forge, contract, commit)
            tried = f"{tried}; {more}"
            if found:
                found = HeaderText(found.data, found.path, f"{found.where} ({tried.split('; ')[0]})")
        return found, tried

    def _paths(self, contract: Contract) -> list[str]:
        """Return where the header may lie, newest first; inside a monorepo before the repository's own top."""
        newest = list(reversed(contract.headers))
        root = self._provider.root.strip("/")
        return [f"{root}/{path}" for path in newest] + newest if root else newest

    def _in_clone(self, contract: Contract, commit: str) -> tuple[HeaderText | None, str]:
        if self._clone is None:
            return None, self._gap
        if self._objects is not None:
            return self._among(self._objects, contract, commit)
        with self._clone.objects(MAX_HEADER) as objects:
            return self._among(objects, contract, commit)

    def _among(self, objects: ObjectReader, contract: Contract, commit: str) -> tuple[HeaderText | None, str]:
        """Return the newest header with the macro, else the newest one. A sha of a tag object is peeled by git (P7)."""
        kept: HeaderText | None = None
        gap = ""
        for path in self._paths(contract):
            blob = objects.at(commit, path)
            if blob.state == "ok" and blob.data is not None:
                found = HeaderText(blob.data, path, f"{path} at {commit[:12]} in the clone")
                if _has_macro(contract, blob.data):
                    return found, ""
                kept = kept or found
            elif blob.state == "missing":
                return None, f"the clone lacks {commit[:12]} or its {path}"
            elif blob.state == "too-large":
                gap = f"{path} at {commit[:12]} is larger than {MAX_HEADER} bytes"
        return kept, gap or f"none of the contract's headers at {commit[:12]} in the clone"

    def _in_forge(self, forge: HeaderSource, contract: Contract, commit: str) -> tuple[HeaderText | None, str]:
        for path in self._paths(contract):
            try:
                data = forge.read(self._provider.slug, commit, path)
            except SourceError as error:
                return None, f"{forge.name}: {error.what}"
            if data is not None:
                return HeaderText(data, path, f"{path} at {commit[:12]} by {forge.name}"), ""
        return None, f"{forge.name}: none of the contract's headers at {commit[:12]}"

    def _ledger(
        self, contract: Contract, repository: str | None, ref: str, commit: str | None
    ) -> tuple[LedgerEntry | None, str]:
        if contract.ledger is None:
            return None, "no ledger"
        entries = read_ledger(contract.ledger)
        own = repository is None or self._provider.is_named(repository)
        entry = entries.get(commit or "") or (entries.get(ref) if own or HEX40.match(ref) else None)
        return entry, "" if entry else "not in the ledger"


def _open(provider: Repository, name: str) -> tuple[Clone | None, str]:
    if provider.path is None:
        return None, f"no clone of {name} given"
    try:
        return Clone.open(provider.path), ""
    except RelmgrError as error:
        return None, f"the clone of {name} cannot be read: {error.what}"


def _macros(contract: Contract) -> tuple[str, ...]:
    return (contract.macro, *contract.former_macros)


def _has_macro(contract: Contract, data: bytes) -> bool:
    return any(name.encode() in data for name in _macros(contract))


def _read_number(contract: Contract, found: HeaderText) -> _Finding:
    """Return what a header says, by the present macro or a former one."""
    try:
        lines = read_lines(found.data, found.path)
    except SourceError as error:
        return _Finding(None, f"{found.where}: {error.what}", "read")
    for macro in _macros(contract):
        number, reason = number_of(lines, macro)
        if reason == "absent":
            continue
        note = "" if macro == contract.macro else f" (as {macro})"
        return _Finding(number, f"{found.where}{note}{f': {macro} is {reason}' if reason else ''}", "read")
    text = f"{found.where}: without the macro {contract.macro}"
    if contract.number_without_macro is None:
        return _Finding(None, text, "read")
    return _Finding(contract.number_without_macro, f"{text}, which the project counts as that number", "inferred")


def _disagreement(finding: _Finding, entry: LedgerEntry | None) -> str:
    if entry is None or entry.number is None or entry.number == finding.number:
        return ""
    return f"the ledger says {entry.number} ({entry.source}); the header was believed"
