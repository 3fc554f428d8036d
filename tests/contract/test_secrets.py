"""B7: planted secrets through whole commands: tokens, an App's key, credentials in remotes' addresses.

None may stand in standard output or error, in relmgr's record or caches, in a repository's settings, in what is posted,
or in the arguments of any process, which everybody on the machine can read. Arguments are looked at while a server
keeps the process waiting.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.git_server import git_server
from tests.support.github_standin import StandIn, Trouble
from tests.support.invented import Invented, invent

TOKEN = "planted-token-0123456789"
PASSWORD = "planted:pass/word"
IN_ADDRESS = "planted%3Apass%2Fword"
INSTALLATION = "ghs_planted0123456789"


@dataclass
class Watch:
    """Looks for secrets in the arguments of every process on the machine, whenever it is asked to."""

    secrets: tuple[str, ...]
    looks: int = 0
    found: list[str] = field(default_factory=list)

    def look(self) -> None:
        self.looks += 1
        for folder in Path("/proc").iterdir():
            try:
                told = (folder / "cmdline").read_bytes().decode("utf-8", "replace") if folder.name.isdigit() else ""
            except OSError:
                continue
            self.found += [told for secret in self.secrets if secret in told]


@pytest.fixture
def watch() -> Watch:
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("no /proc: arguments of other processes cannot be read here")
    return Watch((TOKEN, PASSWORD, IN_ADDRESS, INSTALLATION, "PRIVATE KEY"))


@pytest.fixture
def standin(watch: Watch) -> Iterator[StandIn]:
    with StandIn().running() as running:
        running.add_repo("acme/gadget", "trunk")
        running.add_repo("acme/forge", "trunk")
        running.before = lambda number: watch.look()
        yield running


@pytest.fixture
def pair(tmp_path: Path, standin: StandIn) -> Invented:
    made = invent(tmp_path)
    made.gadget.commit("pin it", {"forge.pin": f"{made.forge_at[41]}\n"}, at="2030-02-01T01:00:00+01:00")
    made.gadget.git("checkout", "-q", "-b", "work")
    head = made.gadget.commit("Bump", {"forge.pin": f"{made.forge_at[42]}\n"}, at="2030-02-02T01:00:00+01:00")
    made.gadget.git("update-ref", "refs/pull/7/head", head)
    made.gadget.git("checkout", "-q", "trunk")
    made.forge.git("reset", "-q", "--hard", str(made.forge_at[42]))
    standin.add_pull("acme/gadget", 7, head_sha=head, title="Bump forge")
    (tmp_path / "trains.yaml").write_text("trains:\n  - {name: gadget-1.0, base_branch: trunk, cut: 2199-01-01}\n")
    made.file.write_text('trains = "trains.yaml"\n' + made.file.read_text(encoding="utf-8"), encoding="utf-8")
    return made


def run(pair: Invented, *args: str, forge: str | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """Run relmgr in a process of its own."""
    repos = [f"gadget={pair.gadget.path}", f"forge={forge or pair.forge.path}"]
    options = ["--project", str(pair.file), *(part for repo in repos for part in ("--repo", repo))]
    command = [sys.executable, "-m", "relmgr", *args, *options]
    return subprocess.run(command, env=os.environ | env, capture_output=True, text=True, timeout=120, check=False)


def assert_silent(done: subprocess.CompletedProcess[str], watch: Watch, pair: Invented, standin: StandIn) -> None:
    """Assert that no secret is anywhere; `pair`'s own settings may keep the address that a person put there."""
    posted = [*standin.bodies("acme/gadget", 7), *(json.dumps(one) for one in standin.repos["acme/gadget"].checks)]
    kept = [file.read_text(errors="replace") for file in Path.home().rglob("*") if file.is_file()]
    assert Path.home().is_relative_to("/tmp") or "pytest" in str(Path.home())
    for secret in watch.secrets:
        for where in (done.stdout, done.stderr, *posted, *kept):
            assert secret not in where
    assert watch.looks > 0
    assert watch.found == []


def test_a_token_in_the_environment(pair: Invented, standin: StandIn, watch: Watch) -> None:
    standin.troubles.append(Trouble("forbidden", "POST", "comments", times=9))
    before = (pair.gadget.path / ".git" / "config").read_bytes()
    env = {"GITHUB_API_URL": standin.url, "GITHUB_TOKEN": TOKEN}
    done = run(pair, "gate", "check", "acme/gadget#7", "--post", **env)
    assert done.returncode == 3
    assert standin.authorizations == {f"token {TOKEN}"}
    assert_silent(done, watch, pair, standin)
    assert (pair.gadget.path / ".git" / "config").read_bytes() == before
    assert (Path.home() / ".local" / "state" / "relmgr" / "actions.jsonl").is_file()


@pytest.mark.parametrize("by", ["file", "variable"])
def test_an_apps_key_and_the_token_that_it_gets(
    pair: Invented, standin: StandIn, watch: Watch, tmp_path: Path, by: str
) -> None:
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()
    (tmp_path / "key.pem").write_text(pem)
    env = {"RELMGR_APP_KEY": pem} if by == "variable" else {"RELMGR_APP_KEY_FILE": str(tmp_path / "key.pem")}
    env |= {"GITHUB_API_URL": standin.url, "RELMGR_APP_ID": "12", "RELMGR_APP_INSTALLATION": "34"}
    done = run(pair, "gate", "check", "acme/gadget#7", "--post", **env)
    assert done.returncode in (0, 1), done.stderr
    assert f"token {INSTALLATION}" in standin.authorizations
    assert len(standin.repos["acme/gadget"].checks) == 1
    assert_silent(done, watch, pair, standin)


@pytest.mark.parametrize("works", [True, False], ids=["accepted", "refused"])
def test_credentials_in_a_remotes_address(
    pair: Invented, standin: StandIn, watch: Watch, tmp_path: Path, works: bool
) -> None:
    pair.gadget.git("init", "-q", "--bare", str(tmp_path / "served" / "gadget.git"))
    pair.gadget.git("-C", str(tmp_path / "served" / "gadget.git"), "config", "http.receivepack", "true")
    expected = PASSWORD if works else "another"
    with git_server(tmp_path / "served", "bot", expected, on_request=watch.look) as host:
        pair.gadget.git("remote", "add", "origin", f"https://bot:{IN_ADDRESS}@{host}/gadget.git")
        before = (pair.gadget.path / ".git" / "config").read_bytes()
        env = {"GITHUB_API_URL": standin.url, "GITHUB_TOKEN": TOKEN, "GIT_SSL_NO_VERIFY": "1"}
        done = run(pair, "pin", "bump", "--to", str(pair.forge_at[42]), "--apply", "--pull-request", **env)
    assert done.returncode == (0 if works else 3), done.stdout + done.stderr
    pushed = pair.gadget.git("-C", str(tmp_path / "served" / "gadget.git"), "for-each-ref")
    assert ("relmgr/bump-forge" in pushed) is works
    watch.looks += 0 if works else 1
    assert_silent(done, watch, pair, standin)
    assert (pair.gadget.path / ".git" / "config").read_bytes() == before


def test_credentials_in_an_address_that_is_only_asked_for_its_refs(
    pair: Invented, standin: StandIn, watch: Watch, tmp_path: Path
) -> None:
    served = tmp_path / "served" / "forge.git"
    pair.forge.git("clone", "-q", "--bare", str(pair.forge.path), str(served))
    with git_server(tmp_path / "served", "bot", PASSWORD, on_request=watch.look) as host:
        file = pair.file.read_text(encoding="utf-8")
        remote = f'slug = "acme/forge"\nremote = "https://bot:{IN_ADDRESS}@{host}/forge.git"'
        pair.file.write_text(file.replace('slug = "acme/forge"', remote), encoding="utf-8")
        options = ["--project", str(pair.file), "--repo", f"gadget={pair.gadget.path}"]
        command = [sys.executable, "-m", "relmgr", "pin", "check", *options]
        env = os.environ | {"GIT_SSL_NO_VERIFY": "1"}
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, 1), done.stderr
    assert_silent(done, watch, pair, standin)
