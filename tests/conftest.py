"""What every test gets: no network, no user configuration of git, clocks and caches of its own."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_LOOPBACK = ("127.", "::1", "localhost")


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Refuse every connection that leaves this machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if isinstance(address, tuple) and not str(address[0]).startswith(_LOOPBACK):
            raise AssertionError(f"a test tried to reach {address[0]}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
    return


@pytest.fixture(autouse=True)
def _own_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Give the test a home of its own, and git an author, so that nothing depends on the machine."""
    home = tmp_path_factory.mktemp("home")
    for name in [n for n in os.environ if n.startswith("GIT_")]:
        monkeypatch.delenv(name)
    for name, value in {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "A Maintainer",
        "GIT_AUTHOR_EMAIL": "maintainer@example.org",
        "GIT_COMMITTER_NAME": "A Maintainer",
        "GIT_COMMITTER_EMAIL": "maintainer@example.org",
        "TZ": "UTC",
        "COLUMNS": "120",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def data() -> Path:
    """The folder of test data."""
    return Path(__file__).parent / "data"
