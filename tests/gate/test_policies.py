"""Policies at load: what is refused, with file, line and allowed names; overrides; extensions."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from relmgr.errors import UserError
from relmgr.gate.engine import judge
from relmgr.gate.policies import check_policy_text, load_rules, read_rule, shipped_rules
from relmgr.gate.registry import all_checks
from relmgr.model.base import Level, Outcome
from relmgr.model.project import PolicyOverride, PolicySettings, Project
from relmgr.settings import load_project
from relmgr.workflows.policies import new_policy, run_cases
from tests.gate.snapshots import consumer_snapshot

GOOD = """\
id: my-rule
title: its pin moves forward
why: because
applies_to: {when: pin-moves}
level: warn
requires: [pin_moves, pin_ancestry]
check: pin-moves-forward
params: {}
fails: "{% for m in wrong %}{{ m.pin }} goes back{% endfor %}"
remedy: pin another
reference: https://example.org
"""


def write(folder: Path, text: str, name: str = "my-rule") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.yaml"
    file.write_text(text)
    return file


def project_with(**settings: Any) -> Project:
    return load_project().model_copy(update={"policies": PolicySettings.model_validate(settings)})


def test_a_good_policy_is_read(tmp_path: Path) -> None:
    rule = read_rule(write(tmp_path, GOOD))
    assert rule.policy.level is Level.WARN


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        (
            "check: pin-moves-forward",
            "check: pin-moves-forwards",
            7,
            r"unknown check 'pin-moves-forwards' \(did you mean 'pin-moves-forward'",
        ),
        ("check: pin-moves-forward", "check: nothing-like-it", 7, "allowed: abi-bump-has-regeneration-ticket, "),
        ("params: {}", "params: {days: 3}", 8, "unknown key 'days'"),
        ("level: warn", "level: fatal", 5, "'block', 'warn' or 'note'"),
        ("why: because", "whom: because", 3, "unknown key 'whom'"),
        ("{when: pin-moves}", "{when: sometimes}", 4, "'always'"),
        ("[pin_moves, pin_ancestry]", "[pin_move]", 6, "'pin_moves'"),
        ("{{ m.pin }}", "{{ m.pin }", 9, "not a Jinja text"),
        ("{{ m.pin }}", "{{ wrogn }}", 9, r"unknown fails: name 'wrogn' \(did you mean 'wrong'"),
        ("{{ m.pin }}", "{{ m.pin | shell }}", 9, "unknown fails: filter 'shell'"),
        (
            "remedy: pin another",
            "remedy: '{{ archs }}'",
            10,
            "allowed: at, base, moves, outcome, params, subject, wrong",
        ),
        ("remedy: pin another", "remedy: \"{% include 'x' %}\"", 10, "takes nothing from other files"),
        ("id: my-rule", "id: your-rule", 1, "is not the file's name 'my-rule'"),
        ("id: my-rule", "id: My_Rule", 1, "should match pattern"),
    ],
)
def test_what_is_wrong_is_refused_with_file_and_line(tmp_path: Path, old: str, new: str, line: int, says: str) -> None:
    """B8: the file, the line, the allowed names."""
    file = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(UserError, match=says) as refused:
        read_rule(file)
    assert f"{file}:{line}" in str(refused.value)


def test_fields_stand_in_one_order(tmp_path: Path) -> None:
    lines = GOOD.splitlines(keepends=True)
    file = write(tmp_path, "".join([lines[0], lines[2], lines[1], *lines[3:]]))
    with pytest.raises(UserError, match="'why' stands where 'title' should") as refused:
        read_rule(file)
    assert f"{file}:2" in str(refused.value)


def test_a_policy_without_its_cases_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, GOOD)
    (tmp_path / "cases" / "my-rule").mkdir(parents=True)
    (tmp_path / "cases" / "my-rule" / "blocks.yaml").write_text("about: x\n")
    with pytest.raises(UserError, match="no case for: passes, unknown"):
        read_rule(file, tmp_path / "cases")


@pytest.mark.parametrize(
    "text",
    ["{% if " * 40, "{{ " + "(" * 1500, "{{ 'a' * 10000000000 }}", "{{ 'a' | center(9999999999) }}"],
)
def test_a_hostile_text_is_checked_in_bounds(text: str) -> None:
    """A stranger's policy is parsed and never compiled: constants are not worked out."""
    policy = GOOD.replace("pin another", f'"{text}"')
    if text.endswith("}}"):
        check_policy_text(policy, "my-rule.yaml")
    else:
        with pytest.raises(UserError, match="not a Jinja text"):
            check_policy_text(policy, "my-rule.yaml")


def test_a_text_cannot_reach_into_python(tmp_path: Path) -> None:
    text = GOOD.replace("{{ m.pin }} goes back", "{{ m.__class__.__mro__ }}")
    rule = read_rule(write(tmp_path, text))
    snapshot = consumer_snapshot()
    back = tuple(one.model_copy(update={"forward": False}) for one in snapshot.pin_ancestry or ())
    with pytest.raises(UserError, match="cannot be written"):
        judge(snapshot.model_copy(update={"pin_ancestry": back}), rule)


# -- overrides -------------------------------------------------------------------------------------------------------


def rule_of(project: Project, policy: str, base: str | None = None) -> Any:
    return next(rule for rule in load_rules(project, base) if rule.policy.id == policy)


def test_level_and_parameters_are_overridden_per_project() -> None:
    project = project_with(override={"smoke-green": {"level": "warn", "params": {"archs": ["gfx90a"]}}})
    rule = rule_of(project, "smoke-green")
    assert rule.policy.level is Level.WARN
    assert rule.params.archs == ("gfx90a",)
    assert rule_of(load_project(), "smoke-green").policy.level is Level.BLOCK


def test_the_last_branch_that_matches_wins() -> None:
    branches = [{"pattern": "^release/", "level": "block"}, {"pattern": "^release/5", "params": {"approvals": 3}}]
    project = project_with(
        override={"approvals-and-checks": {"level": "note", "params": {"approvals": 2}, "branches": branches}}
    )
    default, release = (rule_of(project, "approvals-and-checks", base) for base in ("develop", "release/5.4"))
    assert (default.policy.level, default.params.approvals) == (Level.NOTE, 2)
    assert (release.policy.level, release.params.approvals) == (Level.BLOCK, 3)


def test_a_policy_is_not_put_aside_silently() -> None:
    with pytest.raises(ValueError, match="at least 10 characters"):
        PolicyOverride(disabled="no")
    project = project_with(override={"freeze": {"disabled": "this project has no freezes"}})
    found = judge(consumer_snapshot(), rule_of(project, "freeze"))
    assert found.outcome is Outcome.SKIPPED
    assert found.evidence["statement"] == "put aside by the project: this project has no freezes"


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ({"smoke-gren": {"level": "warn"}}, "unknown policy 'smoke-gren' .did you mean 'smoke-green'"),
        ({"smoke-green": {"params": {"arch": ["gfx90a"]}}}, "unknown key 'arch'"),
        ({"pin-not-a-branch-at-cut": {"params": {"days": -1}}}, "greater than or equal to 0"),
    ],
)
def test_an_override_of_nothing_is_refused(override: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says):
        load_rules(project_with(override=override))


# -- a project's own policies and checks -----------------------------------------------------------------------------


def own_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "rules"
    write(folder, GOOD)
    for kind in ("blocks", "passes", "unknown"):
        source = Path(__file__).parents[1] / "cases" / "pin-moves-forward" / f"{kind}.yaml"
        (folder / "cases" / "my-rule").mkdir(parents=True, exist_ok=True)
        (folder / "cases" / "my-rule" / f"{kind}.yaml").write_text(source.read_text().split("  says:")[0])
    return folder


def test_a_project_adds_its_own_policies(tmp_path: Path) -> None:
    rules = load_rules(project_with(folders=[own_folder(tmp_path)]))
    assert "my-rule" in {rule.policy.id for rule in rules}
    assert len(rules) == len(shipped_rules()) + 1


def test_cases_lie_over_shipped_bases_and_over_the_folders_own(tmp_path: Path) -> None:
    folder = own_folder(tmp_path)
    assert [result.problem for result in run_cases("my-rule", folder, None)] == [None, None, None]
    case = folder / "cases" / "my-rule" / "passes.yaml"
    case.write_text(case.read_text().replace("base: consumer", "base: ours"))
    with pytest.raises(UserError, match="no base snapshot 'ours'") as refused:
        run_cases("my-rule", folder, None)
    assert refused.value.next_step == "known: backport, consumer, provider, release"
    (folder / "cases" / "base").mkdir()
    shipped = Path(__file__).parents[2] / "policies" / "bases" / "consumer.yaml"
    shutil.copy(shipped, folder / "cases" / "base" / "ours.yaml")
    assert [result.problem for result in run_cases("my-rule", folder, None)] == [None, None, None]


def test_a_projects_policy_may_not_take_a_shipped_ones_place(tmp_path: Path) -> None:
    folder = own_folder(tmp_path)
    write(folder, GOOD.replace("id: my-rule", "id: freeze"), "freeze")
    shutil.copytree(folder / "cases" / "my-rule", folder / "cases" / "freeze")
    with pytest.raises(UserError, match="a policy 'freeze' is there already"):
        load_rules(project_with(folders=[folder]))


def test_the_cases_of_a_projects_policy_run(tmp_path: Path) -> None:
    results = run_cases("my-rule", own_folder(tmp_path), None)
    assert [(r.case, r.outcome, r.problem) for r in results] == [
        ("blocks", Outcome.FAILED, None),
        ("passes", Outcome.PASSED, None),
        ("unknown", Outcome.UNKNOWN, None),
    ]


def test_a_case_that_is_not_as_expected_is_told(tmp_path: Path) -> None:
    folder = own_folder(tmp_path)
    case = folder / "cases" / "my-rule" / "passes.yaml"
    case.write_text(case.read_text().replace("passed", "failed"))
    problems = [r.problem for r in run_cases("my-rule", folder, None) if r.problem]
    assert problems == ["a case passes* cannot expect failed"]


def test_an_installed_extension_adds_a_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from relmgr.gate import registry

    (tmp_path / "acme_checks.py").write_text(
        "from relmgr.gate.registry import NoParams, Result, check\n"
        "from relmgr.model.base import Noun, Outcome\n"
        "from relmgr.model.snapshot import Snapshot\n"
        "class Seen(Noun):\n    title: str\n"
        "@check('acme-title')\n"
        "def acme_title(snapshot: Snapshot, params: NoParams) -> Result[Seen]:\n"
        "    '''A title is there.'''\n"
        "    return Result(Outcome.PASSED if snapshot.title else Outcome.FAILED, Seen(title=snapshot.title))\n"
    )
    info = tmp_path / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[relmgr.checks]\nacme = acme_checks\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry._load.cache_clear()
    try:
        assert "acme-title" in all_checks()
        text = GOOD.replace("pin-moves-forward", "acme-title").replace(
            "{% for m in wrong %}{{ m.pin }} goes back{% endfor %}", "no title but {{ title }}"
        )
        rule = read_rule(write(tmp_path / "rules", text))
        assert judge(consumer_snapshot(title=""), rule).outcome is Outcome.FAILED
    finally:
        registry._CHECKS.pop("acme-title", None)
        sys.modules.pop("acme_checks", None)
        registry._load.cache_clear()


def test_an_extension_that_does_not_load_is_an_error_not_a_missing_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B9: a checker that crashed is red."""
    from relmgr.gate import registry

    (tmp_path / "broken_checks.py").write_text("raise RuntimeError('no licence')\n")
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[relmgr.checks]\nbroken = broken_checks\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry._load.cache_clear()
    try:
        with pytest.raises(UserError, match="the extension 'broken' does not load: no licence"):
            all_checks()
    finally:
        monkeypatch.undo()
        registry._load.cache_clear()


def test_every_check_is_used_and_short() -> None:
    """A check is a pure function under about 25 lines, and no check is left without a policy."""
    import inspect

    used = {rule.policy.check for rule in shipped_rules()}
    assert set(all_checks()) == used
    for check in all_checks().values():
        assert len(inspect.getsource(check.function).splitlines()) <= 33, check.name
        assert check.function.__doc__


# -- policy new ------------------------------------------------------------------------------------------------------


def test_the_stubs_of_a_new_policy_load_and_their_cases_are_there(tmp_path: Path) -> None:
    folder = tmp_path / "rules"
    planned = new_policy("no-friday-merges", folder, None, "freeze", apply=False)
    assert not folder.exists()
    made = new_policy("no-friday-merges", folder, None, "freeze", apply=True)
    assert made.files == planned.files
    rule = read_rule(folder / "no-friday-merges.yaml", folder / "cases")
    assert rule.policy.check == "freeze"


def test_a_new_policy_writes_over_nothing(tmp_path: Path) -> None:
    new_policy("no-friday-merges", tmp_path, None, "freeze", apply=True)
    with pytest.raises(UserError, match="is there already"):
        new_policy("no-friday-merges", tmp_path, None, "freeze", apply=True)


@pytest.mark.parametrize("policy_id", ["../evil", "Caps", "a b", "", "-x"])
def test_a_strange_id_is_refused(policy_id: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no policy id"):
        new_policy(policy_id, tmp_path, None, "freeze", apply=True)


# -- the guide for newcomers -----------------------------------------------------------------------------------------

GUIDE = (Path(__file__).parents[2] / "policies" / "README.md").read_text()


def block(language: str) -> str:
    return GUIDE.split(f"```{language}\n")[1].split("```")[0]


def test_the_guides_check_works() -> None:
    from relmgr.gate import registry

    all_checks()
    names: dict[str, Any] = {}
    imports = (
        "from relmgr.gate.registry import Result, check\n"
        "from relmgr.model.base import Noun, Outcome\n"
        "from relmgr.model.snapshot import Snapshot\n"
    )
    try:
        exec(imports + block("python"), names)
        check = registry._CHECKS["label-present"]
        found = check.function(consumer_snapshot(), check.params.model_validate({"wanted": "urgency_normal"}))
        assert found.outcome is Outcome.PASSED
    finally:
        registry._CHECKS.pop("label-present", None)


def test_the_guides_settings_and_waiver_are_accepted() -> None:
    from relmgr.model.waiver import WaiverFile
    from relmgr.settings import parse_toml, parse_yaml

    settings = PolicySettings.model_validate(parse_toml(block("toml"), "guide")[0]["policies"])
    load_rules(load_project().model_copy(update={"policies": settings.model_copy(update={"folders": ()})}))
    assert len(WaiverFile.model_validate(parse_yaml(block("yaml"), "guide")[0]).waivers) == 1
