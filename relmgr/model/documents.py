"""Every JSON document that relmgr prints or reads, by the name that `relmgr schema` takes."""

from __future__ import annotations

import importlib
from typing import Any, Literal

# Name -> module:type. A name is the command that prints the document, with `-` for blanks; `[]` after a type: a list.
DOCUMENTS: dict[str, str] = {
    "abi-diff": "relmgr.model.abi:AbiDiff",
    "abi-guards": "relmgr.model.guards:Guard[]",
    "abi-inspect": "relmgr.model.code_object:InspectedObject[]",
    "abi-show": "relmgr.model.abi:AbiVersion",
    "answer": "relmgr.model.answer:Answer",
    "audit": "relmgr.model.audit:Audit",
    "backport": "relmgr.model.backport:Backport",
    "backport-reverts": "relmgr.model.backport:OpenRevert[]",
    "calendar": "relmgr.model.trains:Calendar",
    "cut-apply": "relmgr.model.cut_apply:CutApplied",
    "cut-checklist": "relmgr.model.checklist:Checklist",
    "cut-plan": "relmgr.model.checklist:CutPlan",
    "cut-stored": "relmgr.model.cut_apply:StoredCut",
    "gate-check": "relmgr.model.verdict:GateReport",
    "gate-check-assume": "relmgr.model.verdict:WhatIf",
    "gate-explain": "relmgr.model.policy:PolicyPage",
    "kdb-diff": "relmgr.model.kernel_db:KdbDiff",
    "kdb-extract": "relmgr.model.kernel_db:Extract",
    "kdb-prune": "relmgr.model.kernel_db:PrunePlan",
    "kdb-scan": "relmgr.model.kernel_db:KdbScan",
    "kdb-ticket": "relmgr.model.ticket:Tickets",
    "kdb-ticket-data": "relmgr.model.ticket:TicketData",
    "kdb-tuning": "relmgr.model.kernel_db:TuningScan",
    "notes-check": "relmgr.model.notes:NotesCheck",
    "notes-show": "relmgr.model.notes:Notes",
    "notes-write": "relmgr.model.notes:ChangelogPlan",
    "order-parse": "relmgr.model.order:OrderDeclarations",
    "order-plan": "relmgr.model.order:OrderPlan",
    "pin-bisect": "relmgr.model.bisect:Bisection",
    "pin-bump": "relmgr.model.bump:BumpPlan",
    "pin-check": "relmgr.model.pins:PinCheck",
    "pin-history": "relmgr.model.pins:PinChange[]",
    "pin-show": "relmgr.model.pins:PinShow",
    "policy": "relmgr.model.policy:Policy",
    "posting": "relmgr.model.actions:Posting",
    "project": "relmgr.model.project:Project",
    "slash-commands": "relmgr.model.slash_commands:SlashCommands",
    "smoke-check": "relmgr.model.smoke:SmokeCheck",
    "smoke-plan": "relmgr.model.smoke:SmokePlan",
    "smoke-provider": "relmgr.model.smoke:ProviderCheck",
    "smoke-run": "relmgr.model.smoke_report:SmokeReport",
    "smoke-run-cluster": "relmgr.model.cluster_smoke:ClusterSmoke",
    "snapshot": "relmgr.model.snapshot:Snapshot",
    "status": "relmgr.model.status:Status",
    "status-releases": "relmgr.model.audit:ReleaseRow[]",
    "train-list": "relmgr.model.trains:TrainRow[]",
    "train-show": "relmgr.model.trains:TrainShow",
    "waivers": "relmgr.model.waiver:WaiverFile",
}

# Documents that people write, or that are read back: their schema says what is accepted.
INPUTS = frozenset({"project", "snapshot", "policy", "waivers", "calendar", "kdb-ticket-data", "cut-stored"})


def document_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of the document called `name`; `KeyError` for an unknown one."""
    from pydantic import TypeAdapter

    module, _, attribute = DOCUMENTS[name].partition(":")
    noun: Any = getattr(importlib.import_module(module), attribute.removesuffix("[]"))
    adapter: TypeAdapter[Any] = TypeAdapter(list[noun] if attribute.endswith("[]") else noun)
    mode: Literal["validation", "serialization"] = "validation" if name in INPUTS else "serialization"
    schema = adapter.json_schema(mode=mode)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": name}
