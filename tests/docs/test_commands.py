"""Every command in every page runs, ends as the page says, and prints what the page shows."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.docs.pages import Command, File, Skipped, matches, read_page, with_output
from tests.docs.session import Session
from tests.docs.worlds import ROOT, world
from tests.support.slurm import Slurm, start_slurm

PAGES = sorted([ROOT / "README.md", ROOT / "policies" / "README.md", *(ROOT / "docs").rglob("*.md")])
# What no test can run, and why: a page cannot add to this by itself.
NOT_RUN = {
    ("README.md", ".ci/run runs them itself"),
    ("docs/index.md", "installs into a new environment; `make demo`, which .ci/run runs first, does the same"),
    ("docs/smoke-h200.md", "needs an NVIDIA H200"),
    ("docs/how-to/file-a-regeneration-ticket.md", "nothing more than the flag is new here"),
}


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture(scope="module")
def slurm() -> Iterator[Slurm]:
    running = start_slurm()
    yield running
    running.stop()


# A page is many commands, one after the other; each has a limit of its own.
@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", [page for page in PAGES if read_page(page).world], ids=name_of)
def test_the_commands_of_a_page_do_what_it_says(path: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    page = read_page(path)
    cluster = request.getfixturevalue("slurm") if page.world == "slurm" else None
    wrong: list[str] = []
    printed: dict[Command, str] = {}
    with world(page.world, tmp_path, cluster) as session:
        names = real_names(session.folder.parent / "relmgr-demo") if page.real_names else {}
        for step in page.steps:
            if isinstance(step, File):
                session.write(step.name, step.text)
            elif isinstance(step, Command):
                code, text = ran(session, step, names)
                if code != step.exit_code:
                    wrong.append(f"{name_of(path)}:{step.line}: `{step.text}` ended with {code}:\n{text}")
                elif not matches(step.output, text):
                    printed[step] = without_places(text, session)
                    wrong.append(f"{name_of(path)}:{step.line}: `{step.text}` prints\n{text}")
    if printed and request.config.getoption("--update-golden"):
        path.write_text(with_output(path, printed), encoding="utf-8")
    assert not wrong, "\n\n".join([*wrong, "pytest tests/docs --update-golden renews what pages show"])


def ran(session: Session, command: Command, names: dict[str, str]) -> tuple[int, str]:
    """Run a command; return its exit code and what it prints, with commits by their real names."""
    code, text = session.run(command.text)
    return code, re.sub(r"\b[0-9a-f]{12}\b", lambda match: names.get(match[0], match[0]), text)


def without_places(text: str, session: Session) -> str:
    """Return what was printed without this run's folder and port, as a page may show it."""
    return re.sub(r"http://127\.0\.0\.1:\d+", "...", text.replace(str(session.folder.parent), "..."))


def real_names(demo: Path) -> dict[str, str]:
    """Return the short names of rebuilt commits mapped to those of the commits that they were rebuilt from."""
    names: dict[str, str] = {}
    for repository in ("miopen.git", "rocmlir.git"):
        argv = [
            "git",
            "-C",
            str(demo / repository),
            "log",
            "--all",
            "--format=%H %(trailers:key=Rebuilt-From,valueonly)",
        ]
        told = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
        for rebuilt, real in re.findall(r"^([0-9a-f]{40}) ([0-9a-f]{40})$", told, re.MULTILINE):
            names[rebuilt[:12]] = real[:12]
    return names


def test_what_is_not_run_is_known_by_name() -> None:
    found = {
        (name_of(page), step.reason) for page in PAGES for step in read_page(page).steps if isinstance(step, Skipped)
    }
    assert found == NOT_RUN
    gate = (ROOT / ".ci" / "run").read_text()
    for command in ("make demo", "make test"):
        assert re.search(rf"^{command}$", gate, re.MULTILINE), command


def test_no_command_stands_where_it_is_not_run() -> None:
    for page in PAGES:
        for fence in read_page(page).fences:
            typed = [line for line in fence.lines if re.match(r"(?:\$ |(?:\S*/)?relmgr (?!.*OPTIONS))", line)]
            assert fence.language == "console" or not typed, f"{name_of(page)}:{fence.first}: {typed}"


@pytest.mark.parametrize("page", ["README.md", "docs/how-to/run-the-bot-on-github.md"])
def test_workflows_call_the_action_as_it_is(page: str) -> None:
    inputs = set(yaml.safe_load((ROOT / "action.yml").read_text())["inputs"])
    written = [yaml.safe_load("\n".join(f.lines)) for f in read_page(ROOT / page).fences if f.language == "yaml"]
    steps = [step for one in written for step in (one if isinstance(one, list) else one["jobs"]["gate"]["steps"])]
    given = [set(step["with"]) for step in steps if "relmgr" in step["uses"]]
    assert given
    assert all(names <= inputs for names in given)


def test_every_input_of_the_action_is_told() -> None:
    inputs = set(yaml.safe_load((ROOT / "action.yml").read_text())["inputs"])
    page = (ROOT / "docs" / "how-to" / "run-the-bot-on-github.md").read_text()
    assert set(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)) == inputs


def test_the_pages_do_run_commands() -> None:
    count = sum(isinstance(step, Command) for page in PAGES for step in read_page(page).steps)
    assert count > 60
