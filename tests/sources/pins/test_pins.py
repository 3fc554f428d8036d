"""The pin over histories: MIOpen's rebuilt from recorded tables, and an invented pair (P5, P6, P11, N1-N4)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from relmgr.errors import SourceError
from relmgr.model.pins import PinHistory, SitePin
from relmgr.settings import load_project
from relmgr.sources.git.clone import Clone
from relmgr.sources.pins.classify import classify, pr_number
from relmgr.sources.pins.history import Scope, all_refs, one_branch, pin_history, pin_state, release_branches
from relmgr.sources.provider.abi import AbiReader
from relmgr.workflows.status import compatibility
from tests.support.graph import build_graph_repository
from tests.support.invented import Invented, invent
from tests.support.repositories import TestRepository, new_repository

# Commit, pull request and kinds of develop's 32 pin commits, worked out by hand from the recorded pin lines.
DEVELOP = [
    ("7bd59992a", 676, "first"),
    ("8fe06e67a", 811, "ref"),
    ("b9b533795", 841, "ref"),
    ("f3921e7d5", 902, "ref"),
    ("1f6d1d17a", 927, "ref"),
    ("e2956459c", 978, "ref"),
    ("d21470818", 1026, "ref"),
    ("ade84b522", 1016, "ref"),
    ("294a7e0d0", 1052, "ref"),
    ("0934b18cf", 1075, "ref"),
    ("502df2bbe", 1159, "ref"),
    ("030a3695d", 1173, "ref site options"),
    ("3e1d4b080", 1228, "ref site"),
    ("d1a42ea69", 1328, "ref"),
    ("ea282ccd7", 1443, "ref"),
    ("11872ac0f", 1448, "ref"),
    ("20e9ee130", 1450, "ref"),
    ("5729309df", 1501, "ref"),
    ("fc4913e29", 1539, "ref"),
    ("0153ec13a", 1614, "ref digest"),
    ("4e8d08303", 1774, "digest"),
    ("5c6664021", 1673, "ref repository options"),
    ("239ea4fc1", 1804, "ref digest"),
    ("0b291216a", 1886, "ref digest"),
    ("995c0456b", 1901, "ref digest revert"),
    ("2d90671f2", 1897, "ref digest rebump"),
    ("e0c8d79ce", 1939, "ref digest"),
    ("e8605f592", 2124, "options"),
    ("f91a28083", 2324, "options"),
    ("7da72bc7f", 2519, "options"),
    ("eae8685ac", 2777, "repository"),
    ("d2f96ee5a", 3302, "options"),
]


@pytest.fixture(scope="module")
def develop(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> tuple[PinHistory, dict[str, str]]:
    """Return develop's history, rebuilt as a straight line, and each rebuilt commit's recorded one."""
    table = json.loads((Path(__file__).parents[2] / "data" / "miopen_develop_pins.json").read_text())
    repository = new_repository(tmp_path_factory.mktemp("develop") / "miopen")
    recorded: dict[str, str] = {}
    rebuilt: dict[str, str] = {}
    present: set[str] = set()
    for row in table["commits"]:
        files: dict[str, str | bytes | None] = {path: text + "\n" for path, text in row["pin_lines"].items()}
        files |= dict.fromkeys(present - files.keys())
        body = "".join(f"\n\nThis reverts commit {rebuilt[sha]}." for sha in row["reverts"])
        sha = repository.commit(row["subject"] + body, files, at=row["committed_at"])
        recorded[sha], rebuilt[row["commit"]] = row["commit"], sha
        present = set(row["pin_lines"])
    project = load_project("miopen-rocmlir", {"miopen": str(repository.path)})
    clone = Clone.open(repository.path)
    abi = AbiReader(project, project.pin())
    return pin_history(clone, project, project.pin(), one_branch(clone, "develop"), abi), recorded


def test_develop_has_its_32_changes_each_with_its_kinds(develop: tuple[PinHistory, dict[str, str]]) -> None:
    history, recorded = develop
    found = [(recorded[c.commit][:9], c.pr, " ".join(c.kinds)) for c in history.changes]
    assert found == DEVELOP
    assert history.gaps == ()


def test_the_one_crossing_is_found_under_its_title(develop: tuple[PinHistory, dict[str, str]]) -> None:
    history, recorded = develop
    crossings = [c for c in history.changes if c.abi and c.abi.crossing]
    assert [recorded[c.commit][:9] for c in crossings] == ["5c6664021"]
    (crossing,) = crossings
    assert crossing.abi is not None
    assert (crossing.abi.old, crossing.abi.new) == (5, 6)
    assert (crossing.abi.old_convention, crossing.abi.new_convention) == ("memref-descriptor", "bare-pointer")
    assert crossing.abi.evidence.confidence == "inferred"
    assert crossing.abi.evidence.old is not None
    assert crossing.abi.evidence.old.startswith("ledger:")
    assert "ABI" not in crossing.subject
    assert crossing.committed_at.isoformat() == "2022-09-29T21:08:38-07:00"
    unknown = [recorded[c.commit][:9] for c in history.changes if c.abi and c.abi.crossing is None]
    assert unknown == ["7bd59992a", "8fe06e67a", "b9b533795", "f3921e7d5"]


def test_p11_the_revert_is_linked_and_the_next_forward_move_is_its_rebump(
    develop: tuple[PinHistory, dict[str, str]],
) -> None:
    history, recorded = develop
    by_pr = {c.pr: c for c in history.changes}
    revert, rebump = by_pr[1901], by_pr[1897]
    assert revert.reverts is not None
    assert rebump.rebump_of is not None
    assert recorded[revert.reverts][:9] == recorded[rebump.rebump_of][:9] == "0b291216a"
    assert rebump.new is not None
    assert rebump.new.ref != by_pr[1886].new.ref  # type: ignore[union-attr]


def test_p6_a_renamed_repository_is_no_abi_question(develop: tuple[PinHistory, dict[str, str]]) -> None:
    change = next(c for c in develop[0].changes if c.pr == 2777)
    assert change.abi is not None
    assert change.abi.crossing is False
    assert (change.old.repository, change.new.repository) == ("ROCmSoftwarePlatform/rocMLIR", "ROCm/rocMLIR")  # type: ignore[union-attr]


def test_p5_the_pin_moves_between_three_files_in_one_history(develop: tuple[PinHistory, dict[str, str]]) -> None:
    sites = [c.new.site for c in develop[0].changes if c.new and ({"first", "site"} & set(c.kinds))]
    assert sites == ["Dockerfile:MLIR_COMMIT", "mlir-requirements.txt", "requirements.txt"]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> tuple[TestRepository, dict[str, str]]:
    """Return MIOpen's graph rebuilt, and each recorded commit's rebuilt one."""
    built = build_graph_repository(tmp_path_factory.mktemp("graph") / "miopen")
    return built, built.commits


def test_release_tags_carry_the_recorded_pins(graph: tuple[TestRepository, dict[str, str]]) -> None:
    project = load_project("miopen-rocmlir", {"miopen": str(graph[0].path)})
    clone = Clone.open(graph[0].path)
    table = (Path(__file__).parents[2] / "data" / "miopen_release_tag_pins.tsv").read_text().splitlines()
    header, *rows = (line.split("\t") for line in table)
    seen = 0
    for row in rows:
        fields = dict(zip(header, row, strict=False))
        if fields["tag"] not in clone.tags:
            continue
        seen += 1
        pin = pin_state(clone, project, project.pin(), f"refs/tags/{fields['tag']}").pin
        if fields["pin"] == "-":
            assert pin is None, fields["tag"]
            continue
        assert pin is not None, fields["tag"]
        written = f"MLIR_COMMIT={pin.ref}" if pin.site.startswith("Dockerfile") else f"{pin.repository}@{pin.ref}"
        assert (fields["pin_file"], fields["pin"]) == (pin.site.partition(":")[0], written), fields["tag"]
    assert seen == 40


def test_first_releases_and_merges_in_the_graph(graph: tuple[TestRepository, dict[str, str]]) -> None:
    repository, rebuilt = graph
    project = load_project("miopen-rocmlir", {"miopen": str(repository.path)})
    clone = Clone.open(repository.path)
    history = pin_history(clone, project, project.pin(), all_refs(clone))
    by_commit = {c.commit: c for c in history.changes}
    assert by_commit[rebuilt["5c6664021d9fbabeb7ebeccd176a0e7a54da6d1d"]].first_release == "rocm-5.4.0"
    assert by_commit[rebuilt["0153ec13a1b925d1e37ffd428531ad28ca7b3d10"]].first_release == "rocm-5.3.0"
    # A promotion that only brings a change along is none of its own; on a first-parent walk it is one.
    merges = [c for c in history.changes if c.subject.startswith("Merge branch 'develop' into amd-develop")]
    assert merges == []
    walked = pin_history(clone, project, project.pin(), release_branches(clone, project.repositories["miopen"]))
    assert any(c.subject.startswith("Merge branch 'develop' into amd-develop") for c in walked.changes)


# -- the invented pair -------------------------------------------------------------------------------------------------


@pytest.fixture
def pair(tmp_path: Path) -> Invented:
    return invent(tmp_path)


def history_of(pair: Invented, scope: Scope | None = None) -> PinHistory:
    project = pair.project()
    clone = Clone.open(pair.gadget.path)
    return pin_history(
        clone, project, project.pin(), scope or one_branch(clone, "trunk"), AbiReader(project, project.pin())
    )


def test_nothing_is_hard_coded(pair: Invented) -> None:
    at = pair.forge_at
    gadget = pair.gadget
    gadget.commit("start (#1)", {"deps.cmake": f'set(FORGE_REF "{at[None]}")\n'}, at="2030-02-01T01:00:00+01:00")
    gadget.commit("number (#2)", {"deps.cmake": f'set(FORGE_REF "{at[41]}")\n'}, at="2030-02-02T01:00:00+01:00")
    gadget.commit("move (#3)", {"deps.cmake": "", "forge.pin": f"{at[42]}\n"}, at="2030-02-03T01:00:00+01:00")
    gadget.commit("tidy up (#4)", {"forge.pin": f"{at[50]}\n"}, at="2030-02-04T01:00:00+01:00")
    gadget.git("tag", "v1.0.0", "HEAD~1")
    gadget.commit("gone (#5)", {"forge.pin": None}, at="2030-02-05T01:00:00+01:00")
    gadget.commit("back (#6)", {"forge.pin": f"{at[50]}\n"}, at="2030-02-06T01:00:00+01:00")
    changes = history_of(pair).changes
    told = [(c.pr, " ".join(c.kinds), c.abi.old, c.abi.new, c.abi.crossing) for c in changes if c.abi]
    assert told == [
        (1, "first", None, None, None),
        (2, "ref", None, 41, None),
        (3, "ref site", 41, 42, False),
        (4, "ref", 42, 50, True),
        (5, "removed", 50, None, None),
        (6, "restored", 50, 50, False),
    ]
    assert changes[2].abi is not None
    assert changes[2].abi.number_changed
    assert [c.first_release for c in changes] == ["v1.0.0", "v1.0.0", "v1.0.0", None, None, None]
    evidence = [c.abi.evidence for c in changes if c.abi]
    # The first pin's header was read and has no number; the one that came back is compared with the one before.
    assert [e.confidence for e in evidence] == [None, "read", "read", "read", None, "read"]
    assert [(e.old is None, e.new is None) for e in evidence] == [
        (True, False),
        (False, False),
        (False, False),
        (False, False),
        (False, True),
        (False, False),
    ]


def test_a_number_at_a_branch_is_not_evidence_as_read_ones_are(pair: Invented) -> None:
    """What a branch says now need not be what it said then."""
    pair.gadget.commit("a (#1)", {"forge.pin": f"{pair.forge_at[41]}\n"})
    pair.gadget.commit("b (#2)", {"forge.pin": "trunk\n"})
    pair.gadget.commit("c (#3)", {"forge.pin": f"{pair.forge_at[42]}\n"})
    _, to_branch, from_branch = history_of(pair).changes
    assert to_branch.abi is not None
    assert from_branch.abi is not None
    assert (to_branch.abi.evidence.confidence, from_branch.abi.evidence.confidence) == ("inferred", "inferred")


def test_a_change_has_every_kind_of_what_differs_in_either_direction() -> None:
    one = SitePin(site="a", line=1, repository="x/a", ref="1", ref_kind="tag", digest="d1", options=("p",))
    two = SitePin(site="b", line=1, repository="x/b", ref="2", ref_kind="tag", digest="d2", options=("q",))
    everything = ("ref", "repository", "site", "digest", "options")
    assert classify(one, two, had_before=True) == classify(two, one, had_before=True) == everything
    assert classify(one, one.model_copy(update={"line": 9}), had_before=True) == ()


def test_a_merge_counts_only_when_it_differs_from_every_parent(pair: Invented) -> None:
    at, gadget = pair.forge_at, pair.gadget
    gadget.commit("start", {"forge.pin": f"{at[41]}\n", "other": "1"})
    gadget.git("switch", "-q", "-c", "topic")
    gadget.commit("bump on the topic", {"forge.pin": f"{at[42]}\n"})
    gadget.git("switch", "-q", "trunk")
    gadget.commit("elsewhere", {"other": "2"})
    gadget.git("merge", "-q", "--no-edit", "topic")
    gadget.git("switch", "-q", "-c", "rival", "HEAD~1")
    gadget.commit("rival bump", {"forge.pin": f"{at[50]}\n"})
    gadget.git("switch", "-q", "trunk")
    gadget.git("merge", "-q", "-s", "ours", "--no-commit", "rival")
    evil = gadget.commit("Merge pull request #77 from acme/rival", {"forge.pin": f"{at[None]}\n"})
    clone = Clone.open(gadget.path)
    everywhere = history_of(pair, all_refs(clone)).changes
    assert {(c.subject, c.pr) for c in everywhere} == {
        ("start", None),
        ("bump on the topic", None),
        ("rival bump", None),
        ("Merge pull request #77 from acme/rival", 77),
    }
    line = history_of(pair).changes
    assert [c.subject for c in line][:2] == ["start", "Merge branch 'topic' into trunk"]
    assert line[-1].commit == evil


def test_n1_order_follows_the_graph_under_clock_skew(pair: Invented) -> None:
    at, gadget = pair.forge_at, pair.gadget
    gadget.commit("first", {"forge.pin": f"{at[41]}\n"}, at="2031-01-01T00:00:00+00:00")
    gadget.commit("second", {"forge.pin": f"{at[42]}\n"}, at="2029-01-01T00:00:00+00:00")
    gadget.commit("third", {"forge.pin": f"{at[50]}\n"}, at="2030-01-01T00:00:00+00:00")
    assert [c.subject for c in history_of(pair).changes] == ["first", "second", "third"]


@pytest.mark.parametrize(
    ("subject", "number"),
    [
        ("Bump it (#12)", 12),
        ("Bump it (#12) ", 12),
        ("Merge pull request #34 from someone/topic", 34),
        ("Cherry-pick of a fix (#12) (#56)", 56),
        ('Revert "Bump it (#12)" (#78)', 78),
        ('Revert "Bump it (#12)"', None),
        ("Fix #90 at last", None),
        ("Merge branch 'develop'", None),
    ],
)
def test_n2_n3_pull_request_numbers(subject: str, number: int | None) -> None:
    assert pr_number(subject) == number


def test_a_revert_needs_its_words_and_its_effect(pair: Invented) -> None:
    at, gadget = pair.forge_at, pair.gadget
    gadget.commit("a (#1)", {"forge.pin": f"{at[41]}\n"})
    bump = gadget.commit("b (#2)", {"forge.pin": f"{at[42]}\n"})
    gadget.commit(f"not really\n\nThis reverts commit {bump}.", {"forge.pin": f"{at[50]}\n"})
    gadget.commit("back without words", {"forge.pin": f"{at[42]}\n"})
    gadget.commit('Revert "b (#2)" (#3)', {"forge.pin": f"{at[41]}\n"})
    gadget.commit("b again (#4)", {"forge.pin": f"{at[42]}\n"})
    kinds = [(c.subject, c.kinds) for c in history_of(pair).changes]
    assert kinds[2:] == [
        ("not really", ("ref",)),
        ("back without words", ("ref",)),
        ('Revert "b (#2)" (#3)', ("ref", "revert")),
        ("b again (#4)", ("ref", "rebump")),
    ]


def test_a_revert_may_name_its_commit_alone(pair: Invented) -> None:
    at, gadget = pair.forge_at, pair.gadget
    gadget.commit("a (#1)", {"forge.pin": f"{at[41]}\n"})
    bump = gadget.commit("b (#2)", {"forge.pin": f"{at[42]}\n"})
    gadget.commit(f"trouble on the nightly\n\nThis reverts commit {bump}.", {"forge.pin": f"{at[41]}\n"})
    *_, undone = history_of(pair).changes
    assert (undone.kinds, undone.reverts) == (("ref", "revert"), bump)


def test_a_rebump_moves_the_ref(pair: Invented) -> None:
    at, gadget = pair.forge_at, pair.gadget
    gadget.commit("a (#1)", {"forge.pin": f"{at[41]}\n"})
    bump = gadget.commit("b (#2)", {"forge.pin": f"{at[42]}\n"})
    gadget.commit('Revert "b (#2)" (#3)', {"forge.pin": f"{at[41]}\n"})
    gadget.commit("another file (#4)", {"forge.pin": None, "deps.cmake": f'set(FORGE_REF "{at[41]}")\n'})
    gadget.commit("b again (#5)", {"deps.cmake": f'set(FORGE_REF "{at[42]}")\n'})
    *_, moved, again = history_of(pair).changes
    assert (moved.kinds, moved.rebump_of) == (("site",), None)
    assert (again.kinds, again.rebump_of) == (("ref", "rebump"), bump)


# -- what is not there -------------------------------------------------------------------------------------------------


def test_n4_a_shallow_clone_is_refused(pair: Invented, tmp_path: Path) -> None:
    pair.gadget.commit("one", {"forge.pin": f"{pair.forge_at[41]}\n"})
    pair.gadget.commit("two", {"forge.pin": f"{pair.forge_at[42]}\n"})
    pair.gadget.git("clone", "-q", "--depth=1", f"file://{pair.gadget.path}", str(tmp_path / "shallow"))
    project = pair.project(gadget=tmp_path / "shallow")
    clone = Clone.open(tmp_path / "shallow")
    with pytest.raises(SourceError, match="shallow"):
        pin_history(clone, project, project.pin(), one_branch(clone, "trunk"))


def test_one_missing_blob_is_a_gap_and_ends_nothing(pair: Invented) -> None:
    gadget = pair.gadget
    for number in (41, 42, 50):
        gadget.commit(f"to {number}", {"forge.pin": f"{pair.forge_at[number]}\n"})
    gadget.commit("to 42 again", {"forge.pin": f"{pair.forge_at[42]} \n"})
    oid = gadget.git("rev-parse", "HEAD~2:forge.pin")
    (gadget.path / ".git/objects" / oid[:2] / oid[2:]).unlink()
    history = history_of(pair)
    assert [c.subject for c in history.changes] == ["to 41", "to 42 again"]
    assert {gap.path for gap in history.gaps} == {"forge.pin"}
    assert len({gap.commit for gap in history.gaps}) == 2


def test_a_partial_clone_tells_its_gaps(pair: Invented, tmp_path: Path) -> None:
    pair.gadget.commit("one", {"forge.pin": f"{pair.forge_at[41]}\n"})
    pair.gadget.commit("two", {"forge.pin": f"{pair.forge_at[42]}\n"})
    pair.gadget.git("config", "uploadpack.allowFilter", "true")
    pair.gadget.git(
        "clone", "-q", "--bare", "--filter=blob:none", f"file://{pair.gadget.path}", str(tmp_path / "partial")
    )
    project = pair.project(gadget=tmp_path / "partial")
    clone = Clone.open(tmp_path / "partial")
    history = pin_history(clone, project, project.pin(), one_branch(clone, "trunk"))
    assert history.changes == ()
    assert len(history.gaps) == 2
    state = pin_state(clone, project, project.pin(), "trunk")
    assert (state.pin, state.agree) == (None, None)
    assert state.gaps == ("forge.pin: not in this clone",)


def test_a_repository_without_the_site_and_one_without_commits(pair: Invented, tmp_path: Path) -> None:
    pair.gadget.commit("nothing pinned", {"README": "x"})
    assert history_of(pair).changes == ()
    empty = new_repository(tmp_path / "empty", "trunk")
    project = pair.project(gadget=empty.path)
    clone = Clone.open(empty.path)
    assert pin_history(clone, project, project.pin(), all_refs(clone)).changes == ()
    with pytest.raises(SourceError, match="has no commit"):
        one_branch(clone, "trunk")
    assert compatibility(project, project.pin()) == []


def test_a_site_that_is_a_folder_or_binary_holds_no_pin(pair: Invented) -> None:
    pair.gadget.commit("odd", {"forge.pin/inside": "x", "deps.cmake": b"\0\xff set(FORGE_REF x)"})
    project = pair.project()
    assert pin_state(Clone.open(pair.gadget.path), project, project.pin(), "trunk").pin is None


def test_a_root_folder_inside_a_monorepo(pair: Invented, tmp_path: Path) -> None:
    pair.gadget.commit("mono", {"projects/gadget/forge.pin": f"{pair.forge_at[41]}\n", "forge.pin": "not ours\n"})
    file = tmp_path / "mono.toml"
    file.write_text(
        pair.file.read_text().replace('slug = "acme/gadget"', 'slug = "acme/gadget"\nroot = "projects/gadget"')
    )
    project = load_project(str(file), {"gadget": str(pair.gadget.path), "forge": str(pair.forge.path)})
    state = pin_state(Clone.open(pair.gadget.path), project, project.pin(), "trunk")
    assert state.pin is not None
    assert state.pin.ref == pair.forge_at[41]


def test_gitlinks_are_pins(tmp_path: Path) -> None:
    made = new_repository(tmp_path / "super", "main")
    first, second = "1" * 40, "2" * 40
    for number, sha in enumerate((first, second)):
        made.git("update-index", "--add", "--cacheinfo", f"160000,{sha},third_party/forge")
        made.git("commit", "-q", "-m", f"link {number}")
    file = tmp_path / "links.toml"
    file.write_text(
        'name = "links"\n[repositories.super]\nslug = "a/super"\n[repositories.forge]\nslug = "a/forge"\n'
        '[[pins]]\nname = "forge"\nconsumer = "super"\nprovider = "forge"\n'
        'sites = [{ kind = "gitlink", path = "third_party/forge" }]\n'
    )
    project = load_project(str(file), {"super": str(made.path)})
    clone = Clone.open(made.path)
    history = pin_history(clone, project, project.pin(), one_branch(clone, "main"))
    assert [c.new.ref for c in history.changes if c.new] == [first, second]
    assert Counter(kind for c in history.changes for kind in c.kinds) == {"first": 1, "ref": 1}
