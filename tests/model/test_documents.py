"""Every document that relmgr prints or reads has a schema."""

from __future__ import annotations

import pytest

from relmgr.model.documents import DOCUMENTS, INPUTS, document_schema


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_every_document_has_a_schema(name: str) -> None:
    schema = document_schema(name)
    assert schema["title"] == name
    assert schema.get("properties") or schema.get("items") or schema.get("anyOf"), name


def test_inputs_are_documents() -> None:
    assert set(DOCUMENTS) >= INPUTS


def test_the_contracts_keys_stand_in_the_schemas() -> None:
    history = document_schema("pin-history")["$defs"]["PinChange"]["properties"]
    assert {"commit", "committed_at", "pr", "subject", "kinds", "old", "new", "abi", "first_release"} <= set(history)
    diff = document_schema("abi-diff")["properties"]
    assert {"from", "to", "number", "functions", "structs", "enums", "macros", "statement"} <= set(diff)
    finding = document_schema("audit")["$defs"]["AuditFinding"]["properties"]
    assert {"kind", "outcome", "commit", "committed_at", "pr", "release", "path", "evidence", "remedy"} <= set(finding)
