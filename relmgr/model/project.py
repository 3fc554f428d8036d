"""A project: repositories, the pins between them, and the contracts those pins carry."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, model_validator

from relmgr.model.base import Convention, Level, Noun
from relmgr.model.cluster import ClusterSettings
from relmgr.model.notes_settings import NotesSettings
from relmgr.model.rebuild import Rebuild


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    return text


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except Exception:
        raise ValueError(f"unknown time zone {name!r}; use an IANA name such as America/Los_Angeles") from None
    return name


Pattern = Annotated[str, AfterValidator(_pattern)]
Zone = Annotated[str, AfterValidator(_zone)]
Slug = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$")]

SiteKind = Literal["cget", "cget-command", "shell-variable", "one-line", "gitlink", "cmake-variable"]


class Repository(Noun):
    """A repository by its forge name; `aliases` are former names of the same project."""

    slug: Slug
    aliases: tuple[Slug, ...] = ()
    words: tuple[str, ...] = Field(default=(), description="names people use for it in prose, such as 'MLIR'")
    default_branch: str = "main"
    path: Path | None = Field(default=None, description="local clone, bare mirror or work tree")
    remote: str | None = Field(default=None, description="URL for ls-remote where no clone is at hand")
    root: str = Field(default="", description="the project's folder inside a monorepo, '' for the whole repository")
    release_branches: Pattern = Field(
        default=r"^release/(?P<train>\d+\.\d+)$",
        description="branches of a release train; the group `train` gives its number",
    )
    all_branches: Pattern = Field(
        default=r"^(?:main|master|develop|release/.*)$",
        description="branches whose first parents `--release-branches` walks",
    )
    release_tags: Pattern = r"^v?\d+\.\d+(\.\d+)?$"
    changelog: str = Field(default="CHANGELOG.md", description="path of the change log, from `root`")
    databases: tuple[str, ...] = Field(default=(), description="globs of shipped kernel databases")
    database_folders: tuple[str, ...] = Field(default=(), description="folders in which such files may lie")
    find_dbs: tuple[str, ...] = Field(
        default=(), description="globs of the find-dbs that tell which solvers' kernels those databases can hold"
    )
    rebuild: Rebuild | None = Field(default=None, description="how its kernel databases are rebuilt")

    def names(self) -> tuple[str, ...]:
        """Return every slug this repository has had, the current one first."""
        return (self.slug, *self.aliases)

    def is_named(self, slug: str | None) -> bool:
        """Tell whether `slug` (any letter case) is this repository, under its present or a former name."""
        return slug is not None and slug.lower() in {name.lower() for name in self.names()}


class Site(Noun):
    """One place where a pin is written. `repository` is needed by kinds that name only a ref."""

    kind: SiteKind
    path: str
    variable: str | None = Field(default=None, description="shell or CMake variable that holds the ref")
    repository: Slug | None = Field(default=None, description="what a bare ref at this site belongs to")
    copy_: bool = Field(
        default=False, alias="copy", description="repeats the pin: it must agree, and is never the pin itself"
    )

    @model_validator(mode="after")
    def _check(self) -> Site:
        if self.kind in ("shell-variable", "cmake-variable") and not self.variable:
            raise ValueError(f"a site of kind {self.kind!r} needs `variable`")
        if self.path.startswith("/") or ".." in Path(self.path).parts:
            raise ValueError("a site's path is relative to the repository's root folder")
        return self

    def label(self) -> str:
        """Return the site's path, with its variable where it has one."""
        return f"{self.path}:{self.variable}" if self.variable else self.path


class PinConfig(Noun):
    """A pin: `consumer` names the exact ref of `provider` at one of `sites`, listed by precedence."""

    name: str
    consumer: str
    provider: str
    contract: str | None = None
    group: str | None = Field(default=None, description="pins of one group move together")
    max_age_days: int = Field(default=180, ge=1, description="a pin that did not move for longer is worth a warning")
    sites: tuple[Site, ...] = Field(min_length=1)


class Generator(Noun):
    """How the consumer asks the provider's library for a kernel: the option string and the words that go into it.

    `options` may name, in braces, n g h w y x ho wo in_channels out_channels sh sw ph pw dh dw, operation, type,
    out_type, arch, kernel_name, and what `layouts` tells. Keys of the tables: fwd, bwd-data, wrw; f32, f16, bf16, i8;
    NCHW, NHWC.
    """

    options: str
    command: tuple[str, ...] = Field(
        default=(), description="program that generates instead of a library; {options} and {out} are filled in"
    )
    arch: str = Field(default="{target}", description="the target's spelling")
    operations: dict[str, str]
    kernel_names: dict[str, str]
    types: dict[str, str]
    out_types: dict[str, str] = Field(default={})
    layouts: dict[str, dict[str, str]]


class Contract(Noun):
    """What a provider promises by a number: `macro` in one of `headers`, listed from the oldest to the newest path."""

    macro: Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")]
    former_macros: tuple[str, ...] = ()
    headers: tuple[str, ...] = Field(min_length=1)
    kernel_structs: tuple[str, ...] = Field(default=(), description="structs that a kernel receives")
    guard_files: tuple[str, ...] = Field(default=(), description="globs of consumer files with `#if` on the macro")
    kernel_symbol: Pattern | None = Field(default=None, description="symbols of the provider's own kernels")
    conventions: dict[int, Convention] = Field(default={}, description="how kernels take arguments at each number")
    flag_renames: dict[str, str] = Field(default={}, description="build options that changed name at the provider")
    number_without_macro: int | None = Field(
        default=None, description="the number that a header without the macro stands for; unset: unknown"
    )
    ledger: Path | None = Field(default=None, description="table of refs whose number is known")
    solvers: dict[str, Pattern] = Field(
        default={}, description="consumer's solvers that launch the provider's kernels, with patterns of kernel names"
    )
    generator: Generator | None = Field(default=None, description="how kernels are asked for, for `smoke run`")
    removed_solvers: tuple[str, ...] = Field(default=(), description="solvers the consumer has removed or disabled")

    def convention_of(self, number: int | None) -> Convention:
        """Return the declared convention of `number`, `unknown` where none is declared."""
        return "unknown" if number is None else self.conventions.get(number, "unknown")


class BranchOverride(Noun):
    """A change of one policy on the branches whose name matches `pattern`."""

    pattern: Pattern
    level: Level | None = None
    params: dict[str, Any] = Field(default={})
    disabled: str | None = Field(default=None, min_length=10, description="why; shown in every verdict")


class PolicyOverride(Noun):
    """A project's change of one policy; the last branch that matches wins over what stands here."""

    level: Level | None = None
    params: dict[str, Any] = Field(default={})
    disabled: str | None = Field(default=None, min_length=10, description="why; shown in every verdict")
    branches: tuple[BranchOverride, ...] = ()


class PolicySettings(Noun):
    """Where a project's own policies and waivers stand, and how it changes the shipped policies."""

    folders: tuple[Path, ...] = Field(default=(), description="folders of further policies, each with its cases/")
    waivers: str = Field(default=".relmgr/waivers.yaml", description="path of the waivers on the base branch")
    override: dict[str, PolicyOverride] = Field(default={})


class SmokeSettings(Noun):
    """How smoke reports are signed, and by whose signatures they count."""

    secret_variable: str = Field(
        default="RELMGR_SMOKE_SECRET", pattern=r"^[A-Z_][A-Z0-9_]*$", description="environment variable of the secret"
    )
    allowed_signers: str = Field(
        default=".relmgr/allowed_signers", description="path, on the base branch, of the SSH keys that may sign"
    )


Who = Literal["anyone", "read", "triage", "write", "maintain", "admin", "owners", "nobody"]
Permitted = Who | tuple[str, ...]


class CommandSettings(Noun):
    """Who may run which command in a comment: a permission on the repository, the owners, or a list of logins.

    `/relmgr smoke` starts a workflow of the repository, as its default branch has it; without one it says what to run.
    """

    recheck: Permitted = "write"
    explain: Permitted = "anyone"
    order: Permitted = "anyone"
    smoke: Permitted = "write"
    waive: Permitted = "owners"
    ticket: Permitted = "write"
    smoke_workflow: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*\.ya?ml$",
        description="file name of the workflow that `/relmgr smoke` starts",
    )

    def who(self, command: str) -> Permitted:
        """Return who may run `command`."""
        return {name: getattr(self, name) for name in type(self).model_fields}[command]  # type: ignore[no-any-return]


class Project(Noun):
    """Everything relmgr is told about a set of repositories."""

    name: str
    zone: Zone = "UTC"
    forge: str = "github.com"
    owners: tuple[str, ...] = Field(default=(), description="GitHub logins that may grant exceptions")
    repositories: dict[str, Repository] = Field(min_length=1)
    pins: tuple[PinConfig, ...] = Field(min_length=1)
    contracts: dict[str, Contract] = Field(default={})
    trains: Path | None = Field(default=None, description="the calendar of release trains (YAML)")
    templates: Path | None = Field(
        default=None, description="folder of templates that take the place of the shipped ones of the same names"
    )
    policies: PolicySettings = PolicySettings()
    smoke: SmokeSettings = SmokeSettings()
    cluster: ClusterSettings = ClusterSettings()
    commands: CommandSettings = CommandSettings()
    notes: NotesSettings = NotesSettings()

    @model_validator(mode="after")
    def _check(self) -> Project:
        for number, pin in enumerate(self.pins):
            for end in (pin.consumer, pin.provider):
                if end not in self.repositories:
                    raise ValueError(f"pins.{number}: {end!r} is no repository; known: {', '.join(self.repositories)}")
            if pin.contract is not None and pin.contract not in self.contracts:
                known = ", ".join(self.contracts) or "none"
                raise ValueError(f"pins.{number}: {pin.contract!r} is no contract; known: {known}")
        names = [pin.name for pin in self.pins]
        if len(set(names)) != len(names):
            raise ValueError(f"pin names must differ: {', '.join(names)}")
        return self

    @cached_property
    def timezone(self) -> ZoneInfo:
        """The project's zone, in which a date alone means that whole day."""
        return ZoneInfo(self.zone)

    def pin(self, name: str | None = None) -> PinConfig:
        """Return the pin called `name`; without a name the first one, which is the project's main pin."""
        if name is None:
            return self.pins[0]
        for pin in self.pins:
            if pin.name == name:
                return pin
        raise KeyError(name)

    def contract(self, pin: PinConfig) -> Contract | None:
        """Return the contract that `pin` carries, if any."""
        return self.contracts[pin.contract] if pin.contract else None

    def repository_named(self, slug: str | None) -> str | None:
        """Return the configured name of the repository that is or was called `slug`."""
        for name, repository in self.repositories.items():
            if repository.is_named(slug):
                return name
        return None


class NewProject(Noun):
    """The document of `config new`: its files, and whether they were written. `shipped`: the project it begins with."""

    file: str
    shipped: str | None
    files: tuple[str, ...]
    written: bool
