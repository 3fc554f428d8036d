"""Whatever file is named wrongly, the answer says what, where and what next, with the right exit code; no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_pin import run
from tests.support.invented import Invented, invent

FILES: dict[str, bytes] = {
    "empty": b"",
    "junk": bytes(range(256)) * 20,
    "words": b"hello\n",
    "list": b'[1, "x"]',
    "deep": b"[" * 100_000,
}
WRONG = [*FILES, "folder", "missing"]
# `{}` is where the wrong file stands.
COMMANDS = [
    "audit --pulls {}",
    "config check --project {}",
    "cut apply {}",
    "cut checklist 1.0 --trains {}",
    "gate check --event {}",
    "gate check --snapshot {}",
    "kdb diff {} {}",
    "kdb extract {} --to out",
    "kdb prune {} --abi 50 --swap",
    "kdb ticket --train 1.0 --trains {}",
    "notes show v1.0.0..v1.1.0 --pulls {}",
    "order plan --snapshot {}",
    "train list --trains {}",
]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Invented:
    made = invent(tmp_path_factory.mktemp("pair"))
    for day, number in ((1, 42), (2, 50)):
        made.gadget.commit("pin", {"forge.pin": f"{made.forge_at[number]}\n"}, at=f"2030-02-0{day}T01:00:00+01:00")
        made.gadget.git("tag", f"v1.{day - 1}.0")
    return made


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, data in FILES.items():
        Path(name).write_bytes(data)
    Path("folder").mkdir()


def options(pair: Invented, command: str) -> list[str]:
    if "--project" in command or command.startswith("kdb extract"):
        return []
    return ["--project", str(pair.file), "--repo", f"gadget={pair.gadget.path}", "--repo", f"forge={pair.forge.path}"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_file_is_told_with_a_next_step(pair: Invented, command: str) -> None:
    for wrong in WRONG:
        code, out, err = run(*command.replace("{}", wrong).split(), *options(pair, command))
        assert code in (2, 3), (wrong, out)
        assert wrong in err, err
        assert "\n  next: " in err, err
        assert "Traceback" not in err, err
        assert "codec" not in err, "a library's words"
        assert "recursion" not in err, "a library's words"
        assert max(map(len, err.splitlines())) < 300, err


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ("pin show --ref nope", "no ref 'nope'\n  next: fetch it first; known branches: trunk\n"),
        ("backport v1.0.0 --to nope", "no branch 'nope'\n  next: known branches: trunk\n"),
        ("backport v1.0.0 --to trunc", "no branch 'trunc'\n  next: did you mean trunk?\n"),
        ("kdb extract missing --to out", "missing: no such file\n  next: name another file for FILE\n"),
        ("policy test --folder folder", "folder: no policies in this folder\n"),
        ("order parse --repository acme/gadget --number 1 --body-file junk", "junk: no text: it holds NUL bytes\n"),
        ("pin show --ref ''", "--ref has an empty value\n  next: give it one, or leave the option out\n"),
        ("pin show --ref=", "--ref has an empty value\n"),
        ("status --at ''", "--at has an empty value\n"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(pair: Invented, args: str, says: str) -> None:
    given = [] if args.startswith(("policy", "kdb")) else options(pair, args)
    code, out, err = run(*(word.replace("''", "") for word in args.split(" ")), *given)
    assert code in (2, 3), out
    assert says in err


def test_a_folder_that_is_no_repository(pair: Invented) -> None:
    code, _, err = run("status", "--project", str(pair.file), "--repo", "gadget=folder")
    assert code == 3
    assert err.startswith("relmgr: folder: not a git repository")
    assert err.endswith("\n  next: name a clone\n")


def test_an_empty_word_of_a_command_behind_the_options_is_its_own_matter(pair: Invented) -> None:
    code, _, err = run("pin", "bisect", "--good", "nope", *options(pair, ""), "--", "test", "--x", "")
    assert (code, "empty value" in err) == (3, False)


def test_what_could_not_be_inspected_is_said_first(pair: Invented) -> None:
    code, out, _ = run("abi", "inspect", "junk", *options(pair, ""))
    assert (code, out.splitlines()[:2]) == (
        3,
        ["Look at what could not be read: 1 of 1.", "0 kernels in 0 code objects."],
    )
