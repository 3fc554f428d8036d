"""What a smoke report's signature covers, and the one made with a shared secret. Pure.

A signature covers every field but itself, as canonical JSON, so that a report may be stored in any spelling.
"""

from __future__ import annotations

import hashlib
import hmac
import json

from relmgr.model.smoke_report import SmokeReport

HMAC_PREFIX = "hmac-sha256:"
SSH_PREFIX = "-----BEGIN SSH SIGNATURE-----"
MIN_SECRET_BYTES = 16
# What an SSH signature is for: one made for another purpose with the same key does not hold here.
SSH_NAMESPACE = "relmgr-smoke"


def signed_bytes(report: SmokeReport) -> bytes:
    """Return what a signature of `report` covers."""
    fields = report.model_dump(mode="json", exclude={"signature"})
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def hmac_signature(report: SmokeReport, secret: bytes) -> str:
    """Return the signature of `report` under a shared secret."""
    return HMAC_PREFIX + hmac.new(secret, signed_bytes(report), hashlib.sha256).hexdigest()


def hmac_holds(report: SmokeReport, secret: bytes) -> bool:
    """Tell whether a report's signature is the one made with `secret`, in constant time."""
    signature = (report.signature or "").encode("utf-8", errors="replace")
    return hmac.compare_digest(signature, hmac_signature(report, secret).encode())
