"""What every template is shown with: documents of real runs, as `--format json` printed them, and who reads them.

A new template needs a situation here: put a document into `documents/<group>/<name>/<case>.json` and, where it has no
kind yet, say in `KINDS` which noun it is and what its template is given besides `d`. What is judged or worked out when
it is shown (the gate, tickets) is built in `BUILT`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2.meta import find_referenced_templates
from pydantic import TypeAdapter

from relmgr.gate.decide import report
from relmgr.gate.policies import load_rules
from relmgr.model.snapshot import Snapshot
from relmgr.model.waiver import Waiver
from relmgr.render.actions import tidy
from relmgr.render.engine import environment, render
from relmgr.render.notes import render_notes
from relmgr.render.smoke_matrix import show_check, show_plan
from relmgr.render.ticket import render_ticket
from relmgr.resources import shipped
from relmgr.settings import load_project
from relmgr.sources.recorded import read_recorded
from relmgr.workflows.cluster_smoke import arch_rows
from relmgr.workflows.gate import explain
from relmgr.workflows.smoke import matrices, run_view
from tests.gate.snapshots import consumer_snapshot

DOCUMENTS = Path(__file__).parent / "documents"
# What is posted goes through `tidy` first.
POSTED = ("comment/", "check_run/", "pull_request/")

View = dict[str, Any]


def _nothing(_: Any) -> View:
    return {}


@dataclass(frozen=True)
class Kind:
    """A template's document: its noun as `module:Class`, `[]` behind it for a list, and what else the view holds."""

    noun: str
    view: Callable[[Any], View] = _nothing
    documents: str | None = None


@dataclass(frozen=True)
class Situation:
    """One case of one stem (a template's name without its ending)."""

    stem: str
    case: str
    view: Callable[[], View]

    def show(self, template: str, changed: Callable[[View], View] = lambda view: view) -> str:
        """Return what the template says; `changed` may put other words into what it is given."""
        view = changed(self.view())
        if "notes_settings" in view:
            return _show_notes(template, view)
        text = render(template, **view)
        return tidy(text) if template.startswith(POSTED) else text


KINDS: dict[str, Kind] = {
    "abi/diff": Kind("relmgr.model.abi_diff:AbiDiff", lambda d: {"provider": "rocmlir"}),
    "abi/guards": Kind("relmgr.model.guards:GuardReport"),
    "abi/inspect": Kind("relmgr.model.code_object:InspectedObject[]", lambda d: {"pattern": "^mlir_gen_igemm_conv2d_"}),
    "abi/show": Kind("relmgr.model.abi:AbiVersion", lambda d: {"provider": "rocmlir"}),
    "audit/audit": Kind("relmgr.model.audit:Audit"),
    "backport/backport": Kind("relmgr.model.backport:Backport"),
    "backport/reverts": Kind("relmgr.model.backport:OpenRevert[]"),
    "cluster/smoke": Kind("relmgr.model.cluster_smoke:ClusterSmoke", lambda d: {"rows": arch_rows(d)}),
    "comment/order": Kind(
        "relmgr.model.order:OrderPlan", lambda d: {"subject": d.waits[0].pull}, documents="order/plan"
    ),
    "config/new": Kind("relmgr.model.project:NewProject"),
    "cut/apply": Kind("relmgr.model.cut_apply:CutApplied"),
    "cut/checklist": Kind("relmgr.model.checklist:Checklist"),
    "cut/plan": Kind("relmgr.model.checklist:CutPlan"),
    "gate/what_if": Kind("relmgr.model.verdict:WhatIf"),
    "kdb/diff": Kind("relmgr.model.kernel_db:KdbDiff"),
    "kdb/extract": Kind("relmgr.model.kernel_db:Extract"),
    "kdb/prune": Kind("relmgr.model.kernel_db:PrunePlan"),
    "kdb/scan": Kind("relmgr.model.kernel_db:KdbScan"),
    "kdb/tuning": Kind("relmgr.model.kernel_db:TuningScan"),
    "notes/check": Kind("relmgr.model.notes:NotesCheck"),
    "notes/github": Kind("relmgr.model.notes:Notes", lambda d: {"notes_settings": True}, documents="notes/show"),
    "notes/section": Kind("relmgr.model.notes:Notes", lambda d: {"notes_settings": True}, documents="notes/show"),
    "notes/show": Kind("relmgr.model.notes:Notes", lambda d: {"notes_settings": True}),
    "notes/write": Kind("relmgr.model.notes:ChangelogPlan"),
    "order/parse": Kind("relmgr.model.order:OrderDeclarations", lambda d: {"pull": "ROCm/MIOpen#1630"}),
    "order/plan": Kind("relmgr.model.order:OrderPlan"),
    "page/audit": Kind("relmgr.model.audit:Audit", lambda d: {"timeline": None}, documents="audit/audit"),
    "pin/bisect": Kind("relmgr.model.bisect:Bisection"),
    "pin/bump": Kind("relmgr.model.bump:BumpPlan", lambda d: {"done": None}),
    "pin/check": Kind("relmgr.model.pins:PinCheck"),
    "pin/history": Kind("relmgr.model.pins:PinHistory"),
    "pin/show": Kind("relmgr.model.pins:PinShow"),
    "policy/new": Kind("relmgr.model.policy:NewPolicy"),
    "policy/test": Kind("relmgr.model.policy:CaseResult[]"),
    "post/posting": Kind("relmgr.model.actions:Posting"),
    "pull_request/bump": Kind("relmgr.model.bump:BumpPlan", documents="pin/bump"),
    "smoke/plan": Kind(
        "relmgr.model.smoke:SmokePlan", lambda d: {"choice": "asked for", **matrices(d.cells, show_plan(d.cells))}
    ),
    "smoke/provider": Kind("relmgr.model.smoke:ProviderCheck"),
    "smoke/run": Kind("relmgr.model.smoke:SmokeRun", lambda d: {"d": d.report, **run_view(d)}),
    "smoke/check": Kind(
        "relmgr.model.smoke:SmokeCheck", lambda d: matrices([c.cell for c in d.cells], show_check(d.cells))
    ),
    "status/releases": Kind("relmgr.model.audit:ReleaseRow[]"),
    "status/status": Kind("relmgr.model.status:Status"),
    "train/list": Kind("relmgr.model.trains:TrainRow[]"),
    "train/show": Kind("relmgr.model.trains:TrainShow"),
}


def _judged(snapshot: Snapshot) -> View:
    rules = load_rules(load_project(), snapshot.base)
    return {"d": report(snapshot, rules, recorded=True), "snapshot": snapshot}


def _unread() -> Snapshot:
    """Nobody asked the forge: one reason, many facts."""
    asked = dict.fromkeys(("reviews", "checks", "pushed_at", "labels", "tickets"))
    return consumer_snapshot(**asked, gaps=dict.fromkeys(asked, "the forge was not asked; a clone does not hold this"))


def _waived() -> Snapshot:
    """One policy is lifted by a waiver with a page of its own, one waiver ended, and not all of them were read."""
    snapshot = read_recorded("miopen-1673-2022-08-05")
    until = {"abi-bump-has-regeneration-ticket": date(2022, 8, 9), "smoke-green": date(2022, 8, 1)}
    waivers = tuple(
        Waiver(
            policy=policy,
            subject=snapshot.subject,
            until=day,
            by="dev",
            reason="the fix is for a customer, see #1700",
            source="command",
            url=f"https://github.com/ROCm/MIOpen/pull/1673#issuecomment-{number}",
        )
        for number, (policy, day) in enumerate(until.items(), 1)
    )
    gaps = snapshot.gaps | {"waivers": "waivers given in comments: what guest may do could not be told"}
    return snapshot.model_copy(update={"waivers": waivers, "gaps": gaps})


GATE: dict[str, Callable[[], Snapshot]] = {
    "block": lambda: read_recorded("miopen-1673-2022-08-05"),
    "wait": lambda: read_recorded("miopen-1630-2022-07-11-declared"),
    "merge": lambda: read_recorded("miopen-1630-2022-07-11"),
    "not-read": _unread,
    "waived": _waived,
}


def _gate(case: str) -> Callable[[], View]:
    return lambda: _judged(GATE[case]())


def _ticket(arch: str) -> View:
    document = _document("kdb/ticket", "two-days-after", "relmgr.model.ticket:Tickets")
    ticket = next(one for one in document.tickets if one.arch == arch)
    return {"d": document.model_copy(update={"tickets": (render_ticket(ticket, document),)})}


def _ticket_words(arch: str) -> View:
    document = _document("kdb/ticket", "two-days-after", "relmgr.model.ticket:Tickets")
    ticket = next(one for one in document.tickets if one.arch == arch)
    shown = {"shown": ticket.databases, "more": 0, "names": str, "code": str, "cell": str}
    return {"t": ticket, "d": document, **shown, "title": "Scan", "block": "<!-- relmgr:ticket -->"}


def _page(name: str) -> Any:
    return explain(load_project(), name).model_copy(update={"file": f"rules/{name}.yaml"})


def _slash() -> View:
    from relmgr.model.slash_commands import USAGE, RefusedCommand, SlashCommands

    said, why = "/relmgr waive freeze", "waive POLICY until YYYY-MM-DD REASON"
    refused = RefusedCommand(line=1, said=said, problem="malformed", why=why)
    return {"d": SlashCommands(refused=(refused,)), "usages": list(USAGE.values())}


def _answer(name: str, **view: Any) -> Callable[[], View]:
    """The answer to one command; what is not named here is not given."""

    def made() -> View:
        from relmgr.model.slash_commands import SlashCommand

        names = dict.fromkeys(("d", "report", "snapshot", "text", "base", "head", "number", "subject", "failed"))
        judged = _judged(GATE["wait"]())
        known = {"report": judged["d"], "snapshot": judged["snapshot"]} if name in ("recheck", "waive") else {}
        policy = "freeze" if name in ("waive", "explain") else None
        until = date(2022, 8, 9) if name == "waive" else None
        command = SlashCommand.model_validate(
            {"name": name, "line": 1, "policy": policy, "until": until, "arch": "gfx90a" if name == "smoke" else None}
        )
        zone = "America/Los_Angeles"
        return {**names, **known, **view, "c": command, "asked": f"/relmgr {name}", "zone": zone}

    return made


def _planned_by_hand() -> View:
    view = _ticket("gfx90a")
    return {"t": view["d"].tickets[0], "d": view["d"], "found": "**Scan the kernel databases.**"}


def _demo() -> View:
    from relmgr.workflows.demo import ToldChapter

    told = ToldChapter(title="Where the pin stands", why="First.", command="status", exit_code=1, text="Scan 6.")
    return {"chapters": [told], "audit": None}


BUILT: dict[str, dict[str, Callable[[], View]]] = {
    "check_run/gate": {case: _gate(case) for case in ("wait", "not-read", "waived")},
    "check_run/gate-title": {case: _gate(case) for case in ("block", "wait", "merge")},
    "comment/answer": {
        "recheck": _answer("recheck"),
        "waive": _answer("waive", d={"state": "in force"}),
        "order": _answer("order"),
        "smoke": _answer("smoke", head="5c6664021d9f1cc2c6be3d0a2d1b1c7d2b0a9f10", number=7, subject="acme/gadget#7"),
        "failed": _answer("explain", failed="no policy 'freeze'"),
    },
    "comment/answer-run": {
        "started": lambda: {"state": "started", "workflow": "smoke.yml", "arch": "gfx90a", "head": "5c6664021d9f"}
    },
    "comment/gate": {case: _gate(case) for case in ("wait", "not-read", "waived")},
    "comment/slash-commands": {"refused": _slash},
    "comment/ticket": {"gfx90a": _planned_by_hand},
    "config/project": {"new": lambda: {"name": '"engine"'}},
    "config/check": {"miopen": lambda: {"d": load_project(), "own": ()}},
    "gate/check": {case: _gate(case) for case in ("block", "wait", "not-read", "waived")},
    "gate/explain": {"freeze": lambda: {"d": _page("freeze")}},
    "gate/policies": {"some": lambda: {"d": [_page(name) for name in ("freeze", "on-hold", "smoke-green")]}},
    "issue/regeneration": {"gfx90a": lambda: _ticket_words("gfx90a")},
    "issue/regeneration-title": {"gfx90a": lambda: _ticket_words("gfx90a")},
    "kdb/ticket": {"gfx90a": lambda: _ticket("gfx90a")},
    "page/demo": {"one": _demo},
    "policy/case": {"blocks": lambda: {"kind": "blocks"}},
    "policy/rule": {"new": lambda: {"id": "new-rule", "check": "freeze", "evidence": ("freezes", "note")}},
}


def situations() -> Iterator[Situation]:
    """Yield every situation."""
    for stem, cases in BUILT.items():
        yield from (Situation(stem, case, view) for case, view in cases.items())
    for stem, kind in KINDS.items():
        for file in sorted((DOCUMENTS / (kind.documents or stem)).glob("*.json")):
            yield Situation(stem, file.stem, _reader(stem, file.stem))


def shown_templates() -> list[str]:
    """Return the templates that are shown by themselves: all but those that others take in."""
    folder = shipped("templates")
    names = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*.j2"))
    trees = (environment().parse((folder / name).read_text(encoding="utf-8")) for name in names)
    taken = {target for tree in trees for target in find_referenced_templates(tree)}
    return [name for name in names if name not in taken]


def stem_of(template: str) -> str:
    """Return a template's name without its endings."""
    folder, _, name = template.rpartition("/")
    return f"{folder}/{name.partition('.')[0]}"


@lru_cache(maxsize=256)
def _document(folder: str, case: str, noun: str) -> Any:
    module, _, name = noun.partition(":")
    found: Any = getattr(importlib.import_module(module), name.removesuffix("[]"))
    adapter: TypeAdapter[Any] = TypeAdapter(list[found] if name.endswith("[]") else found)
    return adapter.validate_json((DOCUMENTS / folder / f"{case}.json").read_bytes())


def _reader(stem: str, case: str) -> Callable[[], View]:
    kind = KINDS[stem]

    def read() -> View:
        document = _document(kind.documents or stem, case, kind.noun)
        return {"d": document, **kind.view(document)}

    return read


def _show_notes(template: str, view: View) -> str:
    from relmgr.render.notes import TEMPLATES

    form = next(form for form, name in TEMPLATES.items() if name == template)
    return render_notes(view["d"], load_project().notes, form, forge="github.com")
