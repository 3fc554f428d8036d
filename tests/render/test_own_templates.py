"""A project's own templates: laid over the shipped ones, refused at load with file and line, bounded and sandboxed."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from relmgr.errors import UserError
from relmgr.model.project import Project
from relmgr.render.bounds import TooLong, bounded
from relmgr.render.engine import SHIPPED, Words, words_of
from relmgr.render.own_templates import OwnWords, own_words, read_own_templates, shipped_names
from relmgr.resources import shipped
from relmgr.settings import load_project
from tests.render.situations import shown_templates, situations, stem_of


def folder_of(tmp_path: Path, **texts: str) -> Path:
    """Write templates (`group__command__form` to text) and return their folder."""
    folder = tmp_path / "own"
    for name, text in texts.items():
        group, command, form = name.split("__")
        file = folder / group / f"{command}.{form.replace('_', '.')}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    folder.mkdir(exist_ok=True)
    return folder


def refused(folder: Path) -> str:
    with pytest.raises(UserError) as told:
        own_words(folder)
    return str(told.value)


@pytest.fixture
def project() -> Project:
    return load_project("miopen-rocmlir")


def test_one_file_takes_the_place_of_the_shipped_one_and_the_others_stay(tmp_path: Path, project: Project) -> None:
    words = own_words(folder_of(tmp_path, config__check__txt_j2="Ours: {{ d.name }}\n"))
    assert words.own == ("config/check.txt.j2",)
    assert words.render("config/check.txt.j2", d=project, own=()) == "Ours: miopen-rocmlir\n"
    assert words.render("config/check.md.j2", d=project, own=()) == SHIPPED.render(
        "config/check.md.j2", d=project, own=()
    )


def test_the_shipped_one_can_be_taken_in(tmp_path: Path, project: Project) -> None:
    text = '# Ours\n\n{% include "shipped/config/check.md.j2" %}'
    words = own_words(folder_of(tmp_path, config__check__md_j2=text))
    shipped_text = SHIPPED.render("config/check.md.j2", d=project, own=())
    assert words.render("config/check.md.j2", d=project, own=()) == f"# Ours\n\n{shipped_text}"


def test_the_shipped_one_can_be_extended_block_by_block(tmp_path: Path) -> None:
    base = (shipped("templates") / "page" / "base.html.j2").read_text(encoding="utf-8")
    block = re.findall(r"{% block (\w+)", base)[0]
    text = '{% extends "shipped/page/base.html.j2" %}{% block ' + block + " %}Ours & theirs{% endblock %}"
    words = own_words(folder_of(tmp_path, page__base__html_j2=text))
    assert "Ours & theirs" in words.render("page/base.html.j2", d=None)


def test_a_block_that_no_parent_has_is_refused(tmp_path: Path) -> None:
    text = '{% extends "shipped/page/base.html.j2" %}\n{% block boddy %}x{% endblock %}'
    said = refused(folder_of(tmp_path, page__base__html_j2=text))
    assert "page/base.html.j2:2: shipped/page/base.html.j2 has no block 'boddy' (did you mean 'body'?)" in said


def test_an_unknown_file_is_refused_with_the_close_match(tmp_path: Path) -> None:
    said = refused(folder_of(tmp_path, gate__chek__md_j2="x"))
    assert "no shipped template is called 'gate/chek.md.j2' (did you mean 'gate/check.md.j2'?)" in said


def test_a_syntax_error_names_file_and_line(tmp_path: Path) -> None:
    said = refused(folder_of(tmp_path, gate__check__md_j2="fine\n{% if d %}\n{{ d.at }\n"))
    assert re.search(r"own/gate/check\.md\.j2:3: not a Jinja template: ", said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\n{{ snapshoot.at }}", ":2: it is given no 'snapshoot' (did you mean 'snapshot'?)"),
        ("{{ d | shrt }}", ":1: no filter 'shrt' (did you mean 'short'?)"),
        ("{{ d is defind }}", ":1: no test 'defind' (did you mean 'defined'?)"),
        ('{% include "gate/chek.md.j2" %}', ":1: no template 'gate/chek.md.j2' (did you mean 'gate/check.md.j2'?)"),
        ('{% include "gate/" ~ d %}', ":1: the name of a template is written out, not worked out"),
        ('{% include ["gate/check.txt.j2", d] %}', ":1: the name of a template is written out, not worked out"),
        ('\n{% include "gate/check.md.j2" %}', ":2: it takes itself in"),
        ('\n\n{% include "notes/show.txt.j2" %}', ":3: it is given no "),
        (
            '{% from "smoke/table.j2" import as_tabel %}',
            ":1: smoke/table.j2 has no 'as_tabel' (did you mean 'as_table'?",
        ),
        ('{% import "smoke/table.j2" as t %}\n{{ t.table() }}', ":2: smoke/table.j2 has no 'table' (did you mean"),
        ("{{ lipsum() }}", ":1: it is given no 'lipsum'"),
        (
            "{% block a %}{% endblock %}\n{% block a %}{% endblock %}",
            ":2: not a Jinja template: block 'a' defined twice",
        ),
        ("{{ " + "(" * 3000 + "d" + ")" * 3000 + " }}", ":1: not a Jinja template: nested too deeply"),
    ],
)
def test_a_mistake_names_file_line_and_what_is_allowed(tmp_path: Path, text: str, said: str) -> None:
    told = refused(folder_of(tmp_path, gate__check__md_j2=text))
    assert f"own/gate/check.md.j2{said}" in told
    assert "\n  next: " in told


def test_the_allowed_names_are_those_of_all_its_forms(tmp_path: Path) -> None:
    # The text form of `gate check` looks `snapshot` up; the Markdown one is given it too.
    assert own_words(folder_of(tmp_path, gate__check__md_j2="{{ d.subject }} {{ snapshot.at }}"))


def test_names_that_are_set_before_are_its_own(tmp_path: Path) -> None:
    text = "{% set mine = d %}{% macro told(x) %}{{ x }}{{ mine }}{% endmacro %}{{ told(mine) }}"
    text += "{% for a in d %}{{ a }}{{ loop.index }}{% endfor %}"
    assert own_words(folder_of(tmp_path, gate__check__md_j2=text))


def test_what_others_take_from_it_must_be_in_it(tmp_path: Path) -> None:
    said = refused(folder_of(tmp_path, smoke__table__j2="{% macro as_tabel(x) %}{% endmacro %}"))
    assert "own/smoke/table.j2:1: it lacks 'as_table', which smoke/" in said
    assert '{% import "shipped/smoke/table.j2" as shipped with context %}{% set as_table = shipped.as_table %}' in said


def test_a_part_of_others_can_keep_the_shipped_macros(tmp_path: Path) -> None:
    text = '{% import "shipped/smoke/table.j2" as shipped with context %}{% set as_table = shipped.as_table %}'
    assert own_words(folder_of(tmp_path, smoke__table__j2=text)).own == ("smoke/table.j2",)


def test_every_shipped_template_is_accepted_as_ones_own(tmp_path: Path) -> None:
    texts = {name: (shipped("templates") / name).read_text(encoding="utf-8") for name in shipped_names()}
    assert OwnWords(tmp_path, texts).own == shipped_names()


# -- reading --------------------------------------------------------------------------------------------------------


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    (folder / "gate").mkdir()
    (folder / "gate" / "check.md.j2").symlink_to(tmp_path / "secret")
    assert "a link out of the folder of templates" in refused(folder)


def test_a_link_inside_the_folder_is_followed(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, gate__check__md_j2="{{ d.at }}")
    (folder / "gate" / "check.txt.j2").symlink_to("check.md.j2")
    assert own_words(folder).own == ("gate/check.md.j2", "gate/check.txt.j2")


def test_a_linked_folder_and_what_is_no_plain_file_are_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    (folder / "gate").symlink_to(tmp_path)
    assert "a link to a folder" in refused(folder)
    (folder / "gate").unlink()
    (folder / "gate").mkdir()
    os.mkfifo(folder / "gate" / "check.md.j2")
    assert "not a plain file" in refused(folder)


def test_size_count_and_encoding_are_bounded(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, gate__check__md_j2="x" * 65_537)
    assert "more than 65536 bytes" in refused(folder)
    (folder / "gate" / "check.md.j2").write_bytes(b"\xff\xfe")
    assert "not UTF-8" in refused(folder)
    (folder / "gate" / "check.md.j2").unlink()
    for number in range(1_001):
        (folder / f"{number}").touch()
    assert "more than 1000 entries" in refused(folder)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "no such folder of templates" in refused(tmp_path / "absent")


def test_a_folder_without_files_changes_nothing(tmp_path: Path) -> None:
    assert read_own_templates(folder_of(tmp_path)) == ()


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, gate__check__md_j2="{{ d }}")
    first = own_words(folder)
    assert own_words(folder) is first
    (folder / "gate" / "check.md.j2").write_text("{{ d }}!", encoding="utf-8")
    assert own_words(folder).render("gate/check.md.j2", d=1) == "1!"


# -- rendering ------------------------------------------------------------------------------------------------------


def fails(words: Words, **view: object) -> str:
    with pytest.raises(UserError) as told:
        words.render("gate/check.md.j2", **view)
    assert told.value.exit_code == 2
    return str(told.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("one\n{{ d.nothing }}", "own/gate/check.md.j2:2: gate/check.md.j2 cannot be written: "),
        ("{{ 1 // 0 }}", "own/gate/check.md.j2:1: gate/check.md.j2 cannot be written: "),
        ("\n{{ d.touch() }}", "own/gate/check.md.j2:2: gate/check.md.j2 cannot be written: "),
        ("\n{{ d.read_text() }}", "is not safely callable"),
        ("\n{{ d.__class__ }}", "is unsafe"),
        ("\n{{ (d | attr('rename'))('x') }}", "is not safely callable"),
        ("\n{{ 9 ** 9 ** 9 }}", "powers are not worked out in templates"),
        ("{% macro a() %}\n{{ a() }}{% endmacro %}{{ a() }}", "own/gate/check.md.j2:"),
        ("{% for i in range(1000000) %}{% endfor %}", "Range too big"),
        ("\n{{ [1].pop() }}", "is unsafe"),
    ],
)
def test_a_failure_names_file_and_line_and_is_a_mistake_of_configuration(tmp_path: Path, text: str, said: str) -> None:
    assert said in fails(own_words(folder_of(tmp_path, gate__check__md_j2=text)), d=tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_a_failure_in_a_part_names_the_part(tmp_path: Path) -> None:
    part = "{% macro as_table(rows) %}\n{{ 1 // 0 }}{% endmacro %}"
    text = '{% from "smoke/table.j2" import as_table %}\n{{ as_table(d) }}'
    words = own_words(folder_of(tmp_path, smoke__table__j2=part, gate__check__md_j2=text))
    assert "own/smoke/table.j2:2: gate/check.md.j2 cannot be written: " in fails(words, d=[])


def test_what_fails_in_shipped_templates_alone_is_ours(tmp_path: Path) -> None:
    words = own_words(folder_of(tmp_path, gate__check__txt_j2="{{ d }}"))
    with pytest.raises(Exception, match="no attribute") as told:
        words.render("gate/check.md.j2", d=object(), snapshot=None)
    assert not isinstance(told.value, UserError)


def test_a_loop_without_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loops, ends = "{% for a in r %}" * 3, "{% endfor %}" * 3
    text = "{% set r = range(99999) %}\n" + loops + "\n" + ends
    words = own_words(folder_of(tmp_path, gate__check__md_j2=text))
    monkeypatch.setattr("relmgr.render.own_templates.bounded", lambda: bounded(seconds=0.2))
    assert re.search(
        r"own/gate/check\.md\.j2:\d: gate/check\.md\.j2 cannot be written: it took more than 0\.2 s", fails(words, d=1)
    )


def test_a_text_that_doubles_without_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "{% set n = namespace(s='xxxxxxxx') %}\n{% for a in range(60) %}\n{% set n.s = n.s ~ n.s %}{% endfor %}"
    words = own_words(folder_of(tmp_path, gate__check__md_j2=text))
    monkeypatch.setattr("relmgr.render.own_templates.bounded", lambda: bounded(memory=2**28))
    assert "own/gate/check.md.j2:3: gate/check.md.j2 cannot be written: MemoryError" in fails(words, d=1)


def test_output_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = own_words(folder_of(tmp_path, gate__check__md_j2="{% for a in range(9999) %}{{ d }}{% endfor %}"))
    monkeypatch.setattr("relmgr.render.own_templates.MAX_OUTPUT", 100_000)
    assert "more than 100000 characters" in fails(words, d="x" * 99)


def test_constants_are_worked_out_within_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relmgr.render.own_templates.bounded", lambda: bounded(memory=2**28))
    words = own_words(folder_of(tmp_path, gate__check__md_j2="\n{{ ('x' * 9999999 * 99) | length }}"))
    assert "own/gate/check.md.j2:2: gate/check.md.j2 cannot be written: MemoryError" in fails(words, d=1)


def _loop() -> None:
    while True:
        pass


def test_the_bounds_are_taken_away_again() -> None:
    with pytest.raises(TooLong, match=r"more than 0\.05 s"), bounded(seconds=0.05):
        _loop()
    with pytest.raises(MemoryError), bounded(memory=2**24):
        bytearray(2**30)
    assert len(bytearray(2**28)) == 2**28
    for _ in range(2_000_000):
        pass


def test_shipped_templates_say_the_same_inside_the_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one template of its own a project renders all others there too."""
    cases = [(t, one) for one in situations() for t in shown_templates() if stem_of(t) == one.stem]
    outside = [one.show(template) for template, one in cases]
    words = OwnWords(tmp_path, {})
    monkeypatch.setattr(Words, "render", lambda _, template, /, **view: words.render(template, **view))
    monkeypatch.setattr(OwnWords, "render", lambda mine, template, /, **view: mine._render(template, view))
    assert [one.show(template) for template, one in cases] == outside
    assert len(cases) > 100


def test_a_page_still_escapes(tmp_path: Path) -> None:
    words = own_words(folder_of(tmp_path, page__audit__html_j2="{{ d.consumer }}"))
    assert words.render("page/audit.html.j2", d={"consumer": "<script>"}, timeline=None) == "&lt;script&gt;"


def test_a_project_without_own_templates_has_the_shipped_ones(project: Project) -> None:
    assert words_of(project) is SHIPPED


def test_no_command_passes_by_its_projects_words() -> None:
    """`engine.render` knows the shipped ones alone: it is for what belongs to no project."""
    package = shipped("templates").parent / "relmgr"
    found = {
        file.relative_to(package).as_posix()
        for file in package.rglob("*.py")
        if re.search(r"from relmgr\.render\.engine import [^\n]*\brender\b", file.read_text(encoding="utf-8"))
    }
    assert found == {"workflows/config.py", "workflows/demo.py", "workflows/policies.py"}
