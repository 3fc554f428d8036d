"""Files and folders that the command line names: what is wrong, where, what next; no traceback, no usage text."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest

from relmgr.cli import root
from relmgr.cli.paths import FILE, FOLDER, NEW_FILE
from relmgr.errors import UserError


def every_command(command: click.Command, words: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], click.Command]]:
    if not isinstance(command, click.Group):
        return [(words, command)]
    with click.Context(command) as context:
        names = command.list_commands(context)
        found = [(name, command.get_command(context, name)) for name in names]
    return [one for name, inner in found if inner for one in every_command(inner, (*words, name))]


def test_every_path_of_every_command_is_one_of_three_kinds() -> None:
    """`abi inspect` takes any path: what it cannot read is a row of its table. A journal is a file or a folder."""
    others = {
        (*words, param.opts[0])
        for words, command in every_command(root)
        for param in command.params
        if isinstance(param.type, (click.Path, click.File)) and param.type not in (FILE, NEW_FILE, FOLDER)
    }
    assert others == {("abi", "inspect", "files"), ("smoke", "run", "--resume")}


def ends_with(kind: click.Path, path: str, param: click.Parameter | None = None) -> str:
    with pytest.raises(UserError) as caught:
        kind.convert(path, param, None)
    return str(caught.value)


def test_what_is_wrong_with_a_path(tmp_path: Path) -> None:
    file, gone = tmp_path / "file", tmp_path / "gone"
    file.write_text("")
    option = click.Option(["-o", "--out", "target"])
    argument = click.Argument(["stored"], metavar="PLAN")
    assert ends_with(FILE, str(gone), option) == f"{gone}: no such file\n  next: name another file for --out"
    assert ends_with(FILE, str(tmp_path), argument) == (
        f"{tmp_path}: a folder, not a file\n  next: name another file for PLAN"
    )
    assert ends_with(NEW_FILE, str(tmp_path)) == f"{tmp_path}: a folder, not a file\n  next: name another file for it"
    assert ends_with(FOLDER, str(file)) == f"{file}: a file, not a folder\n  next: name another folder for it"
    assert ends_with(FILE, str(file / "inside")).startswith(f"{file}/inside: no such file\n")
    assert ends_with(FILE, "a\0b").startswith("a\0b: not a path: it holds a NUL character\n")
    assert ends_with(FILE, "x" * 5000).startswith(f"{'x' * 5000}: cannot be read: File name too long\n")


def test_what_serves(tmp_path: Path) -> None:
    file, pipe = tmp_path / "file", tmp_path / "pipe"
    file.write_text("")
    os.mkfifo(pipe)
    assert [FILE.convert(str(one), None, None) for one in (file, pipe)] == [file, pipe]
    assert [NEW_FILE.convert(str(one), None, None) for one in (file, tmp_path / "new")] == [file, tmp_path / "new"]
    assert [FOLDER.convert(str(one), None, None) for one in (tmp_path, tmp_path / "new")] == [
        tmp_path,
        tmp_path / "new",
    ]
