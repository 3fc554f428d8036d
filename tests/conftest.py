"""What every test gets: no network, no user configuration of git, clocks and caches of its own."""

from __future__ import annotations

import os
import socket
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Shared machines are slow at times: a deadline a test would measure the machine.
settings.register_profile("relmgr", deadline=None, print_blob=True)
settings.load_profile("relmgr")

_LOOPBACK = ("127.", "::1", "localhost")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI only device tests may skip: any other missing thing is a failure."""
    report = yield
    excused = item.get_closest_marker("gpu") or hasattr(report, "wasxfail")
    if os.environ.get("RELMGR_CI") and report.skipped and not excused:
        report.outcome, report.longrepr = "failed", f"skipped in CI: {report.longrepr}"
    return report


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
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


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the one flag that rewrites golden files."""
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden from what is printed now")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Any:
    """Compare text with `tests/golden/<name>`, or write it there with `--update-golden`."""

    def compare(name: str, text: str) -> None:
        file = Path(__file__).parent / "golden" / name
        if request.config.getoption("--update-golden"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert file.is_file(), f"{name} is missing: run pytest --update-golden, and read what it wrote"
        assert text == file.read_text(encoding="utf-8")

    return compare
