"""The reader of pages reads what a person would: wrong output, wrong exit codes and unrun commands are noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import Command, File, Skipped, matches, read_page, refreshed, with_output
from tests.docs.session import Session

PAGE = """\
# A page

<!-- commands run in: empty -->

```toml title="relmgr.toml"
name = "x"
```

1. First:

   ```console
   $ echo one \\
   >   two
   one two
   $ false # exit 1
   ```

<!-- not run: needs a device -->
```console
$ relmgr smoke run
```
"""


def page_at(folder: Path, text: str = PAGE) -> Path:
    file = folder / "page.md"
    file.write_text(text)
    return file


def test_a_page_is_read_as_its_reader_does(tmp_path: Path) -> None:
    page = read_page(page_at(tmp_path))
    assert page.world == "empty"
    assert page.steps == (
        File(6, "relmgr.toml", 'name = "x"\n'),
        Command(12, "echo one \\\n  two", 0, ("one two",), 14, 15, "   "),
        Command(15, "false", 1, (), 16, 16, "   "),
        Skipped(20, "needs a device"),
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("```console\n$ ls\n```\n", "no `<!-- commands run in: NAME -->`"),
        ("<!-- commands run in: empty -->\n```console\nls\n```\n", "page.md:3: a console block starts with a command"),
        ("```text\nx\n", "page.md:1: the block does not end"),
        ("<!-- not run: why -->\nWords.\n", "page.md:2: `not run` stands before no block"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        read_page(page_at(tmp_path, text))
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("", "", True),
        ("", "a\n", False),
        ("a", "a  \n\n", True),
        ("a", "a\nb\n", False),
        ("a\n...", "a\nb\nc\n", True),
        ("...\nc", "a\nb\nd\n", False),
        ("a ... c", "a b c\n", True),
        ("a ... c", "a b\nc\n", False),
        ("a...\n...\nd", "ab\nd\n", True),
        ("a.c", "abc\n", False),
    ],
)
def test_output_matches_as_in_doctest(expected: str, printed: str, same: bool) -> None:
    assert matches(tuple(expected.split("\n")), printed) is same


def test_an_extract_stays_an_extract() -> None:
    now = "head\n\nfirst line of 3\nsecond line\nthird line\ntail\n"
    assert refreshed(("head", "...", "second lane", "...", "tail"), now) == [
        "head",
        "...",
        "second line",
        "...",
        "tail",
    ]
    assert refreshed(("head", "", "first ... of 3", "..."), now) == ["head", "", "first ... of 3", "..."]
    assert refreshed(("other words", "...", "tail"), now) == ["head", "...", "tail"]
    assert refreshed(("old",), "new\nlines\n") == ["new", "lines"]
    assert refreshed(("took ... s", "old"), "took 3 s\nnew\n") == ["took ... s", "new"]


def test_a_page_is_renewed_in_its_own_indent(tmp_path: Path) -> None:
    file = page_at(tmp_path)
    first = read_page(file).steps[1]
    assert isinstance(first, Command)
    assert with_output(file, {first: "1 2\n3\n"}) == PAGE.replace("   one two\n", "   1 2\n   3\n")


def test_a_session_keeps_its_folder_and_variables(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    session = Session(tmp_path / "work", tmp_path / "state")
    session.write("sub/a.txt", "x\n")
    assert session.run("cd sub && export NAME=value") == (0, "")
    assert session.run("cat a.txt; echo $NAME >&2; exit 3") == (3, "x\nvalue\n")
    assert session.run("relmgr --version")[0] == 0


def test_a_page_may_not_write_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    with pytest.raises(AssertionError):
        Session(tmp_path / "work", tmp_path / "state").write("../x", "")
