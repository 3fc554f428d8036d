"""`relmgr config`: a project file to begin with, which holds as it is; what it names is looked at at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relmgr.settings import load_project, shipped_projects
from tests.cli.test_pin import run


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "engine").mkdir()
    monkeypatch.chdir(tmp_path / "engine")


def test_a_new_project_is_a_plan_until_apply_and_then_holds() -> None:
    code, out, err = run("config", "new")
    assert (code, err, list(Path().iterdir())) == (0, "", [])
    assert out.startswith("A plan, nothing is written")
    code, out, _ = run("config", "new", "--apply")
    assert (code, out.splitlines()[-1]) == (0, "  relmgr.toml")
    code, out, err = run("config", "check")
    assert (code, err) == (0, "")
    assert out.startswith("Project engine is valid: 2 repositories, 1 pin, 1 ABI contract")


def test_every_line_that_is_commented_out_is_accepted_too() -> None:
    run("config", "new", "--apply")
    text = Path("relmgr.toml").read_text()
    offered = [line for line in text.splitlines() if line.startswith("# ") and (" = " in line or line[2] == "[")]
    assert len(offered) == 4
    for line in offered:
        text = text.replace(line, line.removeprefix("# "))
    Path("relmgr.toml").write_text(text)
    Path("policies").mkdir()
    Path("trains.yaml").write_text("trains: []\n")
    code, _, err = run("config", "check")
    assert (code, err) == (0, "")


def test_what_is_there_is_never_written_over() -> None:
    Path("relmgr.toml").write_text("mine")
    for given in ([], ["--from", "miopen-rocmlir"]):
        code, _, err = run("config", "new", "--apply", *given)
        assert (code, Path("relmgr.toml").read_text()) == (2, "mine")
        assert err == "relmgr: relmgr.toml: is there already\n  next: choose another name, or remove it first\n"
    assert [path.name for path in Path().iterdir()] == ["relmgr.toml"]


@pytest.mark.parametrize("name", sorted(shipped_projects()))
def test_a_shipped_project_is_copied_with_what_it_names(name: str) -> None:
    code, out, _ = run("config", "new", "release/own.toml", "--from", name, "--apply", "--format", "json")
    assert code == 0
    files = json.loads(out)["files"]
    assert files[:2] == ["release/own.toml", "release/trains.yaml"]
    assert files[2].startswith("release/ledgers/")
    mine, shipped = load_project("release/own.toml"), load_project(name)
    assert mine.trains == Path("release/trains.yaml").resolve()
    same = {"trains", "contracts"}
    assert mine.model_dump(exclude=same) == shipped.model_dump(exclude=same)
    assert run("config", "check", "--project", "release/own.toml")[0] == 0


def test_an_unknown_shipped_project_is_named_with_the_known_ones() -> None:
    code, _, err = run("config", "new", "--from", "nope")
    assert code == 2
    assert "use one of: migraphx-rocmlir, miopen-rocmlir" in err


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("trains.yaml", None, "own.toml:4: trains: no such file: "),
        ("trains.yaml", "{", "trains.yaml:1: not valid YAML"),
        ("ledgers/miir.tsv", None, "own.toml:85: contracts.miir.ledger: no such file: "),
        ("ledgers/miir.tsv", "x\n", "miir.tsv:1: not a ledger"),
    ],
)
def test_config_check_looks_at_every_file_that_is_named(file: str, text: str | None, says: str) -> None:
    run("config", "new", "own.toml", "--from", "miopen-rocmlir", "--apply")
    if text is None:
        Path(file).unlink()
    else:
        Path(file).write_text(text)
    code, _, err = run("config", "check", "--project", "own.toml")
    assert code == 2
    assert says in err
    assert "\n  next: " in err
