"""Sign a smoke report, with a shared secret or an SSH key."""

from __future__ import annotations

import subprocess
from pathlib import Path

from relmgr.errors import SourceError, UserError
from relmgr.model.smoke_report import SmokeReport
from relmgr.model.smoke_signing import MIN_SECRET_BYTES, SSH_NAMESPACE, SSH_PREFIX, hmac_signature, signed_bytes

_SECONDS = 30


def sign_with_secret(report: SmokeReport, secret: str) -> SmokeReport:
    """Return the report with a signature under `secret`; one too short to be a secret is refused."""
    if len(secret.encode()) < MIN_SECRET_BYTES:
        raise UserError(
            f"the secret for smoke reports has fewer than {MIN_SECRET_BYTES} bytes", next_step="use a longer random one"
        )
    return report.model_copy(update={"signature": hmac_signature(report, secret.encode())})


def sign_with_key(report: SmokeReport, key: Path) -> SmokeReport:
    """Return the report signed by `ssh-keygen` with a private key, or with the agent's key of a public one."""
    command = ["ssh-keygen", "-q", "-Y", "sign", "-n", SSH_NAMESPACE, "-f", str(key)]
    try:
        run = subprocess.run(command, input=signed_bytes(report), capture_output=True, timeout=_SECONDS)
    except FileNotFoundError:
        raise SourceError("ssh-keygen is not installed", next_step="install OpenSSH's client") from None
    except subprocess.TimeoutExpired:
        raise SourceError(
            f"ssh-keygen gave no answer in {_SECONDS} s", next_step="use a key without passphrase"
        ) from None
    signature = run.stdout.decode("ascii", errors="replace").strip()
    if run.returncode or not signature.startswith(SSH_PREFIX):
        what = run.stderr.decode(errors="replace").strip().partition("\n")[0] or "ssh-keygen gave no signature"
        raise UserError(f"not signed: {what}", where=str(key), next_step="give an SSH private key")
    return report.model_copy(update={"signature": signature})
