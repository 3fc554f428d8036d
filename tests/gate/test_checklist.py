"""The checklist and the plan of a cut, from facts written by hand."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from relmgr.gate.checklist import evaluate_checklist, plan_cut
from relmgr.model.abi import AbiVersion
from relmgr.model.checklist import ChecklistItem, CutFacts, PinAtCut, RepositoryAtCut
from relmgr.model.databases import DatabaseFact, Introduction
from relmgr.model.facts import Ticket
from relmgr.model.pins import AbiChange, AbiEvidence, PinChange, PinState, SitePin
from relmgr.model.trains import Train, TrainState

BEFORE = datetime.fromisoformat("2022-10-05T12:00:00-07:00")
SHA, CROSSING = "1" * 40, "5c66640210000000000000000000000000000000"


def train(**more: Any) -> Train:
    return Train.model_validate(
        {
            "name": "rocm-5.4",
            "base_branch": "develop",
            "zone": "America/Los_Angeles",
            "cut": "2022-10-06",
            "abi": {"miir": 6},
            "owners": ["vesna", "jo"],
            "regeneration": {"days": 35, "source": "observed"},
        }
        | more
    )


PREVIOUS = train(name="rocm-5.3", cut="2022-08-08", abi={"miir": 5})


def state(repository: str, **more: Any) -> TrainState:
    return TrainState(train="rocm-5.4", repository=repository, **more)


PROVIDER_BRANCH = {
    "branch": "release/rocm-5.4",
    "tip": "b" * 40,
    "cut_commit": "c" * 40,
    "cut_at": datetime.fromisoformat("2022-10-06T01:00:00-07:00"),
}


def provider(**more: Any) -> RepositoryAtCut:
    return RepositoryAtCut.model_validate(
        {
            "name": "rocmlir",
            "slug": "ROCm/rocMLIR",
            "branch": "release/rocm-5.4",
            "state": state("rocmlir"),
            "read_at": "develop",
            "commit": "d" * 40,
            "changelog": "CHANGELOG.md",
        }
        | more
    )


def consumer(**more: Any) -> RepositoryAtCut:
    return RepositoryAtCut.model_validate(
        {
            "name": "miopen",
            "slug": "ROCm/MIOpen",
            "consumes": ("rocmlir",),
            "branch": "release/rocm-rel-5.4",
            "state": state("miopen"),
            "read_at": "develop",
            "commit": "e" * 40,
            "changelog": "CHANGELOG.md",
            "heading": "MIOpen-2.19.0 for ROCm 5.4.0",
        }
        | more
    )


def site(ref: str = SHA, path: str = "requirements.txt", kind: str | None = "sha") -> SitePin:
    return SitePin.model_validate({"site": path, "line": 3, "repository": "ROCm/rocMLIR", "ref": ref, "ref_kind": kind})


def abi(number: int | None = 6) -> AbiVersion:
    return AbiVersion(
        provider="ROCm/rocMLIR",
        ref=SHA,
        macro="MIIR_VERSION_FLAT",
        number=number,
        convention="bare-pointer" if number == 6 else "unknown",
        confidence="read" if number else None,
        source="Miir.h" if number else "unknown: no clone of rocmlir given",
    )


def crossing(day: str = "2022-09-29") -> PinChange:
    return PinChange(
        commit=CROSSING,
        committed_at=datetime.fromisoformat(f"{day}T20:00:00-07:00"),
        pr=1673,
        subject="Use find_package()",
        kinds=("ref",),
        old=None,
        new=None,
        abi=AbiChange(
            old=5,
            new=6,
            old_convention="memref-descriptor",
            new_convention="bare-pointer",
            crossing=True,
            evidence=AbiEvidence(confidence="read", old="a", new="b"),
        ),
        first_release=None,
    )


def database(name: str, arch: str, after: bool | None, packed: tuple[DatabaseFact, ...] = ()) -> DatabaseFact:
    seen = Introduction(
        commit="f" * 40,
        committed_at=BEFORE,
        pr=None,
        subject="x",
        repacked_from=packed,
    )
    return DatabaseFact(
        path=f"src/kernels/{name}",
        arch=arch,
        cu_count=None,
        known_arch=True,
        storage="git-lfs",
        oid="0",
        size=1,
        introduced=None if after is None else seen,
        after_crossing=after,
    )


def pin(**more: Any) -> PinAtCut:
    return PinAtCut.model_validate(
        {
            "pin": "rocmlir",
            "consumer": "miopen",
            "provider": "rocmlir",
            "contract": "miir",
            "state": PinState(commit="e" * 40, pin=site(), sites=(site(),)),
            "kind": "sha",
            "resolved": SHA,
            "on_provider_branch": True,
            "abi": abi(),
            "crossing": None,
            "crossing_known": True,
            "databases": (database("gfx908.kdb", "gfx908", None),),
        }
        | more
    )


def facts(**more: Any) -> CutFacts:
    return CutFacts.model_validate(
        {
            "train": train(),
            "previous": PREVIOUS,
            "at": BEFORE,
            "owners": ("lead",),
            "repositories": (provider(), consumer()),
            "pins": (pin(),),
        }
        | more
    )


def item(key: str, **more: Any) -> ChecklistItem:
    (found,) = [i for i in evaluate_checklist(facts(**more)).items if i.id == key]
    return found


def test_the_order_is_calendar_then_providers_then_consumers_each_branch_last() -> None:
    assert [i.id for i in evaluate_checklist(facts()).items] == [
        "calendar/cut-date",
        "calendar/agrees",
        "calendar/abi-declared-miir",
        "calendar/freeze",
        "rocmlir/checks-green",
        "rocmlir/release-branch",
        "miopen/rocmlir/pin-fixed",
        "miopen/rocmlir/sites-agree",
        "miopen/rocmlir/pin-on-release-branch",
        "miopen/rocmlir/abi-number",
        "miopen/rocmlir/time-to-regenerate",
        "miopen/rocmlir/regeneration-tickets",
        "miopen/rocmlir/databases-fresh",
        "miopen/changelog",
        "miopen/exceptions",
        "miopen/checks-green",
        "miopen/release-branch",
    ]


def test_what_is_done_has_no_owner_and_the_rest_has_the_trains_owners() -> None:
    assert item("miopen/rocmlir/pin-fixed").owner is None
    assert item("miopen/release-branch").owner == "vesna, jo"
    assert item("miopen/exceptions").owner == "vesna, jo"
    assert item("miopen/exceptions", train=train(owners=[])).owner == "lead"
    assert item("miopen/exceptions", train=train(owners=[]), owners=()).owner is None


# -- the pin --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "ref", "expected", "evidence"),
    [
        ("sha", SHA, "done", f"ROCm/rocMLIR@{SHA} is a commit"),
        ("tag", "rocm-5.4.0", "done", "ROCm/rocMLIR@rocm-5.4.0 is a tag, now 111111111111"),
        ("branch", "release/rocm-5.4", "open", "ROCm/rocMLIR@release/rocm-5.4 is a branch, now 111111111111"),
        (None, "some-ref", "open", "some-ref could be a branch: not read: the provider was not read"),
    ],
)
def test_p4_a_pin_on_a_branch_is_open(kind: str | None, ref: str, expected: str, evidence: str) -> None:
    made = site(ref, kind=kind)
    found = item(
        "miopen/rocmlir/pin-fixed",
        pins=(pin(kind=kind, state=PinState(commit="e" * 40, pin=made, sites=(made,))),),
    )
    assert (found.state, found.evidence) == (expected, evidence)


def test_sites_that_disagree_are_open_and_named() -> None:
    two = (site(), site("2" * 40, "Dockerfile"))
    found = item("miopen/rocmlir/sites-agree", pins=(pin(state=PinState(commit="e" * 40, pin=two[0], sites=two)),))
    assert (found.state, found.evidence) == ("open", f"requirements.txt: {SHA}; Dockerfile: {'2' * 40}")


def test_a_site_that_was_not_read_is_open() -> None:
    gap = PinState(commit="e" * 40, pin=None, sites=(), gaps=("requirements.txt: not in this clone",))
    found = item("miopen/rocmlir/sites-agree", pins=(pin(state=gap, gaps=gap.gaps),))
    assert (found.state, found.evidence) == ("open", "not read: requirements.txt: not in this clone")


def test_the_pin_must_be_on_the_providers_release_branch() -> None:
    cut = provider(state=state("rocmlir", **PROVIDER_BRANCH))
    key = "miopen/rocmlir/pin-on-release-branch"
    assert item(key, repositories=(cut, consumer())).state == "done"
    off = item(key, repositories=(cut, consumer()), pins=(pin(on_provider_branch=False),))
    assert (off.state, off.evidence) == ("open", "111111111111 is not on release/rocm-5.4")
    no_branch = item(key, pins=(pin(on_provider_branch=None),))
    assert (no_branch.state, no_branch.evidence) == ("open", "rocmlir has no release branch for 5.4 yet")
    lacking = item(key, repositories=(cut, consumer()), pins=(pin(on_provider_branch=None),))
    assert (lacking.state, lacking.evidence) == (
        "open",
        "not read: the pinned commit is not in the clone of rocmlir",
    )
    unread = provider(state=state("rocmlir", unread=("no clone of ROCm/rocMLIR",)))
    gap = item(key, repositories=(unread, consumer()), pins=(pin(on_provider_branch=None),))
    assert gap.evidence == "not read: no clone of ROCm/rocMLIR"


@pytest.mark.parametrize(
    ("number", "declared", "expected", "evidence"),
    [
        (6, {"miir": 6}, "done", "6 at the pin, the train ships 6"),
        (6, {"miir": 5}, "open", "6 at the pin, the train ships 5"),
        (6, {}, "open", "6 at the pin, the train declares none"),
        (None, {"miir": 6}, "open", "not read: unknown: no clone of rocmlir given"),
        (None, {}, "open", "not read: unknown: no clone of rocmlir given"),
    ],
)
def test_the_number_at_the_pin_is_the_declared_one(
    number: int | None, declared: dict[str, int], expected: str, evidence: str
) -> None:
    found = item("miopen/rocmlir/abi-number", train=train(abi=declared), pins=(pin(abi=abi(number)),))
    assert (found.state, found.evidence) == (expected, evidence)


# -- crossing, tickets, databases -----------------------------------------------------------------------------------


def test_the_2022_crossing_came_too_late_to_regenerate() -> None:
    found = item("miopen/rocmlir/time-to-regenerate", pins=(pin(crossing=crossing()),))
    assert (found.state, found.evidence) == (
        "open",
        "crossed on 2022-09-29 by 5c6664021000; the last safe day was 2022-09-01",
    )


@pytest.mark.parametrize(
    ("more", "expected", "evidence"),
    [
        ({"crossing": crossing("2022-09-01")}, "done", "crossed on 2022-09-01 by 5c6664021000; the last safe day was"),
        ({"crossing": crossing("2022-09-02")}, "open", "crossed on 2022-09-02"),
        ({"crossing": crossing("2022-08-08")}, "done", "crossed on 2022-08-08"),
        ({"crossing": crossing("2022-08-07")}, "done", "no crossing since the cut of rocm-5.3"),
        ({"crossing": None}, "done", "no crossing since the cut of rocm-5.3"),
        ({"crossing": None, "crossing_known": False}, "open", "not read: the pin's history was not read"),
    ],
)
def test_time_to_regenerate(more: dict[str, Any], expected: str, evidence: str) -> None:
    found = item("miopen/rocmlir/time-to-regenerate", pins=(pin(**more),))
    assert found.state == expected
    assert str(found.evidence).startswith(evidence)


def test_a_crossing_without_a_known_time_to_regenerate_is_open() -> None:
    found = item("miopen/rocmlir/time-to-regenerate", train=train(regeneration=None), pins=(pin(crossing=crossing()),))
    assert (found.state, str(found.evidence).split("; ")[1]) == ("open", "the last safe day is not known")


def tickets(**states: str) -> tuple[Ticket, ...]:
    return tuple(
        Ticket.model_validate({"contract": "miir", "number": 6, "arch": arch, "state": state})
        for arch, state in states.items()
    )


@pytest.mark.parametrize(
    ("more", "expected", "evidence"),
    [
        ({}, "by-hand", "the forge was not asked; archs: gfx906, gfx908"),
        ({"tickets": tickets(gfx906="done", gfx908="done")}, "done", "gfx906: done; gfx908: done"),
        ({"tickets": tickets(gfx906="done", gfx908="open")}, "open", "gfx906: done; gfx908: open"),
        ({"tickets": ()}, "open", "gfx906: none; gfx908: none"),
    ],
)
def test_every_affected_arch_has_its_ticket(more: dict[str, Any], expected: str, evidence: str) -> None:
    databases = (database("gfx906_60.kdb", "gfx906", False), database("gfx90878.kdb", "gfx908", False))
    crossed = pin(crossing=crossing(), databases=databases)
    found = item("miopen/rocmlir/regeneration-tickets", pins=(crossed,), **more)
    assert (found.state, found.evidence) == (expected, evidence)


def test_without_a_crossing_no_ticket_is_needed() -> None:
    assert item("miopen/rocmlir/regeneration-tickets").state == "done"


def test_databases_older_than_the_crossing_are_counted_and_named() -> None:
    made = (
        database("gfx906_60.kdb", "gfx906", False),
        database("gfx90878.kdb", "gfx908", True),
        database("gfx90a68.kdb", "gfx90a", None),
    )
    found = item("miopen/rocmlir/databases-fresh", pins=(pin(crossing=crossing(), databases=made),))
    assert (found.state, found.evidence) == (
        "open",
        "1 of 3 are older than the crossing 5c6664021000 of 2022-09-29: gfx906_60.kdb; age not known: gfx90a68.kdb",
    )


def test_changed_is_not_regenerated() -> None:
    made = (database("gfx90878.kdb", "gfx908", True),)
    found = item("miopen/rocmlir/databases-fresh", pins=(pin(crossing=crossing(), databases=made),))
    assert found.state == "by-hand"
    assert "does not prove that they were rebuilt: scan them" in str(found.evidence)


def test_a_repacked_database_is_as_old_as_what_was_packed() -> None:
    old = database("gfx90878.kdb", "gfx908", False)
    made = (database("gfx908.kdb.bz2", "gfx908", True, packed=(old,)),)
    assert item("miopen/rocmlir/databases-fresh", pins=(pin(crossing=crossing(), databases=made),)).state == "open"


def test_databases_that_were_not_read_are_open() -> None:
    found = item("miopen/rocmlir/databases-fresh", pins=(pin(databases=None, gaps=("miopen: no clone",)),))
    assert (found.state, found.evidence) == ("open", "not read: miopen: no clone")


def test_a_consumer_without_databases_is_not_asked_for_them() -> None:
    ids = [i.id for i in evaluate_checklist(facts(pins=(pin(databases=()),))).items]
    assert "miopen/rocmlir/databases-fresh" not in ids


# -- the calendar ---------------------------------------------------------------------------------------------------


def test_a_train_without_a_day_or_a_number_is_open() -> None:
    bare = train(cut=None, abi={})
    assert item("calendar/cut-date", train=bare).state == "open"
    assert item("calendar/abi-declared-miir", train=bare).evidence == "no number under `abi: {miir: ...}`"


def test_t4_a_disagreement_and_an_unread_repository_are_open() -> None:
    late = provider(state=state("rocmlir", unread=("no clone of ROCm/rocMLIR at hand",)))
    early = consumer(state=state("miopen", branch="release/rocm-rel-5.4"))
    found = item("calendar/agrees", repositories=(late, early))
    assert (found.state, found.evidence) == (
        "open",
        "miopen: branch before cut, calendar cut planned on 2022-10-06, "
        "repository branch release/rocm-rel-5.4 exists; rocmlir not read: no clone of ROCm/rocMLIR at hand",
    )
    assert item("calendar/agrees").state == "done"


def test_an_announced_freeze_is_done_with_its_window() -> None:
    freeze = {
        "phase": "feature-freeze",
        "starts": "2022-09-19",
        "ends": "2022-10-05",
        "why": "w",
        "exception": "e",
    }
    frozen = train(freezes=[freeze])
    found = item("calendar/freeze", train=frozen, windows=frozen.windows)
    assert (found.state, found.evidence) == (
        "done",
        "feature freeze from 2022-09-19 00:00-07:00 until 2022-10-06 00:00-07:00",
    )
    assert item("calendar/freeze").state == "by-hand"


def test_the_changelog_section_is_the_evidence() -> None:
    assert item("miopen/changelog").evidence == "MIOpen-2.19.0 for ROCm 5.4.0"
    gone = consumer(heading=None, changelog_gap="no CHANGELOG.md at develop")
    found = item("miopen/changelog", repositories=(provider(), gone))
    assert (found.state, found.evidence) == ("open", "no CHANGELOG.md at develop")


# -- the plan -------------------------------------------------------------------------------------------------------


def plan_of(**more: Any) -> Any:
    made = facts(**more)
    return plan_cut(made, evaluate_checklist(made))


def test_the_provider_is_cut_before_its_consumer() -> None:
    plan = plan_of()
    assert [(s.number, s.repository, s.action, s.state, s.blocked_by) for s in plan.steps] == [
        (1, "ROCm/rocMLIR", "cut release/rocm-5.4 from develop", "ready", ()),
        (
            2,
            "ROCm/MIOpen",
            "cut release/rocm-rel-5.4 from develop",
            "blocked",
            ("rocmlir/release-branch",),
        ),
    ]
    assert plan.steps[1].by_hand == ("calendar/freeze", "miopen/exceptions", "miopen/checks-green")
    assert str(plan.last_safe_day) == "2022-09-01"


def test_once_the_provider_is_cut_the_consumer_is_ready_and_then_done() -> None:
    cut = provider(state=state("rocmlir", **PROVIDER_BRANCH))
    after = datetime.fromisoformat("2022-10-06T12:00:00-07:00")
    assert [s.state for s in plan_of(repositories=(cut, consumer()), at=after).steps] == ["done", "ready"]
    mine = consumer(state=state("miopen", **PROVIDER_BRANCH | {"branch": "release/rocm-rel-5.4"}))
    done = plan_of(repositories=(cut, mine), at=after)
    assert [(s.state, s.blocked_by, s.by_hand) for s in done.steps] == [("done", (), ()), ("done", (), ())]
    assert done.steps[1].from_commit == "c" * 40


def test_what_was_not_read_blocks() -> None:
    unread = provider(state=state("rocmlir", unread=("no clone",)))
    assert [s.state for s in plan_of(repositories=(unread, consumer())).steps] == ["blocked", "blocked"]
