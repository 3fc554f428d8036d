"""The pages tell the truth: the generated reference is current, and every command that they name exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from relmgr.cli import root

ROOT = Path(__file__).parents[1]


def test_the_reference_is_current() -> None:
    run = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


OUTSIDE_THE_SITE = ["README.md", "policies/README.md", "CHANGELOG.md"]
IN_THE_SITE = sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md"))


def test_commands_are_named() -> None:
    assert {"README.md", "docs/design.md", "docs/explanation/what-git-can-tell.md"} <= {
        page for page in OUTSIDE_THE_SITE + IN_THE_SITE if named_in(page)
    }


def named_in(page: str) -> list[tuple[str, str]]:
    return re.findall(r"`relmgr ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?", (ROOT / page).read_text())


@pytest.mark.parametrize("page", OUTSIDE_THE_SITE + IN_THE_SITE)
def test_every_command_named_exists(page: str) -> None:
    context = click.Context(root)
    for first, second in named_in(page):
        command = root.get_command(context, first)
        assert command is not None, f"relmgr {first}"
        if isinstance(command, click.Group) and second:
            assert second in command.list_commands(context), f"relmgr {first} {second}"


@pytest.mark.parametrize("page", OUTSIDE_THE_SITE)
def test_every_link_inside_the_project_leads_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text()):
        if "://" not in target:
            assert (ROOT / page).parent.joinpath(target).exists(), target
