"""Trains from the calendar (T2) and from the repository: cuts and first tags of MIOpen's recorded history (T4, T7)."""

from __future__ import annotations

import os
from datetime import date, datetime, timezone
from pathlib import Path

import pytest

from relmgr.errors import UserError
from relmgr.gate.windows import compare_with_repository
from relmgr.model.base import Outcome
from relmgr.model.project import Repository
from relmgr.model.trains import Train, TrainState
from relmgr.settings import load_project
from relmgr.sources.git.clone import Clone
from relmgr.sources.trains import (
    calendar_or_gap,
    read_calendar,
    read_calendar_at,
    read_train_state,
)
from tests.support.graph import GraphRepository, build_graph_repository
from tests.support.repositories import TestRepository, new_repository

# domain.md section 4, by hand: the cut, the first tag by version, its date where the tag has one of its own.
MIOPEN_TRAINS = {
    "rocm-4.3": ("2021-05-15", "rocm-4.3.0", None),
    "rocm-4.4": ("2021-07-05", None, None),
    "rocm-4.5": ("2021-08-28", "rocm-4.5.0", None),
    "rocm-5.0": ("2021-12-20", "rocm-5.0.0", None),
    "rocm-5.1": ("2022-02-16", "rocm-5.1.0", None),
    "rocm-5.2": ("2022-04-19", "rocm-5.2.0", "2022-06-28"),
    "rocm-5.3": ("2022-08-08", "rocm-5.3.0", "2022-09-30"),
    "rocm-5.4": ("2022-10-06", "rocm-5.4.0", "2022-11-30"),
    "rocm-5.5": ("2023-01-31", "rocm-5.5.0", "2023-05-01"),
    "rocm-5.6": ("2023-04-13", "rocm-5.6.0", "2023-06-28"),
    "rocm-5.7": ("2023-06-28", "rocm-5.7.0", None),
    "rocm-6.0": ("2023-10-12", "rocm-6.0.0", "2023-12-15"),
    "rocm-6.1": ("2024-02-05", "rocm-6.1.0", None),
    "rocm-6.2": ("2024-05-30", "rocm-6.2.0", "2024-08-02"),
    "rocm-6.3": ("2024-08-13", None, None),
}
LATE = datetime.fromisoformat("2025-01-01T00:00:00+00:00")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> GraphRepository:
    return build_graph_repository(tmp_path_factory.mktemp("graph") / "MIOpen")


def miopen() -> Repository:
    return load_project("miopen-rocmlir").repositories["miopen"]


def states_of(path: Path) -> dict[str, tuple[str | None, str | None, str | None]]:
    found = [read_train_state(Clone.open(path), "miopen", miopen(), train) for train in read_calendar().trains]
    return {
        state.train: (
            state.cut.isoformat() if state.cut else None,
            state.first_tag,
            state.tagged.date().isoformat() if state.tagged else None,
        )
        for state in found
    }


# -- MIOpen's history -----------------------------------------------------------------------------------------------


def test_every_known_cut_and_first_tag_comes_out(graph: GraphRepository) -> None:
    assert states_of(graph.path) == MIOPEN_TRAINS


def test_the_same_in_a_clone_whose_branches_are_remote(graph: GraphRepository, tmp_path: Path) -> None:
    graph.git("clone", "-q", str(graph.path), str(tmp_path / "clone"))
    assert states_of(tmp_path / "clone") == MIOPEN_TRAINS


def test_the_same_in_a_bare_mirror_without_a_config_file(graph: GraphRepository, tmp_path: Path) -> None:
    graph.git("clone", "-q", "--mirror", str(graph.path), str(tmp_path / "mirror"))
    (tmp_path / "mirror" / "config").unlink()
    assert states_of(tmp_path / "mirror") == MIOPEN_TRAINS


@pytest.mark.realhistory
@pytest.mark.skipif("RELMGR_MIOPEN_CLONE" not in os.environ, reason="RELMGR_MIOPEN_CLONE names no clone of MIOpen")
def test_every_known_cut_and_first_tag_of_the_real_clone() -> None:
    assert states_of(Path(os.environ["RELMGR_MIOPEN_CLONE"])) == MIOPEN_TRAINS


def test_the_cut_is_the_recorded_merge_base(graph: GraphRepository) -> None:
    train = read_calendar().train("rocm-5.3")
    assert train is not None
    state = read_train_state(Clone.open(graph.path), "miopen", miopen(), train)
    assert state.branch == "release/rocm-rel-5.3"
    assert state.cut_at == datetime.fromisoformat("2022-08-08T00:03:46-07:00")
    assert state.cut_commit == graph.git("merge-base", "develop", "release/rocm-rel-5.3")


def test_t4_the_shipped_calendar_agrees_with_the_history(graph: GraphRepository) -> None:
    calendar = read_calendar()
    states = [read_train_state(Clone.open(graph.path), "miopen", miopen(), train) for train in calendar.trains]
    found = [
        d for train, s in zip(calendar.trains, states, strict=True) for d in compare_with_repository(train, s, LATE)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("at", "branch", "tag"),
    [
        ("2022-07-12T23:59:59-07:00", None, None),
        ("2022-08-08T00:03:45-07:00", None, None),
        ("2022-08-08T00:03:46-07:00", "release/rocm-rel-5.3", None),
        ("2022-09-30T17:19:32+00:00", "release/rocm-rel-5.3", None),
        ("2022-09-30T17:19:33+00:00", "release/rocm-rel-5.3", "rocm-5.3.0"),
    ],
)
def test_a_train_as_it_stood_at_an_instant(
    graph: GraphRepository, at: str, branch: str | None, tag: str | None
) -> None:
    train = read_calendar().train("rocm-5.3")
    assert train is not None
    when = datetime.fromisoformat(at)
    state = read_train_state(Clone.open(graph.path), "miopen", miopen(), train, when)
    assert (state.branch, state.first_tag) == (branch, tag)
    assert compare_with_repository(train, state, when) == ()


def test_a_lightweight_tag_is_dated_by_the_calendar(graph: GraphRepository) -> None:
    # The commit of rocm-5.7.0 is of 2023-09-08; the release was announced on the 15th.
    train = read_calendar().train("rocm-5.7")
    assert train is not None
    seen = [
        read_train_state(Clone.open(graph.path), "miopen", miopen(), train, datetime.fromisoformat(at)).first_tag
        for at in ("2023-09-14T12:00:00-07:00", "2023-09-15T12:00:00-07:00")
    ]
    assert seen == [None, "rocm-5.7.0"]


# -- small repositories ---------------------------------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path: Path) -> TestRepository:
    made = new_repository(tmp_path / "consumer")
    made.commit("one", {"a": "1"}, at="2022-08-01T12:00:00-07:00")
    made.commit("two", {"a": "2"}, at="2022-08-07T23:30:00-07:00")
    return made


TRAIN = Train.model_validate(
    {"name": "rocm-5.3", "base_branch": "develop", "zone": "America/Los_Angeles", "cut": "2022-08-07"}
)


def test_the_cut_is_the_committers_own_date(repository: TestRepository) -> None:
    repository.git("branch", "release/rocm-rel-5.3")
    state = read_train_state(Clone.open(repository.path), "miopen", miopen(), TRAIN)
    assert state.cut == date(2022, 8, 7), "in UTC it would be the 8th"


@pytest.mark.parametrize(
    "branch", ["release/rocm-rel-5.3-staging", "release/rocm-rel-5.3.0.1", "release/rocm-rel-5.30", "rocm-rel-5.3"]
)
def test_t7_a_branch_of_a_similar_name_is_no_train(repository: TestRepository, branch: str) -> None:
    repository.git("branch", branch)
    assert read_train_state(Clone.open(repository.path), "miopen", miopen(), TRAIN).branch is None


def test_t7_a_tag_of_another_version_or_off_the_branch_is_not_the_first(repository: TestRepository) -> None:
    repository.git("tag", "rocm-5.30.0")
    repository.git("branch", "release/rocm-rel-5.3", "HEAD~1")
    repository.git("tag", "-a", "-m", "x", "rocm-5.3.0", at="2022-09-01T12:00:00-07:00")
    state = read_train_state(Clone.open(repository.path), "miopen", miopen(), TRAIN)
    assert (state.first_tag, state.stray_tags) == (None, ("rocm-5.3.0",))


def test_of_two_tags_of_one_version_the_dated_one_counts(repository: TestRepository) -> None:
    repository.git("branch", "release/rocm-rel-5.3")
    repository.git("tag", "rocm-5.3")
    repository.git("tag", "-a", "-m", "x", "rocm-5.3.0", at="2022-09-01T12:00:00-07:00")
    repository.git("tag", "-a", "-m", "x", "rocm-5.3.1", at="2022-08-20T12:00:00-07:00")
    state = read_train_state(Clone.open(repository.path), "miopen", miopen(), TRAIN)
    assert (state.first_tag, state.tag_dated) == ("rocm-5.3.0", True)


def test_a_clone_without_the_default_branch_cannot_tell_the_cut(repository: TestRepository) -> None:
    repository.git("branch", "-m", "develop", "release/rocm-rel-5.3")
    state = read_train_state(Clone.open(repository.path), "miopen", miopen(), TRAIN)
    assert (state.branch, state.cut) == ("release/rocm-rel-5.3", None)
    assert state.unread == ("no branch develop in the clone, so the cut cannot be worked out",)


def test_unrelated_histories_have_no_cut(repository: TestRepository) -> None:
    repository.git("checkout", "-q", "--orphan", "release/rocm-rel-5.3")
    repository.commit("alone", {"b": "1"})
    state = read_train_state(Clone.open(repository.path), "miopen", miopen(), TRAIN)
    assert (state.cut, state.unread) == (None, ("release/rocm-rel-5.3 shares no commit with develop",))


def test_n4_a_shallow_clone_is_unknown_not_uncut(repository: TestRepository, tmp_path: Path) -> None:
    repository.git("branch", "release/rocm-rel-5.3")
    repository.git("clone", "-q", "--depth=1", f"file://{repository.path}", str(tmp_path / "shallow"))
    state = read_train_state(Clone.open(tmp_path / "shallow"), "miopen", miopen(), TRAIN)
    (found,) = compare_with_repository(TRAIN, state, LATE)
    assert found.outcome is Outcome.UNKNOWN
    assert "shallow" in found.remedy


# -- the calendar file ----------------------------------------------------------------------------------------------

GOOD = """\
defaults: {base_branch: develop, zone: America/Los_Angeles}
trains:
  - name: rocm-5.3
    cut: 2022-08-08
    freezes:
      - phase: feature-freeze
        starts: 2022-07-25
        ends: 2022-08-07T18:00 America/Los_Angeles
        why: only fixes
        exception: ask in the channel
        ask: [vesna]
"""


def written(tmp_path: Path, text: str) -> Path:
    (tmp_path / "trains.yaml").write_text(text, encoding="utf-8")
    return tmp_path / "trains.yaml"


def test_a_calendar_is_read(tmp_path: Path) -> None:
    (train,) = read_calendar(written(tmp_path, GOOD)).trains
    assert train.cut == date(2022, 8, 8)
    assert train.windows[0].end == datetime.fromisoformat("2022-08-07T18:00:00-07:00")


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("    cut:", "    cutt:", 4, "unknown key 'trains.0.cutt' (did you mean 'cut'?); allowed: name, base_branch"),
        ("why: only fixes", "because: x", 9, "unknown key 'trains.0.freezes.0.because'; allowed: phase, starts"),
        ("starts: 2022-07-25", "starts: 2022-07-25T10:00:00", 7, "has no offset"),
        ("zone: America/Los_Angeles", "zone: Mars/Olympus", 1, "unknown time zone 'Mars/Olympus'"),
        ("defaults: {base", "defaults: {color: red, base", 1, "unknown key 'defaults.color'; allowed: base_branch"),
        ("cut: 2022-08-08", "cut: 2022-02-30", 4, "is out of range|not valid YAML|valid date"),
        ("cut: 2022-08-08", "cut: 9999-12-31", 4, "less than or equal to 2199-12-31"),
        ("cut: 2022-08-08", "regeneration: {days: 1000000000, source: x}", 4, "less than or equal to 3650"),
        ("cut: 2022-08-08", "branches: {miopen: '('}", 4, "not a regular expression"),
        ("name: rocm-5.3", "name: five", 3, "should match pattern"),
    ],
)
def test_t2_a_mistake_is_named_with_its_line_and_the_allowed_names(
    tmp_path: Path, old: str, new: str, line: int, says: str
) -> None:
    file = written(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(UserError) as refused:
        read_calendar(file)
    assert any(part in str(refused.value) for part in says.split("|"))
    if "YAML" not in str(refused.value):
        assert f"trains.yaml:{line}:" in str(refused.value)


@pytest.mark.parametrize("text", ["", "trains: [", "- 1", "trains:\n  - rocm-5.3\n", "trains: 7\n", "\x00"])
def test_t2_an_unreadable_calendar_is_unknown_never_open(tmp_path: Path, text: str) -> None:
    calendar, gap, _ = calendar_or_gap(written(tmp_path, text))
    assert calendar is None
    assert gap is not None
    assert gap.startswith("freeze data unreadable: ")


def test_t2_a_calendar_that_is_not_there(tmp_path: Path) -> None:
    calendar, gap, _ = calendar_or_gap(tmp_path / "none.yaml")
    assert calendar is None
    assert "cannot be read: No such file" in str(gap)


def test_the_calendar_of_a_base_branch_is_read_not_that_of_the_change(repository: TestRepository) -> None:
    base = repository.commit("calendar", {".relmgr/trains.yaml": GOOD})
    repository.commit("a change opens the freeze", {".relmgr/trains.yaml": "trains: []\n"})
    clone = Clone.open(repository.path)
    assert read_calendar_at(clone, base, ".relmgr/trains.yaml") is not None
    assert len(read_calendar_at(clone, base, ".relmgr/trains.yaml").trains) == 1  # type: ignore[union-attr]
    assert read_calendar_at(clone, base, "elsewhere.yaml") is None


def test_the_shipped_calendar_has_the_numbers_and_the_days_to_regenerate() -> None:
    calendar = read_calendar()
    numbers = {train.name: train.abi["miir"] for train in calendar.trains}
    assert (numbers["rocm-4.3"], numbers["rocm-5.3"], numbers["rocm-5.4"], numbers["rocm-6.3"]) == (5, 5, 6, 6)
    assert {train.regeneration.days for train in calendar.trains if train.regeneration} == {35}
    assert {train.zone for train in calendar.trains} == {"America/Los_Angeles"}
    announced = {t.name: str(t.first_tag.tagged) for t in calendar.trains if t.first_tag and t.first_tag.announced}
    assert announced == {"rocm-5.7": "2023-09-15", "rocm-6.1": "2024-04-16"}


@pytest.mark.parametrize(("repository", "cut"), [("miopen", date(2022, 8, 8)), ("migraphx", date(2022, 8, 9))])
def test_the_shipped_calendar_knows_the_cut_of_each_consumer(repository: str, cut: date) -> None:
    """MIGraphX cuts on days of its own: its branches are no disagreement with MIOpen's."""
    train = read_calendar().train("rocm-5.3")
    assert train is not None
    assert train.cut_of(repository) == cut
    branch, tag = "release/rocm-rel-5.3", "rocm-5.3.0"
    state = TrainState(train=train.name, repository=repository, branch=branch, cut_at=noon(cut), first_tag=tag)
    assert compare_with_repository(train, state, noon(date(2022, 10, 1))) == ()


def noon(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, 12, tzinfo=timezone.utc)
