"""A consumer of the shipped default project: databases that are pointers to real ones, and find-dbs beside them."""

from __future__ import annotations

import bz2
import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from relmgr.model.project import Project
from relmgr.settings import load_project
from tests.support.databases import KernelRow, write_database
from tests.support.repositories import TestRepository, new_repository

# Refs whose numbers the shipped ledger tells.
ABI5, ABI6 = "rocm-5.3.0", "11f2e26f193d398cc67f00d9b8e5a58504a14092"
PROVIDER_LINE = "64-3-3x3-64=miopenConvolutionFwdAlgoImplicitGEMM:ConvMlirIgemmFwdXdlops,0.2,0,x,y\n"
OTHER_LINE = "64-3-3x3-64=ConvBinWinograd3x3U:0.1,0,miopenConvolutionFwdAlgoWinograd\n"
FOLDER = "src/kernels"
Files = dict[str, "str | bytes | None"]


def requirements(ref: str) -> str:
    """Return the pin's file at a ref."""
    return f"ROCmSoftwarePlatform/rocMLIR@{ref} -DBUILD_FAT_LIBMLIRMIOPEN=1\n"


@dataclass
class Shipped:
    """The consumer's repository, and the contents of its databases by name, beside it."""

    repository: TestRepository
    contents: Path
    named: dict[str, Path] = field(default_factory=dict)

    def project(self) -> Project:
        """Return the default project with this clone."""
        return load_project("miopen-rocmlir", {"miopen": str(self.repository.path)})

    def database(self, name: str, *rows: KernelRow) -> Files:
        """Write a real database outside the tree; return the pointer that stands for it in the tree."""
        (self.contents / name).unlink(missing_ok=True)
        path = write_database(self.contents / name, rows)
        self.named[name] = path
        data = path.read_bytes()
        oid = hashlib.sha256(data).hexdigest()
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(data)}\n"
        return {f"{FOLDER}/{name}": pointer}


def find_db(base: str, *lines: str, packed: bool = False, backend: str = "HIP") -> Files:
    """Return a find-db of these lines by its path in the tree."""
    data = "".join(lines).encode()
    name = f"{FOLDER}/{base}.{backend}.fdb.txt"
    return {f"{name}.bz2": bz2.compress(data)} if packed else {name: data}


def ship(folder: Path) -> Shipped:
    """Build the consumer with its first commit: the pin at number 5."""
    repository = new_repository(folder / "miopen")
    repository.commit("Start", {"requirements.txt": requirements(ABI5)}, at="2022-06-01T12:00:00-07:00")
    return Shipped(repository, folder / "contents")
