"""Every JSON document that relmgr prints or reads, by the name that `relmgr schema` takes."""

from __future__ import annotations

import importlib
from typing import Any, Literal

# Name -> module:type. A name is the command that prints the document, with `-` for blanks; `[]` after a type: a list.
DOCUMENTS: dict[str, str] = {
    "project": "relmgr.model.project:Project",
    "pin-show": "relmgr.model.pins:PinShow",
    "pin-history": "relmgr.model.pins:PinChange[]",
    "pin-check": "relmgr.model.pins:PinCheck",
    "audit": "relmgr.model.audit:Audit",
    "gate-check": "relmgr.model.verdict:GateReport",
    "gate-check-assume": "relmgr.model.verdict:WhatIf",
    "gate-explain": "relmgr.model.policy:PolicyPage",
    "snapshot": "relmgr.model.snapshot:Snapshot",
    "policy": "relmgr.model.policy:Policy",
    "waivers": "relmgr.model.waiver:WaiverFile",
    "kdb-ticket": "relmgr.model.ticket:Tickets",
    "kdb-ticket-data": "relmgr.model.ticket:TicketData",
    "status": "relmgr.model.status:Status",
    "status-releases": "relmgr.model.audit:ReleaseRow[]",
}

# Documents that people write, or that are read back: their schema says what is accepted.
INPUTS = frozenset({"project", "snapshot", "policy", "waivers", "kdb-ticket-data"})


def document_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of the document called `name`; `KeyError` for an unknown one."""
    from pydantic import TypeAdapter

    module, _, attribute = DOCUMENTS[name].partition(":")
    noun: Any = getattr(importlib.import_module(module), attribute.removesuffix("[]"))
    adapter: TypeAdapter[Any] = TypeAdapter(list[noun] if attribute.endswith("[]") else noun)
    mode: Literal["validation", "serialization"] = "validation" if name in INPUTS else "serialization"
    schema = adapter.json_schema(mode=mode)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": name, **schema}
