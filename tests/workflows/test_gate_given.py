"""What is handed to the gate beside the clones: scans, find-dbs' evidence, tickets, signed smoke reports."""

from __future__ import annotations

import json
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from relmgr.cli import root
from relmgr.errors import SourceError, UserError, run_to_exit_code
from relmgr.model.facts import Ticket
from relmgr.model.smoke_report import SmokeReport
from relmgr.model.snapshot import Snapshot
from relmgr.model.verdict import Verdict
from relmgr.smoke.signing import sign_with_key, sign_with_secret
from relmgr.sources.trains import read_calendar
from relmgr.workflows.gate import Calendars, judge, snapshot_of
from relmgr.workflows.gate_given import GateInputs, with_given
from tests.support.databases import fwd_row, other_row, wrw_row
from tests.support.services import need
from tests.support.shipped_databases import (
    ABI6,
    FOLDER,
    OTHER_LINE,
    PROVIDER_LINE,
    Files,
    Shipped,
    find_db,
    requirements,
    ship,
)

AT = datetime(2022, 10, 1, 19, 0, tzinfo=timezone.utc)
SUBJECT = "ROCm/MIOpen#7"
TICKET = "abi-bump-has-regeneration-ticket"


@pytest.fixture
def shipped(tmp_path: Path) -> Shipped:
    """Three databases at number 5, of which one holds no row of the provider's; #7 crosses to 6."""
    made = ship(tmp_path)
    files = made.database("gfx90a68.kdb", fwd_row("descriptor32"), wrw_row("descriptor32"), other_row())
    files |= made.database("gfx90878.kdb", fwd_row("bare", arch="gfx942"))
    files |= made.database("gfx1030_36.kdb", other_row())
    made.repository.commit("Databases", files, at="2022-07-01T12:00:00-07:00")
    made.repository.commit("Tidy up (#7)", {"requirements.txt": requirements(ABI6)}, at="2022-09-29T12:00:00-07:00")
    return made


def taken(
    shipped: Shipped, subject: str = SUBJECT, at: datetime = AT, base: str | None = None, **given: Any
) -> Snapshot:
    project = shipped.project()
    snapshot = snapshot_of(project, subject, at, Calendars(read_calendar(), None), base)
    return with_given(project, snapshot, GateInputs(**given))


def verdict(shipped: Shipped, snapshot: Snapshot, policy: str) -> Verdict:
    return next(v for v in judge(shipped.project(), snapshot, recorded=False).verdicts if v.policy == policy)


def with_no_ticket(snapshot: Snapshot) -> Snapshot:
    gaps = {fact: why for fact, why in snapshot.gaps.items() if fact != "tickets"}
    return snapshot.model_copy(update={"tickets": (), "gaps": gaps})


def rows(snapshot: Snapshot) -> dict[str, tuple[int | None, int | None, bool]]:
    return {
        one.path.removeprefix(f"{FOLDER}/"): (one.provider_rows, one.stale_rows, one.may_hold)
        for one in snapshot.databases or ()
    }


# -- databases -------------------------------------------------------------------------------------------------------


def test_without_a_scan_every_database_may_hold_the_providers_rows(shipped: Shipped) -> None:
    assert set(rows(taken(shipped)).values()) == {(None, None, True)}


def test_databases_scanned_now_tell_their_rows_under_the_new_number(shipped: Shipped) -> None:
    """Matched by content: the scanned files lie elsewhere, under the oids that the tree's pointers name."""
    found = taken(shipped, databases=[str(shipped.contents)])
    assert rows(found) == {
        "gfx1030_36.kdb": (0, 0, False),
        "gfx90878.kdb": (1, 0, True),
        "gfx90a68.kdb": (2, 2, True),
    }
    assert found.sources[-1] == f"given: {shipped.contents}"
    missing = verdict(shipped, with_no_ticket(found), TICKET)
    assert missing.evidence["statement"] == "no ticket to rebuild towards kernel ABI 6 for gfx908 and gfx90a"


def test_a_stored_scan_counts_by_name_and_size(shipped: Shipped, capsys: pytest.CaptureFixture[str]) -> None:
    scan = shipped.contents.parent / "scan.json"
    args = ["kdb", "scan", str(shipped.named["gfx90a68.kdb"]), "--abi", "6", "--format", "json", "--out", str(scan)]
    assert run_to_exit_code(lambda **options: root.main(args=args, **options)) == 1
    assert rows(taken(shipped, scans=[scan]))["gfx90a68.kdb"] == (2, 2, True)


def test_a_scan_of_another_content_tells_nothing_of_this_one(shipped: Shipped) -> None:
    shipped.database("gfx90a68.kdb", fwd_row("bare"))
    found = next(d for d in taken(shipped, databases=[str(shipped.contents)]).databases or () if d.arch == "gfx90a")
    assert (found.provider_rows, found.note) == (
        None,
        "a scan of that name was given, of another content; no find-db of it stands beside it",
    )


def test_a_shallow_clone_tells_rows_though_no_ages(shipped: Shipped, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    shipped.repository.commit("Words (#8)", {"x": "y"}, at="2022-09-30T12:00:00-07:00")
    url = shipped.repository.path.as_uri()
    subprocess.run(["git", "clone", "-q", "--depth=2", "-b", "develop", url, shallow], check=True)
    project = shipped.project()
    repository = project.repositories["miopen"].model_copy(update={"path": shallow})
    project = project.model_copy(update={"repositories": project.repositories | {"miopen": repository}})
    snapshot = snapshot_of(project, "ROCm/MIOpen#8", AT, Calendars(read_calendar(), None), "develop")
    found = with_given(project, snapshot, GateInputs(databases=[str(shipped.contents)]))
    assert rows(found)["gfx90a68.kdb"] == (2, 2, True)


def test_a_fix_that_brings_fresh_databases_to_a_release_branch_is_judged_by_what_it_leaves(shipped: Shipped) -> None:
    repository = shipped.repository
    repository.git("checkout", "-q", "-b", "release/rocm-rel-5.4")
    fresh = shipped.database("gfx90a68.kdb", fwd_row("bare"), wrw_row("bare"))
    old = taken(shipped, databases=[str(shipped.contents)])
    repository.commit("New databases (#8)", fresh, at="2022-10-10T12:00:00-07:00")
    at = datetime(2022, 10, 11, tzinfo=timezone.utc)
    branch = "release/rocm-rel-5.4"
    after = taken(shipped, "ROCm/MIOpen#8", at, branch, databases=[str(shipped.contents)])
    assert (rows(old)["gfx90a68.kdb"], rows(after)["gfx90a68.kdb"]) == ((None, None, True), (2, 0, True))
    assert verdict(shipped, after, "databases-fresh-at-release").outcome.value == "passed"
    unread = verdict(shipped, taken(shipped, "ROCm/MIOpen#8", at, branch), "databases-fresh-at-release")
    assert unread.outcome.value == "unknown"
    assert (
        "gfx1030_36.kdb: its rows (not scanned, and older than the crossing; no find-db of it stands beside it)"
        in (unread.evidence["statement"])
    )


def test_a_find_db_narrows_which_databases_and_archs_a_crossing_concerns(shipped: Shipped) -> None:
    files = find_db("gfx1030_36", OTHER_LINE) | find_db("gfx90a68", PROVIDER_LINE)
    shipped.repository.git("checkout", "-q", "HEAD~1")
    shipped.repository.commit("Find-dbs", files, at="2022-07-02T12:00:00-07:00")
    shipped.repository.git("branch", "-f", "develop", "HEAD")
    shipped.repository.git("checkout", "-q", "develop")
    shipped.repository.commit("Tidy up (#7)", {"requirements.txt": requirements(ABI6)}, at="2022-09-29T12:00:00-07:00")
    found = taken(shipped)
    assert {name: held for name, (_, _, held) in rows(found).items()} == {
        "gfx1030_36.kdb": False,
        "gfx90878.kdb": True,
        "gfx90a68.kdb": True,
    }
    missing = verdict(shipped, with_no_ticket(found), TICKET)
    assert missing.evidence["archs"] == ["gfx908", "gfx90a"]
    (ruled,) = (one for one in found.databases or () if one.ruled_out)
    assert ruled.note == "not scanned; its find-db names no solver of the provider's"
    # What a scan counted decides over what a find-db lets suppose.
    assert rows(taken(shipped, databases=[str(shipped.contents)]))["gfx1030_36.kdb"] == (0, 0, False)


def test_a_change_that_moves_no_pin_asks_no_find_db(shipped: Shipped) -> None:
    shipped.repository.commit("Words (#9)", find_db("gfx1030_36", OTHER_LINE), at="2022-09-30T12:00:00-07:00")
    found = taken(shipped, "ROCm/MIOpen#9")
    assert not any(one.ruled_out for one in found.databases or ())


# -- tickets ---------------------------------------------------------------------------------------------------------

ARCHS = ("gfx1030", "gfx908", "gfx90a")


def plan(arch: str, **changes: Any) -> dict[str, Any]:
    return {
        "consumer": "ROCm/MIOpen",
        "train": "rocm-5.4",
        "arch": arch,
        "state": "open",
        "url": "https://x/1",
    } | changes


def tickets(shipped: Shipped, *entries: dict[str, Any]) -> Verdict:
    file = shipped.contents.parent / "tickets.json"
    file.write_text(json.dumps(list(entries)))
    return verdict(shipped, taken(shipped, tickets=file), TICKET)


def test_without_a_list_the_tickets_are_unknown_and_say_what_was_not_read(shipped: Shipped) -> None:
    found = verdict(shipped, taken(shipped), TICKET)
    assert found.outcome.value == "unknown"
    assert found.evidence["unread"] == ["tickets: the forge was not asked; a clone does not hold this"]


def test_a_list_with_a_ticket_for_each_arch_passes(shipped: Shipped) -> None:
    found = tickets(shipped, *map(plan, ARCHS))
    assert (found.outcome.value, found.evidence["missing"]) == ("passed", [])


def test_an_empty_list_was_read_and_fails(shipped: Shipped) -> None:
    found = tickets(shipped)
    assert found.outcome.value == "failed"
    assert found.evidence["statement"] == "no ticket to rebuild towards kernel ABI 6 for gfx1030, gfx908 and gfx90a"


@pytest.mark.parametrize(
    "changes",
    [
        {"train": "rocm-5.3"},
        {"train": "rocm-5.40"},
        {"state": "closed", "state_reason": "not_planned"},
        {"consumer": "acme/gadget"},
        {"arch": "gfx90"},
    ],
)
def test_a_ticket_for_something_else_does_not_count(shipped: Shipped, changes: dict[str, Any]) -> None:
    """K5 and T7 among them: gfx90 is not gfx90a, 5.4 is not in 5.40."""
    found = tickets(shipped, plan("gfx1030"), plan("gfx908"), plan("gfx90a") | changes)
    assert (found.outcome.value, found.evidence["missing"]) == ("failed", ["gfx90a"])


@pytest.mark.parametrize("consumer", ["ROCmSoftwarePlatform/MIOpen", "rocm/miopen"])
def test_p6_a_ticket_under_a_former_name_counts(shipped: Shipped, consumer: str) -> None:
    found = tickets(shipped, *(plan(arch, consumer=consumer, train="5.4") for arch in ARCHS))
    assert found.outcome.value == "passed"


def test_an_entry_that_could_not_be_read_might_be_the_missing_one(shipped: Shipped) -> None:
    found = tickets(shipped, plan("gfx1030"), plan("gfx908"), plan("gfx90a", state="maybe"))
    assert found.outcome.value == "unknown"
    assert found.evidence["statement"] == (
        "could not tell: tickets: https://x/1: its state 'maybe' is not open, closed, done or withdrawn"
    )


def test_the_tickets_that_relmgr_wrote_count_by_their_number(
    shipped: Shipped, capsys: pytest.CaptureFixture[str]
) -> None:
    file = shipped.contents.parent / "written.json"
    repo = f"--repo=miopen={shipped.repository.path}"
    args = ["kdb", "ticket", repo, "--train", "rocm-5.4", "--at", "2022-10-01", "--format", "json", "--out", str(file)]
    run_to_exit_code(lambda **options: root.main(args=args, **options))
    assert verdict(shipped, taken(shipped, tickets=file), TICKET).outcome.value == "passed"


def test_a_persons_plan_needs_a_calendar_to_say_whose_it_is(shipped: Shipped) -> None:
    file = shipped.contents.parent / "tickets.json"
    file.write_text(json.dumps([plan("gfx90a")]))
    project = shipped.project()
    snapshot = snapshot_of(project, SUBJECT, AT, Calendars(None, "freeze data unreadable: line 3"))
    found = with_given(project, snapshot, GateInputs(tickets=file))
    assert found.gaps["tickets"] == (
        "tickets.json: no train of the calendar says which of its plans concern this change"
    )


# -- smoke reports: the rules of trust -------------------------------------------------------------------------------

SECRET = "a secret that is long enough"


def smoke_report(shipped: Shipped, arch: str = "gfx90a", **changes: Any) -> SmokeReport:
    head = shipped.repository.git("rev-parse", "develop")
    fields = {
        "backend": "hip",
        "double": None,
        "emulated": False,
        "device": "a device",
        "arch": arch,
        "driver": "6.0",
        "pin": ABI6,
        "abi": 6,
        "head": head,
        "verdict": "passed",
    }
    return SmokeReport.model_validate(fields | changes)


def stored(shipped: Shipped, name: str, report: SmokeReport) -> Path:
    file = shipped.contents.parent / f"{name}.json"
    file.write_text(report.model_dump_json())
    return file


def smoked(shipped: Shipped, *reports: SmokeReport) -> Verdict:
    """Judge smoke-green for gfx90a alone."""
    files = [stored(shipped, f"report-{number}", report) for number, report in enumerate(reports)]
    found = taken(shipped, smoke_reports=files, databases=[str(shipped.contents)])
    only = tuple(one for one in found.databases or () if one.arch == "gfx90a")
    return verdict(shipped, found.model_copy(update={"databases": only}), "smoke-green")


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("RELMGR_SMOKE_SECRET", SECRET)
    return SECRET


def test_without_a_report_smoke_is_unknown(shipped: Shipped) -> None:
    found = verdict(shipped, taken(shipped), "smoke-green")
    assert (found.outcome.value, found.evidence["unread"]) == ("unknown", ["smoke: no smoke report was given"])


def test_a_signed_report_of_that_arch_on_a_device_is_green(shipped: Shipped, secret: str) -> None:
    assert smoked(shipped, sign_with_secret(smoke_report(shipped), secret)).outcome.value == "passed"


def test_a_signed_report_that_ran_wrong_is_red(shipped: Shipped, secret: str) -> None:
    good, bad = (sign_with_secret(smoke_report(shipped, verdict=v), secret) for v in ("passed", "failed"))
    found = smoked(shipped, good, bad)
    assert (found.outcome.value, found.evidence["statement"]) == ("failed", f"gfx90a ran wrong under {ABI6[:12]}")


def test_an_unsigned_report_is_unknown(shipped: Shipped, secret: str) -> None:
    found = smoked(shipped, smoke_report(shipped))
    assert found.outcome.value == "unknown"
    assert found.evidence["unread"] == ["smoke: a report of gfx90a whose signature holds (report-0.json: not signed)"]


@pytest.mark.parametrize("changes", [{"verdict": "passed"}, {"arch": "gfx90a"}, {"double": None}])
def test_a_report_changed_after_it_was_signed_is_unknown(
    shipped: Shipped, secret: str, changes: dict[str, Any]
) -> None:
    before: dict[str, Any] = {"verdict": "failed", "arch": "gfx908", "double": "hip-on-cuda"}
    signed = sign_with_secret(smoke_report(shipped, **{name: before[name] for name in changes}), secret)
    found = smoked(shipped, signed.model_copy(update=changes))
    assert found.outcome.value == "unknown"
    assert "report-0.json: its signature does not hold" in found.evidence["statement"]


def test_a_report_signed_with_another_secret_is_unknown(shipped: Shipped, secret: str) -> None:
    found = smoked(shipped, sign_with_secret(smoke_report(shipped), "another secret, as long as the first"))
    assert found.outcome.value == "unknown"


@pytest.mark.parametrize("value", [None, ""])
def test_no_secret_checks_nothing_and_an_empty_one_is_none(
    shipped: Shipped, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    """Anybody can sign with the empty secret."""
    from relmgr.model.smoke_signing import hmac_signature

    report = smoke_report(shipped)
    report = report.model_copy(update={"signature": hmac_signature(report, b"")})
    if value is None:
        monkeypatch.delenv("RELMGR_SMOKE_SECRET", raising=False)
    else:
        monkeypatch.setenv("RELMGR_SMOKE_SECRET", value)
    found = smoked(shipped, report)
    assert found.outcome.value == "unknown"
    assert "report-0.json: signed, and no secret or allowed signers to check it by" in found.evidence["statement"]


def test_a_secret_that_can_be_guessed_is_refused(shipped: Shipped, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELMGR_SMOKE_SECRET", "short")
    with pytest.raises(UserError, match="fewer than 16 bytes"):
        smoked(shipped, smoke_report(shipped))


@pytest.mark.parametrize(
    "changes",
    [
        {"double": "hip-on-cuda"},
        {"emulated": True},
        {"backend": "cuda"},
        {"backend": "cpu"},
        {"backend": "cuda", "arch": "sm_90"},
        {"backend": "cpu", "arch": "x86_64"},
        {"arch": "gfx90"},
        {"arch": "gfx942"},
    ],
)
def test_every_other_signed_report_counts_as_packing_checked(shipped: Shipped, secret: str, changes: Any) -> None:
    found = smoked(shipped, sign_with_secret(smoke_report(shipped, **changes), secret))
    assert found.outcome.value == "pending"
    assert found.evidence["missing"][0]["packing_checked"] == 1
    assert "(packing was checked elsewhere, which proves nothing about this arch)" in found.evidence["statement"]


@pytest.mark.parametrize("changes", [{"double": "hip-on-cuda"}, {"backend": "cpu", "arch": "x86_64"}])
def test_an_unsigned_report_checks_no_packing_either(shipped: Shipped, secret: str, changes: Any) -> None:
    found = smoked(shipped, smoke_report(shipped, **changes))
    assert (found.outcome.value, found.evidence["missing"][0]["packing_checked"]) == ("pending", 0)


@pytest.mark.parametrize(
    "changes", [{"head": "c" * 40}, {"head": None}, {"abi": 5}, {"pin": "rocm-5.3.0"}, {"pin": "none"}]
)
def test_a_report_for_something_else_proves_nothing(shipped: Shipped, secret: str, changes: Any) -> None:
    found = smoked(shipped, sign_with_secret(smoke_report(shipped, **changes), secret))
    assert (found.outcome.value, found.evidence["missing"][0]["packing_checked"]) == ("pending", 0)


def test_a_good_unsigned_report_takes_nothing_from_a_signed_bad_one(shipped: Shipped, secret: str) -> None:
    bad = sign_with_secret(smoke_report(shipped, verdict="failed"), secret)
    assert smoked(shipped, smoke_report(shipped), bad).outcome.value == "failed"
    good = sign_with_secret(smoke_report(shipped), secret)
    assert smoked(shipped, smoke_report(shipped, verdict="failed"), good).outcome.value == "passed"


def test_a_file_that_is_no_report_is_said_so(shipped: Shipped) -> None:
    file = shipped.contents.parent / "x.json"
    file.write_text("{}")
    with pytest.raises(SourceError, match="not a smoke report"):
        taken(shipped, smoke_reports=[file])


def keys(folder: Path) -> dict[str, Path]:
    keygen = need("ssh-keygen", "openssh-client")
    found = {name: folder / name for name in ("signer", "stranger")}
    for file in found.values():
        subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", file, "-C", ""], check=True)
    return found


def signers(key: Path) -> Files:
    public = key.with_suffix(".pub").read_text()
    return {".relmgr/allowed_signers": f'ci@example.org namespaces="relmgr-smoke" {public}'}


def crossing(shipped: Shipped, *, before: Any = None, own: Any = None) -> None:
    """Make #7 anew: signers that the base branch has before it, and signers that the change brings itself."""
    repository = shipped.repository
    repository.git("checkout", "-q", "HEAD~1")
    repository.commit("Before", before or {"x": "y"}, at="2022-08-01T12:00:00-07:00")
    repository.git("branch", "-f", "develop", "HEAD")
    repository.git("checkout", "-q", "develop")
    repository.git("checkout", "-q", "-b", "work")
    head = repository.commit(
        "Tidy up", {"requirements.txt": requirements(ABI6), **(own or {})}, at="2022-09-29T12:00:00-07:00"
    )
    repository.git("update-ref", "refs/pull/7/head", head)


def ssh_smoked(shipped: Shipped, key: Path) -> Verdict:
    head = shipped.repository.git("rev-parse", "refs/pull/7/head")
    report = sign_with_key(smoke_report(shipped, head=head), key)
    found = taken(shipped, base="develop", smoke_reports=[stored(shipped, "report", report)])
    only = tuple(one for one in found.databases or () if one.arch == "gfx90a")
    return verdict(shipped, found.model_copy(update={"databases": only}), "smoke-green")


def test_an_ssh_signature_counts_by_the_base_branchs_signers(shipped: Shipped, tmp_path: Path) -> None:
    key = keys(tmp_path)
    crossing(shipped, before=signers(key["signer"]))
    assert ssh_smoked(shipped, key["signer"]).outcome.value == "passed"
    stranger = ssh_smoked(shipped, key["stranger"])
    assert stranger.outcome.value == "unknown"
    assert "report.json: its signature does not hold" in stranger.evidence["statement"]


def test_a_change_cannot_allow_its_own_signer(shipped: Shipped, tmp_path: Path) -> None:
    key = keys(tmp_path)
    crossing(shipped, before=signers(key["signer"]), own=signers(key["stranger"]))
    assert ssh_smoked(shipped, key["stranger"]).outcome.value == "unknown"
    assert ssh_smoked(shipped, key["signer"]).outcome.value == "passed"


def test_without_allowed_signers_an_ssh_signature_proves_nothing(shipped: Shipped, tmp_path: Path) -> None:
    key = keys(tmp_path)
    crossing(shipped, own=signers(key["signer"]))
    found = ssh_smoked(shipped, key["signer"])
    assert found.outcome.value == "unknown"
    assert "signed, and no secret or allowed signers to check it by" in found.evidence["statement"]


# -- a list beside the forge ------------------------------------------------------------------------------------------


def beside_forge(shipped: Shipped, told: tuple[Ticket, ...] | None, *entries: dict[str, Any]) -> Verdict:
    """Return the verdict where the forge told `told` (None: it did not answer), and a list is handed in."""
    snapshot = with_no_ticket(taken(shipped))
    gaps = snapshot.gaps if told is not None else snapshot.gaps | {"tickets": "GitHub does not answer"}
    file = shipped.contents.parent / "tickets.json"
    file.write_text(json.dumps(list(entries)))
    asked = snapshot.model_copy(update={"tickets": told, "gaps": gaps})
    return verdict(shipped, with_given(shipped.project(), asked, GateInputs(tickets=file)), TICKET)


def filed(arch: str, **changes: Any) -> Ticket:
    return Ticket.model_validate(
        {"contract": "miir", "number": 6, "arch": arch, "state": "open", "url": "https://x/2"} | changes
    )


def test_a_rebuild_that_a_person_planned_counts_beside_the_forges_tickets(shipped: Shipped) -> None:
    told = (filed("gfx908"), filed("gfx1030"))
    alone = beside_forge(shipped, told)
    assert (alone.outcome.value, alone.evidence["missing"]) == ("failed", ["gfx90a"])
    both = beside_forge(shipped, told, plan("gfx90a"))
    assert both.outcome.value == "passed"
    assert both.evidence["tickets"] == {"gfx908": "https://x/2", "gfx1030": "https://x/2", "gfx90a": "https://x/1"}


def test_of_one_page_the_forge_tells_the_state_not_the_list(shipped: Shipped) -> None:
    told = (filed("gfx908"), filed("gfx1030"), filed("gfx90a", state="withdrawn", url="https://x/1"))
    assert beside_forge(shipped, told, plan("gfx90a")).evidence["missing"] == ["gfx90a"]


def test_a_list_does_not_stand_for_a_forge_that_did_not_answer(shipped: Shipped) -> None:
    found = beside_forge(shipped, None, plan("gfx90a"), plan("gfx908"))
    assert found.outcome.value == "unknown"
    assert "GitHub does not answer" in str(found.evidence["unread"])


# -- on the command line ---------------------------------------------------------------------------------------------


def relmgr(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = run_to_exit_code(lambda **options: root.main(args=list(args), **options))
    said = capsys.readouterr()
    return code, said.out, said.err


def test_everything_can_be_handed_in_at_once(shipped: Shipped, secret: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = shipped.contents.parent / "tickets.json"
    file.write_text(json.dumps([plan("gfx90a"), plan("gfx908")]))
    reports = [
        stored(shipped, arch, sign_with_secret(smoke_report(shipped, arch), secret)) for arch in ("gfx90a", "gfx908")
    ]
    args = ["gate", "check", SUBJECT, f"--repo=miopen={shipped.repository.path}", "--at", "2022-10-01"]
    args += ["--database", str(shipped.contents), "--tickets", str(file)]
    args += [f"--smoke-report={report}" for report in reports]
    code, out, err = relmgr(capsys, *args, "--format", "json")
    assert err == ""
    outcomes = {v["policy"]: v["outcome"] for v in json.loads(out)["verdicts"]}
    assert code == 1
    assert {outcomes[TICKET], outcomes["smoke-green"]} == {"passed"}


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--snapshot", "miopen-1630-2022-07-11", "--tickets", __file__), "recorded facts are judged as they are"),
        (
            ("--event", __file__, "--tickets", __file__),
            "a list of tickets in a workflow's checkout may be the change's own",
        ),
        (("ROCm/MIOpen#7", "--cut", "rocm-5.4"), "give either OWNER/REPO#N or --snapshot, --cut, --release"),
        (("--cut", "rocm-5.4", "--release", "rocm-5.4.0"), "give either"),
        (("--cut", "rocm-5.4", "--github"), "a cut or a release is no pull request"),
        (("--release", "rocm-5.4.0", "--base", "develop"), "a cut or a release is no pull request"),
    ],
)
def test_contradictions_are_refused(capsys: pytest.CaptureFixture[str], args: tuple[str, ...], says: str) -> None:
    code, _, err = relmgr(capsys, "gate", "check", *args)
    assert code == 2
    assert says in err
