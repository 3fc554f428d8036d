"""An invented consumer and provider: other names, macro, numbers and sites than any shipped project's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from relmgr.model.project import Project
from relmgr.settings import load_project
from tests.support.repositories import TestRepository, new_repository

PROJECT = r"""
name = "gadget-forge"
zone = "Europe/Berlin"

[repositories.gadget]
slug = "acme/gadget"
default_branch = "trunk"
release_branches = '^stable/(?P<train>\d+\.\d+)$'
all_branches = '^(?:trunk|stable/.*)$'
release_tags = '^v\d+\.\d+\.\d+$'
database_folders = ["kernels"]
databases = ["kernels/*.kdb"]

[repositories.forge]
slug = "acme/forge"
aliases = ["oldacme/forge"]
default_branch = "trunk"
release_tags = '^f\d+$'

[[pins]]
name = "forge"
consumer = "gadget"
provider = "forge"
contract = "forge-abi"
sites = [
  { kind = "one-line", path = "forge.pin" },
  { kind = "cmake-variable", path = "deps.cmake", variable = "FORGE_REF" },
]

[contracts.forge-abi]
macro = "FORGE_KERNEL_ABI"
headers = ["include/old_forge.h", "include/forge.h"]

[contracts.forge-abi.conventions]
41 = "memref-descriptor"
42 = "memref-descriptor"
50 = "bare-pointer"
"""

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {size}\n"


def pointer(letter: str, size: int = 1000) -> str:
    """Return a Git LFS pointer whose oid repeats one hex digit."""
    return POINTER.format(oid=letter * 64, size=size)


def header(number: int | None) -> str:
    """Return the provider's header at a number, or without the macro."""
    macro = "" if number is None else f"#define FORGE_KERNEL_ABI {number}\n"
    return f"#ifndef FORGE_H\n#define FORGE_H\n{macro}void forgeBuild(const char *options);\n#endif\n"


@dataclass(frozen=True)
class Invented:
    """Both repositories and the project that describes them; `forge_at` maps a number to the provider's commit."""

    gadget: TestRepository
    forge: TestRepository
    forge_at: dict[int | None, str]
    file: Path

    def project(self, **paths: Path) -> Project:
        """Return the project with both clones, or with `paths` in their place."""
        chosen = {"gadget": self.gadget.path, "forge": self.forge.path} | paths
        return load_project(str(self.file), {name: str(path) for name, path in chosen.items()})


def invent(folder: Path) -> Invented:
    """Build the pair: the provider's numbers are none, 41, 42, 50; the consumer's history is for the test to write."""
    forge = new_repository(folder / "forge", "trunk")
    forge_at: dict[int | None, str] = {}
    for day, (number, files) in enumerate(
        [
            (None, {"include/old_forge.h": header(None)}),
            (41, {"include/old_forge.h": header(41)}),
            (42, {"include/old_forge.h": None, "include/forge.h": header(42)}),
            (50, {"include/forge.h": header(50)}),
        ],
        1,
    ):
        forge_at[number] = forge.commit(f"number {number}", files, at=f"2030-01-0{day}T10:00:00+01:00")
    file = folder / "relmgr-invented.toml"
    file.write_text(PROJECT, encoding="utf-8")
    return Invented(new_repository(folder / "gadget", "trunk"), forge, forge_at, file)
