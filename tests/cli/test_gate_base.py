"""`gate check OWNER/REPO#N` by the settings of the base branch: those at hand may be the change's own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_pin import run
from tests.support.github_standin import StandIn
from tests.support.invented import Invented, invent

TRAINS = "trains:\n  - {name: gadget-1.0, base_branch: trunk, cut: 2199-01-01}\n"
LAX = '\n[policies.override.approvals-and-checks]\ndisabled = "because I would like to merge"\n'


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    with StandIn().running() as running:
        running.add_repo("acme/gadget", "trunk")
        running.add_repo("acme/forge", "trunk")
        monkeypatch.setenv("GITHUB_API_URL", running.url)
        monkeypatch.setenv("GITHUB_TOKEN", "planted-token-0123456789")
        yield running
        assert running.mistakes == []


@pytest.fixture
def pair(tmp_path: Path, standin: StandIn) -> Invented:
    """Build a pair whose settings stand in the consumer's repository; its checkout holds a change that loosens them."""
    made = invent(tmp_path)
    settings = 'trains = "trains.yaml"\n' + made.file.read_text(encoding="utf-8")
    files: dict[str, str | bytes | None] = {"relmgr.toml": settings, "trains.yaml": TRAINS}
    made.gadget.commit("pin it", {"forge.pin": f"{made.forge_at[42]}\n", **files}, at="2030-02-01T01:00:00+01:00")
    made.gadget.git("checkout", "-q", "-b", "work")
    head = made.gadget.commit("Loosen", {"relmgr.toml": settings + LAX}, at="2030-02-02T01:00:00+01:00")
    made.gadget.git("update-ref", "refs/pull/7/head", head)
    standin.add_pull("acme/gadget", 7, head_sha=head)
    return made


def check(pair: Invented, *more: str) -> tuple[int, str, str]:
    file = pair.gadget.path / "relmgr.toml"
    options = ["--project", str(file), "--repo", f"gadget={pair.gadget.path}", "--repo", f"forge={pair.forge.path}"]
    return run("gate", "check", "acme/gadget#7", *options, "--format", "json", *more)


def outcome(document: str) -> str:
    (found,) = [v["outcome"] for v in json.loads(document)["verdicts"] if v["policy"] == "approvals-and-checks"]
    return str(found)


@pytest.mark.parametrize("more", [["--base", "trunk"], ["--github"], ["--post"]], ids=["clone", "forge", "post"])
def test_a_changes_own_settings_are_not_applied_to_itself(pair: Invented, more: list[str]) -> None:
    code, out, err = check(pair, *more)
    assert (code, err) == (1, "")
    assert outcome(out) in ("unknown", "pending")


def test_what_lies_beside_the_repository_is_found_there_and_not_beside_a_copy(pair: Invented) -> None:
    (pair.gadget.path.parent / "beside.yaml").write_text(TRAINS)
    pair.gadget.git("checkout", "-q", "-f", "trunk")
    settings = (pair.gadget.path / "relmgr.toml").read_text().replace('"trains.yaml"', '"../beside.yaml"')
    pair.gadget.commit("The calendar is elsewhere", {"relmgr.toml": settings, "trains.yaml": None})
    code, out, err = check(pair, "--base", "trunk")
    assert (code, err) == (1, "")
    (freeze,) = [verdict for verdict in json.loads(out)["verdicts"] if verdict["policy"] == "freeze"]
    assert freeze["outcome"] == "passed"


def test_settings_that_only_the_change_brings_may_be_looked_at_and_not_posted(pair: Invented, standin: StandIn) -> None:
    pair.gadget.git("checkout", "-q", "trunk")
    pair.gadget.commit("no settings yet", {"relmgr.toml": None})
    pair.gadget.git("checkout", "-q", "work")
    code, out, err = check(pair, "--github")
    assert outcome(out) == "skipped"
    assert err.startswith("relmgr: judged by the settings at hand, not those of trunk: ")
    code, _, err = check(pair, "--post")
    assert code == 2
    assert "a change is judged by those of its base branch" in err
    assert standin.writes() == []
