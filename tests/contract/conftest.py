"""The emulator of GitHub that nobody here wrote, started once: the npm package `emulate`, release 0.11.2."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from tests.support.github_schema import node_modules
from tests.support.services import missing, need

RELEASE = "0.11.2"
SEED = {
    "tokens": {"planted_relmgr_0123456789": {"login": "relmgr"}, "planted_dev_0123456789": {"login": "dev"}},
    "github": {
        "users": [{"login": "relmgr"}, {"login": "dev"}],
        "orgs": [
            {"login": org, "members": [{"login": n, "role": "admin"} for n in ("relmgr", "dev")]}
            for org in ("ROCm", "acme")
        ],
        "repos": [
            {"owner": "ROCm", "name": "MIOpen", "auto_init": True},
            {"owner": "ROCm", "name": "rocMLIR", "auto_init": True},
            {"owner": "acme", "name": "gadget", "auto_init": True},
            {"owner": "acme", "name": "forge", "auto_init": True},
        ],
    },
}


@pytest.fixture(scope="session")
def emulate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start it on a port of its own; return its address."""
    node = need("node", "nodejs")
    package = node_modules() / "emulate"
    if not (package / "package.json").is_file():
        missing(f"npm package emulate@{RELEASE} is not installed (npm install, or set RELMGR_NODE_MODULES)")
    found = json.loads((package / "package.json").read_text(encoding="utf-8"))["version"]
    if found != RELEASE:
        missing(f"emulate {found} is installed, {RELEASE} is wanted")
    folder = tmp_path_factory.mktemp("emulate")
    (folder / "seed.json").write_text(json.dumps(SEED), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    start = [node, str(package / "dist" / "index.js"), "start", "-s", "github", "-p", str(port), "--base-url", base]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [*start, "--seed", str(folder / "seed.json")], stdout=log, stderr=log, cwd=folder, start_new_session=True
        )
    try:
        for _ in range(200):
            try:
                urllib.request.urlopen(f"{base}/repos/ROCm/MIOpen", timeout=5).close()
                break
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        else:
            pytest.fail(f"emulate did not start: {(folder / 'log').read_text(errors='replace')[-500:]}")
        yield base
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(20)
