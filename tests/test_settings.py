"""Configuration is refused with file, line and the allowed names."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relmgr.errors import UserError
from relmgr.settings import load_project, parse_yaml, read_project, shipped_projects

GOOD = """\
name = "x"

[repositories.a]
slug = "o/a"

[repositories.b]
slug = "o/b"

[[pins]]
name = "p"
consumer = "a"
provider = "b"

[[pins.sites]]
kind = "cget"
path = "requirements.txt"
"""


def refused(tmp_path: Path, text: str) -> str:
    file = tmp_path / "relmgr.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as told:
        read_project(file)
    return str(told.value)


def test_the_good_one_is_good(tmp_path: Path) -> None:
    (tmp_path / "relmgr.toml").write_text(GOOD)
    assert read_project(tmp_path / "relmgr.toml").pin().sites[0].path == "requirements.txt"


@pytest.mark.parametrize("name", sorted(shipped_projects()))
def test_every_shipped_project_is_valid(name: str) -> None:
    assert load_project(name).name == name


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        (
            'slug = "o/a"',
            'slugg = "o/a"',
            4,
            "unknown key 'repositories.a.slugg' (did you mean 'slug'?); allowed: slug, ",
        ),
        ('path = "requirements.txt"', 'paths = "r"', 16, "unknown key 'pins.0.sites.0.paths' (did you mean 'path'?)"),
        ('kind = "cget"', 'kind = "cgett"', 15, "pins.0.sites.0.kind"),
        ('slug = "o/a"', 'slug = "nonsense"', 4, "repositories.a.slug"),
        ('provider = "b"', 'provider = "c"', None, "'c' is no repository; known: a, b"),
        ('name = "p"', 'name = "p"\ncontract = "k"', None, "'k' is no contract; known: none"),
        ('kind = "cget"', 'kind = "shell-variable"', 14, "needs `variable`"),
        ('path = "requirements.txt"', 'path = "../x"', 14, "relative to the repository's root"),
        ('slug = "o/a"', 'slug = "o/a"\nrelease_tags = "("', 5, "not a regular expression"),
        ('name = "x"', 'name = "x"\nzone = "Mars/Base"', 2, "unknown time zone 'Mars/Base'"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, old: str, new: str, line: int | None, said: str) -> None:
    told = refused(tmp_path, GOOD.replace(old, new, 1))
    assert said in told
    if line is not None:
        assert f"relmgr.toml:{line}: " in told


def test_what_is_no_toml_is_refused(tmp_path: Path) -> None:
    assert "not valid TOML" in refused(tmp_path, "name = ")
    (tmp_path / "latin").write_bytes(b"name = '\xe9'")
    with pytest.raises(UserError, match="not UTF-8"):
        read_project(tmp_path / "latin")
    with pytest.raises(UserError, match="cannot be read"):
        read_project(tmp_path / "none.toml")
    (tmp_path / "huge").write_bytes(b"#" * 1_000_001)
    with pytest.raises(UserError, match="too large"):
        read_project(tmp_path / "huge")


def test_relative_paths_are_taken_from_the_files_folder(tmp_path: Path) -> None:
    (tmp_path / "relmgr.toml").write_text(GOOD.replace('slug = "o/a"', 'slug = "o/a"\npath = "clones/a"'))
    assert read_project(tmp_path / "relmgr.toml").repositories["a"].path == tmp_path / "clones/a"


@pytest.mark.parametrize("text", ["a: &x 1\nb: *x", "[" * 5000, "a: 1: 2", "!!python/object/apply:os.system ['true']"])
def test_hostile_yaml_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        parse_yaml(text, "here.yaml")


@given(st.text(max_size=200))
def test_no_text_crashes_the_readers(text: str) -> None:
    from relmgr.settings import _toml_lines

    _toml_lines(text)
    with suppress(UserError):
        parse_yaml(text, "here.yaml")


# -- what a project names ---------------------------------------------------------------------------------------------


NAMING = (
    'trains = "trains.yaml"\ntemplates = "words"\n'
    + GOOD.replace('slug = "o/a"', 'slug = "o/a"\npath = "a"')
    + '\n[contracts.k]\nmacro = "K"\nheaders = ["k.h"]\nledger = "k.tsv"\n\n[policies]\nfolders = ["rules"]\n'
)


def test_everything_that_is_named_and_not_there_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "relmgr.toml"
    file.write_text(NAMING)
    (tmp_path / "k.tsv").mkdir()
    with pytest.raises(UserError) as told:
        load_project(str(file))
    assert [line.strip() for line in str(told.value).splitlines()] == [
        f"{file}: names what is not there:",
        f"{file}:2: templates: no such folder: {tmp_path}/words",
        f"{file}:27: policies.folders.0: no such folder: {tmp_path}/rules",
        f"{file}:7: repositories.a.path: no such folder: {tmp_path}/a",
        f"{file}:1: trains: no such file: {tmp_path}/trains.yaml",
        f"{file}:24: contracts.k.ledger: no such file: {tmp_path}/k.tsv",
        "next: correct these paths (they start at the folder of the project file), or take the lines out",
    ]


def test_the_clone_that_is_given_stands_for_the_one_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "relmgr.toml"
    file.write_text(GOOD.replace('slug = "o/a"', 'slug = "o/a"\npath = "gone"'))
    (tmp_path / "here").mkdir()
    assert load_project(str(file), {"a": str(tmp_path / "here")}).repositories["a"].path == tmp_path / "here"
    with pytest.raises(UserError, match=r"repositories\.a\.path: no such folder"):
        load_project(str(file), {"b": str(tmp_path / "here")})
