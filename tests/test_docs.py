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


@pytest.mark.parametrize("page", ["README.md", "docs/design.md", "policies/README.md", "CHANGELOG.md"])
def test_every_command_named_exists(page: str) -> None:
    text = (ROOT / page).read_text()
    named = re.findall(r"`relmgr ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?", text)
    assert named
    context = click.Context(root)
    for first, second in named:
        command = root.get_command(context, first)
        assert command is not None, f"relmgr {first}"
        if isinstance(command, click.Group) and second:
            assert second in command.list_commands(context), f"relmgr {first} {second}"


@pytest.mark.parametrize("page", ["README.md", "docs/design.md", "policies/README.md"])
def test_every_link_inside_the_project_leads_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text()):
        if "://" not in target:
            assert (ROOT / page).parent.joinpath(target).exists(), target
