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
    "status": "relmgr.model.status:Status",
    "status-releases": "relmgr.model.audit:ReleaseRow[]",
}


def document_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of the document called `name`; `KeyError` for an unknown one."""
    from pydantic import TypeAdapter

    module, _, attribute = DOCUMENTS[name].partition(":")
    noun: Any = getattr(importlib.import_module(module), attribute.removesuffix("[]"))
    adapter: TypeAdapter[Any] = TypeAdapter(list[noun] if attribute.endswith("[]") else noun)
    mode: Literal["validation", "serialization"] = "validation" if name == "project" else "serialization"
    schema = adapter.json_schema(mode=mode)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": name, **schema}
