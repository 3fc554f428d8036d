"""The commits of a range, read from real repositories; and MIOpen's own, where a clone is named."""

from __future__ import annotations

import configparser
import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relmgr.errors import SourceError, UserError
from relmgr.gate.note_reverts import net_changes
from relmgr.gate.notes import make_notes
from relmgr.model.notes import Notes, RangeFacts
from relmgr.model.project import Repository
from relmgr.settings import load_project
from relmgr.sources.git.clone import Clone
from relmgr.sources.notes.facts import read_notes_facts
from relmgr.sources.notes.fragments import Layout, parse_layout, parse_scriv, parse_towncrier, read_fragments
from relmgr.sources.notes.range import parse_commit, previous_release, read_range, train_ends
from relmgr.sources.recorded_pulls import read_recorded_pulls
from relmgr.workflows.notes import Asked, take_notes
from tests.support.repositories import TestRepository, new_repository


@pytest.fixture
def gadget(tmp_path: Path) -> TestRepository:
    repository = new_repository(tmp_path / "gadget", "trunk")
    repository.commit("Begin (#1)", {"a.txt": "one\ntwo\nthree\n"})
    repository.git("tag", "v1.0.0")
    return repository


def ranged(repository: TestRepository, old: str, new: str) -> RangeFacts:
    return read_range(Clone.open(repository.path), old, new)


def kinds(facts: RangeFacts) -> dict[str, str]:
    return {commit.subject: commit.kind for commit in facts.commits}


# -- what a range is ------------------------------------------------------------------------------------------------


def test_n1_the_graph_decides_not_the_dates(gadget: TestRepository) -> None:
    gadget.commit("From the future (#2)", {"b.txt": "x"}, at="2040-01-01T00:00:00+00:00")
    gadget.git("tag", "v1.1.0")
    gadget.commit("From the past (#3)", {"c.txt": "x"}, at="2001-01-01T00:00:00+00:00")
    assert [c.pr for c in ranged(gadget, "v1.0.0", "v1.1.0").commits] == [2]
    assert [c.pr for c in ranged(gadget, "v1.1.0", "trunk").commits] == [3]
    assert [c.pr for c in ranged(gadget, "v1.0.0", "trunk").commits] == [2, 3]


@pytest.mark.parametrize(
    ("subject", "title", "numbers"),
    [
        ("x (#1)", "x", (1,)),
        ("[tag] a pick of x (#1) (#22)", "[tag] a pick of x", (1, 22)),
        ("x about #7", "x about #7", ()),
        ('Revert "x (#1)"', 'Revert "x (#1)"', ()),
        ('Revert "x (#1)" (#2)', 'Revert "x (#1)"', (2,)),
        ("x (#1) ", "x", (1,)),
        ("(#5)", "(#5)", (5,)),
        ("Merge pull request #12 from someone/branch", "What it does", (12,)),
        ("Merge branch 'x' (#9)", "Merge branch 'x'", (9,)),
    ],
)
def test_n3_every_form_gives_the_pull_request(subject: str, title: str, numbers: tuple[int, ...]) -> None:
    commit = parse_commit("a" * 40, "", "A", "2030-01-01T00:00:00Z", subject, "\nWhat it does\n\nmore\n")
    assert (commit.title, commit.numbers) == (title, numbers)


def test_n3_a_merged_pull_request_owns_its_commits_and_a_merged_branch_does_not(gadget: TestRepository) -> None:
    gadget.git("checkout", "-q", "-b", "feature")
    gadget.commit("first step", {"f.txt": "1"})
    gadget.git("checkout", "-q", "trunk")
    gadget.commit("Meanwhile (#2)", {"m.txt": "1"})
    gadget.git("checkout", "-q", "feature")
    gadget.git("merge", "-q", "--no-ff", "-m", "Merge branch 'trunk' into feature", "trunk")
    gadget.commit("second step", {"f.txt": "2"})
    gadget.git("checkout", "-q", "trunk")
    gadget.git("merge", "-q", "--no-ff", "-m", "Merge pull request #3 from me/feature\n\nThe feature", "feature")
    gadget.git("checkout", "-q", "-b", "staging", "v1.0.0")
    gadget.commit("Staged (#4)", {"s.txt": "1"})
    gadget.git("merge", "-q", "--no-ff", "-m", "Merge branch 'trunk' into staging", "trunk")
    facts = ranged(gadget, "v1.0.0", "staging")
    assert kinds(facts) == {
        "Staged (#4)": "change",
        "Meanwhile (#2)": "change",
        "first step": "part",
        "Merge branch 'trunk' into feature": "part",
        "second step": "part",
        "Merge pull request #3 from me/feature": "pull-merge",
        "Merge branch 'trunk' into staging": "branch-merge",
    }
    merge = next(c for c in facts.commits if c.kind == "pull-merge")
    assert {c.part_of for c in facts.commits if c.kind == "part"} == {merge.commit}
    assert merge.title == "The feature"


def test_n4_a_shallow_clone_is_refused(gadget: TestRepository, tmp_path: Path) -> None:
    for number in (2, 3, 4):
        gadget.commit(f"x (#{number})", {"a.txt": str(number)})
    shallow = tmp_path / "shallow"
    subprocess.run(["git", "clone", "-q", "--depth=2", f"file://{gadget.path}", str(shallow)], check=True)
    with pytest.raises(SourceError, match="shallow clone lacks commits") as told:
        read_range(Clone.open(shallow), "HEAD~1", "HEAD")
    assert "--unshallow" in told.value.next_step


def test_a_range_the_wrong_way_round_an_empty_one_and_strangers(gadget: TestRepository) -> None:
    gadget.commit("x (#2)", {"a.txt": "2"})
    with pytest.raises(UserError, match=r"v1\.0\.0 is older than trunk") as told:
        ranged(gadget, "trunk", "v1.0.0")
    assert told.value.next_step == "write v1.0.0..trunk"
    with pytest.raises(UserError, match="nothing lies between"):
        ranged(gadget, "trunk", "trunk")
    with pytest.raises(SourceError, match="no ref 'v9'"):
        ranged(gadget, "v9", "trunk")
    gadget.git("checkout", "-q", "--orphan", "stranger")
    gadget.commit("elsewhere")
    with pytest.raises(SourceError, match="share no history"):
        ranged(gadget, "trunk", "stranger")


def test_a_project_inside_a_monorepo_has_the_changes_of_its_folder(gadget: TestRepository) -> None:
    gadget.commit("Ours (#2)", {"projects/gadget/a.txt": "1"})
    gadget.commit("Theirs (#3)", {"projects/other/a.txt": "1"})
    facts = read_range(Clone.open(gadget.path), "v1.0.0", "trunk", "projects/gadget")
    assert [c.pr for c in facts.commits] == [2]


# -- picks ----------------------------------------------------------------------------------------------------------


def released(gadget: TestRepository) -> TestRepository:
    """A release branch that has a pick of #2 under another name, of #3 by its trailer, and a rewritten #4."""
    two = gadget.commit("Fix two (#2)", {"a.txt": "one\nTWO\nthree\n"})
    three = gadget.commit("Add b (#3)", {"b.txt": "b\n"})
    gadget.commit("Rewrite (#4)", {"c.txt": "long form\n"})
    gadget.commit("Stay (#5)", {"d.txt": "d\n"})
    gadget.git("checkout", "-q", "-b", "stable/1.0", "v1.0.0")
    gadget.git("cherry-pick", "-n", two)
    gadget.git("commit", "-q", "-m", "[hotfix] Repair")
    gadget.git("cherry-pick", "-x", three)
    gadget.commit("Rewrite (#4)", {"c.txt": "short form\n"})
    return gadget


def test_a_change_that_the_start_has_by_cherry_pick_is_found(gadget: TestRepository) -> None:
    facts = ranged(released(gadget), "stable/1.0", "trunk")
    subjects = {c.commit: c.subject for c in (*facts.commits, *facts.missing)}
    assert {(subjects[p.commit], subjects[p.other], p.by) for p in facts.elsewhere} == {
        ("Fix two (#2)", "[hotfix] Repair", "equal-patch"),
        ("Add b (#3)", "Add b (#3)", "trailer"),
        ("Rewrite (#4)", "Rewrite (#4)", "number"),
    }
    assert facts.gaps == ()


def numbered(*changed: int, start: int = 0) -> str:
    return "".join(f"{'LINE' if n in changed else 'line'} {n}\n" for n in range(start, 40))


def test_other_line_numbers_are_an_equal_patch_and_another_context_is_not(gadget: TestRepository) -> None:
    gadget.commit("Begin", {"n.txt": numbered(start=10)})
    gadget.git("branch", "stable/1.0")
    gadget.commit("Grow (#2)", {"n.txt": numbered()})
    gadget.commit("Fix thirty (#3)", {"n.txt": numbered(30)})
    gadget.commit("Fix twelve (#4)", {"n.txt": numbered(12, 30)})
    gadget.git("checkout", "-q", "stable/1.0")
    gadget.commit("Repair thirty", {"n.txt": numbered(30, start=10)})
    gadget.commit("Repair twelve", {"n.txt": numbered(12, 30, start=10)})
    facts = ranged(gadget, "stable/1.0", "trunk")
    subjects = {c.commit: c.subject for c in (*facts.commits, *facts.missing)}
    assert {(subjects[p.commit], subjects[p.other]) for p in facts.elsewhere} == {("Fix thirty (#3)", "Repair thirty")}


def test_a_patch_that_the_clone_cannot_read_is_a_gap_and_not_a_guess(gadget: TestRepository) -> None:
    released(gadget)
    blob = gadget.git("rev-parse", "trunk:a.txt")
    stable = gadget.git("rev-parse", "stable/1.0:a.txt")
    assert blob == stable
    # Equal by the blobs' ids alone: the content is not needed.
    (gadget.path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    facts = ranged(gadget, "stable/1.0", "trunk")
    assert "equal-patch" in {p.by for p in facts.elsewhere}


def test_a_pick_inside_the_range_is_found(gadget: TestRepository) -> None:
    two = gadget.commit("Fix two (#2)", {"a.txt": "one\nTWO\nthree\n"})
    gadget.git("checkout", "-q", "-b", "stable/1.1", "v1.0.0")
    gadget.commit("Other (#3)", {"o.txt": "o"})
    gadget.git("cherry-pick", "-n", two)
    gadget.git("commit", "-q", "-m", "[1.1] Fix two")
    gadget.git("merge", "-q", "--no-ff", "-m", "Merge branch 'trunk'", "trunk")
    (pair,) = ranged(gadget, "v1.0.0", "stable/1.1").twice
    assert pair.by == "equal-patch"


# -- releases and trains --------------------------------------------------------------------------------------------


def test_the_release_before_and_the_range_of_a_train(gadget: TestRepository) -> None:
    for tag in ("v1.0.1", "v1.1.0", "v1.10.0"):
        gadget.commit(f"for {tag}", {"a.txt": tag})
        gadget.git("tag", tag)
    gadget.git("tag", "v1.1", "v1.1.0")
    gadget.git("branch", "release/1.11")
    repository = Repository(slug="acme/gadget")
    clone = Clone.open(gadget.path)
    assert previous_release(clone, repository, "v1.1.0") == "v1.0.1"
    assert previous_release(clone, repository, "v1.10.0") == "v1.1.0"
    assert train_ends(clone, repository, "1.1") == ("v1.0.1", "v1.1.0")
    assert train_ends(clone, repository, "1.11") == ("v1.10.0", "release/1.11")
    assert train_ends(clone, repository, "1.12") is None
    with pytest.raises(UserError, match="no release before"):
        previous_release(clone, repository, "v1.0.0")


# -- fragments ------------------------------------------------------------------------------------------------------


def test_fragments_of_towncrier_by_number_and_orphans(gadget: TestRepository) -> None:
    settings = '[tool.towncrier]\ndirectory = "news"\n[[tool.towncrier.type]]\ndirectory = "fix"\nname = "Fixed"\n'
    gadget.commit("Configure (#2)", {"pyproject.toml": settings, "news/README.md": "how to"})
    gadget.commit("A fix", {"news/7.fix.md": "- Repairs the\n  gauge\n", "news/+odd.fix": "Orphan\n"})
    gadget.commit("Typo", {"news/7.fix.md": "- Repairs the dial\n"})
    gadget.commit("Release collects them", {"news/7.fix.md": None})
    facts, gaps = ranged(gadget, "v1.0.0", "trunk"), []
    found = read_fragments(Clone.open(gadget.path), facts, "", gaps)
    added = next(c.commit for c in facts.commits if c.subject == "A fix")
    assert [(f.path, f.category, f.text, f.numbers, f.commit) for f in found] == [
        ("news/+odd.fix", "Fixed", "Orphan", (), added),
        ("news/7.fix.md", "Fixed", "Repairs the dial", (7,), added),
    ]
    assert gaps == []


def test_fragments_of_scriv_hold_several_entries(gadget: TestRepository) -> None:
    text = "<!--\nuncomment\n-->\n\n### Added\n\n- A gauge\n  that counts\n- A lever\n\n### Fixed\n\n- A leak\n"
    gadget.commit("Work (#2)", {"changelog.d/scriv.ini": "[scriv]\nformat = md\n", "changelog.d/2030_me.md": text})
    facts = ranged(gadget, "v1.0.0", "trunk")
    found = read_fragments(Clone.open(gadget.path), facts, "", [])
    assert [(f.category, f.text) for f in found] == [
        ("Added", "A gauge that counts"),
        ("Added", "A lever"),
        ("Fixed", "A leak"),
    ]


def test_scriv_in_rst() -> None:
    text = ".. A comment\n..\n   more\n\nAdded\n-----\n\n- A gauge\n\nFixed\n-----\n\n- A leak\n"
    found = parse_scriv("changelog.d/x.rst", text, "a" * 40, Layout("scriv", "changelog.d"))
    assert [(f.category, f.text) for f in found] == [("Added", "A gauge"), ("Fixed", "A leak")]


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("12.feature", "Features"),
        ("12.feature.md", "Features"),
        ("12.bugfix.1.rst", "Bugfixes"),
        ("fix-1.2.3.feature", "Features"),
        ("12.strange.md", None),
        ("template.md", None),
        ("feature", None),
    ],
)
def test_names_of_towncrier(name: str, category: str | None) -> None:
    layout = parse_layout("towncrier.toml", '[tool.towncrier]\npackage = "gadget"\n')
    assert layout is not None
    assert layout.folder == "gadget/newsfragments"
    found = list(parse_towncrier(f"{layout.folder}/{name}", "text", "a" * 40, layout))
    assert [f.category for f in found] == ([category] if category else [])


def test_settings_that_cannot_be_read_are_gaps(gadget: TestRepository) -> None:
    gadget.commit("x", {"towncrier.toml": "[tool.towncrier]\ndirectory = '../outside'\n", "pyproject.toml": "[[[\n"})
    gaps: list[str] = []
    assert read_fragments(Clone.open(gadget.path), ranged(gadget, "v1.0.0", "trunk"), "", gaps) == ()
    assert [gap.partition(":")[0] for gap in gaps] == ["towncrier.toml", "pyproject.toml"]


_ODD = st.text(alphabet=st.sampled_from("ab1#-+ .\n<!>=[]'\"\\\\\x00\ufeff"), max_size=80)


@given(_ODD)
def test_no_fragment_and_no_settings_end_in_a_traceback(text: str) -> None:
    layout = Layout("towncrier", "news", {"fix": "Fixed"})
    for name in ("1.fix.md", text.replace("/", ""), "x.rst"):
        list(parse_towncrier(f"news/{name}", text, "a" * 40, layout))
        assert all(f.category and f.text for f in parse_scriv(f"news/{name}", text, "a" * 40, layout))
    for name in ("towncrier.toml", "setup.cfg"):
        with suppress(UserError, configparser.Error):
            parse_layout(name, f"[tool.towncrier]\n{text}")


@pytest.mark.parametrize(
    "text", ["{}", "[1]", '[{"number": true}]', '[{"number": 0}]', "[" * 100_000, "\x00", '[{"title": "no number"}]']
)
def test_a_file_that_holds_no_pull_requests_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "pulls.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UserError):
        read_recorded_pulls(file)


# -- MIOpen ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def miopen() -> Path:
    path = os.environ.get("RELMGR_MIOPEN_CLONE")
    if not path:
        pytest.skip("RELMGR_MIOPEN_CLONE names no clone")
    return Path(path)


def notes_of(path: Path, text: str) -> Notes:
    project = load_project("miopen-rocmlir", {"miopen": str(path)})
    return take_notes(project, project.pin(), text, Asked())


@pytest.mark.realhistory
def test_miopen_5_3_0_to_5_4_0(miopen: Path) -> None:
    notes = notes_of(miopen, "rocm-5.3.0..rocm-5.4.0")
    counts = notes.counts
    assert (counts.commits, counts.branch_merges, counts.pull_requests, counts.remaining) == (94, 7, 81, 77)
    assert sorted(n.pr or 0 for n in notes.netted) == [1611, 1694, 1796, 1812]
    told = {e.pr: e for _, e in notes.entries()}
    assert len(told) == 76
    assert {pr for pr, e in told.items() if len(e.commits) == 2} == {1774, 1789}
    (left,) = notes.left_out
    assert (left.pr, left.why, left.by) == (1682, "already-in-from", "equal-patch")
    assert (left.as_commit or "").startswith("bdf6d6a16")
    assert [(m.pr, m.commit[:9]) for m in notes.abi.crossed_by] == [(1673, "5c6664021")]
    assert (notes.abi.old.number, notes.abi.new.number, notes.abi.crossing) == (5, 6, True)
    moved = told[1673].moves_pin
    assert moved is not None
    assert moved.commit.startswith("5c6664021")
    assert {f.state for f in notes.databases.files} == {"suspected"}
    assert not {f.change for f in notes.databases.files} & {"regenerated", "pruned"}
    assert notes.title == "MIOpen 2.19.0 for ROCm 5.4.0"
    assert notes.gaps == ()


@pytest.mark.realhistory
def test_miopen_5_4_0_to_5_4_1(miopen: Path) -> None:
    notes = notes_of(miopen, "rocm-5.4.1")
    assert notes.from_ == "rocm-5.4.0"
    assert (notes.counts.commits, notes.counts.pull_requests) == (5, 3)
    changed = [f.path.rpartition("/")[2] for f in notes.databases.changed()]
    assert changed == ["gfx90878.kdb", "gfx90a68.kdb", "gfx90a6e.kdb"]
    assert notes.abi.crossing is False
    assert [k.kind for k in notes.known_issues] == ["database-stale-suspected"]
    assert len(notes.known_issues[0].paths) == 5


@pytest.mark.realhistory
def test_miopen_changes_that_release_branches_had_already(miopen: Path) -> None:
    early = {item.pr for item in notes_of(miopen, "rocm-5.6.0..rocm-5.7.0").left_out}
    assert early == {2053, 2111, 2114, 2128, 2142, 2153}
    clone = Clone.open(miopen)
    facts = read_range(clone, "rocm-5.6.0", "rocm-5.7.0")
    # 5.6.0 had #2151 and took it back: in 5.7.0 it is new.
    assert 2151 in {c.pr for c in net_changes(facts.commits).kept}
    project = load_project("miopen-rocmlir", {"miopen": str(miopen)})
    read = read_notes_facts(clone, project, project.pin(), ("rocm-5.6.0", "rocm-5.7.0"))
    entry = next(e for _, e in make_notes(read, project.notes).entries() if e.pr == 2151)
    assert entry.also is None
