"""One copy of a pin that nobody moves along is told once, not at every release."""

from __future__ import annotations

from datetime import datetime, timezone

from relmgr.model.audit import Audit, AuditFinding
from relmgr.model.base import Level, Outcome


def disagreement(release: str | None, **sites: str) -> AuditFinding:
    return AuditFinding(
        kind="sites-disagree",
        outcome=Outcome.FAILED,
        level=Level.WARN,
        commit=None,
        committed_at=None,
        pr=None,
        release=release,
        path=None,
        evidence={"sites": {site.replace("_", ":"): ref for site, ref in sites.items()}},
        remedy="move every site to one ref, or remove the stale one",
    )


def test_a_copy_that_stays_behind_is_told_once() -> None:
    """MIGraphX's second image stayed at one ref from rocm-5.7.0 on, while the pin moved at every release."""
    findings = (
        disagreement("rocm-5.7.0", pin_117="a", copy_117="old"),
        disagreement("rocm-6.0.0", pin_32="b", copy_117="old"),
        disagreement("rocm-6.1.0", pin_31="c", copy_112="old"),
        disagreement("rocm-6.2.0", pin_31="c", copy_112="older"),
        disagreement(None, pin_31="c", copy_112="old"),
    )
    audit = Audit(consumer="x/y", taken_at=datetime(2025, 1, 1, tzinfo=timezone.utc), scope="all", findings=findings)
    assert [(f.release, f.evidence["sites"]) for f in audit.in_short] == [
        ("rocm-5.7.0..rocm-6.1.0", {"copy": "old"}),
        ("rocm-6.2.0", {"pin:31": "c", "copy:112": "older"}),
        (None, {"pin:31": "c", "copy:112": "old"}),
    ]
    assert audit.findings == findings
