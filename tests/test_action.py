"""The composite action's own steps, run by bash as they stand in action.yml, in a checkout like a workflow's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.event_world import SLUG, World, build_world, example, of_repository
from tests.support.github_standin import StandIn
from tests.support.services import need

ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
FETCH, INSTALL, JUDGE = ACTION["runs"]["steps"]
EXPRESSION = re.compile(r"\$\{\{ (.*?) \}\}")


@pytest.fixture
def standin() -> Iterator[StandIn]:
    with StandIn().running() as running:
        yield running
        assert running.mistakes == []


@pytest.fixture
def world(tmp_path: Path, standin: StandIn, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("GITHUB_EVENT_NAME", "")
    return build_world(tmp_path, standin)


class Job:
    """One job of a workflow: its checkout, and GitHub's variables."""

    def __init__(self, world: World, payload: dict[str, Any], name: str, **inputs: str) -> None:
        self.folder = world.folder / "job"
        self.checkout = self.folder / "checkout"
        self.folder.mkdir()
        origin = self.folder / "origin.git"
        git("clone", "-q", "--bare", str(world.pair.gadget.path), str(origin))
        git("-C", str(world.pair.gadget.path), "push", "-q", str(origin), "refs/pull/7/head:refs/pull/7/head")
        # As actions/checkout does it: every branch, no pull requests.
        git("clone", "-q", str(origin), str(self.checkout))
        world.event(name, payload)
        self.payload = payload
        self.inputs = {key: value["default"] for key, value in ACTION["inputs"].items()} | inputs
        self.env = {
            **{key: os.environ[key] for key in ("PATH", "HOME", "TMPDIR") if key in os.environ},
            "GITHUB_EVENT_NAME": name,
            "GITHUB_EVENT_PATH": str(world.folder / "event.json"),
            "GITHUB_API_URL": world.standin.url,
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
            "GITHUB_REF": payload.get("merge_group", {}).get("head_ref", "refs/heads/trunk"),
            "RUNNER_TEMP": str(self.folder / "temp"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
        }
        (self.folder / "temp").mkdir()

    def run(self, step: dict[str, Any], **more: str) -> subprocess.CompletedProcess[str]:
        """Run a step as the runner does: its script by bash, in the checkout."""
        env = self.env | {key: EXPRESSION.sub(self._value, value) for key, value in step["env"].items()} | more
        command = [need("bash"), "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        return subprocess.run(command, cwd=self.checkout, env=env, capture_output=True, text=True, check=False)

    def _value(self, match: re.Match[str]) -> str:
        event = self.payload
        issue = event.get("issue", {})
        known = {
            "github.token": "planted-token-0123456789",
            "github.action_path": str(ROOT),
            "github.event.pull_request.number || (github.event.issue.pull_request && github.event.issue.number)": str(
                event.get("pull_request", {}).get("number") or (issue.get("pull_request") and issue["number"]) or ""
            ),
        }
        known |= {f"inputs.{name}": value for name, value in self.inputs.items()}
        return EXPRESSION.sub(self._value, known[match[1]])

    def has_head(self) -> bool:
        """Tell whether the pull request's head was fetched."""
        return git("-C", str(self.checkout), "for-each-ref", "refs/pull/7/head") != ""


def git(*args: str) -> str:
    return subprocess.run(["git", *args], check=True, capture_output=True, text=True).stdout


def payload_of(name: str) -> dict[str, Any]:
    if name == "merge_group":
        payload = of_repository(example(name, "checks_requested"), SLUG)
        payload["merge_group"]["head_ref"] = f"refs/heads/gh-readonly-queue/trunk/pr-7-{'b' * 40}"
        return payload
    if name == "issue_comment":
        payload = of_repository(example(name, "created"), SLUG)
        payload["issue"] |= {"number": 7, "pull_request": {"url": "x"}}
        return payload
    payload = of_repository(example("pull_request", "opened"), SLUG)
    payload["pull_request"]["number"] = 7
    payload["pull_request"]["head"]["repo"]["full_name"] = SLUG
    return payload


@pytest.mark.parametrize("name", ["pull_request", "pull_request_target", "merge_group", "issue_comment"])
def test_the_heads_commits_are_fetched_and_not_checked_out(world: World, name: str) -> None:
    job = Job(world, payload_of(name), name)
    before = git("-C", str(job.checkout), "rev-parse", "HEAD")
    done = job.run(FETCH)
    assert (done.returncode, done.stderr) == (0, "")
    assert job.has_head()
    assert git("-C", str(job.checkout), "rev-parse", "HEAD") == before


def test_a_comment_on_an_issue_fetches_nothing(world: World) -> None:
    payload = payload_of("issue_comment")
    del payload["issue"]["pull_request"]
    job = Job(world, payload, "issue_comment")
    assert job.run(FETCH).returncode == 0
    assert not job.has_head()


@pytest.mark.parametrize("number", ["7; touch pwned", "$(touch pwned)", "7 --upload-pack=touch pwned", "-7"])
def test_a_number_that_is_none_is_no_argument(world: World, number: str) -> None:
    job = Job(world, payload_of("pull_request"), "pull_request")
    assert job.run(FETCH, NUMBER=number).returncode == 0
    assert not job.has_head()
    assert not (job.checkout / "pwned").exists()


@pytest.mark.slow
def test_installed_and_run_as_the_steps_say_beside_a_change_that_shadows_python(world: World) -> None:
    job = Job(
        world,
        payload_of("pull_request"),
        "pull_request",
        project=str(world.pair.file),
        repositories=f"gadget={world.folder}/job/checkout\nforge={world.pair.forge.path}\n",
        post="true",
    )
    # What a pull request could bring: none of it may run.
    for name in ("venv", "pip", "relmgr", "hatchling", "sitecustomize"):
        (job.checkout / f"{name}.py").write_text("raise SystemExit('the change ran')\n")
    assert job.run(FETCH).returncode == 0
    # No network here ("0" is pip's yes to it): the build back end and the dependencies are those of this environment.
    site = sysconfig.get_paths()["purelib"]
    offline = {"PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1", "PYTHONPATH": site}
    installed = job.run(INSTALL, PYTHON=sys.executable, **offline)
    assert (installed.returncode, installed.stdout) == (0, ""), installed.stderr
    judged = job.run(JUDGE, PYTHONPATH=site)
    assert (judged.returncode, judged.stderr) == (1, "")
    assert "the change ran" not in judged.stdout
    assert judged.stdout.startswith("::stop-commands::")
    assert "::warning file=forge.pin,line=1" in judged.stdout
    (comment,) = world.standin.bodies(SLUG, 7)
    assert comment.startswith("<!-- relmgr:comment=gate -->")
    assert comment.split("\n", 1)[1].strip() in (job.folder / "summary.md").read_text()


def test_inputs_are_arguments_and_nothing_else(world: World, tmp_path: Path) -> None:
    job = Job(
        world,
        payload_of("pull_request"),
        "pull_request",
        project="a b; touch pwned",
        calendar="$(touch pwned)",
        repositories="forge=/a b\n\ngadget=`touch pwned`",
        **{"smoke-reports": "one.json\ntwo three.json"},
    )
    program = job.folder / "temp" / "relmgr" / "bin" / "relmgr"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    done = job.run(JUDGE)
    assert done.stdout.splitlines() == [
        *("gate", "check", "--event", str(world.folder / "event.json"), "--project", "a b; touch pwned"),
        *("--trains", "$(touch pwned)", "--repo", "forge=/a b", "--repo", "gadget=`touch pwned`"),
        *("--smoke-report", "one.json", "--smoke-report", "two three.json"),
    ]
    assert not (job.checkout / "pwned").exists()
