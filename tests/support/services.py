"""External programs that tests need: found, or the test skips with the reason; in CI it fails instead."""

from __future__ import annotations

import importlib
import os
import shutil
from types import ModuleType
from typing import NoReturn

import pytest


def need(program: str, package: str | None = None) -> str:
    """Return the path of `program`; without it skip, or fail where RELMGR_CI is set. `package` is Debian's name."""
    path = shutil.which(program)
    return path if path else missing(f"{program} is not installed (Debian: {package or program})")


def need_module(name: str) -> ModuleType:
    """Import and return an optional module; without it skip, or fail where RELMGR_CI is set."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return missing(f"the Python module {name} is not installed")


def missing(reason: str) -> NoReturn:
    """Skip with the reason, or fail where RELMGR_CI is set."""
    if os.environ.get("RELMGR_CI"):
        pytest.fail(reason)
    pytest.skip(reason)
